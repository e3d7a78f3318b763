"""``sidestep evaluate``: the intersection suite by IntersectNav's command line, with its kinds of tables."""

from __future__ import annotations

import argparse
import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from sidestep.cli.verb import print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput, UnknownName

if TYPE_CHECKING:
    from sidestep.api import Run
    from sidestep.suites.intersection import EvaluationSuite

AGENTS = {"PID": "pid", "PID_NOISE": "pid_noise", "NN": "imitation"}
TABLE, EPISODES, STATES, BREAKPOINT = "evaluation.csv", "evaluation.txt", "states.h5", "breakpoint.txt"
OTHER_OUTCOMES = ("off_route", "policy_error")
"""Ends of an episode that the published program does not have; they have columns of their own."""


def make_parser() -> argparse.ArgumentParser:
    """The published flags, several values after one flag included."""
    parser = argparse.ArgumentParser(
        prog="sidestep evaluate",
        description="Evaluate one agent at crowded intersections, as IntersectNav's evaluate.py does.",
    )
    add = parser.add_argument
    add(
        "--scenes", type=_scene, nargs="+", required=True,
        help="scenes to evaluate, 0 to 5, or files of your own intersections (.yaml, .xodr)",
    )  # fmt: skip
    add("--branch_list", type=int, nargs="+", required=True, help="tasks: -1 left, 0 straight on, 1 right")
    add("--control_agent", default="NN", help="NN (default), PID, PID_NOISE, or any policy of `sidestep list policies`")
    add("--model_path", type=Path, help="network of NN: an .onnx file, or a TorchScript file, which can hold code")
    add("--iters", "--ites", type=_positive, default=1, help="episodes per route")
    add("--eval_steps", type=_positive, default=1000, help="most steps of an episode")
    add("--eval_render", action="store_true", help="write an HTML report with players")
    add("--eval_save", type=int, default=-1, help="also save every Nth state and action (states.h5); -1: none")
    add("--store_success_only", action="store_true", help="with --eval_save: keep successful episodes only")
    add("--random_weather", action="store_true", help="draw a weather for every episode; without it: ClearNoon")
    add("--new_weather", action="store_true", help="with --random_weather: draw from the test weathers")
    add("--vehicles", action="store_true", help="add other vehicles (Ped-Veh)")
    add("--work_dir", type=Path, default=Path("evaluation"), help="folder for records and tables")
    add(
        "--breakpoint", type=Path, metavar="FILE",
        help=f"continue an interrupted evaluation: the {BREAKPOINT} in its folder, or one of the published program",
    )  # fmt: skip
    add("--workers", type=_positive, default=1, help="number of worker processes")
    add("--port", type=int, help="accepted and ignored: there is no server")
    add("--gpu_id", help="accepted and ignored")
    add("--json", action="store_true", help="print one JSON document on stdout")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def _scene(text: str) -> int | str:
    return int(text) if text.isdigit() else text


@verb
def evaluate(context: typer.Context) -> None:
    """Evaluate one agent at crowded intersections by IntersectNav's command line."""
    given = make_parser().parse_args(context.args)
    policy = _policy_of(given.control_agent)
    folder, begin = _place_of(given.work_dir, given.breakpoint)
    settings = None if given.model_path is None else _model_settings(given.model_path, policy)
    from sidestep.api import run
    from sidestep.suites.intersection import EvaluationSuite

    suite = EvaluationSuite(
        scenes=tuple(given.scenes), branches=tuple(given.branch_list), iters=given.iters, steps=given.eval_steps,
        random_weather=given.random_weather, new_weather=given.new_weather, vehicles=given.vehicles, begin=begin,
    )  # fmt: skip
    places = [place for place, _ in suite.episodes()]
    with quiet_stdout(given.json):
        suite.scenarios()
        _write_breakpoint(folder, places, 0)
        done = run(suite, [policy], out=folder, workers=given.workers, settings={policy: settings or {}})
        _write_breakpoint(folder, places, len(places) - 1)
        rows = episode_rows(done)
        write_evaluation(rows, folder)
        if given.eval_save > 0:
            _save_states(suite, policy, settings, given.eval_save, given.store_success_only, folder)
        if given.eval_render:
            done.report()
    means = {key: _mean(row[key] for row in rows) for key in _keys()}
    if given.json:
        print_json({"work_dir": str(folder), "episodes": len(rows), "means": means})
        return
    for key, value in means.items():
        typer.echo(f"{key:20} {_shown(value):>10}")
    say(f"wrote {folder / TABLE} and {folder / EPISODES}")


def _place_of(work_dir: Path, breakpoint: Path | None) -> tuple[Path, tuple[int, int, int, int]]:
    """The folder of the evaluation, and where it begins: at the first episode, or, where a file of the published
    program says so and there is nothing to continue, at the one that the file names. The folder of a run knows itself
    which of its episodes are missing."""
    start = 0, 0, 0, 0
    if breakpoint is None:
        if (work_dir / "run.json").is_file():
            raise BadInput(
                f"{work_dir}: holds an evaluation; continue it with --breakpoint {work_dir / BREAKPOINT}, or choose "
                "another --work_dir"
            )
        return work_dir, start
    file = breakpoint if breakpoint.is_file() else work_dir / breakpoint
    if not file.is_file():
        raise BadInput(f"{breakpoint}: no such file; give the {BREAKPOINT} of an evaluation, or leave --breakpoint out")
    with file.open(encoding="utf-8", errors="replace") as opened:
        text = opened.read(400)
    numbers = re.fullmatch(r"\s*(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s+(\d{1,9})\s*", text)
    if numbers is None:
        raise BadInput(
            f"{file}: is not a breakpoint: five whole numbers, the episode, and the places of scene, pose, branch and "
            "trace"
        )
    if (file.parent / "run.json").is_file():
        return file.parent, _begin_of(file.parent)
    if (work_dir / "run.json").is_file():
        raise BadInput(f"{work_dir}: holds another evaluation than {file}; choose another --work_dir")
    episode, scene, pose, branch, _ = map(int, numbers.groups())
    work_dir.mkdir(parents=True, exist_ok=True)
    (work_dir / BEGIN).write_text(f"{scene} {pose} {branch} {episode}\n", encoding="utf-8")
    return work_dir, (scene, pose, branch, episode)


BEGIN = "begin.txt"
"""File that says where an evaluation began if not at its first episode."""


def _begin_of(folder: Path) -> tuple[int, int, int, int]:
    file = folder / BEGIN
    if not file.is_file():
        return 0, 0, 0, 0
    with file.open(encoding="utf-8", errors="replace") as opened:
        numbers = re.fullmatch(r"\s*" + r"\s+".join([r"([0-9]{1,9})"] * 4) + r"\s*", opened.read(100))
    if numbers is None:
        raise BadInput(f"{file}: not four whole numbers, the places of scene, pose, branch and episode; remove it")
    scene, pose, branch, episode = map(int, numbers.groups())
    return scene, pose, branch, episode


def _write_breakpoint(folder: Path, places: Sequence[tuple[int, int, int, int]], number: int) -> None:
    """The five numbers of the published program: episode, and the places of scene, pose, branch and trace."""
    from sidestep._util.writing import whole_file

    scene, pose, branch, episode = places[number]
    folder.mkdir(parents=True, exist_ok=True)
    with whole_file(folder / BREAKPOINT) as temporary:
        temporary.write_text(f"{episode} {scene} {pose} {branch} {number}", encoding="utf-8")


def _model_settings(model: Path, policy: str) -> dict[str, Any]:
    """Settings of the policy that runs a network of one's own."""
    from sidestep._util.extras import check_extras
    from sidestep._util.onnx import is_torch

    if policy != AGENTS["NN"]:
        raise BadInput(f"--model_path is the network of NN; {policy} takes none")
    if not model.is_file():
        raise BadInput(f"{model}: no such file; give the network's .onnx or TorchScript file")
    with model.open("rb") as file:
        if not is_torch(file.read(4)):
            return {"file": str(model)}
    check_extras("running a TorchScript network", "learn")
    say(f"{model}: a TorchScript file can hold code, which runs now: use only files that you trust")
    return {"file": str(model), "format": "torchscript"}


def _policy_of(agent: str) -> str:
    from sidestep import registry

    if agent in AGENTS:
        return AGENTS[agent]
    agent = registry.true_name("policies", agent)
    if agent not in registry.names("policies") and ":" not in agent:
        raise UnknownName("control agent", agent, [*AGENTS, *registry.names("policies")])
    return agent


def _keys() -> tuple[str, ...]:
    """Columns of the tables: the published keys in their order, then the outcomes that only we have."""
    from sidestep.metrics.intersectnav_code import RESULTS

    return (*RESULTS, *OTHER_OUTCOMES)


def episode_rows(done: Run) -> list[dict[str, Any]]:
    """One row per episode: scene, pose, branch, weather, and the published keys as the published program counts."""
    from sidestep.metrics.intersectnav_code import program_results

    rows = []
    for record in done.records():
        notes = record.scenario.notes
        row: dict[str, Any] = {name: notes[name] for name in ("scene", "pose", "branch", "iteration", "weather")}
        row |= {key: float(value) for key, value in program_results(record).items()}
        row |= {outcome: float(record.outcome == outcome) for outcome in OTHER_OUTCOMES}
        rows.append(row)
    return rows


def write_evaluation(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """The mean of every key per scene, pose and branch as CSV, and a line per episode as text."""
    from sidestep._util.writing import whole_file

    groups: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["scene"], row["pose"], row["branch"]), []).append(row)
    with whole_file(folder / TABLE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["scene", "pose", "branch", "episodes", *_keys()])
        for key, own in sorted(groups.items()):
            writer.writerow([*key, len(own), *(_shown(_mean(row[k] for row in own)) for k in _keys())])
    with whole_file(folder / EPISODES) as temporary:
        lines = [" ".join(f"{name}={_shown(value)}" for name, value in row.items()) for row in rows]
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _mean(values: Iterable[float | None]) -> float | None:
    """Over the episodes that have a value; None if none has."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _save_states(
    suite: EvaluationSuite, policy: str, settings: dict[str, Any] | None, every: int, success_only: bool, folder: Path
) -> None:
    """The states and actions of the same episodes, driven once more with the camera on. Weathers are numbered in the
    list that they are drawn from, as in the published program."""
    from sidestep._util.progress import progress_bar
    from sidestep.learning.demonstrations import DemonstrationWriter
    from sidestep.learning.drive_demos import drive_demonstrations_of

    file = folder / STATES
    with DemonstrationWriter(file, overwrite=True, weathers=suite.weathers) as writer, progress_bar("states") as move:
        episodes = [(each, policy, 0, each.notes["weather"]) for each in suite.scenarios()]
        drive_demonstrations_of(episodes, every, success_only, writer, move, settings)
