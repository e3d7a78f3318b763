"""SA-CADRL: one look ahead with a learned value of the state among the three nearest people."""

from __future__ import annotations

from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.exact import hypot
from sidestep.interfaces import Policy
from sidestep.policies.cadrl.lookahead import FEATURES, OTHER_FLOATS, ROBOT_FLOATS, SLOTS
from sidestep.policies.cadrl.network import SHIPPED, choose, empty_work, farthest_visible, load_weights
from sidestep.policies.robot_agent import Guide, check_guide, empty_observation, make_guide
from sidestep.types import HolonomicVelocity, Observation, Pedestrians, Task
from sidestep.types.base import FloatArray

SUBGOAL_M = 4.0
"""A point on the way that is not the goal itself is looked at from at least so far, as nobody stops there."""
SIGHT_SLACK_M = 0.03
"""A line of sight may be so much narrower than the body, as the distance field is sampled."""
FARTHEST_M = 8.0
"""A goal is looked at from at most so far: values were learned over such distances."""


def candidates(speeds: int, headings: int) -> FloatArray:
    """(1 + speeds · headings, 3) float32: share of the preferred speed, cosine and sine of the angle to the goal's
    direction. Straight at full speed is first; standing is last."""
    share = np.repeat(np.arange(1, speeds + 1)[::-1] / speeds, headings)
    angle = np.tile(2.0 * np.pi * np.arange(headings) / headings, speeds)
    moving = np.stack([share, exact.cos(angle), exact.sin(angle)], axis=1)
    return np.concatenate([moving, [[0.0, 1.0, 0.0]]]).astype(np.float32)


class RouteInSight:
    """Hands out the farthest point of the route that the robot can see; where it sees none, the one it saw last.

    Unlike a follower that only counts on, it comes back to a point that the robot was pushed away from.
    """

    def __init__(self, route: FloatArray, radius: float, walls: tuple[Any, ...] | None) -> None:
        """``walls``: distance field, its place x, y and cell; None without walls."""
        self._points = np.array(route, np.float64)
        self._margin = radius - SIGHT_SLACK_M
        self._walls = walls
        self._last = 0

    def restart(self) -> None:
        """Forget what was seen."""
        self._last = 0

    def target(self, x: float, y: float) -> tuple[float, float]:
        """The point to head for from (x, y)."""
        seen = len(self._points) - 1
        if self._walls is not None:
            seen = farthest_visible(x, y, self._points, self._margin, *self._walls)
        if seen >= 0:
            self._last = seen
        px, py = self._points[self._last].tolist()
        return px, py


class Cadrl(Policy):
    """Of a fan of velocities the one with the largest reward in the next moment plus the value of where it leads.

    Others are expected to keep their velocity, averaged over two looks. The value network knows no walls: sub-goals
    come from a guide, and velocities that would come near a wall within ``wall_time`` are left out (ours).
    """

    name = "cadrl"
    summary = "SA-CADRL: learned value network for four agents with social norms, weights of our own training"
    citation = "Chen, Everett, Liu, How, Socially aware motion planning with deep reinforcement learning (IROS 2017)"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "route", "map"})

    def __init__(
        self,
        horizon: float = 0.5,
        norm: float = 0.025,
        speeds: int = 4,
        headings: int = 24,
        wall_time: float = 1.0,
        wall_margin: float = 0.1,
        guide: str = "sampling",
        weights: str | None = None,
    ) -> None:
        """``horizon``: length of the look, s. ``norm``: reward taken per half second of breaking the right-hand rule.
        ``wall_margin``: m between body and wall that is kept if it costs little. ``guide``: where sub-goals come from,
        ``sampling`` (checkpoints of the sampling planner) or ``route`` (the farthest point of the route in sight).
        ``weights``: a file of ``sidestep train cadrl``; None: the shipped one."""
        check_guide(self.name, guide)
        if horizon <= 0 or speeds < 1 or headings < 3:
            raise BadInput("cadrl: horizon must be positive, speeds at least 1, headings at least 3")
        self.settings: dict[str, Any] = {
            "horizon": horizon, "norm": norm, "speeds": speeds, "headings": headings, "wall_time": wall_time,
            "wall_margin": wall_margin, "guide": guide, "weights": weights,
        }  # fmt: skip
        self._network = load_weights(Path(weights) if weights is not None else SHIPPED)

    def reset(self, task: Task) -> None:
        """Take way and walls of the new episode."""
        s = self.settings
        self._table = candidates(s["speeds"], s["headings"])
        a = len(self._table)
        self._memory = (
            np.zeros(SLOTS, np.int64), np.zeros((FEATURES, a), np.float32), np.zeros(a, np.float32),
            np.zeros(a, np.float32), self._network.arrays, empty_work(a), np.zeros(a, np.float32),
        )  # fmt: skip
        self._velocity = np.zeros(2)
        self._own = np.zeros(ROBOT_FLOATS, np.float32)
        self._own[4:] = task.robot.limits.max_speed, task.robot.footprint.enclosing_radius
        self._walls = self._take_walls(task)
        self._guide = self._take_guide(task)
        self._last: dict[int, Any] = {}
        self.act(
            empty_observation(task)
        )  # compiles or loads the kernel now, not within the time limit of the first answer
        self._guide.restart()

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The best velocity of the fan."""
        assert observation.goal is not None
        assert observation.pedestrians is not None
        robot = observation.robot
        self._own[:4] = *self._ahead(robot.x, robot.y, observation.goal), robot.vx, robot.vy
        others = self._others(observation.pedestrians, robot.x, robot.y)
        s = self.settings
        choose(
            self._own, others, len(others), self._table, np.float32(s["horizon"]), np.float32(s["norm"]), robot.x,
            robot.y, *self._walls, *self._memory, self._velocity,
        )  # fmt: skip
        return HolonomicVelocity(float(self._velocity[0]), float(self._velocity[1]))

    def _take_walls(self, task: Task) -> tuple[Any, ...]:
        """Time, margin and the distance field with its place and cell; time 0 without walls."""
        scene = task.map
        if scene is None or not len(scene.wall_points):
            return 0.0, 0.0, np.zeros((2, 2), np.float32), 0.0, 0.0, 1.0
        place = (float(scene.distance_origin[0]), float(scene.distance_origin[1]), float(scene.distance_cell))
        return float(self.settings["wall_time"]), float(self.settings["wall_margin"]), scene.distance.copy(), *place

    def _take_guide(self, task: Task) -> Guide:
        """Who knows the way round the walls."""
        if self.settings["guide"] != "route":
            return make_guide(self.settings["guide"], task)
        assert task.route is not None
        field = self._walls[2:] if self._walls[0] > 0 else None
        return RouteInSight(task.route, task.robot.footprint.enclosing_radius, field)

    def _ahead(self, x: float, y: float, goal: tuple[float, float]) -> tuple[float, float]:
        """Way from (x, y) to the point to head for."""
        tx, ty = self._guide.target(x, y)
        dx, dy = tx - x, ty - y
        distance = hypot(dx, dy)
        nearest = 0.0 if hypot(tx - goal[0], ty - goal[1]) < 1e-6 else SUBGOAL_M
        scale = min(max(distance, nearest), FARTHEST_M) / max(distance, 1e-6)
        return dx * scale, dy * scale

    def _others(self, people: Pedestrians, x: float, y: float) -> FloatArray:
        """(N, OTHER_FLOATS) the people relative to the robot, velocities averaged with the last look."""
        others = np.empty((len(people), OTHER_FLOATS), np.float32)
        others[:, 0:2] = people.position - (x, y)
        others[:, 2:4] = people.velocity
        others[:, 4] = people.radius
        seen = {}
        for j, number in enumerate(people.id.tolist()):
            seen[number] = velocity = people.velocity[j]
            if number in self._last:
                others[j, 2:4] = 0.5 * (velocity + self._last[number])
        self._last = seen
        return others
