"""Exiting: people come out of a room or a lift, one after the other, and turn off to both sides outside.

Whoever wants to go in has to let them out first. They set off together and keep their distances, each in the track of
the one before up to the door; the first is the fastest.
"""

from __future__ import annotations

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.types.base import Point
from sidestep.types.events import Exiting

FILE_M = 0.9  # m between two people in the file
PORCH = 0.5  # m: how far outside the door they turn off


class ComeOut(Act):
    """Through the door, then aside."""

    def __init__(self, event: Exiting, porch: Point, ends: tuple[Point, ...]) -> None:
        super().__init__(event.trigger_m)
        self._door = event.door
        self._porch = porch
        self._ends = ends

    def is_time(self, stage: Stage) -> bool:
        """Whether the robot is near the door."""
        return stage.is_near(*self._door, self._trigger_m)

    def begin(self, stage: Stage) -> None:
        """Nobody is outside yet."""
        self._out = [False] * len(stage.people)

    def go_on(self, stage: Stage) -> None:
        """To the porch, then to the own end."""
        for k, person in enumerate(stage.people):
            if not person.here:
                continue
            if not self._out[k]:
                self._out[k] = person.walk_to(*self._porch, person.speed, stage.dt)
            if self._out[k] and person.walk_to(*self._ends[k], person.speed, stage.dt):
                person.leave()


def exiting(event: Exiting, setting: Setting, generator: np.random.Generator) -> Script:
    """A file of people behind the door."""
    x, y = event.door
    ux, uy = unit_vector(event.direction)
    drawn = int(generator.integers(2, 5))
    count = drawn if event.people is None else event.people
    speeds = sorted((draw_speed(event, generator) for _ in range(count)), reverse=True)
    people, ends = [], []
    for k, speed in enumerate(speeds):
        back = event.inside_m + FILE_M * k
        people.append(Performer(x - back * ux, y - back * uy, heading_to(ux, uy), speed))
        c, s = unit_vector(event.direction + event.spread * (1.0 if k % 2 == 0 else -1.0))
        ends.append((x + event.walk_on_m * c, y + event.walk_on_m * s))
    porch = (x + PORCH * ux, y + PORCH * uy)
    return Script(event.kind, tuple(people), event.radius, lambda: ComeOut(event, porch, tuple(ends)))
