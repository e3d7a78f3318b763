"""The crowd that all crowd figures and their peers start from: people in a square, each with random goals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import cKDTree

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
