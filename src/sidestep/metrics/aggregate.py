"""Aggregation of scored episodes into a table: n, mean, spread and interval per policy and metric. Failures are
counted, never averaged away.

Intervals are those of ``sidestep.metrics.estimates``. The resamples depend only on the seed and the number of values or
clusters, so that a summary does not depend on which other metrics or policies are in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from sidestep.interfaces import Direction
from sidestep.metrics.estimates import (
    Estimate,
    Limits,
    deviation,
    kind_of,
    mean_limits,
    mean_value,
    rate_estimate,
)
from sidestep.metrics.observed import Observed, parse_observed
from sidestep.metrics.rates import DISTANCE, RATES, pooled_rate
from sidestep.metrics.score import EpisodeScores, by_policy
from sidestep.metrics.statistics import number_clusters
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import Outcome
from sidestep.types.record import SANDBOX_HELD


@dataclass(frozen=True, slots=True)
class MetricSummary:
    """One metric of one policy over the episodes in which it has a value; fields are None for too few episodes."""

    unit: str
    direction: Direction
    estimate: Estimate = field(default_factory=Estimate)
    sd: float | None = None
    """Sample standard deviation (n - 1)."""
    median: float | None = None
    lower_quartile: float | None = None
    upper_quartile: float | None = None
    count: float | None = None
    """Events that a rate counts."""
    metres: float | None = None
    """Distance over which a rate counts them."""

    @property
    def n(self) -> int:
        """Episodes with a value; the others are counted in ``PolicySummary.episodes`` only."""
        return self.estimate.n

    @property
    def mean(self) -> float | None:
        """The mean, proportion or rate."""
        return self.estimate.value

    @property
    def low(self) -> float | None:
        """Lower limit of the mean."""
        return self.estimate.low

    @property
    def high(self) -> float | None:
        """Upper limit of the mean."""
        return self.estimate.high

    @property
    def bound(self) -> str:
        """Bound and count of a rate over too few metres, which has no mean."""
        return self.estimate.bound


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """One policy: all its episodes, how they ended, and its metrics."""

    episodes: int
    outcomes: dict[str, int]
    """Every outcome, 0 included; they sum to ``episodes``."""
    metrics: dict[str, MetricSummary]
    privileged: bool = False
    """Whether the policy sees what others do not; it is then not ranked."""
    observed: Observed | None = None
    """What the policy was given; None if unknown."""
    events: dict[str, int] | None = None
    """Number of episodes whose staged event ``happened`` or was ``missed``; None if no episode stages an event."""
    sandbox: str = ""
    """``held`` if the sandbox held in every episode, else what did not hold in one; empty for no guest."""

    def estimate(self, metric: str) -> Estimate:
        """The estimate of a metric; without a value if no episode was scored with it."""
        found = self.metrics.get(metric)
        return Estimate(of=self.episodes, reason="not scored") if found is None else found.estimate


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Policies in the order in which they first occur."""

    policies: dict[str, PolicySummary]


def aggregate(episodes: Iterable[EpisodeScores], *, directions: Mapping[str, Direction] | None = None) -> ResultTable:
    """The table of all policies. ``directions`` (``score.directions()``) gives the better direction of each
    metric; a metric that it does not name has none."""
    return ResultTable(
        {policy: _summarise_policy(rows, directions or {}) for policy, rows in by_policy(episodes).items()}
    )


def _summarise_policy(rows: list[EpisodeScores], directions: Mapping[str, Direction]) -> PolicySummary:
    outcomes = {outcome.value: 0 for outcome in Outcome}
    for row in rows:
        outcomes[row.outcome] += 1
    events = {state: sum(row.event == state for row in rows) for state in ("happened", "missed")}
    names = list(dict.fromkeys(name for row in rows for name in row.metrics))
    units = {name: next(row.metrics[name].unit for row in rows if name in row.metrics) for name in names}
    pooled = {name for name in RATES if {name, RATES[name], DISTANCE} <= set(names)}
    columns = {name: _Column.of(rows, name) for name in names}
    limits = _limits({name: columns[name] for name in names if name not in pooled}, units)
    metrics = {}
    for name in names:
        direction = directions.get(name, "none")
        if name in pooled:
            metrics[name] = _summarise_rate(rows, name, units[name], direction)
        else:
            metrics[name] = _summarise(columns[name], limits[name], len(rows), units[name], direction)
    privileged = any(row.privileged for row in rows)
    observed = parse_observed(row.observes for row in rows)
    walls = min((row.sandbox for row in rows), key=lambda state: (state == "", state == SANDBOX_HELD), default="")
    staged = events if any(events.values()) else None
    return PolicySummary(len(rows), outcomes, metrics, privileged, observed, staged, walls)


@dataclass(frozen=True, slots=True)
class _Column:
    """The valid values of a metric and the rows that they come from."""

    values: FloatArray
    rows: bytes
    """Their indices as bytes: a key that takes little memory."""
    clusters: IntArray | None
    reason: str
    """Why the first row without a value has none."""

    @classmethod
    def of(cls, rows: list[EpisodeScores], name: str) -> _Column:
        found = [(k, row.metrics[name]) for k, row in enumerate(rows) if name in row.metrics]
        known = [(k, result.value) for k, result in found if result.valid]
        values = np.array([value for _, value in known], dtype=np.float64)
        clusters = number_clusters([rows[k].cluster for k, _ in known])
        reason = next((result.reason for _, result in found if not result.valid), "")
        return cls(values, np.array([k for k, _ in known], dtype=np.int32).tobytes(), clusters, reason)


def _limits(columns: Mapping[str, _Column], units: Mapping[str, str]) -> dict[str, Limits]:
    """Interval of every metric; metrics with values in the same episodes share their resamples."""
    found: dict[str, Limits] = {}
    groups: dict[bytes, list[str]] = {}
    for name, column in columns.items():
        groups.setdefault(column.rows, []).append(name)
    for names in groups.values():
        kinds = [kind_of(name, units[name]) for name in names]
        limits = mean_limits([columns[name].values for name in names], kinds, columns[names[0]].clusters)
        found |= zip(names, limits, strict=True)
    return found


def _summarise_rate(rows: list[EpisodeScores], name: str, unit: str, direction: Direction) -> MetricSummary:
    parts = (RATES[name], DISTANCE)
    known = [row for row in rows if all(part in row.metrics and row.metrics[part].valid for part in parts)]
    if not known:
        return MetricSummary(unit, direction, Estimate(of=len(rows), reason=_Column.of(rows, name).reason))
    counts, metres = (np.array([row.metrics[part].value for row in known]) for part in parts)
    rate = pooled_rate(counts, metres, [row.cluster for row in known])
    estimate = rate_estimate(rate, len(known), len(rows))
    return MetricSummary(unit, direction, estimate, count=rate.count, metres=rate.metres)


def _summarise(column: _Column, limits: Limits, of: int, unit: str, direction: Direction) -> MetricSummary:
    values = column.values
    if not len(values):
        return MetricSummary(unit, direction, Estimate(of=of, reason=column.reason))
    estimate = Estimate(mean_value(values), *limits, len(values), of)
    lower, median, upper = (float(q) for q in np.quantile(values, [0.25, 0.5, 0.75]))
    return MetricSummary(unit, direction, estimate, deviation(values), median, lower, upper)
