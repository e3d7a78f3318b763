"""SA-CADRL: one look ahead with a learned value of the state among the three nearest people."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from sidestep._util import exact
from sidestep._util.exact import hypot
from sidestep.interfaces import Policy
from sidestep.policies.cadrl.lookahead import FEATURES, OTHER_FLOATS, ROBOT_FLOATS, SLOTS, Around, Fan, Look
from sidestep.policies.cadrl.network import SHIPPED, WallRule, Walls, choose, empty_work, farthest_visible, load_weights
from sidestep.policies.robot_agent import Guide, GuideName, empty_observation, make_guide
from sidestep.types import HolonomicVelocity, Observation, Pedestrians, Task
from sidestep.types.base import Finite, FloatArray, Model, Positive

SUBGOAL_M = 4.0
"""A sub-goal that is not the goal itself counts as at least this far away, as the robot does not stop there."""
SIGHT_SLACK_M = 0.03
"""A line of sight may be this much narrower than the body, as the distance field is sampled."""
FARTHEST_M = 8.0
"""A goal counts as at most this far away: values were learned over such distances."""


def candidates(speeds: int, headings: int) -> FloatArray:
    """(1 + speeds · headings, 3) float32: share of the preferred speed, cosine and sine of the angle to the goal's
    direction. Straight at full speed is first; standing is last."""
    share = np.repeat(np.arange(1, speeds + 1)[::-1] / speeds, headings)
    angle = np.tile(2.0 * np.pi * np.arange(headings) / headings, speeds)
    moving = np.stack([share, exact.cos(angle), exact.sin(angle)], axis=1)
    return np.concatenate([moving, [[0.0, 1.0, 0.0]]]).astype(np.float32)


class RouteInSight:
    """Gives the farthest point of the route that the robot can see; where it sees none, the one it saw last.

    Unlike a follower that only counts on, it comes back to a point that the robot was pushed away from.
    """

    def __init__(self, route: FloatArray, radius: float, walls: Walls | None) -> None:
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
            seen = farthest_visible(x, y, self._points, self._margin, self._walls)
        if seen >= 0:
            self._last = seen
        px, py = self._points[self._last].tolist()
        return px, py


class CadrlSettings(Model):
    """Settings of the policy ``cadrl``."""

    horizon: Positive = 0.5
    """Length of the look ahead, s."""
    norm: Finite = 0.025
    """Reward lost per half second of breaking the right-hand rule."""
    speeds: Annotated[int, Field(ge=1)] = 4
    headings: Annotated[int, Field(ge=3)] = 24
    wall_time: Finite = 1.0
    """How far ahead walls count, s."""
    wall_margin: Finite = 0.1
    """Distance between body and wall that is kept if it costs little, m."""
    guide: GuideName = "sampling"
    """Source of sub-goals: checkpoints of the sampling planner, or the farthest point of the ``route`` in sight."""
    weights: str | None = None
    """A file of ``sidestep train cadrl``; None: the shipped one."""


class Cadrl(Policy):
    """Takes the velocity of a fan with the largest reward in the next moment plus the value of the state it leads to.

    Others are expected to keep their velocity, averaged over two observations. The value network knows no walls:
    sub-goals come from a guide, and velocities that would come near a wall within ``wall_time`` are left out (ours).
    """

    name = "cadrl"
    summary = "SA-CADRL: learned value network for four agents with social norms, weights of our own training"
    citation = "Chen, Everett, Liu, How, Socially aware motion planning with deep reinforcement learning (IROS 2017)"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "route", "map"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`CadrlSettings`."""
        self._settings = CadrlSettings.parse(settings, "policy cadrl")
        self.settings: dict[str, Any] = self._settings.model_dump()
        weights = self._settings.weights
        self._network = load_weights(Path(weights) if weights is not None else SHIPPED)

    def reset(self, task: Task) -> None:
        """Take route and walls of the new episode."""
        s = self._settings
        self._fan = Fan(candidates(s.speeds, s.headings), np.float32(s.horizon), np.float32(s.norm))
        a = len(self._fan.table)
        self._look = Look(np.zeros((FEATURES, a), np.float32), np.zeros(a, np.float32), np.zeros(a, np.float32))
        self._work, self._values = empty_work(a), np.zeros(a, np.float32)
        self._velocity = np.zeros(2)
        self._own, self._nearest = np.zeros(ROBOT_FLOATS, np.float32), np.zeros(SLOTS, np.int64)
        self._own[4:] = task.robot.limits.max_speed, task.robot.footprint.enclosing_radius
        self._take_walls(task)
        self._last: dict[int, Any] = {}
        self.act(empty_observation(task))  # compiles now, not within the time limit of the first answer
        self._guide.restart()

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The best velocity of the fan."""
        assert observation.goal is not None
        assert observation.pedestrians is not None
        robot = observation.robot
        self._own[:4] = *self._ahead(robot.x, robot.y, observation.goal), robot.vx, robot.vy
        others = self._others(observation.pedestrians, robot.x, robot.y)
        choose(
            Around(self._own, others, self._nearest), self._fan, self._look, self._network.arrays, self._work,
            self._values, robot.x, robot.y, self._rule, self._walls, self._velocity,
        )  # fmt: skip
        return HolonomicVelocity(float(self._velocity[0]), float(self._velocity[1]))

    def _take_walls(self, task: Task) -> None:
        """Set the walls, how they count, and the guide round them."""
        scene, s = task.map, self._settings
        self._rule, self._walls = WallRule(0.0, 0.0), Walls(np.zeros((2, 2), np.float32), 0.0, 0.0, 1.0)
        if scene is not None and len(scene.wall_points):
            x0, y0 = scene.distance_origin
            self._rule = WallRule(s.wall_time, s.wall_margin)
            self._walls = Walls(scene.distance.copy(), float(x0), float(y0), float(scene.distance_cell))
        self._guide: Guide
        if s.guide == "route":
            assert task.route is not None
            walls = self._walls if self._rule.time > 0 else None
            self._guide = RouteInSight(task.route, task.robot.footprint.enclosing_radius, walls)
        else:
            self._guide = make_guide(s.guide, task)

    def _ahead(self, x: float, y: float, goal: tuple[float, float]) -> tuple[float, float]:
        """Vector from (x, y) to the point to head for."""
        tx, ty = self._guide.target(x, y)
        dx, dy = tx - x, ty - y
        distance = hypot(dx, dy)
        nearest = 0.0 if hypot(tx - goal[0], ty - goal[1]) < 1e-6 else SUBGOAL_M
        scale = min(max(distance, nearest), FARTHEST_M) / max(distance, 1e-6)
        return dx * scale, dy * scale

    def _others(self, people: Pedestrians, x: float, y: float) -> FloatArray:
        """(N, OTHER_FLOATS) the people relative to the robot, velocities averaged with the last observation's."""
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
