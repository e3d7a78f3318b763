"""How far ORCA people overlap where all arrive in the middle at once: bounds on what was measured, not a proof of none.

ORCA promises nothing once its linear program has no solution; RVO2 overlaps in such scenes too. The scenes of
``tests/kernels/test_orca.py``, in which nobody overlaps, have staggered starts.
"""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.simulation import Worlds
from sidestep.simulation.build import WorldBuilder
from tests.simulation.scenarios import make


def least_gaps(people: int, radius: float, step_s: float, seeds: int) -> np.ndarray:
    """Least surface distance between two people over 20 s, m, of the circle crossing under each seed."""
    placement = {"kind": "circle", "count": people, "radius": radius, "jitter": 0.5}
    part = {"model": "orca", "sees_robot": False, "placement": placement}
    far_away = [{"spec": "point", "start": [60, 60, 0], "goal": [90, 90]}]
    builder = WorldBuilder(make(crowd=[part], robots=far_away, rules={"step_s": step_s, "time_limit_s": 30}))
    worlds = Worlds([builder.build(seed) for seed in range(seeds)], threads=2)
    least = np.full(seeds, np.inf)
    for _ in range(round(20 / step_s)):
        worlds.step()
        x, y = worlds.agents[:, :2, :people].astype(np.float64).transpose(1, 0, 2)
        gaps = np.hypot(x[:, :, None] - x[:, None], y[:, :, None] - y[:, None]) - 0.5
        gaps[:, range(people), range(people)] = np.inf
        least = np.minimum(least, gaps.min(axis=(1, 2)))
    return least


@pytest.mark.full
@pytest.mark.parametrize(("step_s", "share", "worst_m"), [(0.05, 0.10, 0.03), (0.1, 0.25, 0.06)])
def test_a_circle_of_eight_overlaps_seldom_and_by_centimetres(step_s: float, share: float, worst_m: float) -> None:
    least = least_gaps(people=8, radius=5.0, step_s=step_s, seeds=1000)
    assert (least < -1e-3).mean() < share
    assert least.min() > -worst_m
