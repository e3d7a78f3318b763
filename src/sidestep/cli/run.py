"""``sidestep run``: evaluate policies on a suite. ``serve`` shares its options, run folder, interrupts and output."""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from sidestep.cli.verb import BAD_INPUT, CHECK_FAILED, INTERRUPTED, AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput, did_you_mean

if TYPE_CHECKING:
    from sidestep.interfaces import Suite
    from sidestep.metrics.score import EpisodeScores
    from sidestep.runs.plan import Plan
    from sidestep.runs.remote.isolation import Isolation
    from sidestep.runs.runner import RunResult
    from sidestep.runs.storage import Storage

SuiteName = Annotated[str, typer.Argument(help="Name of a suite, or path to a YAML file or folder.")]
ScenarioPattern = Annotated[
    str | None, typer.Option(metavar="PATTERN", help="Run only scenarios whose name matches this pattern.")
]
Limit = Annotated[int | None, typer.Option(min=1, metavar="N", help="Run only the first N scenarios.")]
Mode = Annotated[
    Literal["sync", "async", "latency"], typer.Option(help="What the world does while the policy computes.")
]
Latency = Annotated[
    float | None,
    typer.Option(min=0.0, help="With --mode latency: computing time per decision in seconds. Default: as measured."),
]


NOTES_SHOWN = 10


def _folder(name: str) -> Path:
    if not name.strip():
        raise typer.BadParameter("the name of the run folder is empty; leave the option out for a new folder in runs/")
    return Path(name)


def _place(name: str) -> str:
    _folder(name)
    return name


OutFolder = Annotated[
    Path | None,
    typer.Option(
        parser=_folder, metavar="FOLDER", help="Run folder. Default: a new folder in runs/. An existing run is resumed."
    ),
]


@contextmanager
def resumable(folder: Path | str) -> Iterator[None]:
    """Turn Ctrl-C and SIGTERM, which schedulers send, into a message on how to resume the run."""

    def interrupt(number: int, frame: Any) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    except KeyboardInterrupt:
        say(f"interrupted; finished episodes are kept. To resume, run the same command with --out {folder}")
        raise typer.Exit(INTERRUPTED) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def print_result(result: RunResult, summary: dict[str, Any], as_json: bool) -> None:
    """Print the summary and the failures; a run with skipped episodes exits with ``BAD_INPUT``."""
    from sidestep.report.terminal import print_summary

    if as_json:
        print_json(summary)
    else:
        print_summary(summary)
    print_failures(result)
    if result.skipped:
        raise typer.Exit(BAD_INPUT)


def print_failures(result: RunResult) -> None:
    """Print policy errors and scenarios that could not be built, on stderr."""
    from sidestep.runs.folder import episode_path

    errors: dict[str, list[EpisodeScores]] = {}
    for episode in result.episodes:
        if episode.outcome == "policy_error":
            message = " ".join(episode.error.split()) or "failed"
            errors.setdefault(f"{episode.policy}: {message}", []).append(episode)
    for message, failed in errors.items():
        first = failed[0]
        where = f"{first.scenario} seed {first.seed}"
        say(f"policy error in {len(failed)} of {len(result.episodes)} episodes, first {where}: {message}")
        if first.traceback:
            say("  " + first.traceback.replace("\n", "\n  "))
        log = episode_path(result.folder, first.policy, first.scenario, first.seed).with_suffix(".log")
        if log.exists():
            say(f"  output of the policy: {log}")
    for note in result.notes[:NOTES_SHOWN]:
        say(f"note: {note}")
    if len(result.notes) > NOTES_SHOWN:
        say(f"note: and {len(result.notes) - NOTES_SHOWN} more files like these")
    reasons: dict[tuple[str, str], int] = {}
    for entry in result.skipped:
        reasons[entry.scenario, entry.reason] = reasons.get((entry.scenario, entry.reason), 0) + 1
    for (scenario, reason), count in reasons.items():
        say(f"skipped {count} episode{'s' if count > 1 else ''} of {scenario!r}: {reason}")


def split_suite_options(assignments: Sequence[str], known: Collection[str]) -> tuple[dict[str, Any], list[str]]:
    """The suite's own options, ``reactivity=pause`` or ``suite.reactivity=pause``, and the assignments left."""
    options: dict[str, Any] = {}
    left = []
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        name = key.strip().removeprefix("suite.")
        if separator and (name in known or key.strip().startswith("suite.")):
            options[name] = _value(text, assignment)
        else:
            left.append(assignment)
    return options, left


def parse_settings(assignments: Sequence[str], policies: Sequence[str]) -> dict[str, dict[str, Any]]:
    """Settings per label of a policy. ``orca.horizon=3`` is for one policy (by its label, reference or class name),
    ``horizon=3`` for all. Values are YAML scalars: ``3``, ``0.5``, ``true``, ``text``, ``[1, 2]``."""
    from sidestep.registry import OTHER_NAMES
    from sidestep.runs.plan import split_label

    labels: dict[str, list[str]] = {}
    """Label, reference or class name → labels of the policies that it means."""
    settings: dict[str, dict[str, Any]] = {}
    for label, reference in map(split_label, policies):
        settings[label] = {}
        others = [other for other, name in OTHER_NAMES.items() if name == reference]
        for name in {label, reference, reference.rpartition(":")[2], *others}:
            labels.setdefault(name, []).append(label)
    for assignment in assignments:
        key, separator, text = assignment.partition("=")
        if not separator or not key.strip():
            raise BadInput(f"--set {assignment:.120}: must be key=value, such as orca.horizon=3")
        target, name = _target(key.strip(), labels, assignment)
        value = _value(text, assignment)
        for label in settings if target is None else labels[target]:
            settings[label][name] = value
    return settings


def _target(key: str, names: Collection[str], assignment: str) -> tuple[str | None, str]:
    """The one of ``names`` that ``key`` begins with (None: all policies) and the setting's name."""
    for name in sorted(names, key=len, reverse=True):
        if key.startswith(name + "."):
            return name, key[len(name) + 1 :]
    if "." in key:
        owner = key.rpartition(".")[0]
        raise BadInput(f"--set {assignment:.120}: no policy {owner!r:.80} in this run{did_you_mean(owner[:80], names)}")
    return None, key


def _value(text: str, assignment: str) -> Any:
    from sidestep._util.reading import parse_yaml

    try:
        values = parse_yaml(text, f"--set {assignment}")
    except BadInput:
        raise BadInput(f"--set {assignment:.120}: {text!r:.120} is not a YAML value; quote it") from None
    value = values[0] if values else ("" if not text else None)
    if isinstance(value, str) and value == text.strip():  # not quoted
        try:
            return float(value)  # YAML 1.1 reads 1e-3 as text
        except ValueError:
            return value
    return value


PolicyNames = Annotated[
    list[str],
    typer.Option(
        metavar="[LABEL=]POLICY",
        help="Policy: a name, file.py:Class, package.module:Class, sb3:FILE.zip or onnx:SPEC.yaml; repeatable.",
    ),
]
Assignments = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="Option of the suite or setting of a policy: key=value, suite.key=value, label.key=value; repeatable.",
    ),
]
Workers = Annotated[
    int | None, typer.Option(min=1, help="Number of worker processes. Default: 1; with --ray, what the cluster has.")
]
Ray = Annotated[
    str | None,
    typer.Option(metavar="ADDRESS", help="Run on the Ray cluster at this address; local: start one for this run."),
]
Isolate = Annotated[bool, typer.Option("--isolate", help="Run bundled policies in processes of their own too.")]
HeldOutFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Run on held-out seeds: the commitment of `sidestep board seeds`, in place of --seed and --repeat. "
        "Policies that are not bundled then need the whole sandbox.",
    ),
]
SecretFile = Annotated[
    Path | None, typer.Option(metavar="FILE", help="With --held-out: the secret that the seeds are drawn from.")
]
SandboxMode = Annotated[
    Literal["auto", "require", "off"],
    typer.Option(
        help="What a policy in its own process may reach (Linux). auto: its own files only, as far as the system can "
        "enforce it; require: refuse to run where that is incomplete; off: whatever you may."
    ),
]
AllowRead = Annotated[
    list[Path] | None,
    typer.Option(metavar="PATH", help="File or folder that such a policy may read besides its own; repeatable."),
]
LimitMemory = Annotated[
    str | None, typer.Option(metavar="SIZE", help="Memory of a policy in its own process, such as 4GB.")
]
LimitCpu = Annotated[
    float | None, typer.Option(metavar="S", help="Processor time of such a policy per episode in seconds.")
]
LimitWall = Annotated[
    float | None, typer.Option(metavar="S", help="Total time of its decisions per episode in seconds.")
]
LimitOutput = Annotated[str | None, typer.Option(metavar="SIZE", help="Amount of output per episode, such as 10MB.")]
Video = Annotated[
    int,
    typer.Option(
        min=0, metavar="K", help="Film K episodes of each policy: the worst, the best, the second worst and so on."
    ),
]
Camera = Annotated[
    list[str] | None,
    typer.Option(help="With --video: first, chase, above or top; repeatable or with commas. Default: chase,top."),
]
Picture = Annotated[
    list[str] | None, typer.Option(help="With --video: rgb, depth, semantic or instance; repeatable or with commas.")
]
Replace = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LABEL",
        help="Run this policy again if its code or settings changed; its old records are deleted. Repeatable.",
    ),
]
Counterfactual = Annotated[
    bool,
    typer.Option(
        "--counterfactual", help="Simulate every episode without the robot too, and score what it costs people."
    ),
]
SkipMissing = Annotated[
    bool, typer.Option("--skip-missing", help="Leave out policies whose optional extra is not installed.")
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Run in this process, stop at the first policy error, save nothing.")
]
Out = Annotated[
    str | None,
    typer.Option(
        parser=_place,
        metavar="FOLDER|URI",
        help="Run folder, or a URI such as s3://bucket/run for its records. Default: a new folder in runs/. "
        "An existing run is resumed.",
    ),
]


@verb
def run(
    suite: SuiteName,
    policy: PolicyNames,
    scenario: ScenarioPattern = None,
    limit: Limit = None,
    repeat: Annotated[int, typer.Option(min=1, help="Number of seeds per scenario.")] = 1,
    seed: Annotated[int, typer.Option(min=0, help="First seed.")] = 0,
    held_out: HeldOutFile = None,
    secret: SecretFile = None,
    set_: Assignments = None,
    workers: Workers = None,
    ray: Ray = None,
    mode: Mode = "sync",
    latency: Latency = None,
    act_limit: Annotated[float, typer.Option(min=0.0, help="Time for one decision in seconds.")] = 10.0,
    isolate: Isolate = False,
    sandbox: SandboxMode = "auto",
    allow_read: AllowRead = None,
    limit_memory: LimitMemory = None,
    limit_cpu: LimitCpu = None,
    limit_wall: LimitWall = None,
    limit_output: LimitOutput = None,
    limit_processes: Annotated[int, typer.Option(min=1, metavar="N", help="Largest number of its processes.")] = 256,
    video: Video = 0,
    camera: Camera = None,
    picture: Picture = None,
    replace: Replace = None,
    counterfactual: Counterfactual = False,
    skip_missing: SkipMissing = False,
    debug: Debug = False,
    out: Out = None,
    as_json: AsJson = False,
) -> None:
    """Evaluate one or more policies on SUITE. The same command with the same --out resumes a run."""
    from sidestep.runs.plan import make_plan
    from sidestep.runs.score import summarise_run
    from sidestep.suites.files import base_of

    film = _choose_films(video, camera, picture)
    if debug and (film or counterfactual or ray is not None):
        raise BadInput("--debug runs in this process and keeps nothing; leave out --video, --counterfactual and --ray")
    if held_out is not None or secret is not None:
        seed, repeat = choose_held_out(held_out, secret, suite, seed, repeat)
        sandbox = "require" if sandbox == "auto" else sandbox
    limits = {"memory_bytes": limit_memory, "output_bytes": limit_output, "cpu_s": limit_cpu, "wall_s": limit_wall}
    isolation = choose_isolation(isolate, limits, limit_processes, sandbox, allow_read)
    if debug and isolation != choose_isolation():
        raise BadInput("--debug runs in this process; leave out --isolate, --sandbox, --allow-read and the limits")
    folder, storage = _choose_place(out, bool(video or replace or counterfactual))
    policy = installed_policies(policy, skip_missing)
    with quiet_stdout(as_json):
        chosen, settings = open_suite(suite, set_ or [])
        plan = make_plan(
            chosen, policy, settings=parse_settings(settings, policy), scenario_glob=scenario, limit=limit, seed=seed,
            repeats=repeat, mode=mode, latency_s=latency, act_limit_s=act_limit, isolation=isolation, in_process=debug,
        )  # fmt: skip
        explain_missing_recordings(chosen, plan)
        warn_about_training(plan, base_of(chosen))
        how = {"workers": workers, "ray": ray, "storage": storage, "replaced": _true_names(replace or [])}
        result = _debug(plan) if debug else _execute(plan, folder, out, how)
        with resumable(result.folder):
            if counterfactual:
                result = _with_counterfactuals(result, workers or 1)
            if film:
                film(result)
        summary = summarise_run(result)
    print_result(result, summary, as_json)


def _choose_films(
    count: int, camera: list[str] | None, picture: list[str] | None
) -> Callable[[RunResult], object] | None:
    """The function that films a run, or None; raises an error now if the films cannot be made."""
    from sidestep.cli.cameras import RUN_CAMERAS, check_filming, film_run, split_names

    if not count:
        if camera or picture:
            raise BadInput("--camera and --picture say how --video films; give --video K too")
        return None
    cameras, pictures = split_names(camera, RUN_CAMERAS), split_names(picture, ("rgb",))
    check_filming(cameras, pictures)
    return lambda result: film_run(result, count, cameras, pictures)


def _choose_place(out: str | None, needs_folder: bool) -> tuple[Path | None, Storage]:
    """The run folder, if ``--out`` names one, and where records are stored."""
    from sidestep.runs.storage import IN_FOLDER, place_of

    folder, storage = (None, IN_FOLDER) if out is None else place_of(out)
    if storage != IN_FOLDER and needs_folder:
        raise BadInput(
            f"--out {out}: --video, --replace and --counterfactual need the records in a folder; copy the run from "
            "there and use the copy"
        )
    return folder, storage


def _true_names(policies: list[str]) -> list[str]:
    from sidestep import registry

    return [registry.true_name("policies", each) for each in policies]


def open_suite(name: str, assignments: Sequence[str]) -> tuple[Suite, list[str]]:
    """A suite with its own options among ``assignments``, and the assignments that are left."""
    from sidestep.suites.files import choose_options, load_suite, option_names

    suite = load_suite(name)
    options, left = split_suite_options(assignments, option_names(suite))
    return choose_options(suite, options), left


def installed_policies(policies: list[str], skip_missing: bool) -> list[str]:
    """The policies whose extras are installed. Without ``skip_missing`` one that lacks its extra is a ``BadInput``."""
    from sidestep._util.extras import missing_extras
    from sidestep.registry import extras_of
    from sidestep.runs.plan import split_label

    installed = []
    for each in policies:
        label, reference = split_label(each)
        missing = ",".join(missing_extras(extras_of(reference)))
        if not missing:
            installed.append(each)
            continue
        reason = f"policy {label!r} needs an optional dependency: pip install 'sidestep[{missing}]'"
        if not skip_missing:
            raise BadInput(f"{reason}, or leave it out with --skip-missing")
        say(f"note: left out: {reason}")
    if not installed:
        raise BadInput("no policy is left to run; install the extras named above")
    return installed


def choose_held_out(
    commitment: Path | None, secret: Path | None, suite: str, seed: int, repeats: int
) -> tuple[int, int]:
    """First seed and number of seeds of the held-out track. They come from files, so that no list of processes shows
    them."""
    from sidestep.leaderboard.held_out import read_commitment, read_secret

    if commitment is None or secret is None:
        raise BadInput("--held-out and --secret go together: the commitment, and the secret that it was drawn from")
    if seed != 0 or repeats != 1:
        raise BadInput("--held-out says which seeds are run; leave out --seed and --repeat")
    found = read_commitment(commitment, read_secret(secret))
    if not found.seeds:
        raise BadInput(f"--secret {secret}: is not the secret of the commitment in {commitment}")
    if found.suite != suite:
        raise BadInput(f"--held-out {commitment}: is of suite {found.suite!r}, not {suite!r}")
    return found.seeds[0], found.count


def choose_isolation(
    isolate: bool = False,
    limits: Mapping[str, str | float | None] | None = None,
    processes: int = 256,
    sandbox: str = "auto",
    allow_read: Iterable[Path] | None = None,
) -> Isolation:
    """The limits that the options name; sizes are still text."""
    from sidestep.runs.remote.isolation import Isolation, parse_size

    readable = [path.expanduser().absolute() for path in allow_read or ()]
    for path in readable:
        if not path.exists():
            raise BadInput(f"--allow-read {path}: there is no such file or folder")
    values = {
        name: parse_size(value, f"--limit-{name.partition('_')[0]}") if isinstance(value, str) else value
        for name, value in (limits or {}).items()
    }
    access = {"sandbox": sandbox, "allow_read": [str(path) for path in readable]}
    isolation = Isolation.parse({**values, **access, "all_policies": isolate, "processes": processes}, "--limit")
    isolation.check_supported()
    return isolation


def explain_missing_recordings(suite: Suite, plan: Plan) -> None:
    """Print a note if people are generated because the recordings of the suite are not installed."""
    if plan.suite != "socnav":
        return
    from sidestep.suites.socnav import Socnav

    generated = sum(scenario.source == "generated" for scenario in plan.scenarios)
    missing = suite.missing_recordings() if generated and isinstance(suite, Socnav) else []
    if missing:
        say(f"note: people are generated in {generated} of {len(plan.scenarios)} scenarios, because these recordings")
        say(f"  are not installed: {', '.join(missing)}.")
        say("  To run with recorded people, install them: `sidestep data list` shows each with its address, then")
        say("  `sidestep data get NAME` downloads it, or `sidestep data add FILE` takes your own copy.")
        say("  --set source=generated chooses generated people without this note.")


def warn_about_training(plan: Plan, base: Path | None) -> None:
    """Warn about models of Stable-Baselines3 that were trained under other conditions than they run in, or for which
    the conditions are not known."""
    from sidestep import registry

    for policy in plan.policies:
        if policy.made_from.startswith(registry.SB3):
            from sidestep.gym.training import training_notes

            for line in training_notes(Path(policy.made_from.removeprefix(registry.SB3)), plan.scenarios, base):
                say(f"warning: {policy.name}: {line}")


def _execute(plan: Plan, folder: Path | None, out: str | None, how: dict[str, Any]) -> RunResult:
    """Run the plan in a folder, or in a new one. ``out`` is the ``--out`` that resumes the run."""
    from sidestep._util.progress import progress_bar
    from sidestep.runs.folder import new_folder
    from sidestep.runs.runner import run_benchmark
    from sidestep.simulation.prepare import prepare_kernels

    place = folder if folder is not None else new_folder(plan.suite)
    with resumable(out if out is not None else place):
        prepare_kernels()
        with progress_bar("episodes") as move:
            return run_benchmark(
                plan, place, progress=lambda done, total, task, _: move(done, total, task.label), **how
            )


def _with_counterfactuals(result: RunResult, workers: int) -> RunResult:
    """The result with the metrics that compare with the episodes without the robot."""
    import dataclasses

    from sidestep.cli.counterfactual import add_counterfactuals
    from sidestep.runs.folder import RESULTS_FILE, load_results

    add_counterfactuals(result.folder, workers)
    shown = {(each.policy, each.scenario, each.seed) for each in result.episodes}
    episodes, _ = load_results(result.folder / RESULTS_FILE)
    return dataclasses.replace(result, episodes=tuple(e for e in episodes if (e.policy, e.scenario, e.seed) in shown))


def _debug(plan: Plan) -> RunResult:
    """Run everything in this process and save nothing. The first policy error prints its traceback and exits with
    code 1."""
    from tempfile import TemporaryDirectory

    from sidestep.runs.runner import PolicyStopped, run_benchmark
    from sidestep.simulation.prepare import prepare_kernels

    prepare_kernels()
    say("debugging: policies run in this process, without a time limit; nothing is kept")
    with TemporaryDirectory(prefix="sidestep-debug-") as folder:
        try:
            return run_benchmark(plan, Path(folder), debug=True)
        except PolicyStopped as error:
            say(f"policy error: {error}")
            raise typer.Exit(CHECK_FAILED) from None
