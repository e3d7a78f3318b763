"""Confidence intervals: Wilson for proportions, bootstrap for means, vectorised over metrics."""

from __future__ import annotations

from math import sqrt
from typing import Literal

import numpy as np

from sidestep.types.base import FloatArray

Method = Literal["bca", "percentile"]

_COUNTS_AT_ONCE = 4_000_000
"""Resamples × values that are held in memory together."""


def wilson(successes: float, n: int, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson, J. Am. Stat. Assoc. 22, 1927): inside [0, 1], sound
    for small n."""
    from scipy.special import ndtri

    z = float(ndtri((1 + confidence) / 2))
    share = successes / n
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def resampled_means(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """(M, R) means of R resamples with replacement of ``values`` (M, n), the same resamples for every row."""
    n = values.shape[1]
    rng = np.random.default_rng([seed, n])
    parts = []
    left = resamples
    while left:
        block = min(left, max(1, _COUNTS_AT_ONCE // n))
        drawn = rng.integers(0, n, (block, n)) + np.arange(block)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=block * n).reshape(block, n).astype(np.float64)
        parts.append(values @ counts.T / n)
        left -= block
    return np.concatenate(parts, axis=1)


def bootstrap_means(
    values: FloatArray,
    confidence: float = 0.95,
    method: Method = "bca",
    resamples: int = 2000,
    seed: int = 0,
) -> tuple[FloatArray, FloatArray]:
    """(M,) lower and upper limits of the means of the rows of ``values`` (M, n), n ≥ 2. A constant row has
    its value as both.

    ``bca`` corrects for bias and skewness (Efron, J. Am. Stat. Assoc. 82, 1987), with the jackknife's
    acceleration, which for a mean has the closed form a = Σ (x - m)³ / (6 (Σ (x - m)²)^(3/2)).
    """
    means = resampled_means(values, resamples, seed)
    mean = values.mean(axis=1)
    constant = values.min(axis=1) == values.max(axis=1)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    levels = np.broadcast_to(tails, (len(values), 2))
    if method == "bca":
        levels = _bca_levels(values, means, mean, tails)
    limits = np.array([np.quantile(row, level) for row, level in zip(means, levels, strict=True)])
    low, high = np.where(constant, values[:, 0], limits[:, 0]), np.where(constant, values[:, 0], limits[:, 1])
    return low, high


def _bca_levels(values: FloatArray, means: FloatArray, mean: FloatArray, tails: FloatArray) -> FloatArray:
    """(M, 2) quantiles of the resampled means that replace the nominal tails."""
    from scipy.special import ndtr, ndtri

    resamples = means.shape[1]
    slack = 1e-12 * np.abs(values).max(axis=1, keepdims=True)  # sums in another order are still ties
    below = (means < mean[:, None] - slack).mean(axis=1) + (means <= mean[:, None] + slack).mean(axis=1)
    bias = ndtri(np.clip(below / 2, 1 / (resamples + 1), resamples / (resamples + 1)))[:, None]
    spread = values - mean[:, None]
    square = np.square(spread).sum(axis=1)
    acceleration = (spread**3).sum(axis=1) / (6 * np.where(square > 0, square, 1.0) ** 1.5)
    shifted = bias + ndtri(tails)
    levels: FloatArray = ndtr(bias + shifted / (1 - acceleration[:, None] * shifted))
    return levels
