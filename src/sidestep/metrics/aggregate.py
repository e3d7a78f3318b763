"""From many scored episodes to a table: per policy and metric n, mean, spread and interval; failures counted,
never averaged away.

Intervals: Wilson for proportions (unit ``0/1``), bootstrap of the mean for all others, in clusters of episodes that are
not independent; never of length 0 where nothing was counted (``docs/statistics.md``). Rates per 100 m divide sums. The
resamples depend only on the seed and the number of values or clusters, so that a summary does not depend on which other
metrics or policies are in the table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from sidestep.interfaces import Direction
from sidestep.metrics.observed import Observed, parse_observed
from sidestep.metrics.rates import DISTANCE, RATES, pooled_rate
from sidestep.metrics.score import EpisodeScores, by_policy
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.metrics.statistics import bootstrap_means, number_clusters, poisson_limits, proportion, wilson
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import Outcome

Limits = tuple[float | None, float | None]
BEYOND_ONE = frozenset({"path_length_ratio", "path_efficiency", "goal_traversal_ratio"})
"""Of the metrics with the unit ``ratio``, those that are no shares and can be more than 1."""


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
    """Of a rate: what was counted, over which distance."""


@dataclass(frozen=True, slots=True)
class PolicySummary:
    """One policy: all its episodes, how they ended, and its metrics."""

    episodes: int
    outcomes: dict[str, int]
    """Every outcome, 0 included; they sum to ``episodes``."""
    metrics: dict[str, Summary]
    privileged: bool = False
    """Whether it sees what the others do not; then it is ranked with nobody."""
    observed: Observed | None = None
    """What it was given; None: not known."""
    events: dict[str, int] | None = None
    """Episodes that stage an event, by whether it ``happened`` or was ``missed``; None where none stages one."""


@dataclass(frozen=True, slots=True)
class ResultTable:
    """Policies in the order in which they first occur."""

    policies: dict[str, PolicySummary]


def aggregate(episodes: Iterable[EpisodeScores], *, directions: Mapping[str, Direction] | None = None) -> ResultTable:
    """The table of all policies. ``directions`` (``score.directions()``) says what is better; unknown metrics
    have none."""
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
            metrics[name] = _summarise(columns[name].values, limits[name], units[name], direction)
    privileged = any(row.privileged for row in rows)
    observed = parse_observed(row.observes for row in rows)
    return PolicySummary(len(rows), outcomes, metrics, privileged, observed, events if any(events.values()) else None)


@dataclass(frozen=True, slots=True)
class _Column:
    """The valid values of a metric, and in which rows they are."""

    values: FloatArray
    rows: bytes
    """Of their indices: a key that takes little memory."""
    clusters: IntArray | None

    @classmethod
    def of(cls, rows: list[EpisodeScores], name: str) -> _Column:
        found = [(k, row.metrics[name].value) for k, row in enumerate(rows) if name in row.metrics]
        known = [(k, value) for k, value in found if not np.isnan(value)]
        values = np.array([value for _, value in known], dtype=np.float64)
        clusters = number_clusters([rows[k].cluster for k, _ in known])
        return cls(values, np.array([k for k, _ in known], dtype=np.int32).tobytes(), clusters)


def _limits(columns: Mapping[str, _Column], units: Mapping[str, str]) -> dict[str, Limits]:
    """Interval of every metric; metrics with values in the same episodes share their resamples in one matrix
    product."""
    found: dict[str, Limits] = {}
    groups: dict[bytes, list[str]] = {}
    for name, column in columns.items():
        if len(column.values) < 2:
            found[name] = (None, None)
        elif units[name] == INDICATOR_UNIT:
            found[name] = proportion(column.values, clusters=column.clusters)
        elif (at_the_edge := _edge(name, column, units[name])) is not None:
            found[name] = at_the_edge
        else:
            groups.setdefault(column.rows, []).append(name)
    for names in groups.values():
        matrix = np.stack([columns[name].values for name in names])
        low, high = bootstrap_means(matrix, clusters=columns[names[0]].clusters)
        for name, a, b in zip(names, low, high, strict=True):
            least, most = _possible(name, units[name], columns[name].values)
            found[name] = max(float(a), least), min(float(b), most)
    return found


def _possible(name: str, unit: str, values: FloatArray) -> tuple[float, float]:
    """What a mean can be, beyond which m ± t s of few clusters goes. Distances are negative where bodies overlap."""
    least = -inf if unit == "m" or values.min() < 0 else 0.0
    return least, 1.0 if unit == "ratio" and name not in BEYOND_ONE else inf


def _edge(name: str, column: _Column, unit: str) -> Limits | None:
    """Limits where resampling would give an interval of length 0. Counts that are all alike: Poisson's; shares that are
    all 0 or all 1: Wilson's, since an episode's share is at most 1; other units that are all 0 have no largest value
    and so no limit. None elsewhere."""
    n = len(column.values) if column.clusters is None else int(column.clusters.max()) + 1
    value = float(column.values[0])
    if (column.values != value).any():
        return None
    if unit == "count":
        low, high = poisson_limits(value * n)
        return low / n, high / n
    if unit == "ratio" and name not in BEYOND_ONE and value in (0.0, 1.0):
        return wilson(value * n, n)
    return None if value else (None, None)


def _summarise_rate(rows: list[EpisodeScores], name: str, unit: str, direction: Direction) -> Summary:
    parts = (RATES[name], DISTANCE)
    known = [row for row in rows if all(part in row.metrics and row.metrics[part].valid for part in parts)]
    counts, metres = (np.array([row.metrics[part].value for row in known]) for part in parts)
    rate = pooled_rate(counts, metres, [row.cluster for row in known])
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
