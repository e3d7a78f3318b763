"""People who keep close to the robot.

Following: along the line to the robot the person walks at v = v_robot + (d - distance_m) / lag, never backwards and
no faster than ``max_speed``. Leading: on a path ahead of the robot at v = v_robot + (distance_m - d) / lag, between
0 and ``max_speed``; a person who has to wait turns round and signs to the robot to come on. Accompanying: the target
is beside the robot's centre, square to its heading and ``gap_m`` clear of its body, and
v = v_robot + (target - position) / lag, without the part that would come nearer than half the gap. Crowding: people
who stand about come straight up to the robot at the trigger and stop ``gap_m`` from its body or behind who is before
them; some wave, some take pictures; after ``stay_s`` they walk away and leave the world. Nobody walks into the robot.
"""

from __future__ import annotations

from math import inf, nan, pi, sqrt

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import square
from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.simulation.crowd.events.script import Act, Actor, EventScene, Performer, Script, Setting, draw_speed
from sidestep.types.base import Point
from sidestep.types.events import Accompanying, Crowding, Following, Leading

FOLLOW_LAG_S = 0.8  # s
FOLLOW_GONE_M = 10.0  # m: how far the person walks away afterwards


class Follow(Act):
    """Follow, tire of it, leave."""

    def __init__(self, event: Following) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._left_s = inf if event.duration_s is None else event.duration_s

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot is near."""
        return stage.is_near(stage.people[0].x, stage.people[0].y, self._trigger_m)

    def go_on(self, stage: EventScene) -> None:
        """Keep the distance; after ``duration_s`` walk away from the robot."""
        person = stage.people[0]
        if not person.here:
            return
        dx, dy = stage.x - person.x, stage.y - person.y
        distance = sqrt(dx * dx + dy * dy)
        if distance < 1e-6:
            return
        ux, uy = dx / distance, dy / distance
        self._left_s -= stage.dt
        if self._left_s > 0.0:
            speed = stage.vx * ux + stage.vy * uy + (distance - self._event.distance_m) / FOLLOW_LAG_S
            speed = min(max(speed, 0.0), self._event.max_speed)
            person.walk(ux * speed, uy * speed)
            person.look_at(stage.x, stage.y)
            return
        person.turn_head(nan)
        person.walk(-ux * person.speed, -uy * person.speed)
        if distance > FOLLOW_GONE_M:
            person.leave()


def following(event: Following, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's start."""
    x, y = event.at
    heading = heading_to(setting.start[0] - x, setting.start[1] - y)
    return Script(
        event.kind, (Performer(x, y, heading, draw_speed(event, generator)),), event.radius, lambda: Follow(event)
    )


LEAD_LAG_S = 0.8  # s
WAITS_BELOW = 0.15  # m/s: slower than this the person stands
REACHED = 0.2  # m


class Lead(Act):
    """Point after point."""

    def __init__(self, event: Leading, path: tuple[Point, ...]) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._path = list(path)

    def go_on(self, stage: EventScene) -> None:
        """Walk on or wait."""
        person = stage.people[0]
        if not person.here:
            return
        while self._path:
            x, y = self._path[0]
            dx, dy = x - person.x, y - person.y
            distance = sqrt(dx * dx + dy * dy)
            if distance > REACHED:
                break
            self._path.pop(0)
        if not self._path:
            person.leave()
            return
        apart = sqrt(square(stage.x - person.x) + square(stage.y - person.y))
        speed = min(stage.course[2] + (self._event.distance_m - apart) / LEAD_LAG_S, self._event.max_speed)
        if speed > WAITS_BELOW:
            person.walk(dx / distance * speed, dy / distance * speed)
            person.gesture("none")
            person.turn_head(nan)
        else:
            person.walk(0.0, 0.0)
            person.face(stage.x, stage.y)
            person.turn_head(0.0)
            person.gesture("go_on")


def leading(event: Leading, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's start."""
    x, y = event.at
    path = event.path
    if not path:
        _, _, ux, uy = setting.nearest_on_way(x, y)
        path = tuple(p for p in setting.way[1:] if (p[0] - x) * ux + (p[1] - y) * uy > 0.0) or setting.way[-1:]
    heading = heading_to(setting.start[0] - x, setting.start[1] - y)
    person = Performer(x, y, heading, draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: Lead(event, path))


ACCOMPANY_LAG_S = 0.8  # s


class Accompany(Act):
    """Keep the place."""

    def __init__(self, event: Accompanying) -> None:
        super().__init__(event.trigger_m)
        self._event = event

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot is near."""
        return stage.is_near(stage.people[0].x, stage.people[0].y, self._trigger_m)

    def begin(self, stage: EventScene) -> None:
        """Choose the side."""
        person = stage.people[0]
        left = (person.y - stage.y) * stage.ux - (person.x - stage.x) * stage.uy >= 0.0
        self._side = 1.0 if (left if self._event.side is None else self._event.side == "left") else -1.0

    def go_on(self, stage: EventScene) -> None:
        """Walk to the place as it moves."""
        person = stage.people[0]
        reach = stage.radius + person.radius
        offset = self._side * (reach + self._event.gap_m)
        dx, dy = person.x - stage.x, person.y - stage.y
        vx = stage.vx + (-stage.uy * offset - dx) / ACCOMPANY_LAG_S
        vy = stage.vy + (stage.ux * offset - dy) / ACCOMPANY_LAG_S
        distance = sqrt(dx * dx + dy * dy)
        if 1e-6 < distance < reach + self._event.gap_m / 2.0:
            nearer = ((vx - stage.vx) * dx + (vy - stage.vy) * dy) / distance
            if nearer < 0.0:
                vx, vy = vx - nearer * dx / distance, vy - nearer * dy / distance
        speed = sqrt(vx * vx + vy * vy)
        if speed > self._event.max_speed:
            vx, vy = vx / speed * self._event.max_speed, vy / speed * self._event.max_speed
        person.walk(vx, vy)


def accompanying(event: Accompanying, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's way."""
    x, y = event.at
    heading = heading_to(*setting.direction(None, x, y))
    return Script(
        event.kind, (Performer(x, y, heading, draw_speed(event, generator)),), event.radius, lambda: Accompany(event)
    )


CROWD_LAG_S = 0.5  # s
APART = 0.1  # m between two bodies where one waits for the other
CROWD_GONE_M = 8.0  # m from the robot where they leave the world


class Crowd(Act):
    """Close in, stay, go."""

    def __init__(self, event: Crowding) -> None:
        super().__init__(event.trigger_m)
        self._event = event

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot is among them."""
        return stage.is_near(*self._event.at, self._trigger_m)

    def begin(self, stage: EventScene) -> None:
        """They notice the robot."""
        self._until = stage.time + self._event.stay_s
        for k, person in enumerate(stage.people):
            person.gesture(("wave", "phone", "none")[k % 3])

    def go_on(self, stage: EventScene) -> None:
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
                speed = min(max(gap / CROWD_LAG_S, 0.0), person.speed)
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
            if not staying and distance > CROWD_GONE_M:
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
