"""Social forces as the robot's own policy (not the crowd's)."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

import numpy as np

from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.kernels import layout
from sidestep.kernels.social_force import make_social_force_scratch
from sidestep.kernels.social_force_moussaid import MoussaidParameters, moussaid_world, push_apart
from sidestep.policies.robot_agent import RobotAgent, check_guide, empty_observation
from sidestep.types import HolonomicVelocity, Observation, Task

DEEPEST_M = 0.2
"""Overlap of two bodies (m) beyond which the near force grows no more."""

PREVIEW_S = 0.5
"""A robot that cannot follow a velocity at once is told the one that the forces lead to after this time (s): one step
changes it too little to turn the wheels by."""


class SocialForce(Policy):
    """Moussaïd's social force along the route, strengths as in SocNavBench's PedSim baseline: people 10, walls 3.

    Its desired force has the factor 1, (wish - v) / 1 s. Moussaïd's force acts along and across the relative velocity
    and vanishes beside the body, so that people who drift together touch; the circular force of Helbing and Molnár
    between the surfaces, A exp(-(d - r) / B), keeps them apart.
    """

    name = "social_force"
    summary = "social forces from people and walls along the route"
    citation = "Helbing, Molnár, Phys. Rev. E 51 (1995); Moussaïd et al., Proc. R. Soc. B 276 (2009)"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "route", "map"})

    def __init__(
        self,
        strength: float = 10.0,
        wall_strength: float = 3.0,
        wall_range: float = 0.3,
        relaxation_time: float = 1.0,
        near_strength: float = 10.0,
        near_range: float = 0.2,
        guide: str = "route",
    ) -> None:
        """Strengths in m/s², ranges in m, time in s; the rest as published by Moussaïd et al."""
        check_guide(self.name, guide)
        if not (0.0 <= near_strength < inf and 0.0 < near_range < inf):
            raise BadInput(
                f"policy 'social_force': near_strength must be at least 0 and near_range above 0, "
                f"not {near_strength!r} and {near_range!r}"
            )
        try:
            self._parameters = MoussaidParameters(
                strength=strength, wall_strength=wall_strength, wall_range=wall_range, relaxation_time=relaxation_time
            ).as_array()
        except ValueError as error:
            raise BadInput(f"policy 'social_force': {error}") from None
        self.settings: dict[str, Any] = {
            "strength": strength,
            "wall_strength": wall_strength,
            "wall_range": wall_range,
            "relaxation_time": relaxation_time,
            "near_strength": near_strength,
            "near_range": near_range,
            "guide": guide,
        }

    def reset(self, task: Task) -> None:
        """Take walls and route of the new episode."""
        self._body = RobotAgent(task, layout.MODEL_MOUSSAID, 1.0, 0.0, self.settings["guide"])
        robot = task.robot
        follows_at_once = robot.dynamics == "holonomic" and robot.limits.max_acceleration is None
        self._step_s = np.float32(task.step_s if follows_at_once else max(task.step_s, PREVIEW_S))
        s = self.settings
        self._near = tuple(
            np.float32(value) for value in (s["near_strength"], s["near_range"], DEEPEST_M, s["relaxation_time"])
        )
        self._columns = 64
        self._scratch = make_social_force_scratch(self._columns)
        self.act(
            empty_observation(task)
        )  # compiles or loads the kernel now, not within the time limit of the first answer
        self._body.restart()

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The velocity after one step under the forces."""
        agents, flags = self._body.fill(observation)
        if agents.shape[1] > self._columns:
            self._columns = 2 * agents.shape[1]
            self._scratch = make_social_force_scratch(self._columns)
        push_apart(agents, *self._near)
        points, dirs, following, _, _, *cells = self._body.walls
        moussaid_world(agents, flags, 1, points, dirs, following, *cells, self._parameters, self._step_s, self._scratch)
        vx, vy = float(agents[layout.NEW_VX, 0]), float(agents[layout.NEW_VY, 0])
        return HolonomicVelocity(*self._body.stopped_at_walls(observation.robot, vx, vy))
