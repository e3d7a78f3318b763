"""``sidestep run``: a suite with policies into a run folder."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sidestep.cli.verb import BAD_INPUT, INTERRUPTED, AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.benchmark.plan import Plan
    from sidestep.benchmark.runner import RunResult


@verb
def run(
    suite: Annotated[str, typer.Argument(help="Name of a suite, or path to a YAML file or folder.")],
    policy: Annotated[list[str], typer.Option(help="Name, path/to/file.py:Class or package.module:Class; repeatable.")],
    scenario: Annotated[str | None, typer.Option(help="Only scenarios whose name matches this pattern.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Only the first N scenarios.")] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Seeds per scenario.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="The first seed.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", help="Suite option or policy setting: key=value, suite.key=value, policy.key=value."),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Worker processes.")] = 1,
    ray: Annotated[str | None, typer.Option(help="Address of a Ray cluster to run on instead.")] = None,
    mode: Annotated[
        Literal["sync", "async", "latency"], typer.Option(help="What the world does while a policy thinks.")
    ] = "sync",
    latency: Annotated[
        float | None,
        typer.Option(min=0.0, help="Mode latency: compute time charged per decision, s; measured if left out."),
    ] = None,
    video: Annotated[int, typer.Option(min=0, help="Make videos of the first K episodes of each policy.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Run folder; the same one again resumes or extends it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Run SUITE with one or more policies. Re-running with the same --out resumes."""
    from sidestep.benchmark.plan import make_plan
    from sidestep.benchmark.summary import summarise_run
    from sidestep.cli.settings import parse_settings, split_suite_options
    from sidestep.suites.files import choose_options, load_suite, option_names

    if ray is not None and workers != 1:
        raise BadInput("give either --workers or --ray: on a cluster, Ray decides how many tasks run at once")
    with quiet_stdout(as_json):
        chosen = load_suite(suite)
        options, settings = split_suite_options(set_ or [], option_names(chosen))
        plan = make_plan(
            choose_options(chosen, options),
            policy,
            settings=parse_settings(settings, policy),
            scenario_glob=scenario,
            limit=limit,
            seed=seed,
            repeats=repeat,
            mode=mode,
            latency_s=latency,
        )
        folder = out if out is not None else _new_folder(plan.suite)
        result = _execute(plan, folder, workers, ray)
        _make_videos(result, video)
        summary = summarise_run(result)
    if as_json:
        print_json(summary)
    else:
        _show(summary)
    _tell_failures(result)
    if result.skipped:
        raise typer.Exit(BAD_INPUT)


def _execute(plan: Plan, folder: Path, workers: int, ray: str | None) -> RunResult:
    from sidestep.benchmark.runner import run_benchmark
    from sidestep.cli.bars import prepare_kernels, progress_bar

    before = signal.signal(signal.SIGTERM, _as_interrupt)
    try:
        prepare_kernels()
        with progress_bar("episodes") as move:
            return run_benchmark(
                plan, folder, workers, lambda done, total, task, _: move(done, total, task.label), ray=ray
            )
    except KeyboardInterrupt:
        say(f"interrupted; what is done is kept. To go on, run the same command with --out {folder}")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def _as_interrupt(number: int, frame: Any) -> None:
    """A polite kill is an interrupt: schedulers send it before the time is up."""
    raise KeyboardInterrupt


def _new_folder(suite: str) -> Path:
    """runs/<suite>-<date>-<n>, the first n that is free."""
    from datetime import date

    from sidestep.benchmark.folder import safe_name

    stem, number = f"{safe_name(suite)}-{date.today().isoformat()}", 1
    while (Path("runs") / f"{stem}-{number}").exists():
        number += 1
    return Path("runs") / f"{stem}-{number}"


def _make_videos(result: RunResult, count: int) -> None:
    """Videos of each policy's first episodes, under ``videos/`` with the records' names."""
    if not count:
        return
    from sidestep.benchmark.folder import EPISODES, episode_path
    from sidestep.records import load_record
    from sidestep.report import draw_video

    made: dict[str, int] = {}
    for episode in result.episodes:
        made[episode.policy] = made.get(episode.policy, 0) + 1
        if made[episode.policy] > count:
            continue
        path = episode_path(result.folder, episode.policy, episode.scenario, episode.seed)
        target = result.folder / "videos" / path.relative_to(result.folder / EPISODES).with_suffix(".mp4")
        if not target.exists():
            target.parent.mkdir(parents=True, exist_ok=True)
            draw_video(load_record(path), target)


def _show(summary: dict[str, Any]) -> None:
    from sidestep.cli.tables import print_summary

    print_summary(summary)


def _tell_failures(result: RunResult) -> None:
    """Broken policies and scenarios that could not be built, on stderr."""
    errors: dict[str, list[str]] = {}
    for episode in result.episodes:
        if episode.outcome == "policy_error":
            errors.setdefault(
                f"{episode.policy}: {episode.error.strip().splitlines()[-1] if episode.error else 'failed'}",
                [],
            ).append(f"{episode.scenario} seed {episode.seed}")
    for message, where in errors.items():
        say(f"policy error in {len(where)} of {len(result.episodes)} episodes, first {where[0]}: {message}")
    reasons: dict[tuple[str, str], int] = {}
    for entry in result.skipped:
        reasons[entry.scenario, entry.reason] = reasons.get((entry.scenario, entry.reason), 0) + 1
    for (scenario, reason), count in reasons.items():
        say(f"skipped {count} episode{'s' if count > 1 else ''} of {scenario!r}: {reason}")
