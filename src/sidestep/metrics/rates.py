"""Events per 100 m over many episodes: the sums are divided, and a rate over too few metres is a bound with its
count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sidestep.metrics.intervals import number_clusters, poisson_limits, resampled_sums
from sidestep.metrics.sidewalk import LEAST_TOTAL_M
from sidestep.types.base import FloatArray, IntArray

DISTANCE = "distance_driven"
RATES: Mapping[str, str] = {
    "failures_per_100m": "failures",
    "collisions_per_100m": "collisions",
    "off_route_per_100m": "off_route_count",
    "freezes_per_100m": "freeze_count",
}
"""Metric → the count that it divides by ``DISTANCE``."""


@dataclass(frozen=True, slots=True)
class Rate:
    """``value`` per 100 m with its interval; None over less than ``LEAST_TOTAL_M``, where the limits are a bound."""

    value: float | None
    low: float | None
    high: float | None
    count: float
    metres: float

    @property
    def bound(self) -> str:
        """``≥ 10.9 (4 in 10 m)``, ``≤ 36.9 (0 in 10 m)``, ``12 in 0 m``; nothing where there is a value."""
        if self.value is not None:
            return ""
        told = f"{self.count:g} in {self.metres:.0f} m"
        if self.low is None or self.high is None:
            return told
        return f"≥ {self.low:.3g} ({told})" if self.count else f"≤ {self.high:.3g} ({told})"


def pooled_rate(
    counts: FloatArray,
    metres: FloatArray,
    names: list[str] | None = None,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
) -> Rate:
    """100 · Σ counts / Σ metres. Interval: episodes, or clusters called ``names``, are resampled and both sums taken
    anew (percentiles). Poisson's limits where nothing was counted, where there is one episode, and over less than
    ``LEAST_TOTAL_M``, where the rate itself is not given."""
    count, total = float(counts.sum()), float(metres.sum())
    if total <= 0:
        return Rate(None, None, None, count, 0.0)
    few = total < LEAST_TOTAL_M
    if few or count == 0 or len(counts) < 2:
        low, high = (100 * limit / total for limit in poisson_limits(count, confidence))
        return Rate(None if few else 100 * count / total, low, high, count, total)
    pair = _by_cluster(np.stack([counts, metres]), number_clusters(names) if names else None)
    sums = resampled_sums(pair, resamples, seed)
    ratios = 100 * sums[0][sums[1] > 0] / sums[1][sums[1] > 0]
    low, high = (float(limit) for limit in np.quantile(ratios, [(1 - confidence) / 2, (1 + confidence) / 2]))
    return Rate(100 * count / total, low, high, count, total)


def _by_cluster(pair: FloatArray, clusters: IntArray | None) -> FloatArray:
    if clusters is None:
        return pair
    return np.stack([np.bincount(clusters, row) for row in pair])
