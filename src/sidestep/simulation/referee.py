"""The referee of an episode: a scenario's rules as the arrays that its kernel reads (``kernels.referee``), and what the
kernel says about a robot as events. It also says when the episode is over.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.kernels import referee
from sidestep.kernels.layout import LIMITED, RULE_DT, RULE_GOAL_RADIUS, RULE_TIME_LIMIT, WALL_FRACTION, Grounds
from sidestep.simulation.road_judge import CompiledRoads, compile_roads, pack_road_rules, road_events
from sidestep.types import CompiledScene, Event, Outcome, RobotPlacement, Scenario
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.decide import decide_outcome
from sidestep.types.outcome import Rules
from sidestep.types.record import LIMIT_NAMES, EventKind

if TYPE_CHECKING:
    from sidestep.simulation.build import World
    from sidestep.simulation.worlds import Worlds

OUTCOME_CODES: dict[Outcome, int] = {outcome: code for code, outcome in enumerate(Outcome)}
"""Numbers of the outcomes in kernels."""
SEAM_M = 0.02
"""Gaps between regions narrower than twice this are drawing errors, not holes to fall into."""
NEVER_M = -1.0
"""Radius of a goal that is not to be reached."""
BAND_MM = 1000.0
"""Height of the bands in which the edges of the ground are listed."""


@dataclass(frozen=True, eq=False)
class CompiledGround:
    """Ground that a robot must not leave, as the edges of its polygons: whole millimetres, by horizontal bands."""

    edges: FloatArray  # (E, 4) float64: x, y, x, y in mm; an edge is listed in every band that it reaches
    bands: IntArray  # (bands + 1,) int64: where in ``edges`` each band begins, and the end
    lowest_mm: float


@dataclass(frozen=True, eq=False)
class CompiledRules:
    """The rules of a scenario of R robots and vehicles as arrays."""

    numbers: FloatArray  # (RULE_ROWS,) float64
    ground: CompiledGround | None  # None: the robot may go anywhere
    roads: CompiledRoads | None  # None: no rule is about roads
    waypoints: FloatArray  # (R, W, 4) float64, see ``kernels.referee``; W = 0 where nobody is put back


def compile_rules(scenario: Scenario, scene: CompiledScene, where: str) -> CompiledRules:
    """The rules of ``scenario``. Raises ``BadInput`` if they need ground or roads that the scene does not have."""
    rules = scenario.rules
    return CompiledRules(
        _pack_rules(rules),
        compile_ground(scene, tuple(rules.stay_on), where) if rules.stay_on else None,
        compile_roads(rules, scene, where),
        pack_waypoints(scenario.robots, rules, len(scenario.traffic)),
    )


def _pack_rules(rules: Rules) -> FloatArray:
    packed = np.zeros(referee.RULE_ROWS)
    packed[RULE_DT] = rules.step_s
    packed[RULE_GOAL_RADIUS] = rules.goal_radius_m if rules.success != "exit" else NEVER_M
    packed[RULE_TIME_LIMIT], packed[referee.RULE_MAX_STEPS] = rules.time_limit_s, rules.max_steps
    kinds = {
        referee.HAS_GROUND: bool(rules.stay_on),
        referee.AVOIDS_GROUPS: rules.avoid_groups,
        referee.MUST_STOP: rules.success == "stop",
        referee.RESETS: rules.on_failure == "reset",
        referee.FREEZES: rules.frozen_after_s is not None,
        referee.HAS_ROAD_RULES: rules.exit is not None or rules.lanes is not None,
    }
    packed[referee.RULE_KINDS] = sum(bit for bit, holds in kinds.items() if holds)
    packed[referee.RULE_ENDS_ON] = sum(1 << OUTCOME_CODES[outcome] for outcome in set(rules.ends_on))
    if rules.frozen_after_s is not None:
        packed[referee.RULE_FROZEN_STEPS] = round(min(rules.frozen_after_s, 2 * rules.time_limit_s) / rules.step_s)
    packed[referee.RULE_STOP_WITHIN], packed[referee.RULE_STOP_FOR] = rules.stop_within_m, rules.stop_for_s
    packed[referee.RULE_COOLDOWN] = rules.collision_cooldown_s
    packed[referee.RULE_ROAD : referee.RULE_PRECEDENCE] = pack_road_rules(rules)
    packed[referee.RULE_PRECEDENCE :] = [OUTCOME_CODES[outcome] for outcome in rules.precedence]
    return packed


def pack_waypoints(robots: Sequence[RobotPlacement], rules: Rules, vehicles: int = 0) -> FloatArray:
    """Where robots that failed are put down: their start, the points of their route, the goal last. The rows of
    ``vehicles``, which nobody judges, stay empty.

    A robot is never put on its goal, nor on a waypoint within the goal's circle other than its start: to be carried on
    again and again must not reach the goal.
    """
    if rules.on_failure != "reset":
        return np.zeros((len(robots) + vehicles, 0, referee.POINT_ROWS))
    routes = [np.array([robot.start[:2], *robot.route, robot.goal], np.float64) for robot in robots]
    packed = np.zeros((len(robots) + vehicles, 1 + max(len(points) for points in routes), referee.POINT_ROWS))
    for row, points in zip(packed, routes, strict=False):
        steps = np.diff(points, axis=0)
        outside = exact.norm(points[:-1] - points[-1]) >= rules.goal_radius_m
        row[0, :2] = len(points), max([0, *np.flatnonzero(outside).tolist()])
        row[1 : len(points) + 1, [referee.POINT_X, referee.POINT_Y]] = points
        row[1 : len(points), referee.POINT_HEADING] = exact.arctan2(steps[:, 1], steps[:, 0])
        row[2 : len(points) + 1, referee.POINT_ALONG] = np.cumsum(exact.norm(steps))
    return packed


@lru_cache(maxsize=32)
def compile_ground(scene: CompiledScene, kinds: tuple[str, ...], where: str) -> CompiledGround:
    """All regions of ``kinds`` as one ground; remembered, as many scenarios share a scene."""
    shapes = [shapely.Polygon(r.polygon, r.holes) for r in scene.spec.regions if r.kind in kinds]
    if not shapes:
        raise BadInput(
            f"{where}: rules.stay_on names {', '.join(kinds)}, but scene {scene.spec.name!r} has no such region"
        )
    grown = shapely.union_all([shape.buffer(SEAM_M, join_style="mitre") for shape in shapes])
    edges = np.concatenate(list(_edges_mm(grown.buffer(-SEAM_M, join_style="mitre"))))
    lowest = float(edges[:, [1, 3]].min())
    first = np.floor((edges[:, [1, 3]].min(axis=1) - lowest) / BAND_MM).astype(np.int64)
    last = np.floor((edges[:, [1, 3]].max(axis=1) - lowest) / BAND_MM).astype(np.int64)
    listed = [np.flatnonzero((first <= band) & (band <= last)) for band in range(int(last.max()) + 1)]
    bands = np.concatenate([[0], np.cumsum([len(items) for items in listed])]).astype(np.int64)
    return CompiledGround(np.ascontiguousarray(edges[np.concatenate(listed)]), bands, lowest)


def _edges_mm(shape: Any) -> Iterator[FloatArray]:
    """The edges of all rings of a polygon or of several, rounded to whole millimetres."""
    for polygon in shapely.get_parts(shape):
        for ring in (polygon.exterior, *polygon.interiors):
            points = np.rint(shapely.get_coordinates(ring) * referee.MILLIMETRES)
            edges = np.concatenate([points[:-1], points[1:]], axis=1)
            yield edges[(edges[:, :2] != edges[:, 2:]).any(axis=1)]


def ground_bank(grounds: Sequence[CompiledGround | None]) -> tuple[Grounds, list[int]]:
    """All distinct grounds end to end, and which one each world has (0 for none)."""
    distinct = {id(ground): ground for ground in grounds if ground is not None}
    edges: list[FloatArray] = [np.zeros((0, 4))]
    bands: list[IntArray] = [np.zeros(1, np.int64)]
    frames = [np.array([0.0, 1.0, 0.0, 0.0])]
    for ground in distinct.values():
        frames.append(np.array([ground.lowest_mm, BAND_MM, sum(map(len, bands)), len(ground.bands) - 1]))
        bands.append(ground.bands + sum(map(len, edges)))
        edges.append(ground.edges)
    place = {key: k for k, key in enumerate(distinct, start=1)}
    numbers = [0 if ground is None else place[id(ground)] for ground in grounds]
    return Grounds(np.concatenate(edges), np.concatenate(bands), np.stack(frames)), numbers


class Referee:
    """Keeps the events of one episode, in order of time. The judging itself is ``Worlds.judge``."""

    def __init__(self, world: World, robot: int = 0) -> None:
        self._world = world
        self._rules = world.scenario.rules
        self._robot = robot
        self._limits: set[str] = set()
        self._groups = 0
        self.events: list[Event] = []

    @property
    def outcome(self) -> Outcome:
        """The outcome of what has happened so far."""
        return decide_outcome(self.events, self._rules)

    def policy_failed(self, time: float, reason: str) -> None:
        """Note that the policy failed, which ends the episode."""
        self.events.append(Event(time, "policy_error", text=reason))

    def watch(self, worlds: Worlds, b: int) -> bool:
        """Note what happened in the step just judged; True when the episode is over."""
        step = int(worlds.clock[b])
        start, end = (step - 1) * self._rules.step_s, step * self._rules.step_s
        news = int(worlds.news[b, self._robot])
        self.events += worlds.directed[b]
        if news & referee.CONTACT_NEWS:
            self._note_contacts(worlds, b, start)
        self._note_limits(int(worlds.status[b, self._robot, LIMITED]), start)
        if news & referee.OFF_NEWS:
            self.events.append(Event(end, "off_route"))
        if news & referee.GROUP_NEWS:
            self._note_groups(worlds, b, end)
        if news & referee.GOAL_NEWS:
            self.events.append(Event(end, "goal_reached"))
        if news & referee.DISOBEYED_NEWS:
            self.events.append(Event(end, "disobeyed"))
        if news & referee.STOPPED_NEWS:
            person = int(worlds.marks[b, self._robot, referee.STOPPED_FOR])
            self.events.append(Event(end, "stopped", self._name_of(worlds, person)))
        if news & referee.FROZEN_NEWS:
            self.events.append(Event(end, "frozen"))
        if news & referee.TIMEOUT_NEWS:
            self.events.append(Event(end, "timeout"))
        if news & referee.RESET_NEWS:
            self.events.append(Event(end, "reset", value=worlds.notes[b, self._robot, referee.CARRIED]))
        if news & referee.ROAD_NEWS:
            mark, note = worlds.marks[b, self._robot, referee.ROAD_MARK :], worlds.notes[b, self._robot]
            self.events += road_events(news, mark, note[referee.ROAD_NOTE :], self._rules.exit, end)
        return bool(worlds.ending[b, self._robot] != referee.RUNNING)

    def _note_contacts(self, worlds: Worlds, b: int, start: float) -> None:
        """Contacts that ended, by name, then contacts that began, by time."""
        touch = worlds.marks[b, self._robot, referee.MARKS : referee.MARKS + worlds.columns + 1]
        ended = [self._name_of(worlds, j) for j in np.flatnonzero(touch == referee.ENDS).tolist()]
        self.events += [Event(start, "collision_end", subject) for subject in sorted(ended)]
        fractions = [*worlds.contact[b, self._robot].tolist(), worlds.measures.item(b, self._robot, WALL_FRACTION)]
        begun = [(fractions[j], self._name_of(worlds, j)) for j in np.flatnonzero(touch == referee.BEGINS).tolist()]
        for fraction, subject in sorted(begun):
            self.events.append(Event(start + fraction * self._rules.step_s, "collision_start", subject))

    def _note_groups(self, worlds: Worlds, b: int, end: float) -> None:
        mark, people = worlds.marks[b, self._robot], worlds.people
        count = int(mark[referee.CROSSED])
        crossed = [int(mark[len(mark) - people + k % people]) for k in range(self._groups, count)]
        self._groups = count
        self.events += [Event(end, "group_intrusion", f"group:{group}") for group in sorted(crossed)]

    def _name_of(self, worlds: Worlds, column: int) -> str:
        if column < worlds.people:
            return f"person:{self._world.person_id[column]}"
        robot = column - worlds.people
        if robot >= worlds.robots:
            return "wall"
        vehicle = robot - len(self._world.scenario.robots)
        return f"robot:{robot}" if vehicle < 0 else f"vehicle:{vehicle}"

    def _note_limits(self, bits: int, time: float) -> None:
        now = {name for bit, name in LIMIT_NAMES.items() if bits & bit}
        changes: list[tuple[EventKind, set[str]]] = [
            ("limit_end", self._limits - now),
            ("limit_start", now - self._limits),
        ]
        for kind, names in changes:
            self.events += [Event(time, kind, name) for name in sorted(names)]
        self._limits = now
