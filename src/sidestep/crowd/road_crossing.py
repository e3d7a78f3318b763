"""People who cross a road at a pedestrian crossing: where they start, which crossing they take and where they go, and
how they look before they step onto it.

Each walks to the kerb, stops and looks to both sides for a moment, crosses within the marked strip, and walks on to
the other side. People with ``accepts_gap_s`` wait until every vehicle that comes leaves them that much more time than
they need; the others go after looking, as IntersectNav's do. While the vehicle nearest to them moves they do not walk
round it; they walk round one that stands.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from sidestep import exact
from sidestep.crowd.behaviour.stops import PeopleView, squared_length
from sidestep.crowd.people import People, draw_in_box, make_people
from sidestep.crowd.spawn import Spawner
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.road import Crossing, Roads
from sidestep.types.scenario import Box, CrossingPlacement, CrowdPart

KERB_M = 0.8
"""How far from the kerb people wait."""
EDGE_M = 0.45
"""What people keep from the sides of a crossing."""
REACHED_M = 0.6
"""Nearer than this to the kerb people stop and look."""
TURN_S = 0.5
"""People look to one side for so long, then to the other."""
LOOK_RAD = 1.1
NEAR_M = 10.0
MOVING_MPS = 0.5
CLEAR_M = 2.0
"""How far beyond a vehicle's path a person has to be to have crossed it."""

WALKING, LOOKING, CROSSING = 0, 1, 2


def place_crossing_people(
    placer: Spawner, part: CrowdPart, placement: CrossingPlacement, roads: Roads, rng: np.random.Generator
) -> tuple[People, FloatArray]:
    """The people of one seed, and how long each looks, s. Every box has the same number of them, rounded up."""
    if not roads.crossings:
        raise BadInput(f"{placer.where}: people who cross need a scene with roads.crossings")
    wanted = int(rng.integers(placement.count[0], placement.count[1], endpoint=True))
    boxes = 2 * len(placement.boxes)
    each = -(-wanted // boxes)
    starts, routes = [], []
    for one, other in placement.boxes:
        for origin, target in ((one, other), (other, one)):
            crossing = _crossing_between(roads, origin, target)
            for _ in range(each):
                start = placer.draw_apart(part.radius, partial(_draw, origin, rng), "crossing")
                goal = placer.free_places(part.radius, 1, partial(_draw, target, rng), "crossing")[0]
                aside = float(exact.uniform(rng, -1.0, 1.0)) * max(crossing.width / 2 - EDGE_M, 0.0)
                starts.append(start)
                routes.append([*_kerb_points(crossing, start, aside), goal])
    count = len(starts)
    speed = exact.uniform(rng, *placement.speed, count)
    looks = exact.uniform(rng, *placement.look_s, count)
    people = make_people(
        np.array(starts).reshape(-1, 2),
        np.array(routes).reshape(-1, 3, 2),
        np.full(count, 3),
        np.asarray(speed),
        part.radius,
    )
    return people, np.asarray(looks)


def _draw(box: Box, rng: np.random.Generator, count: int) -> FloatArray:
    return draw_in_box(box, count, rng)


def _crossing_between(roads: Roads, origin: Box, target: Box) -> Crossing:
    """The crossing with the shortest way from the middle of one box to that of another."""
    a, b = (np.array([(box[0] + box[2]) / 2, (box[1] + box[3]) / 2]) for box in (origin, target))

    def way(crossing: Crossing) -> float:
        ends = np.array(crossing.ends)
        there = exact.norm(ends[0] - a) + exact.norm(ends[1] - b)
        back = exact.norm(ends[1] - a) + exact.norm(ends[0] - b)
        return float(min(there, back))

    return min(roads.crossings, key=way)


def _kerb_points(crossing: Crossing, start: FloatArray, aside: float) -> list[FloatArray]:
    """Where to wait on the near side, and where one has arrived on the far side, ``aside`` metres off the middle."""
    ends = [np.array(end) for end in crossing.ends]
    if exact.norm(ends[1] - start) < exact.norm(ends[0] - start):
        ends.reverse()
    along = (ends[1] - ends[0]) / exact.norm(ends[1] - ends[0])
    shift = aside * np.array([-along[1], along[0]])
    return [ends[0] - KERB_M * along + shift, ends[1] + KERB_M * along + shift]


class CrossingWalkers:
    """The state of the people of one crowd part, in one episode."""

    def __init__(self, looks_s: FloatArray, placement: CrossingPlacement, model: int) -> None:
        self._looks = looks_s
        self._gap = placement.accepts_gap_s
        self._model = model
        self._state = np.zeros(len(looks_s), np.int64)
        self._since = np.zeros(len(looks_s))

    def advance(self, view: PeopleView) -> None:
        """What everybody does in the coming step."""
        agents, flags = view.agents, view.flags
        goal, here = agents[[layout.GOAL_X, layout.GOAL_Y]], agents[[layout.PX, layout.PY]]
        gap = squared_length(*(goal - here))
        at_kerb = (self._state == WALKING) & (flags[layout.WAYPOINT] == 0) & (gap < REACHED_M * REACHED_M)
        self._state[at_kerb] = LOOKING
        self._since[at_kerb] = view.now
        looking = self._state == LOOKING
        if looking.any():
            seconds = view.now - self._since
            ready = looking & (seconds >= self._looks)
            for i in np.flatnonzero(ready).tolist():
                if self._gap is None or self._is_clear(view, i):
                    self._step_onto(view, i)
            looking = self._state == LOOKING
            turned = np.where(np.floor(seconds / TURN_S) % 2 == 0, LOOK_RAD, -LOOK_RAD)
            agents[layout.HEAD_YAW] = np.where(looking, turned, np.nan)
            agents[[layout.NEW_VX, layout.NEW_VY]] = np.where(looking, 0.0, agents[[layout.NEW_VX, layout.NEW_VY]])
        flags[layout.MODEL] = np.where(looking, layout.MODEL_SCRIPT, self._model)
        flags[layout.SEES_ROBOT] = 1 if self._gap is not None else ~self._nearest_moves(view)

    def _step_onto(self, view: PeopleView, i: int) -> None:
        self._state[i] = CROSSING
        view.flags[layout.WAYPOINT, i] = 1
        view.agents[layout.GOAL_X, i], view.agents[layout.GOAL_Y, i] = view.routes[i, 1]

    def _nearest_moves(self, view: PeopleView) -> BoolArray:
        """(N,) whether the vehicle nearest to each person is near and moves."""
        agents = view.world_agents[:, view.people :]
        here = view.world_flags[layout.ACTIVE, view.people :] == 1
        if not here.any():
            return np.zeros(view.agents.shape[1], bool)
        agents = agents[:, here]
        dx = view.agents[layout.PX][:, None] - agents[layout.PX]
        dy = view.agents[layout.PY][:, None] - agents[layout.PY]
        gap = squared_length(dx, dy)
        nearest = np.argmin(gap, axis=1)
        moves = squared_length(agents[layout.VX], agents[layout.VY])[nearest] > MOVING_MPS * MOVING_MPS
        return np.asarray(moves & (gap.min(axis=1) < NEAR_M * NEAR_M))

    def _is_clear(self, view: PeopleView, i: int) -> bool:
        """Gap acceptance: nothing that moves reaches the person's line across before the person has passed there."""
        assert self._gap is not None
        agents = view.world_agents[:, view.people :].astype(np.float64)
        active = view.world_flags[layout.ACTIVE, view.people :] == 1
        start, end = view.agents[[layout.PX, layout.PY], i].astype(np.float64), view.routes[i, 1].astype(np.float64)
        length = float(exact.norm(end - start))
        ux, uy = (end - start) / length
        dx, dy = agents[layout.PX] - start[0], agents[layout.PY] - start[1]
        aside, off = dx * uy - dy * ux, dx * ux + dy * uy
        closing = -(agents[layout.VX] * uy - agents[layout.VY] * ux) * np.where(aside >= 0.0, 1.0, -1.0)
        comes = active & (closing > MOVING_MPS)
        time = np.maximum(np.abs(aside) - agents[layout.RADIUS], 0.0) / np.where(comes, closing, 1.0)
        met = off + (agents[layout.VX] * ux + agents[layout.VY] * uy) * time
        comes &= (met > -CLEAR_M) & (met < length + CLEAR_M)
        speed = max(float(view.agents[layout.PREF_SPEED, i]), 0.3)
        needed = (np.clip(met, 0.0, length) + CLEAR_M) / speed + self._gap
        return not bool((comes & (time < needed)).any())
