"""Summaries of the drives of several predictors, and whether the metrics of predictors predict which drives better.

Outcomes are rates over episodes, encounters or time; their uncertainty comes from resampling scenarios, that of the
metrics from resampling tracks. A rank correlation of 1 says that the metric orders the predictors as the driving does.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.metrics.statistics import FEW_CLUSTERS, normal_quantile
from sidestep.prediction.bootstrap import HEADLINES, HIGHER_IS_BETTER, Bootstrap
from sidestep.prediction.gaps import BIN_S, LONGEST_S
from sidestep.prediction.loop import HUMAN, SHORT_GAP_S, LoopEpisode
from sidestep.prediction.working_points import FEW_ALARMS, WorkingPoint
from sidestep.types.base import FloatArray

OUTCOMES: dict[str, str] = {
    "failures": "episodes that do not succeed, %",
    "collisions": "episodes with a pedestrian collision, %",
    "short_gaps": f"encounters with a time gap below {SHORT_GAP_S:g} s, %",
    "gap_distance": "largest distance between the cumulative curves of time gaps of this driver and of human drivers",
    "needless_braking": "needless braking, s per minute of driving",
    "delay": "delay against the empty road where all predictors succeed, s",
    "jerk": "mean jerk, m/s³",
}
"""Measures; lower is better for each."""
RESAMPLES = 2000
CONFIDENCE = 0.9
FEWEST = 4
"""Predictors that a rank correlation needs; with three its interval would be all there is."""
BINS = round(LONGEST_S / BIN_S) + 1


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Outcomes of D drivers: values, and values of resampled scenarios."""

    drivers: tuple[str, ...]
    value: Mapping[str, FloatArray]  # (D,) each
    drawn: Mapping[str, FloatArray]  # (D, B) each
    counts: tuple[dict[str, int], ...]
    """Episodes, encounters and scenarios of each driver."""

    def interval(self, outcome: str, confidence: float = CONFIDENCE) -> tuple[FloatArray, FloatArray]:
        """(D,) lower and upper limits."""
        tail = (1.0 - confidence) / 2
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a driver without encounters has no gaps: NaN
            low, high = np.nanquantile(self.drawn[outcome], [tail, 1.0 - tail], axis=1)
        return low, high


class _Tally:
    """Sums per driver and scenario, so that outcomes follow from how often each scenario counts."""

    def __init__(self, drives: Sequence[LoopEpisode]) -> None:
        self.drivers = tuple(dict.fromkeys(each.driver for each in drives))
        clusters = list(dict.fromkeys((each.suite, each.scenario) for each in drives))
        self.clusters = len(clusters)
        predictors = [name for name in self.drivers if name != HUMAN]
        arrived: dict[tuple[str, str, int], set[str]] = {}
        for each in drives:
            if each.succeeded:
                arrived.setdefault((each.suite, each.scenario, each.seed), set()).add(each.driver)
        shape = len(self.drivers), self.clusters
        self.gaps = np.zeros((*shape, BINS))
        self.sums = {
            name: np.zeros(shape)
            for name in (
                "episodes", "failures", "collisions", "short", "encounters", "needless", "seconds", "delay", "common",
                "jerk",
            )
        }  # fmt: skip
        for each in drives:
            at = self.drivers.index(each.driver), clusters.index((each.suite, each.scenario))
            common = arrived.get((each.suite, each.scenario, each.seed), set()).issuperset(predictors)
            common = common and each.succeeded
            found = {
                "episodes": 1.0, "failures": float(not each.succeeded), "collisions": float(each.hit_somebody),
                "short": float((each.gaps_s < SHORT_GAP_S).sum()), "encounters": float(len(each.gaps_s)),
                "needless": each.needless_s, "seconds": each.duration_s, "common": float(common),
                "delay": each.duration_s - each.empty_s if common else 0.0, "jerk": each.jerk * each.duration_s,
            }  # fmt: skip
            for name, value in found.items():
                self.sums[name][at] += value
            place = np.floor(np.minimum(each.gaps_s, LONGEST_S) / BIN_S + 1e-9).astype(np.int64)
            self.gaps[at] += np.bincount(place, minlength=BINS)

    def outcomes(self, counts: FloatArray) -> dict[str, FloatArray]:
        """(D, B) of each outcome, with ``counts (B, clusters)``."""
        total = {name: values @ counts.T for name, values in self.sums.items()}
        with np.errstate(invalid="ignore", divide="ignore"):
            found = {
                "failures": 100.0 * total["failures"] / total["episodes"],
                "collisions": 100.0 * total["collisions"] / total["episodes"],
                "short_gaps": 100.0 * total["short"] / total["encounters"],
                "needless_braking": 60.0 * total["needless"] / total["seconds"],
                "delay": total["delay"] / total["common"],
                "jerk": total["jerk"] / total["seconds"],
            }
            curve = np.cumsum(np.einsum("dcg,bc->dbg", self.gaps, counts), axis=2)
            curve = curve / curve[:, :, -1:]
        if HUMAN in self.drivers:
            human = curve[self.drivers.index(HUMAN)]
            found["gap_distance"] = np.abs(curve - human).max(axis=2)
        return {name: found[name] for name in OUTCOMES if name in found}


def summarise_drives(drives: Sequence[LoopEpisode], resamples: int = RESAMPLES, seed: int = 0) -> Outcomes:
    """Outcomes of every driver. All must have driven the same scenarios with the same seeds."""
    episodes: dict[str, set[tuple[str, str, int]]] = {}
    for each in drives:
        episodes.setdefault(each.driver, set()).add((each.suite, each.scenario, each.seed))
    if len(set(map(frozenset, episodes.values()))) != 1:
        raise BadInput("the drivers did not drive the same scenarios and seeds; finish the run first")
    tally = _Tally(drives)
    rng = np.random.default_rng([seed, tally.clusters])
    place = rng.integers(0, tally.clusters, (resamples, tally.clusters))
    counts = np.stack([np.bincount(row, minlength=tally.clusters) for row in place]).astype(np.float64)
    value = tally.outcomes(np.ones((1, tally.clusters)))
    sums = {name: values.sum(axis=1) for name, values in tally.sums.items()}
    numbers = tuple(
        {"episodes": int(sums["episodes"][k]), "encounters": int(sums["encounters"][k]), "scenarios": tally.clusters}
        for k in range(len(tally.drivers))
    )
    return Outcomes(
        tally.drivers, {name: each[:, 0] for name, each in value.items()}, tally.outcomes(counts), numbers
    )  # fmt: skip


@dataclass(frozen=True)
class Correlation:
    """Rank correlation over predictors between a metric and an outcome of the driving, with its interval."""

    metric: str
    horizon_s: float
    outcome: str
    rho: float
    """1: the better the metric, the better the driving. NaN: one of them is the same for all predictors."""
    low: float
    high: float


def correlate(metrics: Bootstrap, outcomes: Outcomes, confidence: float = CONFIDENCE) -> list[Correlation]:
    """Spearman's ρ of every metric at every horizon with every outcome, over the predictors that have both. None for
    fewer than ``FEWEST`` predictors."""
    shared = [name for name in metrics.models if name in outcomes.drivers]
    if len(shared) < FEWEST:
        return []
    rows = [metrics.models.index(name) for name in shared]
    columns = [outcomes.drivers.index(name) for name in shared]
    found = []
    for name in HEADLINES:
        metric, sign = metrics.metrics[name], -1.0 if HIGHER_IS_BETTER[name] else 1.0
        for h, horizon in enumerate(metrics.horizons_s.tolist()):
            for outcome, value in outcomes.value.items():
                drawn = outcomes.drawn[outcome][columns]
                count = min(drawn.shape[1], metric.drawn.shape[2])
                one = np.concatenate([metric.value[rows, h, None], metric.drawn[rows, h, :count]], axis=1)
                other = np.concatenate([value[columns, None], drawn[:, :count]], axis=1)
                rho = spearman(sign * one, other)
                low, high = rho_interval(float(rho[0]), rho[1:], len(shared), confidence)
                found.append(Correlation(name, horizon, outcome, float(rho[0]), low, high))
    return found


def rho_interval(rho: float, drawn: FloatArray, predictors: int, confidence: float) -> tuple[float, float]:
    """Limits of a rank correlation over few predictors, around its value on Fisher's scale z = artanh ρ.

    The variance of z is (1 + ρ²/2) / (n - 3) for other predictors of the same kind (Bonett, Wright, Psychometrika 65,
    2000) plus that of ``drawn (B,)`` for other clips and scenarios. Quantiles of ``drawn`` themselves would not do:
    noise in either variable disorders ranks, so that all resampled values may lie nearer to 0 than ρ. |ρ| = 1 is taken
    as half a step of ranks below 1."""
    if not np.isfinite(rho):
        return float("nan"), float("nan")
    most = 1.0 - 6.0 / (predictors * (predictors**2 - 1.0))
    z = float(np.arctanh(np.clip(rho, -most, most)))
    spread = np.arctanh(np.clip(drawn[np.isfinite(drawn)], -most, most))
    variance = (1.0 + rho * rho / 2.0) / (predictors - 3.0) + (float(spread.var()) if len(spread) else 0.0)
    half = normal_quantile(confidence) * float(np.sqrt(variance))
    return min(float(np.tanh(z - half)), rho), max(float(np.tanh(z + half)), rho)


def spearman(one: FloatArray, other: FloatArray) -> FloatArray:
    """(B,) rank correlations of the columns of (P, B) and (P, B); NaN where a column is constant or not finite."""
    from scipy.stats import rankdata

    known = np.isfinite(one).all(axis=0) & np.isfinite(other).all(axis=0)
    a, b = (rankdata(np.where(known, each, 0.0), axis=0) for each in (one, other))
    a, b = a - a.mean(axis=0), b - b.mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        rho: FloatArray = (a * b).sum(axis=0) / np.sqrt((a * a).sum(axis=0) * (b * b).sum(axis=0))
    return np.where(known, rho, np.nan)


def loop_document(
    metrics: Bootstrap,
    outcomes: Outcomes,
    correlations: Sequence[Correlation],
    points: Mapping[str, Sequence[WorkingPoint]],
) -> dict[str, Any]:
    """Everything, for JSON."""
    drivers = []
    for k, name in enumerate(outcomes.drivers):
        entry: dict[str, Any] = {"driver": name, **outcomes.counts[k]}
        for outcome, value in outcomes.value.items():
            low, high = outcomes.interval(outcome)
            entry[outcome] = {"value": float(value[k]), "low": float(low[k]), "high": float(high[k])}
        if name in metrics.models:
            row = metrics.models.index(name)
            entry |= {each: metrics.metrics[each].value[row].tolist() for each in HEADLINES}
        if name in points:
            entry["thresholds"] = [each.threshold for each in points[name]]
            entry["working_points"] = [asdict(each) for each in points[name]]
        drivers.append(entry)
    return {
        "horizons_s": metrics.horizons_s.tolist(),
        "outcomes": {name: OUTCOMES[name] for name in outcomes.value},
        "confidence": CONFIDENCE,
        "drivers": drivers,
        "correlations": [vars(each) for each in correlations],
        "resampled": metrics.described(),
        "cautions": _cautions(metrics, outcomes, correlations, points),
    }


def _cautions(
    metrics: Bootstrap,
    outcomes: Outcomes,
    correlations: Sequence[Correlation],
    points: Mapping[str, Sequence[WorkingPoint]],
) -> list[str]:
    """Notes on what the figures do not show."""
    found = []
    if not correlations:
        found.append(
            f"No rank correlations: they need {FEWEST} predictors or more, and there are {len(metrics.models)}."
        )
    few = [each.false_alarms for some in points.values() for each in some if each.false_alarms < FEW_ALARMS]
    if few:
        found.append(
            f"{len(few)} thresholds rest on fewer than {FEW_ALARMS} false alarms (the fewest: {min(few)}); their "
            "intervals are in working_points, and --ends drives at them."
        )
    numbers = {
        "clips of the validation split": [each.clips for some in points.values() for each in some],
        f"{metrics.over} of the test split": [metrics.clusters],
        "scenarios": [each["scenarios"] for each in outcomes.counts],
    }
    for name, counts in numbers.items():
        if 0 < min(counts, default=0) < FEW_CLUSTERS:
            found.append(f"Only {min(counts)} {name} were resampled: intervals are too narrow.")
    if metrics.one_seed:
        found.append(f"Trained with one seed: {', '.join(metrics.one_seed)}. How much seeds differ is in no interval.")
    return found
