"""Pedestrian crossing: people come over a crosswalk from the front and from behind once the robot is on it.

Three lanes along the robot's way over the zone: in the middle come those from the front, on one side those from behind,
and the other side stays free. A robot that stays in the middle, standing or driving, meets somebody; one that goes or
waits on the free side does not. In a lane the fastest goes first, so that nobody runs into the next. They walk straight
and give way to nobody.

Those from behind wait in a row that ends at their lane. The row leads straight back from the zone if that keeps the
robot's way there clear; otherwise it turns away from the free side until it does, so that nobody is touched before the
crossing begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import pi, sqrt
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import square
from sidestep.errors import BadInput, UnknownName
from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.simulation.crowd.events.script import Act, EventScene, Performer, Script, Setting, draw_side, draw_speed
from sidestep.types.base import Point
from sidestep.types.events import CrossingEvent
from sidestep.types.scene import SOLID, Region

EDGE = 0.45  # m: from an outer lane to the edge of the zone
OUTER = 1.2  # m: an outer lane is at most so far from the middle
BETWEEN = 0.1  # m at least between the bodies of two lanes
FIRST, GAP = 1.0, 1.3  # m: how far outside the zone the first of a lane waits, and the others behind each other
DRIFT = 0.1  # m: people are so much beside the middle of their lane
BEYOND = 3.0  # m behind the zone where they leave the world
CLEAR = 0.5  # m between those who wait and a robot on its way to the zone
SPARE = 0.05  # m more than that where the row has to turn
TURNS = tuple(k * pi / 12.0 for k in range(9))  # how far the row turns away from straight back, rad
FARTHER = tuple(0.25 * k for k in range(13))  # m that the row begins farther from the zone
WALL = 0.15  # m between those who wait and solid things
NEARBY = 9.0  # m about the end of the row: what is farther is not looked at
STANDABLE = frozenset({"sidewalk", "ramp", "walkable", "frontage", "verge", "grass", "island"})


class CrossingPath(NamedTuple):
    """What one person walks."""

    ux: float
    uy: float
    """Over the zone, unit vector."""
    length: float
    """Length of the straight path over the zone, m."""
    lane: Point | None = None
    """Where the person first walks to, if that is not straight ahead."""


class CrossOver(Act):
    """All set off at once."""

    def __init__(self, event: CrossingEvent, zone: Sequence[Point], ways: Sequence[CrossingPath]) -> None:
        super().__init__(event.trigger_m)
        self._zone = tuple((float(x), float(y)) for x, y in zone)
        self._ways = ways

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot is in the zone."""
        return distance_to_polygon(stage.x, stage.y, self._zone) <= self._trigger_m

    def begin(self, stage: EventScene) -> None:
        """Set off."""
        self._left_s = []
        for person, way in zip(stage.people, self._ways, strict=True):
            person.walk(way.ux * person.speed, way.uy * person.speed)
            self._left_s.append(way.length / person.speed)
        self._to_lane = [way.lane is not None for way in self._ways]

    def go_on(self, stage: EventScene) -> None:
        """Walk to the lane, over the zone, and leave on the other side."""
        for k, person in enumerate(stage.people):
            way = self._ways[k]
            if self._to_lane[k] and way.lane is not None:
                self._to_lane[k] = not person.walk_to(*way.lane, person.speed, stage.dt)
                if not self._to_lane[k]:
                    person.walk(way.ux * person.speed, way.uy * person.speed)
            elif self._left_s[k] > 0.0:
                self._left_s[k] -= stage.dt
                if self._left_s[k] <= 0.0:
                    person.leave()


def distance_to_polygon(x: float, y: float, corners: Sequence[Point]) -> float:
    """0 inside, else the distance to the nearest edge, m."""
    inside, least = False, 1e300
    ax, ay = corners[-1]
    for bx, by in corners:
        if (ay > y) != (by > y) and x < ax + (y - ay) / (by - ay) * (bx - ax):
            inside = not inside
        dx, dy = bx - ax, by - ay
        length = dx * dx + dy * dy
        part = 0.0 if length == 0.0 else min(max(((x - ax) * dx + (y - ay) * dy) / length, 0.0), 1.0)
        off_x, off_y = x - ax - part * dx, y - ay - part * dy
        least = min(least, off_x * off_x + off_y * off_y)
        ax, ay = bx, by
    return 0.0 if inside else sqrt(least)


def crossing(event: CrossingEvent, setting: Setting, generator: np.random.Generator) -> Script:
    """``front`` people beyond the zone and ``behind`` before it, all facing it."""
    zone = _find_zone(event, setting)
    free = draw_side(event.free_side, generator)
    centre_x, centre_y = (exact.total(corner[axis] for corner in zone) / len(zone) for axis in (0, 1))
    ux, uy = setting.direction(event.direction, centre_x, centre_y)
    along = [x * ux + y * uy for x, y in zone]
    across = [y * ux - x * uy for x, y in zone]
    near, far = min(along), max(along)
    width, middle = max(across) - min(across), (max(across) + min(across)) / 2.0
    outer = min(width / 2.0 - EDGE, OUTER)
    if event.front and event.behind and outer < 2.0 * event.radius + BETWEEN:
        raise BadInput(
            f"{setting.where}: the zone is {width:.2f} m wide; people from the front and from behind need "
            f"{2.0 * (2.0 * event.radius + BETWEEN + EDGE):.2f} m; make it wider, or set front or behind to 0"
        )
    people, ways = [], []
    for k, (speed, drift) in enumerate(_draw_walkers(event, event.front, generator)):
        a, c = far + FIRST + GAP * k, middle + drift
        people.append(Performer(a * ux - c * uy, a * uy + c * ux, heading_to(-ux, -uy), speed))
        ways.append(CrossingPath(-ux, -uy, FIRST + GAP * k + far - near + BEYOND))
    lane = middle - free * outer
    walkers = _draw_walkers(event, event.behind, generator)
    row = _Row((near * ux - lane * uy, near * uy + lane * ux), (ux, uy), -free, event, setting, zone)
    turn, farther = row.place([drift for _, drift in walkers])
    for k, (speed, drift) in enumerate(walkers):
        x, y = row.point(turn, FIRST + farther + GAP * k, drift)
        if turn == farther == 0.0:
            people.append(Performer(x, y, heading_to(ux, uy), speed))
            ways.append(CrossingPath(ux, uy, FIRST + GAP * k + far - near + BEYOND))
        else:
            ex, ey = row.point(0.0, 0.0, drift)
            people.append(Performer(x, y, heading_to(ex - x, ey - y), speed))
            ways.append(CrossingPath(ux, uy, far - near + BEYOND, (ex, ey)))
    return Script(event.kind, tuple(people), event.radius, lambda: CrossOver(event, zone, ways))


def _draw_walkers(event: CrossingEvent, count: int, generator: np.random.Generator) -> list[tuple[float, float]]:
    """Speeds, the fastest first, and how far each is beside the middle of the lane."""
    speeds = sorted((draw_speed(event, generator) for _ in range(count)), reverse=True)
    return [(speed, float(exact.uniform(generator, -DRIFT, DRIFT)) / 2.0) for speed in speeds]


class _Row:
    """Where those from behind wait: a row that ends at ``end``, where their lane enters the zone."""

    def __init__(
        self, end: Point, ahead: Point, outwards: float, event: CrossingEvent, setting: Setting, zone: tuple[Point, ...]
    ) -> None:
        self._end, self._ahead, self._outwards, self._radius = end, ahead, outwards, event.radius
        self._where = setting.where
        self._clear = setting.robot_radius + event.radius + CLEAR
        self._approach = _route_to_zone(setting, zone, event.trigger_m)
        near = [region for region in setting.regions if _is_near(region.polygon, end, NEARBY)]
        self._solid = [region.polygon for region in near if region.kind in SOLID]
        self._ground = [region for region in near if region.kind in STANDABLE]

    def point(self, turn: float, back: float, drift: float) -> Point:
        """``back`` m from the end of a row that is turned outwards by ``turn``, and ``drift`` m beside it."""
        c, s = unit_vector(turn)
        ux, uy = self._ahead
        along, aside = -c * back, self._outwards * s * back + drift
        return self._end[0] + along * ux - aside * uy, self._end[1] + along * uy + aside * ux

    def place(self, drifts: Sequence[float]) -> tuple[float, float]:
        """How far the row is turned, and how much farther from the zone it begins: as little as possible."""
        if not drifts or self._is_clear(0.0, 0.0, drifts, self._clear):
            return 0.0, 0.0
        for farther in FARTHER:
            for turn in TURNS:
                if self._is_clear(turn, farther, drifts, self._clear + SPARE) and self._is_free(turn, farther, drifts):
                    return turn, farther
        raise BadInput(
            f"{self._where}: those who come from behind have no place to wait that is {self._clear:.2f} m from the "
            "robot's way to the zone; choose the other free_side, another zone, or behind: 0"
        )

    def _is_clear(self, turn: float, farther: float, drifts: Sequence[float], distance: float) -> bool:
        """Whether all of them are at least ``distance`` from the robot's way to the zone."""
        places = [self.point(turn, FIRST + farther + GAP * k, drift) for k, drift in enumerate(drifts)]
        return all(square(x - px) + square(y - py) >= square(distance) for x, y in places for px, py in self._approach)

    def _is_free(self, turn: float, farther: float, drifts: Sequence[float]) -> bool:
        """Whether they stand on ground, and nothing solid is on their way to the zone."""
        reach = FIRST + farther + GAP * (len(drifts) - 1)
        steps = [reach * k / 8.0 for k in range(9)]
        walk = [self.point(turn, step, 0.0) for step in steps]
        if any(distance_to_polygon(x, y, solid) < self._radius + WALL for solid in self._solid for x, y in walk):
            return False
        stand = [self.point(turn, FIRST + farther + GAP * k, drift) for k, drift in enumerate(drifts)]
        return not self._ground or all(any(_is_on(x, y, region) for region in self._ground) for x, y in stand)


def _route_to_zone(setting: Setting, zone: tuple[Point, ...], trigger_m: float) -> list[Point]:
    """Points every 0.1 m or less of the robot's way, from its start to where the event is triggered."""
    if distance_to_polygon(*setting.start, zone) <= trigger_m:
        return []
    points = [setting.start]
    for (ax, ay), (bx, by) in zip(setting.way, setting.way[1:], strict=False):
        count = int(sqrt(square(bx - ax) + square(by - ay)) / 0.1) + 1
        for k in range(1, count + 1):
            x, y = ax + (bx - ax) * k / count, ay + (by - ay) * k / count
            if distance_to_polygon(x, y, zone) <= trigger_m:
                return points
            points.append((x, y))
    return points


def _is_near(polygon: Sequence[Point], place: Point, within: float) -> bool:
    """Whether the bounding box of a polygon comes within a square about a place."""
    low = [min(corner[axis] for corner in polygon) - within for axis in (0, 1)]
    high = [max(corner[axis] for corner in polygon) + within for axis in (0, 1)]
    return low[0] <= place[0] <= high[0] and low[1] <= place[1] <= high[1]


def _is_on(x: float, y: float, region: Region) -> bool:
    inside = distance_to_polygon(x, y, region.polygon) == 0.0
    return inside and not any(distance_to_polygon(x, y, hole) == 0.0 for hole in region.holes)


def _find_zone(event: CrossingEvent, setting: Setting) -> tuple[Point, ...]:
    """The polygon that the event means."""
    if isinstance(event.zone, tuple):
        return event.zone
    if event.zone is not None:
        named = {region.name: region for region in setting.regions if region.name}
        if event.zone not in named:
            raise UnknownName("region", event.zone, named, setting.where)
        return named[event.zone].polygon
    crosswalks = [region.polygon for region in setting.regions if region.kind == "crosswalk"]
    if not crosswalks:
        raise BadInput(f"{setting.where}: the scene has no crosswalk; say which zone: a region's name or a polygon")

    def off_the_way(polygon: tuple[Point, ...]) -> float:
        x, y = (exact.total(corner[axis] for corner in polygon) / len(polygon) for axis in (0, 1))
        px, py, _, _ = setting.nearest_on_way(x, y)
        return sqrt(square(x - px) + square(y - py))

    return min(crosswalks, key=off_the_way)
