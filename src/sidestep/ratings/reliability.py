"""Do raters agree, do items belong together, does a second set repeat the first?

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
Level = Literal["nominal", "ordinal", "interval", "ratio"]


@dataclass(frozen=True)
class Coefficient:
    """``n`` units (targets, runs), each rated ``k`` times at most. ``value`` None: ``reason`` says why."""

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
    """Of an analysis of variance of ``n`` targets by ``k`` judges, one rating each."""

    n: int
    k: int
    targets: float
    within: float
    judges: float
    error: float


def mean_squares(ratings: FloatArray) -> MeanSquares:
    """The mean squares of complete ratings (n targets, k judges)."""
    n, k = ratings.shape
    grand = ratings.mean()
    total = float(np.square(ratings - grand).sum())
    targets = float(k * np.square(ratings.mean(axis=1) - grand).sum())
    judges = float(n * np.square(ratings.mean(axis=0) - grand).sum())
    error = max(0.0, total - targets - judges)
    return MeanSquares(
        n, k, targets / (n - 1), (total - targets) / (n * (k - 1)), judges / (k - 1), error / ((n - 1) * (k - 1))
    )


ICC_FORMS = ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)", "ICC(1,k)", "ICC(2,k)", "ICC(3,k)")


def intraclass_correlations(ratings: FloatArray, confidence: float = CONFIDENCE) -> dict[str, Coefficient]:
    """All six forms for ratings (n targets, k judges); targets with a missing rating (NaN) are left out.

    ICC(1,·): every target has its own judges. ICC(2,·): judges are a sample, absolute agreement. ICC(3,·): these judges
    only, consistency. (·,1): one judge; (·,k): the mean of k.
    """
    complete = ratings[~np.isnan(ratings).any(axis=1)]
    n, k = complete.shape
    reason = ""
    if k < 2:
        reason = "fewer than two raters"
    elif n < 2:
        reason = "fewer than two targets that every rater rated"
    elif np.ptp(complete) == 0:
        reason = "all ratings are equal"
    if reason:
        return {name: Coefficient(name, n=n, k=k, reason=reason) for name in ICC_FORMS}
    square = mean_squares(complete)
    found = {
        "ICC(1,1)": _one_way(square, confidence),
        "ICC(2,1)": _two_way_random(square, confidence),
        "ICC(3,1)": _two_way_fixed(square, confidence),
    }
    single = {name: Coefficient(name, *values, n, k) for name, values in found.items()}
    averaged = {}
    for name, one in single.items():
        several = name.replace(",1)", ",k)")
        value, low, high = (_of_mean(limit, k) for limit in (one.value, one.low, one.high))
        reason = "targets differ less than chance allows for" if value is None else ""
        averaged[several] = Coefficient(several, value, low, high, n, k, reason)
    return single | averaged


Limits = tuple[float, float | None, float | None]


def _of_mean(value: float | None, k: int) -> float | None:
    """The reliability of a mean of k from that of one (Spearman and Brown): k r / (1 + (k - 1) r)."""
    if value is None:
        return None
    below = 1 + (k - 1) * value
    return k * value / below if below > 1e-12 else None


def _ratio(above: float, below: float) -> float:
    return above / below if below > 0 else float("inf")


def _from_f(f: float, k: int) -> float:
    """(F - 1) / (F + k - 1), 1 for an infinite F."""
    return 1.0 if f == float("inf") else (f - 1) / (f + k - 1)


def _one_way(square: MeanSquares, confidence: float) -> Limits:
    return _consistency(_ratio(square.targets, square.within), square, square.n * (square.k - 1), confidence)


def _two_way_fixed(square: MeanSquares, confidence: float) -> Limits:
    return _consistency(_ratio(square.targets, square.error), square, (square.n - 1) * (square.k - 1), confidence)


def _consistency(f: float, square: MeanSquares, freedom: int, confidence: float) -> Limits:
    from scipy.stats import f as distribution

    level = (1 + confidence) / 2
    low = f / float(distribution.ppf(level, square.n - 1, freedom))
    high = f * float(distribution.ppf(level, freedom, square.n - 1))
    return _from_f(f, square.k), _from_f(low, square.k), _from_f(high, square.k)


def _two_way_random(square: MeanSquares, confidence: float) -> Limits:
    from scipy.stats import f as distribution

    n, k, b, j, e = square.n, square.k, square.targets, square.judges, square.error
    below = b + (k - 1) * e + k * (j - e) / n
    if below <= 0:
        return 0.0, None, None
    value = (b - e) / below
    if e == 0:
        return value, None, None
    f_judges = j / e
    scaled = n * (1 + (k - 1) * value) - k * value
    freedom = (k - 1) * (n - 1) * (k * value * f_judges + scaled) ** 2
    freedom /= (n - 1) * (k * value * f_judges) ** 2 + scaled**2
    level = (1 + confidence) / 2
    above, under = float(distribution.ppf(level, n - 1, freedom)), float(distribution.ppf(level, freedom, n - 1))
    rest = k * j + (k * n - k - n) * e
    low = n * (b - above * e) / (above * rest + n * b)
    high = n * (under * b - e) / (rest + n * under * b)
    return value, low, high


def krippendorff_alpha(
    ratings: FloatArray,
    level: Level = "ordinal",
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Coefficient:
    """Alpha of ratings (units, raters), NaN where missing; units with fewer than two ratings do not count.

    alpha = 1 - D_o / D_e, observed over expected disagreement. The interval holds the middle of the values over
    resampled units.
    """
    pairable = ratings[(~np.isnan(ratings)).sum(axis=1) >= 2]
    name = f"Krippendorff's alpha ({level})"
    units, raters = pairable.shape
    if not units:
        return Coefficient(name, k=raters, reason="no unit has two ratings")
    values = np.unique(pairable[~np.isnan(pairable)])
    if len(values) < 2:
        return Coefficient(name, n=units, k=raters, reason="all ratings are equal")
    if level == "ratio" and values[0] < 0:
        raise BadInput("ratio level: values must not be negative; use interval")
    counts = np.stack([(pairable == value).sum(axis=1) for value in values], axis=1).astype(np.float64)
    alpha = _alpha(counts, values, level)
    low, high = _resampled_alpha(counts, values, level, confidence, resamples, seed)
    return Coefficient(name, alpha, low, high, units, raters)


def _alpha(counts: FloatArray, values: FloatArray, level: Level) -> float | None:
    """1 - D_o / D_e of counts (units, V) of every value: D_o sums the differences within units, each divided by
    m_u - 1, D_e those of all ratings together, divided by n - 1."""
    marginal = counts.sum(axis=0)
    if level == "ordinal":  # ranks take the place of values: δ² = (Σ_(g = c … k) n_g - (n_c + n_k) / 2)²
        values = np.cumsum(marginal) - marginal / 2
    within = _differences(counts, values, level) / (counts.sum(axis=1) - 1)
    expected = float(_differences(marginal[None], values, level)[0]) / (float(marginal.sum()) - 1)
    return 1 - float(within.sum()) / expected if expected > 1e-12 else None


def _differences(counts: FloatArray, values: FloatArray, level: Level) -> FloatArray:
    """(sets,) sum of δ² over all ordered pairs of the ratings in each set, given as counts (sets, V)."""
    size = counts.sum(axis=1)
    if level == "nominal":
        return np.asarray(size**2 - np.square(counts).sum(axis=1))
    if level == "ratio":
        total = values[:, None] + values[None]
        distance = ((values[:, None] - values[None]) / np.where(total > 0, total, 1.0)) ** 2
        return np.asarray(((counts @ distance) * counts).sum(axis=1))
    centred = values - values.mean()
    return np.asarray(2 * (size * (counts @ centred**2) - (counts @ centred) ** 2))


def _resampled_alpha(
    counts: FloatArray, values: FloatArray, level: Level, confidence: float, resamples: int, seed: int
) -> tuple[float | None, float | None]:
    units = len(counts)
    if units < 3 or not resamples:
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
