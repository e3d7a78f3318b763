"""Directors: people who do something because of what they see, step by step.

A director belongs to one episode of one world. Before every step it may change its people: their waypoints, speeds,
crowd model, gesture, where they face and look. What it does must follow from the world and its own seed alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

from sidestep.types import Event

if TYPE_CHECKING:
    from sidestep.simulation.worlds import Worlds


class Director(Protocol):
    """Tells people what to do."""

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """Change the people of world ``b`` before its next step; the events (``trigger``) that this caused."""


class Cast:
    """Several directors of one world, one after the other; a later one has the last word."""

    def __init__(self, directors: Sequence[Director]) -> None:
        self._directors = tuple(directors)

    def direct(self, worlds: Worlds, b: int) -> list[Event]:
        """All of them, in order."""
        return [event for director in self._directors for event in director.direct(worlds, b)]


def make_cast(makers: Sequence[Callable[[], Director]]) -> Callable[[], Director] | None:
    """What makes the director of an episode out of what makes each of several; None if there are none."""
    if not makers:
        return None
    return lambda: Cast([make() for make in makers])
