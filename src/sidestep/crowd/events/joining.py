"""Joining: people talk; at the trigger somebody walks up to them, takes the free place on the circle and talks too."""

from __future__ import annotations

import numpy as np

from sidestep.crowd.events.conversing import circle_places, look_at_speaker
from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Joining


class Join(Act):
    """The first person is the one who joins."""

    def __init__(self, event: Joining, place: tuple[float, float]) -> None:
        super().__init__(event.trigger_m)
        self._centre = event.at
        self._place = place
        self._talking = self._joined = False

    def wait(self, stage: Stage) -> None:
        """The others talk."""
        if not self._talking:
            self._talking = True
            for person in stage.people[1:]:
                person.gesture("talk")
            look_at_speaker(stage.people[1:], 0)

    def begin(self, stage: Stage) -> None:
        """Those who talk notice who comes."""
        self.wait(stage)

    def go_on(self, stage: Stage) -> None:
        """Walk up, then talk."""
        if self._joined:
            return
        person = stage.people[0]
        self._joined = person.walk_to(*self._place, person.speed, stage.dt)
        for other in stage.people[1:]:
            other.look_at(person.x, person.y)
        if self._joined:
            person.face(*self._centre)
            person.gesture("talk")
            person.turn_head(0.0)
            person.join(stage.people[1])


def joining(event: Joining, setting: Setting, generator: np.random.Generator) -> Script:
    """A social group about ``at``, and at ``start`` one person who is not of it yet."""
    drawn = int(generator.integers(2, 4))
    count = drawn if event.people is None else event.people
    towards = heading_to(event.start[0] - event.at[0], event.start[1] - event.at[1])
    places = circle_places(*event.at, count + 1, event.spacing_m, towards)
    heading = heading_to(event.at[0] - event.start[0], event.at[1] - event.start[1])
    comes = Performer(*event.start, heading, draw_speed(event, generator))
    people = (comes, *(Performer(*place, together=True) for place in places[1:]))
    return Script(event.kind, people, event.radius, lambda: Join(event, places[0][:2]))
