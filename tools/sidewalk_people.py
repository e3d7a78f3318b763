"""Where the people of ``sidewalk-reactive`` stand on routes that are already chosen, so that each event tests what it
says, and whether people who stand leave a passage, by geometry alone.

A group stands across the robot's route with a gap that the robot fits through, and leaves a passage round the whole
group: a robot that keeps off bodies but does not know groups drives through the gap. Nobody stands where a robot that
keeps to its lane would touch them before the event begins. Everything follows from the route and a random generator;
decisions keep 5 cm or more of margin.
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi, sqrt
from typing import Any, Protocol

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.suites.sidewalk.scenarios import GROUND
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scene import SOLID, SceneSpec

HALF_WIDTH_M = 0.55
"""Half of a robot 0.6 m wide, and a quarter of a metre of room on either side."""
EDGE_M = 0.2
"""The centre stays so far from the edge of the ground."""
REACH_M = 9.0
"""How far before and after the people the way is looked at."""


def leaves_passage(
    points: FloatArray,
    scene: SceneSpec,
    people: FloatArray,
    radius: float,
    group: IntArray,
    half_width: float = HALF_WIDTH_M,
) -> bool:
    """Whether a disc of radius ``half_width`` can go along the way ``points`` (K, 2) past ``people`` (N, 2), round
    groups, with its centre on the ground of sidewalk robots."""
    middle = people.mean(axis=0)
    area = shapely.Point(middle).buffer(REACH_M + 2.0)
    ground = _union(scene, frozenset(GROUND), area).buffer(0.02).buffer(-EDGE_M)
    solid = _union(scene, SOLID, area).buffer(half_width)
    standing = [shapely.Point(place).buffer(radius + half_width) for place in people]
    for number in np.unique(group[group >= 0]).tolist():
        standing.append(shapely.MultiPoint(people[group == number]).convex_hull.buffer(radius + half_width))
    free = ground.intersection(area) - solid - shapely.union_all(standing)
    along = np.concatenate([[0.0], np.cumsum(exact.hypot(*np.diff(points, axis=0).T))])
    here = float(along[exact.hypot(*(points - middle).T).argmin()])
    ends = [_on_route(points, along, np.clip(here + step, 0.0, along[-1])) for step in (-REACH_M, REACH_M)]
    parts = [part for part in shapely.get_parts(free) if part.distance(ends[0]) < 0.5]
    return any(part.distance(ends[1]) < 0.5 for part in parts)


def _on_route(points: FloatArray, along: FloatArray, s: float) -> shapely.Point:
    return shapely.Point(*(float(exact.interp(s, along, points[:, k])) for k in (0, 1)))


def _union(scene: SceneSpec, kinds: frozenset[str], area: shapely.Geometry) -> Any:
    shapes = [shapely.Polygon(region.polygon, region.holes) for region in scene.regions if region.kind in kinds]
    return shapely.union_all([shape for shape in shapes if shape.intersects(area)])


Event = dict[str, Any]

BODY_M = 0.3
"""Radius of a person."""
WAY_ROUND_M, WIDE_WAY_ROUND_M = 1.18, 1.45
"""From the edge of the sidewalk to the nearest person's centre: 0.2 m to the robot's centre, half of a robot 0.6 m wide
and a quarter of a metre of room, the person's radius, and 0.13 m to spare; where there is room, 0.4 m to spare."""
BESIDE_ROUTE_M = 0.6
"""The person beside the way round stands at most so far beside the route."""
BEYOND_EDGE_M = 0.35
"""The person on the other side may stand so far off the sidewalk, on the verge or before a building."""
GAP_M = (1.8, 2.2)
"""Between the centres on both sides of the gap, across the way: 1.2 … 1.6 m between bodies, for a robot 0.6 m wide.
Narrow sidewalks have less, but at least ``NARROWEST_GAP_M``."""
NARROWEST_GAP_M = 1.56
STRETCHES = ((0.5, 0.64), (0.36, 0.76))
"""Parts of the way between which groups stand: rather the first."""
TRIES = 40
BEFORE_GOAL_M = 0.6
"""From the group to the goal's circle, at least."""
APPROACH_M = 1.4
"""From the robot's way to people who wait beside it: radius of the robot 0.54 m, radius of a person, 0.5 m and more."""
OVERTAKER_S_M = 2.5
"""Along the way, where somebody waits until the robot has passed."""


class Line(Protocol):
    """A way with arc length, and the solid things near it."""

    width: float
    length: float

    def point(self, s: float, aside: float = 0.0) -> tuple[float, float]:
        """``s`` m along the way and ``aside`` m to its left."""

    def direction(self, s: float) -> float:
        """Of the way at ``s``, rad."""

    def is_free(self, *points: tuple[float, float], reach: float = ...) -> bool:
        """Whether a body can be at all of the points, and walk between them."""


CanHappen = Callable[[Event], bool]


def choose_groups(line: Line, generator: np.random.Generator, can_happen: CanHappen) -> dict[str, Event]:
    """A conversation and a queue on the way, those for which there is room."""
    found = {}
    for kind, maker in (("conversing", _conversing), ("queuing", _queuing)):
        event = _first_that_fits(maker, line, generator, can_happen)
        if event is not None:
            found[kind] = event
    return found


def _first_that_fits(
    maker: Callable[[Line, float, float, np.random.Generator], Event | None],
    line: Line,
    generator: np.random.Generator,
    can_happen: CanHappen,
) -> Event | None:
    before_goal = line.length - max(1.0, line.width / 2) - BEFORE_GOAL_M
    for first, last in STRETCHES:
        for _ in range(TRIES):
            s = float(exact.uniform(generator, first * line.length, min(last * line.length, before_goal)))
            side = 1.0 if generator.random() < 0.5 else -1.0
            event = maker(line, s, side, generator)
            if event is not None and can_happen(event):
                return event
    return None


def _gap(line: Line, side: float, generator: np.random.Generator) -> tuple[float, float]:
    """Offsets from the way, left positive, of the two sides of the gap: the one beside the way round comes first."""
    widest = min(GAP_M[1], line.width - WAY_ROUND_M + BEYOND_EDGE_M)
    gap = max(float(exact.uniform(generator, min(GAP_M[0], widest), widest)), NARROWEST_GAP_M)
    half = line.width / 2
    near = max(half - WIDE_WAY_ROUND_M, gap - half - BEYOND_EDGE_M)
    near = min(near, half - WAY_ROUND_M, BESIDE_ROUTE_M)
    return side * near, side * (near - gap)


def _conversing(line: Line, s: float, side: float, generator: np.random.Generator) -> Event | None:
    """Two to four people on a circle, of whom some stand on one side of the gap and the others on the other side."""
    people = int(generator.integers(2, 5))
    near, far = _gap(line, side, generator)
    alone = side if generator.random() < 0.5 else -side
    gap, across = abs(near - far), line.direction(s) + alone * pi / 2
    if people == 2:
        spacing, middle, facing = gap, (near + far) / 2, across
    elif people == 3:  # one on one side, two on the other: the gap is the height of the triangle
        spacing, facing = 2 * gap / sqrt(3.0), across
        single, pair = (near, far) if alone == side else (far, near)
        middle = (single + 2 * pair) / 3
    else:
        spacing, middle, facing = gap, (near + far) / 2, line.direction(s) + pi / 4
    spacing = round(spacing, 3)
    reach = spacing / (2 * exact.sin(pi / people)) + BODY_M + 0.2
    at = line.point(s, middle)
    if not line.is_free(at, reach=reach):
        return None
    return {
        "kind": "conversing",
        "at": at,
        "people": people,
        "spacing_m": spacing,
        "facing": round(exact.wrap_angle(facing), 3),
    }


def _queuing(line: Line, s: float, side: float, generator: np.random.Generator) -> Event | None:
    """A queue whose head is at the side away from the way round, and whose last one stands beyond the gap."""
    people = int(generator.integers(3, 6))
    spacing = round(float(exact.uniform(generator, 0.7, 0.9)), 2)
    near, far = _gap(line, side, generator)
    back = 1.0 if generator.random() < 0.5 else -1.0
    # The others stand as straight over the way as there is room beyond the gap, the head at the edge of the sidewalk.
    room = max(line.width / 2 - BODY_M - abs(far), 0.0) if far * side < 0.0 else 0.0
    length = (people - 2) * spacing
    slant = exact.arccos(min(room / length, 1.0))  # 0: square to the way, pi / 2: along it
    along, aside = back * length * exact.sin(slant), length * exact.cos(slant)
    head, last_of_line = line.point(s + along, far - side * aside), line.point(s, far)
    last = line.point(s, near)
    if not (line.is_free(head, last_of_line, reach=BODY_M + 0.2) and line.is_free(last, reach=BODY_M + 0.2)):
        return None
    direction = exact.arctan2(last_of_line[1] - head[1], last_of_line[0] - head[0])
    return {
        "kind": "queuing",
        "at": head,
        "people": people,
        "spacing_m": spacing,
        "direction": round(direction, 3),
        "last_at": last,
    }


def clear_overtaking(line: Line, event: Event) -> Event | None:
    """The event with its person far enough beside the robot's lane; None if there is no such place."""
    edge = line.width / 2 - BODY_M
    if edge >= APPROACH_M:
        return event
    side = 1.0 if event["side"] == "left" else -1.0
    for shift in (0.0, 0.5, -0.5, 1.0, 1.5, 2.0):
        for way in (side, -side):
            at = line.point(OVERTAKER_S_M + shift, way * APPROACH_M)
            if line.is_free(at, reach=BODY_M + 0.2):
                return event | {"at": at, "side": "left" if way > 0 else "right"}
    return None
