"""Pairs of episodes, the same scenario and seed under two policies: intervals of differences and tests.

Where episodes come in clusters (a crowd window, a town), the tests take one number per cluster, so that episodes of one
town do not count as independent. Formulas and sources are in ``docs/statistics.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

import numpy as np

from sidestep.metrics.intervals import clustered_variance, normal_quantile
from sidestep.types.base import FloatArray, IntArray

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
        return float(wilcoxon(difference, zero_method="pratt", method="asymptotic").pvalue)
    doubled = np.rint(2 * rankdata(np.abs(difference))).astype(np.int64)  # whole numbers, ties or not
    return _flipped_sum_p(np.where(difference > 0, doubled, np.where(difference < 0, -doubled, 0)))


def holm(p: Sequence[float | None]) -> list[float | None]:
    """The p-values corrected for their number (Holm, Scandinavian Journal of Statistics 6, 1979): the k-th smallest of
    m times m - k + 1, never falling. What has none is no comparison and does not count."""
    order = sorted((value, place) for place, value in enumerate(p) if value is not None)
    corrected: list[float | None] = [None] * len(p)
    reached = 0.0
    for rank, (value, place) in enumerate(order):
        reached = max(reached, min(1.0, value * (len(order) - rank)))
        corrected[place] = reached
    return corrected
