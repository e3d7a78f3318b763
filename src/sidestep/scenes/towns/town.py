"""A town: streets, lots and things over 2 km × 2 km, the graph of its walkable ways, and windows on it as scenes."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.scenes.towns.curves import stations_of
from sidestep.scenes.towns.objects import TownObject
from sidestep.scenes.towns.pieces import Pieces
from sidestep.scenes.towns.plazas import Plaza
from sidestep.scenes.towns.routes import Route, join_lines
from sidestep.scenes.towns.streets import Street
from sidestep.scenes.towns.walks import Walks
from sidestep.scenes.towns.windows import regions_within
from sidestep.types.base import FloatArray
from sidestep.types.scene import SceneSpec

Box = tuple[float, float, float, float]


@dataclass(frozen=True)
class Block:
    """A building brick of the town. ``kind``: straight, curve, tee, four_way, roundabout, plaza, mid_block_crossing."""

    index: int
    kind: str
    xy: tuple[float, float]  # m, its middle


@dataclass(frozen=True, eq=False)
class Spot:
    """A short way for a scenario: 10–20 m, free of static things."""

    points: FloatArray  # (K, 2) m
    width: float  # m
    kind: str  # straight, curve or crosswalk
    block: int

    @property
    def length(self) -> float:
        """m."""
        return float(stations_of(self.points)[-1])


@dataclass(frozen=True, eq=False)
class Town:
    """A town by name and seed. Coordinates are metres about its middle."""

    name: str
    seed: int
    version: int
    bounds: Box
    blocks: tuple[Block, ...]
    graph: nx.Graph
    objects: tuple[TownObject, ...]
    streets: tuple[Street, ...] = field(repr=False)
    plazas: tuple[Plaza, ...] = field(repr=False)
    walks: Walks = field(repr=False)
    pieces: Pieces = field(repr=False)

    def edge_path(self, a: int, b: int) -> FloatArray:
        """The way ``(K, 2)`` from node ``a`` to its neighbour ``b``, round things that stand in the sidewalk."""
        edge = self.graph.edges[a, b]
        path = self.walks.line(edge["parts"], shifted=True)
        return path if edge["start"] == a else path[::-1]

    def route(self, start: int, goal: int) -> Route:
        """The shortest way between two nodes of the graph."""
        for node in (start, goal):
            if node not in self.graph:
                raise BadInput(f"town {self.name}: no node {node!r}; nodes are 0 to {len(self.graph) - 1}")
        try:
            return self.route_over(tuple(nx.dijkstra_path(self.graph, start, goal, weight="length")))
        except nx.NetworkXNoPath:
            raise BadInput(f"town {self.name}: no way from node {start} to node {goal}") from None

    def route_over(self, nodes: tuple[int, ...]) -> Route:
        """The way over given neighbouring nodes."""
        if len(nodes) < 2:
            raise BadInput(f"town {self.name}: a route needs two different nodes, got {list(nodes)}")
        steps = list(itertools.pairwise(nodes))
        edges = [self.graph.edges[step] for step in steps]
        lines = [self.edge_path(a, b) for a, b in steps]
        return join_lines(lines, [edge["width"] for edge in edges], [edge["kind"] for edge in edges], nodes)

    def window(self, area: Box | Any | None = None, margin: float = 0.0, *, solids_only: bool = False) -> SceneSpec:
        """Everything within a box (x0, y0, x1, y1; default: all) or a shapely polygon, grown by ``margin`` m."""
        if area is None:
            area = self.bounds
        if isinstance(area, tuple | list | np.ndarray):
            x0, y0, x1, y1 = (round(float(value), 3) for value in area)
            if x0 >= x1 or y0 >= y1:
                raise BadInput(
                    f"town {self.name}: a window is x0, y0, x1, y1 with x0 < x1 and y0 < y1, got {list(area)}"
                )
            box = tuple(round(v, 3) for v in (x0 - margin, y0 - margin, x1 + margin, y1 + margin))
            name = f"town:{self.name}@{','.join(f'{value:.10g}' for value in box)}"
            return self._scene(name, shapely.box(*box), solids_only)
        grown = area.buffer(margin) if margin else area
        place = ",".join(f"{value:.0f}" for value in grown.bounds)
        return self._scene(f"town:{self.name}/area/{place}", grown, solids_only)

    def window_along(self, route: Route | FloatArray, margin: float = 12.0) -> SceneSpec:
        """Everything within ``margin`` m of a route."""
        points = route.points if isinstance(route, Route) else np.asarray(route)
        line = shapely.simplify(shapely.LineString(points), 0.3)
        ends = ",".join(f"{value:.0f}" for value in (*points[0], *points[-1]))
        return self._scene(f"town:{self.name}/route/{ends}", line.buffer(margin, quad_segs=3), False)

    def _scene(self, name: str, area: Any, solids_only: bool) -> SceneSpec:
        inside = shapely.set_precision(shapely.intersection(area, shapely.box(*self.bounds)), 0.001)
        if inside.area < 1.0:
            raise BadInput(f"scene {name}: nothing of the town is there; it reaches from -1000 to 1000 m both ways")
        regions = regions_within(self.pieces, inside, solids_only)
        source = f"made by sidestep.scenes.towns, version {self.version}"
        return SceneSpec(name=name, regions=regions, enclosed=False, source=source)

    def stand_points(self, kind: str) -> tuple[TownObject, ...]:
        """Where people stand for benches, kiosks, bus stops, shop windows and doors (``bench``, ``kiosk``, …)."""
        known = sorted({thing.kind for thing in self.objects})
        if kind not in known:
            from sidestep.errors import UnknownName

            raise UnknownName("kind of object", kind, known, f"town {self.name}")
        return tuple(thing for thing in self.objects if thing.kind == kind)

    def straight_spots(self) -> list[Spot]:
        """Ways along straight sidewalks."""
        return self._spots[0]

    def curve_spots(self) -> list[Spot]:
        """Ways along sidewalks that turn by 20° or more."""
        return self._spots[1]

    def crosswalk_spots(self) -> list[Spot]:
        """Ways from one sidewalk over ramps and a crosswalk to the other."""
        return self._spots[2]

    @cached_property
    def _spots(self) -> tuple[list[Spot], list[Spot], list[Spot]]:
        from sidestep.scenes.towns.spots import crosswalk_spots, curve_spots, straight_spots

        return straight_spots(self), curve_spots(self), crosswalk_spots(self)
