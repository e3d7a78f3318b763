"""Right of way: people who sign to the robot, at intersections and at doors.

Gesturing: a person turns to the robot and signs to it from the trigger to the end. Yielding: the person signs to the
robot to go on, and walks to ``to`` once the robot has passed (the person is behind it). Claiming: the person signs to
the robot to stop for ``hold_s``, walks to ``to`` with the eyes on the robot, turns round and signs to it to go on
until it has passed. Exiting: people come out of a door one after the other, the fastest first, in one track up to the
door, and turn off to both sides outside. Entering: a person goes into a room or a lift before the robot, or signs to
it to go on and follows once its body is inside; inside the person turns round to the door.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np

from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.simulation.crowd.events.script import Act, EventScene, Performer, Script, Setting, draw_speed
from sidestep.types.base import Point
from sidestep.types.events import Claiming, Entering, Exiting, Gesturing, Yielding


class Sign(Act):
    """Body and gaze follow the robot."""

    def __init__(self, event: Gesturing) -> None:
        super().__init__(event.trigger_m)
        self._gesture = event.gesture

    def begin(self, stage: EventScene) -> None:
        """Raise the hand."""
        stage.people[0].gesture(self._gesture)
        stage.people[0].turn_head(0.0)

    def go_on(self, stage: EventScene) -> None:
        """Keep facing the robot."""
        stage.people[0].face(stage.x, stage.y)


def gesturing(event: Gesturing, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's start."""
    x, y = event.at
    heading = heading_to(setting.start[0] - x, setting.start[1] - y)
    return Script(event.kind, (Performer(x, y, heading),), event.radius, lambda: Sign(event))


def opposite_side(event: Yielding | Claiming, setting: Setting) -> Point:
    """``to``, else the mirror image of ``at`` on the other side of the robot's way."""
    if event.to is not None:
        return event.to
    x, y = event.at
    px, py, _, _ = setting.nearest_on_way(x, y)
    return 2.0 * px - x, 2.0 * py - y


class GiveWay(Act):
    """Sign, wait, go."""

    def __init__(self, event: Yielding, to: Point) -> None:
        super().__init__(event.trigger_m)
        self._to = to
        self._going = False

    def begin(self, stage: EventScene) -> None:
        """Sign to go on."""
        stage.people[0].gesture("go_on")
        stage.people[0].turn_head(0.0)

    def go_on(self, stage: EventScene) -> None:
        """Wait for the robot, then go."""
        person = stage.people[0]
        if not person.here:
            return
        if not self._going and stage.is_behind(person.x, person.y, inf):
            self._going = True
            person.gesture("none")
            person.turn_head(nan)
        if not self._going:
            person.face(stage.x, stage.y)
        elif person.walk_to(*self._to, person.speed, stage.dt):
            person.leave()


def yielding(event: Yielding, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, about to go to ``to``."""
    x, y = event.at
    to = opposite_side(event, setting)
    person = Performer(x, y, heading_to(to[0] - x, to[1] - y), draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: GiveWay(event, to))


class TakeWay(Act):
    """Sign, go, sign again."""

    def __init__(self, event: Claiming, to: Point) -> None:
        super().__init__(event.trigger_m)
        self._hold_s = event.hold_s
        self._to = to
        self._there = False

    def begin(self, stage: EventScene) -> None:
        """Sign to stop."""
        self._since = stage.time
        stage.people[0].gesture("stop")

    def go_on(self, stage: EventScene) -> None:
        """Hold, cross, let go."""
        person = stage.people[0]
        if not person.here:
            return
        if stage.time - self._since < self._hold_s - 1e-9:
            person.face(stage.x, stage.y)
            person.turn_head(0.0)
        elif not self._there:
            self._there = person.walk_to(*self._to, person.speed, stage.dt)
            person.look_at(stage.x, stage.y)
        else:
            person.gesture("go_on")
            person.face(stage.x, stage.y)
            person.turn_head(0.0)
            if stage.is_behind(person.x, person.y, inf):
                person.leave()


def claiming(event: Claiming, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, about to go to ``to``."""
    x, y = event.at
    to = opposite_side(event, setting)
    person = Performer(x, y, heading_to(to[0] - x, to[1] - y), draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: TakeWay(event, to))


FILE_M = 0.9  # m between two people in the file
PORCH = 0.5  # m: how far outside the door they turn off


class ComeOut(Act):
    """Through the door, then aside."""

    def __init__(self, event: Exiting, porch: Point, ends: tuple[Point, ...]) -> None:
        super().__init__(event.trigger_m)
        self._door = event.door
        self._porch = porch
        self._ends = ends

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot is near the door."""
        return stage.is_near(*self._door, self._trigger_m)

    def begin(self, stage: EventScene) -> None:
        """Nobody is outside yet."""
        self._out = [False] * len(stage.people)

    def go_on(self, stage: EventScene) -> None:
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


class GoIn(Act):
    """Wait, to the door, inside."""

    def __init__(self, event: Entering) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._ux, self._uy = unit_vector(event.direction)
        self._going = event.first == "person"
        self._points = [event.door, event.to]

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot is near the door."""
        return stage.is_near(*self._event.door, self._trigger_m)

    def begin(self, stage: EventScene) -> None:
        """Let the robot go first, if so."""
        if not self._going:
            stage.people[0].gesture("go_on")
            stage.people[0].turn_head(0.0)

    def go_on(self, stage: EventScene) -> None:
        """Go in when it is one's turn."""
        person, (x, y) = stage.people[0], self._event.door
        if not self._going:
            person.face(stage.x, stage.y)
            inside = -(stage.x - x) * self._ux - (stage.y - y) * self._uy
            self._going = inside > stage.radius + 2.0 * person.radius
            if self._going:
                person.gesture("none")
                person.turn_head(nan)
        elif self._points:
            if person.walk_to(*self._points[0], person.speed, stage.dt):
                self._points.pop(0)
        else:
            person.face(x, y)


def entering(event: Entering, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the door."""
    x, y = event.at
    heading = heading_to(event.door[0] - x, event.door[1] - y)
    return Script(
        event.kind, (Performer(x, y, heading, draw_speed(event, generator)),), event.radius, lambda: GoIn(event)
    )
