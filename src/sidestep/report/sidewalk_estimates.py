"""A number over episodes with its 95 % interval: rates, means, and ratios of sums.

``clusters``: what each episode shares with others (a town, a place); episodes that share it are drawn together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sidestep.metrics.intervals import bootstrap_means, number_clusters, proportion, resampled_sums
from sidestep.metrics.rates import pooled_rate
from sidestep.types.base import FloatArray, IntArray

CONFIDENCE = 0.95
RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """``n`` of ``of`` episodes have a value. ``value`` None: none has; ``low`` and ``high`` None: too few have."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    of: int = 0
    bound: str = ""
    """Of a rate over too few metres, which has no value: its bound and count."""


def _known(values: Sequence[float | None], clusters: Sequence[str] | None) -> tuple[FloatArray, IntArray | None]:
    """The values that there are, and their clusters where some repeat."""
    places = [k for k, value in enumerate(values) if value is not None]
    numbers = number_clusters([clusters[k] for k in places]) if clusters else None
    return np.array([values[k] for k in places], dtype=np.float64), numbers


def rate(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Share of episodes in which something holds (1, else 0), with Wilson's interval."""
    known, numbers = _known(values, clusters)
    if not len(known):
        return Estimate(of=len(values))
    return Estimate(float(known.mean()), *proportion(known, CONFIDENCE, numbers), len(known), len(values))


def mean(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Mean over the episodes that have a value, with the bootstrap's interval; no interval where all values are 0."""
    known, numbers = _known(values, clusters)
    if not len(known):
        return Estimate(of=len(values))
    if len(known) < 2 or not known.any():
        return Estimate(float(known[0]), None, None, len(known), len(values))
    low, high = bootstrap_means(known[None], CONFIDENCE, resamples=RESAMPLES, clusters=numbers)
    return Estimate(float(known.mean()), float(low[0]), float(high[0]), len(known), len(values))


def share(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Mean of shares, 0 to 1; where all are 0 or 1 they are a rate, of which the bootstrap would say too much."""
    if {value for value in values if value is not None} <= {0.0, 1.0}:
        return rate(values, clusters)
    found = mean(values, clusters)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def ratio_of_sums(above: Sequence[float], below: Sequence[float], factor: float = 1.0) -> Estimate:
    """``factor`` · Σ above ÷ Σ below, so that long episodes count for more. Interval: episodes are resampled and both
    sums taken anew (percentiles)."""
    pair = np.array([above, below], dtype=np.float64)
    n = pair.shape[1]
    if not n or pair[1].sum() <= 0:
        return Estimate(of=n)
    value = float(factor * pair[0].sum() / pair[1].sum())
    if n < 2 or value == 0:
        return Estimate(value, None, None, n, n)
    sums = resampled_sums(pair, RESAMPLES, seed=0)
    ratios = factor * sums[0][sums[1] > 0] / sums[1][sums[1] > 0]
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high), n, n)


def count_rate(counts: Sequence[float], ways: Sequence[float], clusters: Sequence[str] | None = None) -> Estimate:
    """Counts per 100 m of all ways together; over less than 100 m a bound with the count."""
    names = list(clusters) if clusters else None
    found = pooled_rate(np.array(counts, float), np.array(ways, float), names, CONFIDENCE, RESAMPLES)
    if not len(counts):
        return Estimate()
    return Estimate(found.value, found.low, found.high, len(counts), len(counts), found.bound)
