"""Streams of people who come into the world over time."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from sidestep import exact
from sidestep.crowd.draws import draw_in_box, draw_speeds
from sidestep.crowd.people import People, make_people, pad_routes
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray
from sidestep.types.scenario import Box, CrowdPart, FlowPlacement

if TYPE_CHECKING:
    from sidestep.crowd.placement import Placer

MOST_PEOPLE = 20_000
"""Whom a stream may be expected to bring in an episode."""
PAIR_SPACING_M = 0.6
"""Between the two members of a walking pair, centre to centre."""


class _Stream:
    """Collects the people of a stream."""

    def __init__(self) -> None:
        self.start: list[FloatArray] = []
        self.routes: list[FloatArray] = []
        self.speed: list[float] = []
        self.group: list[int] = []
        self.enter_s: list[float] = []

    def add(self, start: FloatArray, route: FloatArray, speed: float, group: int, enter_s: float) -> None:
        self.start.append(start)
        self.routes.append(route)
        self.speed.append(speed)
        self.group.append(group)
        self.enter_s.append(enter_s)

    def people(self, radius: float) -> People:
        routes, lengths = pad_routes(self.routes)
        return make_people(
            np.array(self.start).reshape(-1, 2),
            routes,
            lengths,
            np.array(self.speed),
            radius,
            group=np.array(self.group, dtype=np.int64),
            enter_s=np.array(self.enter_s),
        )


def draw_flow(
    placer: Placer, part: CrowdPart, flow: FlowPlacement, time_limit_s: float, rng: np.random.Generator
) -> People:
    """Poisson arrivals until the flow ends; those who came before time 0 are on their way already."""
    until = min(flow.until_s or time_limit_s, time_limit_s)
    time = -_lead(part, flow) if flow.already_walking else 0.0
    _check_number(placer, flow, until - time)
    stream = _Stream()
    while True:
        time += float(exact.exponential(rng, 60.0 / flow.per_minute))
        if time > until:
            return stream.people(part.radius)
        _arrive(stream, placer, part, flow, time, rng)


def _check_number(placer: Placer, flow: FlowPlacement, duration_s: float) -> None:
    expected = flow.per_minute / 60.0 * duration_s
    if not expected <= MOST_PEOPLE:
        raise BadInput(
            f"{placer.where}: {flow.per_minute:g} people per minute make {expected:.3g} people, at most "
            f"{MOST_PEOPLE:,} are simulated; lower per_minute or until_s"
        )


def _lead(part: CrowdPart, flow: FlowPlacement) -> float:
    """How long the way takes at the mean speed, s."""
    stops = [_centre(flow.origin), *flow.via, _centre(flow.destination)]
    return sum(float(exact.hypot(b[0] - a[0], b[1] - a[1])) for a, b in pairwise(stops)) / part.speed.mean


def _arrive(
    stream: _Stream, placer: Placer, part: CrowdPart, flow: FlowPlacement, time: float, rng: np.random.Generator
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
        moved = _walk(here, route, -time * speed)
        if moved is None or not (placer.is_free(moved[0], part.radius) and placer.is_apart(moved[0], part.radius)):
            return
        here, route = moved
        placer.take(here, part.radius)
    beside = _beside(placer, here, route, part.radius) if together else None
    if beside is not None:
        placer.groups += 1
        stream.add(*beside, speed, placer.groups, max(time, 0.0))
    stream.add(here, route, speed, placer.groups if beside is not None else -1, max(time, 0.0))


def _walk(start: FloatArray, route: FloatArray, distance: float) -> tuple[FloatArray, FloatArray] | None:
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


def _beside(placer: Placer, here: FloatArray, route: FloatArray, radius: float) -> tuple[FloatArray, FloatArray] | None:
    """Place and route of a companion on the left; None when a wall is there."""
    leg = route[0] - here
    left = np.array([-leg[1], leg[0]]) * (PAIR_SPACING_M / max(float(exact.hypot(leg[0], leg[1])), 1e-6))
    if not placer.is_free(here + left, radius):
        return None
    shifted = [point + left if placer.is_free(point + left, radius) else point for point in route]
    return here + left, np.array(shifted)


def _centre(box: Box) -> tuple[float, float]:
    return (box[0] + box[2]) / 2, (box[1] + box[3]) / 2
