"""Frontal approaching: somebody waits until the robot is near, then walks straight at it.

The aim is the robot's current position, taken anew in every step down to ``commit_m``; from there the person walks
straight on, so that a robot which steps aside then is passed and not hunted. The person gives way to nobody.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Frontal


class Approach(Act):
    """Aim, commit, walk on, leave."""

    def __init__(self, event: Frontal) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._left_m: float | None = None

    def go_on(self, stage: Stage) -> None:
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
