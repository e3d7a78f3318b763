"""``sidestep evaluate``: the intersection suite by IntersectNav's command line, with its kinds of tables."""

from __future__ import annotations

import argparse
import csv
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
TABLE, EPISODES = "evaluation.csv", "evaluation.txt"
KEYS: dict[str, str] = {
    "success": "success",
    "collision": "",
    "lane_invasion": "lane_invasion",
    "timeout": "timeout",
    "wrong_direction": "wrong_exit",
    "policy_error": "policy_error",
    "total_ego_jerk": "ego_jerk",
    "total_other_jerk": "other_jerk",
    "total_min_dis": "waypoint_deviation",
    "dis_to_destination": "destination_deviation",
    "delta_angle": "heading_deviation",
    "tot_step": "total_steps",
    "invasion_time": "lane_invasions",
}
"""Published keys → metrics, in the dialect ``intersectnav-code``."""
COLLISIONS = ("pedestrian_collision", "vehicle_collision", "environment_collision")


def make_parser() -> argparse.ArgumentParser:
    """The published flags, several values after one flag included."""
    parser = argparse.ArgumentParser(
        prog="sidestep evaluate",
        description="Evaluate one agent at crowded intersections, as IntersectNav's evaluate.py does.",
    )
    add = parser.add_argument
    add("--scenes", type=int, nargs="+", required=True, help="scenes to evaluate, 0 to 5")
    add("--branch_list", type=int, nargs="+", required=True, help="tasks: -1 left, 0 straight on, 1 right")
    add("--control_agent", default="PID", help="NN, PID, PID_NOISE, or any policy of `sidestep list policies`")
    add("--model_path", type=Path, help="network of NN, an .onnx file")
    add("--iters", type=_positive, default=1, help="episodes per route")
    add("--eval_steps", type=_positive, default=1000, help="most steps of an episode")
    add("--eval_render", action="store_true", help="write an HTML report with players")
    add("--eval_save", type=int, default=-1, help="also save every Nth state and action (states.h5); -1: none")
    add("--store_success_only", action="store_true", help="with --eval_save: keep successful episodes only")
    add("--random_weather", action="store_true", help="draw a weather for every episode")
    add("--new_weather", action="store_true", help="use the test weathers")
    add("--vehicles", action="store_true", help="add other vehicles (Ped-Veh)")
    add("--work_dir", type=Path, default=Path("evaluation"), help="folder for records and tables")
    add("--breakpoint", type=int, help="continue an interrupted evaluation; it knows itself where it was")
    add("--workers", type=_positive, default=1, help="worker processes")
    add("--port", type=int, help="accepted and ignored: there is no server")
    add("--gpu_id", help="accepted and ignored")
    add("--json", action="store_true", help="print one JSON document on stdout")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise ValueError
    return number


@verb
def evaluate(context: typer.Context) -> None:
    """Evaluate one agent at crowded intersections by IntersectNav's command line."""
    given = make_parser().parse_args(context.args)
    policy = _policy_of(given.control_agent)
    folder: Path = given.work_dir
    has_run = (folder / "run.json").is_file()
    if given.breakpoint is not None and not has_run:
        raise BadInput(f"{folder}: there is no evaluation to continue; leave --breakpoint out to begin one")
    if given.breakpoint is None and has_run:
        raise BadInput(f"{folder}: holds an evaluation; continue it with --breakpoint 0, or choose another --work_dir")
    from sidestep.api import run
    from sidestep.suites.intersection import EvaluationSuite

    suite = EvaluationSuite(
        scenes=tuple(given.scenes), branches=tuple(given.branch_list), iters=given.iters, steps=given.eval_steps,
        random_weather=given.random_weather, new_weather=given.new_weather, vehicles=given.vehicles,
    )  # fmt: skip
    settings = {policy: {"file": str(given.model_path)}} if given.model_path is not None else None
    with quiet_stdout(given.json):
        done = run(suite, [policy], out=folder, workers=given.workers, settings=settings)
        rows = episode_rows(done)
        write_evaluation(rows, folder)
        if given.eval_save > 0:
            _save_states(suite, policy, given.eval_save, given.store_success_only, folder)
        if given.eval_render:
            done.report()
    means = {key: _mean(row[key] for row in rows) for key in KEYS}
    if given.json:
        print_json({"work_dir": str(folder), "episodes": len(rows), "means": means})
        return
    for key, value in means.items():
        typer.echo(f"{key:20} {_shown(value):>10}")
    say(f"wrote {folder / TABLE} and {folder / EPISODES}")


def _policy_of(agent: str) -> str:
    from sidestep import registry

    if agent in AGENTS:
        return AGENTS[agent]
    agent = registry.true_name("policies", agent)
    if agent not in registry.names("policies") and ":" not in agent:
        raise UnknownName("control agent", agent, [*AGENTS, *registry.names("policies")])
    return agent


def episode_rows(done: Run) -> list[dict[str, Any]]:
    """One row per episode: scene, pose, branch, weather, and the published keys."""
    from sidestep.metrics.score import score

    names = [name for name in KEYS.values() if name]
    rows = []
    for record in done.records():
        found = score(record, names, "intersectnav-code")
        notes = record.scenario.notes
        row: dict[str, Any] = {name: notes[name] for name in ("scene", "pose", "branch", "iteration", "weather")}
        for key, metric in KEYS.items():
            if metric:
                row[key] = found[metric].value if found[metric].valid else None
            else:
                row[key] = float(str(record.outcome) in COLLISIONS)
        rows.append(row)
    return rows


def write_evaluation(rows: Sequence[dict[str, Any]], folder: Path) -> None:
    """The mean of every key per scene, pose and branch as CSV, and a line per episode as text."""
    from sidestep.writing import whole_file

    groups: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row["scene"], row["pose"], row["branch"]), []).append(row)
    with whole_file(folder / TABLE) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["scene", "pose", "branch", "episodes", *KEYS])
        for key, own in sorted(groups.items()):
            writer.writerow([*key, len(own), *(_shown(_mean(row[k] for row in own)) for k in KEYS)])
    with whole_file(folder / EPISODES) as temporary:
        lines = [" ".join(f"{name}={_shown(value)}" for name, value in row.items()) for row in rows]
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _mean(values: Iterable[float | None]) -> float | None:
    """Over the episodes that have a value; None if none has."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _shown(value: Any) -> str:
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)


def _save_states(suite: EvaluationSuite, policy: str, every: int, success_only: bool, folder: Path) -> None:
    """The states and actions of the same episodes, driven once more with the camera on."""
    from sidestep.learn.demonstrations import DemonstrationWriter
    from sidestep.learn.drive_demos import drive_demonstrations_of
    from sidestep.progress import progress_bar

    with DemonstrationWriter(folder / "states.h5", overwrite=True) as writer, progress_bar("states") as move:
        episodes = [(each, policy, 0, each.notes["weather"]) for each in suite.scenarios()]
        drive_demonstrations_of(episodes, every, success_only, writer, move)
