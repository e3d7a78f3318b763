"""A number over episodes with its 95 % interval: rates, means, and ratios of sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import log

import numpy as np

from sidestep.metrics.intervals import bootstrap_means, resampled_means, wilson

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


def rate(values: Sequence[float | None]) -> Estimate:
    """Share of episodes in which something holds (1, else 0), with Wilson's interval."""
    known = [value for value in values if value is not None]
    if not known:
        return Estimate(of=len(values))
    return Estimate(sum(known) / len(known), *wilson(sum(known), len(known), CONFIDENCE), len(known), len(values))


def mean(values: Sequence[float | None]) -> Estimate:
    """Mean over the episodes that have a value, with the bootstrap's interval."""
    known = np.array([value for value in values if value is not None], dtype=np.float64)
    if not len(known):
        return Estimate(of=len(values))
    if len(known) < 2:
        return Estimate(float(known[0]), None, None, 1, len(values))
    low, high = bootstrap_means(known[None], CONFIDENCE, resamples=RESAMPLES)
    return Estimate(float(known.mean()), float(low[0]), float(high[0]), len(known), len(values))


def share(values: Sequence[float | None]) -> Estimate:
    """Mean of shares; where all are 0 or 1 they are a rate, of which the bootstrap would say too much."""
    return rate(values) if {value for value in values if value is not None} <= {0.0, 1.0} else mean(values)


def ratio_of_sums(above: Sequence[float], below: Sequence[float], factor: float = 1.0) -> Estimate:
    """``factor`` · Σ above ÷ Σ below, so that long episodes count for more. Interval: episodes are resampled and both
    sums taken anew (percentiles)."""
    pair = np.array([above, below], dtype=np.float64)
    n = pair.shape[1]
    if not n or pair[1].sum() <= 0:
        return Estimate(of=n)
    value = float(factor * pair[0].sum() / pair[1].sum())
    if n < 2:
        return Estimate(value, None, None, n, n)
    sums = resampled_means(pair, RESAMPLES, seed=0)
    ratios = factor * sums[0][sums[1] > 0] / sums[1][sums[1] > 0]
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high), n, n)


def count_rate(counts: Sequence[float], ways: Sequence[float], factor: float) -> Estimate:
    """``ratio_of_sums`` of counts over ways. Where nothing was counted there is nothing to resample: the upper limit is
    then Poisson's, -ln(0.025) events over the whole way."""
    found = ratio_of_sums(counts, ways, factor)
    if found.value != 0:
        return found
    high = -factor * log((1 - CONFIDENCE) / 2) / sum(ways)
    return Estimate(0.0, 0.0, high, found.n, found.of)
