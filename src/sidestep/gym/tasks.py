"""The scenarios behind the environment ids, and the worlds drawn from them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from math import pi
from pathlib import Path
from typing import Any, TypedDict, Unpack

import numpy as np

from sidestep.errors import BadInput, UnknownName
from sidestep.gym.observation import CameraOption
from sidestep.simulation.build import World, WorldBuilder
from sidestep.simulation.robots import load_robot, native_bounds
from sidestep.simulation.sensors.camera import PICTURES, with_camera
from sidestep.suites.files import base_of, choose_options, load_suite, option_names
from sidestep.types import Scenario
from sidestep.types.scenario import FlowPlacement

CONTACTS_END = (
    "success", "timeout", "policy_error", "environment_collision", "pedestrian_collision", "vehicle_collision",
)  # fmt: skip
"""Rules of the built-in tasks: unlike in the benchmark's default, a contact with a person ends the episode."""
DEVELOPMENT = "dev"
"""The split that is trained on unless another is asked for."""
DEFAULT_PEOPLE = {"Crossing": 5, "Corridor": 6, "Doorway": 4, "Plaza": 12}


class TaskOptions(TypedDict, total=False):
    """Options of the built-in tasks, ``Crossing``, ``Corridor``, ``Doorway`` and ``Plaza``."""

    people: int | None
    """Number of people; None or left out: the task's usual number."""
    crowd_model: str
    """``orca`` (default), ``social_force_helbing`` or ``social_force_moussaid``."""
    sees_robot: bool
    """Whether people give way to the robot; True unless given."""
    robot: str
    """A name of ``sidestep list robots``, or a YAML or URDF file; ``point`` unless given."""
    time_limit_s: float
    """25 s unless given."""
    step_s: float
    """Length of a step, 0.25 s unless given."""


class ScenarioOptions(TypedDict, total=False):
    """Options of the task ``Scenario``."""

    scenario: str | Path | Scenario | None
    """A suite's name, a file or folder of scenarios, or a scenario."""
    name: str | None
    """Which scenario, of a suite with several."""


class SuiteOptions(TypedDict, total=False):
    """Options of the task ``Suite``."""

    suite: str | Path | None
    """A name of ``sidestep list suites``, a YAML file or a folder."""
    split: str | None
    """A split of the suite; ``dev`` unless given."""
    scenarios: Sequence[str] | None
    """Names or patterns of scenarios, such as ``straight-*``; all unless given."""
    suite_options: Mapping[str, Any] | None
    """Other options of the suite, such as ``{"weather": "rain"}``."""


class WorldOptions(TaskOptions, ScenarioOptions, SuiteOptions, total=False):
    """Keyword arguments that say which worlds an environment has. Which of them a task takes is in ``TaskOptions``,
    ``ScenarioOptions`` and ``SuiteOptions``; others are refused."""


SAMPLED_WORLDS = 8
"""Number of worlds sampled for the largest number of people, where it differs from world to world."""


def room_for_people(builders: Iterable[WorldBuilder], max_people: int | None) -> int:
    """Rows of the ``people`` observation: ``max_people``, or as many as the fullest scenario has; at least 1."""
    if max_people is not None:
        if max_people < 1:
            raise BadInput(f"max_people must be at least 1, got {max_people}")
        return max_people
    return max([1, *(_most_people(builder) for builder in builders)])


def _most_people(builder: WorldBuilder) -> int:
    varies = any(isinstance(part.placement, FlowPlacement) for part in builder.scenario.crowd)
    return max(builder.build(seed).people for seed in range(SAMPLED_WORLDS if varies else 1))


class WorldSource:
    """Where an environment gets its worlds from: one scenario, or all scenarios of a suite in random order. Scenarios
    of a suite have robots with the same commands, so that one policy can drive all of them."""

    def __init__(self, scenarios: Sequence[Scenario], base: Path | None = None, is_suite: bool = False) -> None:
        self._scenarios = {scenario.name: scenario for scenario in scenarios}
        self._base = base
        self._builders: dict[str, WorldBuilder] = {}
        self.is_suite = is_suite
        self.names = tuple(self._scenarios)
        for scenario in scenarios:
            if len(scenario.robots) != 1:
                raise BadInput(
                    f"scenario {scenario.name!r} has {len(scenario.robots)} robots and this environment drives one; "
                    "use sidestep.gym.parallel.CrowdParallelEnv"
                )
        _check_same_commands(scenarios, base)

    def builder(self, name: str | None = None) -> WorldBuilder:
        """What builds the worlds of the scenario ``name`` (None: the first); made when first asked for."""
        name = self.names[0] if name is None else name
        if name not in self._scenarios:
            raise UnknownName("scenario", name, self.names)
        if name not in self._builders:
            self._builders[name] = WorldBuilder(self._scenarios[name], self._base)
        return self._builders[name]

    def peopled(self) -> Iterator[WorldBuilder]:
        """What builds the worlds of each scenario that has people."""
        return (self.builder(name) for name, one in self._scenarios.items() if one.crowd or one.events)

    def scenarios(self, sensors: Sequence[str] = ()) -> tuple[Scenario, ...]:
        """All scenarios; where ``sensors`` has pictures, with the cameras of their robots, for which they are built."""
        if PICTURES.isdisjoint(sensors):
            return tuple(self._scenarios.values())
        return tuple(self.builder(name).scenario for name in self.names)

    @property
    def base(self) -> Path | None:
        """Where relative file names of the scenarios start."""
        return self._base

    def draw(self, rng: np.random.Generator, name: str | None = None, seed: int | None = None) -> tuple[str, int]:
        """Scenario and seed of the next world; what is not given is drawn."""
        if name is None:
            name = self.names[int(rng.integers(len(self.names)))] if self.is_suite else self.names[0]
        return name, int(rng.integers(2**31)) if seed is None else int(seed)

    def build(self, name: str, seed: int) -> World:
        """The world of a scenario under a seed."""
        return self.builder(name).build(seed)


def _check_same_commands(scenarios: Sequence[Scenario], base: Path | None) -> None:
    first: tuple[Any, ...] | None = None
    for scenario in scenarios if len(scenarios) > 1 else ():
        ego = scenario.ego
        spec = load_robot(ego.spec, None if ego.dynamics == "policy" else ego.dynamics, base)
        commands = (spec.dynamics, *(tuple(bound.tolist()) for bound in native_bounds(spec)))
        if first is None:
            first = commands
        if commands != first:
            raise BadInput(
                f"scenarios {scenarios[0].name!r} and {scenario.name!r} have robots with different commands "
                f"({first[0]} {first[1:]} and {commands[0]} {commands[1:]}); choose scenarios with one kind of robot: "
                "scenarios=[…]"
            )


def make_source(task: str, camera: CameraOption = None, **options: Unpack[WorldOptions]) -> WorldSource:
    """Where an environment id gets its worlds from. ``camera`` is laid over the scenarios' camera settings. ``options``
    go to :func:`make_scenario`, for the task ``Scenario`` to :func:`find_scenario` and for ``Suite`` to
    :func:`find_scenarios`."""
    base: Path | None = None
    scenarios: Sequence[Scenario]
    if task == "Suite":
        scenarios, base = find_scenarios(**_known(options, SuiteOptions, task))
    elif task == "Scenario":
        scenario, base = find_scenario(**_known(options, ScenarioOptions, task))
        scenarios = [scenario]
    else:
        scenarios = [make_scenario(task, **_known(options, TaskOptions, task))]
    if camera is not None:
        scenarios = [with_camera(scenario, camera, "camera") for scenario in scenarios]
    return WorldSource(scenarios, base, task == "Suite")


def _known(options: WorldOptions, known: type, task: str) -> Any:
    """The options, all of which the task knows: the keys of ``known``."""
    for name in options:
        if name not in known.__annotations__:
            raise UnknownName("option", name, known.__annotations__, f"sidestep/{task}-v0")
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
        raise UnknownName("environment", task, [*DEFAULT_PEOPLE, "Scenario", "Suite"])
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
    return found[name], base_of(suite)


def find_scenarios(
    suite: str | Path | None = None,
    split: str | None = None,
    scenarios: Sequence[str] | None = None,
    suite_options: Mapping[str, Any] | None = None,
) -> tuple[tuple[Scenario, ...], Path | None]:
    """The scenarios of a suite to train on, and the folder of its paths. ``split``: of suites that have one, ``dev``
    unless given, as tables show the test split. ``scenarios``: names or patterns such as ``straight-*``."""
    if suite is None:
        raise BadInput("sidestep/Suite-v0 needs suite=NAME, a file or a folder of scenarios")
    if isinstance(scenarios, str):
        raise BadInput(f"scenarios is a list of names or patterns, such as [{scenarios!r}]")
    loaded = load_suite(suite)
    chosen = dict(suite_options or {})
    if split is not None or "split" in option_names(loaded):
        if "split" not in option_names(loaded):
            raise BadInput(f"suite {loaded.name!r} has no splits; leave split={split!r} out")
        chosen["split"] = split or chosen.get("split", DEVELOPMENT)
    found = tuple(choose_options(loaded, chosen).scenarios())
    for pattern in scenarios or ():
        if not any(fnmatchcase(scenario.name, pattern) for scenario in found):
            raise UnknownName("scenario", pattern, [scenario.name for scenario in found], str(suite))
    if scenarios is not None:
        found = tuple(each for each in found if any(fnmatchcase(each.name, pattern) for pattern in scenarios))
    if not found:
        raise BadInput(f"suite {loaded.name!r}: no scenario was chosen")
    return found, base_of(loaded)


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
