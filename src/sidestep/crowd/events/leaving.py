"""Leaving: people talk; at the trigger one of them waves, walks away and leaves the world at the end of the way."""

from __future__ import annotations

from math import nan

import numpy as np

from sidestep.crowd.events.conversing import circle_places, look_at_speaker
from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Leaving

WAVE_S = 1.0  # s of waving before setting off


class Leave(Act):
    """The first person is the one who leaves."""

    def __init__(self, event: Leaving) -> None:
        super().__init__(event.trigger_m)
        self._to = event.to
        self._talking = False

    def wait(self, stage: Stage) -> None:
        """All talk."""
        if not self._talking:
            self._talking = True
            for person in stage.people:
                person.gesture("talk")
            look_at_speaker(stage.people, 0)
            stage.people[0].join(stage.people[1])

    def begin(self, stage: Stage) -> None:
        """Say goodbye."""
        self.wait(stage)
        self._since = stage.time
        stage.people[0].gesture("wave")

    def go_on(self, stage: Stage) -> None:
        """Walk away; the others look after who leaves."""
        person = stage.people[0]
        if not person.here or stage.time - self._since < WAVE_S - 1e-9:
            return
        person.part()
        person.gesture("none")
        person.turn_head(nan)
        if person.walk_to(*self._to, person.speed, stage.dt):
            person.leave()
        for other in stage.people[1:]:
            other.look_at(person.x, person.y)


def leaving(event: Leaving, setting: Setting, generator: np.random.Generator) -> Script:
    """A social group about ``at``; who leaves stands on the side of ``to``, and is in the record not of the group."""
    drawn = int(generator.integers(3, 5))
    count = drawn if event.people is None else event.people
    towards = heading_to(event.to[0] - event.at[0], event.to[1] - event.at[1])
    speed = draw_speed(event, generator)
    places = circle_places(*event.at, count, event.spacing_m, towards)
    people = tuple(Performer(*place, speed, together=k > 0) for k, place in enumerate(places))
    return Script(event.kind, people, event.radius, lambda: Leave(event))
