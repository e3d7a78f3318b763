"""RVO2, the reference implementation of ORCA in C++, through its Python binding pyrvo.

The wheel is a portable build of RVO2 2.0.3: optimised, but every vector operator is a call, and without
OpenMP, hence one thread. The same source is 1.3 to 1.4 times as fast with a recent compiler at -O3, and 2.2
to 3.4 times with link-time optimisation for the machine at hand; a ratio to this peer is to be read so. Timed
is ``do_step`` alone: preferred velocities, which would cost a Python call each, are set between runs of one
simulated second.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.bench import square
from sidestep.bench.peers import Peer
from sidestep.bench.square import Square, Walkers, toward
from sidestep.types.base import FloatArray

STEPS = 20  # between two renewals of the preferred velocities
HORIZON_WALLS = 2.0  # s; there are none


def orca_peer(drawn: Square) -> Peer:
    """The square's people in one RVO2 simulator."""
    return Peer("pyrvo", _Simulator(drawn))


class _Simulator:
    def __init__(self, drawn: Square) -> None:
        import pyrvo

        self._people, self._speeds, self._walkers = drawn.people, drawn.speeds, Walkers(drawn)
        self._simulator: Any = pyrvo.RVOSimulator()
        self._simulator.set_time_step(square.TIME_STEP)
        for position, velocity in zip(drawn.positions.tolist(), drawn.velocities().tolist(), strict=True):
            self._simulator.add_agent(
                position,
                square.NEIGHBOUR_DISTANCE,
                square.NEIGHBOURS,
                square.HORIZON,
                HORIZON_WALLS,
                square.RADIUS,
                square.MAX_SPEED,
                velocity,
            )

    def positions(self) -> FloatArray:
        """(N, 2) m."""
        return np.array([self._simulator.get_agent_position(i).to_tuple() for i in range(self._people)])

    def prepare(self) -> None:
        """Everybody wants to walk to the goal."""
        positions = self.positions()
        wishes = toward(self._walkers.goals(positions) - positions, self._speeds)
        for i, wish in enumerate(wishes.tolist()):
            self._simulator.set_agent_pref_velocity(i, wish)

    def run(self) -> float:
        """Agent-steps."""
        for _ in range(STEPS):
            self._simulator.do_step()
        return float(STEPS * self._people)
