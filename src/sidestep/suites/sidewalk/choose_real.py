"""Chooses the ways on mapped and scanned places, once: ``data/sidewalk_real.json``.

``python -m sidestep.suites.sidewalk.choose_real`` makes the file anew.
"""

from __future__ import annotations

import json
from math import atan2, cos, sin
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.scenes.places import Place, bundled_place, resolve_place
from sidestep.scenes.places.bundled import long_ways
from sidestep.scenes.places.spots import crosswalk_spots, curve_spots, straight_spots
from sidestep.scenes.towns import Route, Spot
from sidestep.simulation.build import WorldBuilder
from sidestep.suites.sidewalk.choose import (
    EVENT_EVERY_M,
    LONG_KINDS,
    LONG_STEP_M,
    NARROWEST_M,
    Event,
    Line,
    place_event,
)
from sidestep.suites.sidewalk.places import LongWay, plain
from sidestep.suites.sidewalk.real_places import DATA, RealPlaces
from sidestep.suites.sidewalk.setting import SidewalkOptions, placement
from sidestep.types.base import FloatArray
from sidestep.types.scenario import Scenario

SPOTS = {"straight": straight_spots, "curve": curve_spots, "crosswalk": crosswalk_spots}
COUNTS: dict[str, dict[str, int]] = {
    "straight": {"kettlegate": 4, "piper-parade": 4, "lantern-court": 2},
    "curve": {"kettlegate": 4, "piper-parade": 3, "lantern-court": 3},
    "crosswalk": {"kettlegate": 4, "piper-parade": 4, "lantern-court": 2},
}
"""Ways of each kind on each place: ten of each kind."""
SEED = 5


def choose_ways() -> RealPlaces:
    """All ways."""
    chosen: dict[str, Any] = {}
    for kind, counts in COUNTS.items():
        chosen[kind] = [way for name, count in counts.items() for way in _short(bundled_place(name), kind, count)]
    generator = np.random.default_rng([SEED, 99])
    names = list(COUNTS["straight"])
    chosen["long"] = [
        {"name": f"{name}-{number + 1}", "way": _long(name, number, route, generator)}
        for name in names
        for number, route in enumerate(long_ways(name))
    ]
    return RealPlaces.parse(chosen, "chosen ways")


def _short(place: Place, kind: str, count: int) -> list[dict[str, Any]]:
    """Ways that lie apart: each next one is the farthest from those taken, the first is drawn."""
    spots: list[Spot] = SPOTS[kind](place)
    if len(spots) < count:
        raise BadInput(f"place {place.name}: has {len(spots)} {kind} ways, {count} are needed")
    middles = np.array([spot.points[len(spot.points) // 2] for spot in spots])
    generator = np.random.default_rng([SEED, *kind.encode()])
    taken = [int(generator.integers(len(spots)))]
    while len(taken) < count:
        away = np.hypot(*(middles[:, None] - middles[taken]).transpose(2, 0, 1)).min(axis=1)
        away[taken] = -1.0
        taken.append(int(away.argmax()))
    return [
        {
            "name": f"{place.name}-{number + 1}",
            "way": {
                "points": _rounded(spots[k].points),
                "width": round(spots[k].width, 2),
                "scene": place.scene.name,
            },
        }
        for number, k in enumerate(sorted(taken))
    ]


def _long(name: str, number: int, route: Route, generator: np.random.Generator) -> dict[str, Any]:
    """A long way with somebody every few dozen metres, and people on every second crosswalk."""
    scene = resolve_place(f"place:{name}/long/{number}")
    at = np.concatenate([[0.0], np.cumsum(np.hypot(*np.diff(route.points, axis=0).T))])
    events: list[Event] = []
    s = float(generator.uniform(*EVENT_EVERY_M))
    while s < at[-1] - 12.0:
        k = int(np.searchsorted(at, s))
        near = slice(max(k - 8, 0), k + 9)
        if set(route.kinds[near]) == {"sidewalk"} and route.width[near].min() >= NARROWEST_M:
            line = Line(route.points, float(route.width[near].min()), scene)
            kind = LONG_KINDS[int(generator.integers(len(LONG_KINDS)))]
            event = place_event(kind, line, s, generator, 3.0)
            if event is not None:
                events.append(event)
        s += float(generator.uniform(*EVENT_EVERY_M))
    events += _crossings(route)
    steps = np.linspace(0.0, at[-1], max(2, round(at[-1] / LONG_STEP_M) + 1))
    points = np.column_stack([np.interp(steps, at, route.points[:, k]) for k in (0, 1)])
    way = {
        "points": _rounded(points),
        "width": round(float(np.median(route.width)), 2),
        "scene": scene.name,
        "length": round(float(at[-1]), 1),
        "events": (),
    }
    bare = LongWay.parse(way, "long way")
    return way | {"events": [event for event in events if _can_happen(bare, event)]}


def _can_happen(way: LongWay, event: Event) -> bool:
    """Whether worlds with the event can be built."""
    robot = placement(way, SidewalkOptions()).model_dump()
    scenario = Scenario.parse(
        {"name": "choosing", "scene": way.scene, "robots": [robot], "events": [event]}, "choosing"
    )
    try:
        builder = WorldBuilder(scenario)
        for seed in range(3):
            builder.build(seed)
    except BadInput:
        return False
    return True


def _crossings(route: Route) -> list[Event]:
    """People on every second crosswalk of the way. They leave the side free from which the robot comes."""
    points, kinds = route.points, route.kinds
    starts = [k for k in range(1, len(kinds)) if kinds[k] == "crosswalk" != kinds[k - 1]]
    events = []
    for start in starts[::2]:
        end = next((k for k in range(start, len(kinds)) if kinds[k] != "crosswalk"), len(kinds))
        first, last = points[start], points[end - 1]
        along, come = last - first, points[max(start - 4, 0)] - first
        direction = atan2(along[1], along[0])
        side = "left" if along[0] * come[1] - along[1] * come[0] > 0 else "right"
        zone = _zone((first + last) / 2, direction, float(np.hypot(*along)), float(route.width[start]))
        events.append({"kind": "crossing", "zone": zone, "direction": round(direction, 3), "free_side": side})
    return events


def _zone(middle: FloatArray, direction: float, along: float, across: float) -> list[list[float]]:
    """Corners of a box about the middle of a crosswalk."""
    turn = np.array([[cos(direction), sin(direction)], [-sin(direction), cos(direction)]])
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * (along / 2, across / 2)
    return _rounded(corners @ turn + middle)


def _rounded(points: FloatArray) -> list[list[float]]:
    return [[round(float(x), 2), round(float(y), 2)] for x, y in points]


def main() -> None:
    """Write the file."""
    ways = choose_ways()
    DATA.write_text(json.dumps(plain(ways), separators=(",", ":")) + "\n", encoding="utf-8")
    for item in ways.long:
        print(f"{item.name}: {item.way.length:.0f} m, {len(item.way.events)} events")


if __name__ == "__main__":
    main()
