"""Compare records with the worlds that the scenarios and seeds of a plan give: the first state of a record has to be
that of the world, with its robot, walls, people and rules. Nothing is simulated, and no plug-in is loaded."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep import registry
from sidestep.errors import SidestepError
from sidestep.runs.episode import EpisodeTask
from sidestep.runs.plan import Plan
from sidestep.runs.provenance import PLUG_IN, names_of_files, scenario_files, simulator_version
from sidestep.types import EpisodeRecord, Outcome, PolicyInfo, Scenario

CLOSE = 1e-6
"""Absolute and relative tolerance of lengths and times, which single precision may round otherwise."""
MOST_BUILDERS = 8
MOST_STATES = 20_000
MOST_PEOPLE = 2000
MOST_STEPS = 100_000
MOST_SCENARIO_BYTES = 1_000_000
FASTER = 1.02
"""How much faster than its limit a robot may move in a record: corrections of contacts shift it a little."""
NOBODY = PolicyInfo("nobody")
AT_START = (
    "robot_pose", "robot_velocity", "person_position", "person_velocity", "person_heading", "person_present",
    "person_group", "other_pose",
)  # fmt: skip
"""Arrays whose first row is the state at the beginning."""
ALWAYS = ("walls", "person_id", "person_radius", "other_radius")
WORDS = {
    "robot_pose": "the robot's first pose",
    "robot_velocity": "the robot's first velocity",
    "person_position": "the people's first positions",
    "person_velocity": "the people's first velocities",
    "person_heading": "the people's first headings",
    "person_present": "who is present at the beginning",
    "person_group": "the groups at the beginning",
    "other_pose": "the first poses of other robots and vehicles",
    "walls": "the walls",
    "person_id": "the numbers of the people",
    "person_radius": "the radii of the people",
    "other_radius": "the radii of other robots and vehicles",
}


@dataclass(frozen=True)
class Unbuilt:
    """A scenario whose worlds could not be built here, and the reason."""

    scenario: str
    reason: str


class WorldCheck:
    """Compares the records of a plan with its worlds, each of which is built once."""

    def __init__(self, plan: Plan, differing: Collection[str] = ()) -> None:
        self._plan = plan
        self._unbuilt = _reasons_not_built(plan)
        self._unbuilt |= dict.fromkeys(differing, "it is not the bundled suite's scenario of this name")
        self._builders: OrderedDict[tuple[str, str], Any] = OrderedDict()
        self._first: dict[tuple[str, int, str], EpisodeRecord] = {}
        self.checked = 0

    @property
    def unbuilt(self) -> tuple[Unbuilt, ...]:
        """Scenarios that were not built."""
        return tuple(Unbuilt(name, reason) for name, reason in sorted(self._unbuilt.items()))

    def difference(self, task: EpisodeTask, record: EpisodeRecord) -> str:
        """What of a record is not as in the world of its task; empty if nothing is, or if the world cannot be built."""
        if task.scenario.name in self._unbuilt:
            return ""
        dynamics = str(record.scenario.ego.dynamics or "") if task.scenario.ego.dynamics == "policy" else ""
        key = (task.scenario.name, task.seed, dynamics)
        if key not in self._first:
            try:
                self._first[key] = self._build(task.scenario, task.seed, dynamics)
            except SidestepError as error:
                self._unbuilt[task.scenario.name] = str(error)[:200]
                return ""
            if len(self._first) > MOST_STATES:
                self._first.pop(next(iter(self._first)))
        self.checked += 1
        return next(_differences(record, self._first.get(key, record)), "")

    def _build(self, scenario: Scenario, seed: int, dynamics: str) -> EpisodeRecord:
        from sidestep.simulation.build import WorldBuilder
        from sidestep.simulation.recorder import Recorder
        from sidestep.simulation.worlds import Worlds

        key = (scenario.name, dynamics)
        if key not in self._builders:
            plain = scenario.model_copy(update={"sensors": type(scenario.sensors)()})
            if dynamics:
                ego = plain.ego.model_copy(update={"dynamics": dynamics})
                plain = plain.model_copy(update={"robots": (ego, *plain.robots[1:])})
            self._builders[key] = WorldBuilder(plain, self._plan.base)
            if len(self._builders) > MOST_BUILDERS:
                self._builders.popitem(last=False)
        world = self._builders[key].build(seed)
        recorder = Recorder(world)
        recorder.note_state(Worlds([world]), 0)
        return recorder.finish(NOBODY, Outcome.TIMEOUT, [], self._plan.mode)


def _reasons_not_built(plan: Plan) -> dict[str, str]:
    """Scenario → why its worlds are not built here. Worlds of a person's own suite are compared only with records of
    this very simulator, as another version may place people otherwise; a bundled suite has to be of this version."""
    if plan.suite == "log":
        return {scenario.name: "its records are made of logs" for scenario in plan.scenarios}
    if plan.suite not in registry.SUITES and plan.simulator != simulator_version():
        reason = f"a suite that is not bundled, run by another simulator ({plan.simulator[:80] or 'unknown'})"
        return {scenario.name: reason for scenario in plan.scenarios}
    found = scenarios_not_here(plan)
    for scenario in plan.scenarios:
        if any(name.startswith(PLUG_IN) for name in scenario_files([scenario], plan.base)):
            found.setdefault(scenario.name, "its world is made by a plug-in, whose code is not run here")
        elif reason := _too_large(scenario):
            found.setdefault(scenario.name, reason)
    return found


def _too_large(scenario: Scenario) -> str:
    """Why a world is not built, which somebody may have made to fill the memory; empty if it is small enough."""
    people = sum(np.max(getattr(part.placement, "count", 0)) for part in scenario.crowd)
    size = len(scenario.model_dump_json())
    if people > MOST_PEOPLE or size > MOST_SCENARIO_BYTES or scenario.rules.max_steps > MOST_STEPS:
        return f"its world is too large: {people:,} people, {size:,} bytes, {scenario.rules.max_steps:,} steps"
    return ""


def scenarios_not_here(plan: Plan) -> dict[str, str]:
    """Scenario → why it cannot be built as in the run: a recording, map or plug-in is missing here or has changed."""
    everywhere = scenario_files(plan.scenarios, plan.base)
    changed = {name for name in {*plan.files, *everywhere} if plan.files.get(name) != everywhere.get(name)}
    plug_in = next((name for name in sorted(changed) if name.startswith(PLUG_IN)), None)
    found = {}
    for scenario in plan.scenarios:
        wrong = plug_in or next((name for name in names_of_files(scenario) if name in changed), None)
        if wrong is not None:
            found[scenario.name] = f"{wrong} is missing here or differs from the one of the run"
    return found


def _differences(record: EpisodeRecord, world: EpisodeRecord) -> Iterator[str]:
    """What of a record differs from the world that its plan gives, the plainest first."""
    if keys := _differing_fields(record.robot, world.robot):
        yield f"the robot differs from that of the scenario in {keys}"
    if keys := _differing_fields(_without_sensors(record.scenario), _without_sensors(world.scenario)):
        yield f"the record's scenario differs from that of the plan in {keys}"
    if record.source != world.source:
        yield f"people are {record.source}, in the scenario {world.source}"
    for name in ALWAYS:
        if not _same(getattr(record, name), getattr(world, name)):
            yield f"{WORDS[name]} differ from those of the scenario and seed"
    if record.person_model != world.person_model:
        yield "the models of the people differ from those of the scenario"
    for name in AT_START:
        if not _same(getattr(record, name)[:1], getattr(world, name)[:1]):
            yield f"{WORDS[name]}: not as the scenario and seed give"
    yield from _in_time(record, world)
    if record.format_version > 1 and not _same(record.shortest_path_m, world.shortest_path_m):
        yield f"the shortest path is {record.shortest_path_m:g} m, in the scenario {world.shortest_path_m:g} m"


def _in_time(record: EpisodeRecord, world: EpisodeRecord) -> Iterator[str]:
    rules = world.scenario.rules
    if not _same(record.time, np.arange(len(record.time)) * rules.step_s):
        yield f"the times are not steps of {rules.step_s:g} s"
    if record.steps > rules.max_steps:
        yield f"{record.steps} steps, the time limit is {rules.max_steps}"
    fastest, limit = _fastest(record), world.robot.limits.max_speed
    if fastest > limit * FASTER + 0.01:
        yield f"the robot moves at {fastest:.3g} m/s, its limit is {limit:g} m/s"


def _fastest(record: EpisodeRecord) -> float:
    """The largest distance of one step as a speed, m/s, but for steps in which the robot is put back."""
    if record.steps < 1:
        return 0.0
    moved = np.hypot(*np.diff(record.robot_pose[:, :2], axis=0).T) / record.step_s
    resets = [event.time for event in record.events if event.kind == "reset"]
    for time in resets:
        step = int(np.searchsorted(record.time, time, side="left"))
        moved[max(step - 2, 0) : step + 1] = 0.0
    return float(np.nanmax(moved, initial=0.0))


def _same(a: Any, b: Any) -> bool:
    one, other = np.asarray(a), np.asarray(b)
    if one.shape != other.shape:
        return False
    if one.dtype.kind == "f" or other.dtype.kind == "f":
        return bool(np.allclose(one, other, rtol=CLOSE, atol=CLOSE, equal_nan=True))
    return bool(np.array_equal(one, other))


def _without_sensors(scenario: Scenario) -> Scenario:
    return scenario.model_copy(update={"sensors": type(scenario.sensors)()})


def _differing_fields(found: Any, expected: Any) -> str:
    """Names of the fields in which two models differ; empty if they are equal."""
    if found == expected:
        return ""
    was, is_ = found.model_dump(mode="json"), expected.model_dump(mode="json")
    return ", ".join(key for key in was if repr(was[key]) != repr(is_.get(key)))
