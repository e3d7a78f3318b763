"""Drivers that see nobody. They must lose in the intersection suite, which checks what the suite rewards.

sidestep run intersection --set flow=continuous --policy comfort_zone --policy pid \\
    --policy examples/blind_drivers.py:Dashes --policy examples/blind_drivers.py:WaitsThenDashes \\
    --policy examples/blind_drivers.py:Creeps --policy examples/blind_drivers.py:WaitsForAGap
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sidestep.policies.driving.pid import PidDriver
from sidestep.types import Command, Drive, Observation, Task


class Dashes(PidDriver):
    """The PID driver among people and vehicles that it does not see."""

    name = "dashes"
    summary = "drives at 20 km/h and sees nobody"
    needs: ClassVar[frozenset[str]] = frozenset({"route"})


class Creeps(Dashes):
    """The same at 5 km/h: people see it for longer, and it is in their way for longer."""

    name = "creeps"
    summary = "drives at 5 km/h and sees nobody"

    def __init__(self, target_kmh: float = 5.0, **settings: Any) -> None:
        super().__init__(target_kmh=target_kmh, **settings)


class WaitsThenDashes(Dashes):
    """Stands until people who cross once have crossed, then drives blindly."""

    name = "waits_then_dashes"
    summary = "waits 30 s, then drives at 20 km/h and sees nobody"
    seconds = 30.0

    def act(self, observation: Observation) -> Command:
        """Stand, then drive."""
        if observation.time < self.seconds:
            return Drive(0.0, 0.0, 1.0)
        return super().act(observation)


class WaitsForAGap(PidDriver):
    """Starts when nobody is near the next metres of its route, and from then on sees nobody: a gap at the first
    crossing is none at the second."""

    name = "waits_for_a_gap"
    summary = "waits until nobody is ahead, then drives at 20 km/h and sees nobody"
    look_m, aside_m = 15.0, 4.0

    def reset(self, task: Task) -> None:
        """It stands."""
        super().reset(task)
        self._goes = False

    def act(self, observation: Observation) -> Command:
        """Look once, then drive."""
        if not self._goes and self._is_free(observation):
            self._goes = True
        if not self._goes:
            return Drive(0.0, 0.0, 1.0)
        return super().act(observation)

    def _is_free(self, observation: Observation) -> bool:
        people = observation.pedestrians
        if people is None or not len(people.id):
            return True
        along, aside = self._route.project(people.position[:, 0], people.position[:, 1])
        near = (along > 0.0) & (along < self.look_m) & (np.abs(aside) < self.aside_m)
        return not bool(near.any())

    def _speed_share(self, observation: Observation, x: float, y: float, ahead: tuple[float, float]) -> float:
        return 1.0
