"""Yielding: somebody at an intersection or a door lets the robot go first.

From the trigger on the person faces the robot and signs to it to go on; as soon as the robot has passed (the person is
behind it) the person walks to ``to`` and leaves the world there.
"""

from __future__ import annotations

from math import inf, nan

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.base import Point
from sidestep.types.events import Claiming, Yielding


def over_the_way(event: Yielding | Claiming, setting: Setting) -> Point:
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

    def begin(self, stage: Stage) -> None:
        """Sign to go on."""
        stage.people[0].gesture("go_on")
        stage.people[0].turn_head(0.0)

    def go_on(self, stage: Stage) -> None:
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
    to = over_the_way(event, setting)
    person = Performer(x, y, heading_to(to[0] - x, to[1] - y), draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: GiveWay(event, to))
