"""Puts a robot that failed back on its route, as the person who looks after it would."""

from __future__ import annotations

import numpy as np

from sidestep.types.base import FloatArray
from sidestep.types.scenario import RobotPlacement

ROOM_M = 0.3
"""Nobody stands nearer than this to the surface of a robot that is put down."""


class Resets:
    """The waypoints of one robot's route: where it starts, the route's points, the goal."""

    def __init__(self, placement: RobotPlacement, radius_m: float) -> None:
        points = [placement.start[:2], *placement.route, placement.goal]
        self._points = np.array(points, np.float64)
        self._radius = radius_m
        self._last = -1

    def place(self, x: float, y: float, people: FloatArray) -> tuple[float, float, float]:
        """Pose for a robot that failed at (x, y): on the nearest waypoint, looking to the next one. Not on one where it
        was put before, nor on one before that, nor on ``people`` (N, 3: x, y, radius); never on the goal itself."""
        last = len(self._points) - 2
        near = np.hypot(*(self._points[: last + 1] - (x, y)).T)
        chosen = max(int(near.argmin()), self._last + 1)
        while chosen < last and not self._is_free(chosen, people):
            chosen += 1
        self._last = chosen = min(chosen, last)
        here, ahead = self._points[chosen], self._points[chosen + 1]
        heading = float(np.arctan2(ahead[1] - here[1], ahead[0] - here[0]))
        return float(here[0]), float(here[1]), heading

    def _is_free(self, index: int, people: FloatArray) -> bool:
        away = np.hypot(people[:, 0] - self._points[index, 0], people[:, 1] - self._points[index, 1])
        return bool((away >= people[:, 2] + self._radius + ROOM_M).all())
