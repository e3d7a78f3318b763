"""People who cross a road at a pedestrian crossing: where they start, which crossing they take and where they go, and
how they look before they step onto it.

Each walks to the kerb, stops and looks to both sides for a moment, crosses within the marked strip, and walks on to
the other side. With ``rest_s`` they stay there for a while and then turn to a new goal, so that people cross at all
times. Nobody walks faster than the speed that was drawn, and everybody needs time to speed up, to stop and to turn.

People with ``accepts_gap_s`` wait until every vehicle that comes leaves them that much more time than they need; the
others go after looking, as IntersectNav's do. While the vehicle nearest to them moves they do not walk round it; they
walk round one that stands.
"""

from __future__ import annotations

from functools import partial
from math import ceil
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.simulation.crowd.behaviour.stops import PeopleView, squared_length
from sidestep.simulation.crowd.people import People, draw_in_box, make_people
from sidestep.simulation.crowd.spawn import Spawner
from sidestep.types.base import BoolArray, FloatArray, IntArray
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
HELD_UP = 0.85
"""Share of their speed at which people expect to get across: others are in their way."""

MOST_ACCELERATION = 3.0
"""m/s²: a person who walks at 1.5 m/s stops within half a second."""
LEAST_ROUND_S = 8.0
"""Nobody crosses, with the way to the kerb and from it, in less."""
LEG = 3
"""Waypoints of one crossing: the near kerb, the far kerb, and a place in the box behind it."""

WALKING, LOOKING, CROSSING, RESTING = 0, 1, 2, 3


class CrossingPlans(NamedTuple):
    """How N people cross, for each of the K times that they do."""

    looks_s: FloatArray  # (N, K) how long they look at the kerb
    rests_s: FloatArray  # (N, K) how long they stay before it in the box where they are; empty: they cross once


def place_crossing_people(
    placer: Spawner, part: CrowdPart, placement: CrossingPlacement, roads: Roads, seconds: float,
    rng: np.random.Generator,
) -> tuple[People, CrossingPlans]:  # fmt: skip
    """The people of one seed, and how they cross within ``seconds``. Each box of a pair has the same number of them,
    rounded up."""
    if not roads.crossings:
        raise BadInput(f"{placer.where}: people who cross need a scene with roads.crossings")
    wanted = int(rng.integers(placement.count[0], placement.count[1], endpoint=True))
    boxes = 2 * len(placement.boxes)
    each = -(-wanted // boxes)
    rest = placement.rest_s
    legs = 1 if rest is None else ceil(seconds / (LEAST_ROUND_S + rest[0])) + 1
    pairs = [(a, b) for one, other in placement.boxes for a, b in ((one, other), (other, one)) for _ in range(each)]
    starts = [placer.draw_apart(part.radius, partial(_draw, box, rng), "crossing") for box, _ in pairs]
    count, here, routes = len(starts), starts, np.zeros((len(starts), LEG * legs, 2))
    speed = exact.uniform(rng, *placement.speed, count)
    looks, rests = np.zeros((count, legs)), np.zeros((count, 0 if rest is None else legs))
    for leg in range(legs):  # crossing by crossing: how many there are does not change the first ones
        if leg:
            pairs = [(origin, _draw_target(placement, origin, rng)) for _, origin in pairs]
        for i, (origin, target) in enumerate(pairs):
            crossing = _crossing_between(roads, origin, target)
            goal = placer.free_places(part.radius, 1, partial(_draw, target, rng), "crossing")[0]
            aside = float(exact.uniform(rng, -1.0, 1.0)) * max(crossing.width / 2 - EDGE_M, 0.0)
            routes[i, LEG * leg : LEG * (leg + 1)] = [*_kerb_points(crossing, here[i], aside), goal]
        here = list(routes[:, LEG * leg + LEG - 1])
        looks[:, leg] = exact.uniform(rng, *placement.look_s, count)
        if rest is not None:  # at first they are somewhere in their rest
            rests[:, leg] = exact.uniform(rng, *(rest if leg else (0.0, rest[1] + LEAST_ROUND_S)), count)
    lengths = np.full(count, LEG * legs)
    people = make_people(np.array(starts).reshape(-1, 2), routes, lengths, np.asarray(speed), part.radius)
    return people, CrossingPlans(looks, rests)


def _draw_target(placement: CrossingPlacement, origin: Box, rng: np.random.Generator) -> Box:
    """One of the boxes that are paired with ``origin``."""
    paired = [b if a == origin else a for a, b in placement.boxes if origin in (a, b)]
    return paired[int(rng.integers(len(paired)))]


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

    def __init__(self, plans: CrossingPlans, placement: CrossingPlacement, model: int) -> None:
        self._plans = plans
        self._gap = placement.accepts_gap_s
        self._model = model
        self._returns = plans.rests_s.shape[1] > 0
        self._state = np.full(len(plans.looks_s), RESTING if self._returns else WALKING, np.int64)
        self._since = np.full(len(plans.looks_s), np.nan)

    def advance(self, view: PeopleView) -> None:
        """What everybody does in the coming step."""
        agents, flags, now = view.agents, view.flags, view.now
        self._since[np.isnan(self._since)] = now
        leg, place = flags[layout.WAYPOINT] // LEG, flags[layout.WAYPOINT] % LEG
        goal, here = agents[[layout.GOAL_X, layout.GOAL_Y]], agents[[layout.PX, layout.PY]]
        is_there = squared_length(*(goal - here)) < REACHED_M * REACHED_M
        if self._returns:
            self._rest(view, leg, (self._state == CROSSING) & (place == LEG - 1) & is_there)
        self._begin(LOOKING, (self._state == WALKING) & (place == 0) & is_there, now)
        looking = self._state == LOOKING
        if looking.any():
            looks = np.take_along_axis(self._plans.looks_s, leg[:, None], axis=1)[:, 0]
            ready = looking & (now - self._since >= looks)
            for i in np.flatnonzero(ready).tolist():
                if self._gap is None or self._is_clear(view, i):
                    self._state[i] = CROSSING
                    _next_waypoint(view, i)
            looking = self._state == LOOKING
            turned = np.where(np.floor((now - self._since) / TURN_S) % 2 == 0, LOOK_RAD, -LOOK_RAD)
            agents[layout.HEAD_YAW] = np.where(looking, turned, np.nan)
        stands = looking | (self._state == RESTING)
        agents[[layout.NEW_VX, layout.NEW_VY]] = np.where(stands, 0.0, agents[[layout.NEW_VX, layout.NEW_VY]])
        flags[layout.MODEL] = np.where(stands, layout.MODEL_SCRIPT, self._model)
        flags[layout.SEES_ROBOT] = 1 if self._gap is not None else ~self._nearest_moves(view)

    def _begin(self, state: int, who: BoolArray, now: float) -> None:
        self._state[who], self._since[who] = state, now

    def _rest(self, view: PeopleView, leg: IntArray, arrived: BoolArray) -> None:
        """People who have arrived rest; those who have rested walk to the next kerb."""
        last = self._plans.rests_s.shape[1] - 1
        self._begin(RESTING, arrived & (leg < last), view.now)
        following = np.minimum(np.where(view.flags[layout.WAYPOINT] == 0, 0, leg + 1), last)
        rests = np.take_along_axis(self._plans.rests_s, following[:, None], axis=1)[:, 0]
        for i in np.flatnonzero((self._state == RESTING) & (view.now - self._since >= rests)).tolist():
            self._state[i] = WALKING
            if view.flags[layout.WAYPOINT, i] > 0:
                _next_waypoint(view, i)

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
        start = view.agents[[layout.PX, layout.PY], i].astype(np.float64)
        end = view.routes[i, int(view.flags[layout.WAYPOINT, i]) + 1].astype(np.float64)
        length = float(exact.norm(end - start))
        ux, uy = (end - start) / length
        dx, dy = agents[layout.PX] - start[0], agents[layout.PY] - start[1]
        aside, off = dx * uy - dy * ux, dx * ux + dy * uy
        closing = -(agents[layout.VX] * uy - agents[layout.VY] * ux) * np.where(aside >= 0.0, 1.0, -1.0)
        comes = active & (closing > MOVING_MPS)
        time = np.maximum(np.abs(aside) - agents[layout.RADIUS], 0.0) / np.where(comes, closing, 1.0)
        met = off + (agents[layout.VX] * ux + agents[layout.VY] * uy) * time
        comes &= (met > -CLEAR_M) & (met < length + CLEAR_M)
        speed = max(HELD_UP * float(view.agents[layout.PREF_SPEED, i]), 0.3)
        needed = (np.clip(met, 0.0, length) + CLEAR_M) / speed + speed / (2.0 * MOST_ACCELERATION) + self._gap
        return not bool((comes & (time < needed)).any())


def _next_waypoint(view: PeopleView, i: int) -> None:
    following = int(view.flags[layout.WAYPOINT, i]) + 1
    view.flags[layout.WAYPOINT, i] = following
    view.agents[layout.GOAL_X, i], view.agents[layout.GOAL_Y, i] = view.routes[i, following]
