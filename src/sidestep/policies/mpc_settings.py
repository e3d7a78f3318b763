"""Settings of the predictive planner."""

from __future__ import annotations

from typing import Annotated

import numpy as np
from pydantic import Field, model_validator

from sidestep.kernels import mpc_cost as rows
from sidestep.types import Task
from sidestep.types.base import FloatArray, Model, NonNegative, Positive


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
