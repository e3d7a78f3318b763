"""A behaviour graph on its ground: edges that can be walked, lanes beside them, points to stand at, shortest paths.
``behaviour_graph`` makes a behaviour graph from a networkx graph.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from math import pi
from typing import Any

import numpy as np
from scipy.sparse import csr_matrix
from scipy.sparse.csgraph import connected_components, dijkstra
from scipy.spatial import cKDTree

from sidestep._util import exact
from sidestep._util.exact import cos, hypot, sin
from sidestep.errors import BadInput
from sidestep.kernels.grid_path import is_segment_clear
from sidestep.types.base import BoolArray, FloatArray, IntArray, Point
from sidestep.types.behaviour import BehaviourGraph, BehaviourNode
from sidestep.types.events import GESTURES

SPACING_M = 0.8
"""Between people who stand side by side, centre to centre."""
QUEUE_SPACING_M = 0.9
ASIDE_M = 0.9
"""How far from a waypoint people stand who stop there, so that others can pass."""
MARGIN_M = 0.05
"""What lanes and places keep from walls beyond the radius."""
TREES_KEPT = 4096
"""Shortest-path trees that are remembered."""


@dataclass(frozen=True, eq=False)
class WalkableSpace:
    """Where walls are. ``free``: which points (K, 2) are free for a disc; ``walls``: (W, 4) float64, their edges."""

    free: Callable[[FloatArray, float], BoolArray] | None
    walls: FloatArray

    def is_clear(self, a: Point, b: Point, radius: float) -> bool:
        """Whether a disc slides from ``a`` (which is free) to ``b`` without touching a wall."""
        if not len(self.walls):
            return True
        if abs(a[0] - b[0]) + abs(a[1] - b[1]) < 1e-3:
            b = (a[0] + 1e-3, a[1])
        return bool(is_segment_clear(self.walls, a[0], a[1], b[0], b[1], radius))


@dataclass(frozen=True, eq=False)
class Network:
    """V nodes with their neighbours, lanes and places. All that changes is what is remembered of shortest paths."""

    graph: BehaviourGraph
    ground: WalkableSpace
    radius: float  # m, of the people it is for
    at: FloatArray  # (V, 2) m
    neighbours: tuple[tuple[int, ...], ...]
    lanes: dict[tuple[int, int], float]  # m to the right of a directed edge at which there is room
    node_lane: FloatArray  # (V,) m round a node within which there is room
    places: tuple[tuple[Point, ...], ...]  # where people stand at each node
    is_object: BoolArray  # (V,)
    gesture: IntArray  # (V,) of people who interact
    part: IntArray  # (V,) number of the connected part
    _matrix: csr_matrix = field(repr=False)
    _trees: OrderedDict[tuple[int, float], tuple[FloatArray, IntArray]] = field(default_factory=OrderedDict, repr=False)

    def __len__(self) -> int:
        return len(self.at)

    def distances(self, start: int, limit: float = np.inf) -> FloatArray:
        """(V,) m along the edges from ``start``; inf where no way leads or it is longer than ``limit``."""
        return self._tree_of(start, limit)[0]

    def distance_to_node(self, place: Point) -> float:
        """From a place to the nearest node, m."""
        return float(exact.hypot(self.at[:, 0] - place[0], self.at[:, 1] - place[1]).min())

    def path(self, start: int, goal: int, limit: float = np.inf) -> list[int]:
        """Nodes of a shortest path, both ends included; empty if there is none. ``limit`` is a guess of its length."""
        distance, before = self._tree_of(start, limit)
        if not np.isfinite(distance[goal]):
            distance, before = self._tree_of(start, np.inf)
        if not np.isfinite(distance[goal]):
            return []
        path = [goal]
        while path[-1] != start:
            path.append(int(before[path[-1]]))
        return path[::-1]

    def _tree_of(self, start: int, limit: float) -> tuple[FloatArray, IntArray]:
        known = self._trees.get((start, limit))
        if known is None:
            distance, before = dijkstra(  # type: ignore[call-overload]  # its stub does not know a single start
                self._matrix, indices=start, return_predecessors=True, limit=limit
            )
            known = self._trees[start, limit] = (distance.astype(np.float32), before)
            if len(self._trees) > TREES_KEPT:
                self._trees.popitem(last=False)
        return known

    def passing_point(self, before: int | None, node: int, after: int | None, lane: float) -> Point:
        """Where a person who keeps ``lane`` of the room to the right passes ``node`` on the way between two others."""
        right = np.zeros(2)
        room = float(self.node_lane[node])
        for a, b in ((before, node), (node, after)):
            if a is not None and b is not None:
                dx, dy = self.at[b] - self.at[a]
                length = hypot(dx, dy)
                right += (dy / length, -dx / length)
                room = min(room, self.lanes[a, b])
        size = hypot(right[0], right[1])
        x, y = float(self.at[node, 0]), float(self.at[node, 1])
        if size < 0.2:  # back where the person came from
            return x, y
        shift = room * lane / size
        return x + shift * float(right[0]), y + shift * float(right[1])


def make_network(graph: BehaviourGraph, ground: WalkableSpace, radius: float, lane_m: float, where: str) -> Network:
    """Check ``graph`` against the walls and prepare it for people of ``radius``."""
    at = np.array([node.at for node in graph.nodes], np.float64)
    _require_free(graph, at, ground, radius, where)
    if graph.edges is not None:
        pairs = _given_edges(graph, at, ground, radius, where)
    else:
        pairs = _seen_edges(graph, at, ground, radius)
    neighbours: list[list[int]] = [[] for _ in at]
    for a, b in sorted(pairs):
        neighbours[a].append(b)
        neighbours[b].append(a)
    alone = [node for node, near in enumerate(neighbours) if not near]
    if alone:
        raise BadInput(
            f"{where}: no other node is in sight within {graph.longest_m:g} m of {graph.label(alone[0])} "
            f"({len(alone)} such); give edges, a larger longest_m, or remove it"
        )
    ends = np.array(sorted(pairs))
    length = exact.hypot(*(at[ends[:, 1]] - at[ends[:, 0]]).T)
    both = np.concatenate([ends, ends[:, ::-1]])
    matrix = csr_matrix((np.tile(length, 2), both.T), (len(at), len(at)))
    node_lane = np.array([_room_round(ground, (p[0], p[1]), radius, lane_m) for p in at.tolist()])
    return Network(
        graph=graph,
        ground=ground,
        radius=radius,
        at=at,
        neighbours=tuple(tuple(sorted(near)) for near in neighbours),
        lanes={
            (a, b): _room_beside(ground, at[a], at[b], radius, min(node_lane[a], node_lane[b]))
            for a, b in both.tolist()
        },
        node_lane=node_lane,
        places=tuple(_places(node, ground, radius) for node in graph.nodes),
        is_object=np.array([node.kind == "object" for node in graph.nodes]),
        gesture=np.array([GESTURES.get(node.interaction, GESTURES["none"]) for node in graph.nodes]),
        part=connected_components(matrix, directed=False)[1],
        _matrix=matrix,
    )


def _require_free(graph: BehaviourGraph, at: FloatArray, ground: WalkableSpace, radius: float, where: str) -> None:
    if ground.free is None:
        return
    blocked = np.flatnonzero(~ground.free(at, radius))
    if len(blocked):
        raise BadInput(
            f"{where}: {graph.label(int(blocked[0]))} is in a wall or nearer to one than a person's radius of "
            f"{radius:g} m ({len(blocked)} such); move it into free space"
        )


def _given_edges(
    graph: BehaviourGraph, at: FloatArray, ground: WalkableSpace, radius: float, where: str
) -> set[tuple[int, int]]:
    pairs = {(min(pair), max(pair)) for pair in graph.pairs()}
    for a, b in sorted(pairs):
        if not ground.is_clear(tuple(at[a].tolist()), tuple(at[b].tolist()), radius):
            raise BadInput(
                f"{where}: the edge from {graph.label(a)} to {graph.label(b)} leads through a wall or nearer to one "
                f"than a person's radius of {radius:g} m; lead it round by another node"
            )
        if np.array_equal(at[a], at[b]):
            raise BadInput(f"{where}: {graph.label(a)} and {graph.label(b)} are joined but at one place; merge them")
    return pairs


def _seen_edges(graph: BehaviourGraph, at: FloatArray, ground: WalkableSpace, radius: float) -> set[tuple[int, int]]:
    """Each node with its ``nearest`` ones in sight."""
    pairs: set[tuple[int, int]] = set()
    tree = cKDTree(at)
    for node, place in enumerate(at):
        around = np.sort(tree.query_ball_point(place, 1.001 * graph.longest_m))
        away = exact.norm(at[around] - place)
        near = around[np.argsort(away, kind="stable")][: int((away <= graph.longest_m).sum())].tolist()
        joined = 0
        for other in near:
            if joined == graph.nearest:
                break
            if other == node or np.array_equal(at[other], place):
                continue
            if ground.is_clear(tuple(place.tolist()), tuple(at[other].tolist()), radius):
                pairs.add((min(node, other), max(node, other)))
                joined += 1
    return pairs


def _room_round(ground: WalkableSpace, place: Point, radius: float, lane_m: float) -> float:
    """How far from ``place``, of the lane asked for, a person can be on any side."""
    for part in (1.0, 0.75, 0.5, 0.25):
        if ground.is_clear(place, place, radius + MARGIN_M + part * lane_m):
            return part * lane_m
    return 0.0


def _room_beside(ground: WalkableSpace, a: FloatArray, b: FloatArray, radius: float, lane_m: float) -> float:
    """How far to the right of the edge, of the lane asked for, a person can walk."""
    along = (b - a) / exact.hypot(*(b - a))
    right = np.array([along[1], -along[0]])
    for part in (1.0, 0.75, 0.5, 0.25):
        half = part * lane_m / 2
        begin, end = a + half * right, b + half * right
        if ground.is_clear((begin[0], begin[1]), (end[0], end[1]), radius + MARGIN_M + half):
            return float(part * lane_m)
    return 0.0


def _places(node: BehaviourNode, ground: WalkableSpace, radius: float) -> tuple[Point, ...]:
    """Where people stand at a node: those of its places that are free.

    Queue: one behind the other. With a heading: side by side. Else: round the node, out of the way.
    """
    x, y = node.at
    if node.heading is None:
        turns = [2 * pi * k / max(node.capacity, 3) for k in range(node.capacity)]
        wanted = [(x + ASIDE_M * cos(turn), y + ASIDE_M * sin(turn)) for turn in turns]
    elif node.kind == "object" and node.interaction == "queue":
        steps = [QUEUE_SPACING_M * k for k in range(node.capacity)]
        wanted = [(x - step * cos(node.heading), y - step * sin(node.heading)) for step in steps]
    else:
        sides = [SPACING_M * ((k + 1) // 2) * (1 if k % 2 else -1) for k in range(node.capacity)]
        wanted = [(x + side * sin(node.heading), y - side * cos(node.heading)) for side in sides]
    free = [place for place in wanted if ground.is_clear(node.at, place, radius + MARGIN_M)]
    return tuple(free or [node.at])


PLACE_KEYS = ("at", "pos", "xy", "position")


def behaviour_graph(graph: Any, where: str = "behaviour graph") -> BehaviourGraph:
    """Nodes and edges of ``graph`` (networkx, directed or not) in its own order.

    A node's place, m, is its attribute ``at``, ``pos``, ``xy`` or ``position``, or ``x`` and ``y``, or the node itself
    if it is a pair of numbers. The attributes ``kind``, ``name``, ``heading``, ``interaction`` and ``capacity`` are
    taken over; others are ignored.
    """
    number: dict[Any, int] = {}
    nodes: list[dict[str, Any]] = []
    for node, data in graph.nodes(data=True):
        number[node] = len(nodes)
        known = {key: data[key] for key in BehaviourNode.model_fields if key != "at" and data.get(key) is not None}
        x, y = _node_position(node, data, where)
        nodes.append({"at": (float(x), float(y)), **known})
    edges = dict.fromkeys(
        (min(number[a], number[b]), max(number[a], number[b])) for a, b in graph.edges() if number[a] != number[b]
    )
    return BehaviourGraph.parse({"nodes": tuple(nodes), "edges": tuple(edges)}, where)


def _node_position(node: Any, data: dict[str, Any], where: str) -> tuple[Any, Any]:
    place = next((data[key] for key in PLACE_KEYS if key in data), None)
    if place is None and "x" in data and "y" in data:
        place = (data["x"], data["y"])
    if place is None and isinstance(node, tuple):
        place = node
    try:
        x, y = float(place[0]), float(place[1])  # type: ignore[index]
    except (TypeError, ValueError, IndexError):
        keys = ", ".join(PLACE_KEYS)
        raise BadInput(
            f"{where}: node {node!r} has no place; give it an attribute {keys} or x and y, in metres"
        ) from None
    return x, y
