"""Metrics against ratings: correlations, the model's error on people it has not seen, and simulated raters."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.metrics import METRICS
from sidestep.studies.ratings.comparison import run_scores
from sidestep.studies.ratings.metric_model import (
    correlate,
    find_episode,
    fit_rating_model,
    fit_ridge,
    group_folds,
    metric_matrix,
    metrics_document,
)
from sidestep.studies.ratings.simulated import (
    RatedRun,
    RaterSettings,
    Term,
    item_level,
    load_mapping,
    simulate_ratings,
)
from sidestep.studies.ratings.table import Ratings
from sidestep.types.result import MetricResult
from tests.studies.ratings.tables import PROTOCOL, constant, table

NONE = MetricResult.invalid("m", "nobody was present")


def metres(value: float) -> MetricResult:
    return MetricResult(value, "m")


def rated(people: int = 6, seed: int = 0) -> tuple[Ratings, dict[str, dict[str, MetricResult]]]:
    """Each person rates ten episodes; scores follow ``distance``, and ``noise`` means nothing."""
    rng = np.random.default_rng(seed)
    known, runs = {}, []
    for person in range(people):
        for run in range(10):
            score = int(rng.integers(1, 6))
            digest = f"{person:02d}{run:02d}" + "f" * 60
            known[digest] = {"distance": metres(score / 4 + rng.normal(0, 0.05)), "noise": metres(rng.normal())}
            known[digest]["absent"] = NONE
            runs.append(constant(score, participant=f"p{person}", run=run + 1, episode=digest))
    return table(*runs), known


def test_episodes_are_found_by_digest_or_its_beginning() -> None:
    known = {"abcdefgh1234": {"a": metres(1)}, "abcdefgh9999": {"a": metres(2)}, "x/y.parquet": {"a": metres(3)}}
    assert find_episode(known, "abcdefgh12") == {"a": metres(1)}
    assert find_episode(known, "abcdefgh") is None  # two of them
    assert find_episode(known, "abc") is None
    assert find_episode(known, "x/y.parquet") == {"a": metres(3)}
    matrix, names = metric_matrix(["abcdefgh1234", "", "unknown-digest"], known)
    assert names == ["a"]
    assert matrix[0, 0] == 1
    assert np.isnan(matrix[1:]).all()


def test_strong_metrics_come_first_and_those_without_values_say_why() -> None:
    ratings, known = rated()
    first, second, third = correlate(run_scores(ratings, PROTOCOL), known)
    assert first.metric == "distance"
    assert first.rho is not None
    assert first.rho > 0.9
    assert first.within is not None
    assert first.within > 0.9
    assert first.p_corrected is not None
    assert first.p_corrected < 1e-6
    assert second.metric == "noise"
    assert (third.metric, third.rho, third.reason) == ("absent", None, "fewer than 8 runs have a value")


def test_generous_people_with_other_episodes_do_not_make_a_correlation_within() -> None:
    """Two people: one gives fives at great distances, the other ones at small ones, each regardless of the run."""
    rng = np.random.default_rng(2)
    known, runs = {}, []
    for who, level in (("A", 1), ("B", 5)):
        for run in range(12):
            digest = f"{who}{run:02d}" + "0" * 20
            known[digest] = {"distance": metres(level + rng.normal(0, 0.2))}
            score = level + (int(rng.integers(0, 2)) if level == 1 else -int(rng.integers(0, 2)))
            runs.append(constant(score, participant=who, run=run + 1, episode=digest))
    [found] = correlate(run_scores(table(*runs), PROTOCOL), known)
    assert found.rho is not None
    assert found.rho > 0.7
    assert found.within is not None
    assert abs(found.within) < 0.5


def test_ridge_by_hand() -> None:
    """One standardised metric ±1: the weight is Σ x y / (n + λ)."""
    model = fit_ridge(np.array([[1.0], [3.0]]), np.array([2.0, 4.0]), ["m"], 2.0, (1, 5))
    assert (model.centre[0], model.scale[0], model.intercept) == (2, 1, 3)
    assert model.weight[0] == pytest.approx(2 / (2 + 2))
    assert model.predict(np.array([[3.0], [np.nan], [99.0]])).tolist() == [3.5, 3.0, 5.0]


def test_runs_of_one_person_are_in_one_fold() -> None:
    groups = np.repeat(np.arange(23), np.arange(23) % 4 + 1)
    folds = group_folds(groups)
    assert set(folds.tolist()) == set(range(10))
    assert all(len(set(folds[groups == group].tolist())) == 1 for group in range(23))


def test_model_predicts_people_it_has_not_seen() -> None:
    ratings, known = rated()
    model, [errors] = fit_rating_model(ratings, PROTOCOL, known)
    assert model.metrics == ("distance", "noise")
    assert errors.grouped_by == "participant"
    assert errors.folds == 6
    assert errors.mean_absolute_error < 0.3 < errors.baseline_absolute_error
    assert errors.r2 is not None
    assert errors.r2 > 0.9


def test_metrics_that_mean_nothing_are_of_no_use_on_unseen_people() -> None:
    ratings, known = rated()
    only_noise = {digest: {"noise": metrics["noise"]} for digest, metrics in known.items()}
    _, [errors] = fit_rating_model(ratings, PROTOCOL, only_noise)
    assert errors.r2 is not None
    assert errors.r2 < 0.1


def test_films_are_held_out_as_well_so_that_remembering_them_does_not_help() -> None:
    """Eight people rate the same ten films, whose 30 metrics mean nothing: the films are remembered across people."""
    rng = np.random.default_rng(6)
    films = [f"{film:02d}" + "e" * 20 for film in range(10)]
    scores = rng.integers(1, 6, 10)
    known = {film: {f"m{k}": metres(rng.normal()) for k in range(30)} for film in films}
    runs = [
        constant(int(score), participant=f"p{person}", run=k + 1, episode=film)
        for person in range(8)
        for k, (film, score) in enumerate(zip(films, scores, strict=True))
    ]
    _, [people, episodes] = fit_rating_model(table(*runs), PROTOCOL, known)
    assert (people.grouped_by, people.groups) == ("participant", 8)
    assert (episodes.grouped_by, episodes.groups) == ("episode", 10)
    assert people.r2 is not None
    assert episodes.r2 is not None
    assert people.r2 > 0.95
    assert episodes.r2 < 0.3


def test_too_few_runs_have_no_model_but_a_reason() -> None:
    ratings, known = rated()
    few = dict(list(known.items())[:3])
    with pytest.raises(BadInput, match="3 rated runs have metrics, 8 are needed"):
        fit_rating_model(ratings, PROTOCOL, few)
    document = metrics_document(ratings, PROTOCOL, few)
    assert document is not None
    assert document["model"] is None
    assert document["runs_with_metrics"] == 3
    assert metrics_document(ratings, PROTOCOL, None) is None


def test_every_metric_of_the_bundled_raters_exists() -> None:
    mapping = load_mapping()
    assert set(mapping.items) == {item.id for item in PROTOCOL.items}
    assert {term.metric for terms in mapping.items.values() for term in terms} <= set(METRICS)


def test_terms_and_levels_by_hand() -> None:
    term = Term(metric="jerk_avg", bad=8.0, good=0.0)
    assert [term.favour(value) for value in (9, 8, 2, 0, -1)] == [0, 0, 0.75, 1, 1]
    mapping = load_mapping()
    half = {"closest_pedestrian_distance": metres(0.5), "time_to_collision_min": MetricResult(3.0, "s")}
    assert item_level("q1", mapping, half, PROTOCOL) == pytest.approx(1 + 4 * (0.5 + 1) / 2)
    assert item_level("q9", mapping, half, PROTOCOL) is None


QUIET = RaterSettings(leaning=0, run_noise=0, answer_noise=0, cannot_tell=0)
GOOD = {"closest_pedestrian_distance": metres(2), "time_to_collision_min": MetricResult(10, "s")}
BAD = {"closest_pedestrian_distance": metres(0), "time_to_collision_min": MetricResult(0, "s")}


def test_quiet_raters_answer_as_the_mapping_says_and_turn_reversed_items() -> None:
    runs = [RatedRun("good", "frontal", GOOD), RatedRun("bad", "frontal", BAD)]
    ratings = simulate_ratings(runs, PROTOCOL, raters=1, seed=0, settings=QUIET)
    assert ratings.where(policy="good").rating.tolist() == [5, 1, 5, 1, 0]  # no metric of the last item has a value
    assert ratings.where(policy="bad").rating.tolist() == [1, 5, 1, 5, 0]
    assert ratings.one_origin() == "simulated"


def test_a_robot_that_never_met_the_person_is_not_rated() -> None:
    """The cheapest way to a great distance is to run into a wall at the start."""
    far = {**GOOD, "closest_pedestrian_distance": metres(7)}
    ratings = simulate_ratings([RatedRun("wall", "frontal", far)], PROTOCOL, raters=3, seed=0)
    assert ratings.rating.tolist() == [0] * 15
    nobody = {"closest_pedestrian_distance": NONE}
    assert simulate_ratings([RatedRun("wall", "frontal", nobody)], PROTOCOL, 1, 0).rating.tolist() == [0] * 5


def test_a_robot_that_takes_precedence_is_rated_lower() -> None:
    runs = [
        RatedRun(name, "intersection_wait", {**GOOD, "disobeyed": MetricResult(flag, "0/1")})
        for name, flag in (("waits", 0.0), ("pushes", 1.0))
    ]
    ratings = simulate_ratings(runs, PROTOCOL, raters=1, seed=0, settings=QUIET)
    assert ratings.where(item="q9").rating.tolist() == [5, 1]


def test_raters_are_reproducible_differ_and_follow_the_metrics() -> None:
    runs = [RatedRun("good", "frontal", GOOD, run=k + 1) for k in range(5)]
    runs += [RatedRun("bad", "frontal", BAD, run=k + 1) for k in range(5)]
    one, same = (simulate_ratings(runs, PROTOCOL, raters=12, seed=4) for _ in range(2))
    assert one.rows() == same.rows()
    assert one.rows() != simulate_ratings(runs, PROTOCOL, raters=12, seed=5).rows()
    assert (
        one.where(participant="simulated-001").rating.tolist() != one.where(participant="simulated-002").rating.tolist()
    )
    more = simulate_ratings(runs, PROTOCOL, raters=13, seed=4)
    assert more.rows()[: len(one)] == one.rows()
    scores = run_scores(one, PROTOCOL)
    good = np.array([policy == "good" for policy in scores.policy])
    assert scores.score[good].mean() > scores.score[~good].mean() + 2


def test_mapping_and_questionnaire_belong_together(tmp_path: Path) -> None:
    path = tmp_path / "raters.yaml"
    path.write_text("questionnaire: protocol\nitems: {q1: [{metric: jerk_avg, bad: 1, good: 0}]}\n")
    with pytest.raises(BadInput, match="no terms of q2"):
        simulate_ratings([], PROTOCOL, 1, 0, load_mapping(path))
    path.write_text("questionnaire: rosas\nitems: {q1: [{metric: jerk_avg, bad: 1, good: 0}]}\n")
    with pytest.raises(BadInput, match="for the questionnaire rosas, not protocol"):
        simulate_ratings([], PROTOCOL, 1, 0, load_mapping(path))
    path.write_text("questionnaire: protocol\nitems: {q1: [{metric: jerk_avg, bad: 1, good: 1}]}\n")
    with pytest.raises(BadInput, match="bad and good are equal"):
        load_mapping(path)
    with pytest.raises(BadInput, match="at least one"):
        simulate_ratings([], PROTOCOL, 0, 0)
    with pytest.raises(BadInput, match="did you mean 'protocol'"):
        load_mapping("protocl")
