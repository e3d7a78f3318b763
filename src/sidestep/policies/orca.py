"""ORCA as the robot's own policy: all of the avoidance is the robot's, as people need not notice it."""

from __future__ import annotations

from math import inf
from typing import Any, ClassVar

from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.kernels import layout
from sidestep.kernels.orca import OrcaParameters, make_orca_scratch, orca_world
from sidestep.policies.robot_agent import RobotAgent, check_guide, empty_observation
from sidestep.types import HolonomicVelocity, Observation, Task


def _check(
    horizon: float, wall_horizon: float, neighbours: int, distance: float, radius_scale: float, people_share: float
) -> None:
    try:
        OrcaParameters(
            neighbour_distance=distance, max_neighbours=neighbours, horizon_people=horizon, horizon_walls=wall_horizon
        )
    except ValueError as error:
        raise BadInput(f"policy 'orca': {error}") from None
    if not 0.0 < radius_scale < inf:
        raise BadInput(f"policy 'orca': radius_scale must be above 0, not {radius_scale!r}")
    if not 0.0 <= people_share < inf:
        raise BadInput(f"policy 'orca': people_share must be at least 0, not {people_share!r}")


class Orca(Policy):
    """Optimal reciprocal collision avoidance on the way that the guide knows, walls included.

    Defaults as in SocNavBench's baseline: neighbours up to 50 m, 50 of them, horizon 5 s, radius × 1.05, people take no
    share of the avoidance, and the preferred velocity aims at a checkpoint of the sampling planner. One differs: the
    horizon for walls is 1 s, not 5 s. With 5 s the robot slows down 6 m before a wall that it is not going to touch; it
    takes half as long again, and along the points of a route it stands for good before some corners.
    """

    name = "orca"
    summary = "reciprocal velocity obstacles, the robot takes the whole avoidance"
    citation = "van den Berg, Guy, Lin, Manocha, Reciprocal n-body collision avoidance (2011)"
    dynamics: ClassVar[str] = "holonomic"
    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians", "goal", "route", "map"})

    def __init__(
        self,
        horizon: float = 5.0,
        wall_horizon: float = 1.0,
        neighbours: int = 50,
        neighbour_distance: float = 50.0,
        radius_scale: float = 1.05,
        people_share: float = 0.0,
        guide: str = "sampling",
    ) -> None:
        """``people_share``: the share of an avoidance that people are expected to take, against the robot's 1."""
        check_guide(self.name, guide)
        _check(horizon, wall_horizon, neighbours, neighbour_distance, radius_scale, people_share)
        self.settings: dict[str, Any] = {
            "horizon": horizon,
            "wall_horizon": wall_horizon,
            "neighbours": neighbours,
            "neighbour_distance": neighbour_distance,
            "radius_scale": radius_scale,
            "people_share": people_share,
            "guide": guide,
        }

    def reset(self, task: Task) -> None:
        """Take walls and route of the new episode."""
        s = self.settings
        self._body = RobotAgent(task, layout.MODEL_ORCA, s["radius_scale"], s["people_share"], s["guide"])
        self._scratch = make_orca_scratch(64)
        self._columns = 64
        self._parameters = OrcaParameters(
            time_step=task.step_s,
            neighbour_distance=s["neighbour_distance"],
            max_neighbours=s["neighbours"],
            horizon_people=s["horizon"],
            horizon_walls=s["wall_horizon"],
        ).as_array()
        self.act(
            empty_observation(task)
        )  # compiles or loads the kernel now, not within the time limit of the first answer
        self._body.restart()

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The permitted velocity nearest to full speed towards the guide's point."""
        agents, flags = self._body.fill(observation)
        if agents.shape[1] > self._columns:
            self._columns = 2 * agents.shape[1]
            self._scratch = make_orca_scratch(self._columns)
        orca_world(agents, flags, 1, *self._body.walls, self._parameters, self._scratch)
        return HolonomicVelocity(float(agents[layout.NEW_VX, 0]), float(agents[layout.NEW_VY, 0]))
