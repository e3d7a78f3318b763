"""Settings of the predictive planner, and the planner: a search in place and time for the path among predicted people,
iLQR for a smooth motion along it.
"""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from pydantic import Field, model_validator

from sidestep import exact
from sidestep.policies.mpc import field as rows
from sidestep.policies.mpc.field import (
    HEADING_X,
    HEADING_Y,
    MAX_SPEED,
    ROBOT_RADIUS,
    W_ACCELERATION,
    W_JERK,
    GoalDistanceMap,
)
from sidestep.policies.mpc.search import BLOCKED, search_window, window_costs, window_static
from sidestep.policies.mpc.smooth import follow, least_gap, roll_out, shift_inputs, smooth
from sidestep.types import Task
from sidestep.types.base import FloatArray, IntArray, Model, NonNegative, Positive


class MpcSettings(Model):
    """Weights are of cost rates per second; gaps are between surfaces, m."""

    jerk: Positive = 0.006
    """Weight of jerk², (m/s³)⁻²."""
    acceleration: NonNegative = 0.1
    """Weight of acceleration², (m/s²)⁻²."""
    progress: Positive = 1.0
    """Weight of the squared difference from full speed along the way, (m/s)⁻²."""
    end: NonNegative = 1.0
    """Cost of a metre of way left at the end of the horizon."""
    overspeed: Positive = 50.0
    """Weight of (speed - top speed)² above top speed."""
    touch: NonNegative = 30000.0
    touch_gap: NonNegative = 0.1
    """Weight and gap of what must not happen within ``touch_s``."""
    touch_s: Positive = 2.0
    hard: NonNegative = 500.0
    hard_gap: NonNegative = 0.2
    """Weight and gap at which it gets risky; widens and fades with time."""
    soft: NonNegative = 3.0
    soft_gap: NonNegative = 0.45
    """Weight and gap at which it gets impolite; widens and fades with time."""
    growth: NonNegative = 0.2
    """How fast a person's place becomes uncertain, m/s: about the standard deviation of constant velocity's error."""
    growth_s: NonNegative = 2.5
    fade_s: Positive = 2.0
    """Hard and soft weights are divided by 1 + (t / fade_s)²."""
    wall: NonNegative = 20.0
    wall_gap: NonNegative = 0.15
    slow_m: Positive = 0.3
    """The wished speed falls within this of the goal, m."""
    memory_s: NonNegative = 0.25
    """Time constant over which people's velocities are smoothed, s; 0: not at all."""
    search_s: Positive = 0.3
    """Time between two searches, s."""
    switch: NonNegative = 0.1
    """How much cheaper a motion along another way has to be to be taken."""
    iterations: Annotated[int, Field(ge=1, le=100)] = 4
    """iLQR iterations per step from the last motion; motions along a new way get three times as many."""
    turn: NonNegative = 6.0
    turn_s: Positive = 1.0
    """For robots that have to turn: weight of (velocity across and against the heading)², and when it has faded, s."""
    alarm_gap: NonNegative = 0.03
    alarm_s: NonNegative = 1.2
    """Alarm: the motion comes nearer than ``alarm_gap`` to somebody within ``alarm_s``."""
    alarm_comfort: Annotated[float, Field(gt=0, le=1)] = 0.1
    """What jerk and acceleration count during an alarm."""

    @model_validator(mode="after")
    def _check(self) -> MpcSettings:
        if not self.touch_gap <= self.soft_gap:
            raise ValueError("touch_gap must not exceed soft_gap")
        return self

    def weights(self, task: Task) -> FloatArray:
        """The settings and the task as the kernels take them."""
        assert task.goal is not None
        values = {
            rows.W_JERK: self.jerk,
            rows.W_ACCELERATION: self.acceleration,
            rows.W_SPEED: self.overspeed,
            rows.W_PROGRESS: self.progress,
            rows.W_END: self.end,
            rows.W_TOUCH: self.touch,
            rows.W_HARD: self.hard,
            rows.W_SOFT: self.soft,
            rows.W_WALL: self.wall,
            rows.TOUCH_GAP: self.touch_gap,
            rows.TOUCH_S: self.touch_s,
            rows.HARD_GAP: self.hard_gap,
            rows.SOFT_GAP: self.soft_gap,
            rows.WALL_GAP: self.wall_gap,
            rows.GROWTH: self.growth,
            rows.GROWTH_S: self.growth_s,
            rows.FADE_S: self.fade_s,
            rows.MAX_SPEED: task.robot.limits.max_speed,
            rows.ROBOT_RADIUS: task.robot.footprint.enclosing_radius,
            rows.GOAL_X: task.goal[0],
            rows.GOAL_Y: task.goal[1],
            rows.SLOW_M: self.slow_m,
            rows.W_TURN: 0.0 if task.robot.dynamics == "holonomic" else self.turn,
            rows.TURN_S: self.turn_s,
            rows.HEADING_X: 1.0,
        }
        weights = np.zeros(rows.WEIGHT_ROWS)
        weights[list(values)] = list(values.values())
        return weights


TIMES = np.concatenate([[0.0], np.cumsum([0.1] * 10 + [0.2] * 10 + [0.3] * 9)])
"""Knots of a motion, s: fine where it matters soon, 5.7 s in all."""
LEG_S, LEGS = 0.6, 9
"""The search's legs, s, and how many."""
CELLS_PER_LEG = 3
"""Cells that a leg at full speed goes; legs 7 % faster are let through so that all directions are about alike."""
FOLLOW = (5.0, 0.02, 0.1)
"""Weights of place, jerk and acceleration in the first motion along a new way."""


class Motion:
    """States (N+1, 6) at the knots, x, y, vx, vy, ax, ay, and inputs (N, 2) between them, m/s³."""

    def __init__(self) -> None:
        intervals = len(TIMES) - 1
        self.states = np.zeros((intervals + 1, 6))
        self.inputs = np.zeros((intervals, 2))


class Planner:
    """Keeps one motion and improves it at every call; now and then tries one along another way."""

    def __init__(self, task: Task, settings: MpcSettings) -> None:
        self._settings = settings
        self._calm = settings.weights(task)
        self._urgent = self._calm.copy()
        self._urgent[[W_JERK, W_ACCELERATION]] *= settings.alarm_comfort
        self._map = GoalDistanceMap(task, float(self._calm[ROBOT_RADIUS]))
        self._search = _Search(float(self._calm[MAX_SPEED]))
        self.motion, self._other = Motion(), Motion()
        n = len(TIMES) - 1
        self._scratch = (np.zeros((n, 2, 6)), np.zeros((n, 2)), np.zeros(6), np.zeros((6, 6)), np.zeros((2, 6)))
        self._trial = Motion()
        self._time: float | None = None
        self._next_search = 0.0

    def face(self, x: float, y: float) -> None:
        """Tell where the robot faces, a unit vector: it matters to robots that have to turn."""
        for weights in (self._calm, self._urgent):
            weights[HEADING_X], weights[HEADING_Y] = x, y

    def plan(self, time: float, start: FloatArray, people: FloatArray) -> Motion:
        """The motion from ``start`` (x, y, vx, vy, ax, ay) at ``time`` among ``people (N, 5)``."""
        s, motion = self._settings, self.motion
        if self._time is not None:
            shift_inputs(motion.inputs, TIMES, time - self._time, self._trial.inputs)
            motion.inputs[:] = self._trial.inputs
        motion.states[0] = start
        roll_out(motion.states, motion.inputs, TIMES)
        weights = self._calm
        best = self._smooth(motion, people, weights, s.iterations)
        gap = least_gap(motion.states, TIMES, s.alarm_s, people, len(people), weights[ROBOT_RADIUS])
        alarm = gap < s.alarm_gap
        if alarm:
            weights = self._urgent
            best = self._smooth(motion, people, weights, 2 * s.iterations)
        if alarm or self._time is None or time >= self._next_search - 1e-9:
            self._next_search = time + s.search_s
            limit = best if self._time is not None else 0.1 * BLOCKED
            way = self._search.find(start, people, self._map, weights, limit)
            if way is not None:
                self._try(way, start, people, weights, best)
        self._time = time
        return self.motion

    def _try(self, way: FloatArray, start: FloatArray, people: FloatArray, weights: FloatArray, best: float) -> None:
        """Take the motion along ``way`` if it is cheaper than ``best`` by more than a trifle."""
        other = self._other
        other.states[0] = start
        follow(other.states, other.inputs, TIMES, way, *FOLLOW, *self._scratch)
        if self._smooth(other, people, weights, 3 * self._settings.iterations) < best - self._settings.switch:
            self.motion, self._other = other, self.motion

    def _smooth(self, motion: Motion, people: FloatArray, weights: FloatArray, iterations: int) -> float:
        return float(
            smooth(
                motion.states, motion.inputs, TIMES, people, len(people), *self._map.arrays, weights, iterations,
                *self._scratch, self._trial.states, self._trial.inputs,
            )
        )  # fmt: skip


class _Search:
    """The window of the search and its memory."""

    def __init__(self, speed: float) -> None:
        self._cell = speed * LEG_S / CELLS_PER_LEG
        self._half = half = CELLS_PER_LEG * LEGS
        self._moves = leg_moves(1.07 * CELLS_PER_LEG)
        n = 2 * half + 1
        self._crowd = np.zeros((2 * LEGS, n, n))
        self._ground: tuple[Any, ...] = (np.zeros((n, n)), np.zeros((n, n, 2)), np.zeros((n, n)))
        self._cost, self._parent = np.zeros((2, n, n)), np.zeros((LEGS, n, n), np.uint8)
        self._path = np.zeros((LEGS + 1, 2), np.int64)

    def find(
        self, start: FloatArray, people: FloatArray, way_map: GoalDistanceMap, weights: FloatArray, limit: float
    ) -> FloatArray | None:
        """Points (N+1, 2) at the knots of the cheapest way, None if none is cheaper than ``limit``."""
        x, y, vx, vy = start[:4].tolist()
        window = (x, y, self._cell, self._half)
        window_costs(people, len(people), *window, LEG_S, LEGS, weights, self._crowd)
        window_static(*window, *way_map.arrays, weights, *self._ground)
        found = search_window(
            vx, vy, self._cell, self._half, LEG_S, LEGS, self._moves, self._crowd, *self._ground, weights, limit,
            self._cost, self._parent, self._path,
        )  # fmt: skip
        if found >= BLOCKED:
            return None
        points = np.array([x, y]) + (self._path[:, ::-1] - self._half) * self._cell
        times = LEG_S * np.arange(LEGS + 1)
        return np.stack([exact.interp(TIMES, times, points[:, c]) for c in range(2)], axis=1)


def leg_moves(reach: float) -> IntArray:
    """(M, 4) rows and columns of every leg of at most ``reach`` cells, and of its middle; the longest first."""
    span = int(reach)
    sides = range(-span, span + 1)
    legs = [(i, j) for i in reversed(sides) for j in sides if i * i + j * j <= reach * reach]
    return np.array([(i, j, _halved(i), _halved(j)) for i, j in legs], np.int64)


def _halved(cells: int) -> int:
    """Half of a number of cells, rounded away from zero."""
    return (abs(cells) + 1) // 2 * (1 if cells > 0 else -1)
