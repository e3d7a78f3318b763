"""The sampling planner: of all splines of the library, the one that leads to the goal soonest, walls considered.

It knows the map, the goal and the robot, and no people. ``SamplingPlanner.plan`` serves the policy ``sampling``;
``Checkpoints`` makes the same planner the guide of a policy that avoids people but does not plan round walls.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import pi

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import hypot
from sidestep.errors import BadInput
from sidestep.policies.sampling.goal_field import PathCosts, farthest_in_sight, make_goal_field, spline_costs
from sidestep.policies.sampling.splines import (
    DriveLimits,
    Splines,
    library_reach,
    speed_class,
    spline_library,
    splines_to_point,
)
from sidestep.types import Task
from sidestep.types.base import FloatArray, Model, NonNegative, Positive

GOAL_WEIGHT = 1.05
"""A little above 1: of two plans that reach the goal at the same time, the longer one wins."""
SIGHT_STEP = 4
"""Samples of a plan between two possible checkpoints."""


class PlannerSettings(Model):
    """Settings of the sampling planner."""

    horizon: Positive = 6.0
    """s: no trajectory is longer."""
    margin: Positive = 0.4
    """m from the body's surface within which walls cost."""
    wall_gap: NonNegative = 0.05
    """m that the body always keeps from walls."""
    wall_weight: NonNegative = 4.0
    """Seconds that a second at the wall costs."""
    heading_weight: NonNegative = 1.0
    """Weight of the time to turn downhill at the end of a trajectory."""
    checkpoint_radius: Positive = 1.0
    """m: a new checkpoint is asked for within this distance of the last one."""


@dataclass(frozen=True, eq=False)
class Trajectory:
    """A plan in the world frame. First turn on the spot to ``turn_to`` if it is not None, then follow the samples."""

    position: FloatArray  # (K, 2) m
    heading: FloatArray  # (K,) rad
    speed: FloatArray  # (K,) m/s
    curvature: FloatArray  # (K,) 1/m
    time: FloatArray  # (K,) s since the plan was made
    turn_to: float | None
    cost: float
    """Estimated time to the goal, s."""

    @property
    def end(self) -> tuple[float, float]:
        """Where the plan ends, m."""
        return float(self.position[-1, 0]), float(self.position[-1, 1])


class SamplingPlanner:
    """Plans over one map to one goal; made in ``reset``, which is where the distance field is computed."""

    def __init__(self, task: Task, settings: PlannerSettings | None = None) -> None:
        if task.goal is None:
            raise BadInput("the sampling planner needs a goal: add 'goal' to the policy's needs")
        self.settings = settings or PlannerSettings()
        self.limits = DriveLimits.of(task.robot)
        self.radius = task.robot.footprint.enclosing_radius
        self.goal_radius = task.goal_radius_m
        s = self.settings
        self.field = make_goal_field(task.map, task.goal, self.radius, margin=s.margin, wall_weight=s.wall_weight)
        self._costs = PathCosts(
            radius=self.radius,
            margin=s.margin,
            wall_weight=s.wall_weight,
            per_metre=GOAL_WEIGHT / self.limits.speed,
            per_turn=s.heading_weight * 0.5 * pi / self.limits.turn_rate,
            goal_reach=0.5 * self.goal_radius,
        )

    @property
    def goal(self) -> tuple[float, float]:
        """Position of the goal, m."""
        return self.field.goal

    def plan(self, pose: tuple[float, float, float], speed: float = 0.0) -> Trajectory | None:
        """The cheapest trajectory from ``pose`` at ``speed`` (m/s); None if every one leads into a wall."""
        best = self._cheapest(spline_library(self.limits, self.settings.horizon, self._class(speed)), pose)
        dx, dy = self.goal[0] - pose[0], self.goal[1] - pose[1]
        if hypot(dx, dy) <= library_reach(self.limits, self.settings.horizon):
            s, c = exact.sincos(pose[2])
            start = speed if self._class(speed) < self._class(self.limits.speed) else self.limits.speed
            ends = splines_to_point(c * dx + s * dy, -s * dx + c * dy, start, self.limits, self.settings.horizon)
            to_goal = self._cheapest(ends, pose)
            if to_goal is not None and (best is None or to_goal.cost <= best.cost):
                best = to_goal
        return best

    def hard_clearance(self, x: float, y: float) -> float:
        """Distance that the centre keeps from walls, m: radius and gap, or the present clearance where that is less."""
        return min(self.radius + self.settings.wall_gap, self.field.clearance_at(x, y) - 1e-3)

    def _class(self, speed: float) -> int:
        return speed_class(speed, self.limits)

    def _cheapest(self, splines: Splines, pose: tuple[float, float, float]) -> Trajectory | None:
        n = len(splines.turn)
        if not n:
            return None
        x, y, heading = pose
        s, c = exact.sincos(heading)
        costs, ends = np.empty(n), np.empty(n, np.int32)
        where, hard = np.array([x, y, c, s]), self.hard_clearance(x, y)
        best = int(spline_costs(splines, where, self.field, hard, self._costs, costs, ends))
        if best < 0:
            return None
        k = int(ends[best]) + 1
        lx, ly = splines.x[best, :k].astype(np.float64), splines.y[best, :k].astype(np.float64)
        turn = float(splines.turn[best])
        return Trajectory(
            position=np.stack([x + c * lx - s * ly, y + s * lx + c * ly], axis=1),
            heading=heading + exact.arctan2(splines.sin[best, :k], splines.cos[best, :k]).astype(np.float64),
            speed=splines.speed[best, :k].astype(np.float64),
            curvature=splines.curvature[best, :k].astype(np.float64),
            time=splines.time[best, :k].astype(np.float64),
            turn_to=heading + turn if turn else None,
            cost=float(costs[best]),
        )


class Checkpoints:
    """The planner as a guide for a policy that moves in any direction and avoids people by itself.

    A checkpoint is the farthest point of the best trajectory that lies in plain sight, so that heading straight for
    it is safe; a new one is asked for within ``checkpoint_radius`` of it, when a wall has come in between, or when the
    robot has been swept past it.
    """

    def __init__(self, planner: SamplingPlanner) -> None:
        self._planner = planner
        self._checkpoint: tuple[float, float] | None = None
        self._left = 0.0

    def restart(self) -> None:
        """Forget the present checkpoint."""
        self._checkpoint = None

    def target(self, x: float, y: float) -> tuple[float, float]:
        """Where to head for from (x, y), m."""
        last = self._checkpoint
        if last is None or self._is_due(last, x, y):
            self._checkpoint = self._request(x, y)
            self._left = self._planner.field.distance_at(*self._checkpoint)
        assert self._checkpoint is not None
        return self._checkpoint

    def _is_due(self, last: tuple[float, float], x: float, y: float) -> bool:
        if last != self._planner.goal and hypot(last[0] - x, last[1] - y) < self._planner.settings.checkpoint_radius:
            return True
        if self._planner.field.distance_at(x, y) < self._left:  # swept past it
            return True
        return self._in_sight(np.array([last]), x, y) < 0

    def _request(self, x: float, y: float) -> tuple[float, float]:
        """No kinematic limits: the plan begins in the direction in which the distance to the goal falls."""
        _, ux, uy = self._planner.field.distance_and_direction(x, y)
        plan = self._planner.plan((x, y, float(exact.arctan2(uy, ux))), self._planner.limits.speed)
        goal = self._planner.goal
        if plan is None:
            return x + ux, y + uy
        points = np.ascontiguousarray(np.concatenate([plan.position[SIGHT_STEP:-1:SIGHT_STEP], plan.position[-1:]]))
        if hypot(points[-1, 0] - goal[0], points[-1, 1] - goal[1]) < self._planner.goal_radius:
            points[-1] = goal
        k = self._in_sight(points, x, y)
        if k < 0:
            return float(plan.position[1, 0]), float(plan.position[1, 1])
        return float(points[k, 0]), float(points[k, 1])

    def _in_sight(self, points: FloatArray, x: float, y: float) -> int:
        return int(farthest_in_sight(points, self._planner.field, self._planner.hard_clearance(x, y), x, y))
