"""People as arrays, and the random draws that all ways of spawning them share: walking speeds and points in a box."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sidestep._util import exact
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scenario import Box, CrowdPart


@dataclass(frozen=True, eq=False)
class People:
    """N people as a placement made them. Routes are padded; ``route_length`` says how many points count."""

    start: FloatArray  # (N, 2) m
    routes: FloatArray  # (N, W, 2) m
    route_length: IntArray  # (N,)
    speed: FloatArray  # (N,) preferred, m/s
    radius: FloatArray  # (N,) m
    group: IntArray  # (N,) -1 alone
    enter_s: FloatArray  # (N,)
    heading: FloatArray  # (N,) rad; NaN: toward the first waypoint

    def __len__(self) -> int:
        return len(self.start)

    def looping(self) -> People:
        """The same people, who walk back along their route to the start and round again."""
        if not len(self):
            return self
        if self.routes.shape[1] == 1 and (self.route_length == 1).all():
            there_and_back = np.concatenate([self.routes, self.start[:, None]], axis=1)
            return replace(self, routes=there_and_back, route_length=np.full(len(self), 2))
        rounds = []
        for start, route, length in zip(self.start, self.routes, self.route_length, strict=True):
            used = route[:length]
            rounds.append(np.concatenate([used, used[-2::-1], start[None]]) if length else used)
        routes, lengths = pad_routes(rounds)
        return replace(self, routes=routes, route_length=lengths)


def make_people(
    start: FloatArray,
    routes: FloatArray,
    route_length: IntArray,
    speed: FloatArray,
    radius: float | FloatArray,
    *,
    group: IntArray | None = None,
    enter_s: FloatArray | None = None,
    heading: FloatArray | None = None,
) -> People:
    """People with the usual values for what is not given: alone, there from the start, facing their way."""
    n = len(start)
    return People(
        start=start,
        routes=routes,
        route_length=route_length,
        speed=speed,
        radius=np.full(n, radius) if np.isscalar(radius) else np.asarray(radius),
        group=np.full(n, -1) if group is None else group,
        enter_s=np.zeros(n) if enter_s is None else enter_s,
        heading=np.full(n, np.nan) if heading is None else heading,
    )


def pad_routes(routes: Sequence[FloatArray]) -> tuple[FloatArray, IntArray]:
    """Routes of different lengths as one array (N, W, 2), and their lengths."""
    lengths = np.array([len(route) for route in routes], dtype=np.int64)
    padded = np.zeros((len(routes), max([1, *lengths]), 2))
    for row, route in zip(padded, routes, strict=True):
        if len(route):
            row[: len(route)] = route
    return padded, lengths


def join_people(parts: Sequence[People]) -> People:
    """All parts' people one after the other."""
    if len(parts) == 1:
        return parts[0]
    longest = max([1, *(part.routes.shape[1] for part in parts)])
    routes = [np.pad(part.routes, ((0, 0), (0, longest - part.routes.shape[1]), (0, 0))) for part in parts]
    nobody = make_people(np.zeros((0, 2)), np.zeros((0, longest, 2)), np.zeros(0, np.int64), np.zeros(0), 0.0)
    parts = [nobody, *parts]
    return People(
        start=np.concatenate([part.start for part in parts]),
        routes=np.concatenate([nobody.routes, *routes]),
        route_length=np.concatenate([part.route_length for part in parts]),
        speed=np.concatenate([part.speed for part in parts]),
        radius=np.concatenate([part.radius for part in parts]),
        group=np.concatenate([part.group for part in parts]),
        enter_s=np.concatenate([part.enter_s for part in parts]),
        heading=np.concatenate([part.heading for part in parts]),
    )


def draw_speeds(part: CrowdPart, count: int, rng: np.random.Generator) -> FloatArray:
    """Preferred speeds of ``count`` people, m/s."""
    law = part.speed
    speeds: FloatArray = np.minimum(np.maximum(exact.normal(rng, law.mean, law.sd, count), law.low), law.high)
    return speeds


def draw_in_box(box: Box, count: int, rng: np.random.Generator) -> FloatArray:
    """``count`` points, even over the box."""
    low, high = np.array(box[:2]), np.array(box[2:])
    points: FloatArray = low + rng.random((count, 2)) * (high - low)
    return points
