"""Events per 100 m over many episodes: the sums are divided, and below a minimum distance a bound is given with the
count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sidestep.metrics.sidewalk import LEAST_TOTAL_M
from sidestep.metrics.statistics import number_clusters, poisson_limits, resampled_sums
from sidestep.types.base import FloatArray, IntArray

DISTANCE = "distance_driven"
RATES: Mapping[str, str] = {
    "failures_per_100m": "failures",
    "collisions_per_100m": "collisions",
    "off_route_per_100m": "off_route_count",
    "freezes_per_100m": "freeze_count",
}
"""Metric → the count that it divides by ``DISTANCE``."""
_ALL_SWAPS_UP_TO = 13
"""Largest number of clusters whose sides are swapped in all possible ways; for more, 10,000 ways are drawn."""
_DRAWN_SWAPS = 10_000


@dataclass(frozen=True, slots=True)
class Rate:
    """``value`` per 100 m with its interval. Below ``LEAST_TOTAL_M`` the value is None and the limits are a bound."""

    value: float | None
    low: float | None
    high: float | None
    count: float
    metres: float

    @property
    def bound(self) -> str:
        """``≥ 10.9 (4 in 10 m)``, ``≤ 36.9 (0 in 10 m)``, ``12 in 0 m``; empty if there is a value."""
        if self.value is not None:
            return ""
        counted = f"{self.count:g} in {self.metres:.0f} m"
        if self.low is None or self.high is None:
            return counted
        return f"≥ {self.low:.3g} ({counted})" if self.count else f"≤ {self.high:.3g} ({counted})"


def pooled_rate(
    counts: FloatArray,
    metres: FloatArray,
    names: list[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Rate:
    """100 · Σ counts / Σ metres. Interval: percentiles of the ratio of both sums over resampled episodes, or clusters
    called ``names``. Poisson's limits are used if nothing was counted, if there is one episode, and below
    ``LEAST_TOTAL_M``, where the rate itself is not given."""
    count, total = float(counts.sum()), float(metres.sum())
    if total <= 0:
        return Rate(None, None, None, count, 0.0)
    few = total < LEAST_TOTAL_M
    if few or count == 0 or len(counts) < 2:
        low, high = (100 * limit / total for limit in poisson_limits(count, confidence))
        return Rate(None if few else 100 * count / total, low, high, count, total)
    clusters = number_clusters(names) if names else None
    low, high = ratio_limits(np.stack([counts, metres]), clusters, 100, confidence, resamples, seed)
    return Rate(100 * count / total, low, high, count, total)


def ratio_limits(
    pair: FloatArray,
    clusters: IntArray | None = None,
    factor: float = 1.0,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[float, float]:
    """Percentiles of ``factor`` · Σ pair[0] / Σ pair[1] over resampled columns, or clusters of columns."""
    sums = resampled_sums(_by_cluster(pair, clusters), resamples, seed)
    ratios = factor * sums[0][sums[1] > 0] / sums[1][sums[1] > 0]
    low, high = np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


@dataclass(frozen=True, slots=True)
class RateDifference:
    """Pooled rates per 100 m of two policies over the same episodes, and the interval and p of second - first."""

    first: float
    second: float
    low: float | None
    high: float | None
    p: float


def compare_rates(
    counts: FloatArray, metres: FloatArray, clusters: IntArray | None = None, resamples: int = 2000, seed: int = 0
) -> RateDifference | None:
    """Difference of the rates of the first and second row of ``counts`` and ``metres``, (2, n); None if one of them
    is only a bound.

    Interval: percentiles of the difference over resampled pairs, or clusters of pairs; none where nothing was counted.
    p: share of the ways to swap the two sides of pairs (of all pairs of a cluster at once) with a difference at least
    as large, as it would be if the policies were alike.
    """
    if metres.sum(axis=1).min() < LEAST_TOTAL_M:
        return None
    sums = _by_cluster(np.vstack([counts, metres]), clusters)
    first, second = (float(rate) for rate in _rates(sums.sum(axis=1)[:, None])[:, 0])
    if not counts.any():
        return RateDifference(first, second, None, None, 1.0)
    drawn = resampled_sums(sums, resamples, seed)
    drawn = _rates(drawn[:, (drawn[2:] > 0).all(axis=0)])
    low, high = (float(limit) for limit in np.quantile(drawn[1] - drawn[0], [0.025, 0.975]))
    return RateDifference(first, second, low, high, _swapped_p(sums, abs(second - first), seed))


def _rates(sums: FloatArray) -> FloatArray:
    """(2, K) rates per 100 m of (4, K): counts of both sides, then metres."""
    rates: FloatArray = 100 * sums[:2] / sums[2:]
    return rates


def _swapped_p(sums: FloatArray, observed: float, seed: int) -> float:
    n = sums.shape[1]
    if n <= _ALL_SWAPS_UP_TO:
        swaps = (np.arange(2**n)[:, None] >> np.arange(n) & 1).astype(np.float64)
    else:
        drawn = np.random.default_rng([seed, n]).integers(0, 2, (_DRAWN_SWAPS - 1, n))
        swaps = np.vstack([np.zeros(n), drawn])  # as it was is one of the ways
    moved = (sums[[1, 0, 3, 2]] - sums) @ swaps.T + sums.sum(axis=1)[:, None]
    moved = moved[:, (moved[2:] > 0).all(axis=0)]
    first, second = _rates(moved)
    return float(np.mean(np.abs(second - first) >= observed * (1 - 1e-9)))


def _by_cluster(pair: FloatArray, clusters: IntArray | None) -> FloatArray:
    if clusters is None:
        return pair
    return np.stack([np.bincount(clusters, row) for row in pair])
