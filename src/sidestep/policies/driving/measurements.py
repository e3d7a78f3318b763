"""What IntersectNav's agents are told about the route: four measurements and two high-level commands.

``measurements`` (4,): speed in km/h over 30; signed distance to the route, m, positive to the left; angle from the
heading to the direction of the goal over 1.57 rad, positive to the left; straight distance to the goal over that at the
start. The goal is the pose at which an expert left the area, or, where a scenario has none, its goal.

``high_level_command`` (2,): lateral (0 follow the lane, 1 turn left, 2 turn right, 3 go straight on), longitudinal
(0 decelerate, 1 keep the speed, 2 accelerate). As in the published program they are what the PID driver would do now:
left and right where it steers by more than 0.1, straight on where it does not and the car is between the stop lines;
decelerate where throttle minus brake is below 0, keep the speed below 0.4.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep import exact
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_ROWS, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.policies.driving.pid import PidDriver
from sidestep.policies.driving.route import CarBody, DrivingRoute
from sidestep.types import Drive, Observation, Task
from sidestep.types.base import FloatArray
from sidestep.types.observation import Vehicles
from sidestep.types.road import Roads

FOLLOW, LEFT, RIGHT, STRAIGHT = 0, 1, 2, 3
DECELERATE, KEEP, ACCELERATE = 0, 1, 2
TURNS_FROM, ACCELERATES_FROM = 0.1, 0.4
QUARTER_RAD = 1.57
SPEED_SCALE_KMH = 30.0
IN_JUNCTION_M = 2.5


class DrivingSensor(Sensor):
    """Serves ``measurements`` and ``high_level_command``."""

    def __init__(self, context: SensorContext) -> None:
        super().__init__(context)
        scenario = context.scenario
        place, rules = scenario.ego, scenario.rules
        route = np.array([*place.route, place.goal])
        self._route, self._body = DrivingRoute(place.start[:2], route), CarBody(context.robot)
        self._goal = place.goal if rules.exit is None else rules.exit.pose[:2]
        sine, cosine = exact.sincos(place.start[2])
        start = place.start[0] + self._body.middle * cosine, place.start[1] + self._body.middle * sine
        self._total = max(float(exact.hypot(self._goal[0] - start[0], self._goal[1] - start[1])), 1e-6)
        self._junction = _junction_points(context)
        self._driver = PidDriver()
        self._driver.reset(
            Task(
                robot=context.robot, start=place.start, step_s=rules.step_s * rules.control_every,
                time_limit_s=rules.time_limit_s, goal_radius_m=rules.goal_radius_m, route=route,
            )
        )  # fmt: skip
        self._sizes = [_box_of(spec.footprint.polygon, spec.footprint.enclosing_radius) for spec in context.others]

    def sense(self, view: SensorView) -> dict[str, Any]:
        """Both, as they are now."""
        robot = view.robot
        x, y = self._body.centre(robot)
        aside = self._route.advance(x, y)
        dx, dy = self._goal[0] - x, self._goal[1] - y
        angle = exact.wrap_angle(float(exact.arctan2(dy, dx)) - robot.heading)
        measured = [
            robot.speed * 3.6 / SPEED_SCALE_KMH, aside, angle / QUARTER_RAD, float(exact.hypot(dx, dy)) / self._total
        ]  # fmt: skip
        return {
            "measurements": np.array(measured, np.float32),
            "high_level_command": self._command(view, x, y) if "high_level_command" in self.context.needs else None,
        }

    def _command(self, view: SensorView, x: float, y: float) -> FloatArray:
        command = self._driver.act(
            Observation(view.time_s, view.robot, pedestrians=view.everybody, vehicles=self._vehicles(view))
        )
        assert isinstance(command, Drive)
        lateral = FOLLOW
        if abs(command.steer) > TURNS_FROM:
            lateral = LEFT if command.steer > 0 else RIGHT
        elif len(self._junction):
            gap = exact.norm(self._junction - np.array([x, y]))
            lateral = STRAIGHT if float(gap.min()) < IN_JUNCTION_M else FOLLOW
        push = command.throttle - command.brake
        longitudinal = DECELERATE if push < 0.0 else KEEP if push < ACCELERATES_FROM else ACCELERATE
        return np.array([lateral, longitudinal], np.int64)

    def _vehicles(self, view: SensorView) -> Vehicles:
        """The vehicles that have not left, as boxes about their reference points."""
        states = view.vehicles
        columns = np.flatnonzero(view.flags[layout.MODEL] == layout.MODEL_VEHICLE)[: len(states)]
        here = np.flatnonzero(view.flags[layout.ACTIVE, columns] == 1)
        sizes = np.array(self._sizes[len(self._sizes) - len(states) :]).reshape(-1, 2)
        states = states[here] if len(here) else np.zeros((0, ROBOT_ROWS))
        return Vehicles(
            id=here,
            kind=("vehicle",) * len(here),
            position=states[:, [ROBOT_X, ROBOT_Y]],
            velocity=states[:, [ROBOT_VX, ROBOT_VY]],
            heading=states[:, ROBOT_HEADING],
            length=sizes[here, 0],
            width=sizes[here, 1],
        )


def _box_of(polygon: Any, radius: float) -> tuple[float, float]:
    if polygon is None:
        return 2.0 * radius, 2.0 * radius
    x, y = zip(*polygon, strict=True)
    return max(x) - min(x), max(y) - min(y)


def _junction_points(context: SensorContext) -> FloatArray:
    """(K, 2) points of the lanes through junctions, m."""
    roads = context.scene.spec.roads or Roads()
    lines = [np.array(lane.points) for lane in roads.lanes if lane.turn is not None]
    return np.concatenate(lines) if lines else np.zeros((0, 2))
