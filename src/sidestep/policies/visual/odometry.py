"""Where the robot was when a picture was taken."""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from math import pi

from sidestep.types import RobotState

KEEP_S = 2.0


class Odometry:
    """The robot's states of the last two seconds, with those between two looks by straight interpolation."""

    def __init__(self) -> None:
        self._states: deque[tuple[float, RobotState]] = deque()

    def add(self, time_s: float, robot: RobotState) -> None:
        """Remember where the robot is now."""
        self._states.append((time_s, robot))
        while self._states[0][0] < time_s - KEEP_S:
            self._states.popleft()

    def at(self, time_s: float) -> RobotState:
        """The state at a time not long ago; the nearest known outside of what is known."""
        later = self._states[-1]
        for earlier in reversed(self._states):
            if earlier[0] <= time_s:
                return _between(earlier, later, time_s)
            later = earlier
        return later[1]


def _between(earlier: tuple[float, RobotState], later: tuple[float, RobotState], time_s: float) -> RobotState:
    (t0, a), (t1, b) = earlier, later
    if t1 <= t0 or time_s >= t1:
        return b if time_s >= t1 else a
    share = (time_s - t0) / (t1 - t0)
    turn = (b.heading - a.heading + pi) % (2 * pi) - pi
    return replace(a, x=a.x + share * (b.x - a.x), y=a.y + share * (b.y - a.y), heading=a.heading + share * turn)
