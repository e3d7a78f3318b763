"""Gesturing: somebody turns to the robot and signs to it, from the trigger to the end."""

from __future__ import annotations

import numpy as np

from sidestep.crowd.events.script import Act, Performer, Script, Setting
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Gesturing


class Sign(Act):
    """Body and gaze follow the robot."""

    def __init__(self, event: Gesturing) -> None:
        super().__init__(event.trigger_m)
        self._gesture = event.gesture

    def begin(self, stage: Stage) -> None:
        """Raise the hand."""
        stage.people[0].gesture(self._gesture)
        stage.people[0].turn_head(0.0)

    def go_on(self, stage: Stage) -> None:
        """Keep facing the robot."""
        stage.people[0].face(stage.x, stage.y)


def gesturing(event: Gesturing, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``, who faces the robot's start."""
    x, y = event.at
    heading = heading_to(setting.start[0] - x, setting.start[1] - y)
    return Script(event.kind, (Performer(x, y, heading),), event.radius, lambda: Sign(event))
