"""Long ways through a place, and the barriers that leave no other."""

from __future__ import annotations

from itertools import pairwise

import networkx as nx
import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.scenes.places import grid
from sidestep.scenes.places.place import Place
from sidestep.scenes.towns.curves import left_of, point_at, stations_of, steps, unit
from sidestep.scenes.towns.routes import Route
from sidestep.types.base import FloatArray
from sidestep.types.scene import Region, SceneSpec

TRIES = 300
MIN_LENGTH, MAX_LENGTH = 130.0, 330.0  # m
THICK, OVERLAP, HEIGHT = 0.3, 0.15, 1.1  # m, as on the long ways of towns
OFF_ROUTE = 0.6  # m between a barrier and the edge of the way
BESIDE, OFF_SOLIDS = 0.45, 0.6  # m


def draw_long_way(place: Place, number: int, before: list[Route]) -> Route:
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
        if place.has_room(route.points, BESIDE, OFF_SOLIDS):
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


def close_others(place: Place, route: Route, name: str) -> SceneSpec:
    """The scene with barriers on all ways but the route."""
    regions = (*place.scene.regions, *barriers(place, route))
    return place.scene.model_copy(update={"name": name, "regions": regions})
