"""Coefficients of reliability: agreement of raters, consistency of items, repetition of sets.

Intraclass correlations (Shrout and Fleiss, Psychological Bulletin 86, 1979), Krippendorff's alpha (Krippendorff,
Content Analysis, 2004; Computing Krippendorff's Alpha-Reliability, 2011), Cronbach's alpha (Cronbach, Psychometrika 16,
1951) with Feldt's interval (Feldt, Psychometrika 30, 1965). Every coefficient is a ``Coefficient``: a value with its
interval, or none and the reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray

CONFIDENCE = 0.95
RESAMPLES = 1000
LEAST_UNITS = 10
"""Minimum number of units for an interval of Krippendorff's alpha: fewer cannot be resampled."""
SAME = 1e-9
"""Means that differ by less are equal."""
Level = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True)
class Coefficient:
    """``n`` units (targets, runs), each rated ``k`` times at most. If ``value`` is None, ``reason`` explains why."""

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    k: int = 0
    reason: str = ""

    def document(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


@dataclass(frozen=True)
class MeanSquares:
    """Mean squares of the analysis of variance of ``n`` targets by ``k`` judges, one rating each. Pooled over blocks,
    ``n`` and ``k`` are the weights with which variances of judges and of targets enter."""

    n: float
    k: float
    targets: float
    within: float
    judges: float
    error: float
    freedom: tuple[int, int, int]
    """Degrees of freedom of targets, judges and error."""


def mean_squares(*blocks: FloatArray) -> MeanSquares:
    """The mean squares of complete ratings (n ≥ 2 targets, k ≥ 2 judges), pooled over blocks: each has targets and
    judges of its own, and differences between blocks count for nothing."""
    sums, freedoms = np.zeros(3), np.zeros(3, np.int64)
    for ratings in blocks:
        n, k = ratings.shape
        grand = ratings.mean()
        total = float(np.square(ratings - grand).sum())
        targets = float(k * np.square(ratings.mean(axis=1) - grand).sum())
        judges = float(n * np.square(ratings.mean(axis=0) - grand).sum())
        sums += [targets, judges, max(0.0, total - targets - judges)]
        freedoms += [n - 1, k - 1, (n - 1) * (k - 1)]
    sizes = np.array([block.shape for block in blocks])
    between, across, error = (sums / freedoms).tolist()
    weights = (sizes[:, ::-1] * (sizes - 1)).sum(axis=0) / (sizes - 1).sum(axis=0)
    within = float((sums[1] + sums[2]) / (freedoms[1] + freedoms[2]))
    freedom = (int(freedoms[0]), int(freedoms[1]), int(freedoms[2]))
    return MeanSquares(float(weights[1]), float(weights[0]), between, within, across, error, freedom)


ICC_FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")


def complete_ratings(ratings: FloatArray) -> FloatArray:
    """Ratings (targets, judges) without the targets and judges of missing ones (NaN): as long as there is one, the
    target or the judge that has the largest share of missing ratings is left out; of equal ones the target."""
    while (missing := np.isnan(ratings)).any():
        rows, columns = missing.mean(axis=1), missing.mean(axis=0)
        row, column = int(rows.argmax()), int(columns.argmax())
        ratings = np.delete(ratings, row, 0) if rows[row] >= columns[column] else np.delete(ratings, column, 1)
    return ratings


def intraclass_correlations(*blocks: FloatArray, confidence: float = CONFIDENCE) -> dict[str, Coefficient]:
    """All six forms for ratings (n targets, k judges), with missing ones left out as by ``complete_ratings``.

    ICC(1,·): every target has its own judges. ICC(2,·): judges are a sample, absolute agreement. ICC(3,·): these judges
    only, consistency. (·,1): one judge; (·,k): the mean of k. Several blocks are pooled, and have no interval, because
    their judges are the same people.
    """
    completed = [complete_ratings(block) for block in blocks]
    usable = [block for block in completed if min(block.shape) >= 2]
    n = sum(len(block) for block in usable or completed)
    k = max((block.shape[1] for block in usable or completed), default=0)
    reason = ""
    if k < 2:
        reason = "fewer than two raters"
    elif not usable:
        reason = "fewer than two targets that every rater rated"
    elif all(np.ptp(block) < SAME for block in usable):
        reason = "all ratings are equal"
    elif all(np.ptp(block, axis=0).max() < SAME for block in usable):
        reason = "no rater rated any two targets differently"
    if reason:
        return {name: Coefficient(name, n=n, k=k, reason=reason) for name in ICC_FORMS}
    square = mean_squares(*usable)
    found = {
        "ICC(1,1)": _one_way(square, confidence),
        "ICC(2,1)": _two_way_random(square, confidence),
        "ICC(3,1)": _two_way_fixed(square, confidence),
    }
    if len(usable) > 1:
        found = {name: (value, None, None) for name, (value, _, _) in found.items()}
    single = {name: Coefficient(name, *values, n, k) for name, values in found.items()}
    averaged = {}
    for name, one in single.items():
        several = name.replace(",1)", ",k)")
        value, low, high = (_of_mean(limit, square.k) for limit in (one.value, one.low, one.high))
        reason = "targets differ less than chance allows for" if value is None else ""
        averaged[several] = Coefficient(several, value, low, high, n, k, reason)
    return single | averaged


Limits = tuple[float, float | None, float | None]


def _of_mean(value: float | None, k: float) -> float | None:
    """The reliability of a mean of k from that of one (Spearman and Brown): k r / (1 + (k - 1) r)."""
    if value is None:
        return None
    below = 1 + (k - 1) * value
    return k * value / below if below > 1e-12 else None


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else float("inf")


def _from_f(f: float, k: float) -> float:
    """(F - 1) / (F + k - 1), 1 for an infinite F."""
    return 1.0 if f == float("inf") else (f - 1) / (f + k - 1)


def _one_way(square: MeanSquares, confidence: float) -> Limits:
    return _consistency(_ratio(square.targets, square.within), square, sum(square.freedom[1:]), confidence)


def _two_way_fixed(square: MeanSquares, confidence: float) -> Limits:
    return _consistency(_ratio(square.targets, square.error), square, square.freedom[2], confidence)


def _consistency(f: float, square: MeanSquares, freedom: int, confidence: float) -> Limits:
    from scipy.stats import f as distribution

    level = (1 + confidence) / 2
    low = f / float(distribution.ppf(level, square.freedom[0], freedom))
    high = f * float(distribution.ppf(level, freedom, square.freedom[0]))
    return _from_f(f, square.k), _from_f(low, square.k), _from_f(high, square.k)


def _two_way_random(square: MeanSquares, confidence: float) -> Limits:
    from scipy.stats import f as distribution

    n, k, b, j, e = square.n, square.k, square.targets, square.judges, square.error
    between, across, rest = square.freedom
    below = b + (k - 1) * e + k * (j - e) / n
    if below <= 0:
        return 0.0, None, None
    value = (b - e) / below
    if e == 0:
        return value, None, None
    ratio = k * value * j / e
    scaled = n * (1 + (k - 1) * value) - k * value
    freedom = (ratio + scaled) ** 2 / (ratio**2 / across + scaled**2 / rest)
    level = (1 + confidence) / 2
    above, under = float(distribution.ppf(level, between, freedom)), float(distribution.ppf(level, freedom, between))
    spread = k * j + (k * n - k - n) * e
    low = n * (b - above * e) / (above * spread + n * b)
    high = n * (under * b - e) / (spread + n * under * b)
    return value, low, high


def krippendorff_alpha(
    ratings: FloatArray,
    level: Level = "ordinal",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Coefficient:
    """Alpha of ratings (units, raters), NaN where missing, or (units, raters, items); what fewer than two rated does
    not count.

    alpha = 1 - D_o / D_e, observed over expected disagreement. Items are kept apart: ratings of an item are expected to
    disagree as those of this item do in any two units, so that raters do not agree by telling items from each other.
    Both disagreements are summed over items, ordinal ones in shares of the ratings of the item. The interval holds the
    middle of the values over resampled units, with all their items; fewer than ten units have none.
    """
    apart = ratings if ratings.ndim == 3 else ratings[:, :, None]
    name = f"Krippendorff's alpha ({level})"
    raters = apart.shape[1]
    pairable = ((~np.isnan(apart)).sum(axis=1) >= 2).any(axis=1)
    apart = apart[pairable]
    units = len(apart)
    if not units:
        return Coefficient(name, k=raters, reason="no unit has two ratings")
    values = np.unique(apart[~np.isnan(apart)])
    counts = np.stack([(apart == value).sum(axis=1) for value in values], axis=2).astype(np.float64)
    counts[counts.sum(axis=2) < 2] = 0.0
    if level == "ratio" and values[0] < 0:
        raise BadInput("ratio level: values must not be negative; use interval")
    alpha = _alpha(counts, values, level)
    if alpha is None:
        reason = "all ratings are equal" if len(values) < 2 else "all ratings of the same item are equal"
        return Coefficient(name, n=units, k=raters, reason=reason)
    low, high = _resampled_alpha(counts, values, level, confidence, resamples, seed)
    return Coefficient(name, alpha, low, high, units, raters)


def _alpha(counts: FloatArray, values: FloatArray, level: Level) -> float | None:
    """1 - D_o / D_e of counts (units, items, V) of every value: D_o sums the differences within units, each divided by
    m_u - 1, D_e those of all ratings of the item together, divided by n - 1."""
    marginal = counts.sum(axis=0)
    size = marginal.sum(axis=1)
    places = np.broadcast_to(values, marginal.shape)
    if level == "ordinal":  # ranks take the place of values: δ² = (Σ_(g = c … k) n_g - (n_c + n_k) / 2)²
        places = (np.cumsum(marginal, axis=1) - marginal / 2) / np.maximum(size, 1)[:, None]
    within = _differences(counts, places, level) / np.maximum(counts.sum(axis=2) - 1, 1)
    expected = float((_differences(marginal[None], places, level)[0] / np.maximum(size - 1, 1)).sum())
    return 1 - float(within.sum()) / expected if expected > 1e-12 else None


def _differences(counts: FloatArray, values: FloatArray, level: Level) -> FloatArray:
    """(units, items) sum of δ² over all ordered pairs of the ratings in each, given as counts (units, items, V) of
    values (items, V)."""
    size = counts.sum(axis=2)
    if level == "nominal":
        return np.asarray(size**2 - np.square(counts).sum(axis=2))
    if level == "ratio":
        total = values[:, :, None] + values[:, None]
        distance = ((values[:, :, None] - values[:, None]) / np.where(total > 0, total, 1.0)) ** 2
        return np.asarray((np.einsum("uiv,ivw->uiw", counts, distance) * counts).sum(axis=2))
    centred = values - values.mean(axis=1, keepdims=True)
    return np.asarray(2 * (size * (counts * centred**2).sum(axis=2) - (counts * centred).sum(axis=2) ** 2))


def _resampled_alpha(
    counts: FloatArray, values: FloatArray, level: Level, confidence: float, resamples: int, seed: int
) -> tuple[float | None, float | None]:
    units = len(counts)
    if units < LEAST_UNITS or not resamples:
        return None, None
    rng = np.random.default_rng([seed, units])
    found = []
    for _ in range(resamples):
        drawn = counts[rng.integers(0, units, units)]
        alpha = _alpha(drawn, values, level)
        if alpha is not None:
            found.append(alpha)
    if len(found) < resamples / 2:
        return None, None
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)


def cronbach_alpha(
    answers: FloatArray,
    participants: Sequence[str] | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Coefficient:
    """Alpha of reverse-coded answers (runs, items): k / (k - 1) (1 - Σ var_i / var of sums), complete runs only.

    The interval is Feldt's. Where participants have several runs, these are not independent: with at least ten
    participants, whole participants are resampled instead.
    """
    name = "Cronbach's alpha"
    whole = ~np.isnan(answers).any(axis=1)
    complete = answers[whole]
    n, k = complete.shape
    if k < 2 or n < 3:
        return Coefficient(name, n=n, k=k, reason="fewer than two items" if k < 2 else "fewer than three complete runs")
    value = _cronbach(complete)
    if value is None:
        return Coefficient(name, n=n, k=k, reason="all runs have the same sum")
    groups = None if participants is None else np.unique(np.array(participants)[whole], return_inverse=True)[1]
    if groups is not None and 10 <= int(groups.max()) + 1 < n:
        return Coefficient(name, value, *_resampled_cronbach(complete, groups, confidence, resamples, seed), n, k)
    from scipy.stats import f as distribution

    low, high = (
        1 - (1 - value) * float(distribution.ppf(tail, n - 1, (n - 1) * (k - 1)))
        for tail in ((1 + confidence) / 2, (1 - confidence) / 2)
    )
    return Coefficient(name, value, low, high, n, k)


def _cronbach(complete: FloatArray) -> float | None:
    k = complete.shape[1]
    total = float(complete.sum(axis=1).var(ddof=1))
    if total <= 1e-12:
        return None
    apart = float(complete.var(axis=0, ddof=1).sum())
    return float(k / (k - 1) * (1 - apart / total))


def _resampled_cronbach(
    complete: FloatArray, groups: Any, confidence: float, resamples: int, seed: int
) -> tuple[float | None, float | None]:
    rows = [np.flatnonzero(groups == group) for group in range(int(groups.max()) + 1)]
    rng = np.random.default_rng([seed, len(rows)])
    found = []
    for _ in range(resamples):
        drawn = np.concatenate([rows[group] for group in rng.integers(0, len(rows), len(rows))])
        value = _cronbach(complete[drawn])
        if value is not None:
            found.append(value)
    if len(found) < resamples / 2:
        return None, None
    low, high = np.quantile(found, [(1 - confidence) / 2, (1 + confidence) / 2])
    return float(low), float(high)
