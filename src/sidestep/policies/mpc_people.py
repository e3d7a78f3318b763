"""People as the planner sees them: where they are and how they are expected to go on."""

from __future__ import annotations

import numpy as np

from sidestep.types.base import FloatArray
from sidestep.types.observation import Pedestrians

SIGHT_M = 15.0
"""People further away do not matter within the horizon."""
NEAR_M = 3.0
TURNED_MPS = 0.3
"""Somebody within ``NEAR_M`` whose velocity has changed by more than ``TURNED_MPS`` is expected to go on either way."""


class PeopleTracker:
    """Velocities smoothed over ``memory_s``: recordings are interpolated between annotations, so that raw ones jump."""

    def __init__(self, memory_s: float) -> None:
        self._memory_s = memory_s
        self._velocity: dict[int, tuple[float, float]] = {}
        self._time = 0.0
        self.ids: list[int] = []
        """Whom each row of the last update is of."""

    def update(self, time: float, people: Pedestrians, x: float, y: float) -> FloatArray:
        """(N, 5) x, y, vx, vy, radius of everybody in sight of (x, y); somebody who turned near it has two rows."""
        elapsed, self._time = time - self._time, time
        share = elapsed / self._memory_s if elapsed < self._memory_s else 1.0
        rows: list[tuple[float, float, float, float, float]] = []
        known = {}
        ids = []
        for number, (px, py), (vx, vy), radius in zip(
            people.id.tolist(), people.position.tolist(), people.velocity.tolist(), people.radius.tolist(), strict=True
        ):
            away = (px - x) * (px - x) + (py - y) * (py - y)
            old = self._velocity.get(number)
            if old is not None:
                change_x, change_y = vx - old[0], vy - old[1]
                turned = change_x * change_x + change_y * change_y > TURNED_MPS * TURNED_MPS
                if turned and away < NEAR_M * NEAR_M:
                    rows.append((px, py, vx, vy, radius))
                    ids.append(number)
                vx, vy = old[0] + share * change_x, old[1] + share * change_y
            known[number] = (vx, vy)
            if away < SIGHT_M * SIGHT_M:
                rows.append((px, py, vx, vy, radius))
                ids.append(number)
        self._velocity, self.ids = known, ids
        return np.array(rows, np.float64).reshape(-1, 5)
