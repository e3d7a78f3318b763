"""Which way round whom: a search over place and time among predicted people, in a window about the robot.

Dynamic programming over layers one leg apart. A state is a cell of the window; a leg goes to a cell no further than the
robot can go in its time, and is charged in its middle and at its end. The cost is that of the smoothing
(:mod:`sidestep.policies.mpc.smooth`) without jerk, and with acceleration in the first leg only.
"""

from __future__ import annotations

import math

from sidestep.kernels.jit import kernel
from sidestep.policies.mpc.field import (
    FADE_S,
    GROWTH,
    GROWTH_S,
    HARD_GAP,
    HEADING_X,
    HEADING_Y,
    MAX_SPEED,
    ROBOT_RADIUS,
    SOFT_GAP,
    TURN_S,
    W_ACCELERATION,
    W_END,
    W_HARD,
    W_PROGRESS,
    W_SOFT,
    W_TURN,
    W_WALL,
    WALL_GAP,
    bilinear,
    wished_velocity,
)

BLOCKED = 1e9
"""Cost of a state that nothing reaches; walls cost more than that."""
LEAST_WALL_GAP = 0.02
"""Cells nearer to walls than this are closed, m."""


@kernel
def window_costs(people, count, now_x, now_y, cell, half, leg_s, legs, weights, crowd):
    """Fill ``crowd (2 legs, n, n)``: the cost rate of people at every half leg, n = 2 half + 1.

    ``people (N, 5)``: x, y, vx, vy, radius.
    """
    n = 2 * half + 1
    for m in range(2 * legs):
        layer = crowd[m]
        layer[:, :] = 0.0
        t = 0.5 * leg_s * (m + 1)
        widening = weights[GROWTH] * min(t, weights[GROWTH_S])
        fade = 1.0 / (1.0 + (t / weights[FADE_S]) ** 2)
        w_hard, w_soft = weights[W_HARD] * fade, weights[W_SOFT] * fade
        for k in range(count):
            touch = weights[ROBOT_RADIUS] + people[k, 4] + widening
            hard, soft = touch + weights[HARD_GAP], touch + weights[SOFT_GAP]
            reach = max(hard, soft)
            x = (people[k, 0] + people[k, 2] * t - now_x) / cell + half
            y = (people[k, 1] + people[k, 3] * t - now_y) / cell + half
            r = reach / cell
            if x < -r or y < -r or x > n - 1 + r or y > n - 1 + r:
                continue
            for i in range(max(math.ceil(y - r), 0), min(math.floor(y + r), n - 1) + 1):
                width = math.sqrt(max(r * r - (i - y) ** 2, 0.0))
                for j in range(max(math.ceil(x - width), 0), min(math.floor(x + width), n - 1) + 1):
                    d = cell * math.sqrt((i - y) ** 2 + (j - x) ** 2)
                    near, close = max(soft - d, 0.0), max(hard - d, 0.0)
                    layer[i, j] += w_soft * near * near + w_hard * close * close


@kernel
def window_static(now_x, now_y, cell, half, room, way, way_x, way_y, x0, y0, grid_cell, weights, static, wish, left):
    """Fill ``static (n, n)`` (cost rate of walls), ``wish (n, n, 2)`` (wished velocity), ``left (n, n)``."""
    n = 2 * half + 1
    for i in range(n):
        for j in range(n):
            x, y = now_x + (j - half) * cell, now_y + (i - half) * cell
            gap = bilinear(room, x0, y0, grid_cell, x, y) - weights[ROBOT_RADIUS]
            short = weights[WALL_GAP] - gap
            static[i, j] = weights[W_WALL] * short * short if short > 0.0 else 0.0
            if gap < LEAST_WALL_GAP:
                static[i, j] = 4.0 * BLOCKED
            wish_x, wish_y, _, _, d = wished_velocity(x, y, way, way_x, way_y, x0, y0, grid_cell, weights)
            wish[i, j, 0], wish[i, j, 1] = wish_x, wish_y
            left[i, j] = d


@kernel
def search_window(
    vx, vy, cell, half, leg_s, legs, moves, crowd, static, wish, left, weights, limit, cost, parent, path
):
    """The cheapest way over the layers; ``path (legs + 1, 2)`` gets its cells (row, column). Returns its cost.

    ``moves (M, 4)`` int64: rows and columns of a leg, and of its middle. ``cost (2, n, n)`` and ``parent (legs, n, n)``
    uint8 are scratch. States that cannot end below ``limit`` are left out; if none is left, the cost is BLOCKED and
    the path stays where it is.
    """
    n = 2 * half + 1
    span = moves[0, 0]
    end, progress, bend = weights[W_END], weights[W_PROGRESS], weights[W_ACCELERATION]
    speed = cell / leg_s
    cost[0, :, :] = BLOCKED
    cost[0, half, half] = 0.0
    for k in range(legs):
        here, there = cost[k % 2], cost[(k + 1) % 2]
        there[:, :] = BLOCKED
        middle, after = crowd[2 * k], crowd[2 * k + 1]
        reach = weights[MAX_SPEED] * leg_s * (legs - k)
        turning = weights[W_TURN] * max(1.0 - (k + 0.5) * leg_s / weights[TURN_S], 0.0)
        edge = min(half, k * span)
        for i in range(half - edge, half + edge + 1):
            for j in range(half - edge, half + edge + 1):
                base = here[i, j]
                if base + end * max(left[i, j] - reach, 0.0) >= limit:
                    continue
                wish_x, wish_y = wish[i, j, 0], wish[i, j, 1]
                for m in range(moves.shape[0]):
                    ti, tj = i + moves[m, 0], j + moves[m, 1]
                    if ti < 0 or tj < 0 or ti >= n or tj >= n:
                        continue
                    mi, mj = i + moves[m, 2], j + moves[m, 3]
                    ux, uy = moves[m, 1] * speed, moves[m, 0] * speed
                    wx, wy = ux - wish_x, uy - wish_y
                    rate = progress * (wx * wx + wy * wy)
                    rate += 0.5 * (middle[mi, mj] + after[ti, tj] + static[ti, tj])
                    if turning > 0.0:
                        across = uy * weights[HEADING_X] - ux * weights[HEADING_Y]
                        against = min(ux * weights[HEADING_X] + uy * weights[HEADING_Y], 0.0)
                        rate += turning * (across * across + against * against)
                    if k > 0:
                        rate += 0.5 * static[mi, mj]
                    else:  # a robot that starts too near a wall has to get away from it
                        rate += bend * ((ux - vx) ** 2 + (uy - vy) ** 2) / (leg_s * leg_s)
                    total = base + rate * leg_s
                    if total < there[ti, tj]:
                        there[ti, tj] = total
                        parent[k, ti, tj] = m
    best, at_i, at_j = BLOCKED, half, half
    last = cost[legs % 2]
    for i in range(n):
        for j in range(n):
            total = last[i, j] + end * left[i, j]
            if total < best:
                best, at_i, at_j = total, i, j
    for k in range(legs, -1, -1):
        path[k, 0], path[k, 1] = at_i, at_j
        if k > 0 and best < BLOCKED:
            m = parent[k - 1, at_i, at_j]
            at_i -= moves[m, 0]
            at_j -= moves[m, 1]
    return best
