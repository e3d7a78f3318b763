"""What procedural towns and imported places share: polylines by arc length, the splines and fillets of which streets
and corners are made, graphs of walkways and smooth routes over them, barriers across walkways, and the outlines of
things that stand in a street.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
from scipy.spatial import KDTree

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.scene import Region

_QUARTER = np.array([-1.0, 1.0])
SAGITTA = 0.01  # m between an arc and the chords that stand for it


class Curve(NamedTuple):
    """Points ``(N, 2)``, m, and unit directions ``(N, 2)``."""

    points: FloatArray
    tangents: FloatArray


def left_of(direction: FloatArray) -> FloatArray:
    """Directions turned by a quarter to the left."""
    return np.asarray(direction[..., ::-1] * _QUARTER)


def unit(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1 m."""
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.maximum(length, 1e-12))


def dot(vectors: FloatArray, other: FloatArray) -> Any:
    """Scalar product over the last axis, of two components, without a matrix product."""
    return vectors[..., 0] * other[..., 0] + vectors[..., 1] * other[..., 1]


def stations_between(start: float, stop: float, step: float) -> FloatArray:
    """``start``, ``start + step``, … below ``stop``."""
    return np.asarray(start + step * np.arange(max(int(np.ceil((stop - start) / step)), 0)))


def turn_between(a: FloatArray, b: FloatArray) -> float:
    """Angle (rad) from direction ``a`` to ``b``, positive to the left."""
    return float(exact.arctan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]))


def spline(a: FloatArray, da: FloatArray, b: FloatArray, db: FloatArray, pieces: int) -> Curve:
    """The cubic Hermite curve from ``a`` along ``da`` to ``b`` along ``db``, as fast as its chord is long."""
    size = float(exact.hypot(*(b - a)))
    u = np.linspace(0.0, 1.0, pieces + 1)[:, None]
    m0, m1 = da * size, db * size
    u2 = u * u
    u3 = u2 * u
    points = (2 * u3 - 3 * u2 + 1) * a + (u3 - 2 * u2 + u) * m0 + (3 * u2 - 2 * u3) * b + (u3 - u2) * m1
    slope = (6 * u2 - 6 * u) * a + (3 * u2 - 4 * u + 1) * m0 + (6 * u - 6 * u2) * b + (3 * u2 - 2 * u) * m1
    return Curve(points, unit(slope))


def fillet(a: FloatArray, da: FloatArray, b: FloatArray, db: FloatArray, radius: float) -> Curve:
    """Straight from ``a`` along ``da``, an arc of at most ``radius`` (m), straight along ``db`` to ``b``.

    The two lines must meet ahead of ``a`` and behind ``b``; otherwise a spline joins them.
    """
    turn = turn_between(da, db)
    cross = da[0] * db[1] - da[1] * db[0]
    gap = b - a
    ta = (gap[0] * db[1] - gap[1] * db[0]) / cross if abs(cross) > 1e-6 else -1.0
    tb = (gap[1] * da[0] - gap[0] * da[1]) / cross if abs(cross) > 1e-6 else -1.0
    if ta <= 0.05 or tb <= 0.05:
        return spline(a, da, b, db, 12)
    corner = a + da * ta
    reach = min(radius * exact.tan(abs(turn) / 2), ta, tb)
    radius = reach / exact.tan(abs(turn) / 2)
    pieces = max(int(np.ceil(abs(turn) / np.sqrt(8 * SAGITTA / max(radius, 0.1)))), 3)
    angle = np.linspace(0.0, turn, pieces + 1)[:, None]
    tangents = da * exact.cos(angle) + left_of(da) * exact.sin(angle)
    centre = corner - da * reach + left_of(da) * radius * np.sign(turn)
    arc = centre - left_of(tangents) * radius * np.sign(turn)
    points: list[FloatArray] = [arc]
    directions: list[FloatArray] = [tangents]
    if ta - reach > 0.03:
        points.insert(0, a[None])
        directions.insert(0, da[None])
    else:
        arc[0] = a
    if tb - reach > 0.03:
        points.append(b[None])
        directions.append(db[None])
    else:
        arc[-1] = b
    return Curve(np.concatenate(points), np.concatenate(directions))


def stations_of(points: FloatArray) -> FloatArray:
    """Length (m) along a polyline up to each of its points."""
    return np.concatenate([[0.0], np.cumsum(exact.norm(np.diff(points, axis=0)))])


def points_at(stations: FloatArray, at: FloatArray, values: FloatArray) -> FloatArray:
    """Rows of ``values (N, C)``, which belong to the stations ``at (N,)``, at others ``(M,)``: linear between, and the
    first or last row beyond the ends."""
    k = np.minimum(np.maximum(at.searchsorted(stations, side="right") - 1, 0), len(at) - 2)
    low, first = at[k], values[k]
    share = np.maximum(stations - low, 0.0) / np.maximum(at[k + 1] - low, 1e-300)
    found = first + share[:, None] * (values[k + 1] - first)
    found[stations >= at[-1]] = values[-1]
    return np.asarray(found)


def point_at(station: float, at: FloatArray, values: FloatArray) -> FloatArray:
    """The row at one station."""
    return np.asarray(points_at(np.array([station]), at, values)[0])


def resample(points: FloatArray, spacing: float) -> FloatArray:
    """The polyline at equal steps of at most ``spacing`` (m), both ends included."""
    at = stations_of(points)
    wanted = np.linspace(0.0, at[-1], max(int(np.ceil(at[-1] / spacing)), 1) + 1)
    return points_at(wanted, at, points)


def section(points: FloatArray, start: float, end: float, at: FloatArray | None = None) -> FloatArray:
    """The part of a polyline between two stations (m); ``at`` are the stations of its points, if they are known."""
    at = stations_of(points) if at is None else at
    first, last = np.searchsorted(at, [start + 1e-6, end - 1e-6])
    part = np.empty((last - first + 2, 2))
    part[1:-1] = points[first:last]
    part[[0, -1]] = points_at(np.array([start, end]), at, points)
    return part


SPACING = 1.0  # m
ROUNDING = 1.2  # m before and after a corner of a route
SHARP = np.radians(18)
AS_NEAR = 4  # ends of lines that can be equally near: two on either side


@dataclass(frozen=True, eq=False)
class Route:
    """Where to walk: points about a metre apart in the middle of the clear sidewalk, or beside what stands there."""

    points: FloatArray  # (K, 2) m
    width: FloatArray  # (K,) m, of the clear sidewalk or crosswalk
    kinds: tuple[str, ...]  # (K,) sidewalk, crosswalk or plaza
    nodes: tuple[int, ...]  # of the graph

    @property
    def length(self) -> float:
        """m."""
        return float(stations_of(self.points)[-1])


@dataclass(frozen=True, eq=False)
class ShortRoute:
    """A route for a scenario: 10–20 m, free of static things."""

    points: FloatArray  # (K, 2) m
    width: float  # m
    kind: str  # straight, curve or crosswalk
    block: int

    @property
    def length(self) -> float:
        """m."""
        return float(stations_of(self.points)[-1])


class WalkwayMap:
    """A graph of walkways, as towns and places have it. Nodes have ``xy``; edges ``line (K, 2)``, ``width``, ``kind``
    (sidewalk, crosswalk or plaza), ``length`` (all m) and ``start``, the node where the line begins."""

    name: str
    graph: nx.Graph[int]

    def edge_path(self, a: int, b: int) -> FloatArray:
        """The line ``(K, 2)`` from node ``a`` to its neighbour ``b``."""
        edge = self.graph.edges[a, b]
        line: FloatArray = edge["line"]
        return line if edge["start"] == a else line[::-1]

    def route(self, start: int, goal: int) -> Route:
        """The shortest route between two nodes of the graph."""
        for node in (start, goal):
            if node not in self.graph:
                raise BadInput(f"{self._title}: no node {node!r}; nodes are 0 to {len(self.graph) - 1}")
        try:
            return self.route_over(tuple(nx.dijkstra_path(self.graph, start, goal, weight="length")))
        except nx.NetworkXNoPath:
            raise BadInput(f"{self._title}: no route from node {start} to node {goal}") from None

    def route_over(self, nodes: tuple[int, ...]) -> Route:
        """The route over given neighbouring nodes."""
        if len(nodes) < 2:
            raise BadInput(f"{self._title}: a route needs two different nodes, got {list(nodes)}")
        edges = [self.graph.edges[step] for step in pairwise(nodes)]
        lines = [self.edge_path(a, b) for a, b in pairwise(nodes)]
        return join_lines(lines, [edge["width"] for edge in edges], [edge["kind"] for edge in edges], nodes)

    def branches(self, route: Route) -> Iterator[tuple[int, int]]:
        """Node of the route and neighbour beside it, for every edge that leaves the route."""
        taken = {frozenset(step) for step in pairwise(route.nodes)}
        for node in route.nodes:
            for other in sorted(self.graph.neighbors(node)):
                if frozenset((node, other)) not in taken:
                    yield node, other

    @property
    def _title(self) -> str:
        return f"{type(self).__name__.lower()} {self.name}"


def add_walkway(graph: nx.Graph[int], a: int, b: int, line: FloatArray, width: float, kind: str, **more: Any) -> None:
    """The edge of a walkway from node ``a`` to node ``b``."""
    length = round(float(stations_of(line)[-1]), 3)
    graph.add_edge(a, b, line=line, width=width, kind=kind, length=length, start=a, **more)


def largest_turn(points: FloatArray) -> float:
    """Largest angle (rad) between the first direction of a polyline and any other."""
    step = unit(np.diff(points, axis=0))
    a, b = step[0], step
    return float(np.abs(exact.arctan2(a[0] * b[:, 1] - a[1] * b[:, 0], dot(b, a))).max())


THICK, OVERLAP, HEIGHT = 0.3, 0.15, 1.1  # m: of a barrier, and by which it is wider than the walkway on each side


def barrier(line: FloatArray, distance: float, width: float) -> Region:
    """A construction barrier across a walkway of ``width`` m, ``distance`` m from the start of its line ``(K, 2)``."""
    at = stations_of(line)
    middle = point_at(distance, at, line)
    index = min(max(int(np.searchsorted(at, distance)) - 1, 0), len(line) - 2)
    along = unit(line[index + 1] - line[index])
    across, half = left_of(along) * (width / 2 + OVERLAP), along * THICK / 2
    ring = np.round([middle - across - half, middle - across + half, middle + across + half, middle + across - half], 3)
    corners = tuple((float(x), float(y)) for x, y in ring)
    return Region(kind="obstacle", polygon=corners, height=HEIGHT, name="construction barrier")


ROUND = frozenset({"tree", "lamp post", "signal post", "sign post", "hydrant", "bollard", "litter bin", "plant pot"})
ROUND |= {"cafe table", "basin"}
OBSTACLES = frozenset({"tree", "lamp post", "signal post", "sign post", "bollard", "hydrant", "parked car", "basin"})
"""Things that are obstacles; others are furniture."""


def footprints(names: list[str], xy: FloatArray, along: FloatArray, size: FloatArray) -> list[FloatArray]:
    """Outlines of things at ``xy (N, 2)``, mm precise: octagons of round things, whose length is their diameter, and
    rectangles of ``size (N, 2)``, length along the unit direction ``along (N, 2)`` and width, m."""
    round_ = np.array([name in ROUND for name in names])
    turn = np.pi / 8 + np.arange(8) * np.pi / 4
    eight = np.stack([exact.cos(turn), exact.sin(turn)], axis=1)
    four = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]], float)
    outlines: dict[int, FloatArray] = {}
    for chosen, shape, sizes in ((round_, eight, size[:, [0, 0]]), (~round_, four, size)):
        numbers = np.flatnonzero(chosen)
        local = shape[None] * sizes[numbers, None] / 2
        c, s = along[numbers, 0, None], along[numbers, 1, None]
        x, y = local[..., 0] * c - local[..., 1] * s, local[..., 0] * s + local[..., 1] * c
        rings = np.round(np.stack([x, y], axis=2) + xy[numbers, None], 3)
        outlines.update(zip(numbers.tolist(), rings, strict=True))
    return [outlines[k] for k in range(len(names))]


def join_lines(lines: list[FloatArray], widths: list[float], kinds: list[str], nodes: tuple[int, ...]) -> Route:
    """One route over consecutive lines, its corners rounded."""
    dense = [resample(line, 0.5) for line in lines]
    owner = np.repeat(np.arange(len(lines)), [len(line) for line in dense])
    points = np.concatenate(lines)
    smooth = resample(_rounded(points[_apart(points)]), SPACING)
    part = owner[_nearest(np.concatenate(dense), smooth)].tolist()
    return Route(np.round(smooth, 3), np.array([widths[k] for k in part]), tuple(kinds[k] for k in part), nodes)


def _nearest(points: FloatArray, others: FloatArray) -> IntArray:
    """Number of the point nearest to each of the others; the first of those that are as near: two lines meet in one
    point, and which of the two a search tree finds first depends on the machine."""
    _, around = KDTree(points).query(others, k=min(AS_NEAR, len(points)))
    around = np.sort(around.reshape(len(others), -1), axis=1)
    gap = points[around] - others[:, None]
    found: IntArray = around[np.arange(len(others)), exact.norm(gap).argmin(axis=1)]
    return found


def _apart(points: FloatArray) -> BoolArray:
    """False for points that repeat the one before."""
    return np.concatenate([[True], np.diff(stations_of(points)) > 2e-3])


def _rounded(points: FloatArray) -> FloatArray:
    """Corners sharper than ``SHARP`` as quadratic curves that start ``ROUNDING`` before them."""
    step = unit(np.diff(points, axis=0))
    at = stations_of(points)
    out = [points[:1]]
    skip_until = 0.0
    for k in range(1, len(points) - 1):
        if at[k] < skip_until:
            continue
        if abs(turn_between(step[k - 1], step[k])) < SHARP:
            out.append(points[k : k + 1])
            continue
        reach = min(ROUNDING, (at[k] - at[0]) * 0.9, (at[-1] - at[k]) * 0.9)
        start, end = points_at(at[k] + reach * np.array([-1.0, 1.0]), at, points)
        joined = np.concatenate(out)
        while len(joined) > 1 and exact.hypot(*(joined[-1] - points[k])) < reach:
            joined = joined[:-1]
        u = np.linspace(0.0, 1.0, 7)[:, None]
        out = [joined, (1 - u) * (1 - u) * start + 2 * u * (1 - u) * points[k] + u * u * end]
        skip_until = at[k] + reach
    out.append(points[-1:])
    return np.concatenate(out)
