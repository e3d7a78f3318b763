"""ORCA as the robot's own policy: all of the avoidance is the robot's, as people need not notice it."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar

from pydantic import Field

from sidestep.interfaces import Policy
from sidestep.kernels import layout
from sidestep.kernels.neighbours import MAX_NEIGHBOURS
from sidestep.kernels.orca import OrcaParameters, make_orca_scratch, orca_world
from sidestep.policies.robot_agent import GuideName, RobotAgent, empty_observation
from sidestep.types import HolonomicVelocity, Observation, Task
from sidestep.types.base import Model, NonNegative, Positive


class OrcaSettings(Model):
    """Settings of the policy ``orca``; times in s, distances in m."""

    horizon: Positive = 5.0
    wall_horizon: Positive = 1.0
    neighbours: Annotated[int, Field(ge=0, le=MAX_NEIGHBOURS)] = 50
    neighbour_distance: NonNegative = 50.0
    radius_scale: Positive = 1.05
    people_share: NonNegative = 0.0
    """The share of an avoidance that people are expected to take, against the robot's 1."""
    guide: GuideName = "sampling"


class Orca(Policy):
    """Optimal reciprocal collision avoidance along the path that the guide gives, walls included.

    Defaults as in SocNavBench's baseline: neighbours up to 50 m, 50 of them, horizon 5 s, radius × 1.05, people take no
    share of the avoidance, and the preferred velocity aims at a checkpoint of the sampling planner. One differs: the
    horizon for walls is 1 s, not 5 s. With 5 s the robot slows down 6 m before a wall that it is not going to touch,
    takes half as long again, and stands for good before some corners of a route.
    """

    name = "orca"
    summary = "reciprocal velocity obstacles, the robot takes the whole avoidance"
    citation = "van den Berg, Guy, Lin, Manocha, Reciprocal n-body collision avoidance (2011)"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "route", "map"})

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`OrcaSettings`."""
        self._settings = OrcaSettings.parse(settings, "policy orca")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def reset(self, task: Task) -> None:
        """Take walls and route of the new episode."""
        s = self._settings
        self._body = RobotAgent(task, layout.MODEL_ORCA, make_orca_scratch, s.guide, s.radius_scale, s.people_share)
        self._parameters = OrcaParameters(
            time_step=task.step_s,
            neighbour_distance=s.neighbour_distance,
            max_neighbours=s.neighbours,
            horizon_people=s.horizon,
            horizon_walls=s.wall_horizon,
        ).as_array()
        self.act(empty_observation(task))  # compiles now, not within the time limit of the first answer
        self._body.restart()

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The permitted velocity nearest to full speed towards the guide's point."""
        agents, flags = self._body.fill(observation)
        orca_world(agents, flags, 1, self._body.walls, self._parameters, self._body.scratch)
        return HolonomicVelocity(float(agents[layout.NEW_VX, 0]), float(agents[layout.NEW_VY, 0]))
