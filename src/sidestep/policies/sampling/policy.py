"""The sampling planner as a policy of its own: goes round walls and sees nobody."""

from __future__ import annotations

from math import ceil, inf, sqrt
from typing import Any, ClassVar

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import hypot
from sidestep.interfaces import Policy
from sidestep.policies.sampling.planner import PlannerSettings, SamplingPlanner, Trajectory
from sidestep.policies.sampling.splines import wrapped
from sidestep.types import Observation, RobotState, Task, Velocity
from sidestep.types.base import FloatArray

LATERAL_GAIN = 4.0  # 1/m²: turn rate per metre aside and per m/s
HEADING_GAIN = 3.0  # 1/m: turn rate per radian and per m/s
LOST_M = 0.3
"""A new plan is made when the robot is farther than this from the old one."""
TURNED_RAD = 0.03
PLAN_STEP_S = 0.3
"""Time between the points of the published plan, s."""


class Sampling(Policy):
    """Follows the cheapest spline to a checkpoint; plans again within ``checkpoint_radius`` of it."""

    name = "sampling"
    summary = "spline library, wall and goal heuristics, 6 s horizon; sees no people"
    citation = "Biswas et al., SocNavBench (2022), Sec. 4.1; after Bansal, Tolani et al., LB-WayPtNav (2019)"
    dynamics: ClassVar[str] = "unicycle"
    needs: ClassVar[frozenset[str]] = frozenset({"goal", "map"})
    plan_step_s = PLAN_STEP_S

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`PlannerSettings`."""
        self._settings = PlannerSettings.parse(settings, "policy sampling")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """Compute the distance to the goal, load the library, make the first plan."""
        self._planner = SamplingPlanner(task, self._settings)
        self._step_s = task.step_s
        self._turn_acceleration = task.robot.limits.max_turn_acceleration
        self._plan: Trajectory | None = None
        self._next = 0
        self._turned = True
        self.act(Observation(0.0, RobotState(*task.start, 0.0, 0.0, 0.0), task.goal))
        self._plan = None

    def act(self, observation: Observation) -> Velocity:
        """The plan's speed and turn rate at the nearest point of it, corrected for the distance from it."""
        robot = observation.robot
        if self._plan is None or self._is_due(self._plan, robot):
            self._plan = self._planner.plan((robot.x, robot.y, robot.heading), robot.speed)
            self._next, self._turned = 0, self._plan is None or self._plan.turn_to is None
        if self._plan is None:
            return self._creep(robot)
        if not self._turned:
            assert self._plan.turn_to is not None
            error = wrapped(self._plan.turn_to - robot.heading)
            if abs(error) > TURNED_RAD:
                return Velocity(0.0, self._turn_on_spot(error))
            self._turned = True
        return self._follow(self._plan, robot)

    @property
    def plan(self) -> FloatArray | None:
        """(H, 2) what is left of the spline, every ``plan_step_s``, m; None while it has none."""
        if self._plan is None:
            return None
        time = self._plan.time - self._plan.time[self._next]
        at = PLAN_STEP_S * np.arange(1, max(ceil(time[-1] / PLAN_STEP_S), 1))
        path: FloatArray = exact.interp(np.append(at, max(time[-1], 0.0)), time, self._plan.position)
        return path

    def _is_due(self, plan: Trajectory, robot: RobotState) -> bool:
        left = hypot(plan.end[0] - robot.x, plan.end[1] - robot.y)
        goal = self._planner.goal
        is_last = hypot(plan.end[0] - goal[0], plan.end[1] - goal[1]) < self._planner.goal_radius
        if not is_last and self._turned and left < self._checkpoint_radius(robot.speed):
            return True
        self._advance(plan, robot)
        x, y = plan.position[self._next]
        return self._next >= len(plan.position) - 1 or hypot(x - robot.x, y - robot.y) > LOST_M + self._spacing(plan)

    def _checkpoint_radius(self, speed: float) -> float:
        """Distance from the plan's end at which the next plan is made, m: early enough to stop before the end."""
        braking = 0.5 * speed * speed / self._planner.limits.deceleration
        return max(self._planner.settings.checkpoint_radius, braking + 0.5 if braking else 0.0)

    def _advance(self, plan: Trajectory, robot: RobotState) -> None:
        """Move on to the sample that the robot is nearest to, never back."""
        points = plan.position
        while self._next + 1 < len(points):
            (ax, ay), (bx, by) = points[self._next], points[self._next + 1]
            if hypot(bx - robot.x, by - robot.y) > hypot(ax - robot.x, ay - robot.y):
                break
            self._next += 1

    def _spacing(self, plan: Trajectory) -> float:
        k = min(self._next, len(plan.position) - 2)
        a, b = plan.position[k], plan.position[k + 1]
        return float(hypot(b[0] - a[0], b[1] - a[1]))

    def _follow(self, plan: Trajectory, robot: RobotState) -> Velocity:
        """ω = v (κ - 4 e - 3 sin φ): e the distance to the left of the path, φ the heading relative to it."""
        k = self._next
        heading, (x, y) = plan.heading[k], plan.position[k]
        s, c = exact.sincos(heading)
        along, aside = c * (robot.x - x) + s * (robot.y - y), -s * (robot.x - x) + c * (robot.y - y)
        curvature = plan.curvature[k]
        aside -= 0.5 * curvature * along * along
        error = wrapped(robot.heading - heading - curvature * along)
        j = min(k + 1, len(plan.speed) - 1)
        sine, cosine = exact.sincos(error)
        v = min(plan.speed[k], plan.speed[j], self._planner.limits.speed) * max(cosine, 0.0)
        left = hypot(plan.end[0] - robot.x, plan.end[1] - robot.y)
        if self._planner.limits.deceleration < inf:
            v = min(v, max(sqrt(2.0 * self._planner.limits.deceleration * left), 0.1))
        speed = max(v, 0.05)
        omega = self._turn_rate(speed * (curvature - LATERAL_GAIN * aside - HEADING_GAIN * sine))
        return Velocity(float(v), float(omega))

    def _creep(self, robot: RobotState) -> Velocity:
        """No plan fits: turn to where the distance to the goal falls, and go there slowly."""
        _, ux, uy = self._planner.field.distance_and_direction(robot.x, robot.y)
        error = wrapped(float(exact.arctan2(uy, ux)) - robot.heading)
        v = 0.2 * self._planner.limits.speed if abs(error) < 0.3 else 0.0
        return Velocity(v, self._turn_on_spot(error))

    def _turn_on_spot(self, error: float) -> float:
        """Turn rate (rad/s) that ends a turn by ``error`` soonest: limited, and braked in time where braking is."""
        rate = error / self._step_s
        if self._turn_acceleration is not None:
            most = 0.8 * sqrt(2.0 * self._turn_acceleration * abs(error))
            rate = min(max(rate, -most), most)
        return self._turn_rate(rate)

    def _turn_rate(self, wanted: float) -> float:
        most = self._planner.limits.turn_rate
        return min(max(wanted, -most), most)
