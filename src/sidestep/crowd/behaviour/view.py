"""What a step shows the state machine: views of the arrays of its people, and the time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.kernels import layout
from sidestep.types.base import BoolArray, FloatArray, IntArray

Point = tuple[float, float]

PASSED_M = 1.0
"""A waypoint is behind a person who is this near to it and nearer to the next one than it is."""


@dataclass(frozen=True, eq=False)
class PeopleView:
    """N people of one world (see ``kernels.layout``). Writing into the arrays is how people are told what to do."""

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
