"""People who stand on the robot's route, alone or in a social group.

Obstructing: a person stands in the middle of the route and, from the trigger on, looks around. Conversing: people
stand on a circle and face each other; from the trigger on they talk and look at the speaker. Queuing: people stand
closely in line and face its head; the line starts at one side of the sidewalk and leads over the robot's route, and
its last person may stand apart, which leaves a gap in what is still one queue. Joining: at the trigger a person
walks up to people who talk, takes the free position on the circle and talks too. Leaving: at the trigger one of the
people who talk waves, walks away and leaves the world at the end of the path.
"""

from __future__ import annotations

from math import nan, pi

import numpy as np

from sidestep._util import exact
from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.simulation.crowd.events.script import Act, Actor, EventScene, Performer, Script, Setting, draw_speed
from sidestep.types.events import Conversing, Joining, Leaving, Obstructing, Queuing

SWING = 1.0  # rad to either side
PERIOD = 4.0  # s for a look to the left, to the right and back


class LookAround(Act):
    """yaw(t) = SWING · sin(2π (t - t_trigger) / PERIOD)."""

    def begin(self, stage: EventScene) -> None:
        """Start looking around."""
        self._since = stage.time
        stage.people[0].gesture("look_around")

    def go_on(self, stage: EventScene) -> None:
        """Swing the head."""
        _, sine = unit_vector(2.0 * pi * (stage.time - self._since) / PERIOD)
        stage.people[0].turn_head(SWING * sine)


def obstructing(event: Obstructing, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``."""
    drawn = float(exact.uniform(generator, -pi, pi))
    person = Performer(*event.at, drawn if event.facing is None else event.facing)
    return Script(event.kind, (person,), event.radius, lambda: LookAround(event.trigger_m))


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

    def begin(self, stage: EventScene) -> None:
        """Start to talk."""
        self._since = stage.time
        self._speaker = -1
        for person in stage.people:
            person.gesture("talk")

    def go_on(self, stage: EventScene) -> None:
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


CLOSEST, WIDEST = 0.7, 0.9  # m between neighbours
SWAY = 0.05  # m to either side of the line


class Wait(Act):
    """They queue."""

    def begin(self, stage: EventScene) -> None:
        """Everybody waits in their own way."""
        for person in stage.people:
            person.gesture("queue")


def queuing(event: Queuing, setting: Setting, generator: np.random.Generator) -> Script:
    """A line from ``at``; a social group, since nobody is to cut through it."""
    x, y = event.at
    drawn_count = int(generator.integers(3, 6))
    drawn_spacing = float(exact.uniform(generator, CLOSEST, WIDEST))
    count = drawn_count if event.people is None else event.people
    spacing = drawn_spacing if event.spacing_m is None else event.spacing_m
    sway = exact.uniform(generator, -SWAY, SWAY, count).tolist()
    ux, uy = _line_direction(event, setting)
    people = [
        Performer(
            x + k * spacing * ux - sway[k] * uy,
            y + k * spacing * uy + sway[k] * ux,
            heading_to(-ux, -uy),
            together=True,
        )
        for k in range(count)
    ]
    if event.last_at is not None:
        lx, ly = event.last_at
        people[-1] = Performer(lx, ly, heading_to(people[-2].x - lx, people[-2].y - ly), together=True)
    return Script(event.kind, tuple(people), event.radius, lambda: Wait(event.trigger_m))


def _line_direction(event: Queuing, setting: Setting) -> tuple[float, float]:
    """Unit vector from the head of the line to its end."""
    x, y = event.at
    ux, uy = setting.direction(event.direction, x, y)
    if event.direction is not None:
        return ux, uy
    px, py, _, _ = setting.nearest_on_way(x, y)
    on_left = (y - py) * ux - (x - px) * uy > 0.0
    return (uy, -ux) if on_left else (-uy, ux)


class Join(Act):
    """The first person is the one who joins."""

    def __init__(self, event: Joining, place: tuple[float, float]) -> None:
        super().__init__(event.trigger_m)
        self._centre = event.at
        self._place = place
        self._talking = self._joined = False

    def wait(self, stage: EventScene) -> None:
        """The others talk."""
        if not self._talking:
            self._talking = True
            for person in stage.people[1:]:
                person.gesture("talk")
            look_at_speaker(stage.people[1:], 0)

    def begin(self, stage: EventScene) -> None:
        """Those who talk notice who comes."""
        self.wait(stage)

    def go_on(self, stage: EventScene) -> None:
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


WAVE_S = 1.0  # s of waving before setting off


class Leave(Act):
    """The first person is the one who leaves."""

    def __init__(self, event: Leaving) -> None:
        super().__init__(event.trigger_m)
        self._to = event.to
        self._talking = False

    def wait(self, stage: EventScene) -> None:
        """All talk."""
        if not self._talking:
            self._talking = True
            for person in stage.people:
                person.gesture("talk")
            look_at_speaker(stage.people, 0)
            stage.people[0].join(stage.people[1])

    def begin(self, stage: EventScene) -> None:
        """Say goodbye."""
        self.wait(stage)
        self._since = stage.time
        stage.people[0].gesture("wave")

    def go_on(self, stage: EventScene) -> None:
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
