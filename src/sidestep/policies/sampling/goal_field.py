"""Obstacle-aware distance from everywhere to a goal, and the cost of sampled trajectories in that field. The error of
the eikonal solver is largest beside the source, so it starts with the exact distances in a disc about the goal. Costs
are in seconds. A trajectory may end at some of its samples k; with t the time, c the clearance of the body's surface, D
the distance to the goal and α the angle between the heading and the direction downhill in D,

    J_k = t_k + w_o Σ_{i ≤ k} ((m - c_i) / m)²₊ (t_i - t_{i-1}) + w_g D_k / v_max + w_h (π / 2) (1 - cos α_k) / ω_max,

which is the time to the goal if the rest is driven at full speed after turning on the spot, plus a quadratic penalty
inside the margin m around walls. A trajectory is followed no further than to where the body would touch a wall.
"""

from __future__ import annotations

import math
from math import ceil
from typing import Any, NamedTuple

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.grid import bilinear, sweep_geodesic
from sidestep.policies.sampling.splines import Splines
from sidestep.types import CompiledScene
from sidestep.types.base import BoolArray, FloatArray, IntArray


@kernel
def spread_outward(distance: FloatArray, steepness: float, cell: float, spare: FloatArray) -> None:
    """Give cells beside filled ones a value, so that a robot pushed where it does not fit gets back.

    A cell without a value gets the least of its eight neighbours plus ``steepness`` times the step. ``spare (ny, nx)``
    is work space. One call moves the border by one cell.
    """
    ny, nx = distance.shape
    for i in range(ny):
        for j in range(nx):
            spare[i, j] = distance[i, j]
            if distance[i, j] < math.inf:
                continue
            for p in range(max(i - 1, 0), min(i + 2, ny)):
                for q in range(max(j - 1, 0), min(j + 2, nx)):
                    step = cell * math.sqrt(float((p - i) * (p - i) + (q - j) * (q - j)))
                    spare[i, j] = min(spare[i, j], distance[p, q] + steepness * step)
    for i in range(ny):
        for j in range(nx):
            distance[i, j] = spare[i, j]


END_EVERY = 3  # a trajectory may end at every third sample, counted from its last, and at any beside the goal
FAR = 1e3  # m: clearance beyond the grid


class PathCosts(NamedTuple):
    """Constants of the cost J, see the module's text."""

    radius: float  # m, of the body
    margin: float  # m, from the body's surface
    wall_weight: float
    per_metre: float  # s per metre left to the goal
    per_turn: float  # s per unit of 1 - cos α
    goal_reach: float  # m: within this distance it has arrived


class GoalField(NamedTuple):
    """Clearance and distance to the goal on one grid. Without walls both are (0, 0): the straight distance is meant."""

    goal: tuple[float, float]
    clearance: FloatArray  # (ny, nx) float32, m
    distance: FloatArray  # (ny, nx) float32, m; infinite where no path leads
    x0: float  # m, of value [0, 0]
    y0: float
    cell: float

    def distance_at(self, x: float, y: float) -> float:
        """Distance to the goal round the walls (weighted near them if the field is), m."""
        return float(downhill(self, x, y)[0])

    def distance_and_direction(self, x: float, y: float) -> tuple[float, float, float]:
        """Distance (m) and the unit vector in which it falls."""
        d, ux, uy = downhill(self, x, y)
        return d, ux, uy

    def clearance_at(self, x: float, y: float) -> float:
        """Distance from (x, y) to the nearest solid, m."""
        return float(clearance_at(self, x, y))


@inlined
def _is_on(field: GoalField, x: float, y: float) -> bool:
    ny, nx = field.distance.shape
    column, row = (x - field.x0) / field.cell, (y - field.y0) / field.cell
    is_on: bool = nx >= 2 and ny >= 2 and 0.0 <= column <= nx - 1.0 and 0.0 <= row <= ny - 1.0
    return is_on


@kernel
def clearance_at(field: GoalField, x: float, y: float) -> Any:
    """Distance to the nearest solid (m) from the field; ``FAR`` beyond it."""
    return bilinear(field.clearance, field, x, y) if _is_on(field, x, y) else FAR


@kernel
def downhill(field: GoalField, x: float, y: float) -> Any:
    """D (m) at (x, y) and the unit vector in which it falls the most; straight to the goal beyond the grid.

    Infinite, with the straight direction, where the field has no value.
    """
    goal_distance, cell = field.distance, field.cell
    dx, dy = field.goal[0] - x, field.goal[1] - y
    straight = math.sqrt(dx * dx + dy * dy)
    if straight > 1e-9:
        dx, dy = dx / straight, dy / straight
    if not _is_on(field, x, y):
        return straight, dx, dy
    d = bilinear(goal_distance, field, x, y)
    if not d < math.inf:  # an infinite sample times a weight of zero is NaN
        return math.inf, dx, dy
    ny, nx = goal_distance.shape
    j, i = min(int((x - field.x0) / cell), nx - 2), min(int((y - field.y0) / cell), ny - 2)
    a, b = goal_distance[i, j], goal_distance[i, j + 1]
    c, e = goal_distance[i + 1, j], goal_distance[i + 1, j + 1]
    gx, gy = a + c - b - e, a + b - c - e
    norm = math.sqrt(gx * gx + gy * gy)
    if straight < 2.0 * cell or not 1e-12 < norm < math.inf:
        return d, dx, dy
    return d, gx / norm, gy / norm


@kernel
def spline_costs(
    splines: Splines, pose: FloatArray, field: GoalField, hard: float, weights: PathCosts, costs: FloatArray,
    ends: IntArray,
) -> int:  # fmt: skip
    """Write the least J of each trajectory into ``costs (n,)``, infinite if none, and its sample into ``ends (n,)``.

    A trajectory may end from its sample ``first`` on, and before it only within ``goal_reach`` of the goal. ``pose`` =
    x, y, cos, sin; ``hard`` the least clearance of the centre (m). Returns the index of the cheapest, -1 if all are
    infinite; the first of equals.
    """
    xs, ys, cosines, sines, times, first = (
        splines.x, splines.y, splines.cos, splines.sin, splines.time, splines.first
    )  # fmt: skip
    px, py, pc, ps = pose[0], pose[1], pose[2], pose[3]
    margin, reach = weights.margin, weights.goal_reach
    last = xs.shape[1] - 1
    best = -1
    for n in range(xs.shape[0]):
        costs[n], ends[n] = math.inf, 0
        penalty = 0.0
        for k in range(1, xs.shape[1]):
            lx, ly = xs[n, k], ys[n, k]
            x, y = px + pc * lx - ps * ly, py + ps * lx + pc * ly
            c = clearance_at(field, x, y)
            if c < hard:
                break
            short = (margin - (c - weights.radius)) / margin
            if short > 0.0:
                penalty += weights.wall_weight * short * short * (times[n, k] - times[n, k - 1])
            if best >= 0 and times[n, k] + penalty >= costs[best]:
                break  # every later end costs more
            gx, gy = x - field.goal[0], y - field.goal[1]
            beside = gx * gx + gy * gy < reach * reach
            if not beside and (k < first[n] or (last - k) % END_EVERY != 0):
                continue
            d, ux, uy = downhill(field, x, y)
            if not d < math.inf:
                continue
            arrived = d < reach
            if k < first[n] and not arrived:
                continue
            hx, hy = pc * cosines[n, k] - ps * sines[n, k], ps * cosines[n, k] + pc * sines[n, k]
            turn = 0.0 if arrived else 1.0 - (hx * ux + hy * uy)
            cost = times[n, k] + penalty + weights.per_metre * d + weights.per_turn * turn
            if cost < costs[n]:
                costs[n], ends[n] = cost, k
        if costs[n] < math.inf and (best < 0 or costs[n] < costs[best]):
            best = n
    return best


@kernel
def farthest_in_sight(points: FloatArray, field: GoalField, hard: float, x: float, y: float) -> int:
    """Index of the last of ``points (K, 2)`` whose straight line from (x, y) keeps ``hard`` m off solids; -1: none."""
    for k in range(points.shape[0] - 1, -1, -1):
        dx, dy = points[k, 0] - x, points[k, 1] - y
        steps = int(math.sqrt(dx * dx + dy * dy) / field.cell) + 1
        free = True
        for s in range(1, steps + 1):
            f = s / steps
            if clearance_at(field, x + f * dx, y + f * dy) < hard:
                free = False
                break
        if free:
            return k
    return -1


STEEPNESS = 10.0
"""Cost of a metre where the body does not fit; the field reaches as far as its centre can be pushed."""


def make_goal_field(
    scene: CompiledScene | None, goal: tuple[float, float], radius: float, *, margin: float = 0.0,
    wall_weight: float = 0.0,
) -> GoalField:  # fmt: skip
    """Distance to ``goal`` for the centre of a disc of ``radius`` (m).

    A metre costs ``1 + wall_weight ((margin - c) / margin)²`` where the body's surface is c < ``margin`` from a wall;
    with the defaults the field is the length of the shortest path. A cell is closed when its clearance is more than
    half a cell below ``radius``, so that a passage that just fits is never closed by where the samples lie.
    """
    goal = float(goal[0]), float(goal[1])
    if scene is None or not len(scene.wall_points):
        none = np.zeros((0, 0), np.float32)
        return GoalField(goal, none, none, 0.0, 0.0, 1.0)
    clearance = np.array(scene.distance, np.float32)  # a copy: numba compiles anew for what is read-only
    cell, origin = float(scene.distance_cell), scene.distance_origin
    gap = clearance.astype(np.float64) - radius
    slowness = np.ones_like(gap)
    if margin > 0.0 and wall_weight > 0.0:
        slowness += wall_weight * np.square(np.clip((margin - gap) / margin, 0.0, 1.5))
    slowness[gap < -0.5 * cell] = np.inf
    distance = np.full_like(gap, np.inf)
    _place_sources(distance, np.isfinite(slowness), scene.clearance(*goal) - radius - margin, goal, origin, cell)
    sweep_geodesic(distance, slowness, cell)
    spare = np.empty_like(distance)
    for _ in range(ceil(radius / cell) + 1):
        spread_outward(distance, STEEPNESS, cell, spare)
    return GoalField(goal, clearance, distance.astype(np.float32), float(origin[0]), float(origin[1]), cell)


def _place_sources(
    distance: FloatArray, is_open: BoolArray, free: float, goal: tuple[float, float], origin: tuple[float, float],
    cell: float,
) -> None:  # fmt: skip
    """Exact distances in the free disc about the goal; where the body does not fit at the goal, in one that just
    reaches open cells."""
    ny, nx = distance.shape
    column, row = (goal[0] - origin[0]) / cell, (goal[1] - origin[1]) / cell
    y, x = np.ogrid[:ny, :nx]
    away = cell * np.sqrt(np.square(x - column) + np.square(y - row))
    reach = max(free, 1.5 * cell)
    if not (is_open & (away <= reach)).any() and is_open.any():
        reach = float(away[is_open].min()) + 0.5 * cell
    near = away <= reach
    distance[near] = away[near]
