"""Queuing: people stand closely in line and face its head; from the trigger on they shift about as who waits does.

The line starts at one side of the sidewalk and leads over the robot's way. Its last one may stand apart: such a queue
leaves a gap through which others could pass, but it is still one queue.
"""

from __future__ import annotations

import numpy as np

from sidestep import exact
from sidestep.crowd.events.script import Act, Performer, Script, Setting
from sidestep.crowd.events.stage import Stage
from sidestep.kernels.dynamics import heading_to
from sidestep.types.events import Queuing

CLOSEST, WIDEST = 0.7, 0.9  # m between neighbours
SWAY = 0.05  # m to either side of the line


class Wait(Act):
    """They queue."""

    def begin(self, stage: Stage) -> None:
        """Everybody waits in their own way."""
        for person in stage.people:
            person.gesture("queue")


def queuing(event: Queuing, setting: Setting, generator: np.random.Generator) -> Script:
    """A line from ``at``; a social group, since nobody is to cut through it."""
    x, y = event.at
    drawn_count = int(generator.integers(3, 6))
    drawn_spacing = float(exact.uniform(generator, CLOSEST, WIDEST))
    count = drawn_count if event.people is None else event.people
    spacing = drawn_spacing if event.spacing_m is None else event.spacing_m
    sway = exact.uniform(generator, -SWAY, SWAY, count).tolist()
    ux, uy = _over_the_way(event, setting)
    people = [
        Performer(
            x + k * spacing * ux - sway[k] * uy,
            y + k * spacing * uy + sway[k] * ux,
            heading_to(-ux, -uy),
            together=True,
        )
        for k in range(count)
    ]
    if event.last_at is not None:
        lx, ly = event.last_at
        people[-1] = Performer(lx, ly, heading_to(people[-2].x - lx, people[-2].y - ly), together=True)
    return Script(event.kind, tuple(people), event.radius, lambda: Wait(event.trigger_m))


def _over_the_way(event: Queuing, setting: Setting) -> tuple[float, float]:
    """Unit vector from the head of the line to its end."""
    x, y = event.at
    ux, uy = setting.direction(event.direction, x, y)
    if event.direction is not None:
        return ux, uy
    px, py, _, _ = setting.nearest_on_way(x, y)
    on_left = (y - py) * ux - (x - px) * uy > 0.0
    return (uy, -ux) if on_left else (-uy, ux)
