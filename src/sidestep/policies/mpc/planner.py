"""The predictive planner and its settings: a search in place and time decides which side to pass whom on, in a window
about the robot; iLQR makes a smooth motion along that path.

The search is dynamic programming over layers one leg apart. A state is a cell of the window; a leg goes to a cell no
further than the robot can go in its time, and is charged in its middle and at its end. The cost is that of the
smoothing (:mod:`sidestep.policies.mpc.smooth`) without jerk, and with acceleration in the first leg only.
"""

from __future__ import annotations

import math
from typing import Annotated, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from sidestep._util import exact
from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.crowd_forecast import CrowdPaths, bends_at
from sidestep.policies.grid import bilinear
from sidestep.policies.mpc import field as rows
from sidestep.policies.mpc.field import GoalFields, make_ground, preferred_velocity
from sidestep.policies.mpc.smooth import TIMES, Motion, follow, make_motion, make_scratch, replan, smooth
from sidestep.types import Task
from sidestep.types.base import FloatArray, IntArray, Model, NonNegative, Positive

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
def _fill_static(window: Window, x: float, y: float, ground: GoalFields, weights: FloatArray) -> None:
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
    window: Window, start: FloatArray, people: CrowdPaths, ground: GoalFields, weights: FloatArray, limit: float
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


class MpcSettings(Model):
    """Weights are of cost rates per second; gaps are between surfaces, m."""

    predictor: str = "constant_velocity"
    """Predictor of people's positions: a name of ``sidestep list predictors``, ``module:Class`` or
    ``file.py:Class``."""
    jerk: Positive = 0.006
    """Weight of jerk², (m/s³)⁻²."""
    acceleration: NonNegative = 0.1
    """Weight of acceleration², (m/s²)⁻²."""
    progress: Positive = 1.0
    """Weight of the squared difference from full speed along the path, (m/s)⁻²."""
    end: NonNegative = 1.0
    """Cost of a metre left to the goal at the end of the horizon."""
    overspeed: Positive = 50.0
    """Weight of (speed - top speed)² above top speed."""
    touch: NonNegative = 30000.0
    touch_gap: NonNegative = 0.1
    """Weight and gap of a contact, which must not happen within ``touch_s``."""
    touch_s: Positive = 2.0
    hard: NonNegative = 500.0
    hard_gap: NonNegative = 0.2
    """Weight and gap below which it gets risky; the gap widens and the weight fades with time."""
    soft: NonNegative = 3.0
    soft_gap: NonNegative = 0.45
    """Weight and gap below which it gets impolite; the gap widens and the weight fades with time."""
    growth: NonNegative = 0.2
    """How fast a person's position gets uncertain, m/s: about the standard deviation of constant velocity's error."""
    growth_s: NonNegative = 2.5
    fade_s: Positive = 2.0
    """Hard and soft weights are divided by 1 + (t / fade_s)²."""
    wall: NonNegative = 20.0
    wall_gap: NonNegative = 0.15
    slow_m: Positive = 0.3
    """The preferred speed falls within this distance of the goal, m."""
    memory_s: NonNegative = 0.25
    """Time constant over which people's velocities are smoothed, s; 0: not at all."""
    search_s: Positive = 0.3
    """Time between two searches, s."""
    switch: NonNegative = 0.1
    """How much cheaper a motion along another path has to be to be taken."""
    iterations: Annotated[int, Field(ge=1, le=100)] = 4
    """iLQR iterations per step from the last motion; motions along a new path get three times as many."""
    turn: NonNegative = 6.0
    turn_s: Positive = 1.0
    """Robots that have to turn: weight of (velocity across and against the heading)², and the time after which it is 0,
    s."""
    alarm_gap: NonNegative = 0.03
    alarm_s: NonNegative = 1.2
    """Alarm: the motion comes nearer than ``alarm_gap`` (m) to somebody within ``alarm_s`` (s)."""
    alarm_comfort: Annotated[float, Field(gt=0, le=1)] = 0.1
    """Factor of the weights of jerk and acceleration during an alarm."""

    @model_validator(mode="after")
    def _check(self) -> MpcSettings:
        if not self.touch_gap <= self.soft_gap:
            raise ValueError("touch_gap must not exceed soft_gap")
        return self

    def weights(self, task: Task) -> FloatArray:
        """The settings and the task as the kernels take them."""
        assert task.goal is not None
        values = {
            rows.W_JERK: self.jerk, rows.W_ACCELERATION: self.acceleration, rows.W_SPEED: self.overspeed,
            rows.W_PROGRESS: self.progress, rows.W_END: self.end, rows.W_TOUCH: self.touch, rows.W_HARD: self.hard,
            rows.W_SOFT: self.soft, rows.W_WALL: self.wall, rows.TOUCH_GAP: self.touch_gap, rows.TOUCH_S: self.touch_s,
            rows.HARD_GAP: self.hard_gap, rows.SOFT_GAP: self.soft_gap, rows.WALL_GAP: self.wall_gap,
            rows.GROWTH: self.growth, rows.GROWTH_S: self.growth_s, rows.FADE_S: self.fade_s, rows.SLOW_M: self.slow_m,
            rows.TURN_S: self.turn_s, rows.W_TURN: 0.0 if task.robot.dynamics == "holonomic" else self.turn,
            rows.MAX_SPEED: task.robot.limits.max_speed, rows.ROBOT_RADIUS: task.robot.footprint.enclosing_radius,
            rows.GOAL_X: task.goal[0], rows.GOAL_Y: task.goal[1], rows.HEADING_X: 1.0,
        }  # fmt: skip
        weights = np.zeros(rows.WEIGHT_ROWS)
        weights[list(values)] = list(values.values())
        return weights


LEG_S, LEGS = 0.6, 9
"""The search's legs, s, and how many."""
CELLS_PER_LEG = 3
"""Cells that a leg at full speed goes; legs 7 % faster are let through so that all directions are about alike."""
LEG_TIMES = LEG_S * np.arange(LEGS + 1)
HALF_LEG_TIMES = 0.5 * LEG_S * np.arange(1, 2 * LEGS + 1)
FOLLOW = (5.0, 0.02, 0.1)
"""Weights of position, jerk and acceleration in the first motion along a new path."""


def make_window(speed: float) -> Window:
    """The window of the search for a robot of that top speed, m/s."""
    half = CELLS_PER_LEG * LEGS
    n = 2 * half + 1
    return Window(
        cell=speed * LEG_S / CELLS_PER_LEG, half=half, leg_s=LEG_S, legs=LEGS, moves=leg_moves(1.07 * CELLS_PER_LEG),
        crowd=np.zeros((2 * LEGS, n, n)), walls=np.zeros((n, n)), preferred=np.zeros((n, n, 2)), left=np.zeros((n, n)),
        cost=np.zeros((2, n, n)), parent=np.zeros((LEGS, n, n), np.uint8), path=np.zeros((LEGS + 1, 2), np.int64),
    )  # fmt: skip


class Planner:
    """Keeps one motion and improves it at every call; now and then tries one along another path."""

    def __init__(self, task: Task, settings: MpcSettings) -> None:
        self._settings = settings
        self._calm = settings.weights(task)
        self._urgent = self._calm.copy()
        self._urgent[[rows.W_JERK, rows.W_ACCELERATION]] *= settings.alarm_comfort
        self._ground = make_ground(task, float(self._calm[rows.ROBOT_RADIUS]))
        self._window = make_window(float(self._calm[rows.MAX_SPEED]))
        self._scratch = make_scratch()
        self.motion, self._other = make_motion(), make_motion()
        self._time: float | None = None
        self._next_search = 0.0

    def face(self, x: float, y: float) -> None:
        """Set where the robot faces, a unit vector: it matters to robots that have to turn."""
        for weights in (self._calm, self._urgent):
            weights[rows.HEADING_X], weights[rows.HEADING_Y] = x, y

    def last_plan(self, time: float) -> FloatArray | None:
        """(N, 2) where the last motion is at the knots after ``time``, m; None before the first."""
        if self._time is None:
            return None
        path: FloatArray = exact.interp(TIMES[1:] + (time - self._time), TIMES, self.motion.states[:, :2])
        return path

    def plan(self, time: float, start: FloatArray, people: CrowdPaths) -> Motion:
        """The motion from ``start`` (x, y, vx, vy, ax, ay) at ``time``; ``people.bends`` are at ``TIMES``."""
        s, weights = self._settings, self._calm
        elapsed = -1.0 if self._time is None else time - self._time
        best, gap = replan(
            self.motion, elapsed, start, people, self._ground, weights, s.iterations, s.alarm_s, self._scratch
        )
        alarm = gap < s.alarm_gap
        if alarm:
            weights = self._urgent
            best = smooth(self.motion, people, self._ground, weights, 2 * s.iterations, self._scratch)
        if alarm or self._time is None or time >= self._next_search - 1e-9:
            self._next_search = time + s.search_s
            path = self._search(start, people, weights, best if self._time is not None else 0.1 * BLOCKED)
            if path is not None:
                self._try(path, start, people, weights, best)
        self._time = time
        return self.motion

    def _try(self, path: FloatArray, start: FloatArray, people: CrowdPaths, weights: FloatArray, best: float) -> None:
        """Take the motion along ``path`` if it is cheaper than ``best`` by more than a trifle."""
        other, s = self._other, self._settings
        other.states[0] = start
        follow(other, path, *FOLLOW, self._scratch)
        if smooth(other, people, self._ground, weights, 3 * s.iterations, self._scratch) < best - s.switch:
            self.motion, self._other = other, self.motion

    def _search(self, start: FloatArray, people: CrowdPaths, weights: FloatArray, limit: float) -> FloatArray | None:
        """Points (N+1, 2) at the knots of the cheapest path, None if none is cheaper than ``limit``."""
        window = self._window
        if len(people.bends):
            people = CrowdPaths(people.lines, bends_at(people.bends, TIMES, HALF_LEG_TIMES))
        if search_window(window, start, people, self._ground, weights, limit) >= BLOCKED:
            return None
        points = start[:2] + (window.path[:, ::-1] - window.half) * window.cell
        path: FloatArray = exact.interp(TIMES, LEG_TIMES, points)
        return path


def leg_moves(reach: float) -> IntArray:
    """(M, 4) rows and columns of every leg of at most ``reach`` cells, and of its middle; the longest first."""
    span = int(reach)
    sides = range(-span, span + 1)
    legs = [(i, j) for i in reversed(sides) for j in sides if i * i + j * j <= reach * reach]
    middle = [tuple((abs(cells) + 1) // 2 * (1 if cells > 0 else -1) for cells in leg) for leg in legs]
    return np.array([(*leg, *half) for leg, half in zip(legs, middle, strict=True)], np.int64)
