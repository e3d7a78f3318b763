"""The route ahead of a car: where on it the car is, points ahead, how people lie to it."""

from __future__ import annotations

from math import sqrt
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.types import RobotSpec, RobotState
from sidestep.types.base import FloatArray


class CarBody:
    """The car's box about its reference point, m."""

    def __init__(self, robot: RobotSpec) -> None:
        corners = robot.footprint.polygon
        radius = robot.footprint.enclosing_radius
        self.front = radius if corners is None else max(x for x, _ in corners)
        self.rear = radius if corners is None else -min(x for x, _ in corners)
        self.half = radius if corners is None else max(abs(y) for _, y in corners)
        self.middle = (self.front - self.rear) / 2
        self.wheelbase = robot.wheelbase or 2.5
        self.lock = robot.limits.max_steer or 0.6

    def centre(self, robot: RobotState) -> tuple[float, float]:
        """The middle of the body in the world."""
        sine, cosine = exact.sincos(robot.heading)
        return robot.x + self.middle * cosine, robot.y + self.middle * sine


class DrivingRoute:
    """A line of points about two metres apart, and how far along it the car has come."""

    def __init__(self, start: tuple[float, float], route: Any) -> None:
        """``route`` (K, 2): points after ``start``."""
        points = np.concatenate([[start], np.asarray(route, np.float64).reshape(-1, 2)])
        keep = np.concatenate([[True], exact.norm(np.diff(points, axis=0)) > 1e-6])
        self.points: FloatArray = points[keep]
        self._step = np.diff(self.points, axis=0)
        self._square = self._step[:, 0] * self._step[:, 0] + self._step[:, 1] * self._step[:, 1]
        self._length = np.sqrt(self._square)
        self.at: FloatArray = np.concatenate([[0.0], np.cumsum(self._length)])
        """Metres along up to each point."""
        self.along = 0.0
        self._reach = 10.0

    @property
    def total(self) -> float:
        """Length, m."""
        return float(self.at[-1])

    def project(self, x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(K,) metres along, and metres to the left, of the points of the line nearest to each of K points; only what
        lies from five metres behind the car on counts."""
        first = max(int(np.searchsorted(self.at, self.along - 5.0)) - 1, 0)
        begin, step, square = self.points[first:-1], self._step[first:], self._square[first:]
        dx, dy = x[:, None] - begin[:, 0], y[:, None] - begin[:, 1]
        share = np.clip((dx * step[:, 0] + dy * step[:, 1]) / square, 0.0, 1.0)
        miss_x, miss_y = dx - share * step[:, 0], dy - share * step[:, 1]
        miss = miss_x * miss_x + miss_y * miss_y
        k = np.argmin(miss, axis=1)
        rows = np.arange(len(x))
        side = step[k, 0] * dy[rows, k] - step[k, 1] * dx[rows, k]
        along = self.at[first + k] + share[rows, k] * self._length[first + k]
        left = np.where(side >= 0.0, 1.0, -1.0) * np.sqrt(miss[rows, k])
        return along, left

    def advance(self, x: float, y: float) -> float:
        """Note where the car is; signed metres by which it is to the left of the line."""
        along, left = self.project(np.array([x]), np.array([y]))
        if float(along[0]) <= self.along + self._reach:
            self.along = max(self.along, float(along[0]))
        return float(left[0])

    def point(self, along: float) -> tuple[float, float]:
        """The point so many metres along; beyond the end, straight on."""
        k = min(max(int(np.searchsorted(self.at, along, side="right")) - 1, 0), len(self._length) - 1)
        share = (along - float(self.at[k])) / float(self._length[k])
        x, y = self.points[k]
        return float(x) + share * float(self._step[k, 0]), float(y) + share * float(self._step[k, 1])

    def curvature(self, along: float) -> float:
        """Largest bend of the line within the next metres, 1/m."""
        x0, y0 = self.point(along)
        x1, y1 = self.point(along + 3.0)
        x2, y2 = self.point(along + 6.0)
        ax, ay, bx, by = x1 - x0, y1 - y0, x2 - x1, y2 - y1
        cross, length = ax * by - ay * bx, sqrt(ax * ax + ay * ay) * sqrt(bx * bx + by * by)
        return abs(cross) / max(length * 3.0, 1e-9)


def pursue(route: DrivingRoute, body: CarBody, robot: RobotState, ahead: float) -> float:
    """Steer in [-1, 1] by pure pursuit of the point ``ahead`` metres along the route from the car."""
    x, y = route.point(route.along + ahead)
    sine, cosine = exact.sincos(robot.heading)
    dx, dy = x - robot.x, y - robot.y
    square = dx * dx + dy * dy
    left = cosine * dy - sine * dx
    steer = float(exact.arctan2(2.0 * body.wheelbase * left, max(square, 1e-6)))
    return min(max(steer / body.lock, -1.0), 1.0)
