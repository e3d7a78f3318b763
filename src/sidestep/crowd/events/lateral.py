"""Lateral approaching: somebody crosses right before the robot, at the speed at which both would meet.

At the trigger the person is a distance f along the robot's course and s beside it. The robot reaches the crossing point
after f / v, so the person walks square to the course at w = s · v / f, between a stroll and ``max_speed``: with the
defaults f = 3.5 m and s = 2 m, and every robot between 0.5 and 3.5 m/s is met. A robot that stands is crossed at the
person's own speed. Velocity is chosen once: the person neither stops nor turns, so that who yields is not touched.
"""

from __future__ import annotations

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_side, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Lateral

STROLL = 0.3  # m/s: nobody crosses more slowly


class CrossBefore(Act):
    """Choose the velocity, walk, leave."""

    def __init__(self, event: Lateral) -> None:
        super().__init__(event.trigger_m)
        self._event = event

    def begin(self, stage: Stage) -> None:
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

    def go_on(self, stage: Stage) -> None:
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
