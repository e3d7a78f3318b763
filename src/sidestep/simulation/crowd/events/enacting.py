"""People who enact the scenarios of a validation protocol (Pirk et al., A protocol for validating social navigation
policies, 2022): frontal approach, intersection wait, intersection gesture, narrow doorway, blind corner.

The person waits at the beginning of a path, sets off when the robot has come to a mark on its route, and leaves the
world at the end. A person does not walk into a robot: in front of one that stands in the path the person stops, waits
for ``patience_s`` and walks round it. What else the person does is the ``conduct``:

- ``walk_on``: never stops for a robot that is elsewhere. Where the paths cross, the robot has to wait until the person
  has crossed.
- ``wave_on``: stops before the crossing. When the robot stands too, the person waves it on until it has crossed. The
  robot has to wait for the wave.
- ``first_come``: if the robot arrives at the door first, the person lets it through; else the robot has to wait until
  the person is through.
- ``surprise``: walks at the pace at which both arrive at the corner together, stops, startled, when the robot appears,
  and then goes on. The robot has to come near slowly, or keep its distance.

A robot that takes a precedence which it does not have, or round which the person has to walk, breaks the rules
(``Act.violation``). What the person does follows from positions alone, so that the rules also hold where a participant
moves the person; only walking round is then no violation, since nobody knows why a participant stands.
"""

from __future__ import annotations

import itertools
from math import inf, nan, sqrt

import numpy as np

from sidestep._util.exact import square
from sidestep.errors import BadInput
from sidestep.kernels.dynamics import heading_to
from sidestep.simulation.crowd.events.script import Act, Actor, EventScene, Performer, Script, Setting, draw_speed
from sidestep.types.base import Point
from sidestep.types.events import Enacting

STANDING_MPS = 0.05  # a robot that is slower stands
REACHED_M = 0.3  # a corner of the path is reached within this
HALT_M = 0.6  # the person stops at this distance between the bodies before a robot in the path
BESIDE_M = 0.05  # a robot is in the path if it would pass the person nearer than this
ROUND_M = 0.25  # kept between the bodies while walking round the robot
SKIN_M = 0.02
STAND_S = 0.5  # the robot has stood so long when the person waves
NOTICE_M = 8.0  # and is nearer to the crossing than this
STARTLE_S = 1.0  # how long a startled person stands
RUSH_MPS, RUSH_GAP_M = (
    0.7,
    0.45,
)  # a robot that comes faster keeps this distance between the bodies from who was startled
SLOWEST, FASTEST = 0.6, 1.8  # m/s: paces at which a person times the arrival at a corner


class PathProgress:
    """Where somebody is along a line of straight legs."""

    def __init__(self, points: tuple[Point, ...]) -> None:
        self._legs = []
        along = 0.0
        for (ax, ay), (bx, by) in itertools.pairwise(points):
            length = sqrt(square(bx - ax) + square(by - ay))
            if length > 1e-9:
                self._legs.append((ax, ay, (bx - ax) / length, (by - ay) / length, length, along))
            along += length
        self.length = along
        """Length of the whole line, m."""

    def along(self, x: float, y: float) -> float:
        """Metres from the beginning to the nearest point of the line."""
        least, best = inf, 0.0
        for ax, ay, ux, uy, length, before in self._legs:
            part = min(max((x - ax) * ux + (y - ay) * uy, 0.0), length)
            apart = square(x - ax - part * ux) + square(y - ay - part * uy)
            if apart < least:
                least, best = apart, before + part
        return best


class Enact(Act):
    """Walks on. The other conducts refine ``may_go``, ``pace`` and ``judge``."""

    def __init__(self, event: Enacting, route: PathProgress) -> None:
        super().__init__(0.0)
        self.event = event
        self._route = route
        self._path = PathProgress(event.path)
        self._points = list(event.path[1:])
        self._mark_m = min(event.start_m, route.length)
        self._passed_at = inf if event.meet is None else self._path.along(*event.meet) + event.zone_m
        self._robot_done_at = inf if event.meet is None else route.along(*event.meet) + event.zone_m
        self._waited = 0.0

    def is_time(self, stage: EventScene) -> bool:
        """Whether the robot has come to the mark."""
        return self._route.along(stage.x, stage.y) >= self._mark_m - 1e-6

    def begin(self, stage: EventScene) -> None:
        """Look at the robot."""
        stage.people[0].look_at(stage.x, stage.y)

    def go_on(self, stage: EventScene) -> None:
        """Judge the robot, then walk or wait."""
        person = stage.people[0]
        if not person.here:
            return
        if not self.violation:
            self.violation = self.judge(stage, person)
        if not self._points:
            return
        if self.may_go(stage, person):
            self._walk(stage, person, self.pace(stage, person))
        else:
            person.walk(0.0, 0.0)
            person.face(stage.x, stage.y)
            person.turn_head(0.0)

    def may_go(self, stage: EventScene, person: Actor) -> bool:
        """Whether the person walks in this step."""
        return True

    def pace(self, stage: EventScene, person: Actor) -> float:
        """How fast, m/s."""
        return person.speed

    def judge(self, stage: EventScene, person: Actor) -> str:
        """What the robot does wrong now; empty: nothing."""
        if self.robot_has_crossed(stage) and not self.person_has_passed(person):
            return "the robot crossed before the person had crossed"
        return ""

    def robot_is_at_meeting(self, stage: EventScene) -> bool:
        """Whether the robot is where the paths meet."""
        return self.event.meet is not None and stage.is_near(*self.event.meet, self.event.zone_m)

    def robot_has_crossed(self, stage: EventScene) -> bool:
        """Whether the robot is where the paths meet, or past the middle of it at whatever distance."""
        middle_m = self._robot_done_at - self.event.zone_m
        return self.robot_is_at_meeting(stage) or self._route.along(stage.x, stage.y) >= middle_m

    def person_has_passed(self, person: Actor) -> bool:
        """Whether the person is beyond the place where the paths meet, or gone."""
        return not person.here or self._path.along(person.x, person.y) >= self._passed_at - REACHED_M

    def robot_has_passed(self, stage: EventScene) -> bool:
        """The same of the robot."""
        return self._route.along(stage.x, stage.y) >= self._robot_done_at

    def to_meeting(self, person: Actor) -> float:
        """Metres of the path to the meeting point; negative behind it."""
        return self._passed_at - self.event.zone_m - self._path.along(person.x, person.y)

    def _walk(self, stage: EventScene, person: Actor, speed: float) -> None:
        """One step along the path; round a robot that stands in it."""
        while self._points and _apart(person, self._points[0]) < REACHED_M and len(self._points) > 1:
            self._points.pop(0)
        x, y = self._points[0]
        dx, dy = x - person.x, y - person.y
        distance = sqrt(dx * dx + dy * dy)
        if distance < REACHED_M / 2.0:
            self._points.clear()
            person.turn_head(nan)
            person.leave()
            return
        ux, uy = dx / distance, dy / distance
        touch = stage.radius + person.radius
        rx, ry = stage.x - person.x, stage.y - person.y
        ahead, beside = rx * ux + ry * uy, ry * ux - rx * uy
        in_path = 0.0 < ahead < min(touch + HALT_M, distance + touch) and abs(beside) < touch + BESIDE_M
        if in_path and self._waited < self.event.patience_s - 1e-9:
            self._waited += stage.dt
            person.walk(0.0, 0.0)
            person.look_at(stage.x, stage.y)
            return
        if in_path:
            if not (self.violation or person.is_free):
                self.violation = "the person had to walk round the robot"
            ux, uy = self._round(rx, ry, touch)
        elif ahead <= 0.0:
            self._waited = 0.0
        person.walk(*_keep_off(ux * speed, uy * speed, rx, ry, touch + SKIN_M, stage.dt))
        if in_path:
            person.look_at(stage.x, stage.y)
        else:
            person.turn_head(nan)

    def _round(self, rx: float, ry: float, touch: float) -> tuple[float, float]:
        """Unit vector along the circle about the robot, which is at (rx, ry) from the person."""
        apart = sqrt(rx * rx + ry * ry)
        if apart < 1e-6:
            return 1.0, 0.0
        nx, ny = rx / apart, ry / apart
        turn = 1.0 if self.event.side == "right" else -1.0
        inward = min(max(apart - touch - ROUND_M, -0.5), 0.5)  # toward the circle that keeps ROUND_M
        ux, uy = turn * ny + inward * nx, -turn * nx + inward * ny
        length = sqrt(ux * ux + uy * uy)
        return ux / length, uy / length


class WaveOn(Enact):
    """Stops before the crossing and waves the robot on."""

    _stood = 0.0
    _has_waved = False

    def may_go(self, stage: EventScene, person: Actor) -> bool:
        """Until the stop, and again when the robot has crossed."""
        if self.robot_has_passed(stage):
            person.gesture("none")
            return True
        if self.to_meeting(person) > self.event.wait_m:
            return True
        if self._stood >= STAND_S - 1e-9 and not self._has_waved:
            person.gesture("go_on")
        return False

    def judge(self, stage: EventScene, person: Actor) -> str:
        """The robot has to wait for the wave."""
        stands = square(stage.vx) + square(stage.vy) < square(STANDING_MPS)
        assert self.event.meet is not None
        near = stage.is_near(*self.event.meet, NOTICE_M)
        waits = self.to_meeting(person) <= self.event.wait_m
        self._stood = self._stood + stage.dt if stands and near and waits else 0.0
        self._has_waved = self._has_waved or person.is_waving_on
        if self.robot_has_crossed(stage) and not self._has_waved:
            return "the robot crossed before the person waved it on"
        return ""


class FirstCome(Enact):
    """Goes first through the door if first there."""

    _first = ""

    def may_go(self, stage: EventScene, person: Actor) -> bool:
        """Not while a robot that came first is on its way through."""
        lets_go_first = self._first == "robot" and not self.robot_has_passed(stage)
        return not (lets_go_first and 0.0 < self.to_meeting(person) <= self.event.wait_m)

    def judge(self, stage: EventScene, person: Actor) -> str:
        """The robot has to wait if the person was first; arriving together, the person is."""
        assert self.event.meet is not None
        if not self._first:
            if _apart(person, self.event.meet) <= self.event.arrive_m:
                self._first = "person"
            elif stage.is_near(*self.event.meet, self.event.arrive_m):
                self._first = "robot"
        if self._first == "person" and self.robot_is_at_meeting(stage) and not self.person_has_passed(person):
            return "the robot went into the door though the person was there first"
        return ""


class Surprise(Enact):
    """Meets the robot at the corner, stops, and goes on."""

    _startled_at = nan

    def pace(self, stage: EventScene, person: Actor) -> float:
        """At which both are at the corner together, as long as both are on their way to it."""
        left, robot_left = self.to_meeting(person), self._robot_done_at - self.event.zone_m
        robot_left -= self._route.along(stage.x, stage.y)
        speed = sqrt(square(stage.vx) + square(stage.vy))
        if self._startled_at == self._startled_at or left <= 0.0 or robot_left <= 0.0 or speed < 0.1:
            return person.speed
        return min(max(left * speed / robot_left, SLOWEST), FASTEST)

    def may_go(self, stage: EventScene, person: Actor) -> bool:
        """Not while startled."""
        if self._startled_at != self._startled_at:
            close = stage.is_near(person.x, person.y, self.event.startle_m)
            if close and abs(self.to_meeting(person)) <= self.event.startle_m:
                self._startled_at = stage.time
        return not stage.time - self._startled_at < STARTLE_S - 1e-9

    def judge(self, stage: EventScene, person: Actor) -> str:
        """Whoever is first round the corner does not matter; the robot does not rush past the person."""
        near = stage.is_near(person.x, person.y, stage.radius + person.radius + RUSH_GAP_M)
        fast = square(stage.vx) + square(stage.vy) > square(RUSH_MPS)
        nearing = stage.vx * (person.x - stage.x) + stage.vy * (person.y - stage.y) > 0.0
        was_startled = self._startled_at == self._startled_at
        return "the robot rushed at the startled person" if was_startled and near and fast and nearing else ""


def _apart(person: Actor, point: Point) -> float:
    return sqrt(square(point[0] - person.x) + square(point[1] - person.y))


def _keep_off(vx: float, vy: float, rx: float, ry: float, touch: float, dt: float) -> tuple[float, float]:
    """The velocity without what would lead into a robot at (rx, ry) from the person."""
    apart = sqrt(rx * rx + ry * ry)
    if apart < 1e-9:
        return vx, vy
    nx, ny = rx / apart, ry / apart
    excess = vx * nx + vy * ny - max(apart - touch, 0.0) / dt
    return (vx - excess * nx, vy - excess * ny) if excess > 0.0 else (vx, vy)


ACTS: dict[str, type[Enact]] = {
    "walk_on": Enact,
    "wave_on": WaveOn,
    "first_come": FirstCome,
    "surprise": Surprise,
}


def enacting(event: Enacting, setting: Setting, generator: np.random.Generator) -> Script:
    """One person at the beginning of the path, who faces along it."""
    (x, y), (to_x, to_y) = event.path[:2]
    route = PathProgress(setting.way)
    if event.start_m >= route.length:
        raise BadInput(
            f"{setting.where}: start_m is {event.start_m:g} m, but the robot's route has {route.length:.2f} m; "
            "the person would never set off"
        )
    person = Performer(x, y, heading_to(to_x - x, to_y - y), draw_speed(event, generator))
    return Script(event.kind, (person,), event.radius, lambda: ACTS[event.conduct](event, route))
