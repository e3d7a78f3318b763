"""Never moves: shows what collisions the people alone would cause."""

from __future__ import annotations

from typing import ClassVar

from sidestep.types import HolonomicVelocity, Observation, Task


class Stop:
    """Stands still for the whole episode."""

    name = "stop"
    summary = "stands still: the collisions that remain are the people's"
    citation = ""
    needs: ClassVar[frozenset[str]] = frozenset()

    def reset(self, task: Task) -> None:
        """Nothing to remember."""

    def act(self, observation: Observation) -> HolonomicVelocity:
        """Zero velocity."""
        return HolonomicVelocity(0.0, 0.0)
