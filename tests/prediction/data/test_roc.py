"""ROC curves and In-ROI Sensitivity: cases by hand, ties, missing kinds, weights."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.prediction.roc import NO_NEGATIVES, NO_POSITIVES, Ranking, irs_fpr
from sidestep.types.base import FloatArray


def ranking(p: list[float], truth: list[int], track: list[int] | None = None) -> Ranking:
    tracks = np.arange(len(p)) if track is None else np.array(track)
    return Ranking(np.array(p, float), np.array(truth, bool), tracks, int(tracks.max(initial=-1)) + 1)


def plain_sensitivity(p: list[float], truth: list[int], weight: list[int], fpr: float) -> float:
    """By walking down the thresholds, one tied group after the other."""
    positives = sum(w for t, w in zip(truth, weight, strict=True) if t)
    negatives = sum(w for t, w in zip(truth, weight, strict=True) if not t)
    if not positives or not negatives:
        return float("nan")
    hit, false = 0.0, 0.0
    for value in sorted(set(p), reverse=True):
        rows = [k for k in range(len(p)) if p[k] == value]
        more_hit = sum(weight[k] for k in rows if truth[k])
        more_false = sum(weight[k] for k in rows if not truth[k])
        if false + more_false > fpr * negatives + 1e-9:
            return (hit + more_hit * (fpr * negatives - false) / more_false) / positives
        hit, false = hit + more_hit, false + more_false
    return 1.0


def test_by_hand_without_ties() -> None:
    """Ten negatives; one may be wrong at 10 %: the threshold is below 0.8, and 3 of 4 positives are above 0.5."""
    p = [0.95, 0.9, 0.8, 0.7, 0.5, 0.4, 0.3, 0.2, 0.1, 0.09, 0.08, 0.07, 0.06, 0.05]
    truth = [1, 1, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0]
    found = ranking(p, truth).at(0.10)
    assert (found.value, found.positives, found.negatives, found.threshold) == (0.75, 4, 10, 0.5)
    assert ranking(p, truth).at(0.05).value == 0.5  # no negative may be wrong
    assert ranking(p, truth).at(0.20).value == 1.0


def test_ties_at_the_threshold_are_shared_out() -> None:
    """Two positives and two negatives are tied; of 4 negatives one may be wrong: half of the tied are called."""
    p, truth = [0.9, 0.5, 0.5, 0.5, 0.5, 0.1, 0.1], [1, 1, 1, 0, 0, 0, 0]
    assert ranking(p, truth).at(0.25).value == pytest.approx((1 + 0.5 * 2) / 3)
    assert ranking(p, truth).at(0.0).value == pytest.approx(1 / 3)
    assert ranking(p, truth).at(0.5).value == pytest.approx(1.0)


def test_a_predictor_without_opinion_has_the_sensitivity_of_chance() -> None:
    assert ranking([0.3] * 10, [1] * 3 + [0] * 7).at(0.15).value == pytest.approx(0.15)


def test_ties_do_not_depend_on_the_order() -> None:
    p, truth = [0.5] * 6 + [0.9, 0.1], [1, 0, 1, 0, 1, 0, 0, 1]
    values = {ranking(p, truth).at(0.4).value}
    for seed in range(5):
        order = np.random.default_rng(seed).permutation(8)
        values.add(ranking([p[k] for k in order], [truth[k] for k in order]).at(0.4).value)
    assert len(values) == 1


def test_probabilities_that_differ_by_rounding_are_tied() -> None:
    assert ranking([0.5 + 1e-13, 0.5], [0, 1]).at(0.5).value == pytest.approx(0.5)


def test_no_positives_and_no_negatives_have_no_value_but_a_reason() -> None:
    none = ranking([0.1, 0.2], [0, 0]).at(0.1)
    assert np.isnan(none.value)
    assert none.reason == NO_POSITIVES
    only = ranking([0.1, 0.2], [1, 1]).at(0.1)
    assert np.isnan(only.value)
    assert only.reason == NO_NEGATIVES
    empty = ranking([], []).at(0.1)
    assert np.isnan(empty.value)
    assert empty.reason == NO_POSITIVES


def test_weights_without_a_kind_have_no_value() -> None:
    found = ranking([0.9, 0.1], [1, 0]).sensitivity(np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]]), np.array([0.1]))
    assert np.isnan(found[:2]).all()
    assert found[2, 0] == 1.0


def test_curve_by_hand() -> None:
    false, true = ranking([0.9, 0.5, 0.5, 0.1], [1, 1, 0, 0]).curve()
    assert false.tolist() == [0.0, 0.0, 0.5, 1.0]
    assert true.tolist() == [0.0, 0.5, 1.0, 1.0]


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_any_weights_equal_the_plain_walk(data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 60))
    p = [k / 8 for k in data.draw(st.lists(st.integers(0, 8), min_size=n, max_size=n))]
    truth = data.draw(st.lists(st.integers(0, 1), min_size=n, max_size=n))
    track = data.draw(st.lists(st.integers(0, 6), min_size=n, max_size=n))
    counts = data.draw(st.lists(st.integers(0, 3), min_size=7, max_size=7))
    fpr = data.draw(st.sampled_from([0.0, 0.025, 0.05, 0.1, 0.15, 0.5, 1.0]))
    made = Ranking(np.array(p), np.array(truth, bool), np.array(track), 7)
    found = made.sensitivity(np.array([counts], float), np.array([fpr]))[0, 0]
    expected = plain_sensitivity(p, truth, [counts[k] for k in track], fpr)
    assert found == pytest.approx(expected, nan_ok=True)


def test_many_moments_equal_the_plain_walk() -> None:
    rng = np.random.default_rng(2)
    p = np.round(rng.beta(0.5, 0.5, 3000), 4)
    truth, track = rng.random(3000) < p, rng.integers(0, 40, 3000)
    counts = rng.multinomial(40, np.full(40, 1 / 40), 5).astype(float)
    made: FloatArray = Ranking(p, truth, track, 40).sensitivity(counts, irs_fpr(np.arange(1.0, 5.0)))
    for b in range(5):
        weight = counts[b][track].astype(int).tolist()
        for f, fpr in enumerate((0.025, 0.05, 0.1, 0.15)):
            assert made[b, f] == pytest.approx(plain_sensitivity(p.tolist(), truth.tolist(), weight, fpr))


def test_rates_between_the_horizons_of_the_paper() -> None:
    assert irs_fpr(np.array([1.0, 1.5, 4.0])) == pytest.approx([0.025, 0.0375, 0.15])
