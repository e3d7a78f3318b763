"""Social forces as the robot's own policy (not the crowd's)."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from sidestep.interfaces import Policy
from sidestep.kernels import layout
from sidestep.kernels.social_force import STRENGTH_LIMIT, make_social_force_scratch
from sidestep.kernels.social_force_moussaid import MoussaidParameters, moussaid_world, push_apart
from sidestep.policies.robot_agent import GuideName, RobotAgent, empty_observation
from sidestep.types import HolonomicVelocity, Observation, Task
from sidestep.types.base import Model, NonNegative, Positive

DEEPEST_M = 0.2
"""Overlap of two bodies (m) beyond which the near force grows no more."""

PREVIEW_S = 0.5
"""A robot that cannot follow a velocity at once gets the one that the forces lead to after this time (s): a single step
changes it too little to turn the wheels."""
Strength = Annotated[NonNegative, Field(le=STRENGTH_LIMIT)]


class SocialForceSettings(Model):
    """Settings of the policy ``social_force``: strengths in m/s², ranges in m, time in s; the rest as published."""

    strength: Strength = 10.0
    wall_strength: Strength = 3.0
    wall_range: Positive = 0.3
    relaxation_time: Positive = 1.0
    near_strength: NonNegative = 10.0
    near_range: Positive = 0.2
    guide: GuideName = "route"


class SocialForce(Policy):
    """Moussaïd's social force along the route, strengths as in SocNavBench's PedSim baseline: people 10, walls 3.

    Its desired force has the factor 1, (preferred velocity - v) / 1 s. Moussaïd's force acts along and across the
    relative velocity and vanishes beside the body, so that people who drift together touch; the circular force of
    Helbing and Molnár between the surfaces, A exp(-(d - r) / B), keeps them apart.
    """

    name = "social_force"
    summary = "social forces from people and walls along the route"
    citation = "Helbing, Molnár, Phys. Rev. E 51 (1995); Moussaïd et al., Proc. R. Soc. B 276 (2009)"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "route", "map"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`SocialForceSettings`."""
        self._settings = s = SocialForceSettings.parse(settings, "policy social_force")
        self.settings: dict[str, Any] = s.model_dump()
        self._parameters = MoussaidParameters(
            strength=s.strength,
            wall_strength=s.wall_strength,
            wall_range=s.wall_range,
            relaxation_time=s.relaxation_time,
        ).as_array()

    def reset(self, task: Task) -> None:
        """Take walls and route of the new episode."""
        robot, s = task.robot, self._settings
        self._body = RobotAgent(task, layout.MODEL_MOUSSAID, make_social_force_scratch, s.guide)
        follows_at_once = robot.dynamics == "holonomic" and robot.limits.max_acceleration is None
        self._step_s = layout.float32(task.step_s if follows_at_once else max(task.step_s, PREVIEW_S))
        near = (s.near_strength, s.near_range, DEEPEST_M, s.relaxation_time)
        self._near = tuple(layout.float32(value) for value in near)
        self.act(empty_observation(task))  # compiles now, not within the time limit of the first answer
        self._body.restart()

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The velocity after one step under the forces."""
        agents, flags = self._body.fill(observation)
        push_apart(agents, *self._near)
        body = self._body
        moussaid_world(agents, flags, 1, body.walls, self._parameters, self._step_s, body.scratch, 0, 1)
        vx, vy = float(agents[layout.NEW_VX, 0]), float(agents[layout.NEW_VY, 0])
        return HolonomicVelocity(*self._body.stopped_at_walls(observation.robot, vx, vy))
