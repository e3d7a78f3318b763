"""Intervals of prediction metrics by resampling tracks, and which predictors are significantly better than others.

Moments of one track are not independent, so whole tracks are drawn with replacement. All predictors get the same
draws: differences between them are paired. Intervals are BCa (Efron, J. Am. Stat. Assoc. 82, 1987) with the jackknife
over tracks. A resample in which a metric has no value (no positives are left) is left out of that metric's quantiles
and counted in ``Metric.undefined``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sidestep.errors import BadInput
from sidestep.interactions.roc import irs_fpr, number_tracks, rank
from sidestep.interactions.scores import MEANS, Scores
from sidestep.metrics.statistics import bca_levels
from sidestep.types.base import BoolArray, FloatArray, IntArray

RESAMPLES = 10_000
CONFIDENCE = 0.5
"""Of the intervals of values, as in the paper."""
PAIR_CONFIDENCE = 0.9
"""Of the intervals of differences between two predictors."""
HEADLINES = ("irs", "nll", "ade")
HIGHER_IS_BETTER = {"irs": True, **dict.fromkeys(MEANS, False)}
_WEIGHTS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class Metric:
    """One metric of M predictors at H horizons: values, resampled values, and values without each track."""

    name: str
    value: FloatArray  # (M, H); NaN: there is none
    drawn: FloatArray  # (M, H, B)
    without: FloatArray  # (M, H, T)

    @property
    def undefined(self) -> IntArray:
        """(M, H) resamples in which there is no value."""
        found: IntArray = np.isnan(self.drawn).sum(axis=2)
        return found

    def interval(self, confidence: float = CONFIDENCE) -> tuple[FloatArray, FloatArray]:
        """(M, H) lower and upper limits."""
        return bca_interval(self.value, self.drawn, self.without, confidence)

    def difference(self, one: int, other: int, confidence: float = PAIR_CONFIDENCE) -> tuple[FloatArray, ...]:
        """(H,) value of predictor ``one`` minus that of ``other``, and its lower and upper limits."""
        value = self.value[one] - self.value[other]
        drawn, without = self.drawn[one] - self.drawn[other], self.without[one] - self.without[other]
        return value, *bca_interval(value, drawn, without, confidence)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Metrics of several predictors on the same moments."""

    models: tuple[str, ...]
    horizons_s: FloatArray  # (H,)
    tracks: int
    metrics: Mapping[str, Metric]

    def better(self, metric: str, confidence: float = PAIR_CONFIDENCE) -> BoolArray:
        """(H, M, M) whether predictor i is significantly better than j: the interval of their difference leaves 0 on
        the good side."""
        found = np.zeros((len(self.horizons_s), len(self.models), len(self.models)), bool)
        sign = 1.0 if HIGHER_IS_BETTER[metric] else -1.0
        for i in range(len(self.models)):
            for j in range(i):
                _, low, high = self.metrics[metric].difference(i, j, confidence)
                found[:, i, j] = (low > 0.0) if sign > 0 else (high < 0.0)
                found[:, j, i] = (high < 0.0) if sign > 0 else (low > 0.0)
        return found

    def optimal(self, metric: str, complexity: Sequence[int] | None = None) -> list[str]:
        """(H,) the optimal predictor at each horizon: of those than which no other is significantly better, the one of
        least ``complexity`` (default: the number of features in names as ``motion+map``), then of best value. Empty
        where no predictor has a value."""
        cost = [name.count("+") for name in self.models] if complexity is None else list(complexity)
        better, value = self.better(metric), self.metrics[metric].value
        sign = 1.0 if HIGHER_IS_BETTER[metric] else -1.0
        found = []
        for h in range(len(self.horizons_s)):
            left = [m for m in range(len(self.models)) if not better[h, :, m].any() and np.isfinite(value[m, h])]
            chosen = min(left, key=lambda m: (cost[m], -sign * value[m, h]), default=None)
            found.append("" if chosen is None else self.models[chosen])
        return found


def bootstrap_scores(
    scores: Sequence[Scores],
    metrics: Sequence[str] = HEADLINES,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Bootstrap:
    """Resample the tracks of the ``scores`` of several predictors, all of the same moments."""
    first = _same_moments(scores)
    unknown = [name for name in metrics if name not in HIGHER_IS_BETTER]
    if unknown:
        raise BadInput(f"unknown metric {unknown[0]!r}; there are {', '.join(HIGHER_IS_BETTER)}")
    track, tracks = number_tracks(first)
    if tracks < 2:
        raise BadInput(f"there is {tracks} track; a bootstrap over tracks needs at least two")
    made = {name: _Estimator(name, scores, track, tracks) for name in metrics}
    drawn: dict[str, list[FloatArray]] = {name: [] for name in metrics}
    for counts in resampled_counts(tracks, resamples, seed):
        for name, estimate in made.items():
            drawn[name].append(estimate(counts))
    everybody, leave_out = np.ones((1, tracks)), 1.0 - np.eye(tracks)
    found = {
        name: Metric(name, estimate(everybody)[..., 0], np.concatenate(drawn[name], axis=2), estimate(leave_out))
        for name, estimate in made.items()
    }
    return Bootstrap(tuple(each.name for each in scores), first.horizons_s, tracks, found)


def _same_moments(scores: Sequence[Scores]) -> Scores:
    if not scores:
        raise BadInput("no scores are given")
    first = scores[0]
    for other in scores[1:]:
        same = np.array_equal(first.track, other.track) and np.array_equal(first.known, other.known)
        if not same or not np.array_equal(first.horizons_s, other.horizons_s):
            raise BadInput(f"{other.name} and {first.name} are scored on different moments; give both the same samples")
    return first


def resampled_counts(tracks: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Blocks (b, tracks) of how often each track is drawn; all blocks together have ``resamples`` rows."""
    rng = np.random.default_rng([seed, tracks])
    block = max(_WEIGHTS_AT_ONCE // tracks, 1)
    for first in range(0, resamples, block):
        rows = min(block, resamples - first)
        place = rng.integers(0, tracks, (rows, tracks)) + tracks * np.arange(rows)[:, None]
        counts = np.bincount(place.ravel(), minlength=rows * tracks).reshape(rows, tracks)
        yield counts.astype(np.float64)


class _Estimator:
    """A metric of all predictors and horizons as a function of how often each track counts."""

    def __init__(self, name: str, scores: Sequence[Scores], track: IntArray, tracks: int) -> None:
        self._shape = len(scores), len(scores[0].horizons_s)
        self._rankings, self._fpr = [], irs_fpr(scores[0].horizons_s)
        if name == "irs":
            self._rankings = [rank(each, h) for each in scores for h in range(self._shape[1])]
            return
        sums, numbers = [], []
        for each in scores:
            values = getattr(each, name)
            for h in range(self._shape[1]):
                known = each.known[:, h]
                sums.append(np.bincount(track[known], values[known, h], tracks))
                numbers.append(np.bincount(track[known], minlength=tracks).astype(np.float64))
        self._sums, self._numbers = np.stack(sums, axis=1), np.stack(numbers, axis=1)

    def __call__(self, counts: FloatArray) -> FloatArray:
        """(M, H, B) for ``counts (B, T)``."""
        if self._rankings:
            fpr = np.tile(self._fpr, self._shape[0])
            counts = counts.astype(np.float32)
            each = [ranking.sensitivity(counts, fpr[k : k + 1])[:, 0] for k, ranking in enumerate(self._rankings)]
            return np.stack(each).reshape(*self._shape, len(counts))
        above, below = (np.einsum("bt,tk->kb", counts, part) for part in (self._sums, self._numbers))
        with np.errstate(invalid="ignore"):
            found: FloatArray = (above / below).reshape(*self._shape, len(counts))
        return found


def bca_interval(
    value: FloatArray, drawn: FloatArray, without: FloatArray, confidence: float
) -> tuple[FloatArray, FloatArray]:
    """(…) limits of ``value (…)`` from resampled values (…, B) and values without each track (…, T). NaN where there is
    no value; both limits equal the value where no resample differs from it."""
    low, high = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    for place in np.ndindex(value.shape):
        row, left = drawn[place], without[place]
        row, left = row[np.isfinite(row)], left[np.isfinite(left)]
        if not np.isfinite(value[place]) or not len(row) or not len(left):
            continue
        if row.min() == row.max():
            low[place] = high[place] = value[place]
            continue
        influence = (left.mean() - left)[None]
        levels = bca_levels(influence, row[None], value[place][None], tails)[0]
        low[place], high[place] = np.quantile(row, levels)
    return low, high


@dataclass(frozen=True, eq=False)
class RocBand:
    """A ROC curve at F false positive rates, with an interval of the true positive rate at each."""

    fpr: FloatArray  # (F,)
    tpr: FloatArray  # (F,)
    low: FloatArray  # (F,)
    high: FloatArray  # (F,)


def roc_band(
    scores: Scores, h: int, fpr: FloatArray, resamples: int = 1000, seed: int = 0, confidence: float = CONFIDENCE
) -> RocBand:
    """The curve of horizon number ``h`` with its band."""
    ranking = rank(scores, h)
    tracks = number_tracks(scores)[1]
    drawn = np.concatenate([ranking.sensitivity(counts, fpr) for counts in resampled_counts(tracks, resamples, seed)])
    value = ranking.sensitivity(np.ones((1, tracks)), fpr)[0]
    without = ranking.sensitivity(1.0 - np.eye(tracks), fpr)
    return RocBand(fpr, value, *bca_interval(value, drawn.T, without.T, confidence))
