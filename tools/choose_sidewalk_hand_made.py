"""Chooses the ways on the drawn places, once: ``data/sidewalk_real.json``.

``python -m tools.choose_sidewalk_hand_made`` makes the file anew.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.scenes.places import Place, bundled_place, resolve_place
from sidestep.scenes.places.bundled import long_routes
from sidestep.scenes.places.place import crosswalk_routes, curve_routes, straight_routes
from sidestep.scenes.towns import Route, ShortRoute
from sidestep.simulation.build import WorldBuilder
from sidestep.suites.sidewalk.routes import HAND_MADE_DATA, HandMadeFile, LongRoute, as_plain_data
from sidestep.suites.sidewalk.scenarios import SidewalkOptions, placement
from sidestep.types.scenario import Scenario
from tools.choose_sidewalk_towns import Event, crossings, events_along, long_route_with, rounded

SPOTS = {"straight": straight_routes, "curve": curve_routes, "crosswalk": crosswalk_routes}
COUNTS: dict[str, dict[str, int]] = {
    "straight": {"kettlegate": 4, "piper-parade": 4, "lantern-court": 2},
    "curve": {"kettlegate": 4, "piper-parade": 3, "lantern-court": 3},
    "crosswalk": {"kettlegate": 4, "piper-parade": 4, "lantern-court": 2},
}
"""Ways of each kind on each place: ten of each kind."""
SEED = 5


def choose_routes() -> HandMadeFile:
    """All ways."""
    chosen: dict[str, Any] = {}
    for kind, counts in COUNTS.items():
        chosen[kind] = [way for name, count in counts.items() for way in _short(bundled_place(name), kind, count)]
    generator = np.random.default_rng([SEED, 99])
    names = list(COUNTS["straight"])
    chosen["long"] = [
        {"name": f"{name}-{number + 1}", "way": _long(name, number, route, generator)}
        for name in names
        for number, route in enumerate(long_routes(name))
    ]
    return HandMadeFile.parse(chosen, "chosen ways")


def _short(place: Place, kind: str, count: int) -> list[dict[str, Any]]:
    """Ways that lie apart: each next one is the farthest from those taken, the first is drawn."""
    spots: list[ShortRoute] = SPOTS[kind](place)
    if len(spots) < count:
        raise BadInput(f"place {place.name}: has {len(spots)} {kind} ways, {count} are needed")
    middles = np.array([spot.points[len(spot.points) // 2] for spot in spots])
    generator = np.random.default_rng([SEED, *kind.encode()])
    taken = [int(generator.integers(len(spots)))]
    while len(taken) < count:
        away = exact.hypot(*(middles[:, None] - middles[taken]).transpose(2, 0, 1)).min(axis=1)
        away[taken] = -1.0
        taken.append(int(away.argmax()))
    return [
        {
            "name": f"{place.name}-{number + 1}",
            "way": {
                "points": rounded(spots[k].points),
                "width": round(spots[k].width, 2),
                "scene": place.scene.name,
            },
        }
        for number, k in enumerate(sorted(taken))
    ]


def _long(name: str, number: int, route: Route, generator: np.random.Generator) -> dict[str, Any]:
    """A long way with somebody every few dozen metres. Who crosses leaves the side free from which the robot comes."""
    scene = resolve_place(f"place:{name}/long/{number}")
    events = events_along(route, scene, generator) + [
        crossing | {"free_side": side} for crossing, side in crossings(route)
    ]
    return long_route_with(route, scene, events, _can_happen)


def _can_happen(way: LongRoute, event: Event) -> bool:
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


def main() -> None:
    """Write the file."""
    ways = choose_routes()
    HAND_MADE_DATA.write_text(json.dumps(as_plain_data(ways), separators=(",", ":")) + "\n", encoding="utf-8")
    for item in ways.long:
        print(f"{item.name}: {item.way.length:.0f} m, {len(item.way.events)} events")


if __name__ == "__main__":
    main()
