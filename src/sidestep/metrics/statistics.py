"""Confidence intervals of proportions, means and rates, and tests of paired differences, for episodes that come in
clusters.

Episodes that share a crowd window or a town are not independent. A *cluster* holds such episodes; it is drawn
whole or not at all, and a test takes one number per cluster. ``clusters`` is (n,) the number of the cluster of
every value, or None where all are independent. Formulas and sources are in ``docs/statistics.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from sidestep.types.base import FloatArray, IntArray

FEW_CLUSTERS = 10
"""With fewer clusters than this, resampling them says too little, and Student's t takes the bootstrap's place."""
_COUNTS_AT_ONCE = 4_000_000
"""Resamples × values that are held in memory together."""


def number_clusters(names: Sequence[str]) -> IntArray | None:
    """(n,) number of each name in order of appearance; an empty name is a cluster of its own. None where nothing
    repeats, or where all share one: then there is nothing to learn about other clusters, and what is estimated is this
    one."""
    numbers: dict[str, int] = {}
    index = [numbers.setdefault(name or f"\0{place}", len(numbers)) for place, name in enumerate(names)]
    return np.array(index, dtype=np.int64) if 1 < len(numbers) < len(index) else None


def normal_quantile(confidence: float) -> float:
    """z such that a standard normal is within ±z with probability ``confidence``."""
    from scipy.special import ndtri

    return float(ndtri((1 + confidence) / 2))


def wilson(successes: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Wilson's score interval of a proportion (Wilson, J. Am. Stat. Assoc. 22, 1927): inside [0, 1], sound
    for small n."""
    z = normal_quantile(confidence)
    share = successes / n
    scale = 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z / scale * sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return max(0.0, min(centre - half, share)), min(1.0, max(centre + half, share))


def proportion(values: FloatArray, confidence: float = 0.95, clusters: IntArray | None = None) -> tuple[float, float]:
    """Wilson's interval of the mean of ``values`` (n,), all 0 or 1, with the effective number of independent ones."""
    n = effective_number(values, confidence, clusters)
    return wilson(float(values.mean()) * n, n, confidence)


def effective_number(values: FloatArray, confidence: float = 0.95, clusters: IntArray | None = None) -> float:
    """Number of independent values of 0 or 1 that carry as much information as ``values`` in their clusters (Korn and
    Graubard, Survey Methodology 24, 1998): p (1 - p) / var(p), at most n, with a correction by Student's t for few
    clusters. Where all values are alike, the clusters are counted instead."""
    n = len(values)
    if clusters is None:
        return float(n)
    from scipy.special import stdtrit

    groups = int(clusters.max()) + 1
    mean = float(values.mean())
    if mean in (0.0, 1.0):
        return float(groups)
    variance = float(clustered_variance(values[None], clusters)[0])
    independent = mean * (1 - mean) / variance if variance > 0 else float(n)
    t_correction = (normal_quantile(confidence) / float(stdtrit(groups - 1, (1 + confidence) / 2))) ** 2
    return max(1.0, min(n, independent) * t_correction)


def clustered_variance(values: FloatArray, clusters: IntArray) -> FloatArray:
    """(M,) variance of the means of the rows of ``values`` (M, n): C / (C - 1) · Σ_c (Σ_i in c (x_i - m))² / n², the
    linearised variance of a ratio of sums over C clusters."""
    sums, sizes = _cluster_sums(values, clusters)
    groups, n = len(sizes), values.shape[1]
    residual = sums - values.mean(axis=1)[:, None] * sizes
    variance: FloatArray = groups / (groups - 1) * np.square(residual).sum(axis=1) / n**2
    return variance


def _cluster_sums(values: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """(M, C) sums of the rows of ``values`` (M, n) by cluster, and (C,) sizes of the clusters."""
    sizes = np.bincount(clusters).astype(np.float64)
    return np.stack([np.bincount(clusters, row, len(sizes)) for row in values]), sizes


def poisson_limits(count: float, confidence: float = 0.95) -> tuple[float, float]:
    """Exact limits of the expectation of a Poisson count (Garwood, Biometrika 28, 1936). Nothing counted: 0 and
    -ln((1 - confidence) / 2), 3.69 for 95 %."""
    from scipy.special import gammaincinv

    tail = (1 - confidence) / 2
    low = float(gammaincinv(count, tail)) if count > 0 else 0.0
    return low, float(gammaincinv(count + 1, 1 - tail))


def resampled_sums(values: FloatArray, resamples: int, seed: int) -> FloatArray:
    """(M, R) sums of R resamples with replacement of the columns of ``values`` (M, n), the same for every row."""
    n = values.shape[1]
    rng = np.random.default_rng([seed, n])
    parts = []
    left = resamples
    while left:
        block = min(left, max(1, _COUNTS_AT_ONCE // n))
        drawn = rng.integers(0, n, (block, n)) + np.arange(block)[:, None] * n
        counts = np.bincount(drawn.ravel(), minlength=block * n).reshape(block, n).astype(np.float64)
        parts.append(values @ counts.T)
        left -= block
    return np.concatenate(parts, axis=1)


def resampled_means(values: FloatArray, resamples: int, seed: int, clusters: IntArray | None = None) -> FloatArray:
    """(M, R) means of R resamples with replacement of ``values`` (M, n), the same resamples for every row; whole
    clusters are drawn where there are some."""
    if clusters is None:
        independent: FloatArray = resampled_sums(values, resamples, seed) / values.shape[1]
        return independent
    sums, sizes = _cluster_sums(values, clusters)
    drawn = resampled_sums(np.vstack([sums, sizes]), resamples, seed)
    means: FloatArray = drawn[:-1] / drawn[-1]
    return means


def bootstrap_means(
    values: FloatArray,
    confidence: float = 0.95,
    resamples: int = 2000,
    seed: int = 0,
    clusters: IntArray | None = None,
) -> tuple[FloatArray, FloatArray]:
    """(M,) lower and upper limits of the means of the rows of ``values`` (M, n), n ≥ 2. A constant row has
    its value as both.

    Corrected for bias and skewness (BCa; Efron, J. Am. Stat. Assoc. 82, 1987), with the jackknife's acceleration over
    clusters, which for independent values has the closed form a = Σ (x - m)³ / (6 (Σ (x - m)²)^(3/2)). Fewer than
    ``FEW_CLUSTERS`` clusters: m ± t s with the clustered standard error s and C - 1 degrees of freedom.
    """
    mean = values.mean(axis=1)
    constant = values.min(axis=1) == values.max(axis=1)
    if clusters is not None and (groups := int(clusters.max()) + 1) < FEW_CLUSTERS:
        from scipy.special import stdtrit

        half = float(stdtrit(groups - 1, (1 + confidence) / 2)) * np.sqrt(clustered_variance(values, clusters))
        limits = np.stack([mean - half, mean + half], axis=1)
    else:
        means = resampled_means(values, resamples, seed, clusters)
        tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
        levels = bca_levels(_influence(values, clusters), means, mean, tails)
        limits = np.array([np.quantile(row, level) for row, level in zip(means, levels, strict=True)])
    low, high = np.where(constant, values[:, 0], limits[:, 0]), np.where(constant, values[:, 0], limits[:, 1])
    return low, high


def _influence(values: FloatArray, clusters: IntArray | None) -> FloatArray:
    """(M, n or C) how far the mean moves down when a value, or a cluster, is left out, up to a factor."""
    influence: FloatArray
    if clusters is None:
        influence = values - values.mean(axis=1)[:, None]
        return influence
    sums, sizes = _cluster_sums(values, clusters)
    without = (sums.sum(axis=1)[:, None] - sums) / (values.shape[1] - sizes)
    influence = without.mean(axis=1)[:, None] - without
    return influence


def bca_levels(influence: FloatArray, means: FloatArray, mean: FloatArray, tails: FloatArray) -> FloatArray:
    """(M, 2) quantiles of the resampled means that replace the nominal tails."""
    from scipy.special import ndtr, ndtri

    resamples = means.shape[1]
    slack = 1e-12 * np.maximum(np.abs(means).max(axis=1), np.abs(mean))[:, None]  # sums in another order are still ties
    below = (means < mean[:, None] - slack).mean(axis=1) + (means <= mean[:, None] + slack).mean(axis=1)
    bias = ndtri(np.clip(below / 2, 1 / (resamples + 1), resamples / (resamples + 1)))[:, None]
    square = np.square(influence).sum(axis=1)
    acceleration = (influence**3).sum(axis=1) / (6 * np.where(square > 0, square, 1.0) ** 1.5)
    shifted = bias + ndtri(tails)
    levels: FloatArray = ndtr(bias + shifted / (1 - acceleration[:, None] * shifted))
    return levels


EXACT_UP_TO = 50
"""Pairs for which Wilcoxon's distribution is counted out; beyond, the normal approximation is as good."""
_STEPS = 80
"""Bisections of an interval of length 2: far below any printed digit."""


def tango_interval(gained: float, lost: float, n: float, confidence: float = 0.95) -> tuple[float, float]:
    """Score interval of the difference of two paired proportions (Tango, Statistics in Medicine 17, 1998).

    Of ``n`` pairs, ``gained`` hold for the second only and ``lost`` for the first only; the difference is
    (gained - lost) / n. Never of length 0, also without discordant pairs.
    """
    z = normal_quantile(confidence)
    estimate = (gained - lost) / n

    def score(delta: float) -> float:
        """How many standard errors the estimate is from ``delta``, with the nuisance parameter at its best for it."""
        b = -gained - lost + (2 * n - gained + lost) * delta
        c = -lost * delta * (1 - delta)
        q = (sqrt(max(b * b - 8 * n * c, 0.0)) - b) / (4 * n)
        variance = n * (2 * q + delta * (1 - delta))
        gap = gained - lost - n * delta
        return gap / sqrt(variance) if variance > 0 else (0.0 if gap == 0 else float("inf") * gap)

    def solve(inside: float, outside: float, target: float) -> float:
        for _ in range(_STEPS):
            middle = (inside + outside) / 2
            if abs(score(middle)) < target:
                inside = middle
            else:
                outside = middle
        return (inside + outside) / 2

    return solve(estimate, -1.0, z), solve(estimate, 1.0, z)


def paired_proportion(
    difference: FloatArray, confidence: float = 0.95, clusters: IntArray | None = None
) -> tuple[float, float]:
    """Tango's interval of the mean of ``difference`` (n,), each -1, 0 or 1. In clusters the counts are divided by the
    design effect, the ratio of the clustered to the independent variance, where that is above 1."""
    n = float(len(difference))
    effect = 1.0
    if clusters is not None:
        independent = float(difference.var()) / n
        clustered = float(clustered_variance(difference[None], clusters)[0])
        groups = int(clusters.max()) + 1
        effect = max(1.0, clustered / independent if independent > 0 else n / groups)
    gained, lost = float((difference > 0).sum()), float((difference < 0).sum())
    return tango_interval(gained / effect, lost / effect, n / effect, confidence)


def sign_flip_p(difference: FloatArray, clusters: IntArray | None = None) -> float:
    """Two-sided exact p that the whole numbers ``difference`` are as often positive as negative: every cluster's sum
    keeps or turns its sign with equal chance. Without clusters, for -1, 0 and 1, this is McNemar's exact test."""
    sums = difference if clusters is None else np.bincount(clusters, difference)
    return _flipped_sum_p(np.rint(sums).astype(np.int64))


def _flipped_sum_p(sums: IntArray) -> float:
    """Share of all sign patterns of ``sums`` whose total is at least as far from 0 as theirs."""
    sizes = np.abs(sums[sums != 0])
    if not len(sizes):
        return 1.0
    total = int(sizes.sum())
    chance = np.ones(1)  # chance[k]: that the positive ones among the first sizes add up to k
    for size in sizes:
        chance = 0.5 * (np.pad(chance, (0, size)) + np.pad(chance, (size, 0)))
    positive = int(sums[sums > 0].sum())
    far = np.abs(2 * np.arange(total + 1) - total) >= abs(2 * positive - total)
    return float(min(1.0, chance[far].sum()))


def wilcoxon_p(difference: FloatArray, clusters: IntArray | None = None) -> float | None:
    """Two-sided p of the signed-rank test (Wilcoxon, Biometrics Bulletin 1, 1945), zeros by Pratt's method; 1 when all
    pairs are equal, none without pairs. Up to 50 pairs exact, with ties too: every sign pattern of the ranks is equally
    likely. In clusters the pairs are the clusters' means."""
    if len(difference) == 0:
        return None
    if clusters is not None:
        difference = np.bincount(clusters, difference) / np.bincount(clusters)
    if not difference.any():
        return 1.0
    from scipy.stats import rankdata, wilcoxon

    if len(difference) > EXACT_UP_TO:
        tested = wilcoxon(difference, zero_method="pratt", method="asymptotic")  # type: ignore[call-overload]
        return float(tested.pvalue)
    doubled = np.rint(2 * rankdata(np.abs(difference))).astype(np.int64)  # whole numbers, ties or not
    return _flipped_sum_p(np.where(difference > 0, doubled, np.where(difference < 0, -doubled, 0)))


def holm(p: Sequence[float | None]) -> list[float | None]:
    """The p-values corrected for their number (Holm, Scandinavian Journal of Statistics 6, 1979): the k-th smallest of
    m times m - k + 1, never falling. A pair without a p-value is no comparison and does not count."""
    order = sorted((value, index) for index, value in enumerate(p) if value is not None)
    corrected: list[float | None] = [None] * len(p)
    reached = 0.0
    for rank, (value, index) in enumerate(order):
        reached = max(reached, min(1.0, value * (len(order) - rank)))
        corrected[index] = reached
    return corrected
