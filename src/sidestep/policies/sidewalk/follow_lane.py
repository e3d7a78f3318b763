"""The two policies of the sidewalk suites: ``follow_lane`` keeps to the sidewalk round what stands on it and sees
nobody; ``expert`` (privileged) also knows everybody's state, groups and gestures, and shows what can be done.
"""

from __future__ import annotations

from math import inf, sqrt
from typing import Any, ClassVar

import numpy as np

from sidestep import registry
from sidestep.exact import cos, hypot, sin
from sidestep.interfaces import Policy, Predictor
from sidestep.policies.robot_agent import empty_observation
from sidestep.policies.sidewalk.lane_planner import PATH_STEP_S, LanePlanner
from sidestep.types import Command, Observation, Pedestrians, RobotState, Task, Velocity
from sidestep.types.base import FloatArray, Model, NonNegative, Positive
from sidestep.types.events import GESTURES


class LaneSettings(Model):
    """Settings of the lane follower."""

    cruise_mps: Positive = 1.5
    think_s: NonNegative = 0.1
    """Time between two plans; in between, the command stays."""


class ExpertSettings(LaneSettings):
    """Settings of the expert."""

    predictor: str = "constant_velocity"
    """Who says where people will be: a name of ``sidestep list predictors``, ``module:Class`` or ``file.py:Class``."""


class FollowLane(Policy):
    """Drives the route along the sidewalk, round what stands on it, as if there were no people."""

    name = "follow_lane"
    summary = "keeps to the sidewalk along its route, round static things; does not see people"
    citation = "Sidestep"
    dynamics: ClassVar[str] = "unicycle"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "route", "goal"})
    plan_step_s = PATH_STEP_S
    settings_model: ClassVar[type[LaneSettings]] = LaneSettings
    _predictor: Predictor | None = None

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`LaneSettings`."""
        self._settings = self.settings_model.parse(settings, f"policy {self.name}")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """Prepare the map and compile."""
        self._begin(task)
        self.act(empty_observation(task))  # compiles now, not within the time limit of the first answer
        self._begin(task)

    def _begin(self, task: Task) -> None:
        self._planner = LanePlanner(task, self._settings.cruise_mps, self._predictor)
        self._command, self._until = Velocity(0.0, 0.0), -1.0

    def act(self, observation: Observation) -> Command:
        """The cheapest way to go on, planned every ``think_s``."""
        if observation.time >= self._until - 1e-9:
            self._command = self._drive(observation)
            self._until = observation.time + self._settings.think_s
        return self._command

    @property
    def plan(self) -> FloatArray | None:
        """(H, 2) the path chosen last, every ``plan_step_s``, m."""
        return self._planner.path()

    def _drive(self, observation: Observation) -> Velocity:
        return self._planner.drive(observation.time, observation.robot, None)


STOP_BEFORE_M = 2.2
"""Distance between centres at which it stands before a person who raises a hand."""
CALM_MPS2 = 0.8
HEEDED_M = 12.0
"""A raised hand counts within this distance."""


class Expert(FollowLane):
    """Drives along the route round everything and everybody, where they are predicted; stops when told to."""

    name = "expert"
    summary = "privileged: map, everybody's state, groups and gestures; keeps off all and stops when told to"
    needs: ClassVar[frozenset[str]] = frozenset({"map", "route", "goal", "pedestrians"})
    privileged: ClassVar[bool] = True
    settings_model: ClassVar[type[LaneSettings]] = ExpertSettings

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`ExpertSettings`."""
        super().__init__(**settings)
        self._predictor = registry.make_predictor(self.settings["predictor"])

    def _drive(self, observation: Observation) -> Velocity:
        people = observation.pedestrians
        cap = inf if people is None else allowed_speed(observation.robot, people)
        return self._planner.drive(observation.time, observation.robot, people, cap)


def allowed_speed(robot: RobotState, people: Pedestrians) -> float:
    """Top speed (m/s) with which the robot can still stop before everybody who raises a hand to it."""
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
