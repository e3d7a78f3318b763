"""Rates of zone violations: ROC curves, and the In-ROI Sensitivity (IRS), the true positive rate at a stated false
positive rate.

A moment is positive if the pedestrian was in the zone at the horizon; it is called positive if the predicted
probability is above a threshold. Moments with the same probability cannot be separated by a threshold: the rates
between two thresholds are those of calling a share of the tied moments positive at random, a straight line of the
curve. The sensitivity at a rate α is the highest with a false positive rate of at most α.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.prediction.scores import Scores
from sidestep.types.base import BoolArray, FloatArray, IntArray

IRS_FPR = {1.0: 0.025, 2.0: 0.05, 3.0: 0.10, 4.0: 0.15}
"""Acceptable false positive rate for each horizon in seconds (Herman and others, 2021, section IV.C)."""
DIGITS = 9
"""Probabilities that agree to so many digits are tied."""
_SLACK = 1e-9
NO_POSITIVES = "no relevant moment with the pedestrian in the zone"
NO_NEGATIVES = "no relevant moment with the pedestrian outside the zone: the false positive rate is not defined"


def irs_fpr(horizons_s: FloatArray) -> FloatArray:
    """(H,) acceptable false positive rates; between the paper's horizons by straight lines."""
    found: FloatArray = np.interp(horizons_s, list(IRS_FPR), list(IRS_FPR.values()))
    return found


@dataclass(frozen=True)
class Sensitivity:
    """A true positive rate, or the reason why there is none."""

    value: float
    """NaN: there is none."""
    fpr: float
    threshold: float
    """Moments above it are called positive, and a share of those at it."""
    positives: int
    negatives: int
    reason: str = ""


class Ranking:
    """Moments of one horizon in order of their probability, for rates under any weights of the clusters.

    A *cluster* is what is resampled as a whole: a clip or a track. Tied moments form a group, and neighbouring groups a
    cell. Which cell reaches a false positive rate is found for all weights with one matrix product, the group then
    within that cell. Sums of whole weights are exact in any order, so that the number of threads does not matter.
    """

    def __init__(self, p: FloatArray, truth: BoolArray, cluster: IntArray, clusters: int) -> None:
        """``p``, ``truth``, ``cluster (n,)``: probability, whether positive, number of the cluster."""
        rounded = np.round(p, DIGITS)
        order = np.argsort(-rounded, kind="stable")
        self._p, self._truth, self._cluster = rounded[order], np.asarray(truth, bool)[order], cluster[order]
        self._clusters = clusters
        begins = np.concatenate([[True], self._p[1:] < self._p[:-1]]) if len(p) else np.zeros(0, bool)
        self._group = np.cumsum(begins) - 1
        self.groups = int(begins.sum())
        self.positives = int(self._truth.sum())
        self.negatives = len(p) - self.positives
        self._size = max(int(np.ceil(2 * np.sqrt(self.groups))), 1)
        self._cells = -(-self.groups // self._size)
        self._coarse = self._tally(slice(None), self._group // self._size, self._cells)

    def _tally(self, rows: slice, column: IntArray, columns: int) -> tuple[FloatArray, FloatArray]:
        """(clusters, columns) numbers of negatives and positives."""
        place, truth = self._cluster[rows] * columns + column, self._truth[rows]
        shape = (self._clusters, columns)
        kind = np.float32 if len(self._p) < 100_000 else np.float64
        negative: FloatArray = np.bincount(place[~truth], minlength=self._clusters * columns).astype(kind)
        positive: FloatArray = np.bincount(place[truth], minlength=self._clusters * columns).astype(kind)
        return negative.reshape(shape), positive.reshape(shape)

    def sensitivity(self, counts: FloatArray, fpr: FloatArray) -> FloatArray:
        """(B, F) true positive rates at ``fpr (F,)``, with ``counts (B, clusters)``: how often each cluster counts. NaN
        where the weights leave no positives or no negatives."""
        found = np.full((len(counts), len(fpr)), np.nan)
        if not self.groups:
            return found
        counts = counts.astype(self._coarse[0].dtype, copy=False)
        false, true = (np.cumsum(counts @ tally, axis=1, dtype=np.float64) for tally in self._coarse)
        negatives, positives = false[:, -1], true[:, -1]
        valid = (negatives > 0) & (positives > 0)
        for f, rate in enumerate(fpr.tolist()):
            limit = rate * negatives
            beyond = false > limit[:, None] + _SLACK
            cell = np.where(beyond.any(axis=1), beyond.argmax(axis=1), self._cells)
            hit = np.where(cell == self._cells, positives, 0.0)
            for number in np.unique(cell[valid & (cell < self._cells)]).tolist():
                rows = np.flatnonzero(valid & (cell == number))
                before = (false[rows, number - 1], true[rows, number - 1]) if number else (0.0, 0.0)
                hit[rows] = before[1] + self._within(counts[rows], number, limit[rows] - before[0])
            found[valid, f] = hit[valid] / positives[valid]
        return found

    def _within(self, counts: FloatArray, cell: int, limit: FloatArray) -> FloatArray:
        """(b,) positives of a cell that are called so when ``limit (b,)`` of its negatives are."""
        first = cell * self._size
        rows = slice(*np.searchsorted(self._group, [first, first + self._size]).tolist())
        group, truth = self._group[rows] - first, self._truth[rows]
        if rows.stop - rows.start <= self._clusters:
            weight = counts[:, self._cluster[rows]]
            begins = np.flatnonzero(np.diff(group, prepend=-1))
            negative, positive = (
                np.add.reduceat(weight * kind, begins, axis=1, dtype=np.float64) for kind in (~truth, truth)
            )
        else:
            tally = self._tally(rows, group, self._size)
            negative, positive = ((counts @ each).astype(np.float64) for each in tally)
        false, true = np.cumsum(negative, axis=1), np.cumsum(positive, axis=1)
        row, at = np.arange(len(counts)), (false > limit[:, None] + _SLACK).argmax(axis=1)
        tied_negative, tied_positive = negative[row, at], positive[row, at]
        share = np.maximum(limit - (false[row, at] - tied_negative), 0.0) / tied_negative
        found: FloatArray = true[row, at] - tied_positive + share * tied_positive
        return found

    def at(self, fpr: float) -> Sensitivity:
        """The sensitivity at one false positive rate, all clusters once."""
        reason = NO_NEGATIVES if not self.negatives else ""
        reason = NO_POSITIVES if not self.positives else reason
        if reason:
            return Sensitivity(np.nan, fpr, np.nan, self.positives, self.negatives, reason)
        value = float(self.sensitivity(np.ones((1, self._clusters)), np.array([fpr]))[0, 0])
        threshold = float(self.thresholds(np.ones((1, self._clusters)), fpr)[0])
        return Sensitivity(value, fpr, threshold, self.positives, self.negatives)

    def thresholds(self, counts: FloatArray, fpr: float) -> FloatArray:
        """(B,) probabilities above which the false positive rate is at most ``fpr``, with ``counts (B, clusters)``: the
        highest one at which calling everything positive would go beyond. NaN where the weights leave no negative."""
        p, cluster = self._p[~self._truth], self._cluster[~self._truth]
        found = np.full(len(counts), np.nan)
        for row, weights in enumerate(counts):
            false = np.cumsum(weights[cluster])
            if len(false) and false[-1] > 0:
                beyond = np.searchsorted(false, fpr * false[-1] + _SLACK, side="right")
                found[row] = p[beyond] if beyond < len(p) else 0.0
        return found

    def false_alarms(self, threshold: float) -> int:
        """Number of negatives whose probability is above ``threshold``."""
        return int((self._p[~self._truth] > threshold).sum())

    def curve(self) -> tuple[FloatArray, FloatArray]:
        """(groups + 1,) false and true positive rates for every threshold, from (0, 0) to (1, 1); NaN where a kind of
        moments does not occur."""
        last = np.searchsorted(self._group, np.arange(self.groups), side="right") - 1
        false = np.concatenate([[0], np.cumsum(~self._truth)[last]])
        true = np.concatenate([[0], np.cumsum(self._truth)[last]])
        with np.errstate(invalid="ignore"):
            return false / np.float64(self.negatives), true / np.float64(self.positives)


def number_clusters(scores: Scores) -> tuple[IntArray, int]:
    """(S,) what is resampled as a whole, numbered from 0 without gaps, and how many there are: clips, or tracks where
    the scores have no clips or all are of one."""
    for names in (scores.clip, scores.track):
        found, number = np.unique(scores.track if names is None else names, return_inverse=True)
        if len(found) > 1:
            break
    return number, len(found)


def rank(scores: Scores, h: int) -> Ranking:
    """The relevant moments of horizon number ``h`` whose outcome is known."""
    number, clusters = number_clusters(scores)
    rows = scores.relevant & scores.known[:, h]
    return Ranking(scores.p_zone[rows, h], scores.in_zone[rows, h], number[rows], clusters)


def in_roi_sensitivity(scores: Scores) -> list[Sensitivity]:
    """IRS at each horizon."""
    rates = irs_fpr(scores.horizons_s).tolist()
    return [rank(scores, h).at(rate) for h, rate in enumerate(rates)]
