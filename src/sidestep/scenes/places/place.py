"""A place that somebody mapped or scanned: its scene, and the graph of ways to walk there."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any

import networkx as nx
import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.scenes.places import grid
from sidestep.scenes.towns.routes import Route, join_lines
from sidestep.types.base import FloatArray
from sidestep.types.scene import SOLID, SceneSpec

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
