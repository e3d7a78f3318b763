"""How many runs are needed: by hand, and from data whose spread is known."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.studies.ratings.comparison import RunScores, run_scores
from sidestep.studies.ratings.precision import half_width, precision_document, runs_needed, spread_of
from tests.studies.ratings.tables import PROTOCOL, constant, table


def made(values: np.ndarray) -> RunScores:
    """Scores (participants, runs) of one condition."""
    people, runs = values.shape
    n = people * runs
    names = [f"p{person}" for person in range(people) for _ in range(runs)]
    return RunScores(values.ravel(), names, ["a"] * n, ["s"] * n, ["l"] * n, [1] * n, [""] * n)


def test_half_width_by_hand() -> None:
    assert half_width(1.0, 30) == pytest.approx(2.0452296 / np.sqrt(30))
    assert half_width(2.0, 2) == pytest.approx(2 * 12.7062047 / np.sqrt(2))


def test_the_smallest_batch_reaches_the_target_and_one_less_does_not() -> None:
    for within in (0.3, 0.66, 1.4):
        for target in (0.5, 0.25, 0.1):
            n = runs_needed(within, target)
            assert n is not None
            assert half_width(within, n) <= target
            assert n == 2 or half_width(within, n - 1) > target
    assert runs_needed(100.0, 0.01) is None


def test_thirty_runs_of_the_printed_deviation_reach_half_a_level() -> None:
    """The publication calls 30 runs enough; its standard deviations in the frontal scenario are 1.0 to 1.7."""
    assert half_width(1.3, 30) < 0.5
    assert half_width(1.3, 10) > 0.5


def test_spread_by_hand() -> None:
    found = spread_of(made(np.array([[1.0, 3.0], [5.0, 7.0]])))
    assert found.within == pytest.approx(np.sqrt(2))
    assert found.between == pytest.approx(np.sqrt(8 - 2 / 2))  # variance of the means 2 and 6, less s² / 2
    assert (found.cells, found.runs, found.participants) == (2, 4, 2)


def test_components_of_known_data_are_found_again() -> None:
    rng = np.random.default_rng(5)
    values = 3 + rng.normal(0, 0.5, (400, 1)) + rng.normal(0, 0.8, (400, 6))
    found = spread_of(made(values))
    assert found.within == pytest.approx(0.8, rel=0.05)
    assert found.between == pytest.approx(0.5, rel=0.1)


def test_document_with_and_without_repeated_runs() -> None:
    single = precision_document(table(constant(3)), PROTOCOL)
    assert "no cell has two runs" in single["reason"]
    assert single["batches"] == []
    repeated = precision_document(table(constant(3), constant(4, run=2), constant(5, run=3)), PROTOCOL)
    assert repeated["spread"]["within"] == pytest.approx(1)
    assert repeated["spread"]["between"] is None
    assert [each["runs"] for each in repeated["batches"]][5] == 30
    assert len(run_scores(table(constant(3)), PROTOCOL)) == 1
