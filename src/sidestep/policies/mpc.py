"""Model predictive control among predicted people: a search in place and time, made smooth."""

from __future__ import annotations

from math import hypot, isfinite
from typing import Any, ClassVar

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels import mpc_search as search
from sidestep.kernels.mpc_smooth import follow, motion_cost, roll_out, shift_inputs, smooth
from sidestep.policies.mpc_map import WayMap
from sidestep.policies.mpc_people import PeopleTracker
from sidestep.types import HolonomicVelocity, Observation, Task
from sidestep.types.base import FloatArray

TIMES = np.concatenate([[0.0], np.cumsum([0.1] * 10 + [0.2] * 10 + [0.3] * 9)])
LEG_S, LEGS, CELL = 0.6, 9, 0.24


class Mpc:
    """Search over place and time among predicted people for the way, iLQR for a smooth motion along it."""

    name = "mpc"
    summary = "search in place and time among predicted people, smoothed by iLQR"
    citation = "Sidestep"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "map"})

    def __init__(self, **settings: Any) -> None:
        self.settings: dict[str, Any] = dict(
            jerk=0.02, acceleration=0.1, overspeed=50.0, progress=1.0, end=1.0, hard=150.0, soft=3.0, wall=20.0,
            hard_gap=0.12, soft_gap=0.45, growth=0.12, growth_s=2.5, fade_s=2.0, wall_gap=0.15, search_s=0.3, tau=0.25,
            switch=0.1, iterations=4,
        ) | settings

    def reset(self, task: Task) -> None:
        s = self.settings
        assert task.goal is not None
        self._task = task
        radius = task.robot.footprint.enclosing_radius
        speed = task.robot.limits.max_speed
        self._map = WayMap(task, radius)
        self._people = PeopleTracker(s["tau"])
        w = np.zeros(search.WEIGHT_ROWS)
        w[:20] = [s["jerk"], s["acceleration"], s["overspeed"], s["progress"], s["end"], s["hard"], s["soft"], s["wall"], speed,
            radius, s["hard_gap"], s["soft_gap"], s["growth"], s["growth_s"], s["fade_s"], s["wall_gap"], *task.goal,
            task.goal_radius_m, 0.0]
        self._weights = w
        n = len(TIMES) - 1
        self._states, self._inputs = np.zeros((n + 1, 6)), np.zeros((n, 2))
        self._other, self._other_inputs = np.zeros((n + 1, 6)), np.zeros((n, 2))
        self._scratch = (np.zeros((n, 2, 6)), np.zeros((n, 2)), np.zeros(6), np.zeros((6, 6)), np.zeros((2, 6)))
        self._new = np.zeros((n + 1, 6)), np.zeros((n, 2))
        self._half = int(np.ceil(LEGS * LEG_S * speed / CELL))
        m = 2 * self._half + 1
        self._crowd = np.zeros((2 * LEGS, m, m))
        self._static, self._wish, self._left = np.zeros((m, m)), np.zeros((m, m, 2)), np.zeros((m, m))
        self._cost, self._parent = np.zeros((2, m, m)), np.zeros((LEGS, m, m), np.int16)
        self._path = np.zeros((LEGS + 1, 2), np.int64)
        self._acceleration = (0.0, 0.0)
        self._expected: tuple[float, float] | None = None
        self._last = -1.0
        self._next_search = 0.0

    def act(self, observation: Observation) -> HolonomicVelocity:
        robot, people = observation.robot, observation.pedestrians
        assert people is not None
        crowd = self._people.update(observation.time, people, robot.x, robot.y)
        start = self._state(observation)
        s = self.settings
        arguments = (TIMES, crowd, len(crowd), *self._map.arrays, self._weights)
        if self._last >= 0.0:
            shift_inputs(self._inputs, TIMES, observation.time - self._last, self._other_inputs)
            self._inputs[:] = self._other_inputs
        self._states[0] = start
        roll_out(self._states, self._inputs, TIMES)
        best = smooth(self._states, self._inputs, *arguments, int(s["iterations"]), *self._scratch, *self._new)
        if observation.time >= self._next_search - 1e-9:
            self._next_search = observation.time + s["search_s"]
            self._seed(start, crowd)
            other = smooth(self._other, self._other_inputs, *arguments, 12, *self._scratch, *self._new)
            if other < best - s["switch"]:
                self._states[:], self._inputs[:] = self._other, self._other_inputs
        self._last = observation.time
        return self._command(robot, start)

    def _state(self, observation: Observation) -> FloatArray:
        r = observation.robot
        ax, ay = self._acceleration
        if self._expected is not None and hypot(r.vx - self._expected[0], r.vy - self._expected[1]) > 0.02:
            ax = ay = 0.0
        return np.array([r.x, r.y, r.vx, r.vy, ax, ay])

    def _seed(self, start: FloatArray, crowd: FloatArray) -> None:
        x, y, vx, vy = start[:4].tolist()
        w = self._weights
        room, way, way_x, way_y, x0, y0, cell = self._map.arrays
        search.window_costs(crowd, len(crowd), x, y, CELL, self._half, LEG_S, LEGS, w, self._crowd)
        search.window_static(x, y, CELL, self._half, room, way, way_x, way_y, x0, y0, cell, w, self._static, self._wish, self._left)
        reach = 1.07 * w[search.MAX_SPEED] * LEG_S / CELL
        search.search_window(vx, vy, CELL, self._half, LEG_S, LEGS, reach, self._crowd, self._static, self._wish, self._left, w,
            self._cost, self._parent, self._path)
        px = x + (self._path[:, 1] - self._half) * CELL
        py = y + (self._path[:, 0] - self._half) * CELL
        legs = LEG_S * np.arange(LEGS + 1)
        targets = np.stack([np.interp(TIMES, legs, px), np.interp(TIMES, legs, py)], axis=1)
        self._other[0] = start
        follow(self._other, self._other_inputs, TIMES, targets, 5.0, 0.02, 0.1, *self._scratch)

    def _command(self, robot: Any, start: FloatArray) -> HolonomicVelocity:
        h = self._task.step_s
        u = self._inputs[0]
        v = start[2:4] + h * (start[4:6] + 0.5 * h * u)
        a = start[4:6] + h * u
        top = self._weights[search.MAX_SPEED]
        speed = hypot(*v)
        if speed > top:
            v = v * (top / speed)
        self._acceleration = float(a[0]), float(a[1])
        self._expected = float(v[0]), float(v[1])
        return HolonomicVelocity(*self._expected)
