"""The mixed model by hand: balanced designs, the paired t-test, singular fits, and what has no model."""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import product
from math import log, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import ttest_rel

from tests.needs import reason_missing

pytest.importorskip("statsmodels", reason=reason_missing("statsmodels"))

from sidestep.ratings.comparison import RunScores
from sidestep.ratings.mixed_model import NOT_INSTALLED, _fit_odds, fit_mixed_model, mixed_model_document
from tests.ratings.tables import PROTOCOL, answers, constant, table

Score = Callable[[int, int, int], float]


def scores(people: int, policies: int, scenarios: int, score: Score) -> RunScores:
    """One run in every cell of a balanced design."""
    cells = list(product(range(people), range(policies), range(scenarios)))
    names = [[f"{letter}{cell[place]}" for cell in cells] for place, letter in enumerate("pqs")]
    values = np.array([score(*cell) for cell in cells], np.float64)
    return RunScores(values, *names, [""] * len(cells), [1] * len(cells), [""] * len(cells))


def test_two_policies_are_the_paired_t_test() -> None:
    first, second = np.array([2.0, 3.0, 1.5, 4.0, 2.5]), np.array([2.8, 3.5, 2.6, 4.3, 3.8])
    model = fit_mixed_model(scores(5, 2, 1, lambda person, policy, _: (first, second)[policy][person]))
    [effect] = model.effects
    expected = ttest_rel(second, first)
    low, high = expected.confidence_interval()
    assert effect.effect == pytest.approx(0.8)
    assert model.freedom == 4
    assert (effect.low, effect.high) == pytest.approx((low, high), rel=1e-3)
    assert effect.p == pytest.approx(expected.pvalue, rel=1e-2)
    assert model.converged
    assert not model.singular


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_effects_of_a_balanced_design_are_differences_of_means(seed: int) -> None:
    rng = np.random.default_rng(seed)
    base, noise = rng.normal(3.0, 1.0, 6), rng.normal(0.0, 0.3, (6, 3, 2))
    data = scores(6, 3, 2, lambda person, policy, scenario: base[person] + noise[person, policy, scenario] - scenario)
    model = fit_mixed_model(data)
    means = [data.score[[name == f"q{k}" for name in data.policy]].mean() for k in range(3)]
    pairs = [(each.first, each.second) for each in model.effects]
    assert pairs == [("q0", "q1"), ("q0", "q2"), ("q1", "q2")]
    expected = [means[1] - means[0], means[2] - means[0], means[2] - means[1]]
    assert [each.effect for each in model.effects] == pytest.approx(expected, abs=1e-6)
    assert all(each.low < each.effect < each.high for each in model.effects)


def test_a_singular_fit_is_least_squares_and_says_so() -> None:
    """Scores 1, 2, 3 and 4, 3, 2: residuals of one person cancel. s² = 4 / 4, so the error is √(1/3 + 1/3)."""
    model = fit_mixed_model(scores(3, 2, 1, lambda person, policy, _: [1 + person, 4 - person][policy]))
    [effect] = model.effects
    assert model.singular
    assert model.participant_sd == 0
    assert (effect.effect, effect.standard_error) == pytest.approx((1.0, sqrt(2 / 3)))
    assert model.freedom == 2
    assert "singular" in model.notes[0]


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (scores(5, 1, 2, lambda *cell: float(sum(cell))), "two policies"),
        (scores(2, 2, 2, lambda *cell: float(sum(cell) % 3)), "participants"),
        (scores(4, 2, 2, lambda *cell: float(sum(cell))), "exactly"),
    ],
)
def test_no_model_has_a_reason(data: RunScores, reason: str) -> None:
    model = fit_mixed_model(data)
    assert not model.effects
    assert reason in model.reason


def test_policies_in_scenarios_of_their_own_cannot_be_told_apart() -> None:
    data = scores(4, 2, 1, lambda person, policy, _: float(person * policy % 3))
    apart = RunScores(data.score, data.participant, data.policy, data.policy, data.location, data.set, data.episode)
    assert "told apart" in fit_mixed_model(apart).reason


def test_people_who_rated_one_policy_each() -> None:
    data = scores(4, 2, 2, lambda person, policy, scenario: float((person + 2 * policy * scenario) % 5))
    people = [f"{person}{policy}" for person, policy in zip(data.participant, data.policy, strict=True)]
    apart = RunScores(data.score, people, data.policy, data.scenario, data.location, data.set, data.episode)
    assert fit_mixed_model(apart).reason == "no participant rated several policies"


VARIED = scores(6, 2, 1, lambda person, policy, _: person + policy + 0.1 * (person * policy % 3))


def test_without_statsmodels_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "statsmodels.regression.mixed_linear_model", None)
    model = fit_mixed_model(VARIED)
    assert model.reason == NOT_INSTALLED
    assert "sidestep[web]" in model.reason


def test_a_fit_that_does_not_converge_has_no_effects(monkeypatch: pytest.MonkeyPatch) -> None:
    from statsmodels.regression import mixed_linear_model

    fit = mixed_linear_model.MixedLM.fit

    def stopped(*args: Any, **options: Any) -> Any:
        found = fit(*args, **options)
        found.converged = False
        return found

    assert fit_mixed_model(VARIED).converged
    monkeypatch.setattr(mixed_linear_model.MixedLM, "fit", stopped)
    model = fit_mixed_model(VARIED)
    assert (model.converged, model.effects) == (False, ())
    assert "did not converge" in model.reason


def test_odds_of_a_two_by_two_table() -> None:
    """Of 30 ratings of the first policy 10 are high, of 30 of the second 20: log odds ratio log 4."""
    value = np.repeat([4.0, 5.0, 4.0, 5.0], [20, 10, 10, 20])
    design = np.repeat([0.0, 1.0], 30)[:, None]
    parameters, covariance, reason = _fit_odds(value, design)
    assert reason == ""
    assert parameters[0] == pytest.approx(log(4), abs=1e-3)
    assert covariance[0, 0] == pytest.approx(1 / 20 + 1 / 10 + 1 / 10 + 1 / 20, rel=1e-2)


def test_the_ordinal_check_agrees_where_the_difference_is_clear() -> None:
    rng = np.random.default_rng(0)
    runs = [
        answers(rng.integers(1 + policy, 5 + policy, 4).tolist(), "intersection_wait", participant=f"p{person}",
                policy=f"q{policy}", run=run)
        for person, policy, run in product(range(6), range(2), (1, 2, 3))
    ]  # fmt: skip
    document = mixed_model_document(table(*runs), PROTOCOL)
    assert document["linear"]["effects"][0]["low"] > 0.5
    assert document["ordinal"]["effects"][0]["low"] > 0.5
    assert document["ordinal"]["agrees"]


def test_ratings_that_do_not_overlap_have_no_odds() -> None:
    runs = [
        constant(2 + 2 * policy + person % 2, participant=f"p{person}", policy=f"q{policy}", run=run)
        for person, policy, run in product(range(4), range(2), (1, 2))
    ]
    runs.append(constant(1, participant="p0", policy="q0", run=3))
    ordinal = mixed_model_document(table(*runs), PROTOCOL)["ordinal"]
    assert ordinal["effects"] == ()
    assert ordinal["reason"]
