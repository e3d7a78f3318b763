"""What a step shows the state machine of background people (:class:`PeopleView`), and their stops: who stands at which
point of a node (a queue moves up when somebody leaves), how people who talk form a ring, how people who stand hold
their position, and where they face and look.

Crowd models cannot hold a position: under ORCA a person who is followed closely may not brake and is carried along.
So people who stand are moved by script, at a stroll and never into anybody; everybody else gives way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import pi

import numpy as np

from sidestep._util.exact import arctan2, cos, hypot, sin
from sidestep.kernels import layout
from sidestep.simulation.crowd.behaviour.network import Network, WalkableSpace
from sidestep.types.base import BoolArray, FloatArray, IntArray, Point
from sidestep.types.events import GESTURES

PASSED_M = 1.0
"""A waypoint is behind a person who is this near to it and nearer to the next one than it is."""


@dataclass(frozen=True, eq=False)
class PeopleView:
    """N people of one world (see ``kernels.layout``). People are moved by writing into the arrays."""

    agents: FloatArray  # (AGENT_ROWS, N) float32
    flags: IntArray  # (FLAG_ROWS, N) int32
    routes: FloatArray  # (N, W, 2) float32
    route_length: IntArray  # (N,) int32
    now: float  # s
    world_agents: FloatArray  # (AGENT_ROWS, M) everybody in the world, robots too
    world_flags: IntArray  # (FLAG_ROWS, M)
    first: int  # column of the first of the N among the M
    people: int  # how many of the M are people; the others are robots, vehicles and the discs that cover these

    def place(self, i: int) -> Point:
        """Where person ``i`` is."""
        return float(self.agents[layout.PX, i]), float(self.agents[layout.PY, i])

    def send(self, i: int, points: list[Point]) -> None:
        """Let person ``i`` walk through ``points`` and stay at the last."""
        self.routes[i, : len(points)] = points
        self.route_length[i] = len(points)
        self.flags[layout.WAYPOINT, i] = 0
        self.agents[layout.GOAL_X, i], self.agents[layout.GOAL_Y, i] = points[0]


def squared_length(dx: FloatArray, dy: FloatArray) -> FloatArray:
    """Squared length of vectors."""
    squared: FloatArray = dx * dx + dy * dy
    return squared


def gap_square(stage: PeopleView) -> FloatArray:
    """(N,) m²: from each person to the waypoint that is walked to, squared."""
    agents = stage.agents
    return squared_length(agents[layout.GOAL_X] - agents[layout.PX], agents[layout.GOAL_Y] - agents[layout.PY])


def pass_waypoints(stage: PeopleView, walking: BoolArray) -> None:
    """Next waypoint for those of ``walking`` who have passed theirs beside it: nobody turns round to touch it."""
    agents, waypoint = stage.agents, stage.flags[layout.WAYPOINT]
    near = np.flatnonzero(walking & (waypoint < stage.route_length - 1) & (gap_square(stage) < PASSED_M * PASSED_M))
    if not len(near):
        return
    goal, following = stage.routes[near, waypoint[near]], stage.routes[near, waypoint[near] + 1]
    here = agents[layout.PX : layout.PY + 1, near].T
    passed = squared_length(*(following - here).T) < squared_length(*(following - goal).T)
    near = near[passed]
    waypoint[near] += 1
    agents[layout.GOAL_X, near], agents[layout.GOAL_Y, near] = following[passed].T


class Standing:
    """The places of all nodes and who has them."""

    def __init__(self, network: Network, people: int) -> None:
        self._network = network
        self._taken: dict[int, list[int | None]] = {}
        self._place_of: list[tuple[int, int] | None] = [None] * people

    def has_room(self, node: int) -> bool:
        """Whether a place of ``node`` is free."""
        return node not in self._taken or None in self._taken[node]

    def is_queue(self, node: int) -> bool:
        """Whether people stand one behind the other there."""
        spec = self._network.graph.nodes[node]
        return spec.kind == "object" and spec.interaction == "queue"

    def take(self, i: int, node: int) -> tuple[Point, bool]:
        """The first free place of ``node`` is person ``i``'s; and whether it is the first of all."""
        places = self._network.places[node]
        taken = self._taken.setdefault(node, [None] * len(places))
        k = taken.index(None)
        taken[k] = i
        self._place_of[i] = (node, k)
        return places[k], k == 0

    def release(self, i: int) -> list[tuple[int, Point, bool]]:
        """Person ``i`` goes. Who moves up in a queue, to which place, and whether it is the first."""
        if self._place_of[i] is None:
            return []
        node, k = self._place_of[i] or (0, 0)
        taken, places = self._taken[node], self._network.places[node]
        self._place_of[i], taken[k] = None, None
        moved = []
        if self.is_queue(node):
            behind = [j for j in taken[k + 1 :] if j is not None]
            taken[k:] = [*behind, *([None] * (len(taken) - k - len(behind)))]
            for place, j in enumerate(behind, start=k):
                self._place_of[j] = (node, place)
                moved.append((j, places[place], place == 0))
        if not any(other is not None for other in taken):
            del self._taken[node]
        return moved


RING_M = 0.6
"""Radius of a ring of two; each further person adds ``RING_GROWTH_M``."""
RING_GROWTH_M = 0.12
TURNS = 12
"""Rotations of the ring that are tried where walls are near."""


@dataclass(eq=False)
class Group:
    """People who talk."""

    number: int
    members: list[int]
    centre: Point
    until: float  # s


def ring_centre(one: Point, other: Point) -> Point:
    """The middle of a ring in which ``other`` stays where they are and ``one`` comes to them."""
    dx, dy = one[0] - other[0], one[1] - other[1]
    length = hypot(dx, dy)
    if length < 1e-6:
        return other[0] + RING_M, other[1]
    return other[0] + RING_M * dx / length, other[1] + RING_M * dy / length


def ring_places(centre: Point, people: Sequence[Point], ground: WalkableSpace, radius: float) -> list[Point] | None:
    """A place for each of ``people``, in the order in which they are round the ring already; None: no room for it.

    The last of ``people`` keeps its direction from the centre if that can be.
    """
    size = RING_M + RING_GROWTH_M * (len(people) - 2)
    angles = [arctan2(y - centre[1], x - centre[0]) for x, y in people]
    order = sorted(range(len(people)), key=lambda k: ((angles[k] - angles[-1]) % (2 * pi), -k))
    if not all(ground.is_clear(place, centre, radius) for place in people):
        return None
    for turn in range(TURNS):
        first = angles[-1] + (1 if turn % 2 else -1) * ((turn + 1) // 2) * pi / TURNS
        places = [centre] * len(people)
        for k, who in enumerate(order):
            angle = first + 2 * pi * k / len(people)
            places[who] = (centre[0] + size * cos(angle), centre[1] + size * sin(angle))
        if all(ground.is_clear(centre, place, radius) for place in places):
            return places
    return None


STROLL_MPS = 1.0
CLOSING_S = 0.25
"""The last piece is walked ever slower: distance over this."""
BRAKE_MPS2 = 4.0
STILL_MPS = 0.02
CLEAR_M = 0.12
"""What a step to the place keeps from everybody else, surface to surface."""

_POSITION = slice(layout.PX, layout.PY + 1)
_VELOCITY = slice(layout.VX, layout.VY + 1)
_NEW = slice(layout.NEW_VX, layout.NEW_VY + 1)


def hold_people(stage: PeopleView, standing: BoolArray, model: IntArray, share: FloatArray, dt: float) -> None:
    """Script those of N who are ``standing``; the others have the crowd ``model`` and ``share`` of walking people."""
    stage.flags[layout.MODEL] = np.where(standing, layout.MODEL_SCRIPT, model)
    stage.agents[layout.SHARE] = np.where(standing, np.float32(0.0), share)
    who = np.flatnonzero(standing)
    if not len(who):
        return
    agents = stage.agents
    gap = agents[layout.GOAL_X : layout.GOAL_Y + 1, who] - agents[_POSITION, who]
    distance = np.sqrt(squared_length(*gap))
    wish = gap * np.minimum(STROLL_MPS / np.maximum(distance, np.float32(1e-6)), np.float32(1.0 / CLOSING_S))
    change = wish - agents[_VELOCITY, who]
    size = np.sqrt(squared_length(*change))
    velocity = agents[_VELOCITY, who] + change * np.minimum(
        np.float32(BRAKE_MPS2 * dt) / np.maximum(size, np.float32(1e-6)), np.float32(1.0)
    )
    still = squared_length(*velocity) < STILL_MPS * STILL_MPS
    velocity[:, still] = 0.0
    moving = np.flatnonzero(~still)
    if len(moving):
        velocity[:, moving[_would_touch(stage, who[moving], velocity[:, moving], dt)]] = 0.0
    agents[_NEW, who] = velocity


def _would_touch(stage: PeopleView, who: IntArray, velocity: FloatArray, dt: float) -> BoolArray:
    """(K,) whether a step of ``velocity`` (2, K) brings each of ``who`` nearer to somebody than allowed."""
    everybody, here = stage.world_agents, stage.agents[_POSITION, who]
    now = here[:, :, None] - everybody[_POSITION, None, :]
    then = now + (velocity * np.float32(dt))[:, :, None]
    reach = stage.agents[layout.RADIUS, who][:, None] + everybody[layout.RADIUS][None, :] + np.float32(CLEAR_M)
    after = squared_length(*then)
    touches = (after < reach * reach) & (after < squared_length(*now)) & (stage.world_flags[layout.ACTIVE] == 1)
    touches[np.arange(len(who)), stage.first + who] = False
    touched: BoolArray = touches.any(axis=1)
    return touched


TURN_RATE = 2.5
"""rad/s of people who stand."""
LOOK_RAD, LOOK_PERIOD_S = 0.9, 6.0
"""How far and how slowly people who look around turn their heads."""

_TURN = np.float32(2 * np.pi)


def pose_people(
    stage: PeopleView, settled: BoolArray, face: FloatArray, gesture: IntArray, phase: FloatArray, dt: float
) -> None:
    """Turn who has ``settled`` (N,) toward ``face`` (N,) rad, with ``gesture`` (N,); others look where they walk."""
    agents = stage.agents
    turn = face - agents[layout.HEADING]
    turn -= _TURN * np.round(turn / _TURN)
    most = np.float32(TURN_RATE * dt)
    agents[layout.HEADING] += np.where(settled, np.minimum(np.maximum(turn, -most), most), np.float32(0.0))
    stage.flags[layout.GESTURE] = np.where(settled, gesture, GESTURES["none"])
    cycle = (stage.now / LOOK_PERIOD_S + phase) % 1.0
    swing = LOOK_RAD * (1.0 - 4.0 * np.abs(cycle - 0.5))
    yaw = np.where(gesture == GESTURES["look_around"], swing, 0.0)
    agents[layout.HEAD_YAW] = np.where(settled, yaw, np.nan)
