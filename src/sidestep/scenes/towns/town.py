"""A town: streets, lots and things over 2 km × 2 km, the graph of its walkways, and windows on it as scenes. Short
routes of 10 to 20 m for scenarios, as many as a town has room for; long routes through it, and the barriers that
leave no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import shapely

from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.towns.ground import Plaza
from sidestep.scenes.towns.network import Network
from sidestep.scenes.towns.pieces import Pieces, StandingPoint, regions_within
from sidestep.scenes.towns.roads import TownRoads, lay_roads, roads_within
from sidestep.scenes.towns.streets import Street
from sidestep.scenes.towns.walk_graph import WalkLines
from sidestep.scenes.walkways import (
    Route,
    ShortRoute,
    WalkwayMap,
    barrier,
    join_lines,
    largest_turn,
    resample,
    section,
    stations_of,
)
from sidestep.types.base import FloatArray
from sidestep.types.scene import Region, SceneSpec

Box = tuple[float, float, float, float]
ROADS = "+roads"
"""Suffix of a scene's name: the scene has lanes, for traffic."""


@dataclass(frozen=True)
class Block:
    """A building brick of the town. ``kind``: straight, curve, tee, four_way, roundabout, plaza, mid_block_crossing."""

    index: int
    kind: str
    xy: tuple[float, float]  # m, its middle


@dataclass(frozen=True, eq=False)
class Town(WalkwayMap):
    """A town by name and seed. Coordinates are metres about its middle."""

    name: str
    seed: int
    version: int
    bounds: Box
    blocks: tuple[Block, ...]
    graph: nx.Graph[int]
    objects: tuple[StandingPoint, ...]
    streets: tuple[Street, ...] = field(repr=False)
    plazas: tuple[Plaza, ...] = field(repr=False)
    walks: WalkLines = field(repr=False)
    pieces: Pieces = field(repr=False)
    network: Network = field(repr=False)
    rounds: FloatArray = field(repr=False)  # (J,) m, radius of each junction's roundabout; 0: none

    def edge_path(self, a: int, b: int) -> FloatArray:
        """The line ``(K, 2)`` from node ``a`` to its neighbour ``b``, round things that stand in the sidewalk."""
        edge = self.graph.edges[a, b]
        path = self.walks.line(edge["parts"], shifted=True)
        return path if edge["start"] == a else path[::-1]

    def window(
        self, area: Box | Any | None = None, margin: float = 0.0, *, solids_only: bool = False, roads: bool = False
    ) -> SceneSpec:
        """Everything within a box (x0, y0, x1, y1; default: all) or a shapely polygon, grown by ``margin`` m.
        ``roads``: with lanes and crossings, for traffic."""
        if area is None:
            area = self.bounds
        if isinstance(area, tuple | list | np.ndarray):
            x0, y0, x1, y1 = (round(float(value), 3) for value in area)
            if x0 >= x1 or y0 >= y1:
                raise BadInput(
                    f"town {self.name}: a window is x0, y0, x1, y1 with x0 < x1 and y0 < y1, got {list(area)}"
                )
            box = (round(x0 - margin, 3), round(y0 - margin, 3), round(x1 + margin, 3), round(y1 + margin, 3))
            name = f"town:{self.name}@{','.join(f'{value:.10g}' for value in box)}"
            return self._scene(name, shapely.box(*box), solids_only, roads)
        grown = area.buffer(margin) if margin else area
        corners = ",".join(f"{value:.0f}" for value in grown.bounds)
        return self._scene(f"town:{self.name}/area/{corners}", grown, solids_only, roads)

    def window_along(self, route: Route | FloatArray, margin: float = 12.0, *, roads: bool = False) -> SceneSpec:
        """Everything within ``margin`` m of a route; ``roads``: with lanes and crossings, for traffic."""
        points = route.points if isinstance(route, Route) else np.asarray(route)
        line = shapely.simplify(shapely.LineString(points), 0.3)
        ends = ",".join(f"{value:.0f}" for value in (*points[0], *points[-1]))
        return self._scene(f"town:{self.name}/route/{ends}", line.buffer(margin, quad_segs=3), False, roads)

    @cached_property
    def roads(self) -> TownRoads:
        """Lanes, crossings and parking bays of the whole town."""
        return lay_roads(self.network, self.streets, self.rounds)

    def _scene(self, name: str, area: Any, solids_only: bool, roads: bool) -> SceneSpec:
        inside = shapely.set_precision(shapely.intersection(area, shapely.box(*self.bounds)), 0.001)
        if inside.area < 1.0:
            raise BadInput(f"scene {name}: nothing of the town is there; it reaches from -1000 to 1000 m both ways")
        regions = regions_within(self.pieces, inside, solids_only)
        source = f"made by sidestep.scenes.towns, version {self.version}"
        found = roads_within(self.roads, self.pieces, inside) if roads else None
        return SceneSpec(name=name + ROADS * roads, regions=regions, enclosed=False, source=source, roads=found)

    def standing_points(self, kind: str) -> tuple[StandingPoint, ...]:
        """Where people stand for benches, kiosks, bus stops, shop windows and doors (``bench``, ``kiosk``, …)."""
        known = sorted({thing.kind for thing in self.objects})
        if kind not in known:
            raise UnknownName("kind of object", kind, known, f"town {self.name}")
        return tuple(thing for thing in self.objects if thing.kind == kind)

    def straight_routes(self) -> list[ShortRoute]:
        """Short routes along straight sidewalks, one behind the other, of lengths that vary."""
        return self._short_routes[0]

    def curve_routes(self) -> list[ShortRoute]:
        """Short routes along sidewalks that turn by 20° or more, also round roundabouts."""
        return self._short_routes[1]

    def crosswalk_routes(self) -> list[ShortRoute]:
        """Short routes from one sidewalk over ramps and a crosswalk to the other."""
        return self._short_routes[2]

    @cached_property
    def _short_routes(self) -> tuple[list[ShortRoute], list[ShortRoute], list[ShortRoute]]:
        return _along_sidewalks(self, "straight"), _along_sidewalks(self, "curve"), _over_crosswalks(self)


SHORTEST, LONGEST = 10.0, 20.0  # m
STRAIGHT_TURN = np.radians(5)
CURVE_TURN = np.radians(20)
OFF_ENDS = 2.5  # m from the ends of a sidewalk


def _along_sidewalks(town: Town, kind: str) -> list[ShortRoute]:
    routes: list[ShortRoute] = []
    for number, (a, b, edge) in enumerate(town.graph.edges(data=True)):
        block = town.blocks[edge["block"]].kind
        wanted = ("straight", "curve") if kind == "straight" else ("curve", "straight", "roundabout")
        if edge["kind"] != "sidewalk" or block not in wanted:
            continue
        routes += _sections(town, a, b, number, kind)
    return routes


def _sections(town: Town, a: int, b: int, number: int, kind: str) -> list[ShortRoute]:
    """Parts of one sidewalk that are straight, or that turn."""
    edge = town.graph.edges[a, b]
    line, at = edge["line"], stations_of(edge["line"])
    path: FloatArray | None = None
    routes: list[ShortRoute] = []
    start, k = OFF_ENDS, number
    while start + SHORTEST + 1 < at[-1] - OFF_ENDS:
        length = SHORTEST + 0.5 + (k * 7 % 10)
        middle = section(line, start, min(start + length, at[-1] - OFF_ENDS), at)
        turn = largest_turn(middle)
        if turn < STRAIGHT_TURN if kind == "straight" else turn > CURVE_TURN:
            if path is None:
                path = resample(town.edge_path(edge["start"], b if edge["start"] == a else a), 0.25)
            points = _between(path, middle[0], middle[-1])
            if SHORTEST <= stations_of(points)[-1] <= LONGEST:
                routes.append(ShortRoute(np.round(points, 3), edge["width"], kind, edge["block"]))
        start += length + 1.0
        k += 1
    return routes


def _between(dense: FloatArray, start: FloatArray, end: FloatArray) -> FloatArray:
    """The part of a path, given as close points, between the points nearest to two others."""
    at = [int(exact.norm(dense - point).argmin()) for point in (start, end)]
    return resample(dense[at[0] : at[1] + 1], 1.0)


def _over_crosswalks(town: Town) -> list[ShortRoute]:
    """Over each crosswalk both ways, from a few metres along one sidewalk to a few metres along the other."""
    routes = []
    for number, (a, b, edge) in enumerate(town.graph.edges(data=True)):
        room = LONGEST - 0.5 - edge["length"]
        if edge["kind"] != "crosswalk" or room < 1.0:
            continue
        for turn, (start, goal) in enumerate(((a, b), (b, a))):
            lead = min(1.5 + (number + turn) % 3, room / 2)
            before, after = _lead(town, start, goal, lead, number + turn), _lead(town, goal, start, lead, number)
            lines = [before[::-1], town.edge_path(start, goal), after]
            points = join_lines(lines, [0.0] * 3, ["sidewalk", "crosswalk", "sidewalk"], ()).points
            if SHORTEST <= stations_of(points)[-1] <= LONGEST:
                routes.append(ShortRoute(points, edge["width"], "crosswalk", edge["block"]))
    return routes


def _lead(town: Town, node: int, other: int, length: float, index: int) -> FloatArray:
    """The first metres of one of the sidewalks at a node, away from it."""
    neighbours = [
        n for n in sorted(town.graph.neighbors(node)) if n != other and town.graph.edges[node, n]["kind"] == "sidewalk"
    ]
    return section(town.edge_path(node, neighbours[index % len(neighbours)]), 0.0, length)


TRIES = 200
LONG_MARGIN = 25.0  # m
BESIDE = 0.9  # m between a barrier across a sidewalk and the crosswalk's edge


def long_route(
    town: Town, rng: np.random.Generator, min_length: float = 250.0, max_length: float = 450.0, crosswalks: int = 2
) -> Route:
    """A shortest route between random nodes, over streets only, with at least ``crosswalks`` and two corners."""
    graph = nx.subgraph_view(town.graph, filter_edge=lambda a, b: town.graph.edges[a, b]["kind"] != "plaza")
    nodes = [node for node in town.graph if town.graph.nodes[node]["street"] >= 0]
    for _ in range(TRIES):
        start = nodes[int(rng.integers(len(nodes)))]
        found: Any = nx.single_source_dijkstra(graph, start, cutoff=max_length, weight="length")
        lengths, paths = found
        goals = [node for node in sorted(lengths) if lengths[node] >= min_length]
        if not goals:
            continue
        path = paths[goals[int(rng.integers(len(goals)))]]
        kinds = [town.graph.edges[step]["kind"] for step in pairwise(path)]
        if kinds.count("crosswalk") < crosswalks or kinds[0] != "sidewalk" or kinds[-1] != "sidewalk":
            continue
        route = town.route_over(tuple(path))
        if min_length <= route.length <= max_length:
            return route
    raise BadInput(
        f"town {town.name}: no route of {min_length:g} to {max_length:g} m with {crosswalks} crosswalks in "
        f"{TRIES} draws; widen the range"
    )


def barriers(town: Town, route: Route) -> tuple[Region, ...]:
    """Construction barriers across every walkway that leaves the route, so that only the route leads to its goal."""
    return tuple(_across(town, node, other) for node, other in town.branches(route))


def _across(town: Town, node: int, other: int) -> Region:
    """A barrier over the whole width of the walkway from ``node`` to ``other``, a little off the node."""
    edge = town.graph.edges[node, other]
    line: FloatArray = edge["line"] if edge["start"] == node else edge["line"][::-1]
    info = town.graph.nodes[node]
    street = town.streets[info["street"]]
    zones = street.zones[info["side"]]
    if edge["kind"] == "sidewalk":
        crossing = [c.width / 2 for c in street.crossings if abs(c.station - info["station"]) < 0.01]
        distance, width = (crossing[0] if crossing else 4.6) + BESIDE, zones.sidewalk
    elif edge["kind"] == "crosswalk":
        distance, width = zones.sidewalk / 2 + 0.3, edge["width"]
    else:
        distance, width = zones.sidewalk / 2 + zones.frontage + 0.5, edge["width"]
    return barrier(line, distance, width)


def numbered_long_route(town: Town, number: int) -> Route:
    """The ``number``-th long route of a town."""
    return long_route(town, np.random.default_rng([town.seed, number, 7]))


def long_scene(town: Town, number: int, *, roads: bool = False) -> SceneSpec:
    """What is near that route, with barriers on all other walkways: the scene ``town:NAME/long/NUMBER``."""
    route = numbered_long_route(town, number)
    scene = town.window_along(route, LONG_MARGIN, roads=roads)
    name = f"town:{town.name}/long/{number}" + ROADS * roads
    return scene.model_copy(update={"name": name, "regions": (*scene.regions, *barriers(town, route))})
