"""Spawning people: where they start, where they walk and how fast, with every random number drawn here.

People are placed by hand, on a circle, at random in a box, or arrive over time as a Poisson flow from one box to
another. Nobody starts in a wall, on a robot or on somebody else.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import pi
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.kernels.bodies import pick_apart
from sidestep.simulation.crowd.people import People, draw_in_box, draw_speeds, join_people, make_people, pad_routes
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.scenario import Box, CirclePlacement, CrowdPart, FlowPlacement, RandomPlacement

MOST_PEOPLE = 20_000
"""Whom a stream may be expected to bring in an episode."""
PAIR_SPACING_M = 0.6
"""Between the two members of a walking pair, centre to centre."""


class _Arrival(NamedTuple):
    """One person of a stream."""

    start: FloatArray
    route: FloatArray
    speed: float
    group: int
    enter_s: float


def _people_of(stream: list[_Arrival], radius: float) -> People:
    routes, lengths = pad_routes([person.route for person in stream])
    start, speed = np.array([person.start for person in stream]), np.array([person.speed for person in stream])
    group, enter_s = [person.group for person in stream], [person.enter_s for person in stream]
    return make_people(
        start.reshape(-1, 2), routes, lengths, speed, radius, group=np.array(group, np.int64), enter_s=np.array(enter_s)
    )


def draw_flow(
    placer: Spawner, part: CrowdPart, flow: FlowPlacement, time_limit_s: float, rng: np.random.Generator
) -> People:
    """Poisson arrivals until the flow ends; those who came before time 0 are on their way already."""
    until = min(flow.until_s or time_limit_s, time_limit_s)
    time = -_lead(part, flow) if flow.already_walking else 0.0
    _check_number(placer, flow, until - time)
    stream: list[_Arrival] = []
    while True:
        time += float(exact.exponential(rng, 60.0 / flow.per_minute))
        if time > until:
            return _people_of(stream, part.radius)
        _arrive(stream, placer, part, flow, time, rng)


def _check_number(placer: Spawner, flow: FlowPlacement, duration_s: float) -> None:
    expected = flow.per_minute / 60.0 * duration_s
    if not expected <= MOST_PEOPLE:
        raise BadInput(
            f"{placer.where}: {flow.per_minute:g} people per minute make {expected:.3g} people, at most "
            f"{MOST_PEOPLE:,} are simulated; lower per_minute or until_s"
        )


def _lead(part: CrowdPart, flow: FlowPlacement) -> float:
    """How long the way takes at the mean speed, s."""
    stops = [_centre(flow.origin), *flow.via, _centre(flow.destination)]
    length = exact.total(float(exact.hypot(b[0] - a[0], b[1] - a[1])) for a, b in pairwise(stops))
    return float(length / part.speed.mean)


def _arrive(
    stream: list[_Arrival], placer: Spawner, part: CrowdPart, flow: FlowPlacement, time: float, rng: np.random.Generator
) -> None:
    """One person, or a pair side by side, who enters at ``time``; on the way already if that is before 0."""
    together = rng.random() < flow.group_share
    start = placer.free_places(part.radius, 1, lambda n: draw_in_box(flow.origin, n, rng), "flow origin")
    goal = placer.free_places(part.radius, 1, lambda n: draw_in_box(flow.destination, n, rng), "flow destination")
    speed = float(draw_speeds(part, 1, rng)[0])
    stops = np.concatenate([np.array(flow.via).reshape(-1, 2), goal])
    routes, _ = placer.route_all(start, stops[None], part.radius)
    here, route = start[0], routes[0]
    if time < 0:
        moved = _walked(here, route, -time * speed)
        if moved is None or not (placer.is_free(moved[0], part.radius) and placer.is_apart(moved[0], part.radius)):
            return
        here, route = moved
        placer.take(here, part.radius)
    beside = _beside(placer, here, route, part.radius) if together else None
    if beside is not None:
        placer.groups += 1
        stream.append(_Arrival(*beside, speed, placer.groups, max(time, 0.0)))
    stream.append(_Arrival(here, route, speed, placer.groups if beside is not None else -1, max(time, 0.0)))


def _walked(start: FloatArray, route: FloatArray, distance: float) -> tuple[FloatArray, FloatArray] | None:
    """Place and remaining route after walking ``distance``; None when through."""
    here = start
    for index, point in enumerate(route):
        leg = point - here
        length = float(exact.hypot(leg[0], leg[1]))
        if distance < length:
            return here + leg * (distance / length), route[index:]
        distance -= length
        here = point
    return None


def _beside(
    placer: Spawner, here: FloatArray, route: FloatArray, radius: float
) -> tuple[FloatArray, FloatArray] | None:
    """Place and route of a companion on the left; None when a wall is there."""
    leg = route[0] - here
    left = np.array([-leg[1], leg[0]]) * (PAIR_SPACING_M / max(float(exact.hypot(leg[0], leg[1])), 1e-6))
    if not placer.is_free(here + left, radius):
        return None
    shifted = [point + left if placer.is_free(point + left, radius) else point for point in route]
    return here + left, np.array(shifted)


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2


FreeMask = Callable[[FloatArray, float], BoolArray]
"""Which of the points (K, 2) are free for a disc of this radius."""
FindPath = Callable[[FloatArray, FloatArray, float], FloatArray]
"""Waypoints (K, 2) from a start (excluded) to a goal (included) round the walls, for a disc of this radius."""

ROUNDS = 60
"""Number of times a placement resamples people who found no place before it gives up."""
HOPELESS = 1000
"""More people than this who are left without a place are given up as soon as the rounds that are left are too few."""
SPACING_M = 0.1
"""What people keep from each other at the start, surface to surface."""
HAND_GROUPS = 1_000_000
"""Numbers of groups given by hand start here, those that a flow makes at 1."""


class Spawner:
    """Places the people of one world, keeping them off walls and off each other."""

    def __init__(
        self,
        free: FreeMask | None,
        find_path: FindPath | None,
        time_limit_s: float,
        where: str,
        taken: FloatArray,
    ) -> None:
        """``free`` and ``find_path`` are None where there are no walls. ``taken (T, 3)`` are discs (x, y, radius)
        that are occupied at time 0, the robots."""
        self._free = free
        self._find_path = find_path
        self._time_limit_s = time_limit_s
        self.where = where
        self.taken = taken
        self.groups = 0

    def place(self, part: CrowdPart, rng: np.random.Generator) -> People:
        """All people of ``part``, hand-placed first."""
        placed = [self._by_hand(part, rng)] if part.people else []
        match part.placement:
            case CirclePlacement():
                placed.append(self._circle(part, part.placement, rng))
            case RandomPlacement():
                placed.append(self._random(part, part.placement, rng))
            case FlowPlacement():
                placed.append(draw_flow(self, part, part.placement, self._time_limit_s, rng))
        people = join_people(placed)
        return people.looping() if part.at_end == "loop" else people

    def _by_hand(self, part: CrowdPart, rng: np.random.Generator) -> People:
        people = part.people
        start = np.array([person.start for person in people], dtype=np.float64)
        radius = np.array([part.radius if person.radius is None else person.radius for person in people])
        for index, (point, size) in enumerate(zip(start, radius, strict=True)):
            if not self.is_free(point, size):
                raise BadInput(
                    f"{self.where}: person {index} of the {part.model} part starts inside a wall "
                    f"at {people[index].start}; move the start into free space or make the radius smaller"
                )
            self.take(point, size)
        drawn = draw_speeds(part, len(people), rng)
        routes, lengths = pad_routes([np.array(person.waypoints) for person in people])
        return make_people(
            start,
            routes,
            lengths,
            np.array([drawn[i] if person.speed is None else person.speed for i, person in enumerate(people)]),
            radius,
            group=np.array([-1 if person.group is None else HAND_GROUPS + person.group for person in people]),
            enter_s=np.array([person.enter_s for person in people]),
            heading=np.array([np.nan if person.heading is None else person.heading for person in people]),
        )

    def _circle(self, part: CrowdPart, placement: CirclePlacement, rng: np.random.Generator) -> People:
        centre = np.array(placement.centre)

        def draw(count: int) -> FloatArray:
            turn, right, up = rng.random((3, count))
            angle = 2 * pi * turn
            sine, cosine = exact.sincos(angle)
            ring = placement.radius * np.stack([cosine, sine], axis=1)
            return centre + ring + placement.jitter * np.stack([2 * right - 1, 2 * up - 1], axis=1)

        speed = draw_speeds(part, placement.count, rng)
        start = self._apart_places(part.radius, placement.count, draw, "circle")
        routes, lengths = self.route_all(start, (2 * centre - start)[:, None], part.radius)
        return make_people(start, routes, lengths, speed, part.radius)

    def _random(self, part: CrowdPart, placement: RandomPlacement, rng: np.random.Generator) -> People:
        def draw(count: int) -> FloatArray:
            return draw_in_box(placement.area, count, rng)

        speed = draw_speeds(part, placement.count, rng)
        start = self._apart_places(part.radius, placement.count, draw, "random")
        stops = self.free_places(part.radius, placement.count * placement.goals, draw, "random")
        stops = stops.reshape(placement.count, placement.goals, 2)
        if self._find_path is None:
            routes, lengths = self.route_all(start, stops, part.radius)
        else:
            routes, lengths = pad_routes(
                [
                    self._reachable_route(here, through, part.radius, draw)
                    for here, through in zip(start, stops, strict=True)
                ]
            )
        return make_people(start, routes, lengths, speed, part.radius)

    def _reachable_route(
        self, start: FloatArray, stops: FloatArray, radius: float, draw: Callable[[int], FloatArray]
    ) -> FloatArray:
        """The route through ``stops``; where there is no way, as in a closed court, other stops are drawn."""
        for attempt in range(ROUNDS):
            try:
                routes, _ = self.route_all(start[None], stops[None], radius)
            except BadInput:
                if attempt == ROUNDS - 1:
                    raise
                stops = self.free_places(radius, len(stops), draw, "random")
            else:
                break
        route: FloatArray = routes[0]
        return route

    def route_all(self, start: FloatArray, stops: FloatArray, radius: float) -> tuple[FloatArray, IntArray]:
        """Routes of N people from ``start`` (N, 2) through ``stops`` (N, S, 2), round the walls."""
        if self._find_path is None:
            return stops, np.full(len(stops), stops.shape[1])
        routes = []
        for here, through in zip(start, stops, strict=True):
            legs = []
            for there in through:
                legs.append(self._find_path(here, there, radius))
                here = there
            routes.append(np.concatenate(legs))
        return pad_routes(routes)

    def is_free(self, point: FloatArray, radius: float) -> bool:
        """Whether a disc at ``point`` touches no wall."""
        return self._free is None or bool(self._free(np.asarray(point)[None], radius)[0])

    def is_apart(self, point: FloatArray, radius: float) -> bool:
        """Whether a disc at ``point`` keeps its distance from everybody placed so far."""
        gaps = exact.hypot(self.taken[:, 0] - point[0], self.taken[:, 1] - point[1]) - self.taken[:, 2]
        return bool((gaps > radius + SPACING_M).all())

    def take(self, point: FloatArray, radius: float) -> None:
        """The place is occupied from now on."""
        self.taken = np.concatenate([self.taken, [[point[0], point[1], radius]]])

    def free_places(self, radius: float, count: int, draw: Callable[[int], FloatArray], what: str) -> FloatArray:
        """``count`` places off the walls, (count, 2)."""
        places = draw(count)
        if self._free is None:
            return places
        for _ in range(ROUNDS):
            blocked = np.flatnonzero(~self._free(places, radius))
            if not len(blocked):
                return places
            places[blocked] = draw(len(blocked))
        raise BadInput(
            f"{self.where}: no free place for a person of radius {radius} m in the {what} placement; widen its area"
        )

    def draw_apart(self, radius: float, draw: Callable[[int], FloatArray], what: str) -> FloatArray:
        """One place off the walls and off everybody placed so far, (2,); it is taken."""
        place: FloatArray = self._apart_places(radius, 1, draw, what)[0]
        return place

    def _apart_places(self, radius: float, count: int, draw: Callable[[int], FloatArray], what: str) -> FloatArray:
        """``count`` places off the walls and off everybody placed so far, (count, 2); they are taken."""
        before = len(self.taken)
        taken = np.empty((before + count, 3))
        taken[:before] = self.taken
        found = 0
        for left in reversed(range(ROUNDS)):
            if found == count:
                break
            candidates = draw(2 * (count - found) + 8)
            free = np.ones(len(candidates), bool) if self._free is None else self._free(candidates, radius)
            chosen = np.empty(count - found, np.int64)
            more = pick_apart(candidates, free, radius, SPACING_M, taken, before + found, chosen)
            found += more
            if count - found > max(HOPELESS, left * more):  # each round finds fewer
                break
        if found < count:
            raise BadInput(
                f"{self.where}: no room left for one more person in the {what} placement; fewer people or a larger area"
            )
        self.taken = taken
        return taken[before:, :2].copy()
