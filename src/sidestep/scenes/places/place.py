"""A place that somebody mapped or scanned: its scene, the graph of its walkways, and the barriers that leave no other
route than a given one. The graph has nodes where walking lines meet and edges between. Where ground is annotated
without lines, they run through its middle: its medial axis, by the Voronoi diagram of points on its edge.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import networkx as nx
import numpy as np
import shapely
import shapely.ops
from scipy.spatial import Voronoi

from sidestep._util import exact
from sidestep.scenes.places import grid
from sidestep.scenes.walkways import Route, WalkwayMap, add_walkway, barrier, stations_between, stations_of
from sidestep.types.base import FloatArray
from sidestep.types.scene import SOLID, Region, SceneSpec

NODE_GRID = 0.02  # m: lines that end so near another meet it
STUB = 1.6  # m: dead ends shorter than this are what was left over where lines were cut
KINDS = ("crosswalk", "sidewalk", "plaza")
"""Where lines lie on each other the first of these counts."""


@dataclass(frozen=True, eq=False)
class WalkLine:
    """A line to walk along: sidewalk, crosswalk or plaza."""

    line: Any  # shapely
    width: float  # m
    kind: str
    measure: Callable[[Any], float] | None = None
    """The width (m) of a part of the line, if it is not the same everywhere."""


@dataclass(frozen=True, eq=False)
class _Piece:
    """A line between two points where lines meet."""

    points: FloatArray
    width: float
    kind: str

    @property
    def ends(self) -> tuple[tuple[float, float], tuple[float, float]]:
        a, b = np.round(self.points[[0, -1]], 2).tolist()
        return (a[0], a[1]), (b[0], b[1])

    def joined(self, other: _Piece, at: tuple[float, float]) -> _Piece:
        """This and another piece that share the end ``at``."""
        mine = self.points if self.ends[1] == at else self.points[::-1]
        its = other.points if other.ends[0] == at else other.points[::-1]
        return _Piece(np.concatenate([mine, its[1:]]), min(self.width, other.width), self.kind)


def make_graph(lines: list[WalkLine]) -> nx.Graph[int]:
    """The graph of a :class:`~sidestep.scenes.walkways.WalkwayMap`."""
    pieces = _without_steps(_split_at_meetings(lines))
    pieces = _without_stubs(pieces)
    pieces = _merged(pieces)
    graph: nx.Graph[int] = nx.Graph()
    numbers: dict[tuple[float, float], int] = {}
    for piece in sorted(pieces, key=lambda piece: (*piece.ends, len(piece.points))):
        for part in _once(piece, numbers, graph):
            a, b = (_node(end, numbers, graph) for end in part.ends)
            add_walkway(graph, a, b, part.points, part.width, part.kind)
    return graph


def _node(xy: tuple[float, float], numbers: dict[tuple[float, float], int], graph: nx.Graph[int]) -> int:
    if xy not in numbers:
        numbers[xy] = len(numbers)
        graph.add_node(numbers[xy], xy=xy)
    return numbers[xy]


def _split_at_meetings(lines: list[WalkLine]) -> list[_Piece]:
    """All lines cut where they meet, each piece with the width and kind of the line on which it lies."""
    if not lines:
        return []
    noded = shapely.union_all([line.line for line in lines], grid_size=NODE_GRID)
    tree = shapely.STRtree([line.line for line in lines])
    pieces = []
    for part in shapely.get_parts(noded):
        if part.geom_type != "LineString" or part.length < NODE_GRID:
            continue
        middle = part.interpolate(0.5, normalized=True)
        near = tree.query(middle, predicate="dwithin", distance=3 * NODE_GRID)
        sources = [lines[k] for k in sorted(near.tolist())] or [lines[int(tree.nearest(middle))]]
        source = min(sources, key=lambda line: KINDS.index(line.kind))
        width = source.measure(part) if source.measure else source.width
        pieces.append(_Piece(shapely.get_coordinates(part), width, source.kind))
    return pieces


def _without_steps(pieces: list[_Piece]) -> list[_Piece]:
    """Pieces of one step of the grid are where a line ends on the border between two of its cells: both ends are one
    point."""
    short = [stations_of(piece.points)[-1] < 1.5 * NODE_GRID for piece in pieces]
    moved = dict(piece.ends for piece, step in zip(pieces, short, strict=True) if step)
    for piece in pieces:
        for k, end in zip((0, -1), piece.ends, strict=True):
            piece.points[k] = moved.get(end, end)
    return [piece for piece, step in zip(pieces, short, strict=True) if not step]


def _at_ends(pieces: list[_Piece]) -> dict[tuple[float, float], list[int]]:
    found: dict[tuple[float, float], list[int]] = {}
    for number, piece in enumerate(pieces):
        for end in piece.ends:
            found.setdefault(end, []).append(number)
    return found


def _without_stubs(pieces: list[_Piece]) -> list[_Piece]:
    at = _at_ends(pieces)
    remaining = []
    for piece in pieces:
        loose = [len(at[end]) == 1 for end in piece.ends]
        if not any(loose) or all(loose) or stations_of(piece.points)[-1] >= STUB:
            remaining.append(piece)
    return remaining


def _merged(pieces: list[_Piece]) -> list[_Piece]:
    """Pieces of one kind that nothing else meets where they meet, joined."""
    at = _at_ends(pieces)
    alive: list[_Piece | None] = list(pieces)
    for end in sorted(at):
        if len(at[end]) != 2 or at[end][0] == at[end][1]:
            continue
        a, b = at[end]
        one, other = alive[a], alive[b]
        if one is None or other is None or one.kind != other.kind or abs(one.width - other.width) > 0.5:
            continue
        alive[a], alive[b] = one.joined(other, end), None
        for far in other.ends:
            if far != end:
                at[far] = [a if number == b else number for number in at[far]]
        at[end] = []
    return [piece for piece in alive if piece is not None]


def _once(piece: _Piece, numbers: dict[tuple[float, float], int], graph: nx.Graph[int]) -> list[_Piece]:
    """The piece, cut in three if it ends where it starts, in two if its ends have an edge already."""
    a, b = piece.ends
    cuts = 3 if a == b else 2 if a in numbers and b in numbers and graph.has_edge(numbers[a], numbers[b]) else 1
    if cuts == 1:
        return [piece]
    line, length = shapely.LineString(piece.points), stations_of(piece.points)[-1]
    parts = []
    for k in range(cuts):
        part = shapely.ops.substring(line, length * k / cuts, length * (k + 1) / cuts)
        parts.append(_Piece(np.round(shapely.get_coordinates(part), 3), piece.width, piece.kind))
    return parts


SPACING = 0.5  # m between points on the edge
NARROWEST = 0.9  # m: no line where the ground is narrower
WIDEST = 4.0  # m: on a square one keeps to a path of this width
BRANCH = 1.6  # dead ends shorter than this many half widths lead into a corner, not anywhere
LEAD = 3.0  # m: so much sidewalk between a crosswalk and the next junction belongs to the crosswalk
TOLERANCE = 0.06  # m by which lines are straightened

Node = tuple[float, float]


def walking_lines(area: Any, crosswalks: Any) -> list[WalkLine]:
    """Lines in the middle of ``area``; those over ``crosswalks`` (with their ramps) are crosswalks."""
    shapely.prepare(area)
    shapely.prepare(crosswalks)
    axis = _medial_axis(area)
    edge = shapely.boundary(area)
    _prune(axis, edge)
    for a, b in axis.edges:
        middle = ((a[0] + b[0]) / 2, (a[1] + b[1]) / 2)
        axis.edges[a, b]["kind"] = "crosswalk" if shapely.contains_xy(crosswalks, *middle) else "sidewalk"

    def width(line: Any) -> float:
        points = grid.points_along(grid.corners(line), grid.length_of(line) * np.linspace(0.1, 0.9, 9))
        gaps = [grid.apart(edge, shapely.Point(point)) for point in points]
        return round(min(2 * float(np.median(gaps)), WIDEST), 2)

    lines = []
    for points, kind in _chains(axis):
        line = shapely.simplify(shapely.LineString(points), TOLERANCE)
        lines.append(WalkLine(line, width(line), kind, width))
    return lines


def _medial_axis(area: Any) -> nx.Graph[Node]:
    samples: list[tuple[float, float]] = []
    following: list[int] = []
    for polygon in shapely.get_parts(area):
        for ring in (polygon.exterior, *polygon.interiors):
            outline, length = grid.corners(ring), grid.length_of(ring)
            count = max(int(length / SPACING), 8)
            start = len(samples)
            samples += grid.points_along(outline, length * np.arange(count) / count).tolist()
            following += [start + (k + 1) % count for k in range(count)]
    diagram = Voronoi(np.array(samples))
    # The middle between two edges on a grid of 1 mm may be half a millimetre: it is made exact before it is rounded.
    vertices = np.round(np.round(diagram.vertices, 4), 3)
    inside = shapely.contains_xy(area, vertices[:, 0], vertices[:, 1])
    room = np.zeros(len(vertices), bool)
    away = shapely.distance(shapely.boundary(area), shapely.points(vertices[inside]))
    room[inside] = np.round(away, grid.SAME) > NARROWEST / 2
    axis: nx.Graph[Node] = nx.Graph()
    for (p, q), (a, b) in zip(diagram.ridge_points.tolist(), diagram.ridge_vertices, strict=True):
        beside = following[p] == q or following[q] == p
        if a >= 0 and b >= 0 and room[a] and room[b] and not beside:
            one, other = tuple(vertices[a].tolist()), tuple(vertices[b].tolist())
            if one != other:
                axis.add_edge(one, other)
    return axis


def _branch(axis: nx.Graph[Node], leaf: Node) -> tuple[list[Node], float]:
    """The nodes from a dead end to the first junction, and the length of that branch, m."""
    path, length = [leaf], 0.0
    while True:
        ahead = [node for node in axis.neighbors(path[-1]) if len(path) < 2 or node != path[-2]]
        if len(ahead) != 1:
            return path, length
        length += float(exact.hypot(ahead[0][0] - path[-1][0], ahead[0][1] - path[-1][1]))
        path.append(ahead[0])


def _prune(axis: nx.Graph[Node], edge: Any) -> None:
    """Take away branches into corners, until none is left."""
    while True:
        corners: list[Node] = []
        for leaf in [node for node in axis if axis.degree(node) == 1]:
            path, length = _branch(axis, leaf)
            if axis.degree(path[-1]) > 2 and round(length, grid.SAME) < round(
                BRANCH * grid.apart(edge, shapely.Point(path[-1])), grid.SAME
            ):
                corners += path[:-1]
        if not corners:
            return
        axis.remove_nodes_from(corners)


def _chains(axis: nx.Graph[Node]) -> list[tuple[FloatArray, str]]:
    """Lines between junctions, dead ends and points where the kind changes; short leads go to their crosswalk."""
    ends = {
        node for node in axis if axis.degree(node) != 2 or len({axis.edges[node, n]["kind"] for n in axis[node]}) > 1
    }
    seen: set[frozenset[Node]] = set()
    chains: list[tuple[list[Node], str]] = []
    for start in sorted(ends) + sorted(axis):  # the second list: rings without any end
        for step in sorted(axis.neighbors(start)):
            path = [start, step]
            if frozenset(path) in seen:
                continue
            seen.add(frozenset(path))
            while path[-1] not in ends and path[-1] != start:
                ahead = next(node for node in axis.neighbors(path[-1]) if node != path[-2])
                seen.add(frozenset((path[-1], ahead)))
                path.append(ahead)
            chains.append((path, axis.edges[path[0], path[1]]["kind"]))
    crossed = {end for path, kind in chains if kind == "crosswalk" for end in (path[0], path[-1])}
    found = []
    for path, kind in chains:
        points = np.array(path)
        length = float(exact.hypot(*np.diff(points, axis=0).T).sum())
        lead = any(end in crossed and axis.degree(end) == 2 for end in (path[0], path[-1]))
        found.append((points, "crosswalk" if lead and length < LEAD else kind))
    return found


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
