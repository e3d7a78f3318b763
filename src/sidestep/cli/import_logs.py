"""``sidestep import``: logs of real robots as a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sidestep.cli.verb import AsJson, print_json, quiet_stdout, say, verb
from sidestep.errors import BadInput

if TYPE_CHECKING:
    from sidestep.runs.from_logs.record import BuildOptions

LONGEST_NAME = 100
MAP_FILES = (".yaml", ".yml")


Scenario = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help="Name of the scenario; drives with the same name are paired. Default: the file's."
    ),
]
FormatName = Annotated[
    str | None, typer.Option("--format", help="Format; see `sidestep list logs`. Default: detected.")
]
Topics = Annotated[
    list[str] | None,
    typer.Option(
        "--map",
        metavar="WHAT=TOPIC",
        help="ROS bags: topics of robot, people, goal, command and map; repeatable or with commas.",
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(
        metavar="WHAT=COLUMN|FILE",
        help="Tables: columns of time, id, x, y, heading, kind and more; with commas, or a YAML file.",
    ),
]
Robot = Annotated[str | None, typer.Option(metavar="ID|all", help="Track that is the robot; all: each in turn.")]
Spec = Annotated[str | None, typer.Option(help="Robot with its body: a name of `sidestep list robots`, or a file.")]
Scene = Annotated[
    str | None,
    typer.Option(help="Walls: a scene file, ROS map (.yaml), GeoJSON …; open: there are none. Default: as logged."),
]
Step = Annotated[
    float | None, typer.Option(help="Time between two states of the record, s. Default: the robot's rate.")
]
MaxGap = Annotated[
    float | None, typer.Option(help="Longest gap to interpolate over, s. Default: 1, or 2.5 sample intervals.")
]
TimeUnit = Annotated[str | None, typer.Option(help="Tables: unit of time, s, ms, us or ns. Default: guessed.")]
RateHz = Annotated[float | None, typer.Option(help="Frame numbers per second, for formats that count frames.")]


@verb
def import_(
    logs: Annotated[list[Path], typer.Argument(metavar="LOG…", help="Logs: files, or folders of ROS 2 bags.")],
    out: Annotated[Path, typer.Option(help="Run folder to write.")],
    policy: Annotated[
        str, typer.Option(help="Name of the policy or person that drove the robot, for tables.")
    ] = "logged",
    scenario: Scenario = None,
    format_name: FormatName = None,
    map_: Topics = None,
    columns: Columns = None,
    robot: Robot = None,
    goal: Annotated[str | None, typer.Option(metavar="X,Y", help="Goal of the robot, m. Default: as logged.")] = None,
    goal_radius: Annotated[float, typer.Option(help="Distance at which the goal is reached, m.")] = 0.3,
    radius: Annotated[float, typer.Option(help="Radius of the robot, m, unless the log or --spec says it.")] = 0.3,
    person_radius: Annotated[float, typer.Option(help="Radius of people, m, unless the log says it.")] = 0.25,
    spec: Spec = None,
    scene: Scene = None,
    step: Step = None,
    max_gap: MaxGap = None,
    scale: Annotated[float, typer.Option(help="Metres per unit of length of the log; 0.001 for millimetres.")] = 1.0,
    time_unit: TimeUnit = None,
    rate_hz: RateHz = None,
    as_json: AsJson = False,
) -> None:
    """Turn logs of real robots, or of people in a robot's place, into records and score them."""
    from sidestep.records.logs.drive import ReadOptions
    from sidestep.report.terminal import print_summary
    from sidestep.runs.finished import FinishedRun
    from sidestep.runs.from_logs import import_logs
    from sidestep.runs.score import summary_document

    with quiet_stdout(as_json):
        build = _build_options(
            policy, scenario, radius, person_radius, spec, step, max_gap, goal, goal_radius, scene, scale
        )  # fmt: skip
        read = ReadOptions(
            topics=_pairs("--map", map_), columns=_pairs("--columns", columns), robot=robot, rate_hz=rate_hz,
            time_unit=time_unit,
        )  # fmt: skip
        imported = import_logs(logs, out, build, format_name=format_name, read=read, on_message=say)
        summary = summary_document(FinishedRun(out).table)
    if as_json:
        records = [
            {"scenario": record.scenario.name, "outcome": record.outcome.value, "digest": record.digest}
            for _, record in imported.records
        ]
        print_json(summary | {"imported": {"records": records, "said": list(imported.said)}})
        return
    print_summary(summary)
    say(f"{len(imported.records)} records in {out}; next: sidestep report {out}")


def _build_options(
    policy: str, scenario: str | None, radius: float, person_radius: float, spec: str | None, step: float | None,
    max_gap: float | None, goal: str | None, goal_radius: float, scene: str | None, scale: float,
) -> BuildOptions:  # fmt: skip
    from sidestep.runs.from_logs.record import BuildOptions
    from sidestep.scenes.load import resolve_scene
    from sidestep.simulation.robots import load_robot
    from sidestep.types.scene import SceneSpec

    positive = {"--radius": radius, "--person-radius": person_radius, "--goal-radius": goal_radius, "--step": step}
    for option, value in (positive | {"--max-gap": max_gap, "--scale": scale}).items():
        if value is not None and not 0 < value < 1e6:
            raise BadInput(f"{option} {value:g}: must be a positive number")
    walls = None if scene is None else SceneSpec() if scene == "open" else resolve_scene(scene)
    return BuildOptions(
        policy=policy,
        scenario=_scenario_name(scenario),
        radius_m=radius,
        person_radius_m=person_radius,
        spec=None if spec is None else load_robot(spec),
        step_s=step,
        gap_s=max_gap,
        goal=None if goal is None else _point(goal),
        goal_radius_m=goal_radius,
        scene=walls,
        scale=scale,
    )


def _scenario_name(name: str | None) -> str | None:
    if name is not None and (not name.strip() or len(name) > LONGEST_NAME or not name.isprintable()):
        raise BadInput(f"--scenario {name[:40]!r}: a name has 1 to {LONGEST_NAME} printable characters")
    return name


def _pairs(option: str, given: list[str] | None) -> dict[str, str]:
    """``key=value`` pairs, separated by commas or blanks; a YAML file stands under ``file``."""
    pairs: dict[str, str] = {}
    for text in given or ():
        if text.endswith(MAP_FILES) and "=" not in text:
            pairs["file"] = text
            continue
        for part in text.replace(",", " ").split():
            key, mark, value = part.partition("=")
            if not mark or not key or not value:
                raise BadInput(f"{option} {part}: expected WHAT=NAME, such as {option} robot=/odom")
            pairs[key] = value
    return pairs


def _point(text: str) -> tuple[float, float]:
    try:
        x, y = (float(part) for part in text.split(","))
    except ValueError:
        raise BadInput(f"--goal {text}: expected two numbers X,Y in metres") from None
    if not (abs(x) < 1e5 and abs(y) < 1e5):
        raise BadInput(f"--goal {text}: must be within 100 km of the origin")
    return x, y
