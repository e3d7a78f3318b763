"""What the robot has seen and where it was: pictures and poses by time, the robot's state when a picture was taken,
and points in and out of the robot's frame.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from math import pi

import numpy as np

from sidestep._util import exact
from sidestep.types import RobotState
from sidestep.types.base import FloatArray, IntArray

SAME_S = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class CameraFrame:
    """One picture, and the state of the robot when it was taken."""

    time: float
    picture: IntArray  # (H, W, 3) uint8, as the network sees it
    robot: RobotState


class Memory:
    """The last ``span_s`` seconds."""

    def __init__(self, span_s: float) -> None:
        self._span_s = span_s
        self._frames: deque[CameraFrame] = deque()

    def add(self, frame: CameraFrame) -> None:
        """Remember; forget what no history reaches any more. Two looks at one time: the later counts."""
        if self._frames and frame.time <= self._frames[-1].time:
            self._frames.pop()
        self._frames.append(frame)
        while len(self._frames) > 1 and self._frames[1].time <= frame.time - self._span_s:
            self._frames.popleft()

    @property
    def now(self) -> CameraFrame:
        """The latest."""
        return self._frames[-1]

    def history(self, count: int, spacing_s: float) -> list[CameraFrame | None]:
        """The frames nearest to 0, ``spacing_s``, 2 ``spacing_s``, … ago: ``count`` of them, oldest first; None where
        that was before the first by more than half a spacing."""
        found: list[CameraFrame | None] = []
        for k in range(count - 1, -1, -1):
            wanted = self.now.time - k * spacing_s
            if wanted < self._frames[0].time - 0.5 * spacing_s + SAME_S:
                found.append(None)
            else:
                found.append(min(self._frames, key=lambda frame: abs(frame.time - wanted)))
        return found

    @property
    def first(self) -> CameraFrame:
        """The oldest that is still known."""
        return self._frames[0]


def into_frame(points: FloatArray, robot: RobotState) -> FloatArray:
    """World points (K, 2) in the robot's frame: x ahead, y left."""
    return exact.rotate(points - np.array([robot.x, robot.y]), -robot.heading)


def from_frame(points: FloatArray, robot: RobotState) -> FloatArray:
    """Points (K, 2) of the robot's frame in the world."""
    moved: FloatArray = exact.rotate(points, robot.heading) + np.array([robot.x, robot.y])
    return moved


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
