"""Social forces as the robot's own policy (not the crowd's)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.social_force_moussaid import MoussaidParameters, moussaid_world
from sidestep.kernels.social_force_neighbours import make_social_force_scratch
from sidestep.policies.as_pedestrian import AsPedestrian, check_guide, empty_look
from sidestep.types import HolonomicVelocity, Observation, Task


class SocialForce:
    """Moussaïd's social force along the route, strengths as in SocNavBench's PedSim baseline: people 10, walls 3."""

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
        relaxation_time: float = 0.5,
        guide: str = "route",
    ) -> None:
        """Strengths in m/s², range in m, time in s; the rest as published by Moussaïd et al."""
        check_guide(self.name, guide)
        self.settings: dict[str, Any] = {
            "strength": strength,
            "wall_strength": wall_strength,
            "wall_range": wall_range,
            "relaxation_time": relaxation_time,
            "guide": guide,
        }

    def reset(self, task: Task) -> None:
        """Take walls and route of the new episode."""
        self._body = AsPedestrian(task, layout.MODEL_MOUSSAID, 1.0, 0.0, self.settings["guide"])
        own = {name: value for name, value in self.settings.items() if name != "guide"}
        self._parameters = MoussaidParameters(**own).as_array()
        self._step_s = np.float32(task.step_s)
        self._columns = 64
        self._scratch = make_social_force_scratch(self._columns)
        self.act(empty_look(task))  # compiles or loads the kernel now, not within the time limit of the first answer

    def act(self, observation: Observation) -> HolonomicVelocity:
        """The velocity after one step under the forces."""
        agents, flags = self._body.fill(observation)
        if agents.shape[1] > self._columns:
            self._columns = 2 * agents.shape[1]
            self._scratch = make_social_force_scratch(self._columns)
        points, dirs, following, _, _, *cells = self._body.walls
        moussaid_world(agents, flags, 1, points, dirs, following, *cells, self._parameters, self._step_s, self._scratch)
        return HolonomicVelocity(float(agents[layout.NEW_VX, 0]), float(agents[layout.NEW_VY, 0]))
