"""From many scored episodes to a table: per policy and metric n, mean, spread and interval; failures counted,
never averaged away.

Intervals: Wilson for proportions (unit ``0/1``), bootstrap of the mean for all others. The resamples depend
only on the seed and the number of values, so that a summary does not depend on which other metrics or
policies are in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sidestep.interfaces import Direction
from sidestep.metrics.answers import INDICATOR_UNIT
from sidestep.metrics.intervals import Method, bootstrap_means, wilson
from sidestep.types.base import FloatArray
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult


@dataclass(frozen=True, slots=True)
class EpisodeScores:
    """One episode's scores, by metric."""

    policy: str
    scenario: str
    seed: int
    outcome: Outcome
    results: Mapping[str, MetricResult]


@dataclass(frozen=True, slots=True)
class Summary:
    """One metric of one policy over the episodes in which it has a value; None where there are too few."""

    n: int
    """Episodes with a value; the others are counted in ``PolicySummary.episodes`` only."""
    mean: float | None
    sd: float | None
    """Sample standard deviation (n - 1)."""
    low: float | None
    high: float | None
    """Interval of the mean."""
    median: float | None
    lower_quartile: float | None
    upper_quartile: float | None
    unit: str
    direction: Direction


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """One policy: all its episodes, how they ended, and its metrics."""

    episodes: int
    outcomes: dict[str, int]
    """Every outcome, 0 included; they sum to ``episodes``."""
    metrics: dict[str, Summary]


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Policies in the order in which they first occur."""

    policies: dict[str, PolicySummary]

    def as_dict(self) -> dict[str, Any]:
        """Plain data, ready for JSON."""
        return {name: asdict(policy) for name, policy in self.policies.items()}


def aggregate(
    episodes: Iterable[EpisodeScores],
    *,
    directions: Mapping[str, Direction] | None = None,
    confidence: float = 0.95,
    method: Method = "bca",
    resamples: int = 2000,
    seed: int = 0,
) -> ResultTable:
    """The table of all policies. ``directions`` (``score.directions()``) says what is better; unknown metrics
    have none."""
    by_policy: dict[str, list[EpisodeScores]] = {}
    for episode in episodes:
        by_policy.setdefault(episode.policy, []).append(episode)
    interval = _Interval(confidence, method, resamples, seed)
    return ResultTable(
        {policy: _summarise_policy(rows, directions or {}, interval) for policy, rows in by_policy.items()}
    )


def scores_from_rows(rows: Iterable[Mapping[str, Any]]) -> list[EpisodeScores]:
    """Episodes from long-form rows, one per episode and metric, with the columns of ``results.parquet``."""
    episodes: dict[tuple[str, str, str, int], tuple[Outcome, dict[str, MetricResult]]] = {}
    for row in rows:
        key = (str(row.get("suite", "")), str(row["scenario"]), str(row["policy"]), int(row["seed"]))
        _, results = episodes.setdefault(key, (Outcome(row["outcome"]), {}))
        result = MetricResult(float(row["value"]), row["unit"]) if row["valid"] else None
        results[row["metric"]] = result or MetricResult.invalid(row["unit"], row["reason"] or "not recorded")
    return [
        EpisodeScores(policy, scenario, seed, outcome, results)
        for (_, scenario, policy, seed), (outcome, results) in episodes.items()
    ]


@dataclass(frozen=True, slots=True)
class _Interval:
    confidence: float
    method: Method
    resamples: int
    seed: int


def _summarise_policy(
    rows: list[EpisodeScores], directions: Mapping[str, Direction], interval: _Interval
) -> PolicySummary:
    outcomes = {outcome.value: 0 for outcome in Outcome}
    for row in rows:
        outcomes[row.outcome.value] += 1
    names = list(dict.fromkeys(name for row in rows for name in row.results))
    units = {name: next(row.results[name].unit for row in rows if name in row.results) for name in names}
    values = {name: _valid_values(rows, name) for name in names}
    intervals = _bootstrap_together({k: v for k, v in values.items() if units[k] != INDICATOR_UNIT}, interval)
    metrics = {}
    for name in names:
        if units[name] == INDICATOR_UNIT and len(values[name]) > 1:
            intervals[name] = wilson(float(values[name].sum()), len(values[name]), interval.confidence)
        limits = intervals.get(name, (None, None))
        metrics[name] = _summarise(values[name], limits, units[name], directions.get(name, "none"))
    return PolicySummary(len(rows), outcomes, metrics)


def _valid_values(rows: list[EpisodeScores], name: str) -> FloatArray:
    results = (row.results[name] for row in rows if name in row.results)
    return np.array([result.value for result in results if result.valid], dtype=np.float64)


def _bootstrap_together(
    values: Mapping[str, FloatArray], interval: _Interval
) -> dict[str, tuple[float | None, float | None]]:
    """Intervals by metric; metrics with equally many values share their resamples in one matrix product."""
    found: dict[str, tuple[float | None, float | None]] = {}
    for n in sorted({len(v) for v in values.values() if len(v) > 1}):
        names = [name for name, v in values.items() if len(v) == n]
        matrix = np.stack([values[name] for name in names])
        low, high = bootstrap_means(matrix, interval.confidence, interval.method, interval.resamples, interval.seed)
        found.update({name: (float(a), float(b)) for name, a, b in zip(names, low, high, strict=True)})
    return found


def _summarise(
    values: FloatArray, limits: tuple[float | None, float | None], unit: str, direction: Direction
) -> Summary:
    n = len(values)
    if n == 0:
        return Summary(0, None, None, None, None, None, None, None, unit, direction)
    lower, median, upper = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    sd = float(values.std(ddof=1)) if n > 1 else None
    mean = float(np.clip(values.mean(), values.min(), values.max()))
    return Summary(n, mean, sd, *limits, median, lower, upper, unit, direction)
