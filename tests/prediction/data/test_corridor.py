from __future__ import annotations

import itertools
from math import inf, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.prediction.data.corridor import extend, passes_of, project, runs, visits

CORNER = np.array([[0.0, 0.0], [10.0, 0.0], [10.0, 10.0]])


def test_places_along_and_beside_a_path() -> None:
    along, left = project(
        CORNER, np.array([[3.0, 1.0], [3.0, -2.0], [8.0, 4.0], [13.0, -4.0], [-3.0, 4.0], [10.0, 12.0]])
    )
    assert along == pytest.approx([3.0, 3.0, 14.0, 10.0, 0.0, 20.0])
    assert left == pytest.approx([1.0, -2.0, 2.0, -5.0, 5.0, 2.0])


def project_slowly(path: list[list[float]], x: float, y: float) -> tuple[float, float]:
    """The same, segment by segment."""
    best, begin, along, left = inf, 0.0, 0.0, 0.0
    for (ax, ay), (bx, by) in itertools.pairwise(path):
        length = sqrt((bx - ax) ** 2 + (by - ay) ** 2)
        share = min(max(((x - ax) * (bx - ax) + (y - ay) * (by - ay)) / length**2, 0.0), 1.0)
        miss = sqrt((x - ax - share * (bx - ax)) ** 2 + (y - ay - share * (by - ay)) ** 2)
        if miss < best - 1e-12:
            side = (bx - ax) * (y - ay) - (by - ay) * (x - ax)
            best, along, left = miss, begin + share * length, miss if side >= 0.0 else -miss
        begin += length
    return along, left


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10_000))
def test_projection_equals_that_of_single_segments(seed: int) -> None:
    draw = np.random.default_rng(seed)
    path = np.cumsum(draw.uniform(0.5, 3.0, (6, 2)), axis=0)
    points = draw.uniform(-5.0, 20.0, (20, 2))
    along, left = project(path, points)
    wanted = [project_slowly(path.tolist(), *point) for point in points.tolist()]
    assert along == pytest.approx([each[0] for each in wanted])
    assert left == pytest.approx([each[1] for each in wanted])


def test_paths_go_straight_on() -> None:
    path = extend(np.array([[0.0, 0.0], [0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [4.0, 3.0]]), 5.0, 7.0)
    assert path == pytest.approx(np.array([[-5.0, 0.0], [0.0, 0.0], [1.0, 0.0], [4.0, 0.0], [4.0, 3.0], [4.0, 10.0]]))
    with pytest.raises(BadInput, match="two points that differ"):
        extend(np.zeros((3, 2)), 1.0, 1.0)


def test_runs() -> None:
    assert runs(np.array([True, True, False, True])).tolist() == [[0, 2], [3, 4]]
    assert runs(np.zeros(3, bool)).tolist() == []
    assert runs(np.zeros(0, bool)).tolist() == []


def test_visits_include_the_edge_of_the_corridor() -> None:
    left = np.array([1.6, 1.5, 0.0, -1.5, -1.6, -1.4, -1.6, -1.0])
    assert visits(left) == [(1, 3, True), (5, 5, False), (7, 7, False)]


def test_in_front_and_behind() -> None:
    left = np.array([2.0, 1.0, 0.1, -1.0, -2.0])
    along = np.full(5, 10.0)
    assert passes_of(along, left, np.array([0.0, 3.0, 9.9, 20.0, 30.0])) == 1
    assert passes_of(along, left, np.array([0.0, 3.0, 10.1, 20.0, 30.0])) == 2
    assert passes_of(along, np.array([2.0, 1.0, 0.1, 1.0, 2.0]), np.zeros(5)) == 0
