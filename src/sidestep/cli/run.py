"""``sidestep run``: a suite with policies into a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from sidestep.cli.running import OutFolder, new_folder, resumable, tell_result
from sidestep.cli.verb import AsJson, quiet_stdout, verb
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
    video: Annotated[int, typer.Option(min=0, help="Film K episodes of each policy: worst, best, next worst, …")] = 0,
    camera: Annotated[
        list[str] | None,
        typer.Option(help="Of --video: first, chase, above, top; repeatable or with commas. Default chase,top."),
    ] = None,
    picture: Annotated[
        list[str] | None, typer.Option(help="Of --video: rgb, depth, semantic, instance; repeatable or with commas.")
    ] = None,
    replace: Annotated[
        list[str] | None,
        typer.Option(
            help="Delete this policy's records if its code or settings changed, and run it again; repeatable."
        ),
    ] = None,
    out: OutFolder = None,
    as_json: AsJson = False,
) -> None:
    """Run SUITE with one or more policies. Re-running with the same --out resumes."""
    from sidestep.benchmark.plan import make_plan
    from sidestep.benchmark.summary import summarise_run
    from sidestep.cli.filming import RUN_CAMERAS, check_filming, film_run, split_names
    from sidestep.cli.settings import parse_settings, split_suite_options
    from sidestep.suites.files import choose_options, load_suite, option_names

    if ray is not None and workers != 1:
        raise BadInput("give either --workers or --ray: on a cluster, Ray decides how many tasks run at once")
    cameras, pictures = split_names(camera, RUN_CAMERAS), split_names(picture, ("rgb",))
    if (camera or picture) and not video:
        raise BadInput("--camera and --picture say how --video films; give --video K too")
    if video:
        check_filming(cameras, pictures)
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
        folder = out if out is not None else new_folder(plan.suite)
        result = _execute(plan, folder, workers, ray, replace or [])
        if video:
            with resumable(folder):
                film_run(result, video, cameras, pictures)
        summary = summarise_run(result)
    tell_result(result, summary, as_json)


def _execute(plan: Plan, folder: Path, workers: int, ray: str | None, replaced: list[str]) -> RunResult:
    from sidestep.benchmark.runner import run_benchmark
    from sidestep.cli.bars import prepare_kernels, progress_bar

    with resumable(folder):
        prepare_kernels()
        with progress_bar("episodes") as move:
            return run_benchmark(
                plan,
                folder,
                workers,
                lambda done, total, task, _: move(done, total, task.label),
                ray=ray,
                replaced=replaced,
            )
