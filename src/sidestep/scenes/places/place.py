"""A place that somebody mapped or scanned: its scene, and the graph of its walkways. Short routes of 10 to 20 m for
scenarios: straight, round a curve, over a crosswalk; long routes, and the barriers that leave no other.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import shapely

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.scenes.places import grid
from sidestep.scenes.towns.town import ShortRoute
from sidestep.scenes.walkways import Route, cut, dot, join_lines, left_of, point_at, resample, stations_of, steps, unit
from sidestep.types.base import FloatArray
from sidestep.types.scene import SOLID, Region, SceneSpec

WALKED = frozenset({"sidewalk", "crosswalk", "ramp", "walkable"})
"""Ground for walking."""


@dataclass(frozen=True, eq=False)
class Place:
    """Coordinates are metres about the middle of the map, x east, y north.

    ``graph`` is like a town's: nodes have ``xy``, edges ``line``, ``width``, ``kind`` (sidewalk, crosswalk or plaza)
    and ``length``.
    """

    name: str
    scene: SceneSpec
    graph: nx.Graph = field(repr=False)

    def edge_path(self, a: int, b: int) -> FloatArray:
        """The way ``(K, 2)`` from node ``a`` to its neighbour ``b``."""
        edge = self.graph.edges[a, b]
        line: FloatArray = edge["line"]
        return line if edge["start"] == a else line[::-1]

    def route(self, start: int, goal: int) -> Route:
        """The shortest way between two nodes of the graph."""
        for node in (start, goal):
            if node not in self.graph:
                raise BadInput(f"place {self.name}: no node {node!r}; nodes are 0 to {len(self.graph) - 1}")
        try:
            return self.route_over(tuple(nx.dijkstra_path(self.graph, start, goal, weight="length")))
        except nx.NetworkXNoPath:
            raise BadInput(f"place {self.name}: no way from node {start} to node {goal}") from None

    def route_over(self, nodes: tuple[int, ...]) -> Route:
        """The way over given neighbouring nodes."""
        if len(nodes) < 2:
            raise BadInput(f"place {self.name}: a route needs two different nodes, got {list(nodes)}")
        steps = list(pairwise(nodes))
        edges = [self.graph.edges[step] for step in steps]
        lines = [self.edge_path(a, b) for a, b in steps]
        return join_lines(lines, [edge["width"] for edge in edges], [edge["kind"] for edge in edges], nodes)

    @cached_property
    def walked(self) -> Any:
        """The ground for walking, as a shapely area."""
        return grid.union(_polygon(region) for region in self.scene.regions if region.kind in WALKED)

    @cached_property
    def solid(self) -> Any:
        """What nobody can enter, as a shapely area."""
        return grid.union(_polygon(region) for region in self.scene.regions if region.kind in SOLID)

    def has_room(self, points: FloatArray, beside: float, off_solids: float) -> bool:
        """Whether a way keeps ``beside`` m off the edge of the ground for walking, and ``off_solids`` m off solids."""
        line = shapely.LineString(np.asarray(points))
        return bool(self.walked.contains(grid.grown(line, beside)) and grid.apart(self.solid, line) > off_solids)


def _polygon(region: Any) -> Any:
    return shapely.Polygon(region.polygon, region.holes)


SHORTEST, LONGEST = 10.0, 20.0  # m
STRAIGHT_TURN, CURVE_TURN = np.radians(5), np.radians(20)
KEEP = 2.0  # m from the ends of an edge
STRIDE = 3.0  # m between the starts of spots that are tried
SHORT_ROUTE_BESIDE, SHORT_ROUTE_OFF_SOLIDS = 0.5, 0.65  # m
LEADS = (2.0, 3.5)  # m of sidewalk before and after a crosswalk


def straight_routes(place: Place) -> list[ShortRoute]:
    """Along sidewalks that turn by less than 5°."""
    return _along(place, "straight")


def curve_routes(place: Place) -> list[ShortRoute]:
    """Along sidewalks that turn by more than 20°."""
    return _along(place, "curve")


def _along(place: Place, kind: str) -> list[ShortRoute]:
    """One behind the other, without overlap; every second one the other way."""
    spots: list[ShortRoute] = []
    for number, (a, b, edge) in enumerate(sorted(place.graph.edges(data=True), key=lambda item: item[:2])):
        if edge["kind"] != "sidewalk":
            continue
        line = resample(place.edge_path(a, b), 0.5)
        at = stations_of(line)
        start = KEEP
        while start + SHORTEST + 0.5 < at[-1] - KEEP:
            length = SHORTEST + 0.5 + (len(spots) * 7 + number) % 9
            points = resample(cut(line, start, min(start + length, at[-1] - KEEP), at), 1.0)
            turn = _turned(points)
            fits = turn < STRAIGHT_TURN if kind == "straight" else turn > CURVE_TURN
            if fits and place.has_room(points, SHORT_ROUTE_BESIDE, SHORT_ROUTE_OFF_SOLIDS):
                points = points[::-1] if len(spots) % 2 else points
                spots.append(ShortRoute(np.round(points, 3), edge["width"], kind, -1))
                start += length
            start += STRIDE
    return spots


def _turned(points: FloatArray) -> float:
    """Largest angle (rad) between the first direction and any other, over steps of 1 m."""
    step = unit(np.diff(points, axis=0))
    a, b = step[0], step
    return float(np.abs(exact.arctan2(a[0] * b[:, 1] - a[1] * b[:, 0], dot(b, a))).max())


def crosswalk_routes(place: Place) -> list[ShortRoute]:
    """Over each crosswalk both ways, from a few metres along one sidewalk to a few metres along the other."""
    spots = []
    for number, (a, b, edge) in enumerate(sorted(place.graph.edges(data=True), key=lambda item: item[:2])):
        if edge["kind"] != "crosswalk":
            continue
        for turn, (start, goal) in enumerate(((a, b), (b, a))):
            spot = _over(place, start, goal, number + turn)
            if spot is not None:
                spots.append(spot)
    return spots


def _over(place: Place, start: int, goal: int, choice: int) -> ShortRoute | None:
    edge = place.graph.edges[start, goal]
    for lead in LEADS:
        sides = [_lead(place, node, other, lead, choice) for node, other in ((start, goal), (goal, start))]
        if sides[0] is None or sides[1] is None:
            return None
        lines = [sides[0][::-1], place.edge_path(start, goal), sides[1]]
        points = join_lines(lines, [0.0] * 3, ["sidewalk", "crosswalk", "sidewalk"], ()).points
        if SHORTEST <= stations_of(points)[-1] <= LONGEST and place.has_room(
            points, SHORT_ROUTE_BESIDE, SHORT_ROUTE_OFF_SOLIDS
        ):
            return ShortRoute(points, edge["width"], "crosswalk", -1)
    return None


def _lead(place: Place, node: int, other: int, length: float, choice: int) -> FloatArray | None:
    """The first metres of one of the sidewalks at a node, away from it."""
    edges = place.graph.edges
    ways = [
        n for n in sorted(place.graph.neighbors(node))
        if n != other and edges[node, n]["kind"] != "crosswalk" and edges[node, n]["length"] > length
    ]  # fmt: skip
    return cut(place.edge_path(node, ways[choice % len(ways)]), 0.0, length) if ways else None


TRIES = 300
MIN_LENGTH, MAX_LENGTH = 130.0, 330.0  # m
THICK, OVERLAP, HEIGHT = 0.3, 0.15, 1.1  # m, as on the long ways of towns
OFF_ROUTE = 0.6  # m between a barrier and the edge of the way
LONG_ROUTE_BESIDE, LONG_ROUTE_OFF_SOLIDS = 0.45, 0.6  # m


def draw_long_route(place: Place, number: int, before: list[Route]) -> Route:
    """A shortest way between drawn nodes with at least one crosswalk, mostly elsewhere than those drawn ``before``."""
    rng = np.random.default_rng([number, 17])
    nodes = sorted(place.graph)
    for attempt in range(TRIES):
        start = nodes[int(rng.integers(len(nodes)))]
        lengths, paths = nx.single_source_dijkstra(place.graph, start, cutoff=MAX_LENGTH, weight="length")
        goals = [node for node in sorted(lengths) if lengths[node] >= MIN_LENGTH]
        if not goals:
            continue
        path = tuple(paths[goals[int(rng.integers(len(goals)))]])
        share = max((len(set(path) & set(other.nodes)) / len(path) for other in before), default=0.0)
        kinds = [place.graph.edges[step]["kind"] for step in pairwise(path)]
        if "crosswalk" not in kinds or "crosswalk" in (kinds[0], kinds[-1]) or share > 0.4 + 0.6 * attempt / TRIES:
            continue
        route = place.route_over(path)
        if place.has_room(route.points, LONG_ROUTE_BESIDE, LONG_ROUTE_OFF_SOLIDS):
            return route
    raise BadInput(f"place {place.name}: no long route number {number} of {MIN_LENGTH:g} m or more in {TRIES} draws")


def barriers(place: Place, route: Route) -> tuple[Region, ...]:
    """Construction barriers across every way that leaves the route, so that only the route leads to its goal."""
    taken = {frozenset(step) for step in pairwise(route.nodes)}
    way = shapely.LineString(route.points)
    regions = []
    for node in route.nodes:
        for other in sorted(place.graph.neighbors(node)):
            if frozenset((node, other)) not in taken:
                region = _across(place, node, other, way)
                if region is not None:
                    regions.append(region)
    return tuple(regions)


def _across(place: Place, node: int, other: int, way: shapely.LineString) -> Region | None:
    """A barrier over the way from ``node`` to ``other``, as near the node as leaves room for the route; None where
    there is no room before the next node: it is closed there, or the route passes."""
    edge = place.graph.edges[node, other]
    line = place.edge_path(node, other)
    at = stations_of(line)
    need = max(place.graph.edges[node, n]["width"] for n in place.graph.neighbors(node)) / 2 + OFF_ROUTE
    for distance in steps(edge["width"] / 2 + 0.3, at[-1] - 0.2, 0.25).tolist():
        ring = _ring(line, at, distance, edge["width"])
        if grid.apart(shapely.Polygon(ring), way) >= round(min(need, 1.6), grid.SAME):
            corners = tuple((float(x), float(y)) for x, y in ring)
            return Region(kind="obstacle", polygon=corners, height=HEIGHT, name="construction barrier")
    return None


def _ring(line: FloatArray, at: FloatArray, distance: float, width: float) -> FloatArray:
    place = point_at(distance, at, line)
    index = min(max(int(np.searchsorted(at, distance)) - 1, 0), len(line) - 2)
    along = unit(line[index + 1] - line[index])
    across, half = left_of(along) * (width / 2 + OVERLAP), along * THICK / 2
    return np.round([place - across - half, place - across + half, place + across + half, place + across - half], 3)


def close_other_routes(place: Place, route: Route, name: str) -> SceneSpec:
    """The scene with barriers on all ways but the route."""
    regions = (*place.scene.regions, *barriers(place, route))
    return place.scene.model_copy(update={"name": name, "regions": regions})
