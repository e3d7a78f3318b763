"""Everything that is wrong with a suite, found before anything runs (``sidestep validate``).

A run stops at the first mistake of a scenario; here each scenario is read, its scene compiled and every position
checked on its own, so that one look shows all: unknown keys, crowd models and files, recordings that cannot be
replayed (a table without frames per second), a start or goal inside a wall, a person on the robot or on somebody else,
a waypoint in a wall, a goal that cannot be reached. A scenario without any of these is built once under seed 0, which
finds whatever else would stop it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from pydantic import ValidationError

from sidestep._util import exact
from sidestep._util.reading import is_file, is_folder
from sidestep.errors import BadInput, SidestepError
from sidestep.registry import table
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import free_mask, shortest_path
from sidestep.scenes.load import resolve_scene
from sidestep.simulation.build import WorldBuilder
from sidestep.simulation.crowd.models import model_code
from sidestep.simulation.replay import load_replay
from sidestep.simulation.robots import load_robot
from sidestep.suites.files import base_of, load_suite, scenario_documents
from sidestep.types.explain import Mistake, explain_error
from sidestep.types.robot import RobotSpec
from sidestep.types.scenario import ReplayPlacement, Scenario
from sidestep.types.scene import CompiledScene

Progress = Callable[[int, int, str], None]
"""Scenarios checked, scenarios in all, and the name of the last."""

MOST_NAMES = 4
"""Scenarios that are named where many have the same problem."""
IN_WALL = "move it into free space"


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: in which scenario, at which key, what, and what to do about it."""

    scenario: str
    where: str
    what: str
    remedy: str = ""

    @property
    def mistake(self) -> Mistake:
        """Without the scenario."""
        return Mistake(self.where, self.what, self.remedy)


@dataclass(frozen=True)
class Validation:
    """What was found in a suite."""

    file: str
    scenarios: int
    problems: tuple[Problem, ...]

    def lines(self) -> Iterator[str]:
        """Lines to print: each mistake once, with the scenarios that have it, which may share it by their defaults."""
        together: dict[Mistake, list[str]] = {}
        for problem in self.problems:
            together.setdefault(problem.mistake, []).append(problem.scenario)
        for mistake, scenarios in together.items():
            more = f" and {len(scenarios) - MOST_NAMES} more" if len(scenarios) > MOST_NAMES else ""
            yield f"{', '.join(scenarios[:MOST_NAMES])}{more}: {mistake}"

    def as_dict(self) -> dict[str, Any]:
        """The JSON document of ``sidestep validate``."""
        return {
            "file": self.file,
            "scenarios": self.scenarios,
            "problems": [asdict(problem) for problem in self.problems],
        }


def validate_suite(reference: str | Path, progress: Progress | None = None) -> Validation:
    """Check every scenario of a suite: a name, a YAML file or a folder of YAML files."""
    text = str(reference)
    path = Path(reference)
    problems: list[Problem] = []
    if text not in table("suites") and (is_file(path) or is_folder(path)):
        scenarios: list[tuple[Scenario, Path | None]] = list(_read(path, problems))
        count = len(scenarios) + len({problem.scenario for problem in problems if problem.where != "file"})
        if not scenarios and not problems:
            problems.append(Problem(text, "file", "no scenarios in it", "list them under 'scenarios'"))
    else:
        suite = load_suite(text)
        scenarios = [(scenario, base_of(suite)) for scenario in suite.scenarios()]
        count = len(scenarios)
    for number, (scenario, base) in enumerate(scenarios, start=1):
        problems += check_scenario(scenario, base)
        if progress is not None:
            progress(number, len(scenarios), scenario.name)
    return Validation(text, count, tuple(problems))


def _read(path: Path, problems: list[Problem]) -> Iterator[tuple[Scenario, Path | None]]:
    """The scenarios that can be read, each with the folder of its file; mistakes of the others go into ``problems``."""
    seen: dict[str, Path] = {}
    unreadable: list[tuple[Path, str]] = []
    for file, name, document in scenario_documents(path, unreadable):
        try:
            scenario = Scenario.model_validate(document)
        except ValidationError as error:
            problems += [Problem(name, *each) for each in explain_error(Scenario, error, document)]
            continue
        if scenario.name in seen:
            problems.append(Problem(name, "name", f"also used in {seen[scenario.name]}", "give every scenario its own"))
        seen.setdefault(scenario.name, file)
        yield scenario, file.parent
    problems += [_unread(file, why) for file, why in unreadable]


def _unread(file: Path, why: str) -> Problem:
    what, _, remedy = why.removeprefix(f"{file}: ").partition("; ")
    return Problem(str(file), "file", what, remedy)


def check_scenario(scenario: Scenario, base: Path | None = None) -> list[Problem]:
    """Everything that is wrong with one scenario; relative file names start from ``base``."""
    problems = [Problem(scenario.name, *each) for each in _mistakes(scenario, base)]
    if not problems:
        try:
            WorldBuilder(scenario, base).build(0)
        except SidestepError as error:
            problems += [Problem(scenario.name, *each) for each in _told(error, scenario, "world")]
    return problems


def _told(error: Exception, scenario: Scenario, where: str) -> Iterator[Mistake]:
    """What an error says, one mistake for each of its lines."""
    for line in str(error).splitlines():
        line = line.removeprefix(f"scenario {scenario.name!r}: ").removeprefix(f"{where}: ")
        what, _, remedy = line.rpartition("; ")
        yield Mistake(where, what or remedy, remedy if what else "")


def _mistakes(scenario: Scenario, base: Path | None) -> Iterator[Mistake]:
    yield from _crowd_mistakes(scenario, base)
    try:
        scene = compile_scene(resolve_scene(scenario.scene, base), f"scenario {scenario.name!r}")
    except SidestepError as error:
        yield from _told(error, scenario, "scene")
        return
    robots: list[tuple[float, float, float]] = []
    for index, placement in enumerate(scenario.robots):
        where = f"robots[{index}]"
        try:
            spec = load_robot(placement.spec, None if placement.dynamics == "policy" else placement.dynamics, base)
        except SidestepError as error:
            yield from _told(error, scenario, f"{where}.spec")
            continue
        robots.append((*placement.start[:2], spec.footprint.enclosing_radius))
        yield from _robot_mistakes(scenario, index, spec, scene)
    for (a, one), (b, other) in combinations(enumerate(robots), 2):
        if _overlap(one, other) > 0:
            yield Mistake(f"robots[{b}].start", f"overlaps robot {a}", "move one of them")
    yield from _people_mistakes(scenario, scene, robots)


def _crowd_mistakes(scenario: Scenario, base: Path | None) -> Iterator[Mistake]:
    """Crowd models and recordings that are not there or do not fit."""
    name = f"scenario {scenario.name!r}"
    for index, part in enumerate(scenario.crowd):
        try:
            model_code(part, name)
        except SidestepError as error:
            yield from _told(error, scenario, f"crowd[{index}].model")
        if isinstance(part.placement, ReplayPlacement):
            try:
                load_replay(part.placement, scenario.rules, name, base)
            except SidestepError as error:
                yield from _told(error, scenario, f"crowd[{index}].placement")


def _robot_mistakes(scenario: Scenario, index: int, spec: RobotSpec, scene: CompiledScene) -> Iterator[Mistake]:
    placement, where = scenario.robots[index], f"robots[{index}]"
    inner = spec.footprint.radius or min(exact.hypot(x, y) for x, y in spec.footprint.polygon or ())
    start, goal = placement.start[:2], placement.goal
    free = [_is_free(scene, start, inner), _is_free(scene, goal, 0.0)]
    if not free[0]:
        what = f"{_point(start)} is in a wall for robot {spec.name!r} ({inner:.2f} m)"
        yield Mistake(f"{where}.start", what, IN_WALL)
    if not free[1]:
        yield Mistake(f"{where}.goal", f"{_point(goal)} is in a wall", IN_WALL)
    for k, point in enumerate(placement.route):
        if not _is_free(scene, point, 0.0):
            yield Mistake(f"{where}.route[{k}]", f"{_point(point)} is in a wall", IN_WALL)
    if all(free) and len(scene.wall_points):
        try:
            shortest_path(scene, start, goal, inner)
        except BadInput:
            what = f"no path of {2 * inner:g} m width leads from the start to {_point(goal)}"
            yield Mistake(f"{where}.goal", what, "widen a passage or move an end")


def _people_mistakes(
    scenario: Scenario, scene: CompiledScene, robots: Sequence[tuple[float, float, float]]
) -> Iterator[Mistake]:
    """Mistakes in the people placed by hand. Those who come in later may meet anybody where they enter."""
    here: list[tuple[str, tuple[float, float, float]]] = []
    for p, part in enumerate(scenario.crowd):
        for k, person in enumerate(part.people):
            where = f"crowd[{p}].people[{k}]"
            radius = part.radius if person.radius is None else person.radius
            if not _is_free(scene, person.start, radius):
                what = f"{_point(person.start)} is in a wall for a radius of {radius:g} m"
                yield Mistake(f"{where}.start", what, IN_WALL)
            for n, point in enumerate(person.waypoints):
                if not _is_free(scene, point, 0.0):
                    yield Mistake(f"{where}.waypoints[{n}]", f"{_point(point)} is in a wall", IN_WALL)
            if person.enter_s == 0.0:
                here.append((where, (*person.start, radius)))
    for where, disc in here:
        for index, robot in enumerate(robots):
            if _overlap(disc, robot) > 0:
                what = f"overlaps robot {index} by {_overlap(disc, robot):.2f} m"
                yield Mistake(f"{where}.start", what, "move one of them")
    for (where, disc), (other, second) in combinations(here, 2):
        if _overlap(disc, second) > 0:
            what = f"overlaps {where} by {_overlap(disc, second):.2f} m"
            yield Mistake(f"{other}.start", what, "move one of them")


def _is_free(scene: CompiledScene, point: tuple[float, float], radius: float) -> bool:
    return bool(free_mask(scene, np.array([point]), radius)[0])


def _overlap(one: tuple[float, float, float], other: tuple[float, float, float]) -> float:
    """How deep two discs (x, y, radius) overlap, m; negative: how far they are apart."""
    return one[2] + other[2] - float(exact.hypot(one[0] - other[0], one[1] - other[1]))


def _point(point: tuple[float, float]) -> str:
    return f"({point[0]:g}, {point[1]:g})"
