"""What IntersectNav's agents know about the route: four measurements and two high-level commands.

``measurements`` (4,): speed in km/h over 30; signed distance to the route, m, positive to the left; angle from the
heading to the direction of the goal over 1.57 rad, positive to the left; straight distance to the goal over that at the
start. :func:`published_measurements` gives them the signs of the published program.

``high_level_command`` (2,): lateral (0 follow the lane, 1 turn left, 2 turn right, 3 go straight on), longitudinal
(0 decelerate, 1 keep the speed, 2 accelerate).

There are two versions of these inputs. Version 2, the default, is that of the published program: the goal is the
waypoint at which the route ends (``goal``), the distance is that to the line from the nearest waypoint to the next, and
in a junction the lateral command is what its lane does; elsewhere it is left or right where the PID driver steers by
more than 0.1. The longitudinal command is what the PID driver would do now: decelerate where throttle minus brake is
below 0, keep the speed below 0.4. Version 1 is what networks were trained on before: the goal is the pose at which an
expert left the area, the distance is that to the nearest piece of the route, and the lateral command follows the PID
driver in the junction as well.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.interfaces import Sensor, SensorContext, SensorView
from sidestep.kernels import layout
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_ROWS, ROBOT_VX, ROBOT_VY, ROBOT_X, ROBOT_Y
from sidestep.policies.driving.pid import PidDriver
from sidestep.policies.driving.route import CarBody, DrivingRoute
from sidestep.types import Drive, Observation, Task
from sidestep.types.base import FloatArray
from sidestep.types.observation import Vehicles
from sidestep.types.road import Roads, Turn

FOLLOW, LEFT, RIGHT, STRAIGHT = 0, 1, 2, 3
DECELERATE, KEEP, ACCELERATE = 0, 1, 2
TURNS_FROM, ACCELERATES_FROM = 0.1, 0.4
QUARTER_RAD = 1.57
SPEED_SCALE_KMH = 30.0
IN_JUNCTION_M = 2.5
ON_LANE_M = 0.5
"""A waypoint of the route that is nearer to a lane of the junction lies on it."""
VERSIONS = (1, 2)
COMMAND_OF: dict[Turn, int] = {"left": LEFT, "right": RIGHT, "straight": STRAIGHT}
TO_THE_RIGHT = {1: np.array([1.0, -1.0, -1.0, 1.0], np.float32), 2: np.array([1.0, -1.0, 1.0, 1.0], np.float32)}
"""Version → signs of the measurements in the published frame, where y points to the right. There the distance is
positive to the right of the route; the program takes the angle from the goal to the heading, so that it is positive
where the goal is to the left."""


def published_measurements(measurements: Any, inputs: int = 2) -> FloatArray:
    """(4,) measurements as the published program has them; version 1 as older files have them."""
    signed: FloatArray = np.asarray(np.asarray(measurements) * TO_THE_RIGHT[inputs], np.float32)
    return signed


class DrivingSensor(Sensor):
    """Serves ``measurements`` and ``high_level_command``."""

    def __init__(self, context: SensorContext, inputs: int = 2, goal: tuple[float, float] | None = None) -> None:
        """``inputs``: the version. ``goal``: the waypoint at which the route ends; None: the expert's pose where the
        scenario has one, else the scenario's goal."""
        super().__init__(context)
        if inputs not in VERSIONS:
            raise BadInput(f"measurements: inputs is 1 (before) or 2 (as published), not {inputs!r:.40}")
        scenario = context.scenario
        place, rules = scenario.ego, scenario.rules
        route = np.array([*place.route, place.goal])
        self._inputs = inputs
        self._route, self._body = DrivingRoute(place.start[:2], route), CarBody(context.robot)
        self._goal = place.goal if rules.exit is None else rules.exit.pose[:2]
        if inputs > 1 and goal is not None:
            self._goal = _checked_point(goal)
        sine, cosine = exact.sincos(place.start[2])
        start = place.start[0] + self._body.middle * cosine, place.start[1] + self._body.middle * sine
        self._total = max(float(exact.hypot(self._goal[0] - start[0], self._goal[1] - start[1])), 1e-6)
        self._junction = _junction_points(context)
        self._turns = route_turns(self._route.points, context.scene.spec.roads or Roads())
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
        if self._inputs > 1:
            aside = waypoint_offset(self._route.points, x, y)
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
        lateral = self._turns[nearest_waypoint(self._route.points, x, y)] if self._inputs > 1 else FOLLOW
        if lateral != FOLLOW:
            pass
        elif abs(command.steer) > TURNS_FROM:
            lateral = LEFT if command.steer > 0 else RIGHT
        elif self._inputs == 1 and len(self._junction):
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


def nearest_waypoint(points: FloatArray, x: float, y: float) -> int:
    """Index of the waypoint of a route nearest to (x, y)."""
    dx, dy = points[:, 0] - x, points[:, 1] - y
    return int(np.argmin(dx * dx + dy * dy))


def waypoint_offset(points: FloatArray, x: float, y: float) -> float:
    """Signed distance, m, positive to the left, from the straight line through the nearest waypoint and the next one,
    or through the last two."""
    k = min(nearest_waypoint(points, x, y), len(points) - 2)
    step_x, step_y = points[k + 1, 0] - points[k, 0], points[k + 1, 1] - points[k, 1]
    side = step_x * (y - points[k, 1]) - step_y * (x - points[k, 0])
    return float(side / exact.hypot(step_x, step_y))


def route_turns(points: FloatArray, roads: Roads) -> list[int]:
    """(K,) for each waypoint of a route the lateral command of the junction's lane that it lies on: the lane that the
    route drives from its beginning to its end. ``FOLLOW`` elsewhere."""
    found = [FOLLOW] * len(points)
    for lane in roads.lanes:
        if lane.turn is None:
            continue
        line = np.array(lane.points)
        if all(_gap(points, *point)[0] < ON_LANE_M for point in line):
            for k, (x, y) in enumerate(points):
                gap, is_beyond = _gap(line, x, y)
                if gap < ON_LANE_M and not is_beyond:
                    found[k] = COMMAND_OF[lane.turn]
    return found


def _gap(line: FloatArray, x: float, y: float) -> tuple[float, bool]:
    """Distance of a point from a line, m, and whether its nearest point is one of the line's ends."""
    step = np.diff(line, axis=0)
    square = step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1]
    dx, dy = x - line[:-1, 0], y - line[:-1, 1]
    share = np.clip((dx * step[:, 0] + dy * step[:, 1]) / square, 0.0, 1.0)
    miss = exact.hypot(dx - share * step[:, 0], dy - share * step[:, 1])
    k = int(np.argmin(miss))
    is_end = (k == 0 and share[0] == 0.0) or (k == len(step) - 1 and share[-1] == 1.0)
    return float(miss[k]), bool(is_end)


def _checked_point(goal: Any) -> tuple[float, float]:
    try:
        x, y = (float(value) for value in goal)
    except (TypeError, ValueError):
        x = y = np.nan
    if not np.isfinite([x, y]).all():
        raise BadInput(f"measurements: goal is a point [x, y] in metres, not {goal!r:.60}")
    return x, y


def _junction_points(context: SensorContext) -> FloatArray:
    """(K, 2) points of the lanes through junctions, m."""
    roads = context.scene.spec.roads or Roads()
    lines = [np.array(lane.points) for lane in roads.lanes if lane.turn is not None]
    return np.concatenate(lines) if lines else np.zeros((0, 2))
