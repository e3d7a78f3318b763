"""Coefficients of reliability against the worked examples of their publications, and their properties."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from sidestep.errors import BadInput
from sidestep.studies.ratings.reliability import (
    ICC_FORMS,
    cronbach_alpha,
    intraclass_correlations,
    krippendorff_alpha,
    mean_squares,
)

# Shrout and Fleiss 1979, Table 2: six targets, four judges.
SHROUT = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]], dtype=float)
X = np.nan
# Krippendorff 2011, section C: four observers, twelve units.
KRIPPENDORFF = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, X, X, X],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, X, 3],
        [X, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, X],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, X],
    ]
).T


def test_mean_squares_of_shrout_and_fleiss() -> None:
    found = mean_squares(SHROUT)
    assert [found.targets, found.within, found.judges, found.error] == pytest.approx(
        [11.24, 6.26, 32.49, 1.02], abs=0.005
    )


@pytest.mark.parametrize(
    ("form", "value", "low", "high"),
    [
        ("ICC(1,1)", 0.17, -0.133, 0.72),
        ("ICC(2,1)", 0.29, 0.019, 0.76),
        ("ICC(3,1)", 0.71, 0.342, 0.95),
        ("ICC(1,k)", 0.44, -0.884, 0.91),
        ("ICC(2,k)", 0.62, 0.071, 0.93),
        ("ICC(3,k)", 0.91, 0.676, 0.99),
    ],
)
def test_six_forms_of_shrout_and_fleiss(form: str, value: float, low: float, high: float) -> None:
    found = intraclass_correlations(SHROUT)[form]
    assert [found.value, found.high] == pytest.approx([value, high], abs=0.0051)
    assert found.low == pytest.approx(low, abs=0.0006)


def test_targets_with_a_missing_rating_are_left_out() -> None:
    more = np.vstack([SHROUT, [1, X, 1, 1]])
    assert intraclass_correlations(more) == intraclass_correlations(SHROUT)


@pytest.mark.parametrize(
    ("ratings", "reason"),
    [(np.ones((4, 1)), "two raters"), (np.full((3, 2), X), "two targets"), (np.ones((4, 3)), "equal")],
)
def test_no_correlation_without_something_to_correlate(ratings: np.ndarray, reason: str) -> None:
    found = intraclass_correlations(ratings)
    assert set(found) == set(ICC_FORMS)
    assert all(each.value is None and reason in each.reason for each in found.values())


def test_judges_who_agree_entirely() -> None:
    same = np.repeat(np.array([[1.0], [3.0], [4.0]]), 3, axis=1)
    assert all(each.value == pytest.approx(1) for each in intraclass_correlations(same).values())


MATRICES = arrays(np.float64, st.tuples(st.integers(3, 8), st.integers(2, 5)), elements=st.integers(1, 5).map(float))


@settings(deadline=None, max_examples=60)
@given(MATRICES, st.floats(0.5, 3), st.floats(-4, 4))
def test_correlations_ignore_unit_and_origin_and_order_of_raters(x: np.ndarray, unit: float, shift: float) -> None:
    one, other = intraclass_correlations(x), intraclass_correlations(unit * x[:, ::-1] + shift)
    assume(mean_squares(x).error > 1e-9)
    for form in ICC_FORMS:
        if one[form].value is None or other[form].value is None:
            continue
        assert one[form].value == pytest.approx(other[form].value, rel=1e-5, abs=1e-6)


@settings(deadline=None, max_examples=60)
@given(MATRICES)
def test_consistency_ignores_the_generosity_of_raters(x: np.ndarray) -> None:
    assume(mean_squares(x).error > 1e-9)
    generous = x + np.arange(x.shape[1])
    one, other = intraclass_correlations(x)["ICC(3,1)"], intraclass_correlations(generous)["ICC(3,1)"]
    assert one.value == pytest.approx(other.value, abs=1e-6)


@settings(deadline=None, max_examples=60)
@given(MATRICES)
def test_cronbach_is_the_consistency_of_the_mean_of_items(x: np.ndarray) -> None:
    alpha, icc = cronbach_alpha(x), intraclass_correlations(x)["ICC(3,k)"]
    assume(alpha.value is not None and icc.value is not None and mean_squares(x).error > 1e-9)
    assert alpha.value == pytest.approx(icc.value, abs=1e-6)


@pytest.mark.parametrize(
    ("level", "value"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849), ("ratio", 0.797)]
)
def test_alpha_of_krippendorff(level: str, value: float) -> None:
    found = krippendorff_alpha(KRIPPENDORFF, level)  # type: ignore[arg-type]
    assert found.value == pytest.approx(value, abs=0.0005)
    assert found.n == 11
    assert found.low is not None
    assert found.high is not None
    assert found.low < value < found.high


def test_alpha_of_agreement_chance_and_nothing() -> None:
    assert krippendorff_alpha(np.array([[1.0, 1], [2, 2], [5, 5]])).value == pytest.approx(1)
    chance = np.random.default_rng(0).integers(1, 6, (4000, 2)).astype(float)
    assert krippendorff_alpha(chance, resamples=0).value == pytest.approx(0, abs=0.04)
    assert krippendorff_alpha(np.ones((3, 2))).reason == "all ratings are equal"
    assert krippendorff_alpha(np.array([[1.0, X], [X, 2.0]])).reason == "no unit has two ratings"
    with pytest.raises(BadInput, match="negative"):
        krippendorff_alpha(np.array([[-1.0, 1], [2, 2]]), "ratio")


def test_pooled_squares_of_two_blocks_by_hand() -> None:
    """[[1, 2], [3, 6]]: targets 9, judges 4, error 1, one degree of freedom each. [[1, 1, 1], [2, 2, 2]]: targets 1.5.
    Together 10.5 / 2, 4 / 3 and 1 / 3; a target counts (2 + 3) / 2 judges, a judge 2 targets."""
    one, other = np.array([[1.0, 2], [3, 6]]), np.array([[1.0, 1, 1], [2, 2, 2]])
    found = mean_squares(one, other)
    assert [found.targets, found.judges, found.error] == pytest.approx([5.25, 4 / 3, 1 / 3])
    assert (found.n, found.k, found.freedom) == (2, 2.5, (2, 3, 3))
    value = (5.25 - 1 / 3) / (5.25 + 1.5 / 3 + 2.5 * (4 / 3 - 1 / 3) / 2)
    pooled = intraclass_correlations(one, other)["ICC(2,1)"]
    assert (pooled.value, pooled.low, pooled.n, pooled.k) == (pytest.approx(value), None, 4, 3)


def test_a_block_counts_as_itself_whatever_its_level() -> None:
    for form, one in intraclass_correlations(SHROUT).items():
        assert intraclass_correlations(SHROUT, SHROUT + 50)[form].value == pytest.approx(one.value)


def test_raters_who_tell_no_target_from_another_have_no_correlation() -> None:
    lines = np.array([[2.0, 5.0, 3.0]] * 6)
    for each in intraclass_correlations(lines).values():
        assert (each.value, each.reason) == (None, "no rater rated any two targets differently")


def test_alpha_keeps_items_apart() -> None:
    """Two raters who answer 5 to one item and 1 to another in all units. As units of one table they would agree
    perfectly; apart, there is nothing to agree on. Items that both tell alike do not hide those that they do not."""
    lines = np.stack([np.full((6, 2), 5.0), np.full((6, 2), 1.0)], axis=2)
    assert krippendorff_alpha(np.concatenate([lines[:, :, 0], lines[:, :, 1]])).value == pytest.approx(1)
    assert krippendorff_alpha(lines).reason == "all ratings of the same item are equal"
    twice = np.stack([KRIPPENDORFF, KRIPPENDORFF], axis=2)
    assert krippendorff_alpha(twice, resamples=0).value == pytest.approx(0.815, abs=0.0005)
    with_line = np.concatenate([KRIPPENDORFF[:, :, None], np.full((12, 4, 1), 3.0)], axis=2)
    assert krippendorff_alpha(with_line, resamples=0).value == pytest.approx(0.815, abs=0.0005)


@settings(deadline=None, max_examples=40)
@given(MATRICES)
def test_ordinal_alpha_depends_on_ranks_only(x: np.ndarray) -> None:
    one, other = krippendorff_alpha(x, resamples=0), krippendorff_alpha(x**3 + 1, resamples=0)
    assert one.value == pytest.approx(other.value)


def test_cronbach_by_hand_and_its_intervals() -> None:
    answers = np.array([[1, 2], [2, 3], [3, 5], [4, 4.0]])
    variances = 5 / 3 + 5 / 3
    total = np.var([3, 5, 8, 8], ddof=1)
    found = cronbach_alpha(answers)
    assert found.value == pytest.approx(2 * (1 - variances / total))
    assert found.low is not None
    assert found.high is not None
    assert found.low < found.value < found.high
    assert cronbach_alpha(answers[:2]).reason == "fewer than three complete runs"
    assert cronbach_alpha(answers[:, :1]).reason == "fewer than two items"
    assert cronbach_alpha(np.array([[1, 5], [5, 1], [3, 3.0]])).reason == "all runs have the same sum"


def test_cronbach_resamples_participants_who_have_several_runs() -> None:
    """Repeating every run five times adds nothing; Feldt's interval would shrink."""
    rng = np.random.default_rng(3)
    once = rng.normal(0, 1, (20, 1)) + rng.normal(0, 1, (20, 4))
    again = np.repeat(once, 5, axis=0)
    names = [str(k) for k in range(20) for _ in range(5)]
    naive, clustered, honest = cronbach_alpha(again), cronbach_alpha(again, names), cronbach_alpha(once)
    for each in (naive, clustered, honest):
        assert each.low is not None
        assert each.high is not None
    width = {name: each.high - each.low for name, each in zip("nch", (naive, clustered, honest), strict=True)}
    assert width["n"] < 0.6 * width["h"]
    assert width["c"] > 0.7 * width["h"]
