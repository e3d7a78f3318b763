"""People who talk stand in a ring and face each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

from sidestep.crowd.behaviour.network import Ground
from sidestep.crowd.behaviour.stage import Point
from sidestep.exact import arctan2, cos, hypot, sin

RING_M = 0.6
"""Radius of a ring of two; each further person adds ``RING_GROWTH_M``."""
RING_GROWTH_M = 0.12
TURNS = 12
"""Rotations of the ring that are tried where walls are near."""


@dataclass(eq=False)
class Group:
    """People who talk."""

    number: int
    members: list[int]
    centre: Point
    until: float  # s


def ring_centre(one: Point, other: Point) -> Point:
    """The middle of a ring in which ``other`` stays where they are and ``one`` comes to them."""
    dx, dy = one[0] - other[0], one[1] - other[1]
    length = hypot(dx, dy)
    if length < 1e-6:
        return other[0] + RING_M, other[1]
    return other[0] + RING_M * dx / length, other[1] + RING_M * dy / length


def ring_places(centre: Point, people: Sequence[Point], ground: Ground, radius: float) -> list[Point] | None:
    """A place for each of ``people``, in the order in which they are round the ring already; None: no room for it.

    The last of ``people`` keeps its direction from the centre if that can be.
    """
    size = RING_M + RING_GROWTH_M * (len(people) - 2)
    angles = [arctan2(y - centre[1], x - centre[0]) for x, y in people]
    order = sorted(range(len(people)), key=lambda k: ((angles[k] - angles[-1]) % (2 * pi), -k))
    if not all(ground.is_clear(place, centre, radius) for place in people):
        return None
    for turn in range(TURNS):
        first = angles[-1] + (1 if turn % 2 else -1) * ((turn + 1) // 2) * pi / TURNS
        places = [centre] * len(people)
        for k, who in enumerate(order):
            angle = first + 2 * pi * k / len(people)
            places[who] = (centre[0] + size * cos(angle), centre[1] + size * sin(angle))
        if all(ground.is_clear(centre, place, radius) for place in places):
            return places
    return None
