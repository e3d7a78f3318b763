"""Settings of the predictive planner, and the planner: a search in place and time for the path among predicted people,
iLQR for a smooth motion along it.
"""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from sidestep import exact
from sidestep.policies.crowd_forecast import CrowdPaths, bends_at
from sidestep.policies.mpc import field as rows
from sidestep.policies.mpc.field import make_ground
from sidestep.policies.mpc.search import BLOCKED, Window, search_window
from sidestep.policies.mpc.smooth import TIMES, Motion, follow, make_motion, make_scratch, replan, smooth
from sidestep.types import Task
from sidestep.types.base import FloatArray, IntArray, Model, NonNegative, Positive


class MpcSettings(Model):
    """Weights are of cost rates per second; gaps are between surfaces, m."""

    predictor: str = "constant_velocity"
    """Who says where people will be: a name of ``sidestep list predictors``, ``module:Class`` or ``file.py:Class``."""
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
    """For robots that have to turn: weight of (velocity across and against the heading)², and when it has faded, s."""
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
