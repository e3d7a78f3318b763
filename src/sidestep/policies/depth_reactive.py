"""Follows the route with a depth camera alone: it heads for the freest direction, slower near obstacles."""

from __future__ import annotations

from collections import deque
from math import pi, sqrt
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sidestep._util import exact
from sidestep._util.exact import arctan2, cos, hypot, tan
from sidestep.interfaces import Policy
from sidestep.policies.robot_agent import RouteFollower
from sidestep.policies.sampling.splines import wrapped
from sidestep.types import Observation, RobotState, Task, Velocity
from sidestep.types.base import FloatArray, Model

SIDE = 96
"""Pixels along each side of the picture asked for; larger ones are thinned out to about that many."""
STANDARD_HEIGHT_M = 1.0
"""Height of the camera where the robot's spec does not say, as the camera itself has it."""
GROUND_M = 0.15
"""Lower points are ground."""
HEADROOM_M = 0.2
"""Points higher above the robot than this are passed under."""
RANGE_M = 8.0
MEMORY_S = 1.5
"""Time for which obstacles out of sight are remembered, by odometry."""
DIRECTIONS = 37
PASSED_M, BESIDE_M = 0.2, 1.5
"""When a point of the route is passed; near, as nothing else leads this policy round a corner."""
TIGHT_M, TIGHT_SHARE = 1.0, 0.2
"""Where no direction is free this far, a share of the margin has to do."""
STOP_M = 0.1
"""Stands when less than this is free ahead."""
TURN_GAIN = 2.0  # 1/s: turn rate per radian
BRAKING = 1.0  # m/s²: of robots whose spec has no limit
DETOUR, HABIT = 1.5, 0.2
"""Cost of a direction that is blocked at once, and of a radian from the last direction, in radians off the route."""


class DepthReactiveSettings(Model):
    """Settings of the policy ``depth_reactive``."""

    margin: Annotated[float, Field(ge=0, lt=10)] = 0.3
    """Distance kept from everything seen, m (of people legs are seen; their contact discs are wider)."""
    horizon: Annotated[float, Field(ge=0.5, le=RANGE_M)] = 4.0
    """How far ahead counts, m."""
    time_gap: Annotated[float, Field(ge=0, lt=10)] = 1.0
    """Time to an obstacle at the present speed, s."""
    field_of_view: Annotated[float, Field(ge=0.1, le=140 * pi / 180)] = pi / 2
    """Horizontal field of view of the camera, rad."""


class DepthReactive(Policy):
    """A vector field histogram in the plane (after Borenstein, Koren, VFH, 1991; Ulrich, Borenstein, VFH+, 1998).

    Each column of the picture gives the nearest point above ground. For directions within the field of view: how far
    can a disc of the robot's radius plus ``margin`` go? The direction with the least ``angle off the route + 1.5 ·
    (1 − free distance / horizon) + 0.2 · change`` is taken; speed is what ``time_gap`` and the
    brakes allow within the free distance.
    """

    name = "depth_reactive"
    summary = "follows the route by a depth camera alone: gaps, slowing down, stopping; no map, no people"
    citation = "after Borenstein, Koren, The vector field histogram (1991); Ulrich, Borenstein, VFH+ (1998)"
    dynamics: ClassVar[str] = "unicycle"
    needs: ClassVar[frozenset[str]] = frozenset({"depth", "route"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`DepthReactiveSettings`."""
        self._settings = DepthReactiveSettings.parse(settings, "policy depth_reactive")
        self.settings: dict[str, Any] = self._settings.model_dump()
        view = self._settings.field_of_view
        self.camera: dict[str, Any] = {"width": SIDE, "height": SIDE, "field_of_view": view, "yaw": 0.0, "pitch": 0.0}
        """Fields of ``CameraSettings`` that the policy asks for."""

    def reset(self, task: Task) -> None:
        """Take the route and the body."""
        assert task.route is not None
        robot = task.robot
        self._route = RouteFollower(task.route, PASSED_M, BESIDE_M)
        self._height = robot.camera_height or STANDARD_HEIGHT_M
        self._top = robot.height + HEADROOM_M
        self._radius = robot.footprint.enclosing_radius
        self._speed, self._braking = robot.limits.max_speed, robot.limits.max_deceleration or BRAKING
        self._turn_rate = robot.limits.max_turn_rate or pi
        self._seen: deque[tuple[float, FloatArray]] = deque()
        self._direction = 0.0
        self._spin = 0.0

    def act(self, observation: Observation) -> Velocity:
        """The speed and turn rate towards the best direction."""
        robot = observation.robot
        if observation.depth is not None:
            points = self._obstacles(np.asarray(observation.depth))
            world = exact.rotate(points, robot.heading) + np.array([robot.x, robot.y])
            self._seen.append((observation.time, world))
        while self._seen and self._seen[0][0] < observation.time - MEMORY_S:
            self._seen.popleft()
        x, y = self._route.target(robot.x, robot.y)
        wanted = wrapped(arctan2(y - robot.y, x - robot.x) - robot.heading)
        return self._steer(wanted, hypot(x - robot.x, y - robot.y), self._around(robot))

    def _obstacles(self, depth: FloatArray) -> FloatArray:
        """(K, 2): per column the nearest point that stands above the ground, in the robot's frame, m."""
        rows, columns = depth.shape
        focal = columns / 2 / tan(self._settings.field_of_view / 2)
        step_y, step_x = max(1, rows // SIDE), max(1, columns // SIDE)
        thin = depth[step_y // 2 :: step_y, step_x // 2 :: step_x]
        down = (np.arange(rows)[step_y // 2 :: step_y] + 0.5 - rows / 2) / focal
        right = (np.arange(columns)[step_x // 2 :: step_x] + 0.5 - columns / 2) / focal
        near = np.where(thin < RANGE_M, thin, np.inf)
        with np.errstate(invalid="ignore"):
            height = self._height - near * down[:, None]
            stands = (height > GROUND_M) & (height < self._top)
        nearest = np.where(stands, near, np.inf).min(axis=0)
        hit = np.isfinite(nearest)
        return np.stack([nearest[hit], -nearest[hit] * right[hit]], axis=1)

    def _around(self, robot: RobotState) -> FloatArray:
        """(K, 2): what is and was seen, in the robot's frame now; remembered points in the present view are dropped."""
        if not self._seen:
            return np.zeros((0, 2))
        here = np.array([robot.x, robot.y])
        now = exact.rotate(self._seen[-1][1] - here, -robot.heading)
        if len(self._seen) == 1:
            return now
        before = np.concatenate([points for _, points in list(self._seen)[:-1]]) - here
        before = exact.rotate(before, -robot.heading)
        half = self._settings.field_of_view / 2
        hidden = np.abs(exact.arctan2(before[:, 1], before[:, 0])) > half
        return np.concatenate([now, before[hidden]])

    def _free_distance(self, angles: FloatArray, points: FloatArray, margin: float) -> FloatArray:
        """How far the disc can go in each direction before it touches a point, m; the horizon at most."""
        horizon = self._settings.horizon
        if not len(points):
            return np.full(len(angles), horizon)
        room = self._radius + margin
        s, c = (part[:, None] for part in exact.sincos(angles))
        ahead, across = c * points[:, 0] + s * points[:, 1], c * points[:, 1] - s * points[:, 0]
        reach = np.sqrt(np.maximum(room * room - across * across, 0.0))
        touched = np.where((np.abs(across) < room) & (ahead > 0.0), ahead - reach, horizon)
        free: FloatArray = np.clip(touched.min(axis=1), 0.0, horizon)
        return free

    def _steer(self, wanted: float, distance: float, points: FloatArray) -> Velocity:
        half = self._settings.field_of_view / 2
        if abs(wanted) > half:  # the route leads where nothing is seen: turn there first
            self._direction = 0.0
            return Velocity(0.0, self._turn_rate if wanted > 0.0 else -self._turn_rate)
        angles = np.append(np.linspace(-half, half, DIRECTIONS), wanted)
        margin = self._settings.margin
        free = self._free_distance(angles, points, margin)
        if free.max() < TIGHT_M:
            margin *= TIGHT_SHARE
            free = self._free_distance(angles, points, margin)
        enough = min(self._settings.horizon, distance)
        cost = np.abs(angles - wanted) + DETOUR * (1.0 - np.minimum(free, enough) / max(enough, 1e-6))
        cost += HABIT * np.abs(angles - self._direction)
        best = int(np.argmin(cost))
        if free[best] < STOP_M:
            return self._look_round(angles, free)
        self._spin = 0.0
        self._direction = float(angles[best])
        straight = float(self._free_distance(np.zeros(1), points, 0.5 * margin)[0])
        ahead = max(min(float(free[best]), straight) - STOP_M, 0.0)
        allowed = min(ahead / self._settings.time_gap if self._settings.time_gap else self._speed, self._speed)
        speed = min(allowed, sqrt(2.0 * self._braking * ahead)) * max(cos(self._direction), 0.0)
        omega = TURN_GAIN * self._direction
        return Velocity(speed, min(max(omega, -self._turn_rate), self._turn_rate))

    def _look_round(self, angles: FloatArray, free: FloatArray) -> Velocity:
        """Turn on the spot, to the freer side; to the same side until a direction is free."""
        if self._spin == 0.0:
            self._spin = 1.0 if free[angles > 0.0].sum() >= free[angles < 0.0].sum() else -1.0
        return Velocity(0.0, 0.5 * self._spin * self._turn_rate)
