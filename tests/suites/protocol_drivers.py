"""Robots for the tests of validation protocols: some that cheat, and a polite one that shows that a scenario can be
passed."""

from __future__ import annotations

from collections.abc import Callable
from math import hypot, inf
from typing import ClassVar

from sidestep.simulation.crowd.events.enacting import PathProgress
from sidestep.types import HolonomicVelocity, Observation, Scenario, Task
from sidestep.types.events import GESTURES, Enacting

SPEED = 1.1
LOOK_M = 0.5
PATIENCE_S = 5.0
STANDING = HolonomicVelocity(0.0, 0.0)


def holonomic(scenario: Scenario) -> Scenario:
    """The scenario with a robot that moves in any direction."""
    ego = scenario.ego.model_copy(update={"dynamics": "holonomic"})
    return scenario.model_copy(update={"robots": (ego,)})


class DriveThrough:
    """Follows the middle of its path, whatever people do."""

    needs: ClassVar[frozenset[str]] = frozenset({"pedestrians"})
    name = "drive_through"
    aside = 0.0

    def __init__(self, scenario: Scenario) -> None:
        ego = scenario.ego
        self.points = ((ego.start[0], ego.start[1]), *ego.route, ego.goal)
        self.path = PathProgress(self.points)
        (event,) = scenario.events
        assert isinstance(event, Enacting)
        self.event = event
        self.person_path = PathProgress(event.path)
        self.meet_m = inf if event.meet is None else self.path.along(*event.meet)

    def reset(self, task: Task) -> None:
        """Nothing to forget."""

    def act(self, observation: Observation) -> HolonomicVelocity:
        """Toward a point a little ahead on the path."""
        along = self.path.along(*observation.robot.position)
        if not self.may_go(observation, along):
            return STANDING
        x, y = self.point(along + LOOK_M)
        dx, dy = x - observation.robot.x, y - observation.robot.y
        length = max(hypot(dx, dy), 1e-6)
        speed = self.speed(observation)
        return HolonomicVelocity(speed * dx / length, speed * dy / length)

    def speed(self, observation: Observation) -> float:
        """Always the same, m/s."""
        return SPEED

    def may_go(self, observation: Observation, along: float) -> bool:
        """Always."""
        return True

    def point(self, metres: float) -> tuple[float, float]:
        """``metres`` along the path, ``aside`` to its right except at the goal."""
        for (ax, ay), (bx, by) in zip(self.points, self.points[1:], strict=False):
            length = hypot(bx - ax, by - ay)
            if metres <= length:
                ux, uy = (bx - ax) / length, (by - ay) / length
                return ax + ux * metres + self.aside * uy, ay + uy * metres - self.aside * ux
            metres -= length
        return self.points[-1]


class WaitForEver(DriveThrough):
    """Drives to the place where the paths meet, to half of its path if there is none, and stays before it."""

    name = "wait_for_ever"

    def may_go(self, observation: Observation, along: float) -> bool:
        """Up to there."""
        return along < min(self.meet_m - 2.0, self.path.length / 2)


class CutTheCorner(DriveThrough):
    """Drives along the inner wall of the corner at full speed."""

    name = "cut_the_corner"

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        (ax, ay), (bx, by), (cx, cy) = self.points
        turns_left = (bx - ax) * (cy - by) - (by - ay) * (cx - bx) > 0.0
        self.aside = -0.85 if turns_left else 0.85


class HugTheWall(DriveThrough):
    """Drives past the middle of the crossing at a distance at which it is not in the zone, whatever people do."""

    name = "hug_the_wall"

    def point(self, metres: float) -> tuple[float, float]:
        """On the path, and 1.3 m to its right near the crossing."""
        near = abs(metres - LOOK_M - self.meet_m) < 2.0
        self.aside = self.event.zone_m + 0.3 if near else 0.0
        return super().point(metres)


class Impatient(DriveThrough):
    """Waits before the crossing or the door, and starts a second before it may."""

    name = "impatient"

    def reset(self, task: Task) -> None:
        self.goes = False

    def may_go(self, observation: Observation, along: float) -> bool:
        """Up to 1.7 m before the place where the paths meet (3 m before a door), and on when the person is near it."""
        people = observation.pedestrians
        assert people is not None
        assert self.event.meet is not None
        x, y = self.event.meet
        within = 2.0 if self.event.conduct == "wave_on" else 1.0
        self.goes |= any(hypot(px - x, py - y) < within for px, py in people.position.tolist())
        return self.goes or along < self.meet_m - (3.0 if self.event.conduct == "first_come" else 1.7)


class IgnoreTheWave(DriveThrough):
    """Stops before the crossing and goes on only when the person has crossed."""

    name = "ignore_the_wave"

    def may_go(self, observation: Observation, along: float) -> bool:
        """When somebody is seen beyond the crossing."""
        people = observation.pedestrians
        assert people is not None
        assert self.event.meet is not None
        beyond = self.person_path.along(*self.event.meet) + 1.0
        has_crossed = any(self.person_path.along(x, y) > beyond for x, y in people.position.tolist())
        return has_crossed or along < self.meet_m - 1.7


class StopInThePath(DriveThrough):
    """Stops in the middle of the person's path until the person has walked round, then goes on."""

    name = "stop_in_the_path"

    def reset(self, task: Task) -> None:
        self.until = inf

    def may_go(self, observation: Observation, along: float) -> bool:
        """Not for 12 s from when somebody is near."""
        people = observation.pedestrians
        assert people is not None
        x, y = observation.robot.position
        if self.until == inf and any(hypot(px - x, py - y) < 2.0 for px, py in people.position.tolist()):
            self.until = observation.time + 12.0
        return self.until == inf or observation.time > self.until


class Polite(DriveThrough):
    """Keeps right, waits where the paths meet, goes on when the person has passed, has waved, or waits as well, and is
    slow beside people at a corner."""

    name = "polite"

    def __init__(self, scenario: Scenario) -> None:
        super().__init__(scenario)
        same_path = self.event.meet is None or self.event.conduct == "surprise"
        self.aside = 0.75 if same_path else 0.0
        before: dict[str, float] = {"walk_on": 1.7, "wave_on": 1.7, "first_come": 3.0, "surprise": 2.5}
        self.stop_m = self.meet_m - before[self.event.conduct]

    def reset(self, task: Task) -> None:
        self.is_clear, self.waited_s = False, 0.0

    def may_go(self, observation: Observation, along: float) -> bool:
        """Up to the stop line, then when it is clear."""
        people = observation.pedestrians
        assert people is not None
        assert people.gesture is not None
        for k, (x, y) in enumerate(people.position.tolist()):
            self.is_clear |= bool(people.gesture[k] == GESTURES["go_on"])
            if self.event.meet is not None:
                self.is_clear |= self.person_path.along(x, y) > self.person_path.along(*self.event.meet) + 1.0
        nobody_moves = not any(hypot(vx, vy) > 0.05 for vx, vy in people.velocity.tolist())
        waits = self.event.conduct in ("first_come", "surprise") and along >= self.stop_m and nobody_moves
        self.waited_s = self.waited_s + 0.1 if waits else 0.0
        self.is_clear |= self.waited_s > PATIENCE_S
        return along < self.stop_m or self.is_clear

    def speed(self, observation: Observation) -> float:
        """Slow within 1.2 m of a person."""
        people = observation.pedestrians
        assert people is not None
        x, y = observation.robot.position
        is_near = any(hypot(px - x, py - y) < 1.2 for px, py in people.position.tolist())
        return 0.6 if is_near and self.event.conduct == "surprise" else SPEED


Driver = Callable[[Scenario], DriveThrough]
