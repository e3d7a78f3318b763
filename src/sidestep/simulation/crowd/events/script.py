"""What an event is made of: its people at time 0 (``Performer``), the act that they play in one episode (``Act``), what
an act sees and can tell its people in one step (``EventScene``, ``Actor``), and the robot's route and the ground that
an event is written into (``Setting``).

Acts use plain numbers instead of arrays: they have few people, and a NumPy call costs more than all of their
arithmetic. Angles come from the kernels' own functions, which give the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf, nan, sqrt
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import square
from sidestep.kernels import layout
from sidestep.kernels.dynamics import heading_to, turn_to, unit_vector
from sidestep.types.events import GESTURES, Side, Walking
from sidestep.types.scene import Region

SQUARE_COS_60 = 0.25
MOVING = 0.1  # m/s: below this a robot's way is where it faces
SLACK = 1e-6  # m: a robot that is just there by all but rounding is there
NECK = 1.4  # rad: the head turns no further from the body


class Actor:
    """One person of an act."""

    __slots__ = ("_agents", "_flags", "column", "radius", "speed", "x", "y")
    is_free = False
    """Whether somebody else than the act moves the person."""

    def __init__(self, column: int, speed: float, radius: float) -> None:
        self.column = column
        self.speed = speed
        self.radius = radius
        self.x = self.y = nan
        self._agents: Any = None
        self._flags: Any = None

    def appear(self, agents: Any, flags: Any) -> None:
        """See where the person is now; ``agents`` and ``flags`` are one world's."""
        self._agents, self._flags = agents, flags
        self.x, self.y = agents.item(layout.PX, self.column), agents.item(layout.PY, self.column)

    @property
    def heading(self) -> float:
        """Where the body faces, rad."""
        return float(self._agents.item(layout.HEADING, self.column))

    @property
    def is_waving_on(self) -> bool:
        """Whether the person signs to the robot to go on."""
        return bool(self._flags.item(layout.GESTURE, self.column) == GESTURES["go_on"])

    @property
    def here(self) -> bool:
        """Whether the person is in the world."""
        return bool(self._flags.item(layout.ACTIVE, self.column))

    def walk(self, vx: float, vy: float) -> None:
        """Walk so in the coming step, m/s; the body turns that way."""
        self._agents[layout.NEW_VX, self.column] = vx
        self._agents[layout.NEW_VY, self.column] = vy

    def walk_to(self, x: float, y: float, speed: float, dt: float) -> bool:
        """Walk straight to a point and stand there; True when there."""
        dx, dy = x - self.x, y - self.y
        distance = sqrt(dx * dx + dy * dy)
        if distance < 1e-3:
            self.walk(0.0, 0.0)
            return True
        pace = min(speed, distance / dt) / distance
        self.walk(dx * pace, dy * pace)
        return False

    def face(self, x: float, y: float) -> None:
        """Turn the body to a point; for people who stand."""
        self._agents[layout.HEADING, self.column] = heading_to(x - self.x, y - self.y)

    def look_at(self, x: float, y: float) -> None:
        """Turn the head to a point, as far as the neck lets."""
        vx, vy = self._agents.item(layout.NEW_VX, self.column), self._agents.item(layout.NEW_VY, self.column)
        heading = heading_to(vx, vy) if vx * vx + vy * vy > 0.0025 else self.heading
        self.turn_head(turn_to(x - self.x, y - self.y, heading))

    def turn_head(self, angle: float) -> None:
        """Turn the head by so much from the body's heading, rad, left positive; NaN: as is natural."""
        self._agents[layout.HEAD_YAW, self.column] = min(max(angle, -NECK), NECK) if angle == angle else nan

    def gesture(self, name: str) -> None:
        """Make a gesture until another is made."""
        self._flags[layout.GESTURE, self.column] = GESTURES[name]

    def join(self, other: Actor) -> None:
        """Be of another's social group from now on; records keep the group of time 0."""
        self._flags[layout.GROUP, self.column] = self._flags.item(layout.GROUP, other.column)

    def part(self) -> None:
        """Be of no group from now on."""
        self._flags[layout.GROUP, self.column] = -1

    def leave(self) -> None:
        """Leave the world for good."""
        self.walk(0.0, 0.0)
        self._flags[layout.ACTIVE, self.column] = 0
        self._agents[layout.ENTER_TIME, self.column] = inf
        self._agents[layout.VX, self.column] = self._agents[layout.VY, self.column] = 0.0


class FreeActor(Actor):
    """A person of an act whom somebody else moves, such as a participant of a study: the act's word has no effect."""

    __slots__ = ()
    is_free = True

    def walk(self, vx: float, vy: float) -> None:
        """Nothing."""

    def face(self, x: float, y: float) -> None:
        """Nothing."""

    def turn_head(self, angle: float) -> None:
        """Nothing."""

    def gesture(self, name: str) -> None:
        """Nothing."""

    def join(self, other: Actor) -> None:
        """Nothing."""

    def part(self) -> None:
        """Nothing."""

    def leave(self) -> None:
        """Nothing."""


class EventScene:
    """The robot and the people of one act, now."""

    __slots__ = ("dt", "heading", "people", "radius", "time", "ux", "uy", "vx", "vy", "x", "y")

    def __init__(self, people: list[Actor], robot_radius: float, dt: float) -> None:
        self.people = people
        self.radius = robot_radius
        """Radius of the robot's enclosing circle, m."""
        self.dt = dt
        self.time = self.x = self.y = self.heading = self.vx = self.vy = 0.0
        self.ux, self.uy = 1.0, 0.0

    def update(self, time: float, robot: tuple[float, ...], agents: Any, flags: Any) -> None:
        """``robot``: x, y, heading, vx, vy."""
        self.time = time
        self.x, self.y, self.heading, self.vx, self.vy = robot
        self.ux, self.uy = unit_vector(self.heading)
        for person in self.people:
            person.appear(agents, flags)

    def is_ahead(self, x: float, y: float, within: float) -> bool:
        """Whether a point is in front of the robot: at most ``within`` away and 60° off its heading."""
        dx, dy = x - self.x, y - self.y
        along, apart = dx * self.ux + dy * self.uy, dx * dx + dy * dy
        return along > 0.0 and apart <= square(within + SLACK) and along * along >= SQUARE_COS_60 * apart

    def is_behind(self, x: float, y: float, within: float) -> bool:
        """The same behind the robot."""
        dx, dy = x - self.x, y - self.y
        along, apart = dx * self.ux + dy * self.uy, dx * dx + dy * dy
        return along < 0.0 and apart <= square(within + SLACK) and along * along >= SQUARE_COS_60 * apart

    def is_near(self, x: float, y: float, within: float) -> bool:
        """Whether a point is at most ``within`` from the robot's centre."""
        dx, dy = x - self.x, y - self.y
        reach = within + SLACK
        return dx * dx + dy * dy <= reach * reach

    @property
    def course(self) -> tuple[float, float, float]:
        """The unit vector of the robot's motion, and its speed, m/s; where it stands, that of its heading and 0."""
        speed = sqrt(self.vx * self.vx + self.vy * self.vy)
        if speed < MOVING:
            return self.ux, self.uy, 0.0
        return self.vx / speed, self.vy / speed, speed


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
    """What an event's people do in one episode. The robot's place triggers it; then it runs to its end.

    An act writes velocities, gestures and gazes of its people, ``stage.people``; they keep the last values written.
    """

    triggered = False
    violation = ""
    """What the robot did against the rules of the act; empty: nothing so far."""

    def __init__(self, trigger_m: float) -> None:
        self._trigger_m = trigger_m

    def play(self, stage: EventScene) -> bool:
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

    def is_time(self, stage: EventScene) -> bool:
        """Whether the event is triggered now: somebody of it is near ahead of the robot."""
        return any(stage.is_ahead(person.x, person.y, self._trigger_m) for person in stage.people)

    def wait(self, stage: EventScene) -> None:
        """What happens before the trigger."""

    def begin(self, stage: EventScene) -> None:
        """What happens once, at the trigger."""

    def go_on(self, stage: EventScene) -> None:
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
    """Heading of the robot at the start, rad."""
    regions: Sequence[Region]
    where: str
    """Opens error messages."""
    robot_radius: float = 0.5
    """Radius of the robot's enclosing circle, m."""

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
