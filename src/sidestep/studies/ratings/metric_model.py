"""Ratings and automatic metrics: the correlation of every metric with run scores, and a model that predicts
a run's score from its metrics, with the error on participants whom it has not seen.

Ratings and metrics meet in the episode: ``Ratings.episode`` is the digest of a record, or its path.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from math import atanh, sqrt, tanh
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.metrics.score import EpisodeScores
from sidestep.metrics.statistics import holm, normal_quantile
from sidestep.studies.ratings.comparison import RunScores, run_scores
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.table import Ratings
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.result import MetricResult

SHORTEST_DIGEST = 8
LEAST_RUNS = 8
"""Number of runs with a value that a correlation needs."""
LEAST_SHARE = 0.8
"""Share of the runs in which a metric of the model must have a value."""
MOST_FOLDS = 10
PENALTIES = tuple(10.0**power for power in (-2, -1, 0, 1, 2, 3))
Metrics = Mapping[str, MetricResult]


def metrics_by_digest(scores: Iterable[EpisodeScores]) -> dict[str, Metrics]:
    """Digest → metrics, of the episodes of scored runs."""
    return {each.digest: each.metrics for each in scores}


def find_episode(known: Mapping[str, Metrics], episode: str) -> Metrics | None:
    """The metrics of an episode by its digest, the beginning of it, or the key itself; None where there are none."""
    if episode in known:
        return known[episode]
    if len(episode) < SHORTEST_DIGEST:
        return None
    found = [name for name in known if name.startswith(episode)]
    return known[found[0]] if len(found) == 1 else None


def metric_matrix(episodes: Sequence[str], known: Mapping[str, Metrics]) -> tuple[FloatArray, list[str]]:
    """(runs, metrics) values, NaN where a metric has none or the episode is not known; and the metrics' names."""
    found = [find_episode(known, episode) or {} for episode in episodes]
    names = list(dict.fromkeys(name for metrics in found for name in metrics))
    matrix = np.full((len(episodes), len(names)), np.nan)
    for row, metrics in enumerate(found):
        for column, name in enumerate(names):
            if name in metrics and metrics[name].valid:
                matrix[row, column] = metrics[name].value
    return matrix, names


@dataclass(frozen=True)
class Correlation:
    """Correlation of a metric with run scores; without ``rho``, ``reason`` explains why."""

    metric: str
    n: int
    rho: float | None = None
    """Spearman's rank correlation."""
    low: float | None = None
    high: float | None = None
    within: float | None = None
    """The same after subtracting the means of each participant in each scenario: neither raters who are generous
    throughout nor differences between scenarios count."""
    p: float | None = None
    p_corrected: float | None = None
    reason: str = ""


def correlate(scores: RunScores, known: Mapping[str, Metrics]) -> list[Correlation]:
    """Every metric, the strongest first; those without a correlation last.

    Interval by Fisher's z with the variance (1 + rho² / 2) / (n - 3) (Bonett and Wright, Psychometrika 65, 2000). It
    and p take runs as independent.
    """
    matrix, names = metric_matrix(scores.episode, known)
    found = [_correlation(name, scores, matrix[:, column]) for column, name in enumerate(names)]
    corrected = holm([each.p for each in found])
    found = [replace(each, p_corrected=p) for each, p in zip(found, corrected, strict=True)]
    return sorted(found, key=lambda each: (each.rho is None, -abs(each.rho or 0.0), each.metric))


def _correlation(name: str, scores: RunScores, values: FloatArray) -> Correlation:
    from scipy.stats import spearmanr

    rows = np.flatnonzero(~np.isnan(values))
    n = len(rows)
    score, value = scores.score[rows], values[rows]
    if n < LEAST_RUNS:
        return Correlation(name, n, reason=f"fewer than {LEAST_RUNS} runs have a value")
    if np.ptp(score) == 0 or np.ptp(value) == 0:
        return Correlation(name, n, reason="all scores are equal" if np.ptp(score) == 0 else "all values are equal")
    tested: Any = spearmanr(value, score)
    rho = float(tested.statistic)
    low = high = rho
    if abs(rho) < 1 - 1e-12:
        half = normal_quantile(0.95) * sqrt((1 + rho * rho / 2) / (n - 3))
        low, high = tanh(atanh(rho) - half), tanh(atanh(rho) + half)
    places: dict[tuple[str, str], int] = {}
    keys = [(scores.participant[row], scores.scenario[row]) for row in rows]
    groups = np.array([places.setdefault(key, len(places)) for key in keys], dtype=np.int64)
    return Correlation(name, n, rho, low, high, _within(score, value, groups), float(tested.pvalue))


def _within(score: FloatArray, value: FloatArray, groups: IntArray) -> float | None:
    from scipy.stats import spearmanr

    if int(groups.max()) + 2 >= len(score):
        return None
    count = np.bincount(groups)
    x, y = (each - (np.bincount(groups, each) / count)[groups] for each in (value, score))
    if np.ptp(x) < 1e-12 or np.ptp(y) < 1e-12:
        return None
    tested: Any = spearmanr(x, y)
    return float(tested.statistic)


@dataclass(frozen=True, eq=False)
class RidgeModel:
    """score = intercept + Σ weight · (metric - centre) / scale; a metric without a value counts as its centre.
    Predictions are kept on the scale of the ratings."""

    metrics: tuple[str, ...]
    centre: FloatArray
    scale: FloatArray
    weight: FloatArray
    intercept: float
    penalty: float
    lowest: float
    highest: float

    def predict(self, values: FloatArray) -> FloatArray:
        """(runs,) scores of metric values (runs, metrics), NaN where there is none."""
        standard = np.nan_to_num((values - self.centre) / self.scale, nan=0.0)
        return np.clip(self.intercept + standard @ self.weight, self.lowest, self.highest)

    def document(self) -> dict[str, Any]:
        """Plain data."""
        rows = zip(self.metrics, self.centre.tolist(), self.scale.tolist(), self.weight.tolist(), strict=True)
        terms = [dict(zip(("metric", "centre", "scale", "weight"), row, strict=True)) for row in rows]
        return {"intercept": self.intercept, "penalty": self.penalty, "terms": terms}


def fit_ridge(
    values: FloatArray, score: FloatArray, metrics: Sequence[str], penalty: float, limits: tuple[float, float]
) -> RidgeModel:
    """Least squares with ``penalty`` · Σ weight², metrics standardised (Hoerl and Kennard, Technometrics 12, 1970)."""
    count = (~np.isnan(values)).sum(axis=0)
    centre = np.where(count > 0, np.nansum(values, axis=0) / np.maximum(count, 1), 0.0)
    gaps = np.nan_to_num(values - centre, nan=0.0)
    scale = np.sqrt(np.square(gaps).sum(axis=0) / np.maximum(count, 1))
    scale = np.where(scale > 1e-9, scale, 1.0)
    standard = gaps / scale
    intercept = float(score.mean())
    normal = standard.T @ standard + penalty * np.eye(standard.shape[1])
    weight = np.linalg.solve(normal, standard.T @ (score - intercept))
    return RidgeModel(tuple(metrics), centre, scale, weight, intercept, penalty, *limits)


def group_folds(groups: IntArray, seed: int = 0) -> IntArray:
    """(n,) fold of every run; the runs of one group are in one fold. At most ``MOST_FOLDS``, of similar sizes."""
    sizes = np.bincount(groups)
    order = np.random.default_rng([seed, len(sizes)]).permutation(len(sizes))
    order = order[np.argsort(-sizes[order], kind="stable")]
    filled = np.zeros(min(MOST_FOLDS, len(sizes)))
    fold = np.zeros(len(sizes), dtype=np.int64)
    for group in order:
        fold[group] = int(np.argmin(filled))
        filled[fold[group]] += sizes[group]
    return np.asarray(fold[groups])


def _choose_penalty(
    values: FloatArray, score: FloatArray, metrics: Sequence[str], folds: IntArray, limits: tuple[float, float]
) -> float:
    """The penalty with the smallest squared error over the folds."""
    errors = {
        penalty: float(np.square(_held_out(values, score, metrics, folds, limits, penalty) - score).sum())
        for penalty in PENALTIES
    }
    return min(errors, key=lambda penalty: (errors[penalty], -penalty))


def _held_out(
    values: FloatArray,
    score: FloatArray,
    metrics: Sequence[str],
    folds: IntArray,
    limits: tuple[float, float],
    penalty: float | None,
) -> FloatArray:
    """(runs,) predictions, each by a model that has not seen the run's fold. No penalty: chosen among the others."""
    predicted = np.empty(len(score))
    for fold in np.unique(folds):
        out = folds == fold
        rest = folds[~out]
        chosen = penalty
        if chosen is None:
            several = len(np.unique(rest)) > 1
            chosen = _choose_penalty(values[~out], score[~out], metrics, rest, limits) if several else 1.0
        predicted[out] = fit_ridge(values[~out], score[~out], metrics, chosen, limits).predict(values[out])
    return predicted


@dataclass(frozen=True)
class CrossValidation:
    """Errors on held-out groups of runs, and of predicting the mean of the others."""

    runs: int
    groups: int
    folds: int
    mean_absolute_error: float
    root_mean_square_error: float
    baseline_absolute_error: float
    r2: float | None
    """1 - squared error over that of the baseline; below 0 the metrics are of no use."""
    grouped_by: str


def cross_validate(
    values: FloatArray,
    score: FloatArray,
    metrics: Sequence[str],
    groups: Sequence[str],
    limits: tuple[float, float],
    grouped_by: str,
) -> CrossValidation:
    """Errors on groups that the model has not seen; on runs, with fewer than three groups."""
    numbers = np.unique(np.array(groups), return_inverse=True)[1]
    count = int(numbers.max()) + 1
    folds = group_folds(numbers if count >= 3 else np.arange(len(score)))
    predicted = _held_out(values, score, metrics, folds, limits, None)
    baseline = np.array([score[folds != fold].mean() for fold in folds])
    squares, base = float(np.square(predicted - score).sum()), float(np.square(baseline - score).sum())
    return CrossValidation(
        runs=len(score),
        groups=count,
        folds=len(np.unique(folds)),
        mean_absolute_error=float(np.abs(predicted - score).mean()),
        root_mean_square_error=sqrt(squares / len(score)),
        baseline_absolute_error=float(np.abs(baseline - score).mean()),
        r2=1 - squares / base if base > 0 else None,
        grouped_by=grouped_by if count >= 3 else "run",
    )


def fit_rating_model(
    ratings: Ratings, questionnaire: Questionnaire, known: Mapping[str, Metrics]
) -> tuple[RidgeModel, list[CrossValidation]]:
    """The model fitted to all runs, and its error on held-out participants; where participants rated the same
    episodes (films), also on held-out episodes, because the model has seen those of a held-out participant. BadInput
    where too few runs have metrics."""
    ratings.one_origin()
    scores = run_scores(ratings, questionnaire)
    every, names = metric_matrix(scores.episode, known)
    rows = np.flatnonzero((~np.isnan(every)).any(axis=1)) if len(names) else np.zeros(0, dtype=np.int64)
    if len(rows) < LEAST_RUNS:
        raise BadInput(f"{len(rows)} rated runs have metrics, {LEAST_RUNS} are needed; give the episodes' scores")
    values, score = every[rows], scores.score[rows]
    present = ~np.isnan(values)
    usable = [
        column
        for column in range(len(names))
        if present[:, column].mean() >= LEAST_SHARE and np.ptp(values[present[:, column], column]) > 0
    ]
    if not usable:
        raise BadInput("no metric has different values in most of the rated runs; rate more episodes")
    values, metrics = values[:, usable], [names[column] for column in usable]
    limits = (float(questionnaire.scale.lowest), float(questionnaire.scale.highest))
    people, episodes = [scores.participant[row] for row in rows], [scores.episode[row] for row in rows]
    errors = [cross_validate(values, score, metrics, people, limits, "participant")]
    if len(set(episodes)) < len(episodes):
        errors.append(cross_validate(values, score, metrics, episodes, limits, "episode"))
    last = errors[-1].grouped_by
    groups = {"participant": people, "episode": episodes}.get(last, [str(row) for row in rows])
    folds = group_folds(np.unique(np.array(groups), return_inverse=True)[1])
    penalty = _choose_penalty(values, score, metrics, folds, limits)
    return fit_ridge(values, score, metrics, penalty, limits), errors


def metrics_document(
    ratings: Ratings, questionnaire: Questionnaire, known: Mapping[str, Metrics] | None
) -> dict[str, Any] | None:
    """Correlations and the model as plain data; None without metrics."""
    if not known:
        return None
    scores = run_scores(ratings, questionnaire)
    matched = sum(find_episode(known, episode) is not None for episode in scores.episode)
    document: dict[str, Any] = {"runs": len(scores), "runs_with_metrics": matched, "model": None, "reason": ""}
    document["correlations"] = [asdict(each) for each in correlate(scores, known)]
    try:
        model, errors = fit_rating_model(ratings, questionnaire, known)
    except BadInput as error:
        return {**document, "reason": str(error)}
    return {**document, "model": {**model.document(), "cross_validation": [asdict(each) for each in errors]}}
