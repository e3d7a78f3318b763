"""A person who walks towards, across or past the robot and gives way to nobody.

Frontal: aims at the robot's current position in every step down to ``commit_m``, then walks straight on, so that a
robot which steps aside is passed and not chased. Lateral: at the trigger the person is a distance f along the robot's
course and s beside it; the robot reaches the crossing point after f / v, so the person crosses at w = s · v / f,
between a stroll and ``max_speed`` (with the defaults f = 3.5 m, s = 2 m every robot between 0.5 and 3.5 m/s is met;
a standing robot is crossed at the person's own speed), and neither stops nor turns. Overtaking: the person catches
up, takes the robot's course at the trigger, steps out no faster ahead than the robot until its line is ``gap_m``
clear of the robot's body, then passes ``margin`` faster than the robot. It keeps its line: a robot that keeps its
course is not touched. A robot faster than the person can walk is not overtaken.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from sidestep._util.exact import square
from sidestep.kernels.dynamics import heading_to
from sidestep.simulation.crowd.events.script import (
    Act,
    Actor,
    EventScene,
    Performer,
    Script,
    Setting,
    draw_side,
    draw_speed,
)
from sidestep.types.events import Frontal, Lateral, Overtaking


class Approach(Act):
    """Aim, commit, walk on, leave."""

    def __init__(self, event: Frontal) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._left_m: float | None = None

    def go_on(self, stage: EventScene) -> None:
        """Walk at the robot, or on past it."""
        person = stage.people[0]
        if self._left_m is None:
            dx, dy = stage.x - person.x, stage.y - person.y
            distance = sqrt(dx * dx + dy * dy)
            if distance > 1e-6:
                person.walk(dx / distance * person.speed, dy / distance * person.speed)
            if distance <= self._event.commit_m:
                self._left_m = self._event.walk_on_m
        elif self._left_m > 0.0:
            self._left_m -= person.speed * stage.dt
            if self._left_m <= 0.0:
                person.leave()


def frontal(event: Frontal, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's start."""
    x, y = event.at
    heading = heading_to(setting.start[0] - x, setting.start[1] - y)
    person = Performer(x, y, heading, draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: Approach(event))


STROLL = 0.3  # m/s: nobody crosses more slowly


class CrossBefore(Act):
    """Choose the velocity, walk, leave."""

    def __init__(self, event: Lateral) -> None:
        super().__init__(event.trigger_m)
        self._event = event

    def begin(self, stage: EventScene) -> None:
        """Choose the velocity."""
        person = stage.people[0]
        ux, uy, robot_speed = stage.course
        dx, dy = person.x - stage.x, person.y - stage.y
        along, beside = dx * ux + dy * uy, dy * ux - dx * uy
        speed = person.speed
        if robot_speed > 0.0 and along > 0.0:
            speed = min(max(abs(beside) * robot_speed / along, STROLL), self._event.max_speed)
        side = 1.0 if beside > 0.0 else -1.0
        person.walk(side * uy * speed, -side * ux * speed)
        self._left_s = (abs(beside) + self._event.walk_on_m) / speed

    def go_on(self, stage: EventScene) -> None:
        """Walk on and leave."""
        if self._left_s > 0.0:
            self._left_s -= stage.dt
            if self._left_s <= 0.0:
                stage.people[0].leave()


def lateral(event: Lateral, setting: Setting, generator: np.random.Generator) -> Script:
    """One person ``side_m`` beside ``at``, who faces the way."""
    x, y = event.at
    ux, uy = setting.direction(event.direction, x, y)
    side = draw_side(event.side, generator)
    person = Performer(
        x - side * uy * event.side_m,
        y + side * ux * event.side_m,
        heading_to(side * uy, -side * ux),
        draw_speed(event, generator),
    )
    return Script(event.kind, (person,), event.radius, lambda: CrossBefore(event))


STEP_OUT = 1.0  # m/s, to the side


class Overtake(Act):
    """Catch up, step out, pass, leave."""

    def __init__(self, event: Overtaking, side: float) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._side = side
        self._out = False

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot's body is near in front."""
        person = stage.people[0]
        return stage.is_behind(person.x, person.y, self._trigger_m + stage.radius + person.radius)

    def wait(self, stage: EventScene) -> None:
        """Catch up as soon as the robot is past."""
        person = stage.people[0]
        if stage.is_behind(person.x, person.y, inf):
            person.walk_to(stage.x, stage.y, self._speed(person, stage.course[2]), stage.dt)

    def begin(self, stage: EventScene) -> None:
        """Take the robot's course."""
        self._ux, self._uy, _ = stage.course

    def go_on(self, stage: EventScene) -> None:
        """Step out, then pass."""
        person, ux, uy = stage.people[0], self._ux, self._uy
        if not person.here:
            return
        dx, dy = person.x - stage.x, person.y - stage.y
        along, beside = dx * ux + dy * uy, (dy * ux - dx * uy) * self._side
        robot_speed = max(stage.vx * ux + stage.vy * uy, 0.0)
        wanted = stage.radius + person.radius + self._event.gap_m
        ahead, aside = self._speed(person, robot_speed), 0.0
        if not self._out and beside < wanted - 1e-3 and along < 0.0:
            ahead = min(robot_speed, ahead)
            most = sqrt(max(square(self._event.max_speed) - ahead * ahead, 0.0))
            aside = min(STEP_OUT, most, (wanted - beside) / stage.dt)
        else:
            self._out = True
        person.walk(ahead * ux - self._side * aside * uy, ahead * uy + self._side * aside * ux)
        if along > self._event.walk_on_m:
            person.leave()

    def _speed(self, person: Actor, robot_speed: float) -> float:
        """``margin`` faster than the robot, at least the own speed; the own speed where that is no use."""
        if robot_speed >= self._event.max_speed:
            return person.speed
        return max(person.speed, min(robot_speed + self._event.margin, self._event.max_speed))


def overtaking(event: Overtaking, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's way."""
    x, y = event.at
    side = draw_side(event.side, generator)
    person = Performer(x, y, heading_to(*setting.direction(None, x, y)), draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: Overtake(event, side))
