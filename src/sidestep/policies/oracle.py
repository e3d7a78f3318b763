"""The privileged limit that every row is read against: a path planned with everybody's future known. The kernels
search the earliest arrival over place and time: layers of one leg (several simulation steps) on a square grid; a
leg goes straight, at constant speed, to any cell within reach. Walls are kept off by the clearance along the leg,
people by the exact distance of two points that move linearly during every simulation step. All paths into a state
of a layer take equally long, so the first layer with a goal cell is the earliest arrival, and dynamic programming
leaves the shortest of the paths that arrive then.
"""

from __future__ import annotations

import math
from math import ceil
from typing import Any, ClassVar, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.kernels.dynamics import heading_to
from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.mpc.field import GoalFields, grid_over, ground_to, sample_clearance
from sidestep.types import HolonomicVelocity, Observation, Task
from sidestep.types.base import FloatArray, IntArray

NEVER = 1e9


class KnownFuture(NamedTuple):
    """Everybody's path in the grid's frame, T simulation steps of ``step_s`` s; afterwards everybody is gone."""

    position: FloatArray  # (T+1, N, 2) m, NaN while absent
    keep: FloatArray  # (N,) m between centres that the robot keeps
    step_s: float


class SearchMemory(NamedTuple):
    """Working memory of the search over L + 1 layers."""

    length: FloatArray  # (2, ny, nx) m of the shortest path into each state of this layer and the next
    parent: IntArray  # (L+1, ny, nx) int16
    danger: IntArray  # (ny, nx) uint8: a leg from here could come near somebody


@inlined
def _touches(
    ax: float, ay: float, bx: float, by: float, px: float, py: float, qx: float, qy: float, keep: float
) -> bool:
    """Whether points moving a → b and p → q in the same time come nearer than ``keep``; NaN: absent at that end.

    Somebody who comes in is there for the whole step, as in the simulator.
    """
    if px != px:
        if qx != qx:
            return False
        px, py = qx, qy
    dx, dy = ax - px, ay - py
    if qx != qx:
        return dx * dx + dy * dy < keep * keep
    ex, ey = (bx - qx) - dx, (by - qy) - dy
    length = ex * ex + ey * ey
    s = 0.0 if length < 1e-12 else min(max(-(dx * ex + dy * ey) / length, 0.0), 1.0)
    dx, dy = dx + s * ex, dy + s * ey
    return dx * dx + dy * dy < keep * keep


@kernel
def meets_people(ax: float, ay: float, bx: float, by: float, first: int, steps: int, future: KnownFuture) -> bool:
    """Whether a robot going straight from a to b during ``steps`` simulation steps from step ``first`` on comes nearer
    than ``keep[n]`` to somebody."""
    position = future.position
    last = position.shape[0] - 1
    for n in range(position.shape[1]):
        for k in range(steps):
            t = first + k
            if t >= last:
                break
            u, w = k / steps, (k + 1) / steps
            cx, cy, dx, dy = ax + (bx - ax) * u, ay + (by - ay) * u, ax + (bx - ax) * w, ay + (by - ay) * w
            now, then = position[t, n], position[t + 1, n]
            if _touches(cx, cy, dx, dy, now[0], now[1], then[0], then[1], future.keep[n]):
                return True
    return False


@kernel
def meets_wall(ax: float, ay: float, bx: float, by: float, ground: GoalFields, least: float) -> bool:
    """Whether the clearance along a segment falls below ``least``, sampled every half cell or by the clearance there
    is."""
    clearance, cell = ground.clearance, ground.cell
    dx, dy = bx - ax, by - ay
    length = math.sqrt(dx * dx + dy * dy)
    along = 0.0
    while True:
        u = along / length if length > 0.0 else 0.0
        i, j = int((ay + dy * u - ground.y0) / cell + 0.5), int((ax + dx * u - ground.x0) / cell + 0.5)
        if i < 0 or j < 0 or i >= clearance.shape[0] or j >= clearance.shape[1] or clearance[i, j] < least:
            return True
        if along >= length:
            return False
        along = min(along + max(clearance[i, j] - least, 0.5 * cell), length)


@inlined
def _mark_danger(
    danger: IntArray, future: KnownFuture, first: int, steps: int, ground: GoalFields, reach_m: float
) -> None:
    """Mark the cells from which a leg could come near somebody."""
    position, x0, y0, cell = future.position, ground.x0, ground.y0, ground.cell
    danger[:, :] = 0
    ny, nx = danger.shape
    for n in range(position.shape[1]):
        low_x, low_y, high_x, high_y = NEVER, NEVER, -NEVER, -NEVER
        for t in range(first, min(first + steps, position.shape[0] - 1) + 1):
            x, y = position[t, n, 0], position[t, n, 1]
            if x == x:
                low_x, high_x, low_y, high_y = min(low_x, x), max(high_x, x), min(low_y, y), max(high_y, y)
        if low_x > high_x:
            continue
        r = future.keep[n] + reach_m + cell
        for i in range(max(int((low_y - r - y0) / cell), 0), min(int((high_y + r - y0) / cell) + 1, ny - 1) + 1):
            for j in range(max(int((low_x - r - x0) / cell), 0), min(int((high_x + r - x0) / cell) + 1, nx - 1) + 1):
                danger[i, j] = 1


@kernel
def earliest_arrival(
    ground: GoalFields, least: float, start: tuple[int, int], goal_radius: float, speed: float, reach: float,
    future: KnownFuture, steps: int, latest: float, memory: SearchMemory,
) -> Any:  # fmt: skip
    """Search the layers; returns (layer, row, column) of the arrival, or of the survivor nearest to the goal in the
    last layer that anybody reaches, and whether it arrived.

    A leg lasts ``steps`` simulation steps and goes up to ``reach`` cells; the robot keeps ``least`` m from walls.
    States that cannot arrive by ``latest`` (s) are left out.
    """
    clearance, to_go, x0, y0, cell = ground.clearance, ground.to_go, ground.x0, ground.y0, ground.cell
    length, parent, danger = memory
    start_i, start_j = start
    layers = parent.shape[0] - 1
    ny, nx = clearance.shape
    span = int(reach)
    width = 2 * span + 1
    length[0, :, :] = NEVER
    length[0, start_i, start_j] = 0.0
    low_i, high_i, low_j, high_j = start_i, start_i, start_j, start_j
    at_i, at_j = start_i, start_j
    for k in range(layers + 1):
        here, there = length[k % 2], length[(k + 1) % 2]
        best, found = NEVER, False
        near = NEVER
        for i in range(low_i, high_i + 1):
            for j in range(low_j, high_j + 1):
                if here[i, j] >= NEVER:
                    continue
                if to_go[i, j] < near:
                    near, at_i, at_j = to_go[i, j], i, j
        if near < goal_radius:
            for i in range(low_i, high_i + 1):
                for j in range(low_j, high_j + 1):
                    if to_go[i, j] < goal_radius and here[i, j] < best:
                        best, at_i, at_j, found = here[i, j], i, j, True
        if found or k == layers:
            return k, at_i, at_j, found
        there[:, :] = NEVER
        _mark_danger(danger, future, k * steps, steps, ground, reach * cell)
        time_after = (k + 1) * steps * future.step_s
        reached = False
        for i in range(low_i, high_i + 1):
            for j in range(low_j, high_j + 1):
                base = here[i, j]
                if base >= NEVER:
                    continue
                open_ground = clearance[i, j] > least + reach * cell
                ax, ay = x0 + j * cell, y0 + i * cell
                for ti in range(max(i - span, 0), min(i + span, ny - 1) + 1):
                    for tj in range(max(j - span, 0), min(j + span, nx - 1) + 1):
                        square = (ti - i) ** 2 + (tj - j) ** 2
                        if square > reach * reach or clearance[ti, tj] < least:
                            continue
                        if time_after + max(to_go[ti, tj] - goal_radius, 0.0) / speed > latest:
                            continue
                        total = base + cell * math.sqrt(square)
                        if total >= there[ti, tj]:
                            continue
                        bx, by = x0 + tj * cell, y0 + ti * cell
                        if not open_ground and meets_wall(ax, ay, bx, by, ground, least):
                            continue
                        if danger[i, j] and meets_people(ax, ay, bx, by, k * steps, steps, future):
                            continue
                        there[ti, tj] = total
                        parent[k + 1, ti, tj] = (ti - i + span) * width + (tj - j + span)
                        reached = True
        if not reached:
            return k, at_i, at_j, False
        low_i, high_i = max(low_i - span, 0), min(high_i + span, ny - 1)
        low_j, high_j = max(low_j - span, 0), min(high_j + span, nx - 1)
    return layers, at_i, at_j, False


@kernel
def trace_back(layer: int, i: int, j: int, reach: float, parent: IntArray, cells: IntArray) -> None:
    """Fill ``cells (layer + 1, 2)`` with the rows and columns of the path to a state."""
    span = int(reach)
    width = 2 * span + 1
    for k in range(layer, -1, -1):
        cells[k, 0], cells[k, 1] = i, j
        if k > 0:
            code = parent[k, i, j]
            i -= code // width - span
            j -= code % width - span


@kernel
def pull_straight(points: FloatArray, steps: int, future: KnownFuture, ground: GoalFields, least: float) -> None:
    """Replace pieces of a path by straight ones at constant speed where nobody and nothing is met, in place.

    Going slower along a straight line needs no more speed than the path it replaces.
    """
    n = points.shape[0]
    a = 0
    while a < n - 1:
        b = n - 1
        while b > a + 1:
            ax, ay, bx, by = points[a, 0], points[a, 1], points[b, 0], points[b, 1]
            met = meets_wall(ax, ay, bx, by, ground, least)
            if not met and not meets_people(ax, ay, bx, by, a * steps, (b - a) * steps, future):
                for k in range(a + 1, b):
                    u = (k - a) / (b - a)
                    points[k, 0], points[k, 1] = ax + (bx - ax) * u, ay + (by - ay) * u
                break
            b -= 1
        a = b


LEG_S = 0.5
"""Duration of a straight leg, s; rounded to whole simulation steps."""
REACH = 6
"""Cells that a leg at full speed goes: the grid is made that fine."""
SLACKS_S = (1.0, 3.0, 8.0, 20.0, 1e6)
"""Delays against the empty map within which an arrival is looked for, s; tried one after the other."""


class Oracle(Policy):
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
        """Plan the whole path."""
        assert task.goal is not None
        assert task.future is not None
        steps = max(1, round(LEG_S / task.future.step_s))
        self._leg_s = steps * task.future.step_s
        self._step_s = task.step_s
        self._path, self._time = self._plan(task, steps), 0.0
        self.plan_step_s = self._leg_s
        """Time between the points of the published plan, s."""

    def _plan(self, task: Task, steps: int) -> FloatArray:
        """Points of the path at every leg, (K, 2), m."""
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
        clearance = sample_clearance(task.map, x, y, turn)
        start, goal = exact.matmul([task.start[:2], task.goal], turn)
        i, j = round((start[1] - y[0]) / cell), round((start[0] - x[0]) / cell)
        clearance[i, j] = max(clearance[i, j], least)  # it stands there, whatever the walls say
        ground = ground_to(goal, clearance, (x[0], y[0]), cell, least, 1e-6, least)
        keep = task.future.radius.astype(np.float64) + radius + self.settings["gap"]
        future = KnownFuture(exact.matmul(task.future.position, turn), keep, task.future.step_s)
        layers, shape = int(task.time_limit_s / self._leg_s), clearance.shape
        memory = SearchMemory(
            np.empty((2, *shape)), np.empty((layers + 1, *shape), np.int16), np.empty(shape, np.uint8)
        )
        near = max(task.goal_radius_m - cell, 0.5 * cell)
        quickest = ground.to_go[i, j] / speed
        for slack in SLACKS_S:
            latest = min(quickest + slack, task.time_limit_s)
            layer, at_i, at_j, self.found = earliest_arrival(
                ground, least, (i, j), near, speed, REACH + 1e-9, future, steps, latest, memory
            )
            if self.found or quickest + slack >= task.time_limit_s:
                break
        cells = np.empty((layer + 1, 2), np.int64)
        trace_back(layer, at_i, at_j, REACH, memory.parent, cells)
        points = np.stack([x[0] + cell * cells[:, 1], y[0] + cell * cells[:, 0]], axis=1)
        pull_straight(points, steps, future, ground, least)
        return exact.matmul(points, turn.T)

    @property
    def plan(self) -> FloatArray:
        """(H, 2) the rest of the path and its end, every ``plan_step_s``, m."""
        legs = np.arange(len(self._path))
        first = self._time / self._leg_s + 1.0
        at = np.append(first + np.arange(max(ceil(legs[-1] - first), 0)), legs[-1])
        path: FloatArray = exact.interp(at, legs, self._path)
        return path

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The velocity that leads to where the plan is one step from now."""
        legs = (observation.time + self._step_s) / self._leg_s
        k = min(int(legs), len(self._path) - 1)
        self._time = observation.time
        here, there = self._path[k], self._path[min(k + 1, len(self._path) - 1)]
        target = here + (there - here) * (legs - k if k < len(self._path) - 1 else 0.0)
        return HolonomicVelocity(
            float(target[0] - observation.robot.x) / self._step_s, float(target[1] - observation.robot.y) / self._step_s
        )
