"""Conversing: people stand on a circle and face each other; from the trigger on they talk and look at who speaks."""

from __future__ import annotations

from math import pi

import numpy as np

from sidestep import exact
from sidestep.crowd.events.script import Act, Performer, Script, Setting
from sidestep.crowd.events.stage import Actor, Stage
from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.types.events import Conversing

TURN_S = 3.0  # s that each speaks before the next one


def circle_places(x: float, y: float, count: int, spacing: float, first: float) -> list[tuple[float, float, float]]:
    """x, y and heading (to the centre) of ``count`` people on a circle whose neighbours are ``spacing`` apart."""
    radius = spacing / (2.0 * unit_vector(pi / count)[1])
    places = []
    for k in range(count):
        c, s = unit_vector(first + 2.0 * pi * k / count)
        places.append((x + radius * c, y + radius * s, heading_to(-c, -s)))
    return places


def look_at_speaker(people: list[Actor], speaker: int) -> None:
    """Everybody looks at the speaker, who looks at the next one."""
    for k, person in enumerate(people):
        other = people[(speaker + 1) % len(people) if k == speaker else speaker]
        person.look_at(other.x, other.y)


class Talk(Act):
    """All talk with their hands; the heads follow whose turn it is."""

    def begin(self, stage: Stage) -> None:
        """Start to talk."""
        self._since = stage.time
        self._speaker = -1
        for person in stage.people:
            person.gesture("talk")

    def go_on(self, stage: Stage) -> None:
        """Look at who speaks."""
        speaker = int((stage.time - self._since) / TURN_S + 1e-9) % len(stage.people)
        if speaker != self._speaker:
            look_at_speaker(stage.people, speaker)
            self._speaker = speaker


def conversing(event: Conversing, setting: Setting, generator: np.random.Generator) -> Script:
    """A social group about ``at``."""
    drawn = int(generator.integers(2, 5))
    turned = float(exact.uniform(generator, -pi, pi))
    count = drawn if event.people is None else event.people
    places = circle_places(*event.at, count, event.spacing_m, turned if event.facing is None else event.facing)
    people = tuple(Performer(*place, together=True) for place in places)
    return Script(event.kind, people, event.radius, lambda: Talk(event.trigger_m))
