"""The limit that every row is read against: a way planned with everybody's future known."""

from __future__ import annotations

from math import ceil
from typing import Any, ClassVar

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.kernels.dynamics import heading_to
from sidestep.kernels.mpc_field import fill_slowness, way_left
from sidestep.kernels.space_time import earliest_arrival, pull_straight, trace_back
from sidestep.policies.mpc_map import grid_over, sample_room
from sidestep.types import HolonomicVelocity, Observation, Task
from sidestep.types.base import FloatArray

LEG_S = 0.5
"""Duration of a straight leg, s; rounded to whole simulation steps."""
REACH = 6
"""Cells that a leg at full speed goes: the grid is made that fine."""
SLACKS_S = (1.0, 3.0, 8.0, 20.0, 1e6)
"""How much later than on the empty map to look for an arrival, s; one after the other."""


class Oracle:
    """Privileged: earliest arrival by a search over place and time in everybody's recorded future.

    The grid is turned so that one axis points from start to goal. Where nothing arrives within the time limit,
    ``found`` is False and the robot goes as near to the goal as it can without touching anybody.
    """

    name = "oracle"
    summary = "PRIVILEGED: earliest arrival by space-time search in everybody's known future; the limit, not a policy"
    citation = ""
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"future", "goal", "map"})
    privileged: ClassVar[bool] = True

    def __init__(self, gap: float = 0.05, wall_gap: float = 0.06) -> None:
        """``gap``: distance to keep from people's surfaces, m; ``wall_gap``: from walls'."""
        for key, value in (("gap", gap), ("wall_gap", wall_gap)):
            if not 0.0 <= value < 10.0:
                raise BadInput(f"oracle: {key} is {value}; give a distance between 0 and 10 m")
        self.settings: dict[str, Any] = {"gap": gap, "wall_gap": wall_gap}
        self.found = False

    def reset(self, task: Task) -> None:
        """Plan the whole way."""
        assert task.goal is not None
        assert task.future is not None
        steps = max(1, round(LEG_S / task.future.step_s))
        self._leg_s = steps * task.future.step_s
        self._step_s = task.step_s
        self._way, self._time = self._plan(task, steps), 0.0
        self.plan_step_s = self._leg_s
        """Between the points of the plan that is published, s."""

    def _plan(self, task: Task, steps: int) -> FloatArray:
        """Points of the way at every leg, (K, 2), m."""
        assert task.goal is not None
        assert task.future is not None
        dx, dy = task.goal[0] - task.start[0], task.goal[1] - task.start[1]
        angle = float(heading_to(dx, dy))
        s, c = exact.sincos(angle)
        turn = np.array([[c, -s], [s, c]])  # row vectors times it are in the grid's frame
        speed = task.robot.limits.max_speed
        cell = speed * self._leg_s / REACH
        radius = task.robot.footprint.enclosing_radius
        least = radius + self.settings["wall_gap"]
        x, y = grid_over(task, cell, turn)
        room = sample_room(task.map, x, y, turn)
        start, goal = exact.matmul([task.start[:2], task.goal], turn)
        i, j = round((start[1] - y[0]) / cell), round((start[0] - x[0]) / cell)
        room[i, j] = max(room[i, j], least)  # it stands there, whatever the walls say
        slowness, way, seen = np.empty_like(room), np.empty_like(room), np.empty(room.shape, np.uint8)
        fill_slowness(room, least, 1e-6, slowness)
        way_left(room, slowness, x[0], y[0], cell, goal[0], goal[1], least, way, seen)
        layers = int(task.time_limit_s / self._leg_s)
        future = exact.matmul(task.future.position, turn)
        keep = task.future.radius.astype(np.float64) + radius + self.settings["gap"]
        length, parent = np.empty((2, *room.shape)), np.empty((layers + 1, *room.shape), np.int16)
        danger = np.empty(room.shape, np.uint8)
        near = max(task.goal_radius_m - cell, 0.5 * cell)
        quickest = way[i, j] / speed
        for slack in SLACKS_S:
            layer, at_i, at_j, self.found = earliest_arrival(
                room, way, x[0], y[0], cell, least, i, j, near, speed, REACH + 1e-9, future, keep, task.future.step_s,
                steps, min(quickest + slack, task.time_limit_s), layers, length, parent, danger,
            )  # fmt: skip
            if self.found or quickest + slack >= task.time_limit_s:
                break
        cells = np.empty((layer + 1, 2), np.int64)
        trace_back(layer, at_i, at_j, REACH, parent, cells)
        points = np.stack([x[0] + cell * cells[:, 1], y[0] + cell * cells[:, 0]], axis=1)
        pull_straight(points, steps, future, keep, room, x[0], y[0], cell, least)
        return exact.matmul(points, turn.T)

    @property
    def plan(self) -> FloatArray:
        """(H, 2) the rest of the way and its end, every ``plan_step_s``, m."""
        legs = np.arange(len(self._way))
        first = self._time / self._leg_s + 1.0
        at = np.append(first + np.arange(max(ceil(legs[-1] - first), 0)), legs[-1])
        return np.stack([exact.interp(at, legs, self._way[:, c]) for c in (0, 1)], axis=1)

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The velocity that leads to where the plan is one step from now."""
        legs = (observation.time + self._step_s) / self._leg_s
        k = min(int(legs), len(self._way) - 1)
        self._time = observation.time
        here, there = self._way[k], self._way[min(k + 1, len(self._way) - 1)]
        target = here + (there - here) * (legs - k if k < len(self._way) - 1 else 0.0)
        return HolonomicVelocity(
            float(target[0] - observation.robot.x) / self._step_s, float(target[1] - observation.robot.y) / self._step_s
        )
