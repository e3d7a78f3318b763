"""People as the planner sees them: where they are and how they are expected to go on."""

from __future__ import annotations

import numpy as np

from sidestep.types.base import FloatArray
from sidestep.types.observation import Pedestrians

SIGHT_M = 15.0


class PeopleTracker:
    """Velocities smoothed over ``tau`` seconds: recordings are interpolated, so that raw ones jump."""

    def __init__(self, tau: float) -> None:
        self._tau = tau
        self._velocity: dict[int, tuple[float, float]] = {}
        self._time = 0.0

    def update(self, time: float, people: Pedestrians, x: float, y: float) -> FloatArray:
        """(N, 5) x, y, vx, vy, radius of everybody in sight."""
        share = min(1.0, (time - self._time) / self._tau) if self._tau > 0.0 else 1.0
        self._time = time
        rows, known = [], {}
        for number, (px, py), (vx, vy), radius in zip(
            people.id.tolist(), people.position.tolist(), people.velocity.tolist(), people.radius.tolist(), strict=True
        ):
            old = self._velocity.get(number)
            if old is not None:
                vx, vy = old[0] + share * (vx - old[0]), old[1] + share * (vy - old[1])
            known[number] = (vx, vy)
            if (px - x) ** 2 + (py - y) ** 2 < SIGHT_M**2:
                rows.append((px, py, vx, vy, radius))
        self._velocity = known
        return np.array(rows, dtype=np.float64).reshape(-1, 5)
