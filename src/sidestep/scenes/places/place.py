"""A place that somebody mapped or scanned: its scene, the graph of its walkways, and the barriers that leave no other
route than a given one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import shapely

from sidestep.scenes.places import grid
from sidestep.scenes.walkways import Route, WalkwayMap, barrier, stations_between, stations_of
from sidestep.types.base import FloatArray
from sidestep.types.scene import SOLID, Region, SceneSpec

WALKABLE_KINDS = frozenset({"sidewalk", "crosswalk", "ramp", "walkable"})
"""Ground for walking."""
OFF_ROUTE = 0.6  # m between a barrier and the edge of the route


@dataclass(frozen=True, eq=False)
class Place(WalkwayMap):
    """Coordinates are metres about the middle of the map, x east, y north."""

    name: str
    scene: SceneSpec
    graph: nx.Graph[int] = field(repr=False)

    @cached_property
    def walkable_area(self) -> Any:
        """The ground for walking, as a shapely area."""
        return self._area(WALKABLE_KINDS)

    @cached_property
    def solid_area(self) -> Any:
        """What nobody can enter, as a shapely area."""
        return self._area(SOLID)

    def _area(self, kinds: frozenset[str]) -> Any:
        regions = (region for region in self.scene.regions if region.kind in kinds)
        return grid.union(shapely.Polygon(region.polygon, region.holes) for region in regions)

    def has_room(self, points: FloatArray, beside: float, off_solids: float) -> bool:
        """Whether a route keeps ``beside`` m off the edge of the walkable area, and ``off_solids`` m off solids."""
        line = shapely.LineString(np.asarray(points))
        inside = self.walkable_area.contains(grid.grown(line, beside))
        return bool(inside and grid.apart(self.solid_area, line) > off_solids)


def barriers(place: Place, route: Route) -> tuple[Region, ...]:
    """Construction barriers across every walkway that leaves the route, so that only the route leads to its goal."""
    line = shapely.LineString(route.points)
    found = (_across(place, node, other, line) for node, other in place.branches(route))
    return tuple(region for region in found if region is not None)


def _across(place: Place, node: int, other: int, route: shapely.LineString) -> Region | None:
    """A barrier over the walkway from ``node`` to ``other``, as near the node as leaves room for the route; None where
    there is no room before the next node: it is closed there, or the route passes."""
    width, line = place.graph.edges[node, other]["width"], place.edge_path(node, other)
    need = max(place.graph.edges[node, n]["width"] for n in place.graph.neighbors(node)) / 2 + OFF_ROUTE
    for distance in stations_between(width / 2 + 0.3, stations_of(line)[-1] - 0.2, 0.25).tolist():
        region = barrier(line, distance, width)
        if grid.apart(shapely.Polygon(region.polygon), route) >= round(min(need, 1.6), grid.SAME):
            return region
    return None


def close_other_routes(place: Place, route: Route, name: str) -> SceneSpec:
    """The scene with barriers on all walkways but the route."""
    regions = (*place.scene.regions, *barriers(place, route))
    return place.scene.model_copy(update={"name": name, "regions": regions})
