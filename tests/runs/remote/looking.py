"""A policy that looks at everybody; loaded by path, as a user's is."""

from __future__ import annotations

from typing import Any

from sidestep.types import HolonomicVelocity


class Looks:
    needs = frozenset({"goal", "pedestrians"})

    def reset(self, task: Any) -> None: ...

    def act(self, observation: Any) -> HolonomicVelocity:
        return HolonomicVelocity(0.0, 0.5 if len(observation.pedestrians) else 0.1)
