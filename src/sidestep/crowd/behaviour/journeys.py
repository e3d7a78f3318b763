"""Everybody's path over the graph, handed to the kernels a few waypoints at a time; and the order of the first plan."""

from __future__ import annotations

from math import ceil

import numpy as np

from sidestep.crowd.behaviour.network import Network
from sidestep.crowd.behaviour.place import WINDOW, FirstPaths
from sidestep.crowd.behaviour.stage import Point, Stage
from sidestep.exact import hypot
from sidestep.kernels import layout

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

    def begin(self, stage: Stage, i: int, path: list[int]) -> None:
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

    def walk(self, stage: Stage, i: int) -> None:
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
            if len(points) >= WINDOW:
                break
        stage.send(i, points[:WINDOW])

    def note_passed(self, stage: Stage, i: int, arrived: bool) -> bool:
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
