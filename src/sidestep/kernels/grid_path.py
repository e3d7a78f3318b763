"""Shortest way over a square grid (A*), and pulling it tight between walls.

A* (Hart, Nilsson and Raphael, 1968) over the eight neighbours of a cell, with the octile distance as
heuristic and a binary heap that knows where each cell is, so that a better cost moves the entry instead of
adding another. Ties are broken by the cell's number: the same grid gives the same path on every machine.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray

DIAGONAL = math.sqrt(2.0)
UNSEEN, CLOSED = -1, -2  # in ``place``, besides a position in the heap


@inlined
def _octile(cell: int, goal: int, nx: int) -> float:
    """Least cost from ``cell`` to ``goal`` on an empty grid, in cells."""
    dx = abs(cell % nx - goal % nx)
    dy = abs(cell // nx - goal // nx)
    return max(dx, dy) + (DIAGONAL - 1.0) * min(dx, dy)


@inlined
def _before(key: FloatArray, heap: IntArray, a: int, b: int) -> bool:
    """Whether heap entry ``a`` comes before ``b``."""
    ca, cb = heap[a], heap[b]
    return bool(key[ca] < key[cb] or (key[ca] == key[cb] and ca < cb))


@inlined
def _swap(heap: IntArray, place: IntArray, a: int, b: int) -> None:
    heap[a], heap[b] = heap[b], heap[a]
    place[heap[a]] = a
    place[heap[b]] = b


@inlined
def _rise(key: FloatArray, heap: IntArray, place: IntArray, i: int) -> None:
    while i > 0 and _before(key, heap, i, (i - 1) // 2):
        _swap(heap, place, i, (i - 1) // 2)
        i = (i - 1) // 2


@inlined
def _sink(key: FloatArray, heap: IntArray, place: IntArray, size: int) -> None:
    i = 0
    while True:
        child = 2 * i + 1
        if child >= size:
            return
        if child + 1 < size and _before(key, heap, child + 1, child):
            child += 1
        if not _before(key, heap, child, i):
            return
        _swap(heap, place, i, child)
        i = child


@kernel(allocates=True)
def find_grid_path(distance: FloatArray, clearance: float, start: int, goal: int) -> IntArray:
    """Cells (row * nx + column) of a shortest way from ``start`` to ``goal``; empty if there is none.

    A cell of ``distance (ny, nx)`` may be entered when its value is at least ``clearance``; both ends are
    entered anyhow. A diagonal step costs √2, a straight one 1.
    """
    ny, nx = distance.shape
    flat = distance.ravel()
    cost = np.full(nx * ny, np.inf, np.float64)
    key = np.empty(nx * ny, np.float64)
    came = np.empty(nx * ny, np.int32)
    place = np.full(nx * ny, UNSEEN, np.int32)
    heap = np.empty(nx * ny, np.int32)
    cost[start], key[start], came[start], place[start] = 0.0, _octile(start, goal, nx), start, 0
    heap[0] = start
    size = 1
    while size > 0:
        cell = heap[0]
        if cell == goal:
            return _trace_back(came, start, goal)
        size -= 1
        _swap(heap, place, 0, size)
        place[cell] = CLOSED
        _sink(key, heap, place, size)
        row, column = cell // nx, cell % nx
        for i in range(max(row - 1, 0), min(row + 2, ny)):
            for j in range(max(column - 1, 0), min(column + 2, nx)):
                near = i * nx + j
                if place[near] == CLOSED or (flat[near] < clearance and near != goal):
                    continue
                tried = cost[cell] + (DIAGONAL if i != row and j != column else 1.0)
                if tried < cost[near]:
                    cost[near], came[near] = tried, cell
                    key[near] = tried + _octile(near, goal, nx)
                    if place[near] == UNSEEN:
                        heap[size] = near
                        place[near] = size
                        size += 1
                    _rise(key, heap, place, place[near])
    return np.empty(0, np.int32)


@kernel(allocates=True)
def _trace_back(came: IntArray, start: int, goal: int) -> IntArray:
    length = 1
    cell = goal
    while cell != start:
        cell = came[cell]
        length += 1
    path = np.empty(length, np.int32)
    cell = goal
    for k in range(length - 1, -1, -1):
        path[k] = cell
        cell = came[cell]
    return path


@inlined
def _point_segment2(px: float, py: float, ax: float, ay: float, dx: float, dy: float) -> float:
    """Squared distance from a point to the segment from ``a`` along ``d``."""
    qx, qy = px - ax, py - ay
    length2 = dx * dx + dy * dy
    t = (qx * dx + qy * dy) / length2 if length2 > 0.0 else 0.0
    t = min(max(t, 0.0), 1.0)
    gx, gy = qx - t * dx, qy - t * dy
    return gx * gx + gy * gy


@kernel
def is_segment_clear(walls: FloatArray, x0: float, y0: float, x1: float, y1: float, radius: float) -> bool:
    """Whether a disc of ``radius`` slides from (x0, y0) to (x1, y1) without overlapping ``walls (W, 4)``."""
    dx, dy = x1 - x0, y1 - y0
    left, right = min(x0, x1) - radius, max(x0, x1) + radius
    low, high = min(y0, y1) - radius, max(y0, y1) + radius
    limit = radius * radius
    for w in range(walls.shape[0]):
        ax, ay, bx, by = walls[w, 0], walls[w, 1], walls[w, 2], walls[w, 3]
        if max(ax, bx) < left or min(ax, bx) > right or max(ay, by) < low or min(ay, by) > high:
            continue
        ex, ey = bx - ax, by - ay
        side_a, side_b = dx * (ay - y0) - dy * (ax - x0), dx * (by - y0) - dy * (bx - x0)
        side_0, side_1 = ex * (y0 - ay) - ey * (x0 - ax), ex * (y1 - ay) - ey * (x1 - ax)
        if side_a * side_b < 0.0 and side_0 * side_1 < 0.0:
            return False
        gap = min(_point_segment2(ax, ay, x0, y0, dx, dy), _point_segment2(bx, by, x0, y0, dx, dy))
        gap = min(gap, min(_point_segment2(x0, y0, ax, ay, ex, ey), _point_segment2(x1, y1, ax, ay, ex, ey)))
        if gap < limit:
            return False
    return True


@kernel(allocates=True)
def pull_string(points: FloatArray, walls: FloatArray, radius: float) -> IntArray:
    """Numbers of the ``points (n, 2)`` that remain when each reaches for the last one it has a clear way to.

    The search stops at the first point that is hidden; the next point always remains reachable.
    """
    n = points.shape[0]
    kept = np.empty(n, np.int64)
    kept[0] = 0
    count = 1
    i = 0
    while i < n - 1:
        j = i + 1
        while j + 1 < n and is_segment_clear(
            walls, points[i, 0], points[i, 1], points[j + 1, 0], points[j + 1, 1], radius
        ):
            j += 1
        kept[count] = j
        count += 1
        i = j
    return kept[:count]
