"""Following: somebody walks after the robot and keeps a distance.

Along the line to the robot the person walks at v = v_robot + (d - distance_m) / LAG, never backwards and no faster than
``max_speed``: it comes up to the robot by itself, and no nearer than ``distance_m``.
"""

from __future__ import annotations

from math import inf, nan, sqrt

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Following

LAG = 0.8  # s
GONE_M = 10.0  # m: how far the person walks away afterwards


class Follow(Act):
    """Follow, tire of it, leave."""

    def __init__(self, event: Following) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._left_s = inf if event.duration_s is None else event.duration_s

    def is_time(self, stage: Stage) -> bool:
        """Whether the robot is near."""
        return stage.is_near(stage.people[0].x, stage.people[0].y, self._trigger_m)

    def go_on(self, stage: Stage) -> None:
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
            speed = stage.vx * ux + stage.vy * uy + (distance - self._event.distance_m) / LAG
            speed = min(max(speed, 0.0), self._event.max_speed)
            person.walk(ux * speed, uy * speed)
            person.look_at(stage.x, stage.y)
            return
        person.turn_head(nan)
        person.walk(-ux * person.speed, -uy * person.speed)
        if distance > GONE_M:
            person.leave()


def following(event: Following, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's start."""
    x, y = event.at
    heading = heading_to(setting.start[0] - x, setting.start[1] - y)
    return Script(
        event.kind, (Performer(x, y, heading, draw_speed(event, generator)),), event.radius, lambda: Follow(event)
    )
