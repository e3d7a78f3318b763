"""The bird's-eye picture that the network of ``ilqr_bc`` sees: walls, people with their velocities and the path to the
goal, in the robot's frame.

Row 0 lies ``BEHIND_M`` behind the robot, the last row furthest ahead; column 0 lies furthest to the right. Values are
integers of 8 bits, 127 for one.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.dynamics import unit_vector
from sidestep.kernels.jit import kernel
from sidestep.policies.grid import bilinear
from sidestep.policies.ilqr.reference import stride
from sidestep.policies.mpc.field import GoalFields
from sidestep.types import RobotState
from sidestep.types.base import FloatArray, IntArray

CELLS, CELL_M = 64, 0.15
BEHIND_M = 1.6
WALLS, PEOPLE, PEOPLE_AHEAD, PEOPLE_LEFT, PATH = range(5)
CHANNELS = 5
"""Solid ground; bodies of people; their velocity along and across the robot's heading; the path to the goal."""
ONE, FULL_MPS = 127, 2.0
"""Value of one, and the speed that it stands for."""
COMING_MPS, PASSED_M = 0.2, 0.3
"""A person comes toward the robot who walks faster than that against its heading and is not further behind it than
that."""
GUIDE_M = 4.0
"""Distance along the path of the point that :meth:`BirdsEye.motion` reports."""


@kernel
def paint_picture(
    picture: IntArray, ground: GoalFields, goal_x: float, goal_y: float, x: float, y: float, c: float, s: float,
    people: FloatArray,
) -> int:  # fmt: skip
    """Fill ``picture (5, 64, 64)`` int8 for a robot at (x, y) with the heading (c, s) among ``people (N, 5)`` (x, y,
    vx, vy, radius); the number of people in it who come toward the robot."""
    right = -0.5 * CELLS * CELL_M
    for i in range(CELLS):
        for j in range(CELLS):
            for channel in range(CHANNELS):
                picture[channel, i, j] = 0
            ahead, left = (i + 0.5) * CELL_M - BEHIND_M, (j + 0.5) * CELL_M + right
            px, py = x + ahead * c - left * s, y + ahead * s + left * c
            if bilinear(ground.clearance, ground, px, py) <= 0.0:
                picture[WALLS, i, j] = ONE
    coming = 0
    for k in range(people.shape[0]):
        dx, dy, radius = people[k, 0] - x, people[k, 1] - y, people[k, 4]
        row, column = (dx * c + dy * s + BEHIND_M) / CELL_M, (dy * c - dx * s - right) / CELL_M
        if not (0.0 <= row < CELLS and 0.0 <= column < CELLS):
            continue
        if row * CELL_M > BEHIND_M - PASSED_M and people[k, 2] * c + people[k, 3] * s < -COMING_MPS:
            coming += 1
        ahead = min(max((people[k, 2] * c + people[k, 3] * s) / FULL_MPS, -1.0), 1.0)
        left = min(max((people[k, 3] * c - people[k, 2] * s) / FULL_MPS, -1.0), 1.0)
        span = int(radius / CELL_M) + 1
        for i in range(max(int(row) - span, 0), min(int(row) + span + 1, CELLS)):
            for j in range(max(int(column) - span, 0), min(int(column) + span + 1, CELLS)):
                di, dj = (i + 0.5 - row) * CELL_M, (j + 0.5 - column) * CELL_M
                if di * di + dj * dj <= radius * radius or (i == int(row) and j == int(column)):
                    picture[PEOPLE, i, j] = ONE
                    picture[PEOPLE_AHEAD, i, j] = math.floor(ONE * ahead + 0.5)
                    picture[PEOPLE_LEFT, i, j] = math.floor(ONE * left + 0.5)
    px, py = x, y
    for _ in range(2 * CELLS):
        dx, dy = px - x, py - y
        i, j = math.floor((dx * c + dy * s + BEHIND_M) / CELL_M), math.floor((dy * c - dx * s - right) / CELL_M)
        if not (0 <= i < CELLS and 0 <= j < CELLS):
            break
        picture[PATH, i, j] = ONE
        px, py = stride(ground, goal_x, goal_y, px, py, 0.5 * CELL_M)
    return coming


@kernel
def find_guide(ground: GoalFields, goal_x: float, goal_y: float, x: float, y: float, guide: FloatArray) -> None:
    """``guide (2,)`` = the point ``GUIDE_M`` along the path from (x, y) to the goal, or the goal."""
    px, py = x, y
    for _ in range(int(GUIDE_M / 0.1)):
        px, py = stride(ground, goal_x, goal_y, px, py, 0.1)
    guide[0], guide[1] = px, py


class BirdsEye:
    """Paints pictures of one episode."""

    def __init__(self, ground: GoalFields, goal: tuple[float, float], top_speed: float) -> None:
        self._ground, self._goal, self._top_speed = ground, goal, top_speed
        self._guide = np.zeros(2)
        self.picture: IntArray = np.zeros((CHANNELS, CELLS, CELLS), np.int8)
        """The last picture."""

    def paint(self, robot: RobotState, people: FloatArray) -> int:
        """Paint the picture; the number of people in it who come toward the robot."""
        c, s = unit_vector(robot.heading)
        return int(paint_picture(self.picture, self._ground, *self._goal, robot.x, robot.y, c, s, people))

    def motion(self, robot: RobotState) -> FloatArray:
        """(4,) float32: speed as a share of the top speed, turn rate (rad/s), and the point of the path ahead in the
        robot's frame as a share of ``GUIDE_M``."""
        find_guide(self._ground, *self._goal, robot.x, robot.y, self._guide)
        c, s = unit_vector(robot.heading)
        dx, dy = float(self._guide[0]) - robot.x, float(self._guide[1]) - robot.y
        speed = (robot.vx * c + robot.vy * s) / self._top_speed
        values = [speed, robot.omega, (dx * c + dy * s) / GUIDE_M, (dy * c - dx * s) / GUIDE_M]
        return np.array(values, np.float32)
