"""Entering: somebody goes into a room or a lift with the robot, before it or after it.

Before: sets off at the trigger. After: signs to the robot to go on, and follows once the robot's body is inside. Inside
the person turns round to the door.
"""

from __future__ import annotations

from math import nan

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting, draw_speed
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to, unit_vector
from sidestep.types.events import Entering


class GoIn(Act):
    """Wait, to the door, inside."""

    def __init__(self, event: Entering) -> None:
        super().__init__(event.trigger_m)
        self._event = event
        self._ux, self._uy = unit_vector(event.direction)
        self._going = event.first == "person"
        self._points = [event.door, event.to]

    def is_time(self, stage: Stage) -> bool:
        """Whether the robot is near the door."""
        return stage.is_near(*self._event.door, self._trigger_m)

    def begin(self, stage: Stage) -> None:
        """Let the robot go first, if so."""
        if not self._going:
            stage.people[0].gesture("go_on")
            stage.people[0].turn_head(0.0)

    def go_on(self, stage: Stage) -> None:
        """Go in when it is one's turn."""
        person, (x, y) = stage.people[0], self._event.door
        if not self._going:
            person.face(stage.x, stage.y)
            inside = -(stage.x - x) * self._ux - (stage.y - y) * self._uy
            self._going = inside > stage.radius + 2.0 * person.radius
            if self._going:
                person.gesture("none")
                person.turn_head(nan)
        elif self._points:
            if person.walk_to(*self._points[0], person.speed, stage.dt):
                self._points.pop(0)
        else:
            person.face(x, y)


def entering(event: Entering, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the door."""
    x, y = event.at
    heading = heading_to(event.door[0] - x, event.door[1] - y)
    return Script(
        event.kind, (Performer(x, y, heading, draw_speed(event, generator)),), event.radius, lambda: GoIn(event)
    )
