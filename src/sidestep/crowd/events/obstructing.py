"""Obstructing: somebody stands in the middle of the way; from the trigger on, looks around."""

from __future__ import annotations

from math import pi

import numpy as np

from sidestep import exact
from sidestep.crowd.events.script import Act, Performer, Script, Setting
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import unit_vector
from sidestep.types.events import Obstructing

SWING = 1.0  # rad to either side
PERIOD = 4.0  # s for a look to the left, to the right and back


class LookAround(Act):
    """yaw(t) = SWING · sin(2π (t - t_trigger) / PERIOD)."""

    def begin(self, stage: Stage) -> None:
        """Start looking around."""
        self._since = stage.time
        stage.people[0].gesture("look_around")

    def go_on(self, stage: Stage) -> None:
        """Swing the head."""
        _, sine = unit_vector(2.0 * pi * (stage.time - self._since) / PERIOD)
        stage.people[0].turn_head(SWING * sine)


def obstructing(event: Obstructing, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at ``at``."""
    drawn = float(exact.uniform(generator, -pi, pi))
    person = Performer(*event.at, drawn if event.facing is None else event.facing)
    return Script(event.kind, (person,), event.radius, lambda: LookAround(event.trigger_m))
