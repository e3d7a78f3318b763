"""Paths of background people over the behaviour graph: where each starts, how the first goals are reached without
conflicts (Push and Rotate, where there is room), and how a path is handed to the kernels a few waypoints at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import arctan2, hypot
from sidestep.errors import BadInput
from sidestep.kernels import layout
from sidestep.simulation.crowd.behaviour.network import Network
from sidestep.simulation.crowd.behaviour.push_and_rotate import Move, push_and_rotate
from sidestep.simulation.crowd.behaviour.stops import PeopleView
from sidestep.simulation.crowd.people import People, make_people
from sidestep.simulation.crowd.spawn import Spawner
from sidestep.types.base import FloatArray, Point
from sidestep.types.behaviour import Behaviour, BehaviourPlacement
from sidestep.types.scenario import CrowdPart

WAYPOINTS_AHEAD = 8
"""Waypoints that the kernels know of a person's path at a time."""
LEAST_LANE = 0.4
"""Everybody keeps to the right by their own part of the lane, from this to 1."""
ROUNDS = 60
GOAL_ROUNDS = 5
"""Number of times goals are drawn before planning gives up."""


@dataclass(frozen=True, eq=False)
class FirstPaths:
    """What the placement decides for N people: which part of the lane they keep, and how they begin."""

    lane: FloatArray  # (N,) LEAST_LANE … 1
    paths: tuple[tuple[int, ...], ...]  # the nodes of each, the first being where they are or come from
    turns: tuple[tuple[int, ...], ...] | None  # of each node on a path: how many leave it before; None: no plan


def place_background(
    placer: Spawner, part: CrowdPart, placement: BehaviourPlacement, network: Network, rng: np.random.Generator
) -> tuple[People, FirstPaths]:
    """All people of the part, on nodes under a plan of Push and Rotate, else anywhere on the edges."""
    count = placement.count
    speed = exact.uniform(rng, *placement.speeds, count)
    lane = exact.uniform(rng, LEAST_LANE, 1.0, count)
    nodes = _start_nodes(placer, part.radius, count, network, rng) if placement.paths == "push_and_rotate" else None
    if nodes is not None:
        paths, turns = _plan(network, nodes, placement.behaviour, rng)
        start = network.at[nodes]
    else:
        start, paths = _on_edges(placer, part.radius, lane, network, placement.behaviour, rng)
        turns = None
    routes = np.zeros((count, WAYPOINTS_AHEAD, 2))
    routes[:, 0] = start
    heading = np.zeros(count)
    for k, path in enumerate(paths):
        if len(path) > 1:
            step = network.at[path[1]] - start[k]
            heading[k] = arctan2(step[1], step[0])
            if turns is None or turns[k][1] == 0:
                routes[k, 0] = network.passing_point(path[0], path[1], None, lane[k])
    people = make_people(start, routes, np.ones(count, np.int64), speed, part.radius, heading=heading)
    return people, FirstPaths(lane, tuple(map(tuple, paths)), turns)


def _start_nodes(
    placer: Spawner, radius: float, count: int, network: Network, rng: np.random.Generator
) -> list[int] | None:
    """Different nodes for everybody, at most |V| - 2 in each connected part; None: there are not enough."""
    room = {part: int((network.part == part).sum()) - 2 for part in set(network.part.tolist())}
    if count > sum(max(free, 0) for free in room.values()):
        return None
    chosen: list[int] = []
    taken = placer.taken
    for node in rng.permutation(len(network)).tolist():
        if len(chosen) == count:
            break
        part = int(network.part[node])
        if room[part] > 0 and placer.is_apart(network.at[node], radius):
            placer.take(network.at[node], radius)
            room[part] -= 1
            chosen.append(node)
    if len(chosen) < count:
        placer.taken = taken
        return None
    return chosen


def draw_goal(network: Network, node: int, behaviour: Behaviour, rng: np.random.Generator, taken: set[int]) -> int:
    """Another node that is neither too near nor too far and not ``taken``; ``node`` itself if there is none."""
    distance = network.distances(node, behaviour.goal_high_m)
    fitting = np.isfinite(distance) & (distance >= behaviour.goal_low_m)
    fitting[[node, *taken]] = False
    if not fitting.any():
        fitting = np.isfinite(network.distances(node))
        fitting[[node, *taken]] = False
    objects = fitting & network.is_object
    wants_object, pick = rng.random(2)
    if objects.any() and not objects.all():
        if wants_object < behaviour.objects:
            fitting = objects
        elif (fitting & ~network.is_object).any():
            fitting = fitting & ~network.is_object
    numbers = np.flatnonzero(fitting)
    return int(numbers[int(pick * len(numbers))]) if len(numbers) else node


def _plan(
    network: Network, nodes: Sequence[int], behaviour: Behaviour, rng: np.random.Generator
) -> tuple[list[list[int]], tuple[tuple[int, ...], ...] | None]:
    """Paths to different goals by Push and Rotate, with turns at the nodes; shortest ones if there is no plan.

    Where few nodes are free, as in a tree with two, not all goals can be reached; others are drawn a few times.
    """
    for _ in range(GOAL_ROUNDS):
        goals: list[int] = []
        for node in nodes:
            goals.append(draw_goal(network, node, behaviour, rng, set(goals)))
        moves = _plan_parts(network, nodes, goals)
        if moves is not None:
            return _follow(network, nodes, moves)
    return [network.path(a, b, behaviour.goal_high_m) for a, b in zip(nodes, goals, strict=True)], None


def _follow(
    network: Network, nodes: Sequence[int], moves: Sequence[Move]
) -> tuple[list[list[int]], tuple[tuple[int, ...], ...]]:
    """Everybody's nodes under the plan, and how many leave each of them before that person comes."""
    paths: list[list[int]] = [[node] for node in nodes]
    turns: list[list[int]] = [[0] for _ in nodes]
    left = np.zeros(len(network), np.int64)
    for agent, here, there in moves:
        left[here] += 1
        paths[agent].append(there)
        turns[agent].append(int(left[there]))
    return paths, tuple(map(tuple, turns))


def _plan_parts(network: Network, nodes: Sequence[int], goals: Sequence[int]) -> list[Move] | None:
    """The plans of all connected parts, one after the other."""
    moves: list[Move] = []
    for part in sorted({int(network.part[node]) for node in nodes}):
        found = _plan_part(network, part, nodes, goals)
        if found is None:
            return None
        moves += found
    return moves


def _plan_part(network: Network, part: int, nodes: Sequence[int], goals: Sequence[int]) -> list[Move] | None:
    """The plan of the people in one connected part, in the network's numbers."""
    vertices = np.flatnonzero(network.part == part).tolist()
    place = {vertex: k for k, vertex in enumerate(vertices)}
    agents = [agent for agent, node in enumerate(nodes) if node in place]
    neighbours = [[place[near] for near in network.neighbours[vertex]] for vertex in vertices]
    moves = push_and_rotate(
        neighbours, [place[nodes[agent]] for agent in agents], [place[goals[agent]] for agent in agents]
    )
    if moves is None:
        return None
    return [(agents[agent], vertices[here], vertices[there]) for agent, here, there in moves]


def _on_edges(
    placer: Spawner, radius: float, lane: FloatArray, network: Network, behaviour: Behaviour, rng: np.random.Generator
) -> tuple[FloatArray, list[list[int]]]:
    """Places along the edges, even by length, in the lane of the direction that each walks."""
    edges = np.array(list(network.lanes))
    length = exact.hypot(*(network.at[edges[:, 1]] - network.at[edges[:, 0]]).T)
    reach = np.cumsum(length) / length.sum()
    start, paths = np.zeros((len(lane), 2)), []
    for k in range(len(lane)):
        for _ in range(ROUNDS):
            which, along = rng.random(2)
            a, b = edges[min(int(np.searchsorted(reach, which)), len(edges) - 1)].tolist()
            edge = network.at[b] - network.at[a]
            right = np.array([edge[1], -edge[0]]) / exact.hypot(*edge) * network.lanes[a, b] * lane[k]
            place = network.at[a] + along * edge + right
            if placer.is_free(place, radius) and placer.is_apart(place, radius):
                break
        else:
            raise BadInput(
                f"{placer.where}: no room left for one more person on the behaviour graph; "
                "fewer people or a larger graph"
            )
        placer.take(place, radius)
        start[k] = place
        goal = draw_goal(network, b, behaviour, rng, set())
        paths.append([a, *network.path(b, goal, behaviour.goal_high_m)])
    return start, paths


PIECE_M = 8.0
"""Waypoints at least so dense keep people in their lane after they gave way."""

AT_NODE_M = 2.5


class Journeys:
    """Paths of N people. Under the plan of Push and Rotate they go node by node, each when it is their turn there."""

    def __init__(self, network: Network, first: FirstPaths) -> None:
        self._network = network
        self._lane = first.lane
        self._nodes = list(first.paths)
        self._next = [1] * len(first.paths)
        self._turns = [None if first.turns is None else first.turns[i] for i in range(len(first.paths))]
        self._reached = [[0] for _ in first.paths]  # nodes that are passed once a waypoint is reached
        self._left = np.zeros(len(network), np.int64)  # how many have left each node under the plan
        self._waiting: dict[int, list[int]] = {}

    def last_node(self, i: int) -> int:
        """The node that ``i`` passed last."""
        return self._nodes[i][max(self._next[i] - 1, 0)]

    def is_planned(self, i: int) -> bool:
        """Whether ``i`` is still under the plan."""
        return self._turns[i] is not None

    def is_over(self, i: int) -> bool:
        """Whether the path of ``i`` is at its end; then no plan holds any more."""
        if self._next[i] < len(self._nodes[i]):
            return False
        self._turns[i] = None
        return True

    def begin(self, stage: PeopleView, i: int, path: list[int]) -> None:
        """Walk along ``path``. Who is at its first node and sees the next need not touch the first."""
        self._turns[i] = None
        self._nodes[i], self._next[i] = tuple(path), 1
        if len(path) > 1:
            ahead = self._network.passing_point(path[0], path[1], None, self._lane[i])
            here, node = stage.place(i), self._network.at[path[0]]
            away = hypot(here[0] - node[0], here[1] - node[1]) > AT_NODE_M
            if away or not self._network.ground.is_clear(here, ahead, self._network.radius):
                self._next[i] = 0
        self.walk(stage, i)

    def walk(self, stage: PeopleView, i: int) -> None:
        """Hand over the next waypoints, up to the next node only while under the plan."""
        nodes, begin = self._nodes[i], self._next[i]
        end = len(nodes) if self._turns[i] is None else begin + 1
        around = [None, *nodes, None]
        points: list[Point] = []
        self._reached[i] = reached = []
        here = stage.place(i)
        for k in range(begin, end):
            there = self._network.passing_point(around[k], nodes[k], around[k + 2], self._lane[i])
            pieces = max(ceil(hypot(there[0] - here[0], there[1] - here[1]) / PIECE_M), 1)
            for piece in range(1, pieces + 1):
                part = piece / pieces
                points.append((here[0] + part * (there[0] - here[0]), here[1] + part * (there[1] - here[1])))
                reached.append(k - begin + (piece == pieces))
            here = there
            if len(points) >= WAYPOINTS_AHEAD:
                break
        stage.send(i, points[:WAYPOINTS_AHEAD])

    def note_passed(self, stage: PeopleView, i: int, arrived: bool) -> bool:
        """Count the nodes that were passed since the waypoints were handed over; whether the last waypoint was one."""
        waypoint, reached = int(stage.flags[layout.WAYPOINT, i]), self._reached[i]
        passed = [0, *reached][waypoint]
        nodes = reached[waypoint] if arrived else passed
        self._next[i] += nodes
        stage.flags[layout.WAYPOINT, i] = 0
        self._reached[i] = [0]
        return nodes > passed

    def may_leave(self, i: int) -> bool:
        """Whether all who go first at the next node of the plan have left it; else ``i`` is listed as waiting."""
        turns, k = self._turns[i], self._next[i]
        assert turns is not None
        if self._left[self._nodes[i][k]] >= turns[k]:
            return True
        self._waiting.setdefault(self._nodes[i][k], []).append(i)
        return False

    def leave(self, i: int) -> list[int]:
        """Leave the present node of the plan; who may come to it now."""
        node, ahead = self._nodes[i][self._next[i] - 1], self._nodes[i][self._next[i]]
        self._left[node] += 1
        if i in self._waiting.get(ahead, ()):
            self._waiting[ahead].remove(i)
        waiting = self._waiting.get(node, [])
        return [j for j in waiting if self._left[node] >= self._turn_of(j)]

    def _turn_of(self, i: int) -> int:
        turns = self._turns[i]
        return 0 if turns is None else turns[self._next[i]]
