"""Where people start, where they walk, how fast: every random number of a crowd is drawn here."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from math import cos, pi, sin

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.scenario import Box, CirclePlacement, CrowdPart, FlowPlacement, RandomPlacement

FreeMask = Callable[[FloatArray, float], BoolArray]
"""Which of the points (K, 2) are free for a disc of this radius."""
FindPath = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Waypoints (K, 2) from a start (excluded) to a goal (included) round the walls, for a disc of this radius."""

TRIES = 2000
SPACING_M = 0.1  # m that people keep from each other at the start, surface to surface
PAIR_SPACING = 0.6  # m between the two members of a walking pair


@dataclass(frozen=True)
class Placed:
    """One person with everything drawn."""

    start: tuple[float, float]
    waypoints: tuple[tuple[float, float], ...]
    speed: float
    radius: float
    group: int = -1
    enter_s: float = 0.0
    heading: float | None = None


@dataclass
class Placer:
    """Places the people of one world, keeping them off walls and off each other."""

    free: FreeMask | None
    find_path: FindPath | None
    """Both None where there are no walls."""
    time_limit_s: float
    where: str
    taken: list[tuple[float, float, float]]
    """Discs (x, y, radius) that are occupied at time 0: robots first, then people as they are placed."""
    groups: int = 0

    def place(self, part: CrowdPart, rng: np.random.Generator) -> list[Placed]:
        """All people of ``part``, hand-placed first."""
        placed = [self._by_hand(part, index, rng) for index in range(len(part.people))]
        match part.placement:
            case CirclePlacement():
                placed += self._circle(part, part.placement, rng)
            case RandomPlacement():
                placed += self._random(part, part.placement, rng)
            case FlowPlacement():
                placed += self._flow(part, part.placement, rng)
        return [self._loop(person) for person in placed] if part.at_end == "loop" else placed

    def _by_hand(self, part: CrowdPart, index: int, rng: np.random.Generator) -> Placed:
        person = part.people[index]
        drawn = self._speeds(part, 1, rng)[0]
        radius = person.radius if person.radius is not None else part.radius
        if not self._is_free(person.start, radius):
            raise BadInput(
                f"{self.where}: person {index} of the {part.model} part starts inside a wall at {person.start}; "
                "move the start into free space or make the radius smaller"
            )
        self.taken.append((*person.start, radius))
        return Placed(
            start=person.start,
            waypoints=person.waypoints,
            speed=person.speed if person.speed is not None else drawn,
            radius=radius,
            group=-1 if person.group is None else 1_000_000 + person.group,
            enter_s=person.enter_s,
            heading=person.heading,
        )

    def _circle(self, part: CrowdPart, placement: CirclePlacement, rng: np.random.Generator) -> list[Placed]:
        people = []
        cx, cy = placement.centre
        for speed in self._speeds(part, placement.count, rng):
            x, y = self._clear_place(part.radius, lambda: _on_circle(placement, rng), "circle")
            route = self._route((x, y), (2 * cx - x, 2 * cy - y), part.radius)
            people.append(Placed((x, y), route, speed, part.radius))
        return people

    def _random(self, part: CrowdPart, placement: RandomPlacement, rng: np.random.Generator) -> list[Placed]:
        people = []
        for speed in self._speeds(part, placement.count, rng):
            start = self._clear_place(part.radius, lambda: _in_box(placement.area, rng), "random")
            route: list[tuple[float, float]] = []
            here = start
            for _ in range(placement.goals):
                there = self._free_place(part.radius, lambda: _in_box(placement.area, rng), "random")
                route += self._route(here, there, part.radius)
                here = there
            people.append(Placed(start, tuple(route), speed, part.radius))
        return people

    def _flow(self, part: CrowdPart, placement: FlowPlacement, rng: np.random.Generator) -> list[Placed]:
        people: list[Placed] = []
        until = min(placement.until_s or self.time_limit_s, self.time_limit_s)
        rate = placement.per_minute / 60.0
        lead = 0.0
        if placement.already_walking:
            centres = [_centre(placement.origin), *placement.via, _centre(placement.destination)]
            length = sum(float(np.hypot(b[0] - a[0], b[1] - a[1])) for a, b in pairwise(centres))
            lead = length / part.speed.mean
        time = -lead
        while True:
            time += float(rng.exponential(1.0 / rate))
            if time > until:
                return people
            arrivals = self._arrival(part, placement, time, rng)
            people += arrivals

    def _arrival(
        self, part: CrowdPart, placement: FlowPlacement, time: float, rng: np.random.Generator
    ) -> list[Placed]:
        """One person, or a pair side by side, who enters at ``time``; on the way already if that is before 0."""
        together = rng.random() < placement.group_share
        start = self._free_place(part.radius, lambda: _in_box(placement.origin, rng), "flow origin")
        goal = self._free_place(part.radius, lambda: _in_box(placement.destination, rng), "flow destination")
        speed = self._speeds(part, 1, rng)[0]
        route: list[tuple[float, float]] = []
        for stop in (*placement.via, goal):
            route += self._route(route[-1] if route else start, stop, part.radius)
        first = Placed(start, tuple(route), speed, part.radius, enter_s=max(time, 0.0))
        if time < 0:
            moved = self._advance(first, -time * speed)
            if moved is None:
                return []
            first = moved
        if not together:
            return [first]
        self.groups += 1
        dx, dy = first.waypoints[0][0] - first.start[0], first.waypoints[0][1] - first.start[1]
        length = max(float(np.hypot(dx, dy)), 1e-6)
        side = (-dy / length * PAIR_SPACING, dx / length * PAIR_SPACING)
        beside = (first.start[0] + side[0], first.start[1] + side[1])
        if not self._is_free(beside, part.radius):
            return [first]
        shifted = tuple((x + side[0], y + side[1]) for x, y in first.waypoints)
        route_beside = tuple(
            point if self._is_free(point, part.radius) else own
            for point, own in zip(shifted, first.waypoints, strict=True)
        )
        second = replace(first, start=beside, waypoints=route_beside, group=self.groups)
        return [replace(first, group=self.groups), second]

    def _advance(self, person: Placed, distance: float) -> Placed | None:
        """The person after walking ``distance`` along the route; None when already through or the place is taken."""
        here = np.array(person.start)
        for index, point in enumerate(person.waypoints):
            leg = np.array(point) - here
            length = float(np.hypot(*leg))
            if distance < length:
                x, y = (float(value) for value in here + leg * (distance / length))
                if not self._is_free((x, y), person.radius) or not self._apart(x, y, person.radius):
                    return None
                self.taken.append((x, y, person.radius))
                return replace(person, start=(x, y), waypoints=person.waypoints[index:])
            distance -= length
            here = np.array(point)
        return None

    def _loop(self, person: Placed) -> Placed:
        return replace(person, waypoints=(*person.waypoints, *reversed(person.waypoints[:-1]), person.start))

    def _route(
        self, start: tuple[float, float], goal: tuple[float, float], radius: float
    ) -> tuple[tuple[float, float], ...]:
        if self.find_path is None:
            return (goal,)
        path = self.find_path(np.array(start), np.array(goal), radius)
        return tuple((float(x), float(y)) for x, y in path)

    def _speeds(self, part: CrowdPart, count: int, rng: np.random.Generator) -> list[float]:
        """Preferred speeds of ``count`` people."""
        draw = part.speed
        drawn = rng.normal(draw.mean, draw.sd, count).tolist()
        return [min(max(speed, draw.low), draw.high) for speed in drawn]

    def _is_free(self, point: tuple[float, float], radius: float) -> bool:
        return self.free is None or bool(self.free(np.array([point]), radius)[0])

    def _apart(self, x: float, y: float, radius: float) -> bool:
        for a, b, c in self.taken:
            dx, dy, reach = x - a, y - b, radius + c + SPACING_M
            if dx * dx + dy * dy <= reach * reach:
                return False
        return True

    def _free_place(self, radius: float, draw: Callable[[], tuple[float, float]], what: str) -> tuple[float, float]:
        for _ in range(TRIES):
            point = draw()
            if self._is_free(point, radius):
                return point
        raise BadInput(
            f"{self.where}: no free place for a person of radius {radius} m in the {what} placement; widen its area"
        )

    def _clear_place(self, radius: float, draw: Callable[[], tuple[float, float]], what: str) -> tuple[float, float]:
        for _ in range(TRIES):
            x, y = draw()
            if self._apart(x, y, radius) and self._is_free((x, y), radius):
                self.taken.append((x, y, radius))
                return x, y
        raise BadInput(
            f"{self.where}: no room left for one more person in the {what} placement; fewer people or a larger area"
        )


def _on_circle(placement: CirclePlacement, rng: np.random.Generator) -> tuple[float, float]:
    turn, right, up = rng.random(3).tolist()
    angle = 2 * pi * turn
    return (
        placement.centre[0] + placement.radius * cos(angle) + placement.jitter * (2 * right - 1),
        placement.centre[1] + placement.radius * sin(angle) + placement.jitter * (2 * up - 1),
    )


def _in_box(box: Box, rng: np.random.Generator) -> tuple[float, float]:
    right, up = rng.random(2).tolist()
    return box[0] + right * (box[2] - box[0]), box[1] + up * (box[3] - box[1])


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
