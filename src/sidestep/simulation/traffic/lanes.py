"""The graph of a scene's lanes: A* over it, the line to drive along a sequence of lanes, and where lanes through a
junction meet or cross."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import networkx as nx
import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.road import Lane, Roads

SPACING_M = 1.0
"""Between the points of a line to drive."""
CLEARANCE_M = 2.4
"""Two vehicles on lanes that are nearer than this cannot pass each other: a car's width and room at either side."""
FINE_M = 0.5
SWEPT_FRONT_M, SWEPT_REAR_M, SWEPT_HALF_M = 4.3, 1.1, 1.12
"""Size of a body that sweeps a lane: a van about its rear axle, with some room at either side."""
SWEPT_BEFORE_M = 8.0
"""Before a lane of a junction: where others swing out, nobody can wait either."""


class Conflict(NamedTuple):
    """Where two lanes of a junction meet or cross: metres along each."""

    lane: str
    begin: float
    end: float
    other: str
    other_begin: float
    other_end: float
    merges: bool
    """Whether the two lanes end at the same point."""


def stations(points: FloatArray) -> FloatArray:
    """(K,) metres along a polyline up to each of its points."""
    return np.concatenate([[0.0], np.cumsum(exact.norm(np.diff(points, axis=0)))])


def resample(points: FloatArray, spacing: float) -> FloatArray:
    """The polyline by points at equal steps of at most ``spacing`` metres, both ends included."""
    at = stations(points)
    wanted = np.arange(max(int(np.ceil(at[-1] / spacing)), 1) + 1)
    wanted = wanted * (at[-1] / wanted[-1])
    k = np.clip(np.searchsorted(at, wanted, side="right") - 1, 0, len(points) - 2)
    share = (wanted - at[k]) / (at[k + 1] - at[k])
    line: FloatArray = points[k] + share[:, None] * (points[k + 1] - points[k])
    line[-1] = points[-1]
    return line


class Place(NamedTuple):
    """A point of a lane."""

    lane: str
    along: float  # m
    aside: float  # m, how far the point that was asked for is from it


class LaneGraph:
    """The lanes of a scene. Raises ``BadInput`` where it is asked for what they do not have."""

    def __init__(self, roads: Roads, where: str) -> None:
        if not roads.lanes:
            raise BadInput(f"{where}: the scene has no lanes; describe an intersection by arms, or give roads.lanes")
        self._where = where
        self.lanes: dict[str, Lane] = {lane.name: lane for lane in roads.lanes}
        self.lines = {name: np.array(lane.points, np.float64) for name, lane in self.lanes.items()}
        for name, line in self.lines.items():
            if (line[1:] == line[:-1]).all(axis=1).any():
                raise BadInput(f"{where}: lane {name!r} has the same point twice in succession; remove one of them")
        self.inside = [name for name, lane in self.lanes.items() if lane.turn is not None]
        self.length = {name: float(stations(line)[-1]) for name, line in self.lines.items()}
        self.graph: nx.DiGraph[str] = nx.DiGraph()
        for name, lane in self.lanes.items():
            self.graph.add_node(name)
            for following in lane.next:
                self.graph.add_edge(name, following, length=self.length[following])

    def nearest(self, x: float, y: float, heading: float | None = None, within_m: float = 5.0) -> Place:
        """The place on a lane nearest to a point; with a ``heading`` (rad), of lanes that lead that way."""
        best: Place | None = None
        wanted = None if heading is None else exact.sincos(heading)
        for name, line in self.lines.items():
            along, aside, step = _project(line, x, y)
            if wanted is not None and step[0] * wanted[1] + step[1] * wanted[0] <= 0.5 * float(exact.norm(step)):
                continue
            if best is None or aside < best.aside:
                best = Place(name, along, aside)
        if best is None or best.aside > within_m:
            raise BadInput(
                f"{self._where}: ({x:g}, {y:g}) is off the lane graph: no lane that leads that way is within "
                f"{within_m:g} m; move the point onto a lane"
            )
        return best

    def nearest_on(self, lane: str, x: float, y: float) -> Place:
        """The place on one lane nearest to a point."""
        along, aside, _ = _project(self.lines[lane], x, y)
        return Place(lane, along, aside)

    def find_route(self, start: str, goal: str) -> list[str]:
        """The shortest sequence of lanes from one to another, by A*."""
        for name in (start, goal):
            if name not in self.lanes:
                raise UnknownName("lane", name, self.lanes, self._where)
        end = self.lines[goal][0]

        def bird_flight(name: str, _: str) -> float:
            return float(exact.norm(self.lines[name][-1] - end)) if name != goal else 0.0

        try:
            return list(nx.astar_path(self.graph, start, goal, bird_flight, "length"))
        except nx.NetworkXNoPath:
            raise BadInput(f"{self._where}: no lanes lead from {start!r} to {goal!r}") from None

    def line(self, lanes: Sequence[str], begin_m: float = 0.0, spacing: float = SPACING_M) -> FloatArray:
        """(K, 2) the line along a sequence of lanes, from ``begin_m`` of the first on."""
        for one, following in pairwise(lanes):
            if following not in self.lanes[one].next:
                raise BadInput(f"{self._where}: lane {following!r} does not follow on {one!r}")
        parts = [self.lines[lanes[0]]] + [self.lines[name][1:] for name in lanes[1:]]
        points = np.concatenate(parts)
        at = stations(points)
        if begin_m >= at[-1]:
            raise BadInput(
                f"{self._where}: {begin_m:g} m along {lanes[0]!r} is beyond the end of its {len(lanes)} lanes"
            )
        if begin_m > 0.0:
            k = min(int(np.searchsorted(at, begin_m, side="right")) - 1, len(points) - 2)
            share = (begin_m - at[k]) / (at[k + 1] - at[k])
            points = np.concatenate([[points[k] + share * (points[k + 1] - points[k])], points[k + 1 :]])
        return resample(points, spacing)

    def conflicts(self) -> list[Conflict]:
        """Where vehicles on two lanes of a junction would meet. Lanes that begin together, or that lead to one another,
        are followed one vehicle behind the other, and so are no conflict."""
        fine = {name: resample(self.lines[name], FINE_M) for name in self.inside}
        at = {name: stations(line) for name, line in fine.items()}
        found = []
        for one, other in self._meeting(fine, CLEARANCE_M):
            gap = exact.norm(fine[one][:, None] - fine[other][None])
            mine, theirs = np.flatnonzero(gap.min(axis=1) < CLEARANCE_M), np.flatnonzero(gap.min(axis=0) < CLEARANCE_M)
            if len(mine):
                (a, b), (c, d) = at[one][mine[[0, -1]]].tolist(), at[other][theirs[[0, -1]]].tolist()
                found.append(Conflict(one, a, b, other, c, d, self._end_together(one, other)))
        return found

    def swept_conflicts(self) -> list[Conflict]:
        """The same for bodies that follow the lanes with their rear axle and swing out in front: from where the front
        of one comes into the way of another on the other lane, which may be before the lane, to where its rear has
        left."""
        bodies = {name: _sweep(self.lines[name]) for name in self.inside}
        found = []
        for one, other in self._meeting({name: body.middle for name, body in bodies.items()}, 8.0):
            touching = _overlap(bodies[one], bodies[other])
            mine, theirs = np.flatnonzero(touching.any(axis=1)), np.flatnonzero(touching.any(axis=0))
            if len(mine):
                (a, b), (c, d) = bodies[one].at[mine[[0, -1]]].tolist(), bodies[other].at[theirs[[0, -1]]].tolist()
                begin, their_begin = a + SWEPT_FRONT_M, c + SWEPT_FRONT_M
                end, their_end = max(b - SWEPT_REAR_M, begin), max(d - SWEPT_REAR_M, their_begin)
                found.append(Conflict(one, begin, end, other, their_begin, their_end, self._end_together(one, other)))
        return found

    def _end_together(self, one: str, other: str) -> bool:
        return bool((self.lines[one][-1] == self.lines[other][-1]).all())

    def _meeting(self, lines: dict[str, FloatArray], apart_m: float) -> Iterator[tuple[str, str]]:
        """Pairs of junction lanes that may meet: not those that begin together or lead to one another."""
        within: nx.DiGraph[str] = nx.DiGraph(self.graph.subgraph(self.inside))
        beyond = {name: nx.descendants(within, name) for name in self.inside}
        before = {name: set(self.graph.predecessors(name)) for name in self.inside}
        low = {name: line.min(axis=0) for name, line in lines.items()}
        high = {name: line.max(axis=0) for name, line in lines.items()}
        for one in self.inside:
            for other in self.inside:
                if one == other or other in beyond[one] or one in beyond[other] or before[one] & before[other]:
                    continue
                apart = np.maximum(low[one] - high[other], low[other] - high[one])
                if (self.lines[one][0] != self.lines[other][0]).any() and (apart <= apart_m).all():
                    yield one, other


class _Swept(NamedTuple):
    """A body at steps along a lane."""

    at: FloatArray  # (K,) m along the lane of the rear axle; below 0 before its beginning
    middle: FloatArray  # (K, 2)
    ahead: FloatArray  # (K, 2) unit vector


def _sweep(line: FloatArray) -> _Swept:
    step = np.diff(line, axis=0)
    unit = step / exact.norm(step)[:, None]
    before = SWEPT_FRONT_M + SWEPT_BEFORE_M
    longer = np.concatenate([[line[0] - before * unit[0]], line, [line[-1] + SWEPT_REAR_M * unit[-1]]])
    points = resample(longer, FINE_M)
    step = np.diff(points, axis=0)
    ahead = step / exact.norm(step)[:, None]
    rear = (points[:-1] + points[1:]) / 2
    at = (stations(points)[:-1] + stations(points)[1:]) / 2 - before
    return _Swept(at, rear + (SWEPT_FRONT_M - SWEPT_REAR_M) / 2 * ahead, ahead)


def _overlap(one: _Swept, other: _Swept) -> BoolArray:
    """(K, L) whether the bodies overlap, by separating axes."""
    long, half = (SWEPT_FRONT_M + SWEPT_REAR_M) / 2, SWEPT_HALF_M
    gap = other.middle[None] - one.middle[:, None]
    a, b = one.ahead[:, None], other.ahead[None]
    along = np.abs(a[..., 0] * b[..., 0] + a[..., 1] * b[..., 1])
    across = np.abs(a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0])
    reach, reach_aside = long + long * along + half * across, half + long * across + half * along
    touching = np.ones(gap.shape[:2], bool)
    for axis in (a, b):
        touching &= np.abs(gap[..., 0] * axis[..., 0] + gap[..., 1] * axis[..., 1]) < reach
        touching &= np.abs(gap[..., 1] * axis[..., 0] - gap[..., 0] * axis[..., 1]) < reach_aside
    return touching


def _project(line: FloatArray, x: float, y: float) -> tuple[float, float, FloatArray]:
    """Metres along to the point nearest to (x, y), its distance, and the piece of the line there (dx, dy)."""
    step = np.diff(line, axis=0)
    square = step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1]
    dx, dy = x - line[:-1, 0], y - line[:-1, 1]
    share = np.clip((dx * step[:, 0] + dy * step[:, 1]) / square, 0.0, 1.0)
    miss = exact.norm(np.stack([dx - share * step[:, 0], dy - share * step[:, 1]], axis=1))
    k = int(np.argmin(miss))
    along = float(stations(line)[k] + share[k] * np.sqrt(square[k]))
    return along, float(miss[k]), step[k]
