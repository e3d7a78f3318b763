"""Choose the routes on the bundled places, once: ``data/sidewalk_real.json``. Short ones of 10 to 20 m are straight,
round a curve or over a crosswalk; long ones have somebody every few dozen metres.

``python -m tools.choose_sidewalk_hand_made`` writes the file again.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.scenes.places import Place, bundled_place, long_routes, resolve_place
from sidestep.scenes.walkways import Route, ShortRoute, join_lines, largest_turn, resample, section, stations_of
from sidestep.simulation.build import WorldBuilder
from sidestep.suites.sidewalk.routes import HAND_MADE_DATA, HandMadeFile, LongRoute, as_plain_data
from sidestep.suites.sidewalk.scenarios import SidewalkOptions, placement
from sidestep.types.base import FloatArray
from sidestep.types.scenario import Scenario
from tools.choose_sidewalk_towns import Event, crossings, events_along, long_route_with, rounded

COUNTS: dict[str, dict[str, int]] = {
    "straight": {"kettlegate": 4, "piper-parade": 4, "lantern-court": 2},
    "curve": {"kettlegate": 4, "piper-parade": 3, "lantern-court": 3},
    "crosswalk": {"kettlegate": 4, "piper-parade": 4, "lantern-court": 2},
}
"""Routes of each kind on each place: ten of each kind."""
SEED = 5


SHORTEST, LONGEST = 10.0, 20.0  # m
STRAIGHT_TURN, CURVE_TURN = np.radians(5), np.radians(20)
OFF_ENDS = 2.0  # m from the ends of an edge
STRIDE = 3.0  # m between the starts of routes that are tried
BESIDE, OFF_SOLIDS = 0.5, 0.65  # m
LEADS = (2.0, 3.5)  # m of sidewalk before and after a crosswalk


def straight_routes(place: Place) -> list[ShortRoute]:
    """Along sidewalks that turn by less than 5°."""
    return _along(place, "straight")


def curve_routes(place: Place) -> list[ShortRoute]:
    """Along sidewalks that turn by more than 20°."""
    return _along(place, "curve")


def _along(place: Place, kind: str) -> list[ShortRoute]:
    """One behind the other, without overlap; every second one the other way."""
    routes: list[ShortRoute] = []
    for number, (a, b, edge) in enumerate(sorted(place.graph.edges(data=True), key=lambda item: item[:2])):
        if edge["kind"] != "sidewalk":
            continue
        line = resample(place.edge_path(a, b), 0.5)
        at = stations_of(line)
        start = OFF_ENDS
        while start + SHORTEST + 0.5 < at[-1] - OFF_ENDS:
            length = SHORTEST + 0.5 + (len(routes) * 7 + number) % 9
            points = resample(section(line, start, min(start + length, at[-1] - OFF_ENDS), at), 1.0)
            turn = largest_turn(points)
            fits = turn < STRAIGHT_TURN if kind == "straight" else turn > CURVE_TURN
            if fits and place.has_room(points, BESIDE, OFF_SOLIDS):
                points = points[::-1] if len(routes) % 2 else points
                routes.append(ShortRoute(np.round(points, 3), edge["width"], kind, -1))
                start += length
            start += STRIDE
    return routes


def crosswalk_routes(place: Place) -> list[ShortRoute]:
    """Over each crosswalk both ways, from a few metres along one sidewalk to a few metres along the other."""
    routes = []
    for number, (a, b, edge) in enumerate(sorted(place.graph.edges(data=True), key=lambda item: item[:2])):
        if edge["kind"] != "crosswalk":
            continue
        for turn, (start, goal) in enumerate(((a, b), (b, a))):
            route = _over(place, start, goal, number + turn)
            if route is not None:
                routes.append(route)
    return routes


def _over(place: Place, start: int, goal: int, index: int) -> ShortRoute | None:
    edge = place.graph.edges[start, goal]
    for lead in LEADS:
        sides = [_lead(place, node, other, lead, index) for node, other in ((start, goal), (goal, start))]
        if sides[0] is None or sides[1] is None:
            return None
        lines = [sides[0][::-1], place.edge_path(start, goal), sides[1]]
        points = join_lines(lines, [0.0] * 3, ["sidewalk", "crosswalk", "sidewalk"], ()).points
        if SHORTEST <= stations_of(points)[-1] <= LONGEST and place.has_room(points, BESIDE, OFF_SOLIDS):
            return ShortRoute(points, edge["width"], "crosswalk", -1)
    return None


def _lead(place: Place, node: int, other: int, length: float, index: int) -> FloatArray | None:
    """The first metres of one of the sidewalks at a node, away from it."""
    edges = place.graph.edges
    neighbours = [
        n for n in sorted(place.graph.neighbors(node))
        if n != other and edges[node, n]["kind"] != "crosswalk" and edges[node, n]["length"] > length
    ]  # fmt: skip
    return section(place.edge_path(node, neighbours[index % len(neighbours)]), 0.0, length) if neighbours else None


ROUTES = {"straight": straight_routes, "curve": curve_routes, "crosswalk": crosswalk_routes}


def choose_routes() -> HandMadeFile:
    """All routes."""
    chosen: dict[str, Any] = {}
    for kind, counts in COUNTS.items():
        chosen[kind] = [route for name, count in counts.items() for route in _short(bundled_place(name), kind, count)]
    generator = np.random.default_rng([SEED, 99])
    names = list(COUNTS["straight"])
    chosen["long"] = [
        {"name": f"{name}-{number + 1}", "way": _long(name, number, route, generator)}
        for name in names
        for number, route in enumerate(long_routes(name))
    ]
    return HandMadeFile.parse(chosen, "chosen routes")


def _short(place: Place, kind: str, count: int) -> list[dict[str, Any]]:
    """Routes that lie apart: each next one is the farthest from those taken, the first is random."""
    routes = ROUTES[kind](place)
    if len(routes) < count:
        raise BadInput(f"place {place.name}: has {len(routes)} {kind} routes, {count} are needed")
    middles = np.array([route.points[len(route.points) // 2] for route in routes])
    generator = np.random.default_rng([SEED, *kind.encode()])
    taken = [int(generator.integers(len(routes)))]
    while len(taken) < count:
        away = exact.hypot(*(middles[:, None] - middles[taken]).transpose(2, 0, 1)).min(axis=1)
        away[taken] = -1.0
        taken.append(int(away.argmax()))
    return [
        {
            "name": f"{place.name}-{number + 1}",
            "way": {
                "points": rounded(routes[k].points),
                "width": round(routes[k].width, 2),
                "scene": place.scene.name,
            },
        }
        for number, k in enumerate(sorted(taken))
    ]


def _long(name: str, number: int, route: Route, generator: np.random.Generator) -> dict[str, Any]:
    """A long route with somebody every few dozen metres. People who cross leave the robot's side of the road free."""
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
