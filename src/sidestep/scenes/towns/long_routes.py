"""Long ways through a town, and the barriers that leave no other."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import networkx as nx
import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.scenes.towns.curves import left_of, point_at, stations_of, unit
from sidestep.types.base import FloatArray
from sidestep.types.scene import Region, SceneSpec

if TYPE_CHECKING:
    from sidestep.scenes.towns.routes import Route
    from sidestep.scenes.towns.town import Town

TRIES = 200
THICK = 0.3  # m
OVERLAP = 0.15  # m beyond the edges of the way
HEIGHT = 1.1  # m
LONG_MARGIN = 25.0  # m
BESIDE = 0.9  # m between a closed way's barrier and the crosswalk's edge


def long_route(
    town: Town, rng: np.random.Generator, min_length: float = 250.0, max_length: float = 450.0, crosswalks: int = 2
) -> Route:
    """A shortest way between drawn nodes, over streets only, with at least ``crosswalks`` and two corners."""
    graph = nx.subgraph_view(town.graph, filter_edge=lambda a, b: town.graph.edges[a, b]["kind"] != "plaza")
    nodes = [node for node in town.graph if town.graph.nodes[node]["street"] >= 0]
    for _ in range(TRIES):
        start = nodes[int(rng.integers(len(nodes)))]
        lengths, paths = nx.single_source_dijkstra(graph, start, cutoff=max_length, weight="length")
        goals = [node for node in sorted(lengths) if lengths[node] >= min_length]
        if not goals:
            continue
        path = paths[goals[int(rng.integers(len(goals)))]]
        kinds = [town.graph.edges[step]["kind"] for step in itertools.pairwise(path)]
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
    """Construction barriers across every way that leaves the route, so that only the route leads to its goal."""
    taken = {frozenset(step) for step in zip(route.nodes[:-1], route.nodes[1:], strict=True)}
    regions = []
    for node in route.nodes:
        for other in sorted(town.graph.neighbors(node)):
            if frozenset((node, other)) not in taken:
                regions.append(_across(town, node, other))
    return tuple(regions)


def _across(town: Town, node: int, other: int) -> Region:
    """A barrier over the whole width of the way from ``node`` to ``other``, a little off the node."""
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
    at = stations_of(line)
    place = point_at(distance, at, line)
    index = min(max(int(np.searchsorted(at, distance)) - 1, 0), len(line) - 2)
    along = unit(line[index + 1] - line[index])
    across = left_of(along) * (width / 2 + OVERLAP)
    half = along * THICK / 2
    ring = np.round([place - across - half, place - across + half, place + across + half, place + across - half], 3)
    assert shapely.Polygon(ring).is_valid
    corners = tuple((float(x), float(y)) for x, y in ring)
    return Region(kind="obstacle", polygon=corners, height=HEIGHT, name="construction barrier")


def long_way(town: Town, number: int) -> Route:
    """The ``number``-th long route of a town."""
    return long_route(town, np.random.default_rng([town.seed, number, 7]))


def long_scene(town: Town, number: int) -> SceneSpec:
    """What is near that route, with barriers on all other ways: the scene ``town:NAME/long/NUMBER``."""
    route = long_way(town, number)
    scene = town.window_along(route, LONG_MARGIN)
    name = f"town:{town.name}/long/{number}"
    return scene.model_copy(update={"name": name, "regions": (*scene.regions, *barriers(town, route))})
