"""Effects of policies by hand, and the error of everything that the report shows in studies without a difference."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import NamedTuple

import numpy as np
import pytest
from scipy.stats import ttest_rel

from sidestep.studies.ratings import analyse
from sidestep.studies.ratings.comparison import RunScores, compare_policies, friedman
from sidestep.studies.ratings.mixed_model import fit_mixed_model, mixed_model_document
from tests.studies.ratings.null_study import Shape, draw_ratings, draw_scores
from tests.studies.ratings.tables import PROTOCOL, answers, constant, table

Score = Callable[[int, int, int], float]


def scores(people: int, policies: int, scenarios: int, score: Score) -> RunScores:
    """One run in every cell of a balanced design."""
    cells = list(product(range(people), range(policies), range(scenarios)))
    names = [[f"{letter}{cell[place]}" for cell in cells] for place, letter in enumerate("pqs")]
    values = np.array([score(*cell) for cell in cells], np.float64)
    return RunScores(values, *names, [""] * len(cells), [1] * len(cells), [""] * len(cells))


def test_two_policies_are_the_paired_t_test() -> None:
    first, second = np.array([2.0, 3.0, 1.5, 4.0, 2.5]), np.array([2.8, 3.5, 2.6, 4.3, 3.8])
    [effect] = fit_mixed_model(scores(5, 2, 1, lambda person, policy, _: (first, second)[policy][person])).effects
    expected = ttest_rel(second, first)
    low, high = expected.confidence_interval()
    assert effect.effect == pytest.approx(0.8)
    assert effect.participants == 5
    assert (effect.low, effect.high) == pytest.approx((low, high))
    assert effect.p == pytest.approx(expected.pvalue)


def test_runs_of_one_participant_are_no_news_about_others() -> None:
    """Repeating every run twenty times changes nothing."""
    once = scores(4, 2, 2, lambda person, policy, scenario: 2.0 + person * policy + 0.1 * scenario * person)
    columns = ([name for name in column for _ in range(20)] for column in (once.participant, once.policy))
    places = [list(np.repeat(column, 20)) for column in (once.scenario, once.location, once.set, once.episode)]
    again = RunScores(np.repeat(once.score, 20), *columns, *places)
    [[one], [other]] = fit_mixed_model(once).effects, fit_mixed_model(again).effects
    assert [other.effect, other.low, other.high, other.p] == pytest.approx([one.effect, one.low, one.high, one.p])
    assert fit_mixed_model(again).n == 20 * fit_mixed_model(once).n


def test_three_policies_by_hand_with_one_participant_who_left() -> None:
    """Differences q1 - q0 of four people are 0, 1, 1, 2; p3 has no q2, so that the other pairs have three."""
    values = [[2.0, 2.0, 3.0], [2.0, 3.0, 3.0], [2.0, 3.0, 4.0], [2.0, 4.0, np.nan]]
    data = scores(4, 3, 1, lambda person, policy, _: values[person][policy])
    kept = np.flatnonzero(~np.isnan(data.score))
    left = RunScores(data.score[kept], *([column[k] for k in kept] for column in list(vars(data).values())[1:]))
    effects = fit_mixed_model(left).effects
    assert [(each.first, each.second, each.participants) for each in effects] == [
        ("q0", "q1", 4), ("q0", "q2", 3), ("q1", "q2", 3),
    ]  # fmt: skip
    assert [each.effect for each in effects] == pytest.approx([1, 4 / 3, 2 / 3])
    assert effects[0].standard_error == pytest.approx(np.sqrt((2 / 3) / 4))
    p = sorted(each.p or 0 for each in effects)
    assert min(each.p_corrected or 0 for each in effects) == pytest.approx(3 * p[0])


def test_equal_differences_have_no_p() -> None:
    model = fit_mixed_model(scores(4, 2, 1, lambda person, policy, _: float(person + policy)))
    assert (model.effects[0].effect, model.effects[0].p) == (1, None)
    assert fit_mixed_model(scores(4, 2, 1, lambda person, policy, _: float(person))).effects[0].p == 1


def test_no_effects_have_a_reason() -> None:
    def value(person: int, policy: int, scenario: int) -> float:
        return float((person + 2 * policy * scenario) % 5)

    assert fit_mixed_model(scores(5, 1, 2, value)).reason == "fewer than two policies"
    assert fit_mixed_model(scores(2, 2, 2, value)).reason == "fewer than 3 participants"
    data = scores(4, 2, 2, value)
    people = [f"{person}{policy}" for person, policy in zip(data.participant, data.policy, strict=True)]
    apart = RunScores(data.score, people, data.policy, data.scenario, data.location, data.set, data.episode)
    assert fit_mixed_model(apart).reason == "no participant rated several policies"
    apart = RunScores(data.score, data.participant, data.policy, data.policy, data.location, data.set, data.episode)
    assert "in the same scenario" in fit_mixed_model(apart).reason


def test_the_ordinal_check_by_hand() -> None:
    """Of the five reverse-coded answers the second policy wins all (A), one of five with four ties (B), none (C)."""
    runs = [
        constant(2, participant="A", policy="x"), constant(4, participant="A", policy="y"),
        answers([3, 3, 3, 3, 3], participant="B", policy="x"), answers([5, 3, 3, 3, 3], participant="B", policy="y"),
        constant(3, participant="C", policy="x"), constant(3, participant="C", policy="y"),
    ]  # fmt: skip
    document = mixed_model_document(table(*runs), PROTOCOL)
    [effect] = document["ordinal"]["effects"]
    assert effect["effect"] == pytest.approx((1 + 0.2 + 0) / 3)
    assert effect["high"] == 1
    assert document["ordinal"]["agrees"]
    few = mixed_model_document(table(*runs[:4]), PROTOCOL)["ordinal"]
    assert (few["effects"], few["reason"]) == ((), "there is no effect to check")


def test_the_ordinal_check_depends_on_the_order_of_levels_only() -> None:
    """A difference that rests on one extreme answer: the means rise, most answers fall."""
    runs = []
    for who in "ABCD":
        runs += [answers([1, 3, 2, 3, 2], participant=who, policy="x")]
        runs += [answers([5, 4, 1, 4, 2], participant=who, policy="y")]
    document = mixed_model_document(table(*runs), PROTOCOL)
    assert document["linear"]["effects"][0]["effect"] > 0
    assert document["ordinal"]["effects"][0]["effect"] == pytest.approx(-0.4)
    assert not document["ordinal"]["agrees"]


class Errors(NamedTuple):
    """Shares of studies without a difference in which one is found at 5 %."""

    test: float
    """Of the first pair, by the test that decides."""
    interval: float
    """Whose interval excludes 0."""
    model: float
    last: float
    """Of the last pair, by the test that decides."""
    family: float
    """Of any pair, after Holm's correction."""


def errors(shape: Shape, studies: int, seed: int = 7) -> Errors:
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(studies):
        drawn = draw_scores(shape, rng)
        pairs, effects = compare_policies(drawn), fit_mixed_model(drawn).effects
        apart = min(each.p_corrected or 0 for each in pairs) < 0.05
        excluded = not (pairs[0].low or 0) <= 0 <= (pairs[0].high or 0)
        p = [each.p or 0 for each in (pairs[0], effects[0], pairs[-1])]
        found.append([p[0] < 0.05, excluded, p[1] < 0.05, p[2] < 0.05, apart])
    return Errors(*np.mean(found, axis=0).tolist())


@pytest.mark.parametrize("shape", [Shape(12), Shape(15, 3, liking=0.8)], ids=lambda shape: shape.name)
def test_equal_policies_seldom_differ(shape: Shape) -> None:
    """A model without random slopes finds a difference in a quarter to a third of these studies."""
    assert max(errors(shape, 300)) <= 0.085


SHAPES = [
    *(Shape(people, policies, liking=liking) for people, policies, liking in product((10, 20, 30), (2, 3), (0.0, 0.5))),
    Shape(10, scenarios=1, runs=1, liking=0.3),
    Shape(10, lenience=1.2, liking=1.0),
    Shape(12, ordinal=False),
    Shape(12, 3, uneven=True),
    Shape(12, 3, missing=0.15),
    Shape(16, scenarios=5, runs=1),
]


@pytest.mark.full
@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_type_one_error_of_everything_that_a_report_shows(shape: Shape) -> None:
    """2,000 studies: a test of exactly 5 % is beyond 7 % with a chance of 1 in 50,000."""
    assert max(errors(shape, 2000)) <= 0.07


@pytest.mark.full
def test_type_one_error_of_friedman_and_of_the_ordinal_check() -> None:
    rng, studies = np.random.default_rng(5), 600
    ranks = [friedman(draw_scores(Shape(12, 3), rng)) for _ in range(studies)]
    assert np.mean([found["p"] < 0.05 for found in ranks if found]) <= 0.07
    checks = [mixed_model_document(draw_ratings(Shape(12), rng), PROTOCOL)["ordinal"] for _ in range(studies)]
    assert np.mean([each["effects"][0]["p"] < 0.05 for each in checks]) <= 0.07


def test_a_difference_that_people_agree_on_is_found() -> None:
    """Half a level among 20 people whose likings vary by as much: d_z is 0.64, and the power of the t-test 0.78."""
    rng = np.random.default_rng(3)
    pairs = [compare_policies(draw_scores(Shape(20, effect=0.5), rng))[0] for _ in range(200)]
    found = [pair.p is not None and pair.p < 0.05 and pair.difference > 0 for pair in pairs]
    assert 0.6 < np.mean(found) < 0.9
    d_z = np.mean([pair.cohen_d or 0 for pair in pairs])
    assert d_z == pytest.approx(0.64, abs=0.12)


def test_the_report_shows_what_is_tested_here() -> None:
    ratings = draw_ratings(Shape(8, 3), np.random.default_rng(2))
    document = analyse(ratings)
    from sidestep.studies.ratings.comparison import run_scores

    drawn = run_scores(ratings, PROTOCOL)
    shown = document["comparison"]["all"]["pairs"]
    assert [each["p"] for each in shown] == [each.p for each in compare_policies(drawn)]
    effects = document["mixed_model"]["linear"]["effects"]
    assert [each["p"] for each in effects] == [each.p for each in fit_mixed_model(drawn).effects]
    assert document["mixed_model"]["linear"]["why"]


def test_single_scenarios_are_corrected_over_all_of_them() -> None:
    """Two scenarios and three policies: six p-values."""
    document = analyse(draw_ratings(Shape(8, 3), np.random.default_rng(2)))["comparison"]
    pairs = [pair for name, found in document.items() if name != "all" for pair in found["pairs"]]
    assert len(pairs) == 6
    smallest = min(pairs, key=lambda pair: pair["p"])
    assert smallest["p_corrected"] == pytest.approx(min(1.0, 6 * smallest["p"]))
