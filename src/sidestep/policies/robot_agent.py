"""The robot as one agent of a crowd model: the arrays from which the model computes the robot's next velocity, and the
guides (sampling planner or route) that give the point to head for.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, Protocol

import numpy as np

from sidestep._util.exact import hypot
from sidestep.kernels import layout
from sidestep.policies.sampling.planner import Checkpoints, SamplingPlanner
from sidestep.types import CompiledScene, Observation, Pedestrians, RobotState, Task
from sidestep.types.base import FloatArray, IntArray

PASSED_M = 0.7
"""Distance within which a point of the route counts as passed."""


class RouteFollower:
    """Gives the points of a route one after the other; the last one stays.

    A point is passed within ``near_m``, or when the robot is beyond it in the direction of the next one and within
    ``beside_m``.
    """

    def __init__(self, points: FloatArray, near_m: float = PASSED_M, beside_m: float = 2 * PASSED_M) -> None:
        self._points = [(float(x), float(y)) for x, y in points]
        self._near_m, self._beside_m = near_m, beside_m
        self._next = 0

    def restart(self) -> None:
        """Begin at the first point again."""
        self._next = 0

    def target(self, x: float, y: float) -> tuple[float, float]:
        """The point to head for from (x, y)."""
        while self._next < len(self._points) - 1 and self._passed(x, y):
            self._next += 1
        return self._points[self._next]

    def _passed(self, x: float, y: float) -> bool:
        (px, py), (qx, qy) = self._points[self._next], self._points[self._next + 1]
        away = hypot(px - x, py - y)
        beyond = (x - px) * (qx - px) + (y - py) * (qy - py) > 0
        return bool(away < self._near_m or (beyond and away < self._beside_m))


def walls_of(scene: CompiledScene | None) -> layout.Walls:
    """The scene's walls as the kernels take them; none without a map."""
    return layout.no_walls() if scene is None or not len(scene.wall_points) else layout.copy_walls(scene)


def empty_observation(task: Task) -> Observation:
    """An observation at the start with nobody in sight."""
    none = np.zeros((0, 2))
    nobody = Pedestrians(np.zeros(0, np.int64), none, none, np.zeros(0), np.zeros(0), np.zeros(0, np.int32))
    return Observation(0.0, RobotState(*task.start, 0.0, 0.0, 0.0), task.goal, nobody)


WALL_GAP_M = 0.02
"""Distance kept between body and wall, m: the distance field is exact to about a millimetre at its samples only."""


class Guide(Protocol):
    """Leads round the walls."""

    def target(self, x: float, y: float) -> tuple[float, float]:
        """The point to head for from (x, y), m."""
        ...

    def restart(self) -> None:
        """Begin at the start again."""
        ...


GuideName = Literal["sampling", "route"]


def make_guide(name: GuideName, task: Task) -> Guide:
    """``sampling``: checkpoints of the sampling planner; ``route``: the points of the task's route."""
    if name == "sampling":
        return Checkpoints(SamplingPlanner(task))
    assert task.route is not None
    return RouteFollower(task.route)


class RobotAgent:
    """Column 0 is the robot, moved by ``model``; the observed people follow in the other columns."""

    def __init__(
        self, task: Task, model: int, make_scratch: Callable[[int], FloatArray], guide: GuideName,
        radius_scale: float = 1.0, people_share: float = 0.0,
    ) -> None:  # fmt: skip
        self.walls = walls_of(task.map)
        self._make_scratch, self._columns = make_scratch, 64
        self.scratch = make_scratch(self._columns)
        """The model's working memory, enough for the agents of the last :meth:`fill`."""
        self._task = task
        self._model = model
        self._body_radius = task.robot.footprint.enclosing_radius
        self._radius = self._body_radius * radius_scale
        self._people_share = people_share
        self._guide = make_guide(guide, task)
        self._speed = task.robot.limits.max_speed

    def restart(self) -> None:
        """Forget where the robot was last."""
        self._guide.restart()

    def fill(self, observation: Observation) -> tuple[FloatArray, IntArray]:
        """Agents (AGENT_ROWS, N + 1) and flags (FLAG_ROWS, N + 1) for one observation."""
        people = observation.pedestrians
        assert people is not None
        columns = len(people) + 1
        if columns > self._columns:
            self._columns = 2 * columns
            self.scratch = self._make_scratch(self._columns)
        agents = np.zeros((layout.AGENT_ROWS, columns), np.float32)
        flags = np.zeros((layout.FLAG_ROWS, columns), np.int32)
        robot = observation.robot
        agents[: layout.RADIUS + 1, 0] = robot.x, robot.y, robot.vx, robot.vy, self._radius
        agents[[layout.PREF_SPEED, layout.MAX_SPEED], 0] = self._speed
        agents[[layout.WISH_X, layout.WISH_Y], 0] = self._preferred_velocity(robot.x, robot.y)
        agents[layout.SHARE, 0] = 1.0
        agents[[layout.PX, layout.PY], 1:] = people.position.T
        agents[[layout.VX, layout.VY], 1:] = people.velocity.T
        agents[layout.RADIUS, 1:] = people.radius
        agents[layout.SHARE, 1:] = self._people_share
        flags[layout.ACTIVE] = 1
        flags[layout.SEES_ROBOT] = 1
        flags[layout.GROUP] = -1
        flags[layout.MODEL, 0] = self._model
        return agents, flags

    def stopped_at_walls(self, robot: RobotState, vx: float, vy: float) -> tuple[float, float]:
        """(vx, vy) without its part into a wall that the body would reach within the next step.

        Walls stop simulated people in the same way; a force alone does not stop a robot that is pushed hard enough.
        """
        scene = self._task.map
        if scene is None or not len(scene.wall_points):
            return vx, vy
        step, reach = self._task.step_s, self._body_radius + WALL_GAP_M
        x, y = robot.x + vx * step, robot.y + vy * step
        ahead, here = scene.clearance(x, y), scene.clearance(robot.x, robot.y)
        if ahead >= reach or ahead >= here:
            return vx, vy
        half = 0.5 * scene.distance_cell
        gx = scene.clearance(x + half, y) - scene.clearance(x - half, y)
        gy = scene.clearance(x, y + half) - scene.clearance(x, y - half)
        norm = hypot(gx, gy)
        if norm > 1e-9:
            gx, gy = gx / norm, gy / norm
            lost = min(reach - ahead, here - ahead) / step
            vx, vy = vx + lost * gx, vy + lost * gy
        if norm <= 1e-9 or scene.clearance(robot.x + vx * step, robot.y + vy * step) < self._body_radius:
            return 0.0, 0.0
        return vx, vy

    def _preferred_velocity(self, x: float, y: float) -> tuple[float, float]:
        """Full speed toward the guide's point, slower only so as not to overshoot the goal in one step."""
        tx, ty = self._guide.target(x, y)
        dx, dy = tx - x, ty - y
        distance = hypot(dx, dy)
        if distance < 1e-9:
            return 0.0, 0.0
        speed = min(self._speed, distance / self._task.step_s)
        return dx / distance * speed, dy / distance * speed
