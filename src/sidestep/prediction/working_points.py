"""The thresholds at which a predictor drives: where its false alarms on other data are as many as is allowed.

They are calibrated with the zone that the driver ``anticipatory`` uses, zebra crossings included, and with as many
sampled paths. A threshold that rests on few false alarms is uncertain: its interval comes from resampling clips.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.policies.driving.anticipatory import NEARER_M, AnticipatorySettings
from sidestep.prediction.bootstrap import resampled_counts
from sidestep.prediction.comfort_zone import ComfortZone, DrivingPath, move
from sidestep.prediction.data.samples import Samples
from sidestep.prediction.forecasts import choose_forecast
from sidestep.prediction.roc import irs_fpr, number_clusters, rank
from sidestep.prediction.scores import Scores
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.forecast import Forecast
from sidestep.types.interactions import GROUND, GroundMap

CONFIDENCE = 0.9
RESAMPLES = 500
FEW_ALARMS = 30
"""Number of false alarms below which a threshold is uncertain."""
STANDS_MPS = 0.05
"""A car at this speed or less has no zone, as for the driver."""
ISLAND_M = 2.2
"""A place on an island belongs to a crossing if there is zebra this far across; islands are 2 m wide."""
ZEBRA, ISLAND = GROUND.index("zebra"), GROUND.index("island")
_AT_ONCE = 2000


@dataclass(frozen=True)
class WorkingPoint:
    """A threshold at one horizon, and what it rests on."""

    horizon_s: float
    threshold: float
    low: float
    """Ends of its 90 % interval, clips resampled."""
    high: float
    false_alarms: int
    """Moments above the threshold in which nobody came into the zone."""
    negatives: int
    """All moments in which nobody came into the zone."""
    clips: int = 0
    """What was resampled: clips of the validation split, or tracks where all are of one clip."""


def driver_scores(samples: Samples, forecast: Forecast, scores: Scores, zebras: bool = True) -> Scores:
    """``scores`` of ``samples`` with the driver's zone in place of the metric's: who comes nearer to the path on a
    crossing is in it however far aside, and probabilities are shares of the driver's number of sampled paths.

    Crossings are where the map of the clip has zebra, or an island between zebras, mirrored at the path."""
    p, inside = np.zeros(samples.known.shape), np.zeros(samples.known.shape, bool)
    for clip in np.unique(samples.clip).tolist():
        rng = np.random.default_rng([0, clip])
        rows = np.flatnonzero(samples.clip == clip)
        for first in range(0, len(rows), _AT_ONCE):
            part = rows[first : first + _AT_ONCE]
            _score_clip(samples, forecast, clip, part, zebras, rng, p, inside)
    return replace(scores, p_zone=p, in_zone=inside & samples.known)


def _score_clip(
    samples: Samples,
    forecast: Forecast,
    clip: int,
    rows: IntArray,
    zebras: bool,
    rng: np.random.Generator,
    p: FloatArray,
    inside: BoolArray,
) -> None:
    """Fill the rows of one clip."""
    driver, about = AnticipatorySettings(), samples.data.clips[clip]
    zone, path = ComfortZone(driver.time_gap_s, driver.corridor_m), DrivingPath(about.path)
    ground = samples.data.grounds[about.ground] if zebras and about.ground >= 0 else None
    middle, _ = path.project(samples.ego[rows, :2])
    speed = np.maximum(samples.ego_speed[rows], 0.0)[:, None]
    begin, end = zone.extent(move((middle + about.length / 2)[:, None], speed, samples.horizons_s), 0.0)
    _, now = path.project(samples.past[rows, -1])

    def within(points: FloatArray) -> BoolArray:
        along, aside = path.project(points)  # (n, M, H)
        across: BoolArray = np.abs(aside) <= zone.half_width
        if ground is not None:
            nearer = np.abs(now)[:, None, None] - np.abs(aside) > NEARER_M
            across |= nearer & on_crossing(ground, path, points, along, aside)
        moves = speed[:, None] > STANDS_MPS
        found: BoolArray = across & (along >= begin[:, None]) & (along <= end[:, None]) & moves
        return found

    p[rows] = within(choose_forecast(forecast, rows).sample(driver.samples, rng)).mean(axis=1)
    inside[rows] = within(np.where(samples.known[rows][..., None], samples.future[rows], 0.0)[:, None])[:, 0]


def on_crossing(
    ground: GroundMap, path: DrivingPath, points: FloatArray, along: FloatArray, aside: FloatArray
) -> BoolArray:
    """(…) whether ``points (…, 2)``, which are ``along`` and ``aside`` of the path, are on zebra or on an island with
    zebra beside it across the path, or as far on the other side of the path as such a place: the driver's crossing
    reaches equally far to both sides, which beyond the nearer kerb is sidewalk."""
    sine, cosine = exact.sincos(path.heading(along))
    left = np.stack([-sine, cosine], axis=-1)
    return _on_zebra(ground, points, left) | _on_zebra(ground, points - 2.0 * aside[..., None] * left, left)


def _on_zebra(ground: GroundMap, points: FloatArray, left: FloatArray) -> BoolArray:
    kind = ground.at(points)
    found: BoolArray = kind == ZEBRA
    island = kind == ISLAND
    if island.any():
        across = ISLAND_M * left[island]
        found[island] = np.any([ground.at(points[island] + side * across) == ZEBRA for side in (-1.0, 1.0)], axis=0)
    return found


def working_points(
    scores: Scores, alarms: float = 1.0, resamples: int = RESAMPLES, seed: int = 0
) -> list[WorkingPoint]:
    """The thresholds with ``alarms`` times as many false alarms as the In-ROI Sensitivity allows, at each horizon."""
    clusters = number_clusters(scores)[1]
    counts = np.concatenate(list(resampled_counts(clusters, resamples, seed)))
    tails = [(1.0 - CONFIDENCE) / 2.0, (1.0 + CONFIDENCE) / 2.0]
    found = []
    for h, rate in enumerate(irs_fpr(scores.horizons_s).tolist()):
        ranking, seconds = rank(scores, h), float(scores.horizons_s[h])
        each = ranking.at(alarms * rate)
        if each.reason:
            where = f"{scores.name}: no threshold for {seconds:g} s"
            raise BadInput(f"{where}: {each.reason}; give more validation tracks")
        drawn = ranking.thresholds(counts, alarms * rate)
        low, high = np.quantile(drawn[np.isfinite(drawn)], tails).tolist()
        alarmed = ranking.false_alarms(each.threshold)
        low, high = min(low, each.threshold), max(high, each.threshold)
        found.append(WorkingPoint(seconds, each.threshold, low, high, alarmed, ranking.negatives, clusters))
    return found
