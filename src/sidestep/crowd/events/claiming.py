"""Claiming: somebody at an intersection or a door goes first.

From the trigger on the person faces the robot and signs to it to stop, for ``hold_s``; then walks to ``to``, still
signing and with the eyes on the robot. There the person turns round, signs to the robot to go on until it has passed,
and leaves the world.
"""

from __future__ import annotations

from math import inf

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.crowd.events.yielding import over_the_way
from sidestep.kernels.dynamics import heading_to
from sidestep.types.base import Point
from sidestep.types.events import Claiming


class TakeWay(Act):
    """Sign, go, sign again."""

    def __init__(self, event: Claiming, to: Point) -> None:
        super().__init__(event.trigger_m)
        self._hold_s = event.hold_s
        self._to = to
        self._there = False

    def begin(self, stage: Stage) -> None:
        """Sign to stop."""
        self._since = stage.time
        stage.people[0].gesture("stop")

    def go_on(self, stage: Stage) -> None:
        """Hold, cross, let go."""
        person = stage.people[0]
        if not person.here:
            return
        if stage.time - self._since < self._hold_s - 1e-9:
            person.face(stage.x, stage.y)
            person.turn_head(0.0)
        elif not self._there:
            self._there = person.walk_to(*self._to, person.speed, stage.dt)
            person.look_at(stage.x, stage.y)
        else:
            person.gesture("go_on")
            person.face(stage.x, stage.y)
            person.turn_head(0.0)
            if stage.is_behind(person.x, person.y, inf):
                person.leave()


def claiming(event: Claiming, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, about to go to ``to``."""
    x, y = event.at
    to = over_the_way(event, setting)
    person = Performer(x, y, heading_to(to[0] - x, to[1] - y), draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: TakeWay(event, to))
