"""Robot crowding: people stand about; at the trigger they come up to the robot from all sides and look at it.

Some wave, some take pictures; after ``stay_s`` they walk away and leave the world.

Each comes straight and stops ``gap_m`` from the robot's body, or behind who is before; if the robot moves off, they
follow as they can. Nobody walks into the robot, and a robot that creeps into somebody touches a person who stands.
"""

from __future__ import annotations

from math import nan, pi, sqrt

import numpy as np

from sidestep import exact
from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Actor, Stage
from sidestep.exact import square
from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.types.events import Crowding

LAG = 0.5  # s
APART = 0.1  # m between two bodies where one waits for the other
GONE_M = 8.0  # m from the robot where they leave the world


class Crowd(Act):
    """Close in, stay, go."""

    def __init__(self, event: Crowding) -> None:
        super().__init__(event.trigger_m)
        self._event = event

    def is_time(self, stage: Stage) -> bool:
        """Whether the robot is among them."""
        return stage.is_near(*self._event.at, self._trigger_m)

    def begin(self, stage: Stage) -> None:
        """They notice the robot."""
        self._until = stage.time + self._event.stay_s
        for k, person in enumerate(stage.people):
            person.gesture(("wave", "phone", "none")[k % 3])

    def go_on(self, stage: Stage) -> None:
        """Everybody on the own line through the robot."""
        staying = stage.time < self._until - 1e-9
        order = sorted(
            (square(person.x - stage.x) + square(person.y - stage.y), k)
            for k, person in enumerate(stage.people)
            if person.here
        )
        before: list[Actor] = []  # who goes first: inwards the nearest to the robot, outwards the farthest
        for apart, k in order if staying else reversed(order):
            person, distance = stage.people[k], max(sqrt(apart), 1e-6)
            ux, uy = (stage.x - person.x) / distance, (stage.y - person.y) / distance
            if staying:
                gap = distance - stage.radius - person.radius - self._event.gap_m
                speed = min(max(gap / LAG, 0.0), person.speed)
                person.face(stage.x, stage.y)
                person.turn_head(0.0)
            else:
                speed = -person.speed
                person.gesture("none")
                person.turn_head(nan)
            reach = square(2.0 * person.radius + APART)
            if any(square(other.x - person.x) + square(other.y - person.y) < reach for other in before):
                speed = 0.0
            person.walk(ux * speed, uy * speed)
            before.append(person)
            if not staying and distance > GONE_M:
                person.leave()


def crowding(event: Crowding, setting: Setting, generator: np.random.Generator) -> Script:
    """People about ``at``, evenly round it but for a little; nobody on the robot's way as long as there are few."""
    x, y = event.at
    drawn = int(generator.integers(4, 7))
    count = drawn if event.people is None else event.people
    _, _, ux, uy = setting.nearest_on_way(x, y)
    first = heading_to(ux, uy) + pi / count
    people = []
    for k in range(count):
        c, s = unit_vector(first + 2.0 * pi * k / count + float(exact.uniform(generator, -0.1, 0.1)))
        facing = heading_to(-c, -s)
        people.append(Performer(x + event.around_m * c, y + event.around_m * s, facing, draw_speed(event, generator)))
    return Script(event.kind, tuple(people), event.radius, lambda: Crowd(event))
