"""Who walks with whom, judged from tracks alone."""

from __future__ import annotations

import numpy as np

from sidestep.types.base import FloatArray, IntArray

TOGETHER_S = 2.0
NEAR_M = 1.5
ALIKE_MPS = 0.3


def find_parties(position: FloatArray, velocity: FloatArray, step_s: float) -> IntArray:
    """Party number of each of N people, from positions and velocities (T, N, 2), NaN when absent.

    Two people belong together when they share at least 2 s and two thirds of the shorter presence, during which they
    are less than 1.5 m apart nine tenths of the time and their mean velocities differ by less than 0.3 m/s; parties are
    chains of such pairs.
    """
    count = position.shape[1]
    party = np.arange(count)
    here = np.isfinite(velocity[:, :, 0])
    for i in range(count):
        for j in range(i + 1, count):
            both = here[:, i] & here[:, j]
            shared = both.sum()
            if shared * step_s < TOGETHER_S or 1.5 * shared < min(here[:, i].sum(), here[:, j].sum()):
                continue
            apart = np.quantile(np.linalg.norm(position[both, i] - position[both, j], axis=1), 0.9)
            unlike = np.linalg.norm((velocity[both, i] - velocity[both, j]).mean(axis=0))
            if apart < NEAR_M and unlike < ALIKE_MPS:
                party[party == party[j]] = party[i]
    numbers: IntArray = np.unique(party, return_inverse=True)[1]
    return numbers
