"""Coefficients of reliability against two packages that compute them, where these are installed.

Both know one complete table of ratings at a time. What they do not have is tested in ``test_reliability``: pooling over
scenarios, items that are kept apart, and participants that are resampled.
"""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.studies.ratings.reliability import ICC_FORMS, cronbach_alpha, intraclass_correlations, krippendorff_alpha

TABLES = [
    np.random.default_rng(seed).integers(1, 6, shape).astype(float) + np.arange(shape[0])[:, None] % 3
    for seed, shape in enumerate([(6, 4), (12, 3), (30, 2), (9, 7)])
]


@pytest.mark.parametrize("ratings", TABLES, ids=lambda each: "x".join(map(str, each.shape)))
def test_intraclass_correlations_are_those_of_pingouin(ratings: np.ndarray) -> None:
    pingouin = pytest.importorskip("pingouin", reason="pingouin is not installed: pip install pingouin")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    rows = [(target, rater, value) for (target, rater), value in np.ndenumerate(ratings)]
    table = pandas.DataFrame(rows, columns=["target", "rater", "rating"])
    found = pingouin.intraclass_corr(table, targets="target", raters="rater", ratings="rating")
    for form, coefficient, interval in zip(ICC_FORMS, found["ICC"], found["CI95"], strict=True):
        own = intraclass_correlations(ratings)[form]
        assert own.value == pytest.approx(coefficient, abs=1e-9)
        assert [own.low, own.high] == pytest.approx(list(interval), abs=0.0051)  # rounded there


@pytest.mark.parametrize("ratings", TABLES, ids=lambda each: "x".join(map(str, each.shape)))
def test_cronbach_and_the_interval_of_feldt_are_those_of_pingouin(ratings: np.ndarray) -> None:
    pingouin = pytest.importorskip("pingouin", reason="pingouin is not installed: pip install pingouin")
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    value, interval = pingouin.cronbach_alpha(data=pandas.DataFrame(ratings))
    own = cronbach_alpha(ratings)
    assert own.value == pytest.approx(value, abs=1e-9)
    assert [own.low, own.high] == pytest.approx(list(interval), abs=0.00051)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval", "ratio"])
@pytest.mark.parametrize("ratings", TABLES, ids=lambda each: "x".join(map(str, each.shape)))
def test_alpha_with_missing_ratings_is_that_of_krippendorff(ratings: np.ndarray, level: str) -> None:
    krippendorff = pytest.importorskip("krippendorff", reason="krippendorff is not installed: pip install krippendorff")
    missing = np.random.default_rng(7).random(ratings.shape) < 0.2
    ratings = np.where(missing, np.nan, ratings)
    expected = krippendorff.alpha(reliability_data=ratings.T, level_of_measurement=level)
    own = krippendorff_alpha(ratings, level, resamples=0)  # type: ignore[arg-type]
    assert own.value == pytest.approx(expected, abs=1e-9)
