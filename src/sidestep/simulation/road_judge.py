"""The rules of the road as arrays for the referee's kernel (``kernels.road_rules``), and the kernel's verdicts as
events: markings that wheels cross, lanes that are left, and the side on which an area is left. These events follow from
the poses alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, get_args

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels import road_rules
from sidestep.kernels.layout import RoadLines
from sidestep.types import CompiledScene, Event, Footprint, RobotSpec
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import ExitRule, Outcome, Rules, Side
from sidestep.types.road import MarkingKind, Roads

KINDS: tuple[MarkingKind, ...] = get_args(MarkingKind)
SIDES: tuple[Side, ...] = get_args(Side)
OFF_LANE = "off_lane"
"""Subject of the event of a second spent in no lane."""
BEYOND_KERB = "beyond_kerb"
"""Subject of the event of a quarter of a second with a wheel beyond the kerb."""
SUBJECTS = (*KINDS, OFF_LANE, BEYOND_KERB)
"""Subjects of ``lane_crossing`` in the order of the kernel's bits."""
LANE_MARGIN_M = 0.6
"""How far beyond the edge of a lane the middle of the body still is in it."""
WHEEL_INSET_M = 0.15
"""From the side of the body to the middle of a wheel."""


def body_middle(footprint: Footprint) -> float:
    """How far ahead of the reference point the middle of the body is, m."""
    if footprint.polygon is None:
        return 0.0
    along = [x for x, _ in footprint.polygon]
    return (min(along) + max(along)) / 2


def wheel_places(spec: RobotSpec) -> tuple[float, float]:
    """Where the wheels touch the ground in the body's frame: y of the left ones, x of the front ones, m. The right ones
    are at -y, the rear ones at x = 0."""
    half = spec.footprint.enclosing_radius
    if spec.footprint.polygon is not None:
        half = max(abs(y) for _, y in spec.footprint.polygon)
    return max(half - WHEEL_INSET_M, 0.05), spec.wheelbase or 0.5 * half


def wheels_of(spec: RobotSpec) -> FloatArray:
    """(4, 2) where the wheels touch the ground, in the body's frame, m."""
    aside, front = wheel_places(spec)
    return np.array([[0.0, -aside], [0.0, aside], [front, -aside], [front, aside]])


@dataclass(frozen=True, eq=False)
class CompiledRoads:
    """The markings and lanes of one scene in straight pieces, as in ``kernels.layout.RoadLines``."""

    segments: FloatArray  # (M, 4) float64
    kinds: IntArray  # (M,) int64
    lanes: FloatArray  # (P, 5) float64


def compile_roads(rules: Rules, scene: CompiledScene, where: str) -> CompiledRoads | None:
    """The roads that the rules are about; None where no rule is. ``BadInput`` for a rule about lanes without roads."""
    roads = scene.spec.roads
    if rules.lanes is None:
        return None
    if roads is None or not roads.lanes:
        raise BadInput(f"{where}: rules.lanes needs a scene with roads; take an intersection, or leave the rule out")
    return _compile_roads(scene)


@lru_cache(maxsize=32)
def _compile_roads(scene: CompiledScene) -> CompiledRoads:
    roads = scene.spec.roads or Roads()
    return CompiledRoads(*marking_segments(roads), lane_pieces(roads))


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


def road_bank(roads: Sequence[CompiledRoads | None]) -> tuple[RoadLines, list[int]]:
    """All distinct roads end to end, and which one each world has (0 for none)."""
    distinct = {id(one): one for one in roads if one is not None}
    listed = [CompiledRoads(np.zeros((0, 4)), np.zeros(0, np.int64), np.zeros((0, 5))), *distinct.values()]
    sizes = np.array([(len(one.segments), len(one.lanes)) for one in listed], np.int64)
    place = {key: k for k, key in enumerate(distinct, start=1)}
    lines = RoadLines(
        np.concatenate([one.segments for one in listed]),
        np.concatenate([one.kinds for one in listed]),
        np.concatenate([one.lanes for one in listed]),
        np.concatenate([np.zeros((1, 2), np.int64), np.cumsum(sizes, axis=0)]),
    )
    return lines, [0 if one is None else place[id(one)] for one in roads]


def pack_road_rules(rules: Rules) -> FloatArray:
    """(ROAD_RULES,) the rules ``exit`` and ``lanes`` as the kernel reads them."""
    packed, kinds = np.zeros(road_rules.ROAD_RULES), 0
    if rules.exit is not None:
        kinds |= road_rules.HAS_EXIT
        packed[road_rules.X_MIN : road_rules.Y_MAX + 1] = rules.exit.area
        packed[road_rules.SIDE] = SIDES.index(rules.exit.side)
        packed[road_rules.EXIT_X : road_rules.EXIT_HEADING + 1] = rules.exit.pose
        packed[road_rules.EXIT_SINE], packed[road_rules.EXIT_COSINE] = exact.sincos(rules.exit.pose[2])
        packed[road_rules.MOST_BESIDE], packed[road_rules.MOST_ANGLE] = rules.exit.lateral_m, rules.exit.angle_rad
    if rules.lanes is not None:
        kinds |= road_rules.HAS_LANES | (road_rules.COUNTS_ANY if rules.lanes.counts == "any" else 0)
        kinds |= road_rules.INVASION_ENDS if Outcome.LANE_INVASION in rules.ends_on else 0
        packed[road_rules.MOST_INVASIONS] = rules.lanes.most_invasions
    packed[road_rules.KINDS] = kinds
    return packed


def road_events(news: int, mark: IntArray, note: FloatArray, rule: ExitRule | None, time: float) -> list[Event]:
    """What a step that ended at ``time`` brought, from the kernel's ``news``, ``mark`` and ``note``."""
    crossed = int(mark[road_rules.CROSSED]) if news & road_rules.LANE_NEWS else 0
    events = [Event(time, "lane_crossing", name) for bit, name in enumerate(SUBJECTS) if crossed & 1 << bit]
    if news & road_rules.INVASION_NEWS:
        events.append(Event(time, "lane_invasion", value=int(mark[road_rules.INVASIONS])))
    if news & (road_rules.EXITED_NEWS | road_rules.WRONG_EXIT_NEWS):
        assert rule is not None
        side, beside = SIDES[mark[road_rules.EXIT_SIDE]], float(note[road_rules.EXIT_BESIDE])
        if news & road_rules.EXITED_NEWS:
            events.append(Event(time, "exited", side, beside))
        else:
            events.append(_wrong_exit(rule, side, beside, float(note[road_rules.EXIT_ANGLE]), time))
    return events


def _wrong_exit(rule: ExitRule, side: Side, beside: float, angle: float, time: float) -> Event:
    if side != rule.side:
        return Event(time, "wrong_exit", side, text=f"left to the {side} instead of to the {rule.side}")
    if abs(beside) > rule.lateral_m:
        return Event(time, "wrong_exit", side, beside, f"{abs(beside):.2f} m beside the lane")
    return Event(time, "wrong_exit", side, angle, f"{abs(angle) * 57.29577951308232:.1f} degrees off the lane")


class LaneMarkingSensor(Sensor):
    """Serves ``lane_markings``: the kinds of marking that wheels have crossed since the policy was asked last, in the
    order of ``KINDS``."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        self._segments, self._kinds = marking_segments(context.scene.spec.roads or Roads())
        self._wheels = wheels_of(context.robot)
        self._at: FloatArray | None = None
        self._found = 0

    def watch(self, view: SensorView) -> None:
        """Follow the wheels at every step."""
        placed = exact.rotate(self._wheels, view.robot.heading) + np.array(view.robot.position)
        if self._at is not None:
            for (ax, ay), (bx, by) in zip(self._at.tolist(), placed.tolist(), strict=True):
                self._found |= road_rules.crossed_markings(
                    ax, ay, bx, by, self._segments, self._kinds, 0, len(self._segments)
                )
        self._at = placed

    def sense(self, view: SensorView) -> dict[str, Any]:
        """The kinds crossed."""
        crossed = tuple(kind for bit, kind in enumerate(KINDS) if self._found & 1 << bit)
        self._found = 0
        return {"lane_markings": crossed}
