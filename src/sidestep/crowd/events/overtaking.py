"""Overtaking: somebody comes from behind, faster than the robot, passes beside it and walks on ahead.

Before the trigger the person catches up (or waits, while the robot has not passed yet). At the trigger it takes the
robot's course as its own direction. It first steps out, no faster ahead than the robot, until its line is ``gap_m``
clear of the robot's body, then passes ``margin`` faster than the robot. It keeps its line: a robot that keeps its
course is not touched, one that swerves into the person is. A robot faster than the person can walk is not overtaken.
"""

from __future__ import annotations

from math import inf, sqrt

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_side, draw_speed
from sidestep.crowd.events.stage import Actor, Stage
from sidestep.exact import square
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Overtaking

STEP_OUT = 1.0  # m/s, to the side


class Overtake(Act):
    """Catch up, step out, pass, leave."""

    def __init__(self, event: Overtaking, side: float) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._side = side
        self._out = False

    def is_time(self, stage: Stage) -> bool:
        """Whether the robot's body is near in front."""
        person = stage.people[0]
        return stage.is_behind(person.x, person.y, self._trigger_m + stage.radius + person.radius)

    def wait(self, stage: Stage) -> None:
        """Catch up as soon as the robot is past."""
        person = stage.people[0]
        if stage.is_behind(person.x, person.y, inf):
            person.walk_to(stage.x, stage.y, self._speed(person, stage.course[2]), stage.dt)

    def begin(self, stage: Stage) -> None:
        """Take the robot's course."""
        self._ux, self._uy, _ = stage.course

    def go_on(self, stage: Stage) -> None:
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
