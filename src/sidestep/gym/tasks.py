"""The scenarios behind the environment ids."""

from __future__ import annotations

from math import pi
from pathlib import Path
from typing import Any

from sidestep.errors import BadInput, UnknownName
from sidestep.sensors.camera import with_camera
from sidestep.simulation.build import WorldBuilder
from sidestep.suites.files import load_suite
from sidestep.types import Scenario

CONTACTS_END = (
    "success", "timeout", "policy_error", "environment_collision", "pedestrian_collision", "vehicle_collision",
)  # fmt: skip
"""Rules of the built-in tasks: unlike in the benchmark's default, a contact with a person ends the episode."""
DEFAULT_PEOPLE = {"Crossing": 5, "Corridor": 6, "Doorway": 4, "Plaza": 12}


def make_builder(task: str, camera: Any = None, **options: Any) -> WorldBuilder:
    """What builds the worlds of an environment id. ``camera`` is laid over the scenario's camera settings. ``options``
    go to :func:`make_scenario`, or for the task ``Scenario`` to :func:`find_scenario`."""
    if task == "Scenario":
        scenario, base = find_scenario(**_known(options, ("scenario", "name"), task))
    else:
        known = ("people", "crowd_model", "sees_robot", "robot", "time_limit_s", "step_s")
        scenario, base = make_scenario(task, **_known(options, known, task)), None
    if len(scenario.robots) != 1:
        raise BadInput(
            f"scenario {scenario.name!r} has {len(scenario.robots)} robots and this environment drives one; "
            "use sidestep.gym.parallel.CrowdParallelEnv"
        )
    if camera is not None:
        scenario = with_camera(scenario, camera, "camera")
    return WorldBuilder(scenario, base)


def _known(options: dict[str, Any], known: tuple[str, ...], task: str) -> dict[str, Any]:
    for name in options:
        if name not in known:
            raise UnknownName("option", name, known, f"sidestep/{task}-v0")
    return options


def make_scenario(
    task: str,
    people: int | None = None,
    crowd_model: str = "orca",
    sees_robot: bool = True,
    robot: str = "point",
    time_limit_s: float = 25.0,
    step_s: float = 0.25,
) -> Scenario:
    """The scenario of an environment id; ``people`` None takes the task's usual number."""
    if task not in DEFAULT_PEOPLE:
        raise UnknownName("environment", task, [*DEFAULT_PEOPLE, "Scenario"])
    count = DEFAULT_PEOPLE[task] if people is None else people
    layout = {"Crossing": _crossing, "Corridor": _corridor, "Doorway": _doorway, "Plaza": _plaza}[task](count)
    part = {"model": crowd_model, "sees_robot": sees_robot, "at_end": "loop", "placement": layout["placement"]}
    return Scenario.parse(
        {
            "name": task.lower(),
            "suite": "gym",
            "scene": layout["scene"],
            "robots": [{"spec": robot, "start": layout["start"], "goal": layout["goal"]}],
            "crowd": [part] if count else [],
            "rules": {
                "step_s": step_s,
                "time_limit_s": time_limit_s,
                "goal_radius_m": 0.3,
                "ends_on": CONTACTS_END,
            },
        },
        f"sidestep/{task}-v0",
    )


def find_scenario(
    scenario: str | Path | Scenario | None = None, name: str | None = None
) -> tuple[Scenario, Path | None]:
    """The scenario called ``name`` (None: the only one) of a suite or suite file, and the folder of its paths; or the
    scenario itself."""
    if isinstance(scenario, Scenario):
        return scenario, None
    if scenario is None:
        raise BadInput("sidestep/Scenario-v0 needs scenario=FILE.yaml, scenario=SUITE or scenario=Scenario(…)")
    suite = load_suite(str(scenario))
    found = {each.name: each for each in suite.scenarios()}
    if name is None and len(found) != 1:
        raise BadInput(f"{scenario}: has {len(found)} scenarios, choose one by name: {', '.join(sorted(found))}")
    if name is None:
        name = next(iter(found))
    if name not in found:
        raise UnknownName("scenario", name, found, str(scenario))
    return found[name], getattr(suite, "base", None)


def _crossing(people: int) -> dict[str, Any]:
    radius = max(4.0, 0.35 * people)
    return {
        "scene": "open",
        "start": [0.0, -radius, pi / 2],
        "goal": [0.0, radius],
        "placement": {"kind": "circle", "count": people, "radius": radius, "jitter": 0.5},
    }


def _box(x0: float, y0: float, x1: float, y1: float) -> list[list[float]]:
    return [[x0, y0], [x1, y0], [x1, y1], [x0, y1]]


def _corridor(people: int) -> dict[str, Any]:
    scene = {"name": "corridor", "enclosed": True, "regions": [{"kind": "walkable", "polygon": _box(-8, -1.5, 8, 1.5)}]}
    return {
        "scene": scene,
        "start": [-7.0, 0.0, 0.0],
        "goal": [7.0, 0.0],
        "placement": {"kind": "random", "count": people, "area": [-5.0, -1.2, 7.5, 1.2]},
    }


def _doorway(people: int) -> dict[str, Any]:
    regions = [
        {"kind": "walkable", "polygon": _box(-6, -3, 6, 3)},
        {"kind": "obstacle", "polygon": _box(-0.15, 0.6, 0.15, 3)},
        {"kind": "obstacle", "polygon": _box(-0.15, -3, 0.15, -0.6)},
    ]
    return {
        "scene": {"name": "doorway", "enclosed": True, "regions": regions},
        "start": [-5.0, 0.0, 0.0],
        "goal": [5.0, 0.0],
        "placement": {"kind": "random", "count": people, "area": [-3.5, -2.6, 5.6, 2.6]},
    }


def _plaza(people: int) -> dict[str, Any]:
    columns = [(-3.0, -3.0), (3.0, -3.0), (-3.0, 3.0), (3.0, 3.0)]
    regions: list[dict[str, Any]] = [{"kind": "walkable", "polygon": _box(-8, -8, 8, 8)}]
    regions += [{"kind": "obstacle", "polygon": _box(x - 0.5, y - 0.5, x + 0.5, y + 0.5)} for x, y in columns]
    return {
        "scene": {"name": "plaza", "enclosed": True, "regions": regions},
        "start": [-7.0, -7.0, pi / 4],
        "goal": [7.0, 7.0],
        "placement": {"kind": "random", "count": people, "area": [-7.0, -7.0, 7.0, 7.0]},
    }
