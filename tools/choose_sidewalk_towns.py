"""Chooses the ways of the sidewalk suites and where people stand on them, once: ``data/sidewalk.json``.

``python -m tools.choose_sidewalk_towns`` makes the file anew; a test does it for one town. Everything follows from
the town's number.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from math import pi
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.scenes.towns import (
    GENERATOR_VERSION,
    Route,
    ShortRoute,
    Town,
    long_scene,
    make_town,
    numbered_long_route,
    town_names,
)
from sidestep.simulation.build import World, WorldBuilder
from sidestep.suites.sidewalk.routes import TOWN_DATA, LongRoute, SidewalkRoute, TownRoutes, as_plain_data
from sidestep.suites.sidewalk.scenarios import SidewalkOptions, placement
from sidestep.types.base import FloatArray
from sidestep.types.scenario import Scenario
from sidestep.types.scene import SOLID, SceneSpec
from tools.sidewalk_people import HALF_WIDTH_M, choose_groups, clear_overtaking, leaves_passage

MARGIN_M = 30.0
"""How far about a short way its scene reaches."""
NARROWEST_M = 2.4
"""People are put on sidewalks at least so wide."""
PASSAGE_M = 1.35
"""Left free beside a group."""
PASSAGE_SPARE_M = 0.05
"""More than that beside groups of the reactive suite, on both sides."""
BODY_M = 0.3
ROOM_M = 0.15
"""Between people and solid things."""
EVENT_EVERY_M = (28.0, 42.0)
LONG_STEP_M = 2.0
STANDING = frozenset({"obstructing", "conversing", "queuing", "crossing"})
LONG_KINDS = ("obstructing", "conversing", "queuing", "frontal", "lateral", "overtaking")


class Line:
    """A way with arc length, and the solid things near it."""

    def __init__(self, points: FloatArray, width: float, scene: SceneSpec) -> None:
        self._points, self.width = points, width
        self._at = np.concatenate([[0.0], np.cumsum(exact.hypot(*np.diff(points, axis=0).T))])
        self.length = float(self._at[-1])
        solids = [shapely.Polygon(r.polygon, r.holes) for r in scene.regions if r.kind in SOLID]
        self._solids = shapely.STRtree(solids)

    def point(self, s: float, aside: float = 0.0) -> tuple[float, float]:
        """``s`` m along the way and ``aside`` m to its left."""
        x, y = (float(exact.interp(s, self._at, self._points[:, k])) for k in (0, 1))
        angle = self.direction(s)
        return round(x - aside * exact.sin(angle), 2), round(y + aside * exact.cos(angle), 2)

    def direction(self, s: float) -> float:
        """Of the way at ``s``, rad, over two metres about it."""
        low, high = max(s - 1.0, 0.0), min(s + 1.0, self.length)
        x0, y0, x1, y1 = (float(exact.interp(at, self._at, self._points[:, k])) for at in (low, high) for k in (0, 1))
        return float(exact.arctan2(y1 - y0, x1 - x0))

    def is_free(self, *points: tuple[float, float], reach: float = BODY_M + ROOM_M) -> bool:
        """Whether a body can be at all of the points, and walk between them."""
        line = shapely.LineString(points) if len(points) > 1 else shapely.Point(points[0])
        return not len(self._solids.query(line, predicate="dwithin", distance=reach))


Event = dict[str, Any]


def _obstructing(line: Line, s: float, side: float, _: np.random.Generator) -> Event | None:
    at = line.point(s)
    return {"kind": "obstructing", "at": at} if line.is_free(at) else None


def _conversing(line: Line, s: float, side: float, generator: np.random.Generator) -> Event | None:
    """In the middle of the way, or so far beside it as leaves a passage; two stand one behind the other along it."""
    spacing = 1.1
    people = int(generator.integers(2, 5))
    while people > 2 and line.width < 2 * (_ring(people, spacing) + BODY_M) + PASSAGE_M:
        people -= 1
    across = _ring(people, spacing) + BODY_M if people > 2 else BODY_M
    at = line.point(s, side * max(PASSAGE_M + across - line.width / 2, 0.0))
    facing = round(line.direction(s), 3)
    reach = _ring(people, spacing) + BODY_M + ROOM_M
    if not line.is_free(at, reach=reach):
        return None
    return {"kind": "conversing", "at": at, "people": people, "spacing_m": spacing, "facing": facing}


def _ring(people: int, spacing: float) -> float:
    """Radius of the circle on which so many people stand."""
    return float(spacing / (2 * exact.sin(pi / people)))


def _queuing(line: Line, s: float, side: float, generator: np.random.Generator) -> Event | None:
    """From one side of the sidewalk, as straight over it as leaves a passage."""
    people, spacing = int(generator.integers(3, 6)), round(float(exact.uniform(generator, 0.7, 0.9)), 2)
    head = side * (line.width / 2 - BODY_M)
    across = max(line.width - PASSAGE_M - 2 * BODY_M, 0.2)
    slant = exact.arccos(min(across / ((people - 1) * spacing), 1.0))  # 0: square to the way
    along = slant if generator.random() < 0.5 else -slant
    direction = line.direction(s) - side * pi / 2 + along
    at = line.point(s, head)
    reach = (people - 1) * spacing
    end = (round(at[0] + reach * exact.cos(direction), 2), round(at[1] + reach * exact.sin(direction), 2))
    if not line.is_free(at, end):
        return None
    return {"kind": "queuing", "at": at, "people": people, "spacing_m": spacing, "direction": round(direction, 3)}


def _frontal(line: Line, s: float, side: float, _: np.random.Generator) -> Event | None:
    at = line.point(line.length if s > 0.5 * line.length and line.length < 25.0 else s)
    return {"kind": "frontal", "at": at} if line.is_free(at) else None


def _lateral(line: Line, s: float, side: float, _: np.random.Generator) -> Event | None:
    """From beyond the sidewalk's edge where there is room, else from its edge."""
    for beside in (2.0, line.width / 2 + 0.3, line.width / 2 - BODY_M):
        for way in (side, -side):
            start, end = line.point(s, way * beside), line.point(s, -way * (line.width / 2 + 0.2))
            if line.is_free(start, end):
                return {
                    "kind": "lateral", "at": line.point(s), "side": "left" if way > 0 else "right",
                    "side_m": round(beside, 2), "direction": round(line.direction(s), 3),
                    "walk_on_m": round(line.width / 2 + 0.2, 2),
                }  # fmt: skip
    return None


def _overtaking(line: Line, s: float, side: float, _: np.random.Generator) -> Event | None:
    """Waits at the edge until the robot has passed."""
    s = s if line.length > 25.0 else min(2.5, 0.2 * line.length)
    at = line.point(s, side * (line.width / 2 - BODY_M))
    side_name = "left" if side > 0 else "right"
    return {"kind": "overtaking", "at": at, "side": side_name} if line.is_free(at) else None


def _gesturing(line: Line, s: float, side: float, _: np.random.Generator) -> Event | None:
    at = line.point(max(s, 0.7 * line.length))
    return {"kind": "gesturing", "at": at} if line.is_free(at) else None


MAKERS: dict[str, Callable[[Line, float, float, np.random.Generator], Event | None]] = {
    "obstructing": _obstructing,
    "conversing": _conversing,
    "queuing": _queuing,
    "frontal": _frontal,
    "lateral": _lateral,
    "overtaking": _overtaking,
    "gesturing": _gesturing,
}


def place_event(kind: str, line: Line, near: float, generator: np.random.Generator, spread: float) -> Event | None:
    """The event at a free place within ``spread`` m of ``near``; None if there is none."""
    for _ in range(24):
        s = near + float(exact.uniform(generator, -spread, spread))
        side = 1.0 if generator.random() < 0.5 else -1.0
        event = MAKERS[kind](line, min(max(s, 1.0), line.length - 0.5), side, generator)
        if event is not None:
            return event
    return None


def choose_town(number: int) -> TownRoutes:
    """The ways and people of one town."""
    town = make_town(number)
    generator = np.random.default_rng([GENERATOR_VERSION, number, 5])
    curves = town.curve_routes()
    straight, events = _straight_with_people(town, generator)
    crosswalk, events["crossing"] = _crosswalk_with_people(town, generator)
    events |= _reactive_people(town, straight, events, np.random.default_rng([GENERATOR_VERSION, number, 6]))
    return TownRoutes.parse(
        {
            "town": town.name,
            "straight": straight,
            "curve": _as_route(town, curves[int(generator.integers(len(curves)))]),
            "crosswalk": crosswalk,
            "events": events,
            "long": _long(town, number, generator),
        },
        f"town {town.name}",
    )


def _as_route(town: Town, spot: ShortRoute) -> dict[str, Any]:
    return {"points": rounded(spot.points), "width": round(spot.width, 2), "scene": _window(town, spot.points).name}


def _window(town: Town, points: FloatArray) -> SceneSpec:
    x0, y0, x1, y1 = (float(round(value)) for value in (*points.min(axis=0), *points.max(axis=0)))
    return town.window((x0 - MARGIN_M, y0 - MARGIN_M, x1 + MARGIN_M, y1 + MARGIN_M))


def _straight_with_people(town: Town, generator: np.random.Generator) -> tuple[dict[str, Any], dict[str, Event]]:
    """A straight way on which every behaviour has a place."""
    spots = [spot for spot in town.straight_routes() if spot.width >= NARROWEST_M and spot.length >= 12.0]
    for index in generator.permutation(len(spots)).tolist():
        spot = spots[index]
        scene = _window(town, spot.points)
        line = Line(spot.points, spot.width, scene)
        events = {kind: place_event(kind, line, 0.62 * line.length, generator, 1.5) for kind in MAKERS}
        found = {kind: event for kind, event in events.items() if event is not None}
        way = _as_route(town, spot)
        if len(found) == len(MAKERS) and all(
            _can_happen(SidewalkRoute.parse(way, "way"), event) for event in found.values()
        ):
            return way, found
    raise BadInput(f"town {town.name}: no straight sidewalk has room for all behaviours")


def _crosswalk_with_people(town: Town, generator: np.random.Generator) -> tuple[dict[str, Any], Event]:
    """A crosswalk with room for those who wait to cross, and the side that they leave free."""
    spots = town.crosswalk_routes()
    for index in generator.permutation(len(spots)).tolist():
        way = _as_route(town, spots[index])
        free = "left" if generator.random() < 0.5 else "right"
        other = "right" if free == "left" else "left"
        # begun from afar: those who wait stand straight before the zone, whatever the robot's way there
        at_once = {"kind": "crossing", "free_side": free, "trigger_m": 1000.0}
        if not _can_happen(SidewalkRoute.parse(way, "crosswalk"), at_once):
            continue
        for event in ({"kind": "crossing", "free_side": side} for side in (free, other)):
            if _can_happen(SidewalkRoute.parse(way, "crosswalk"), event):
                return way, event
    raise BadInput(f"town {town.name}: no crosswalk has room for people")


def _reactive_people(
    town: Town, way: dict[str, Any], events: dict[str, Event], generator: np.random.Generator
) -> dict[str, Event]:
    """Groups with a gap and a way round, and an overtaker off the robot's lane, for the reactive suite.

    A group for which there is no such place stays as it is, close together.
    """
    parsed = SidewalkRoute.parse(way, "way")
    points = np.array(parsed.points)
    line = Line(points, parsed.width, _window(town, points))
    groups = choose_groups(line, generator, lambda event: _can_happen(parsed, event, PASSAGE_SPARE_M))
    overtaking = clear_overtaking(line, events["overtaking"])
    if overtaking is None or not _can_happen(parsed, overtaking):
        raise BadInput(f"town {town.name}: the straight way has no room for somebody who overtakes")
    return groups | {"overtaking": overtaking}


def _can_happen(way: SidewalkRoute, event: Event, spare: float = 0.0) -> bool:
    """Whether a world with the event can be built, and who stands leaves a passage and ``spare`` m more on both of its
    sides, however seeds place them."""
    scenario = Scenario.parse(
        {
            "name": "choosing",
            "scene": way.scene,
            "robots": [placement(way, SidewalkOptions()).model_dump()],
            "events": [event],
        },
        "choosing",
    )
    try:
        builder = WorldBuilder(scenario)
        worlds = [builder.build(seed) for seed in range(4)]
    except BadInput:
        return False
    return event["kind"] not in STANDING or all(_leaves_passage(world, np.array(way.points), spare) for world in worlds)


def _leaves_passage(world: World, points: FloatArray, spare: float) -> bool:
    """Past those who stand until the robot is past: of people who wait to cross, those on its own side of the road."""
    people = world.agents[: layout.PY + 1, : world.people].T.astype(np.float64)
    group = world.flags[layout.GROUP, : world.people]
    if world.scenario.events[0].kind == "crossing":
        near = exact.hypot(*(people - points[0]).T) < exact.hypot(*(people - points[-1]).T)
        people, group = people[near], group[near]
    return not len(people) or leaves_passage(points, world.scene.spec, people, BODY_M, group, HALF_WIDTH_M + spare)


def _long(town: Town, number: int, generator: np.random.Generator) -> dict[str, Any]:
    """A long way with somebody every few dozen metres, and people on the crosswalks."""
    route, scene = numbered_long_route(town, number), long_scene(town, number)
    events = events_along(route, scene, generator) + [
        crossing | {"front": 3, "behind": 0} for crossing, _ in crossings(route)
    ]
    return long_route_with(route, scene, events, _can_happen)


def events_along(route: Route, scene: SceneSpec, generator: np.random.Generator) -> list[Event]:
    """Somebody every few dozen metres of a long way, where the sidewalk is wide enough."""
    at = np.concatenate([[0.0], np.cumsum(exact.hypot(*np.diff(route.points, axis=0).T))])
    events: list[Event] = []
    s = float(exact.uniform(generator, *EVENT_EVERY_M))
    while s < at[-1] - 12.0:
        k = int(np.searchsorted(at, s))
        near = slice(max(k - 8, 0), k + 9)
        if set(route.kinds[near]) == {"sidewalk"} and route.width[near].min() >= NARROWEST_M:
            line = Line(route.points, float(route.width[near].min()), scene)
            kind = LONG_KINDS[int(generator.integers(len(LONG_KINDS)))]
            event = place_event(kind, line, s, generator, 3.0)
            if event is not None:
                events.append(event)
        s += float(exact.uniform(generator, *EVENT_EVERY_M))
    return events


def long_route_with(
    route: Route, scene: SceneSpec, events: list[Event], can_happen: Callable[[LongRoute, Event], bool]
) -> dict[str, Any]:
    """The way as the file holds it, with those of the events that can happen."""
    at = np.concatenate([[0.0], np.cumsum(exact.hypot(*np.diff(route.points, axis=0).T))])
    steps = np.linspace(0.0, at[-1], max(2, round(at[-1] / LONG_STEP_M) + 1))
    points = np.column_stack([exact.interp(steps, at, route.points[:, k]) for k in (0, 1)])
    way = {
        "points": rounded(points),
        "width": round(float(np.median(route.width)), 2),
        "scene": scene.name,
        "length": round(float(at[-1]), 1),
        "events": (),
    }
    bare = LongRoute.parse(way, "long way")
    return way | {"events": [event for event in events if can_happen(bare, event)]}


def crossings(route: Route) -> list[tuple[Event, str]]:
    """A crossing on every second crosswalk of the way, and the side from which the robot comes to it."""
    points, kinds = route.points, route.kinds
    # a way that only touches a crosswalk, with a single point, does not lead over it
    starts = [k for k in range(1, len(kinds) - 1) if kinds[k] == kinds[k + 1] == "crosswalk" != kinds[k - 1]]
    found = []
    for start in starts[::2]:
        end = next((k for k in range(start, len(kinds)) if kinds[k] != "crosswalk"), len(kinds))
        first, last = points[start], points[end - 1]
        along, come = last - first, points[max(start - 4, 0)] - first
        direction = exact.arctan2(along[1], along[0])
        side = "left" if along[0] * come[1] - along[1] * come[0] > 0 else "right"
        zone = _zone((first + last) / 2, direction, float(exact.hypot(*along)), float(route.width[start]))
        found.append(({"kind": "crossing", "zone": zone, "direction": round(direction, 3)}, side))
    return found


def _zone(middle: FloatArray, direction: float, along: float, across: float) -> list[list[float]]:
    """Corners of a box of that size about the middle of a crosswalk."""
    c, s = exact.cos(direction), exact.sin(direction)
    corners = ((-along, -across), (along, -across), (along, across), (-along, across))
    return [
        [round(float(middle[0]) + (a * c - b * s) / 2, 2), round(float(middle[1]) + (a * s + b * c) / 2, 2)]
        for a, b in corners
    ]


def rounded(points: FloatArray) -> list[list[float]]:
    """To the centimetre, as the file holds points."""
    return [[round(float(x), 2), round(float(y), 2)] for x, y in points]


def _choose(number: int) -> Any:
    return as_plain_data(choose_town(number))


def main() -> None:
    """Write the file, with all cores."""
    from concurrent.futures import ProcessPoolExecutor

    from rich.progress import track

    count = len(town_names())
    with ProcessPoolExecutor() as pool:
        towns = list(track(pool.map(_choose, range(count)), "choosing", total=count))
    document = {"version": GENERATOR_VERSION, "towns": towns}
    TOWN_DATA.write_text(json.dumps(document, separators=(",", ":")) + "\n", encoding="utf-8")
    total = sum(town["long"]["length"] for town in towns)
    print(f"{count} towns, {total / 1000:.1f} km of long ways, {TOWN_DATA.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
