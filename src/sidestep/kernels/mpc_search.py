"""Which way round whom: a search over place and time among predicted people, in a window about the robot.

Dynamic programming over layers of ``LEG_S``. A state is a cell of the window; a leg goes to a cell no further than the
robot can go in one leg, and is charged in its middle and at its end. The cost is that of the smoothing step
(:mod:`sidestep.kernels.mpc_smooth`) without its accelerations.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.mpc_field import bilinear

BLOCKED = 1e9

# rows of ``weights``
(W_JERK, W_ACCELERATION, W_SPEED, W_PROGRESS, W_END, W_HARD, W_SOFT, W_WALL, MAX_SPEED, ROBOT_RADIUS, HARD_GAP, SOFT_GAP,
 GROWTH, GROWTH_S, FADE_S, WALL_GAP, GOAL_X, GOAL_Y, GOAL_RADIUS, HELD_BACK) = range(20)
WEIGHT_ROWS = 20


@inlined
def person_cost(distance, radius, t, weights):
    """Cost rate of being at ``distance`` from somebody's centre at time ``t`` ahead: two hinges that widen with time
    and fade with it."""
    widening = weights[GROWTH] * min(t, weights[GROWTH_S])
    touch = weights[ROBOT_RADIUS] + radius
    cost = 0.0
    fade = 1.0 / (1.0 + (t / weights[FADE_S]) ** 2)
    short = touch + weights[HARD_GAP] + widening - distance
    if short > 0.0:
        cost += weights[W_HARD] * fade * short * short
    short = touch + weights[SOFT_GAP] + widening - distance
    if short > 0.0:
        cost += weights[W_SOFT] * fade * short * short
    return cost


@kernel
def window_costs(people, count, now_x, now_y, cell, half, leg_s, legs, weights, crowd):
    """Fill ``crowd (2 legs, n, n)``: the cost rate of people at every half leg, n = 2 half + 1.

    ``people (N, 5)``: x, y, vx, vy, radius.
    """
    n = 2 * half + 1
    for m in range(2 * legs):
        crowd[m, :, :] = 0.0
        t = 0.5 * leg_s * (m + 1)
        widening = weights[GROWTH] * min(t, weights[GROWTH_S])
        for k in range(count):
            reach = weights[ROBOT_RADIUS] + people[k, 4] + max(weights[SOFT_GAP], weights[HARD_GAP]) + widening
            x = (people[k, 0] + people[k, 2] * t - now_x) / cell + half
            y = (people[k, 1] + people[k, 3] * t - now_y) / cell + half
            r = reach / cell
            if x < -r or y < -r or x > n - 1 + r or y > n - 1 + r:
                continue
            for i in range(max(int(math.ceil(y - r)), 0), min(int(math.floor(y + r)), n - 1) + 1):
                for j in range(max(int(math.ceil(x - r)), 0), min(int(math.floor(x + r)), n - 1) + 1):
                    d = cell * math.sqrt((i - y) ** 2 + (j - x) ** 2)
                    crowd[m, i, j] += person_cost(d, people[k, 4], t, weights)


@kernel
def window_static(now_x, now_y, cell, half, room, way, way_x, way_y, x0, y0, grid_cell, weights, static, wish, left):
    """Fill ``static (n, n)`` (walls' cost rate or BLOCKED), ``wish (n, n, 2)`` (wished velocity) and ``left (n, n)``."""
    n = 2 * half + 1
    for i in range(n):
        for j in range(n):
            x, y = now_x + (j - half) * cell, now_y + (i - half) * cell
            gap = bilinear(room, x0, y0, grid_cell, x, y) - weights[ROBOT_RADIUS]
            short = weights[WALL_GAP] - gap
            static[i, j] = BLOCKED if gap < 0.02 else (weights[W_WALL] * short * short if short > 0.0 else 0.0)
            gx, gy = bilinear(way_x, x0, y0, grid_cell, x, y), bilinear(way_y, x0, y0, grid_cell, x, y)
            d = bilinear(way, x0, y0, grid_cell, x, y)
            ex, ey = x - weights[GOAL_X], y - weights[GOAL_Y]
            near = math.sqrt(ex * ex + ey * ey)
            if near < 2.0 * grid_cell:
                gx, gy = (ex / near, ey / near) if near > 1e-9 else (0.0, 0.0)
            length = math.sqrt(gx * gx + gy * gy)
            scale = weights[MAX_SPEED] * min(1.0, d / 0.3) / max(length, 0.3)
            wish[i, j, 0], wish[i, j, 1] = -gx * scale, -gy * scale
            left[i, j] = d


@kernel
def search_window(vx, vy, cell, half, leg_s, legs, reach, crowd, static, wish, left, weights, cost, parent, path):
    """The cheapest way over the layers; ``path (legs + 1, 2)`` gets its cells (row, column). Returns its cost.

    ``cost (2, n, n)``, ``parent (legs, n, n)`` int16 are scratch. ``reach`` is the longest leg in cells.
    """
    n = 2 * half + 1
    span = int(reach)
    cost[0, :, :] = BLOCKED
    cost[0, half, half] = 0.0
    width = 2 * span + 1
    for k in range(legs):
        here, there = cost[k % 2], cost[(k + 1) % 2]
        there[:, :] = BLOCKED
        edge = min(half, k * span)
        for i in range(half - edge, half + edge + 1):
            for j in range(half - edge, half + edge + 1):
                base = here[i, j]
                if base >= BLOCKED:
                    continue
                for di in range(-span, span + 1):
                    for dj in range(-span, span + 1):
                        if di * di + dj * dj > reach * reach:
                            continue
                        ti, tj = i + di, j + dj
                        if ti < 0 or tj < 0 or ti >= n or tj >= n or static[ti, tj] >= BLOCKED:
                            continue
                        mi, mj = i + (di + (1 if di > 0 else 0)) // 2, j + (dj + (1 if dj > 0 else 0)) // 2
                        if static[mi, mj] >= BLOCKED and not (k == 0):
                            continue
                        wx, wy = dj * cell / leg_s - wish[i, j, 0], di * cell / leg_s - wish[i, j, 1]
                        rate = weights[W_PROGRESS] * (wx * wx + wy * wy)
                        rate += 0.5 * (crowd[2 * k, mi, mj] + crowd[2 * k + 1, ti, tj] + static[ti, tj] + static[mi, mj])
                        if k == 0:
                            ax, ay = (dj * cell / leg_s - vx) / leg_s, (di * cell / leg_s - vy) / leg_s
                            rate += weights[W_ACCELERATION] * (ax * ax + ay * ay)
                        total = base + rate * leg_s
                        if total < there[ti, tj]:
                            there[ti, tj] = total
                            parent[k, ti, tj] = (di + span) * width + dj + span
    best, at_i, at_j = BLOCKED, half, half
    last = cost[legs % 2]
    for i in range(n):
        for j in range(n):
            total = last[i, j] + weights[W_END] * left[i, j]
            if last[i, j] < BLOCKED and total < best:
                best, at_i, at_j = total, i, j
    if best >= BLOCKED:
        for k in range(legs + 1):
            path[k, 0], path[k, 1] = half, half
        return best
    path[legs, 0], path[legs, 1] = at_i, at_j
    for k in range(legs - 1, -1, -1):
        code = parent[k, at_i, at_j]
        at_i -= code // width - span
        at_j -= code % width - span
        path[k, 0], path[k, 1] = at_i, at_j
    return best
