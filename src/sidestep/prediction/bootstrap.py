"""Intervals of prediction metrics by resampling clips and training seeds, and which predictors are significantly better
than others.

Moments of one clip are not independent (the same vehicle at the same time), so whole clips are drawn with replacement;
tracks where there are no clips. All predictors get the same draws: differences between them are paired. Predictors of
the same name are networks of one kind that were trained with different seeds: the value of the kind is the mean over
its S networks, and in every resample S networks are drawn with replacement as well. Intervals are BCa (Efron, J. Am.
Stat. Assoc. 82, 1987) with the jackknife over clips and seeds. A resample in which a metric has no value (no positives
are left) is left out of that metric's quantiles and counted in ``ResampledMetric.undefined``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from sidestep.errors import BadInput
from sidestep.metrics.statistics import FEW_CLUSTERS, bca_levels
from sidestep.prediction.roc import irs_fpr, number_clusters, rank
from sidestep.prediction.scores import MEANS, Scores
from sidestep.types.base import BoolArray, FloatArray, IntArray

RESAMPLES = 10_000
CONFIDENCE = 0.5
"""Confidence of the intervals of values, as in the paper."""
PAIR_CONFIDENCE = 0.9
"""Confidence of the intervals of differences between two predictors."""
FEW_SEEDS = 5
"""Number of training seeds below which a fifth of equal kinds, not a tenth, differ significantly."""
HEADLINES = ("irs", "nll", "ade")
HIGHER_IS_BETTER = {"irs": True, **dict.fromkeys(MEANS, False)}
_WEIGHTS_AT_ONCE = 2_000_000


@dataclass(frozen=True, eq=False)
class ResampledMetric:
    """One metric of M kinds of predictor at H horizons: values, resampled values, and values without each cluster."""

    name: str
    value: FloatArray  # (M, H); NaN: there is none
    drawn: FloatArray  # (M, H, B)
    without: FloatArray  # (M, H, C)
    without_seed: tuple[FloatArray, ...] = ()
    """(H, S) of each kind: values without each of its S networks. Empty, or S = 0: one network."""

    @property
    def undefined(self) -> IntArray:
        """(M, H) resamples in which there is no value."""
        found: IntArray = np.isnan(self.drawn).sum(axis=2)
        return found

    def interval(self, confidence: float = CONFIDENCE) -> tuple[FloatArray, FloatArray]:
        """(M, H) lower and upper limits."""
        limits = [
            bca_interval(self.value[m], self.drawn[m], (self.without[m], *self.without_seed[m : m + 1]), confidence)
            for m in range(len(self.value))
        ]
        low, high = (np.stack(each) for each in zip(*limits, strict=True))
        return low, high

    def difference(self, one: int, other: int, confidence: float = PAIR_CONFIDENCE) -> tuple[FloatArray, ...]:
        """(H,) value of predictor ``one`` minus that of ``other``, and its lower and upper limits."""
        value = self.value[one] - self.value[other]
        drawn, without = self.drawn[one] - self.drawn[other], self.without[one] - self.without[other]
        seeds = [sign * self.without_seed[k] for sign, k in ((1.0, one), (-1.0, other)) if self.without_seed]
        return value, *bca_interval(value, drawn, (without, *seeds), confidence)


@dataclass(frozen=True, eq=False)
class Bootstrap:
    """Metrics of several kinds of predictor on the same moments."""

    models: tuple[str, ...]
    horizons_s: FloatArray  # (H,)
    tracks: int
    metrics: Mapping[str, ResampledMetric]
    clusters: int = 0
    """What was resampled: clips, or tracks."""
    over: str = "tracks"
    """``clips`` or ``tracks``."""
    seeds: tuple[int, ...] = ()
    """(M,) predictors of each kind: one, or networks of several training seeds."""
    one_seed: tuple[str, ...] = ()
    """Kinds that were trained, with one seed: how much seeds differ is in no interval."""

    def described(self) -> str:
        """What was resampled, in words."""
        many = [f"{number} training seeds of {name}" for name, number in zip(self.models, self.seeds, strict=False)]
        several = [text for text, number in zip(many, self.seeds, strict=True) if number > 1]
        return " and ".join([f"{self.clusters or self.tracks} {self.over}", *several])

    def cautions(self) -> list[str]:
        """Where intervals say too little: few clips, networks of few training seeds."""
        found = []
        if 0 < self.clusters < FEW_CLUSTERS:
            found.append(f"Only {self.clusters} {self.over} were resampled: intervals are too narrow.")
        if self.one_seed:
            found.append(
                f"Trained with one seed: {', '.join(self.one_seed)}. How much seeds differ is in no interval; give "
                "networks of several seeds under one label before calling one better."
            )
        few = [name for name, number in zip(self.models, self.seeds, strict=False) if 1 < number < FEW_SEEDS]
        if few:
            found.append(f"Fewer than {FEW_SEEDS} training seeds: {', '.join(few)}. Intervals are too narrow.")
        return found

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
    scores: Sequence[Scores], metrics: Sequence[str] = HEADLINES, resamples: int = RESAMPLES, seed: int = 0
) -> Bootstrap:
    """Resample the clips of the ``scores`` of several predictors, all of the same moments. Scores of the same name are
    networks of one kind."""
    first = _same_moments(scores)
    unknown = [name for name in metrics if name not in HIGHER_IS_BETTER]
    if unknown:
        raise BadInput(f"unknown metric {unknown[0]!r}; there are {', '.join(HIGHER_IS_BETTER)}")
    cluster, clusters = number_clusters(first)
    if clusters < 2:
        raise BadInput("there is 1 track; a bootstrap over clips or tracks needs at least two")
    kinds = tuple(dict.fromkeys(each.name for each in scores))
    members = [np.array([row for row, each in enumerate(scores) if each.name == kind]) for kind in kinds]
    made = {name: _Estimator(name, scores, cluster, clusters) for name in metrics}
    drawn: dict[str, list[FloatArray]] = {name: [] for name in metrics}
    weights = [_seed_weights(len(rows), resamples, seed, k) for k, rows in enumerate(members)]
    done = 0
    for counts in resampled_counts(clusters, resamples, seed):
        part = slice(done, done + len(counts))
        done += len(counts)
        for name, estimate in made.items():
            each = estimate(counts)
            kind = [np.einsum("shb,bs->hb", each[rows], w[part]) for rows, w in zip(members, weights, strict=True)]
            drawn[name].append(np.clip(np.stack(kind), 0.0, 1.0) if name == "irs" else np.stack(kind))
    everybody, leave_out = np.ones((1, clusters)), 1.0 - np.eye(clusters)
    found = {}
    for name, estimate in made.items():
        each, left = estimate(everybody)[..., 0], estimate(leave_out)
        found[name] = ResampledMetric(
            name,
            np.stack([each[rows].mean(axis=0) for rows in members]),
            np.concatenate(drawn[name], axis=2),
            np.stack([left[rows].mean(axis=0) for rows in members]),
            tuple(_without_seed(each[rows]) for rows in members),
        )
    over = "clips" if first.clip is not None and len(np.unique(first.clip)) == clusters else "tracks"
    one_seed = tuple(
        kind for kind, rows in zip(kinds, members, strict=True) if len(rows) == 1 and scores[rows[0]].is_network
    )
    seeds = tuple(len(rows) for rows in members)
    return Bootstrap(kinds, first.horizons_s, len(np.unique(first.track)), found, clusters, over, seeds, one_seed)


def _seed_weights(networks: int, resamples: int, seed: int, kind: int) -> FloatArray:
    """(B, S) weights of the networks of one kind in each resample; their sum is 1.

    The deviations of a plain resample are stretched by √(S / (S - 1)): the variance of the mean of S networks is then
    that of an unbiased estimate, s² / S, which matters as S is small (Rao, Wu, J. Am. Stat. Assoc. 83, 1988)."""
    if networks == 1:
        return np.ones((resamples, 1))
    rng = np.random.default_rng([seed, networks, 1 + kind])
    counts = rng.multinomial(networks, np.full(networks, 1.0 / networks), resamples)
    stretched: FloatArray = 1.0 / networks + (counts - 1.0) / networks * np.sqrt(networks / (networks - 1.0))
    return stretched


def _without_seed(values: FloatArray) -> FloatArray:
    """(H, S) means over the other networks, from values (S, H); (H, 0) for one network."""
    networks = len(values)
    if networks == 1:
        return np.zeros((values.shape[1], 0))
    found: FloatArray = ((values.sum(axis=0) - values) / (networks - 1)).T
    return found


def _same_moments(scores: Sequence[Scores]) -> Scores:
    if not scores:
        raise BadInput("no scores are given")
    first = scores[0]
    for other in scores[1:]:
        same = np.array_equal(first.track, other.track) and np.array_equal(first.known, other.known)
        if not same or not np.array_equal(first.horizons_s, other.horizons_s):
            raise BadInput(f"{other.name} and {first.name} are scored on different moments; give both the same samples")
    return first


def resampled_counts(clusters: int, resamples: int, seed: int) -> Iterator[FloatArray]:
    """Blocks (b, clusters) of how often each cluster is drawn; all blocks together have ``resamples`` rows."""
    rng = np.random.default_rng([seed, clusters])
    block = max(_WEIGHTS_AT_ONCE // clusters, 1)
    for first in range(0, resamples, block):
        rows = min(block, resamples - first)
        place = rng.integers(0, clusters, (rows, clusters)) + clusters * np.arange(rows)[:, None]
        counts = np.bincount(place.ravel(), minlength=rows * clusters).reshape(rows, clusters)
        yield counts.astype(np.float64)


class _Estimator:
    """A metric of all predictors and horizons as a function of how often each cluster counts."""

    def __init__(self, name: str, scores: Sequence[Scores], cluster: IntArray, clusters: int) -> None:
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
                sums.append(np.bincount(cluster[known], values[known, h], clusters))
                numbers.append(np.bincount(cluster[known], minlength=clusters).astype(np.float64))
        self._sums, self._numbers = np.stack(sums, axis=1), np.stack(numbers, axis=1)

    def __call__(self, counts: FloatArray) -> FloatArray:
        """(M, H, B) for ``counts (B, C)``."""
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
    value: FloatArray, drawn: FloatArray, without: tuple[FloatArray, ...], confidence: float
) -> tuple[FloatArray, FloatArray]:
    """(…) limits of ``value (…)`` from resampled values (…, B) and, for each thing that is resampled, values without
    each of its units (…, n). NaN where there is no value; both limits equal the value where no resample differs. Limits
    hold the value: where it takes few steps, as a sensitivity near 1 does, the correction alone may pass it.

    The acceleration of several independent samples is that of their influences together, (n - 1) / n times the
    jackknife's deviations (Davison, Hinkley, *Bootstrap Methods and their Application*, 1997, section 5.3)."""
    low, high = np.full(value.shape, np.nan), np.full(value.shape, np.nan)
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    for place in np.ndindex(value.shape):
        row = drawn[place]
        row = row[np.isfinite(row)]
        left = [each[place][np.isfinite(each[place])] for each in without]
        if not np.isfinite(value[place]) or not len(row) or not len(left[0]):
            continue
        if row.min() == row.max():
            low[place] = high[place] = value[place]
            continue
        influence = np.concatenate([(each.mean() - each) * (1.0 - 1.0 / len(each)) for each in left if len(each)])
        levels = bca_levels(influence[None], row[None], value[place][None], tails)[0]
        limits = np.quantile(row, levels)
        low[place], high[place] = min(limits[0], value[place]), max(limits[1], value[place])
    return low, high


@dataclass(frozen=True, eq=False)
class RocBand:
    """A ROC curve at F false positive rates, with an interval of the true positive rate at each."""

    fpr: FloatArray  # (F,)
    tpr: FloatArray  # (F,)
    low: FloatArray  # (F,)
    high: FloatArray  # (F,)


def roc_band(
    scores: Sequence[Scores],
    h: int,
    fpr: FloatArray,
    resamples: int = 1000,
    seed: int = 0,
    confidence: float = CONFIDENCE,
) -> RocBand:
    """The curve of horizon number ``h`` with its band: the mean over the networks of one kind."""
    rankings = [rank(each, h) for each in scores]
    clusters = number_clusters(scores[0])[1]
    weights, drawn, done = _seed_weights(len(scores), resamples, seed, 0), [], 0
    for counts in resampled_counts(clusters, resamples, seed):
        each = np.stack([ranking.sensitivity(counts, fpr) for ranking in rankings], axis=1)
        drawn.append(np.clip(np.einsum("bsf,bs->bf", each, weights[done : done + len(counts)]), 0.0, 1.0))
        done += len(counts)
    every = np.stack([ranking.sensitivity(np.ones((1, clusters)), fpr)[0] for ranking in rankings])
    without = np.stack([ranking.sensitivity(1.0 - np.eye(clusters), fpr) for ranking in rankings]).mean(axis=0)
    value = every.mean(axis=0)
    limits = bca_interval(value, np.concatenate(drawn).T, (without.T, _without_seed(every)), confidence)
    return RocBand(fpr, value, *limits)
