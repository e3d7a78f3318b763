"""What an event brings: its people at time 0, and what makes the act that they play in one episode."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np

from sidestep import exact
from sidestep.crowd.events.stage import Stage
from sidestep.exact import square
from sidestep.kernels.dynamics import unit_vector
from sidestep.types.events import Side, Walking
from sidestep.types.scene import Region

SLOWEST, FASTEST = 1.1, 1.65
"""m/s: the walking speeds of SidewalkBench's people."""


@dataclass(frozen=True)
class Performer:
    """One person of an event at time 0."""

    x: float
    y: float
    heading: float
    speed: float = 0.0
    together: bool = False
    """Part of the event's social group."""


class Act:
    """One episode's play. Nobody knows when it begins but the robot's place tells; then it goes on to the end.

    An act writes velocities, gestures and gazes of its people, ``stage.people``; without word they go on as told.
    """

    triggered = False

    def __init__(self, trigger_m: float) -> None:
        self._trigger_m = trigger_m

    def play(self, stage: Stage) -> bool:
        """One step; True in the step in which the event is triggered."""
        if self.triggered:
            self.go_on(stage)
            return False
        if not self.is_time(stage):
            self.wait(stage)
            return False
        self.triggered = True
        self.begin(stage)
        self.go_on(stage)
        return True

    def is_time(self, stage: Stage) -> bool:
        """Whether the event is triggered now: somebody of it is near ahead of the robot."""
        return any(stage.is_ahead(person.x, person.y, self._trigger_m) for person in stage.people)

    def wait(self, stage: Stage) -> None:
        """What happens before the trigger."""

    def begin(self, stage: Stage) -> None:
        """What happens once, at the trigger."""

    def go_on(self, stage: Stage) -> None:
        """What happens in every step from the trigger on."""


@dataclass(frozen=True)
class Script:
    """An event with everything drawn."""

    kind: str
    people: tuple[Performer, ...]
    radius: float
    act: Callable[[], Act]


@dataclass(frozen=True)
class Setting:
    """What an event is written into: the robot's way and the ground."""

    way: tuple[tuple[float, float], ...]
    """Start, route and goal of the robot."""
    heading: float
    """Of the robot at the start, rad."""
    regions: Sequence[Region]
    where: str
    """Opens error messages."""
    robot_radius: float = 0.5
    """Of the robot's enclosing circle, m."""

    @property
    def start(self) -> tuple[float, float]:
        """Where the robot starts."""
        return self.way[0]

    def nearest_on_way(self, x: float, y: float) -> tuple[float, float, float, float]:
        """The nearest point of the robot's way and the direction of its leg there."""
        best = (self.start[0], self.start[1], *unit_vector(self.heading))
        least = np.inf
        for (ax, ay), (bx, by) in zip(self.way, self.way[1:], strict=False):
            length = sqrt(square(bx - ax) + square(by - ay))
            if length < 1e-9:
                continue
            ux, uy = (bx - ax) / length, (by - ay) / length
            along = min(max((x - ax) * ux + (y - ay) * uy, 0.0), length)
            px, py = ax + along * ux, ay + along * uy
            apart = square(x - px) + square(y - py)
            if apart < least:
                least, best = apart, (px, py, ux, uy)
        return best

    def direction(self, given: float | None, x: float, y: float) -> tuple[float, float]:
        """The unit vector of ``given``, else the direction of the robot's way near (x, y)."""
        if given is not None:
            c, s = unit_vector(float(given))
            return float(c), float(s)
        return self.nearest_on_way(x, y)[2:]


def draw_speed(event: Walking, generator: np.random.Generator) -> float:
    """The event's speed, else one between SLOWEST and FASTEST. It always draws: settings shift no draws."""
    drawn = float(exact.uniform(generator, SLOWEST, FASTEST))
    return drawn if event.speed is None else event.speed


def draw_side(given: Side | None, generator: np.random.Generator) -> float:
    """1 left, -1 right of the robot's way."""
    drawn = 1.0 if generator.random() < 0.5 else -1.0
    return drawn if given is None else (1.0 if given == "left" else -1.0)
