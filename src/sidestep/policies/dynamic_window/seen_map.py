"""What the lidar has seen so far, on a square grid that moves with the robot, and the distance from every cell to the
goal round what was seen. Unseen cells count as free.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sidestep.kernels.approx import sincos64
from sidestep.kernels.jit import kernel
from sidestep.policies.grid import sweep_geodesic
from sidestep.types.base import FloatArray, IntArray

SIDE = 200  # cells
CELL = 0.15  # m
SHIFT = 40  # cells: when the robot is farther than this from the middle, the grid moves
NEAR_WALLS = 3.0  # cost of a metre that touches an obstacle, falling to 1 at the margin
BLOCKED = 30.0  # cost of a metre where the body does not fit
NO_OBSTACLE = 1e3  # m


class SeenMap(NamedTuple):
    """Value [i, j] is about the point (x0 + j · cell, y0 + i · cell), m."""

    occupied: IntArray  # (SIDE, SIDE) uint8: 1 where the last look at a cell met something
    clearance: FloatArray  # (SIDE, SIDE) m to the nearest occupied cell, ``NO_OBSTACLE`` beyond the margin
    slowness: FloatArray  # (SIDE, SIDE)
    to_go: FloatArray  # (SIDE, SIDE) m left to the goal
    x0: float
    y0: float
    cell: float


def empty_map(x: float, y: float) -> SeenMap:
    """A map about (x, y) on which nothing was seen."""
    clearance, slowness, to_go = (np.zeros((SIDE, SIDE)) for _ in range(3))
    half, occupied = SIDE // 2 * CELL, np.zeros((SIDE, SIDE), np.uint8)
    return SeenMap(occupied, clearance, slowness, to_go, float(x - half), float(y - half), CELL)


def moved_map(old: SeenMap, x: float, y: float) -> SeenMap:
    """The map, moved by whole cells so that (x, y) is near its middle, if it has come far from there."""
    dj = math.floor((x - old.x0) / CELL) - SIDE // 2
    di = math.floor((y - old.y0) / CELL) - SIDE // 2
    if max(abs(di), abs(dj)) < SHIFT:
        return old
    occupied = np.zeros_like(old.occupied)
    if max(abs(di), abs(dj)) < SIDE:
        rows, columns = slice(max(di, 0), SIDE + min(di, 0)), slice(max(dj, 0), SIDE + min(dj, 0))
        there = slice(max(-di, 0), SIDE + min(-di, 0)), slice(max(-dj, 0), SIDE + min(-dj, 0))
        occupied[there] = old.occupied[rows, columns]
    return old._replace(occupied=occupied, x0=old.x0 + dj * CELL, y0=old.y0 + di * CELL)


@kernel
def enter_scan(seen: SeenMap, x: float, y: float, ends: FloatArray, hit: IntArray) -> None:
    """Enter one scan: cells that rays from (x, y) pass are free, cells in which one ends are occupied.

    ``ends (K, 2)`` are the ends of the rays, m; ``hit (K,)`` says which of them met something.
    """
    side, cell = seen.occupied.shape[0], seen.cell
    for k in range(len(ends)):
        dx, dy = ends[k, 0] - x, ends[k, 1] - y
        length = math.sqrt(dx * dx + dy * dy)
        steps = int((length - 1.5 * cell) / (0.7 * cell))
        for s in range(max(steps, 0)):
            along = 0.7 * cell * s / length
            i = math.floor((y + along * dy - seen.y0) / cell + 0.5)
            j = math.floor((x + along * dx - seen.x0) / cell + 0.5)
            if not (0 <= i < side and 0 <= j < side):
                break
            seen.occupied[i, j] = 0
    for k in range(len(ends)):
        i = math.floor((ends[k, 1] - seen.y0) / cell + 0.5)
        j = math.floor((ends[k, 0] - seen.x0) / cell + 0.5)
        if hit[k] == 1 and 0 <= i < side and 0 <= j < side:
            seen.occupied[i, j] = 1


@kernel
def plan_to_go(seen: SeenMap, goal_x: float, goal_y: float, radius: float, margin: float) -> None:
    """Fill ``to_go``: the distance to the goal round what was seen, by fast sweeping.

    A metre costs more within ``margin`` of an obstacle. A goal beyond the map is approached over its border, from where
    the straight distance counts.
    """
    side, cell = seen.occupied.shape[0], seen.cell
    reach = radius + margin
    cells = int(reach / cell) + 1
    seen.clearance[:] = NO_OBSTACLE
    for i in range(side):
        for j in range(side):
            if seen.occupied[i, j] == 0:
                continue
            for a in range(max(i - cells, 0), min(i + cells + 1, side)):
                for b in range(max(j - cells, 0), min(j + cells + 1, side)):
                    away = cell * math.sqrt(float((a - i) * (a - i) + (b - j) * (b - j)))
                    seen.clearance[a, b] = min(seen.clearance[a, b], away)
    for i in range(side):
        for j in range(side):
            gap = seen.clearance[i, j] - radius
            cost = 1.0 if gap >= margin else NEAR_WALLS - (NEAR_WALLS - 1.0) * gap / margin
            seen.slowness[i, j] = BLOCKED if gap < 0.0 else cost
    seen.to_go[:] = math.inf
    i = math.floor((goal_y - seen.y0) / cell + 0.5)
    j = math.floor((goal_x - seen.x0) / cell + 0.5)
    if 1 <= i < side - 1 and 1 <= j < side - 1:
        for a in range(i - 1, i + 2):
            for b in range(j - 1, j + 2):
                x, y = seen.x0 + b * cell - goal_x, seen.y0 + a * cell - goal_y
                seen.to_go[a, b] = math.sqrt(x * x + y * y)
    else:
        for a in range(side):
            for b in range(side):
                if a == 0 or b == 0 or a == side - 1 or b == side - 1:
                    x, y = seen.x0 + b * cell - goal_x, seen.y0 + a * cell - goal_y
                    seen.to_go[a, b] = math.sqrt(x * x + y * y)
    sweep_geodesic(seen.to_go, seen.slowness, cell)


@kernel
def ray_ends(
    x: float, y: float, heading: float, ranges: FloatArray, angle_min: float, increment: float, ends: FloatArray
) -> None:
    """Ends (K, 2) of the rays of a scan in the world, m."""
    for k in range(len(ranges)):
        sine, cosine = sincos64(heading + angle_min + k * increment)
        ends[k, 0], ends[k, 1] = x + ranges[k] * cosine, y + ranges[k] * sine
