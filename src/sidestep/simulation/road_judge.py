"""The referee's eye on the road: markings that wheels cross, lanes that are left, and the side on which an area is
left. What it says of an episode follows from the poses alone (:func:`judge_poses`)."""

from __future__ import annotations

from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import IntArray
from sidestep.types import Event, Footprint, RobotSpec, Scenario
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.outcome import ExitRule, LaneRule, Outcome
from sidestep.types.road import Roads

if TYPE_CHECKING:
    from sidestep.simulation.build import World

KINDS = ("broken", "solid", "double_solid", "kerb")
ILLEGAL = frozenset(KINDS) - {"broken"}
OFF_LANE = "off_lane"
"""Subject of the event of a second spent in no lane."""
OFF_LANE_S = 1.0
BEYOND_KERB = "beyond_kerb"
"""Subject of the event of a quarter of a second with a wheel beyond the kerb."""
BEYOND_KERB_S = 0.25
LANE_MARGIN_M = 0.6
"""How far beyond the edge of a lane the middle of the body still is in it."""
SAME_WAY = 0.26
"""Cosine of the largest angle between heading and lane, 75 degrees."""
WHEEL_INSET_M = 0.15
"""From the side of the body to the middle of a wheel."""


def body_middle(footprint: Footprint) -> float:
    """How far ahead of the reference point the middle of the body is, m."""
    if footprint.polygon is None:
        return 0.0
    along = [x for x, _ in footprint.polygon]
    return (min(along) + max(along)) / 2


def wheels_of(spec: RobotSpec) -> FloatArray:
    """(4, 2) where the wheels touch the ground, in the body's frame, m."""
    half = spec.footprint.enclosing_radius
    if spec.footprint.polygon is not None:
        half = max(abs(y) for _, y in spec.footprint.polygon)
    aside = max(half - WHEEL_INSET_M, 0.05)
    front = spec.wheelbase or 0.5 * half
    return np.array([[0.0, -aside], [0.0, aside], [front, -aside], [front, aside]])


@kernel
def crossed_markings(
    before: FloatArray, after: FloatArray, segments: FloatArray, kind: IntArray, found: IntArray
) -> None:
    """Note in ``found`` (KINDS,) which kinds of ``segments`` (M, 4) wheels cross that move from ``before`` (4, 2) to
    ``after``. A line belongs to the side on its right: a wheel that comes from there and ends exactly on the line
    crosses it with the step that leaves it on the left."""
    for w in range(before.shape[0]):
        ax, ay, bx, by = before[w, 0], before[w, 1], after[w, 0], after[w, 1]
        low_x, high_x, low_y, high_y = min(ax, bx), max(ax, bx), min(ay, by), max(ay, by)
        for m in range(segments.shape[0]):
            x0, y0, x1, y1 = segments[m, 0], segments[m, 1], segments[m, 2], segments[m, 3]
            if max(x0, x1) < low_x or min(x0, x1) > high_x or max(y0, y1) < low_y or min(y0, y1) > high_y:
                continue
            ex, ey = x1 - x0, y1 - y0
            was, now = ex * (ay - y0) - ey * (ax - x0), ex * (by - y0) - ey * (bx - x0)
            if (was > 0.0) == (now > 0.0):
                continue
            dx, dy = bx - ax, by - ay
            first, second = dx * (y0 - ay) - dy * (x0 - ax), dx * (y1 - ay) - dy * (x1 - ax)
            if (first > 0.0) != (second > 0.0):
                found[kind[m]] = 1


@kernel
def in_some_lane(x: float, y: float, cosine: float, sine: float, pieces: FloatArray) -> bool:
    """Whether (x, y) is in a lane that leads along (cosine, sine). ``pieces`` (P, 5): x, y, x, y, half width."""
    for k in range(pieces.shape[0]):
        x0, y0 = pieces[k, 0], pieces[k, 1]
        ex, ey = pieces[k, 2] - x0, pieces[k, 3] - y0
        length = sqrt(ex * ex + ey * ey)
        if ex * cosine + ey * sine < SAME_WAY * length:
            continue
        share = min(max(((x - x0) * ex + (y - y0) * ey) / (length * length), 0.0), 1.0)
        dx, dy = x - x0 - share * ex, y - y0 - share * ey
        if dx * dx + dy * dy <= pieces[k, 4] * pieces[k, 4]:
            return True
    return False


class RoadJudge:
    """Judges one robot of one episode by the rules ``exit`` and ``lanes``, pose by pose."""

    def __init__(self, world: World, robot: int = 0) -> None:
        pose = world.scenario.robots[robot].start
        self._begin(
            world.scenario, world.robots[robot], np.array(pose, np.float64), f"scenario {world.scenario.name!r}"
        )

    def _begin(self, scenario: Scenario, spec: RobotSpec, pose: FloatArray, where: str) -> None:
        rules = scenario.rules
        roads = scenario.scene.roads if not isinstance(scenario.scene, str) else None
        if rules.lanes is not None and (roads is None or not roads.lanes):
            raise BadInput(
                f"{where}: rules.lanes needs a scene with roads; take an intersection, or leave the rule out"
            )
        self._exit: ExitRule | None = rules.exit
        self._lanes: LaneRule | None = rules.lanes
        self._segments, self._kinds = marking_segments(roads or Roads())
        self._pieces = lane_pieces(roads or Roads())
        self._wheels = wheels_of(spec)
        self._middle = body_middle(spec.footprint)
        self._step_s = rules.step_s
        self._ends_on_invasion = Outcome.LANE_INVASION in rules.ends_on
        self._invasions = 0
        self._off_lane_steps = 0
        self._beyond_kerb = np.zeros(len(self._wheels), bool)
        self._beyond_kerb_steps = 0
        self._has_invaded = False
        self.is_over = False
        """Whether what was judged ends the episode."""
        self._at = self._placed(pose)

    def _placed(self, pose: FloatArray) -> FloatArray:
        return exact.rotate(self._wheels, float(pose[2])) + pose[:2]

    @classmethod
    def of_record(cls, scenario: Scenario, spec: RobotSpec, first_pose: FloatArray) -> RoadJudge:
        """A judge of an episode that was recorded."""
        judge = cls.__new__(cls)
        judge._begin(scenario, spec, first_pose, f"scenario {scenario.name!r}")
        return judge

    def judge(self, pose: FloatArray, time: float) -> list[Event]:
        """What the step that led to ``pose`` (x, y, heading) brought; ``time`` is the end of it."""
        wheels, self._at = self._at, self._placed(pose)
        sine, cosine = exact.sincos(float(pose[2]))
        x, y = float(pose[0]) + self._middle * cosine, float(pose[1]) + self._middle * sine
        events = self._judge_lanes(wheels, x, y, cosine, sine, time) if self._lanes is not None else []
        if self._exit is not None and not self.is_over:
            left = side_left(self._exit, x, y)
            if left is not None:
                self.is_over = True
                events.append(_exit_event(self._exit, left, x, y, float(pose[2]), time))
        return events

    def _judge_lanes(
        self, wheels: FloatArray, x: float, y: float, cosine: float, sine: float, time: float
    ) -> list[Event]:
        assert self._lanes is not None
        found = np.zeros(len(KINDS), np.int64)
        crossed_markings(wheels, self._at, self._segments, self._kinds, found)
        crossed = [KINDS[k] for k in np.flatnonzero(found).tolist()]
        events = [Event(time, "lane_crossing", kind) for kind in crossed]
        self._invasions += bool(crossed if self._lanes.counts == "any" else ILLEGAL & set(crossed))
        self._off_lane_steps = 0 if in_some_lane(x, y, cosine, sine, self._pieces) else self._off_lane_steps + 1
        if self._off_lane_steps * self._step_s >= OFF_LANE_S - 1e-9:
            self._off_lane_steps = 0
            self._invasions += 1
            events.append(Event(time, "lane_crossing", OFF_LANE))
        if "kerb" in crossed:
            self._beyond_kerb ^= self._over_kerb(wheels)
        self._beyond_kerb_steps = self._beyond_kerb_steps + 1 if self._beyond_kerb.any() else 0
        if self._beyond_kerb_steps * self._step_s >= BEYOND_KERB_S - 1e-9:
            self._beyond_kerb_steps = 0
            self._invasions += 1
            events.append(Event(time, "lane_crossing", BEYOND_KERB))
        if self._invasions > self._lanes.most_invasions and not self._has_invaded:
            self._has_invaded = True
            self.is_over = self.is_over or self._ends_on_invasion
            events.append(Event(time, "lane_invasion", value=self._invasions))
        return events

    def _over_kerb(self, before: FloatArray) -> BoolArray:
        """(4,) which wheels crossed a kerb in this step, onto the sidewalk or back."""
        kerb, found = KINDS.index("kerb"), np.zeros((len(before), len(KINDS)), np.int64)
        for w in range(len(before)):
            crossed_markings(before[w : w + 1], self._at[w : w + 1], self._segments, self._kinds, found[w])
        over: BoolArray = found[:, kerb] == 1
        return over


def marking_segments(roads: Roads) -> tuple[FloatArray, IntArray]:
    """(M, 4) the pieces of all markings, and (M,) their kinds as indices of ``KINDS``."""
    segments, kinds = [np.zeros((0, 4))], [np.zeros(0, np.int64)]
    for marking in roads.markings:
        points = np.array(marking.points, np.float64)
        segments.append(np.concatenate([points[:-1], points[1:]], axis=1))
        kinds.append(np.full(len(points) - 1, KINDS.index(marking.kind), np.int64))
    return np.concatenate(segments), np.concatenate(kinds)


def lane_pieces(roads: Roads) -> FloatArray:
    """(P, 5) the pieces of all lanes' centre lines, and how far from them the lane still counts."""
    pieces = [np.zeros((0, 5))]
    for lane in roads.lanes:
        points = np.array(lane.points, np.float64)
        half = np.full((len(points) - 1, 1), lane.width / 2 + LANE_MARGIN_M)
        pieces.append(np.concatenate([points[:-1], points[1:], half], axis=1))
    return np.concatenate(pieces)


def side_left(rule: ExitRule, x: float, y: float) -> str | None:
    """The side on which (x, y) is outside the area, the one farther away at a corner; None: inside."""
    x0, y0, x1, y1 = rule.area
    beyond = {"east": x - x1, "north": y - y1, "west": x0 - x, "south": y0 - y}
    side = max(beyond, key=lambda name: beyond[name])
    return side if beyond[side] > 0.0 else None


def exit_deviation(rule: ExitRule, x: float, y: float, heading: float) -> tuple[float, float]:
    """Signed metres beside the expert's pose, to its left, and signed angle from its heading, rad."""
    sine, cosine = exact.sincos(rule.pose[2])
    lateral = cosine * (y - rule.pose[1]) - sine * (x - rule.pose[0])
    return float(lateral), float(exact.wrap_angle(heading - rule.pose[2]))


def _exit_event(rule: ExitRule, left: str, x: float, y: float, heading: float, time: float) -> Event:
    lateral, angle = exit_deviation(rule, x, y, heading)
    if left != rule.side:
        return Event(time, "wrong_exit", left, text=f"left to the {left} instead of to the {rule.side}")
    if abs(lateral) > rule.lateral_m:
        return Event(time, "wrong_exit", left, lateral, f"{abs(lateral):.2f} m beside the lane")
    if abs(angle) > rule.angle_rad:
        return Event(time, "wrong_exit", left, angle, f"{abs(angle) * 57.29577951308232:.1f} degrees off the lane")
    return Event(time, "exited", left, lateral)


def judge_poses(scenario: Scenario, spec: RobotSpec, poses: FloatArray) -> list[Event]:
    """The events of a whole episode from its poses (T + 1, 3): what the referee said while it ran."""
    judge = RoadJudge.of_record(scenario, spec, poses[0])
    step = scenario.rules.step_s
    return [event for k in range(1, len(poses)) for event in judge.judge(poses[k], k * step)]


class LaneMarkingSensor(Sensor):
    """Serves ``lane_markings``: the kinds of marking that wheels have crossed since the policy was asked last, in the
    order of ``KINDS``."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        self._segments, self._kinds = marking_segments(context.scene.spec.roads or Roads())
        self._wheels = wheels_of(context.robot)
        self._at: FloatArray | None = None
        self._found = np.zeros(len(KINDS), np.int64)

    def watch(self, view: SensorView) -> None:
        """Follow the wheels at every step."""
        placed = exact.rotate(self._wheels, view.robot.heading) + np.array(view.robot.position)
        if self._at is not None:
            crossed_markings(self._at, placed, self._segments, self._kinds, self._found)
        self._at = placed

    def sense(self, view: SensorView) -> dict[str, Any]:
        """The kinds crossed."""
        crossed = tuple(KINDS[k] for k in np.flatnonzero(self._found).tolist())
        self._found[:] = 0
        return {"lane_markings": crossed}
