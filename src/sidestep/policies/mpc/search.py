"""Which side to pass whom on: a search over place and time among predicted people, in a window about the robot.

Dynamic programming over layers one leg apart. A state is a cell of the window; a leg goes to a cell no further than the
robot can go in its time, and is charged in its middle and at its end. The cost is that of the smoothing
(:mod:`sidestep.policies.mpc.smooth`) without jerk, and with acceleration in the first leg only.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.crowd_forecast import CrowdPaths
from sidestep.policies.grid import bilinear
from sidestep.policies.mpc import field as rows
from sidestep.policies.mpc.field import Ground, preferred_velocity
from sidestep.types.base import FloatArray, IntArray

BLOCKED = 1e9
"""Cost of a state that nothing reaches; walls cost more than that."""
LEAST_WALL_GAP = 0.02
"""Cells nearer to walls than this are closed, m."""


class Window(NamedTuple):
    """The square of n × n cells about the robot, n = 2 half + 1, and the memory of the search."""

    cell: float
    half: int
    leg_s: float
    legs: int
    moves: IntArray  # (M, 4) rows and columns of a leg, and of its middle
    crowd: FloatArray  # (2 legs, n, n) cost rate of people at every half leg
    walls: FloatArray  # (n, n) cost rate of walls
    preferred: FloatArray  # (n, n, 2) preferred velocity, m/s
    left: FloatArray  # (n, n) distance left to the goal, m
    cost: FloatArray  # (2, n, n) of the last two layers
    parent: IntArray  # (legs, n, n) uint8: number of the move that led there
    path: IntArray  # (legs + 1, 2) row and column of the cheapest path


@inlined
def _fill_crowd(window: Window, x: float, y: float, people: CrowdPaths, weights: FloatArray) -> None:
    """Fill ``window.crowd`` with the cost rate of people about (x, y)."""
    cell, half = window.cell, window.half
    n = 2 * half + 1
    for m in range(2 * window.legs):
        layer = window.crowd[m]
        layer[:, :] = 0.0
        t = 0.5 * window.leg_s * (m + 1)
        widening = weights[rows.GROWTH] * min(t, weights[rows.GROWTH_S])
        fade = 1.0 / (1.0 + (t / weights[rows.FADE_S]) ** 2)
        w_hard, w_soft = weights[rows.W_HARD] * fade, weights[rows.W_SOFT] * fade
        for k in range(people.lines.shape[0]):
            line = people.lines[k]
            touch = weights[rows.ROBOT_RADIUS] + line[4] + widening
            hard, soft = touch + weights[rows.HARD_GAP], touch + weights[rows.SOFT_GAP]
            px, py = line[0] + line[2] * t, line[1] + line[3] * t
            if k < people.bends.shape[0]:
                px, py = px + people.bends[k, m, 0], py + people.bends[k, m, 1]
            column, row = (px - x) / cell + half, (py - y) / cell + half
            r = max(hard, soft) / cell
            if column < -r or row < -r or column > n - 1 + r or row > n - 1 + r:
                continue
            for i in range(max(math.ceil(row - r), 0), min(math.floor(row + r), n - 1) + 1):
                width = math.sqrt(max(r * r - (i - row) ** 2, 0.0))
                for j in range(max(math.ceil(column - width), 0), min(math.floor(column + width), n - 1) + 1):
                    d = cell * math.sqrt((i - row) ** 2 + (j - column) ** 2)
                    near, close = max(soft - d, 0.0), max(hard - d, 0.0)
                    layer[i, j] += w_soft * near * near + w_hard * close * close


@inlined
def _fill_static(window: Window, x: float, y: float, ground: Ground, weights: FloatArray) -> None:
    """Fill walls, preferred velocities and distances left of a window about (x, y)."""
    n = 2 * window.half + 1
    for i in range(n):
        for j in range(n):
            px, py = x + (j - window.half) * window.cell, y + (i - window.half) * window.cell
            gap = bilinear(ground.clearance, ground, px, py) - weights[rows.ROBOT_RADIUS]
            short = weights[rows.WALL_GAP] - gap
            window.walls[i, j] = weights[rows.W_WALL] * short * short if short > 0.0 else 0.0
            if gap < LEAST_WALL_GAP:
                window.walls[i, j] = 4.0 * BLOCKED
            vx, vy, _, _, d = preferred_velocity(px, py, ground, weights)
            window.preferred[i, j, 0], window.preferred[i, j, 1] = vx, vy
            window.left[i, j] = d


@kernel
def search_window(
    window: Window, start: FloatArray, people: CrowdPaths, ground: Ground, weights: FloatArray, limit: float
) -> float:
    """The cheapest path from ``start`` (x, y, vx, vy, …) over the layers, into ``window.path``; returns its cost.

    ``people.bends`` are at the half legs. States that cannot end below ``limit`` are left out; if none is left, the
    cost is BLOCKED and the path stays where it is.
    """
    cell, half, leg_s, legs, moves = window.cell, window.half, window.leg_s, window.legs, window.moves
    _fill_crowd(window, start[0], start[1], people, weights)
    _fill_static(window, start[0], start[1], ground, weights)
    vx, vy = start[2], start[3]
    n = 2 * half + 1
    span = moves[0, 0]
    end, progress, bend = weights[rows.W_END], weights[rows.W_PROGRESS], weights[rows.W_ACCELERATION]
    speed = cell / leg_s
    window.cost[0, :, :] = BLOCKED
    window.cost[0, half, half] = 0.0
    for k in range(legs):
        here, there = window.cost[k % 2], window.cost[(k + 1) % 2]
        there[:, :] = BLOCKED
        middle, after = window.crowd[2 * k], window.crowd[2 * k + 1]
        reach = weights[rows.MAX_SPEED] * leg_s * (legs - k)
        turning = weights[rows.W_TURN] * max(1.0 - (k + 0.5) * leg_s / weights[rows.TURN_S], 0.0)
        edge = min(half, k * span)
        for i in range(half - edge, half + edge + 1):
            for j in range(half - edge, half + edge + 1):
                base = here[i, j]
                if base + end * max(window.left[i, j] - reach, 0.0) >= limit:
                    continue
                preferred_x, preferred_y = window.preferred[i, j, 0], window.preferred[i, j, 1]
                for m in range(moves.shape[0]):
                    ti, tj = i + moves[m, 0], j + moves[m, 1]
                    if ti < 0 or tj < 0 or ti >= n or tj >= n:
                        continue
                    mi, mj = i + moves[m, 2], j + moves[m, 3]
                    ux, uy = moves[m, 1] * speed, moves[m, 0] * speed
                    wx, wy = ux - preferred_x, uy - preferred_y
                    rate = progress * (wx * wx + wy * wy)
                    rate += 0.5 * (middle[mi, mj] + after[ti, tj] + window.walls[ti, tj])
                    if turning > 0.0:
                        across = uy * weights[rows.HEADING_X] - ux * weights[rows.HEADING_Y]
                        against = min(ux * weights[rows.HEADING_X] + uy * weights[rows.HEADING_Y], 0.0)
                        rate += turning * (across * across + against * against)
                    if k > 0:
                        rate += 0.5 * window.walls[mi, mj]
                    else:  # a robot that starts too near a wall has to get away from it
                        rate += bend * ((ux - vx) ** 2 + (uy - vy) ** 2) / (leg_s * leg_s)
                    total = base + rate * leg_s
                    if total < there[ti, tj]:
                        there[ti, tj] = total
                        window.parent[k, ti, tj] = m
    best, at_i, at_j = BLOCKED, half, half
    last = window.cost[legs % 2]
    for i in range(n):
        for j in range(n):
            total = last[i, j] + end * window.left[i, j]
            if total < best:
                best, at_i, at_j = total, i, j
    for k in range(legs, -1, -1):
        window.path[k, 0], window.path[k, 1] = at_i, at_j
        if k > 0 and best < BLOCKED:
            m = window.parent[k - 1, at_i, at_j]
            at_i -= moves[m, 0]
            at_j -= moves[m, 1]
    return best
