"""Where background people start and how they get to their first goals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sidestep import exact
from sidestep.crowd.behaviour.network import Network
from sidestep.crowd.behaviour.push_and_rotate import Move, push_and_rotate
from sidestep.crowd.people import People, make_people
from sidestep.crowd.placement import Placer
from sidestep.errors import BadInput
from sidestep.exact import arctan2
from sidestep.types.base import FloatArray
from sidestep.types.behaviour import Behaviour, BehaviourPlacement
from sidestep.types.scenario import CrowdPart

WINDOW = 8
"""Waypoints that the kernels know of a person's path at a time."""
LEAST_LANE = 0.4
"""Everybody keeps to the right by their own part of the lane, from this to 1."""
ROUNDS = 60
GOAL_ROUNDS = 5
"""So often goals are drawn until there is a plan."""


@dataclass(frozen=True, eq=False)
class FirstPaths:
    """What the placement decides for N people: which part of the lane they keep, and how they begin."""

    lane: FloatArray  # (N,) LEAST_LANE … 1
    paths: tuple[tuple[int, ...], ...]  # the nodes of each, the first being where they are or come from
    turns: tuple[tuple[int, ...], ...] | None  # of each node on a path: how many leave it before; None: no plan


def place_background(
    placer: Placer, part: CrowdPart, placement: BehaviourPlacement, network: Network, rng: np.random.Generator
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
    routes = np.zeros((count, WINDOW, 2))
    routes[:, 0] = start
    heading = np.zeros(count)
    for k, path in enumerate(paths):
        if len(path) > 1:
            way = network.at[path[1]] - start[k]
            heading[k] = arctan2(way[1], way[0])
            if turns is None or turns[k][1] == 0:
                routes[k, 0] = network.passing_point(path[0], path[1], None, lane[k])
    people = make_people(start, routes, np.ones(count, np.int64), speed, part.radius, heading=heading)
    return people, FirstPaths(lane, tuple(map(tuple, paths)), turns)


def _start_nodes(
    placer: Placer, radius: float, count: int, network: Network, rng: np.random.Generator
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
    placer: Placer, radius: float, lane: FloatArray, network: Network, behaviour: Behaviour, rng: np.random.Generator
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
            way = network.at[b] - network.at[a]
            right = np.array([way[1], -way[0]]) / exact.hypot(*way) * network.lanes[a, b] * lane[k]
            place = network.at[a] + along * way + right
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
