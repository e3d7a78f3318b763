"""JuPedSim's SocialForceModel (Helbing, Farkas and Vicsek 2000) in C++, one thread, its own step of 0.01 s.

The walkable area is a large square, so that walls play no part; each agent is steered directly to its goal.
Timed is ``iterate``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.bench import square
from sidestep.bench.peers import Peer
from sidestep.bench.square import Square, Walkers
from sidestep.types.base import FloatArray

STEPS = 20
TIME_STEP = 0.01  # s
MARGIN = 50.0  # m between the people's square and the border of the walkable area


def helbing_peer(drawn: Square) -> Peer:
    """The square's people in one simulation."""
    return Peer("jupedsim", _Simulation(drawn))


class _Simulation:
    def __init__(self, drawn: Square) -> None:
        import jupedsim

        self._walkers = Walkers(drawn)
        low, high = -MARGIN, drawn.side + MARGIN
        area = [(low, low), (high, low), (high, high), (low, high)]
        simulation: Any = jupedsim.Simulation(model=jupedsim.SocialForceModel(), geometry=area, dt=TIME_STEP)
        stage = simulation.add_direct_steering_stage()
        journey = simulation.add_journey(jupedsim.JourneyDescription([stage]))
        velocities = drawn.velocities()
        self._ids = [
            simulation.add_agent(
                jupedsim.SocialForceModelAgentParameters(
                    position=tuple(drawn.positions[i].tolist()),
                    orientation=tuple((velocities[i] / drawn.speeds[i]).tolist()),
                    velocity=tuple(velocities[i].tolist()),
                    desired_speed=float(drawn.speeds[i]),
                    radius=square.RADIUS,
                    journey_id=journey,
                    stage_id=stage,
                )
            )
            for i in range(drawn.people)
        ]
        self._simulation = simulation

    def positions(self) -> FloatArray:
        """(N, 2) m."""
        return np.array([self._simulation.agent(number).position for number in self._ids])

    def prepare(self) -> None:
        """New goals. Agents are looked up anew each time, as handles do not outlive ``iterate``."""
        goals = self._walkers.goals(self.positions())
        for number, goal in zip(self._ids, goals.tolist(), strict=True):
            self._simulation.agent(number).target = tuple(goal)

    def run(self) -> float:
        """Agent-steps."""
        self._simulation.iterate(STEPS)
        return float(STEPS * len(self._ids))
