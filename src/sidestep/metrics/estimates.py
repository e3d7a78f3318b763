"""Estimates over episodes: a mean, proportion or rate with its 95 % interval. Every interval in a
summary, a table, a report and on a board is computed here; ``docs/statistics.md`` has the rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from sidestep.metrics.rates import Rate, pooled_rate, ratio_limits
from sidestep.metrics.score import load_metrics
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.metrics.statistics import bootstrap_means, number_clusters, poisson_limits, proportion
from sidestep.types.base import FloatArray, IntArray

Limits = tuple[float | None, float | None]
Kind = Literal["proportion", "share", "count", "signed", "amount"]
"""Kind of the values that are averaged, which decides their interval: 0 or 1 in each episode; a share, 0 to 1; a
count; a number that can be negative; any other number, which is not negative."""
BEYOND_ONE = frozenset({"path_length_ratio", "path_efficiency", "goal_traversal_ratio"})
"""Metrics with the unit ``ratio`` that are not shares and can be more than 1."""


@dataclass(frozen=True)
class Estimate:
    """Estimate over the ``n`` of ``of`` episodes that have a value. ``value`` is None if no episode has one; ``low``
    and ``high`` are None if there is no interval."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    of: int = 0
    bound: str = ""
    """Bound and count of a rate over too few metres, which has no value."""
    sd: float | None = None
    """Sample standard deviation over episodes, where it is shown in place of an interval."""
    reason: str = ""
    """Why there is no value."""

    @property
    def reach(self) -> tuple[float, float]:
        """The interval, or the value alone; only where there is a value."""
        assert self.value is not None
        return self.value if self.low is None else self.low, self.value if self.high is None else self.high


def kind_of(name: str, unit: str) -> Kind:
    """The kind of a metric. Distances are signed: they are negative where bodies overlap."""
    if unit == INDICATOR_UNIT:
        return "proportion"
    if unit == "ratio":
        return "amount" if name in BEYOND_ONE else "share"
    if unit == "count":
        return "count"
    return "signed" if unit == "m" else "amount"


def metric_kind(name: str) -> Kind:
    """The kind of a registered metric."""
    [metric] = load_metrics([name])
    return kind_of(name, metric.unit)


def mean(values: Sequence[float | None], clusters: Sequence[str] | None = None, kind: Kind = "amount") -> Estimate:
    """Mean over the episodes that have a value, with its interval. ``clusters``: the cluster of each episode."""
    known, numbers = _known(values, clusters)
    if not len(known):
        return Estimate(of=len(values))
    [(low, high)] = mean_limits([known], [kind], numbers)
    return Estimate(mean_value(known), low, high, len(known), len(values))


def rate(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Proportion of episodes in which something holds (1, else 0), with Wilson's interval."""
    return mean(values, clusters, "proportion")


def share(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Mean of shares, 0 to 1."""
    return mean(values, clusters, "share")


def mean_with_spread(values: Sequence[float | None], of: int) -> Estimate:
    """Mean and sample standard deviation, without an interval, of the values that exist in ``of`` episodes."""
    known, _ = _known(values, None)
    if not len(known):
        return Estimate(of=of)
    return Estimate(mean_value(known), n=len(known), of=of, sd=deviation(known))


def count_rate(
    counts: Sequence[float], distances_m: Sequence[float], clusters: Sequence[str] | None = None
) -> Estimate:
    """Counts per 100 m of all distances together; over less than 100 m a bound with the count."""
    if not len(counts):
        return Estimate()
    names = list(clusters) if clusters else None
    found = pooled_rate(np.array(counts, float), np.array(distances_m, float), names)
    return rate_estimate(found, len(counts), len(counts))


def rate_estimate(found: Rate, n: int, of: int, reason: str = "") -> Estimate:
    """A pooled rate over ``n`` of ``of`` episodes."""
    return Estimate(found.value, found.low, found.high, n, of, found.bound, reason=reason)


def ratio_of_sums(
    above: Sequence[float], below: Sequence[float], factor: float = 1.0, clusters: Sequence[str] | None = None
) -> Estimate:
    """``factor`` · Σ above ÷ Σ below, so that long episodes count for more. Interval: percentiles over resampled
    episodes or clusters; none where the value is 0."""
    pair = np.array([above, below], dtype=np.float64)
    n = pair.shape[1]
    if not n or pair[1].sum() <= 0:
        return Estimate(of=n)
    value = float(factor * pair[0].sum() / pair[1].sum())
    if n < 2 or value == 0:
        return Estimate(value, None, None, n, n)
    low, high = ratio_limits(pair, number_clusters(clusters) if clusters else None, factor)
    return Estimate(value, low, high, n, n)


def mean_value(values: FloatArray) -> float:
    """The mean, never outside the values by a rounding error."""
    return float(np.clip(values.mean(), values.min(), values.max()))


def deviation(values: FloatArray) -> float | None:
    """Sample standard deviation (n - 1); None for fewer than two values."""
    return float(values.std(ddof=1)) if len(values) > 1 else None


def mean_limits(rows: Sequence[FloatArray], kinds: Sequence[Kind], clusters: IntArray | None) -> list[Limits]:
    """Interval of the mean of every row of values, each of its kind and over the same episodes. Rows that are
    bootstrapped share their resamples in one matrix product."""
    limits: dict[int, Limits] = {}
    for index, (values, kind) in enumerate(zip(rows, kinds, strict=True)):
        if (found := _without_resampling(values, kind, clusters)) is not None:
            limits[index] = found
    rest = [index for index in range(len(rows)) if index not in limits]
    if rest:
        lows, highs = bootstrap_means(np.stack([rows[index] for index in rest]), clusters=clusters)
        for index, low, high in zip(rest, lows, highs, strict=True):
            least, most = _possible(kinds[index], rows[index])
            limits[index] = max(float(low), least), min(float(high), most)
    return [limits[index] for index in range(len(rows))]


def _without_resampling(values: FloatArray, kind: Kind, clusters: IntArray | None) -> Limits | None:
    """The interval if it needs no bootstrap, else None.

    Fewer than two values have no interval. Proportions, and shares that are all 0 or 1, have Wilson's: the bootstrap's
    would be too short, and of length 0 where all are alike. Counts that are all alike have Poisson's. Other values that
    are all 0 have no largest value, and so no limit.
    """
    if len(values) < 2:
        return None, None
    if kind == "proportion" or (kind == "share" and np.isin(values, (0.0, 1.0)).all()):
        return proportion(values, clusters=clusters)
    value = float(values[0])
    if (values != value).any():
        return None
    if kind == "count":
        n = len(values) if clusters is None else int(clusters.max()) + 1
        low, high = poisson_limits(value * n)
        return low / n, high / n
    return None if value else (None, None)


def _possible(kind: Kind, values: FloatArray) -> tuple[float, float]:
    """Range in which a mean can be; m ± t s of few clusters can exceed it."""
    return -inf if kind == "signed" or values.min() < 0 else 0.0, 1.0 if kind == "share" else inf


def _known(values: Sequence[float | None], clusters: Sequence[str] | None) -> tuple[FloatArray, IntArray | None]:
    """The values that exist, and the numbers of their clusters."""
    present = [k for k, value in enumerate(values) if value is not None]
    numbers = number_clusters([clusters[k] for k in present]) if clusters else None
    return np.array([values[k] for k in present], dtype=np.float64), numbers
