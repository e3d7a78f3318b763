"""Follows its lane and minds walls, but nobody."""

from __future__ import annotations

from typing import Any, ClassVar

from sidestep.policies.as_pedestrian import empty_look
from sidestep.policies.sidewalk.lane import PATH_STEP_S, LanePlanner
from sidestep.policies.sidewalk.settings import LaneSettings
from sidestep.types import Command, Observation, Task, Velocity
from sidestep.types.base import FloatArray


class FollowLane:
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
        self.act(empty_look(task))  # compiles or loads the kernels now, not within the time limit of the first answer
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
