"""The rules of the road in plain Python, against which the compiled referee is compared."""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep._util import exact
from sidestep.simulation.road_judge import (
    BEYOND_KERB,
    KINDS,
    OFF_LANE,
    body_middle,
    lane_pieces,
    marking_segments,
    wheels_of,
)
from sidestep.types import Event, RobotSpec, Scenario
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.outcome import ExitRule, LaneRule, Outcome
from sidestep.types.road import Roads

ILLEGAL = frozenset(KINDS) - {"broken"}
OFF_LANE_S = 1.0
BEYOND_KERB_S = 0.25
SAME_WAY = 0.26


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


class RoadReference:
    """Judges a robot by the rules ``exit`` and ``lanes``, pose by pose."""

    def __init__(self, scenario: Scenario, spec: RobotSpec, pose: FloatArray) -> None:
        rules = scenario.rules
        roads = scenario.scene.roads if not isinstance(scenario.scene, str) else None
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
    """The events of a whole episode from its poses (T + 1, 3): what the rules make of them."""
    judge = RoadReference(scenario, spec, poses[0])
    step = scenario.rules.step_s
    return [event for k in range(1, len(poses)) for event in judge.judge(poses[k], k * step)]
