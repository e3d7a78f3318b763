"""Leading: somebody walks ahead of the robot along a path and waits for it.

On the path the person walks at v = v_robot + (distance_m - d) / LAG, between 0 and ``max_speed``: away from a robot
that comes, and not at all before one that stays behind. Then the person turns round and signs to it to come on.
"""

from __future__ import annotations

from math import nan, sqrt

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.exact import square
from sidestep.kernels.dynamics import heading_to
from sidestep.types.base import Point
from sidestep.types.events import Leading

LAG = 0.8  # s
WAITS_BELOW = 0.15  # m/s: slower than this the person stands
REACHED = 0.2  # m


class Lead(Act):
    """Point after point."""

    def __init__(self, event: Leading, path: tuple[Point, ...]) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._path = list(path)

    def go_on(self, stage: Stage) -> None:
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
        speed = min(stage.course[2] + (self._event.distance_m - apart) / LAG, self._event.max_speed)
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
