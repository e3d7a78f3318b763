"""The crowd that all crowd figures start from (people in a square, each with random goals), and the other simulators
that walk it: RVO2 through pyrvo (the wheel is a portable build of RVO2 2.0.3 without OpenMP, hence one thread; the
same source is 1.3 to 1.4 times as fast with a recent compiler at -O3, and 2.2 to 3.4 times with link-time
optimisation for the machine at hand), PySocialForce (Moussaïd's interaction in NumPy, all pairs, no cut-off
distance, no group forces), and JuPedSim's SocialForceModel (Helbing, Farkas and Vicsek 2000, in C++, one thread,
its own step of 0.01 s).
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from scipy.spatial import cKDTree

from benchmarks.measure import Peer
from sidestep.types.base import FloatArray, IntArray

DENSITY = 0.25  # people per m²
RADIUS = 0.3  # m
MAX_SPEED = 2.0  # m/s
TIME_STEP = 0.05  # s
NEIGHBOURS = 10
NEIGHBOUR_DISTANCE = 10.0  # m
HORIZON = 5.0  # s
SPACING = 0.7  # m, centre to centre, at the start
GOALS = 16  # goals of each person, walked to in turn and over again
ARRIVED = 0.5  # m: a peer's person that is so near to its goal gets the next one


@dataclass(frozen=True)
class Square:
    """People drawn at random, the same ones for the same number."""

    side: float  # m; the square is [0, side]²
    positions: FloatArray  # (N, 2) m
    goals: FloatArray  # (N, GOALS, 2) m
    speeds: FloatArray  # (N,) m/s, preferred

    @property
    def people(self) -> int:
        """How many."""
        return len(self.positions)

    def velocities(self) -> FloatArray:
        """Everybody walks to the first goal, (N, 2) m/s."""
        return toward(self.goals[:, 0] - self.positions, self.speeds)


def draw_square(people: int) -> Square:
    """``people`` at ``DENSITY``, nobody within ``SPACING`` of another, goals anywhere in the square."""
    rng = np.random.default_rng([people, 20])
    side = float(np.sqrt(people / DENSITY))
    positions = rng.uniform(0.0, side, (people, 2))
    while len(crowded := _too_close(positions)):
        positions[crowded] = rng.uniform(0.0, side, (len(crowded), 2))
    goals = rng.uniform(0.0, side, (people, GOALS, 2))
    return Square(side, positions, goals, rng.uniform(1.0, 1.6, people))


def _too_close(positions: FloatArray) -> IntArray:
    """One of every two people who stand too close."""
    pairs: IntArray = cKDTree(positions).query_pairs(SPACING, output_type="ndarray")
    return np.unique(pairs[:, 1])


def toward(offsets: FloatArray, speeds: FloatArray) -> FloatArray:
    """Velocities (N, 2) along ``offsets`` (N, 2) at ``speeds`` (N,)."""
    lengths = np.maximum(np.sqrt((offsets * offsets).sum(axis=1)), 1e-9)
    velocities: FloatArray = offsets * (speeds / lengths)[:, None]
    return velocities


class Walkers:
    """Which goal each person of a peer walks to; updated between timed runs."""

    def __init__(self, square: Square) -> None:
        self._square = square
        self._index = np.zeros(square.people, np.int64)

    def goals(self, positions: FloatArray) -> FloatArray:
        """The current goals (N, 2) of people at ``positions``, the next one for those who have arrived."""
        everyone = np.arange(self._square.people)
        offsets = self._square.goals[everyone, self._index] - positions
        arrived = (offsets * offsets).sum(axis=1) < ARRIVED * ARRIVED
        self._index = (self._index + arrived) % GOALS
        goals: FloatArray = self._square.goals[everyone, self._index]
        return goals


PYRVO_STEPS = 20  # between two renewals of the preferred velocities
PYRVO_HORIZON_WALLS = 2.0  # s; there are none


def orca_peer(square: Square) -> Peer:
    """The square's people in one RVO2 simulator."""
    return Peer("pyrvo", _PyRvo(square))


class _PyRvo:
    def __init__(self, square: Square) -> None:
        import pyrvo

        self._people, self._speeds, self._walkers = square.people, square.speeds, Walkers(square)
        self._simulator: Any = pyrvo.RVOSimulator()
        self._simulator.set_time_step(TIME_STEP)
        for position, velocity in zip(square.positions.tolist(), square.velocities().tolist(), strict=True):
            self._simulator.add_agent(
                position, NEIGHBOUR_DISTANCE, NEIGHBOURS, HORIZON, PYRVO_HORIZON_WALLS, RADIUS, MAX_SPEED, velocity
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
        for _ in range(PYRVO_STEPS):
            self._simulator.do_step()
        return float(PYRVO_STEPS * self._people)


PYSOCIALFORCE_STEPS = 5
PYSOCIALFORCE_SETTINGS = "[scene]\nenable_group = false\n"
PYSOCIALFORCE_GOAL = slice(4, 6)  # columns of its state: x, y, vx, vy, goal x, goal y, relaxation time


def moussaid_peer(square: Square) -> Peer:
    """The square's people in one simulator."""
    return Peer("pysocialforce", _PySocialForce(square))


@contextmanager
def _contained_import() -> Iterator[None]:
    """Its import sets the root logger to DEBUG, which floods and slows the process, and writes a file."""
    root = logging.getLogger()
    level, handlers, disabled = root.level, list(root.handlers), root.manager.disable
    logging.disable()
    with TemporaryDirectory() as folder, chdir(folder):
        try:
            yield
        finally:
            for handler in [handler for handler in root.handlers if handler not in handlers]:
                root.removeHandler(handler)
                handler.close()
            root.setLevel(level)
            logging.disable(disabled)


class _PySocialForce:
    def __init__(self, square: Square) -> None:
        with _contained_import():
            from pysocialforce import Simulator

        self._people, self._walkers = square.people, Walkers(square)
        state = np.concatenate([square.positions, square.velocities(), square.goals[:, 0]], axis=1)
        with TemporaryDirectory() as folder:
            settings = Path(folder) / "settings.toml"
            settings.write_text(PYSOCIALFORCE_SETTINGS, encoding="utf-8")
            self._simulator: Any = Simulator(state, config_file=str(settings))
        self._simulator.peds.step_width = TIME_STEP  # its settings file does not reach this

    def positions(self) -> FloatArray:
        """(N, 2) m."""
        positions: FloatArray = self._simulator.peds.pos()
        return positions

    def prepare(self) -> None:
        """New goals; and forget the history that it keeps of every step."""
        peds = self._simulator.peds
        peds.state[:, PYSOCIALFORCE_GOAL] = self._walkers.goals(peds.pos())
        peds.ped_states.clear()
        peds.group_states.clear()

    def run(self) -> float:
        """Agent-steps."""
        self._simulator.step(PYSOCIALFORCE_STEPS)
        return float(PYSOCIALFORCE_STEPS * self._people)


JUPEDSIM_STEPS = 20
JUPEDSIM_TIME_STEP = 0.01  # s
JUPEDSIM_MARGIN = 50.0  # m between the people's square and the border of the walkable area


def helbing_peer(square: Square) -> Peer:
    """The square's people in one simulation."""
    return Peer("jupedsim", _JuPedSim(square))


class _JuPedSim:
    def __init__(self, square: Square) -> None:
        import jupedsim

        self._walkers = Walkers(square)
        low, high = -JUPEDSIM_MARGIN, square.side + JUPEDSIM_MARGIN
        area = [(low, low), (high, low), (high, high), (low, high)]
        simulation: Any = jupedsim.Simulation(model=jupedsim.SocialForceModel(), geometry=area, dt=JUPEDSIM_TIME_STEP)
        stage = simulation.add_direct_steering_stage()
        journey = simulation.add_journey(jupedsim.JourneyDescription([stage]))
        velocities = square.velocities()
        self._ids = [
            simulation.add_agent(
                jupedsim.SocialForceModelAgentParameters(
                    position=tuple(square.positions[i].tolist()),
                    orientation=tuple((velocities[i] / square.speeds[i]).tolist()),
                    velocity=tuple(velocities[i].tolist()),
                    desired_speed=float(square.speeds[i]),
                    radius=RADIUS,
                    journey_id=journey,
                    stage_id=stage,
                )
            )
            for i in range(square.people)
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
        self._simulation.iterate(JUPEDSIM_STEPS)
        return float(JUPEDSIM_STEPS * len(self._ids))
