"""Scores of a forecast, moment by moment: what it says about the comfort zone, and how near it comes to the truth.

Definitions and formulas are in ``docs/prediction.md``. ``roc`` makes rates of the zone probabilities,
``bootstrap`` intervals of everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.prediction.comfort_zone import ComfortZone, DrivingPath, Motion, move, time_to_collision
from sidestep.prediction.data.samples import Samples
from sidestep.prediction.violation import mixture_in_polygon
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.forecast import SAME_HORIZON_S, Forecast, MixtureForecast

RELEVANT_TTC_S = 5.0
"""Moments with a time to collision below this one matter for the vehicle's reaction."""
BEST_OF = 5
"""k of minADE_k and of the miss rate."""
MISS_M = 2.0
"""A forecast none of whose k paths comes this near has missed."""
KERNEL_FLOOR_M = 0.05
"""Standard deviation that the kernels of sampled forecasts have at least."""
DIRECTIONS = 16
"""Directions over which the expected distance of a Gaussian is averaged; within 0.2 % of the integral."""
_VALUES_AT_ONCE = 1_000_000


@dataclass(frozen=True, eq=False)
class Scores:
    """S moments at H horizons. Where it is not known what happened, ``known`` is false and errors are NaN."""

    name: str
    """Name of the predictor."""
    horizons_s: FloatArray  # (H,)
    track: IntArray  # (S,) track of the moment
    known: BoolArray  # (S, H) whether the track lasts until then
    ttc_s: FloatArray  # (S,) time to collision at the moment; NaN: the vehicle has passed
    in_zone: BoolArray  # (S, H) whether the pedestrian was in the zone predicted for then
    p_zone: FloatArray  # (S, H) probability of that by the forecast
    nll: FloatArray  # (S, H) -log density of the truth, m⁻²
    ade: FloatArray  # (S, H) expected distance from the truth at the horizon, m
    fde: FloatArray  # (S, H) distance of the expected position from the truth, m
    min_ade: FloatArray  # (S, H) mean distance up to the horizon of the best of k paths, m
    miss: FloatArray  # (S, H) 1 where no path of k comes within MISS_M, else 0
    collision: FloatArray  # (S, H) weight of the paths that run into the vehicle up to the horizon
    clip: IntArray | None = None  # (S,) clip of the moment; None: each track is on its own
    is_network: bool = False
    """Whether it was trained, with one seed."""

    def __len__(self) -> int:
        return len(self.track)

    @property
    def relevant(self) -> BoolArray:
        """(S,) whether the moment matters for the vehicle's reaction: TTC below 5 s."""
        found: BoolArray = self.ttc_s < RELEVANT_TTC_S
        return found

    def named(self, name: str) -> Scores:
        """The same under another name."""
        return replace(self, name=name)


MEANS = ("nll", "ade", "fde", "min_ade", "miss", "collision")
"""Scores whose mean over moments is a metric."""


def score_forecast(
    samples: Samples,
    forecast: Forecast,
    zone: ComfortZone | None = None,
    *,
    name: str = "",
    best_of: int = BEST_OF,
    miss_m: float = MISS_M,
) -> Scores:
    """Score a forecast of all ``samples``; its person i is sample i, its horizons are those of the samples.

    ``BadInput`` names track and frame where the forecast does not fit or is not finite: no moment is left out.
    """
    _check(samples, forecast)
    road = _score_on_road(samples, forecast, zone or ComfortZone())
    shape = samples.known.shape
    found = {key: np.full(shape, np.nan) for key in MEANS[:-1]}
    for part in _blocks(len(samples), forecast.paths[0].size if len(samples) else 1):
        truth, paths, weights = samples.future[part], forecast.paths[part], forecast.weights[part]
        if isinstance(forecast, MixtureForecast):
            covariances = forecast.covariances[part]
            found["ade"][part] = expected_distance(truth, paths, covariances, weights)
        else:
            covariances = _kernel_covariances(paths, weights)
            found["ade"][part] = np.einsum("sm,smh->sh", weights, exact.norm(paths - truth[:, None]))
        found["nll"][part] = -log_density(truth, paths, covariances, weights)
        mean = np.einsum("sm,smhk->shk", weights, paths)
        found["fde"][part] = exact.norm(mean - truth)
        best = np.argsort(-weights, axis=1, kind="stable")[:, :best_of]
        distance = exact.norm(np.take_along_axis(paths, best[..., None, None], axis=1) - truth[:, None])
        so_far = np.cumsum(distance, axis=2) / np.arange(1, shape[1] + 1)
        found["min_ade"][part] = so_far.min(axis=1)
        nearest = distance.min(axis=1)
        found["miss"][part] = np.where(np.isnan(nearest), np.nan, nearest > miss_m)
    collision = np.where(samples.known, road.collision, np.nan)
    scores = Scores(
        name, samples.horizons_s, samples.track, samples.known, road.ttc_s, road.in_zone, road.p_zone,
        found["nll"], found["ade"], found["fde"], found["min_ade"], found["miss"], collision, samples.clip,
    )  # fmt: skip
    _check_finite(samples, scores)
    return scores


def _check(samples: Samples, forecast: Forecast) -> None:
    if not len(samples):
        raise BadInput("there is no moment to score: the split has no tracks (`sidestep predict info` counts them)")
    if len(forecast) != len(samples):
        raise BadInput(
            f"the forecast is of {len(forecast)} people and there are {len(samples)} samples; predict each of them"
        )
    same = forecast.horizons_s.shape == samples.horizons_s.shape
    if not same or (np.abs(forecast.horizons_s - samples.horizons_s) > SAME_HORIZON_S).any():
        raise BadInput(
            f"the forecast has horizons {forecast.horizons_s.tolist()} s, the samples {samples.horizons_s.tolist()} s"
        )


def _check_finite(samples: Samples, scores: Scores) -> None:
    for key in ("nll", "ade", "p_zone"):
        values = getattr(scores, key)
        bad = scores.known & ~np.isfinite(values)
        if bad.any():
            row, h = np.argwhere(bad)[0].tolist()
            place = samples.data.place_of(int(samples.frame[row]))
            raise BadInput(
                f"{place}: the {key} of the forecast for {scores.horizons_s[h]:g} s is {values[row, h]}; "
                "its covariances are too small or its means too far away"
            )


def _blocks(count: int, size: int) -> Iterator[slice]:
    step = max(_VALUES_AT_ONCE // max(size, 1), 1)
    return (slice(first, first + step) for first in range(0, count, step))


def _whitened(offset: FloatArray, covariances: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(…) squared Mahalanobis distance, and the square root of the determinant."""
    first = np.sqrt(covariances[..., 0, 0])
    mixed = covariances[..., 1, 0] / first
    second = np.sqrt(covariances[..., 1, 1] - mixed * mixed)
    x = offset[..., 0] / first
    y = (offset[..., 1] - mixed * x) / second
    return x * x + y * y, first * second


def log_density(truth: FloatArray, means: FloatArray, covariances: FloatArray, weights: FloatArray) -> FloatArray:
    """(S, H) log density of mixtures (S, M, H) at the truth (S, H, 2)."""
    square, root = _whitened(truth[:, None] - means, covariances)
    with np.errstate(divide="ignore"):
        each = np.log(weights)[..., None] - 0.5 * square - np.log(2 * np.pi * root)
    top = each.max(axis=1)
    found: FloatArray = top + np.log(np.exp(each - top[:, None]).sum(axis=1))
    return found


def _kernel_covariances(paths: FloatArray, weights: FloatArray) -> FloatArray:
    """(S, 1, H, 2, 2) kernels of sampled paths by Scott's rule: n^(-1/3) · covariance + floor, n = 1 / Σ w²."""
    mean = np.einsum("sm,smhk->shk", weights, paths)
    offset = paths - mean[:, None]
    covariance = np.einsum("sm,smhk,smhl->shkl", weights, offset, offset)
    number = 1.0 / np.square(weights).sum(axis=1)
    kernel = covariance * (number ** (-1.0 / 3.0))[:, None, None, None] + KERNEL_FLOOR_M**2 * np.eye(2)
    found: FloatArray = kernel[:, None]
    return found


def expected_distance(truth: FloatArray, means: FloatArray, covariances: FloatArray, weights: FloatArray) -> FloatArray:
    """(S, H) E|x - truth| of mixtures, by |y| = ¼ ∮ |y · u(φ)| dφ and the mean of a folded normal in each direction."""
    from scipy.special import erf

    offset = means - truth[:, None]
    total = np.zeros(np.broadcast_shapes(offset.shape[:-1], covariances.shape[:-2]))
    for k in range(DIRECTIONS):
        sine, cosine = exact.sincos((k + 0.5) * np.pi / DIRECTIONS)
        m = offset[..., 0] * cosine + offset[..., 1] * sine
        variance = (
            covariances[..., 0, 0] * cosine * cosine
            + 2.0 * covariances[..., 0, 1] * cosine * sine
            + covariances[..., 1, 1] * sine * sine
        )
        s = np.sqrt(2.0 * variance)
        z = m / s
        total += s / np.sqrt(np.pi) * np.exp(-z * z) + m * erf(z)
    found: FloatArray = np.einsum("sm,smh->sh", weights, total * (np.pi / (2 * DIRECTIONS)))
    return found


class _Road(NamedTuple):
    ttc_s: FloatArray  # (S,)
    in_zone: BoolArray  # (S, H)
    p_zone: FloatArray  # (S, H)
    collision: FloatArray  # (S, H)


def _score_on_road(samples: Samples, forecast: Forecast, zone: ComfortZone) -> _Road:
    """Everything that depends on the vehicle's path, clip by clip."""
    shape = samples.known.shape
    road = _Road(np.zeros(shape[0]), np.zeros(shape, bool), np.zeros(shape), np.zeros(shape))
    vehicle = np.concatenate([samples.ego[:, :2], samples.ego_speed[:, None]], axis=1)
    clip_of = samples.clip
    order = np.argsort(clip_of, kind="stable")
    clips, first = np.unique(clip_of[order], return_index=True)
    for clip, rows in zip(clips.tolist(), np.split(order, first[1:]), strict=True):
        for part in _blocks(len(rows), forecast.paths[0].size):
            _score_clip(samples, forecast, zone, clip, rows[part], vehicle, road)
    return road


def _score_clip(
    samples: Samples, forecast: Forecast, zone: ComfortZone, clip: int, rows: IntArray, vehicle: FloatArray, road: _Road
) -> None:
    """Fill the rows of one clip. ``vehicle (S, 3)``: place and speed of its vehicle at all moments."""
    from scipy.special import owens_t

    about = samples.data.clips[clip]
    path = DrivingPath(about.path)
    middle, _ = path.project(vehicle[rows, :2])
    speed = np.maximum(vehicle[rows, 2], 0.0)
    now = Motion(middle + about.length / 2, speed)
    then = move(now.bumper[:, None], speed[:, None], samples.horizons_s)
    here, here_aside = path.project(samples.past[rows, -1])
    road.ttc_s[rows] = time_to_collision(here, now)
    known = samples.known[rows]
    along, aside = path.project(np.where(known[..., None], samples.future[rows], 0.0))
    road.in_zone[rows] = known & zone.contains(along, aside, then, about.length)
    paths, weights = forecast.paths[rows], forecast.weights[rows]
    along, aside = path.project(paths)
    if isinstance(forecast, MixtureForecast):
        means, covariances = np.moveaxis(paths, 1, 2), np.moveaxis(forecast.covariances[rows], 1, 2)
        outlines = zone.outlines(path, then, about.length)
        road.p_zone[rows] = mixture_in_polygon(means, covariances, weights[:, None], outlines, owens_t)
    else:
        inside = zone.contains(along, aside, Motion(then.bumper[:, None], then.speed[:, None]), about.length)
        road.p_zone[rows] = np.minimum(np.einsum("sm,smh->sh", weights, inside.astype(np.float64)), 1.0)
    lead = along - (then.bumper - about.length / 2)[:, None]
    start = np.stack([here - middle, here_aside], axis=-1)
    hits = _runs_into(start, lead, aside, about.length / 2, about.width / 2)
    road.collision[rows] = np.einsum("sm,smh->sh", weights, hits.astype(np.float64))


def _runs_into(start: FloatArray, lead: FloatArray, aside: FloatArray, half_x: float, half_y: float) -> BoolArray:
    """(S, M, H) whether a path, straight between ``start (S, 2)`` and its horizons in the moving frame of the vehicle,
    meets the vehicle's box up to each horizon."""
    begin = np.broadcast_to(start[:, None, None], (*lead.shape[:2], 1, 2))
    knots = np.concatenate([begin, np.stack([lead, aside], axis=-1)], axis=2)
    a, step = knots[:, :, :-1], np.diff(knots, axis=2)
    enter, leave = np.zeros(lead.shape), np.ones(lead.shape)
    for axis, half in ((0, half_x), (1, half_y)):
        at, by = a[..., axis], step[..., axis]
        still = np.abs(by) < 1e-12
        safe = np.where(still, 1.0, by)
        one, other = (-half - at) / safe, (half - at) / safe
        outside = np.where(np.abs(at) <= half, -np.inf, np.inf)
        enter = np.maximum(enter, np.where(still, outside, np.minimum(one, other)))
        leave = np.minimum(leave, np.where(still, np.inf, np.maximum(one, other)))
    return np.logical_or.accumulate(enter <= leave, axis=2)
