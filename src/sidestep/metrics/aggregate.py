"""From many scored episodes to a table: per policy and metric n, mean, spread and interval; failures counted,
never averaged away.

Intervals: Wilson for proportions (unit ``0/1``), bootstrap of the mean for all others, in clusters of episodes that are
not independent; never of length 0 where nothing was counted (``docs/statistics.md``). Rates per 100 m divide sums. The
resamples depend only on the seed and the number of values or clusters, so that a summary does not depend on which other
metrics or policies are in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from math import floor, inf
from typing import Any

import numpy as np

from sidestep.interfaces import Direction
from sidestep.metrics.rates import DISTANCE, RATES, pooled_rate
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.metrics.statistics import Method, bootstrap_means, number_clusters, poisson_limits, proportion, wilson
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult
from sidestep.types.scenario import ReplayPlacement, Scenario, TwinPlacement

Limits = tuple[float | None, float | None]
BEYOND_ONE = frozenset({"path_length_ratio", "path_efficiency", "goal_traversal_ratio"})
"""Of the metrics with the unit ``ratio``, those that are no shares and can be more than 1."""
MINUTE_S = 60.0
"""Windows of a recording that begin within the same minute share people."""


@dataclass(frozen=True, slots=True)
class EpisodeScores:
    """One episode's scores, by metric."""

    policy: str
    scenario: str
    seed: int
    outcome: Outcome
    results: Mapping[str, MetricResult]
    cluster: str = ""
    """Episodes with the same non-empty cluster are not independent."""
    privileged: bool = False
    event: str = ""
    """``happened`` or ``missed`` where the scenario stages an event."""


def cluster_of(scenario: Scenario) -> str:
    """What an episode shares with others, so that they are not independent: its town or place; the minute of the
    recording in which its window begins, or the window whose statistics its people are drawn from; else the scenario
    itself, under several seeds."""
    scene = scenario.scene if isinstance(scenario.scene, str) else ""
    if scene.startswith(("town:", "place:")):
        return scene.partition("/")[0].partition("@")[0]
    windows = []
    for part in scenario.crowd:
        if isinstance(place := part.placement, ReplayPlacement):
            windows.append(f"{place.dataset or place.path}@{floor(place.start_s / MINUTE_S)}min")
        elif isinstance(place, TwinPlacement):
            windows.append(f"twin:{place.twin}")
    return " & ".join(windows) or f"scenario:{scenario.name}"


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
    bound: str = ""
    """Of a rate over too few metres, which has no mean: its bound and count, for people."""
    count: float | None = None
    metres: float | None = None
    """Of a rate: what was counted, over which way."""


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """One policy: all its episodes, how they ended, and its metrics."""

    episodes: int
    outcomes: dict[str, int]
    """Every outcome, 0 included; they sum to ``episodes``."""
    metrics: dict[str, Summary]
    privileged: bool = False
    """Whether it sees what the others do not; then it is ranked with nobody."""
    events: dict[str, int] | None = None
    """Episodes that stage an event, by whether it ``happened`` or was ``missed``; None where none stages one."""


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
    events = {state: sum(row.event == state for row in rows) for state in ("happened", "missed")}
    names = list(dict.fromkeys(name for row in rows for name in row.results))
    units = {name: next(row.results[name].unit for row in rows if name in row.results) for name in names}
    pooled = {name for name in RATES if {name, RATES[name], DISTANCE} <= set(names)}
    columns = {name: _Column.of(rows, name) for name in names}
    limits = _limits({name: columns[name] for name in names if name not in pooled}, units, interval)
    metrics = {}
    for name in names:
        direction = directions.get(name, "none")
        if name in pooled:
            metrics[name] = _summarise_rate(rows, name, units[name], direction, interval)
        else:
            metrics[name] = _summarise(columns[name].values, limits[name], units[name], direction)
    privileged = any(row.privileged for row in rows)
    return PolicySummary(len(rows), outcomes, metrics, privileged, events if any(events.values()) else None)


@dataclass(frozen=True, slots=True)
class _Column:
    """The valid values of a metric, and in which rows they are."""

    values: FloatArray
    rows: tuple[int, ...]
    clusters: IntArray | None

    @classmethod
    def of(cls, rows: list[EpisodeScores], name: str) -> _Column:
        found = [(k, row.results[name].value) for k, row in enumerate(rows) if name in row.results]
        known = [(k, value) for k, value in found if not np.isnan(value)]
        values = np.array([value for _, value in known], dtype=np.float64)
        clusters = number_clusters([rows[k].cluster for k, _ in known])
        return cls(values, tuple(k for k, _ in known), clusters)


def _limits(columns: Mapping[str, _Column], units: Mapping[str, str], interval: _Interval) -> dict[str, Limits]:
    """Interval of every metric; metrics with values in the same episodes share their resamples in one matrix
    product."""
    found: dict[str, Limits] = {}
    groups: dict[tuple[int, ...], list[str]] = {}
    for name, column in columns.items():
        if len(column.values) < 2:
            found[name] = (None, None)
        elif units[name] == INDICATOR_UNIT:
            found[name] = proportion(column.values, interval.confidence, column.clusters)
        elif (at_the_edge := _edge(name, column, units[name], interval.confidence)) is not None:
            found[name] = at_the_edge
        else:
            groups.setdefault(column.rows, []).append(name)
    for names in groups.values():
        matrix = np.stack([columns[name].values for name in names])
        low, high = bootstrap_means(
            matrix, interval.confidence, interval.method, interval.resamples, interval.seed, columns[names[0]].clusters
        )
        for name, a, b in zip(names, low, high, strict=True):
            least, most = _possible(name, units[name], columns[name].values)
            found[name] = max(float(a), least), min(float(b), most)
    return found


def _possible(name: str, unit: str, values: FloatArray) -> tuple[float, float]:
    """What a mean can be, beyond which m ± t s of few clusters goes. Distances are negative where bodies overlap."""
    least = -inf if unit == "m" or values.min() < 0 else 0.0
    return least, 1.0 if unit == "ratio" and name not in BEYOND_ONE else inf


def _edge(name: str, column: _Column, unit: str, confidence: float) -> Limits | None:
    """Limits where resampling would give an interval of length 0. Counts that are all alike: Poisson's; shares that are
    all 0 or all 1: Wilson's, since an episode's share is at most 1; other units that are all 0 have no largest value
    and so no limit. None elsewhere."""
    n = len(column.values) if column.clusters is None else int(column.clusters.max()) + 1
    value = float(column.values[0])
    if (column.values != value).any():
        return None
    if unit == "count":
        low, high = poisson_limits(value * n, confidence)
        return low / n, high / n
    if unit == "ratio" and name not in BEYOND_ONE and value in (0.0, 1.0):
        return wilson(value * n, n, confidence)
    return None if value else (None, None)


def _summarise_rate(
    rows: list[EpisodeScores], name: str, unit: str, direction: Direction, interval: _Interval
) -> Summary:
    parts = (RATES[name], DISTANCE)
    known = [row for row in rows if all(part in row.results and row.results[part].valid for part in parts)]
    counts, metres = (np.array([row.results[part].value for row in known]) for part in parts)
    clusters = [row.cluster for row in known]
    rate = pooled_rate(counts, metres, clusters, interval.confidence, interval.resamples, interval.seed)
    none = (None, None, None)
    shown = Summary(len(known), rate.value, None, rate.low, rate.high, *none, unit, direction)
    return replace(shown, bound=rate.bound, count=rate.count, metres=rate.metres) if known else shown


def _summarise(values: FloatArray, limits: Limits, unit: str, direction: Direction) -> Summary:
    n = len(values)
    if n == 0:
        return Summary(0, None, None, None, None, None, None, None, unit, direction)
    lower, median, upper = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    sd = float(values.std(ddof=1)) if n > 1 else None
    mean = float(np.clip(values.mean(), values.min(), values.max()))
    return Summary(n, mean, sd, *limits, median, lower, upper, unit, direction)
