"""What a step shows the state machine: views of the arrays of its people, and the time."""

from __future__ import annotations

from dataclasses import dataclass

from sidestep.kernels import layout
from sidestep.types.base import FloatArray, IntArray

Point = tuple[float, float]


@dataclass(frozen=True, eq=False)
class Stage:
    """N people of one world (see ``kernels.layout``). Writing into the arrays is how people are told what to do."""

    agents: FloatArray  # (AGENT_ROWS, N) float32
    flags: IntArray  # (FLAG_ROWS, N) int32
    routes: FloatArray  # (N, W, 2) float32
    route_length: IntArray  # (N,) int32
    now: float  # s

    def place(self, i: int) -> Point:
        """Where person ``i`` is."""
        return float(self.agents[layout.PX, i]), float(self.agents[layout.PY, i])

    def send(self, i: int, points: list[Point]) -> None:
        """Let person ``i`` walk through ``points`` and stay at the last."""
        self.routes[i, : len(points)] = points
        self.route_length[i] = len(points)
        self.flags[layout.WAYPOINT, i] = 0
        self.agents[layout.GOAL_X, i], self.agents[layout.GOAL_Y, i] = points[0]
