"""The two policies of the sidewalk suites and their settings: ``follow_lane`` keeps to the sidewalk round what stands
on it and sees nobody; ``expert`` (privileged) also knows everybody's state, groups and gestures, and shows what can
be done.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np

from sidestep.exact import cos, hypot, sin
from sidestep.interfaces import Policy
from sidestep.policies.robot_agent import empty_observation
from sidestep.policies.sidewalk.lane_planner import PATH_STEP_S, LanePlanner
from sidestep.types import Command, Observation, Pedestrians, RobotState, Task, Velocity
from sidestep.types.base import FloatArray, Model, NonNegative, Positive
from sidestep.types.events import GESTURES


class LaneSettings(Model):
    """Of the lane follower and of the expert."""

    cruise_mps: Positive = 1.5
    think_s: NonNegative = 0.1
    """Time between two plans; in between, the command stays."""


class FollowLane(Policy):
    """The route along the sidewalk, round what stands on it, as if there were no people."""

    name = "follow_lane"
    summary = "keeps to the sidewalk along its route, round static things; does not see people"
    citation = "Sidestep"
    dynamics: ClassVar[str] = "unicycle"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "route", "goal"})
    plan_step_s = PATH_STEP_S

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`LaneSettings`."""
        self._settings = LaneSettings.parse(settings, f"policy {self.name}")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """Prepare the map and compile."""
        self._begin(task)
        self.act(
            empty_observation(task)
        )  # compiles or loads the kernels now, not within the time limit of the first answer
        self._begin(task)

    def _begin(self, task: Task) -> None:
        self._planner = LanePlanner(task, self._settings.cruise_mps)
        self._command, self._until = Velocity(0.0, 0.0), -1.0

    def act(self, observation: Observation) -> Command:
        """The best way to go on, thought over every ``think_s``."""
        if observation.time >= self._until - 1e-9:
            self._command = self._drive(observation)
            self._until = observation.time + self._settings.think_s
        return self._command

    @property
    def plan(self) -> FloatArray | None:
        """(H, 2) the way chosen last, every ``plan_step_s``, m."""
        return self._planner.path()

    def _drive(self, observation: Observation) -> Velocity:
        return self._planner.drive(observation.robot, None)


STOP_BEFORE_M = 2.2
"""It stands so far, from centre to centre, before somebody who raises a hand."""
CALM_MPS2 = 0.8
HEEDED_M = 12.0
"""Nearer than this, a raised hand is heeded."""


class Expert(FollowLane):
    """The best way along the route round everything and everybody, as they go on walking; stops when told to."""

    name = "expert"
    summary = "privileged: map, everybody's state, groups and gestures; keeps off all and stops when told to"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "route", "goal", "pedestrians"})
    privileged: ClassVar[bool] = True

    def _drive(self, observation: Observation) -> Velocity:
        people = observation.pedestrians
        cap = inf if people is None else allowed_speed(observation.robot, people)
        return self._planner.drive(observation.robot, people, cap)


def allowed_speed(robot: RobotState, people: Pedestrians) -> float:
    """How fast those who raise a hand to the robot let it go: it is to stand before the nearest of them."""
    if people.gesture is None:
        return inf
    slowest = inf
    for k in np.flatnonzero(people.gesture == GESTURES["stop"]).tolist():
        dx, dy = float(people.position[k, 0]) - robot.x, float(people.position[k, 1]) - robot.y
        away, facing = hypot(dx, dy), float(people.heading[k])
        ahead = dx * cos(robot.heading) + dy * sin(robot.heading) > 0.0
        to_me = -dx * cos(facing) - dy * sin(facing) > 0.0
        if away < HEEDED_M and ahead and to_me:
            room = away - STOP_BEFORE_M
            slowest = min(slowest, sqrt(2.0 * CALM_MPS2 * room) if room > 0.0 else 0.0)
    return slowest
