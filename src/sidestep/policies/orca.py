"""ORCA as the robot's own policy: all of the avoidance is the robot's, as people need not notice it."""

from __future__ import annotations

from typing import Any, ClassVar

from sidestep.kernels import layout
from sidestep.kernels.orca import OrcaParameters, make_orca_scratch, orca_world
from sidestep.policies.as_pedestrian import AsPedestrian, check_guide, empty_look
from sidestep.types import HolonomicVelocity, Observation, Task


class Orca:
    """Optimal reciprocal collision avoidance along the route, walls included.

    Defaults as in SocNavBench's baseline: horizons 5 s, radius × 1.05, people take no share of the avoidance.
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
        self._body = AsPedestrian(task, layout.MODEL_ORCA, s["radius_scale"], s["people_share"], s["guide"])
        self._scratch = make_orca_scratch(64)
        self._columns = 64
        self._parameters = OrcaParameters(
            time_step=task.step_s,
            neighbour_distance=s["neighbour_distance"],
            max_neighbours=s["neighbours"],
            horizon_people=s["horizon"],
            horizon_walls=s["wall_horizon"],
        ).as_array()
        self.act(empty_look(task))  # compiles or loads the kernel now, not within the time limit of the first answer

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The permitted velocity nearest to full speed along the route."""
        agents, flags = self._body.fill(observation)
        if agents.shape[1] > self._columns:
            self._columns = 2 * agents.shape[1]
            self._scratch = make_orca_scratch(self._columns)
        orca_world(agents, flags, 1, *self._body.walls, self._parameters, self._scratch)
        return HolonomicVelocity(float(agents[layout.NEW_VX, 0]), float(agents[layout.NEW_VY, 0]))
