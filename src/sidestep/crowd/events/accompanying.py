"""Accompanying: somebody walks beside the robot.

The person's place is beside the robot's centre, square to its heading, ``gap_m`` clear of its body; it walks at
v = v_robot + (place - position) / LAG, no faster than ``max_speed``. It keeps out of the robot's body: what of the
velocity would bring it nearer than half the gap is left out.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Accompanying

LAG = 0.8  # s


class Accompany(Act):
    """Keep the place."""

    def __init__(self, event: Accompanying) -> None:
        super().__init__(event.trigger_m)
        self._event = event

    def is_time(self, stage: Stage) -> bool:
        """Whether the robot is near."""
        return stage.is_near(stage.people[0].x, stage.people[0].y, self._trigger_m)

    def begin(self, stage: Stage) -> None:
        """Choose the side."""
        person = stage.people[0]
        left = (person.y - stage.y) * stage.ux - (person.x - stage.x) * stage.uy >= 0.0
        self._side = 1.0 if (left if self._event.side is None else self._event.side == "left") else -1.0

    def go_on(self, stage: Stage) -> None:
        """Walk to the place as it moves."""
        person = stage.people[0]
        reach = stage.radius + person.radius
        offset = self._side * (reach + self._event.gap_m)
        dx, dy = person.x - stage.x, person.y - stage.y
        vx = stage.vx + (-stage.uy * offset - dx) / LAG
        vy = stage.vy + (stage.ux * offset - dy) / LAG
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
