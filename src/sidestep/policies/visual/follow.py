"""Driving along a network's points until it has new ones."""

from __future__ import annotations

import numpy as np

from sidestep.exact import arctan2, hypot
from sidestep.policies.visual.memory import from_frame, into_frame
from sidestep.types import RobotState
from sidestep.types.base import FloatArray

STRAIGHT = 1e-6
"""Below this turn (rad) an arc counts as straight."""


class Track:
    """Points fixed in the world where they were given; hands out those ahead in the frame of the robot now."""

    def __init__(self, points: FloatArray, robot: RobotState) -> None:
        self._way = np.vstack([[robot.x, robot.y], from_frame(points, robot)])
        self._segment = 0

    def left(self, robot: RobotState) -> FloatArray | None:
        """Points (K, 2) yet to pass, in the robot's frame; None when the last one is passed.

        The robot is where the way comes nearest to it, never before where it was.
        """
        here = np.array([robot.x, robot.y])
        start, leg = self._way[:-1], np.diff(self._way, axis=0)
        square = (leg * leg).sum(axis=1)
        along = ((here - start) * leg).sum(axis=1) / np.where(square > 0.0, square, 1.0)
        nearest = start + np.clip(along, 0.0, 1.0)[:, None] * leg
        off = ((nearest - here) ** 2).sum(axis=1)
        self._segment += int(np.argmin(off[self._segment :]))
        last = len(leg) - 1
        if self._segment == last and along[last] >= 1.0:
            return None
        return into_frame(self._way[self._segment + 1 :], robot)


def arc_velocity(x: float, y: float, seconds: float) -> tuple[float, float]:
    """(v, ω) of the circular arc, tangent to the heading, that ends in (x, y) after ``seconds``.

    It turns by ``φ = 2 arctan2(y, x)`` over a length of ``φ (x² + y²) / (2 y)``. To a point behind: turns on the spot.
    """
    if x <= 0.0:
        return 0.0, arctan2(y, x) / seconds if hypot(x, y) > STRAIGHT else 0.0
    turn = 2.0 * arctan2(y, x)
    length = x if abs(turn) < STRAIGHT else turn * (x * x + y * y) / (2.0 * y)
    return length / seconds, turn / seconds
