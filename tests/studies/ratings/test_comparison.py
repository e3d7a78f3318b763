"""Comparison of policies, and agreement between participants and sets: by hand, and SciPy as a second opinion."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import friedmanchisquare, mannwhitneyu, rankdata

from sidestep.studies.ratings.agreement import (
    inter_rater,
    internal_consistency,
    rating_matrix,
    reliability_document,
    retest_over_sets,
)
from sidestep.studies.ratings.comparison import (
    RunScores,
    cliffs_delta,
    compare_policies,
    comparison_document,
    friedman,
    friedman_statistic,
    policy_means,
    rank_biserial,
    run_scores,
    unrated_runs,
)
from sidestep.studies.ratings.reliability import krippendorff_alpha
from tests.studies.ratings.tables import PROTOCOL, answers, constant, table


def study(scores: dict[str, dict[str, list[int]]]) -> list[list[dict[str, object]]]:
    """Runs from participant → policy → score of every run."""
    return [
        constant(score, participant=who, policy=policy, run=k + 1)
        for who, policies in scores.items()
        for policy, found in policies.items()
        for k, score in enumerate(found)
    ]


def test_score_of_a_run_is_its_reverse_coded_mean_without_cannot_tell() -> None:
    scores = run_scores(table(answers([1, 2, 3, 0, 5]), answers([0] * 5, run=2), constant(4, run=3)), PROTOCOL)
    assert scores.score.tolist() == [(1 + 4 + 3 + 5) / 4, 4]


def test_runs_without_an_opinion_are_counted_by_policy() -> None:
    ratings = table(answers([0] * 5), constant(4, run=2), answers([0, 0, 0, 0, 1], policy="mpc"))
    assert unrated_runs(ratings, PROTOCOL) == {"orca": 1, "mpc": 0}


def test_paired_participants_by_hand() -> None:
    """Differences 1, 2, 3, 1, 2, 2: all positive, so p = 2 / 2⁶ and the effect is 1. Many runs of one count once."""
    people = {
        "A": {"orca": [2], "mpc": [3]},
        "B": {"orca": [1], "mpc": [3]},
        "C": {"orca": [1], "mpc": [4]},
        "D": {"orca": [3, 3, 3, 3], "mpc": [4, 4, 4, 4]},
        "E": {"orca": [1], "mpc": [3]},
        "F": {"orca": [2], "mpc": [4]},
    }
    [pair] = compare_policies(run_scores(table(*study(people)), PROTOCOL))
    assert (pair.first, pair.second, pair.design, pair.n) == ("orca", "mpc", "paired", 6)
    assert pair.difference == pytest.approx(11 / 6)
    assert pair.p == pytest.approx(2 / 64)
    assert pair.p_corrected == pair.p
    assert pair.effect == 1
    differences = np.array([1, 2, 3, 1, 2, 2])
    assert pair.cohen_d == pytest.approx(differences.mean() / differences.std(ddof=1))
    half = 2.5705818 * differences.std(ddof=1) / np.sqrt(6)  # Student's t with five degrees of freedom
    assert [pair.low, pair.high] == pytest.approx([11 / 6 - half, 11 / 6 + half])


def test_scenarios_that_only_one_policy_has_do_not_count() -> None:
    runs = study({"A": {"orca": [2], "mpc": [3]}, "B": {"orca": [2], "mpc": [3]}})
    runs.append(answers([5, 5, 5, 5], scenario="intersection_wait", policy="mpc"))
    [pair] = compare_policies(run_scores(table(*runs), PROTOCOL))
    assert pair.difference == 1
    assert "no p-value below 0.5" in pair.note


def test_one_participant_is_compared_run_by_run_and_that_is_said() -> None:
    people = {"A": {"mpc": [1, 2, 2, 3], "bc": [4, 4, 5, 3]}}
    [pair] = compare_policies(run_scores(table(*study(people)), PROTOCOL))
    assert pair.design == "independent"
    assert pair.difference == 2
    assert pair.effect == pytest.approx(15 / 16)  # of 16 pairs, 15 are greater and one is equal
    assert "one participant" in pair.note
    assert pair.p is not None
    assert pair.p < 0.06


def test_equal_policies() -> None:
    people = {who: {"a": [3], "b": [3]} for who in "ABC"}
    [pair] = compare_policies(run_scores(table(*study(people)), PROTOCOL))
    assert (pair.p, pair.effect, pair.cohen_d, pair.difference) == (1.0, None, None, 0)


def test_repeating_runs_of_few_people_does_not_narrow_the_interval() -> None:
    few = {"A": {"a": [1]}, "B": {"a": [3]}, "C": {"a": [5]}}
    many = {who: {"a": found["a"] * 20} for who, found in few.items()}
    one = policy_means(run_scores(table(*study(few)), PROTOCOL))[0]
    other = policy_means(run_scores(table(*study(many)), PROTOCOL))[0]
    assert one.low is not None
    assert one.high is not None
    assert other.low is not None
    assert other.high is not None
    assert other.high - other.low >= one.high - one.low
    assert (other.runs, other.participants) == (60, 3)


def test_many_runs_of_few_people_do_not_make_equal_policies_differ() -> None:
    """Twelve people with tastes of their own rate two equal policies twenty times each: about one study in twenty may
    find a difference. Runs taken as independent would find one in most."""
    rng = np.random.default_rng(8)
    people, runs, studies, found, naive = 12, 20, 120, 0, 0
    names = [f"p{person}" for person in range(people) for _ in range(2 * runs)]
    policies = [policy for _ in range(people) for policy in ("a", "b") for _ in range(runs)]
    n = len(names)
    for _ in range(studies):
        taste = rng.normal(0, 0.5, (people, 2, 1))
        score = (3 + taste + rng.normal(0, 0.5, (people, 2, runs))).ravel()
        scores = RunScores(score, names, policies, ["s"] * n, ["l"] * n, [1] * n, [""] * n)
        [pair] = compare_policies(scores)
        assert pair.p is not None
        found += pair.p < 0.05
        first = np.array(policies) == "a"
        naive += mannwhitneyu(score[first], score[~first]).pvalue < 0.05
    assert found / studies < 0.1
    assert naive / studies > 0.3


def test_effect_sizes_by_hand() -> None:
    assert rank_biserial(np.array([3.0, -1, 0, 2])) == pytest.approx((3 + 2 - 1) / 6)
    assert rank_biserial(np.zeros(3)) is None
    assert cliffs_delta(np.array([1.0, 2]), np.array([2.0, 3])) == 0.75
    assert cliffs_delta(np.zeros(0), np.ones(2)) is None


@settings(deadline=None, max_examples=60)
@given(arrays(np.float64, st.tuples(st.integers(2, 8), st.integers(3, 5)), elements=st.integers(1, 5).map(float)))
def test_friedman_is_that_of_scipy(means: np.ndarray) -> None:
    found = friedman_statistic(np.asarray(rankdata(means, axis=1)))
    if found is None:
        assert (np.ptp(means, axis=1) == 0).all()
    else:
        assert found == pytest.approx(friedmanchisquare(*means.T).statistic)


def test_friedman_over_participants_who_rated_everything() -> None:
    people = {who: {"a": [1], "b": [2], "c": [4]} for who in "ABCDE"} | {"F": {"a": [5]}}
    found = friedman(run_scores(table(*study(people)), PROTOCOL))
    assert found is not None
    assert (found["n"], found["statistic"], found["kendall_w"]) == (5, 10, 1)
    assert found["p"] == pytest.approx(1 / 6**4, abs=0.001)  # all five orders alike
    assert friedman(run_scores(table(*study({"A": {"a": [1], "b": [2]}})), PROTOCOL)) is None


def test_every_scenario_is_compared_too() -> None:
    runs = [*study({"A": {"a": [1], "b": [2]}}), answers([1] * 4, scenario="blind_corner", policy="a")]
    assert list(comparison_document(table(*runs), PROTOCOL)) == ["all", "frontal", "blind_corner"]


def test_matrix_of_participants_averages_their_runs() -> None:
    runs = study({"A": {"orca": [2, 4]}, "B": {"orca": [5]}})
    matrix, targets, raters = rating_matrix(table(*runs), PROTOCOL, ("policy", "item"), "participant")
    assert (raters, len(targets)) == (["A", "B"], 5)
    assert matrix.tolist() == [[3, 5]] * 5


def test_films_that_several_participants_rated_are_the_targets() -> None:
    runs = [
        constant(score, participant=who, episode=film, run=k)
        for who in "AB"
        for k, (film, score) in enumerate((("x" * 12, 1), ("y" * 12, 5), ("z" * 12, 3)), 1)
    ]
    found = inter_rater(table(*runs), PROTOCOL)
    assert found["targets"] == "episode"
    by_name = {each["name"]: each["value"] for each in found["by_scenario"]["all"]}
    assert by_name["ICC(2,1)"] == pytest.approx(1)
    assert by_name["Krippendorff's alpha (ordinal)"] == pytest.approx(1)
    alone = inter_rater(table(*study({"A": {"a": [1], "b": [2]}})), PROTOCOL)
    assert alone["targets"] == "run"
    assert alone["by_scenario"]["all"][0]["reason"] == "fewer than two raters"


def test_internal_consistency_uses_reverse_coded_items() -> None:
    runs = [constant(score, run=k + 1) for k, score in enumerate((1, 2, 3, 5))]
    [found] = internal_consistency(table(*runs), PROTOCOL)
    assert (found["scenario"], found["n"], found["k"]) == ("frontal", 4, 5)
    assert found["value"] == pytest.approx(1)


def test_retest_by_hand() -> None:
    """Two sets: the run's reverse-coded mean rises from 2.4 to 2.6. One target cannot be told from another."""
    low, high = [1, 2, 3, 4, 2], [2, 3, 4, 5, 3]
    found = retest_over_sets(table(answers(low), answers(high, set=2)), PROTOCOL)
    assert found is not None
    assert found.sets == [1, 2]
    coded = [1, 4, 3, 2, 2], [2, 3, 4, 1, 3]  # items 2 and 4 are reversed: there the second set is lower
    assert found.means == pytest.approx([np.mean(coded[0]), np.mean(coded[1])])
    assert found.measurement_error == pytest.approx(0.2 / np.sqrt(2))
    assert found.detectable_change == pytest.approx(1.96 * 0.2)
    assert (found.agreement.value, found.agreement.reason) == (None, "fewer than two targets that every rater rated")
    assert retest_over_sets(table(answers(low)), PROTOCOL) is None
    assert reliability_document(table(answers(low)), PROTOCOL)["test_retest"] is None


def test_retest_compares_each_participant_with_themselves() -> None:
    """One goes up a level, the other down: the means of sets are equal, but nobody repeats their ratings."""
    runs = [
        constant(score, participant=who, set=k)
        for who, k, score in (("A", 1, 2), ("A", 2, 3), ("B", 1, 4), ("B", 2, 3))
    ]
    found = retest_over_sets(table(*runs), PROTOCOL)
    assert found is not None
    assert found.means == [3, 3]
    assert found.agreement.n == 2
    assert found.measurement_error == pytest.approx(np.sqrt(0.5))


def straight_lines(levels: dict[str, int]) -> list[list[dict[str, Any]]]:
    """Participants who tick one level for every item of every run, in scenarios with and without reversed items."""
    return [
        answers([level] * (5 if scenario == "frontal" else 4), scenario, participant=who, policy=policy, run=run)
        for (who, level), policy, scenario, run in product(
            levels.items(), ("orca", "mpc"), ("frontal", "intersection_wait", "blind_corner"), (1, 2)
        )
    ]


@pytest.mark.parametrize("levels", [{"A": 4, "B": 4}, {"A": 5, "B": 3}])
def test_people_who_tick_one_column_throughout_do_not_agree(levels: dict[str, int]) -> None:
    """Taken as targets, items would be rated alike by both after reverse coding: 1.00."""
    ratings = table(*straight_lines(levels))
    if levels["A"] == levels["B"]:
        wrong, _, _ = rating_matrix(ratings, PROTOCOL, ("policy", "scenario", "item"), "participant")
        assert krippendorff_alpha(wrong).value == pytest.approx(1)
    found = reliability_document(ratings, PROTOCOL)
    assert found["icc"] is None
    assert found["alpha_krippendorff"] is None or found["alpha_krippendorff"] <= 0
    assert found["alpha_cronbach"] is None
    assert found["same_answer_throughout"] == ["A", "B"]
    coefficients = [each for part in found["inter_rater"]["by_scenario"].values() for each in part]
    coefficients += [each[kind] for each in found["inter_rater"]["by_item"] for kind in ("icc", "alpha")]
    assert len(coefficients) == 4 * 7 + 2 * (5 + 4 + 4)
    assert all(each["value"] is None or each["value"] <= 0 for each in coefficients)
    assert all(each["value"] is not None or each["reason"] for each in coefficients)


def test_who_ticks_one_column_throughout_is_left_out_of_cronbachs_alpha() -> None:
    runs = [constant(score, run=k + 1) for k, score in enumerate((1, 2, 3, 5))]
    lines = [answers([4] * 5, participant="L", run=k) for k in (1, 2)]
    once = [answers([4] * 5, participant="O")]
    document = reliability_document(table(*runs, *lines, *once), PROTOCOL)
    assert document["same_answer_throughout"] == ["L"]
    [found] = document["internal_consistency"]
    assert found["n"] == 5


def test_raters_agree_on_policies_within_scenarios_by_hand() -> None:
    """Scores of orca and mpc: A 2 and 4, B 3 and 4, in two scenarios alike. Mean squares of one: targets 2.25, judges
    0.25, error 0.25, so that ICC(2,1) = (2.25 - 0.25) / (2.25 + 0.25 + 0) = 0.8; pooled over two it is the same."""
    runs = []
    for scenario, size in (("intersection_wait", 4), ("intersection_gesture", 4)):
        for who, policy, level in (("A", "orca", 2), ("A", "mpc", 4), ("B", "orca", 3), ("B", "mpc", 4)):
            runs.append(answers([level] * size, scenario, participant=who, policy=policy))
    found = reliability_document(table(*runs), PROTOCOL)
    assert found["icc"] == pytest.approx(0.8)
    parts = found["inter_rater"]["by_scenario"]
    assert parts["intersection_wait"][1]["value"] == pytest.approx(0.8)
    assert (parts["all"][1]["n"], parts["all"][1]["low"]) == (4, None)
    assert [each["icc"]["value"] for each in found["inter_rater"]["by_item"]] == pytest.approx([0.8] * 8)


def test_a_participant_who_left_does_not_take_the_targets_along() -> None:
    people = {who: {"a": [1, 2], "b": [4, 5]} for who in "ABC"} | {"D": {"a": [1]}}
    document = inter_rater(table(*study(people)), PROTOCOL)["by_scenario"]["all"]
    assert (document[1]["n"], document[1]["k"], document[1]["value"]) == (4, 3, pytest.approx(1))
    assert document[6]["k"] == 4


def test_groups_of_people_who_rated_one_policy_each_count_people() -> None:
    """Ten runs of each of three people: 1 in 10 orders of six people is as extreme as theirs, whatever the runs."""
    people = {f"p{k}": {"a" if k < 3 else "b": [1 + k % 3 + (k > 2)] * 10} for k in range(6)}
    [pair] = compare_policies(run_scores(table(*study(people)), PROTOCOL))
    assert (pair.design, pair.n) == ("independent", 6)
    assert pair.p is not None
    assert pair.p > 0.1
    assert "did not rate both" in pair.note


def test_two_people_with_a_policy_each_tell_nothing_about_the_policies() -> None:
    people = {"A": {"a": [1] * 20}, "B": {"b": [4, 5] * 10}}
    [pair] = compare_policies(run_scores(table(*study(people)), PROTOCOL))
    assert (pair.p, pair.low) == (None, None)
    assert "cannot be separated" in pair.note
