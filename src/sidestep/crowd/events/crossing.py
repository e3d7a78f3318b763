"""Pedestrian crossing: people come over a crosswalk from the front and from behind once the robot is on it.

Three lanes along the robot's way over the zone: in the middle come those from the front, on one side those from behind,
and the other side stays free. A robot that stays in the middle, standing or driving, meets somebody; one that goes or
waits on the free side does not. In a lane the fastest goes first, so that nobody runs into the next. They walk straight
and give way to nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_side, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.errors import BadInput, UnknownName
from sidestep.kernels.dynamics import heading_to
from sidestep.types.base import Point
from sidestep.types.events import Crossing

EDGE = 0.45  # m: from an outer lane to the edge of the zone
OUTER = 1.2  # m: an outer lane is at most so far from the middle
BETWEEN = 0.1  # m at least between the bodies of two lanes
FIRST, GAP = 1.0, 1.3  # m: how far outside the zone the first of a lane waits, and the others behind each other
DRIFT = 0.1  # m: people are so much beside the middle of their lane
BEYOND = 3.0  # m behind the zone where they leave the world


class CrossOver(Act):
    """All set off at once."""

    def __init__(self, event: Crossing, zone: Sequence[Point], ways: Sequence[tuple[float, float, float]]) -> None:
        super().__init__(event.trigger_m)
        self._zone = tuple((float(x), float(y)) for x, y in zone)
        self._ways = ways  # unit vector and length, per person

    def is_time(self, stage: Stage) -> bool:
        """Whether the robot is in the zone."""
        return distance_to_polygon(stage.x, stage.y, self._zone) <= self._trigger_m

    def begin(self, stage: Stage) -> None:
        """Set off."""
        self._left_s = []
        for person, (ux, uy, length) in zip(stage.people, self._ways, strict=True):
            person.walk(ux * person.speed, uy * person.speed)
            self._left_s.append(length / person.speed)

    def go_on(self, stage: Stage) -> None:
        """Leave on the other side."""
        for k, person in enumerate(stage.people):
            if self._left_s[k] > 0.0:
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
        square = dx * dx + dy * dy
        part = 0.0 if square == 0.0 else min(max(((x - ax) * dx + (y - ay) * dy) / square, 0.0), 1.0)
        off_x, off_y = x - ax - part * dx, y - ay - part * dy
        least = min(least, off_x * off_x + off_y * off_y)
        ax, ay = bx, by
    return 0.0 if inside else sqrt(least)


def crossing(event: Crossing, setting: Setting, generator: np.random.Generator) -> Script:
    """``front`` people beyond the zone and ``behind`` before it, all facing it."""
    zone = _find_zone(event, setting)
    free = draw_side(event.free_side, generator)
    centre_x, centre_y = (sum(corner[axis] for corner in zone) / len(zone) for axis in (0, 1))
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
    for count, way, lane in ((event.front, -1.0, middle), (event.behind, 1.0, middle - free * outer)):
        speeds = sorted((draw_speed(event, generator) for _ in range(count)), reverse=True)
        for k, speed in enumerate(speeds):
            outside = FIRST + GAP * k
            a = far + outside if way < 0.0 else near - outside
            c = lane + float(generator.uniform(-DRIFT, DRIFT)) / 2.0
            people.append(Performer(a * ux - c * uy, a * uy + c * ux, heading_to(way * ux, way * uy), speed))
            ways.append((way * ux, way * uy, outside + far - near + BEYOND))
    return Script(event.kind, tuple(people), event.radius, lambda: CrossOver(event, zone, ways))


def _find_zone(event: Crossing, setting: Setting) -> tuple[Point, ...]:
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
        x, y = (sum(corner[axis] for corner in polygon) / len(polygon) for axis in (0, 1))
        px, py, _, _ = setting.nearest_on_way(x, y)
        return sqrt((x - px) ** 2 + (y - py) ** 2)

    return min(crosswalks, key=off_the_way)
