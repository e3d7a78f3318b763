"""The distance-to-goal field: against straight lines, a detour computed by hand, and closed places."""

from __future__ import annotations

import numpy as np

from sidestep.policies.grid import sweep_geodesic
from sidestep.policies.sampling.goal_field import spread_outward


def field(slowness: np.ndarray, source: tuple[int, int], cell: float = 0.1) -> np.ndarray:
    distance = np.full(slowness.shape, np.inf)
    distance[source] = 0.0
    sweep_geodesic(distance, slowness, cell)
    return distance


def test_open_ground_is_the_straight_distance() -> None:
    distance = field(np.ones((61, 81)), (30, 40))
    y, x = np.mgrid[:61, :81]
    exact = 0.1 * np.hypot(y - 30, x - 40)
    assert np.allclose(distance[30], exact[30])  # along an axis the scheme is exact
    assert (distance >= exact - 1e-12).all()
    assert (distance - exact).max() < 0.25  # first order: the error of a point source, largest on the diagonals


def test_goes_round_a_wall() -> None:
    slowness = np.ones((41, 41))
    slowness[:31, 20] = np.inf  # a wall from the lower edge up to row 30
    distance = field(slowness, (0, 10))
    shortest = 0.1 * 2 * np.hypot(31, 10)  # over its end at (31, 20)
    assert shortest <= distance[0, 30] < 1.06 * shortest
    assert np.isinf(distance[:31, 20]).all()


def test_a_closed_room_has_no_way() -> None:
    slowness = np.ones((20, 20))
    slowness[5, :10] = slowness[:6, 10] = np.inf
    distance = field(slowness, (15, 15))
    assert np.isinf(distance[:5, :10]).all()
    assert np.isfinite(distance[6:, :]).all()


def test_slowness_scales_the_distance() -> None:
    slowness = np.ones((30, 30))
    assert np.allclose(field(3.0 * slowness, (3, 4)), 3.0 * field(slowness, (3, 4)))


def test_spreads_by_one_cell_a_call() -> None:
    distance = np.full((1, 5), np.inf)
    distance[0, 0] = 2.0
    spare = np.empty_like(distance)
    spread_outward(distance, 10.0, 0.1, spare)
    assert np.allclose(distance[0, :2], [2.0, 3.0])
    assert np.isinf(distance[0, 2:]).all()
