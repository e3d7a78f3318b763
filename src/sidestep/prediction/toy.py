"""The toy example of Herman and others (2021), Fig. 9: what NLL, ADE and IRS think of four forecasts of one scene.

A pedestrian walks on a sidewalk towards a zebra crossing. The truth has three modes: walking on, waiting on the
sidewalk, and crossing. Four models are compared with it: the truth itself, one that is wrong about the sidewalk only,
one that is wrong about the crossing only, and one with a single mode. Zones of vehicles are varied over the street; a
model is sensitive if it ranks the zones in which the pedestrian will be above the others.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.prediction.bootstrap import RESAMPLES, Bootstrap, bootstrap_scores
from sidestep.prediction.comfort_zone import ComfortZone, DrivingPath, Motion
from sidestep.prediction.roc import DIGITS, irs_fpr
from sidestep.prediction.scores import Scores, expected_distance, log_density
from sidestep.prediction.violation import mixture_in_polygon
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.forecast import MixtureForecast

HORIZON_S = 4.0
STREET_Y = (0.0, 7.0)
"""Kerbs, m; sidewalks of 4 m lie at both sides."""
SIDEWALK_M = 4.0
ZEBRA_X = (9.0, 13.0)
EXTENT_X = (-4.0, 22.0)
WALKED = np.array([[-3.0, -2.0], [5.0, -2.0]])
"""The pedestrian's way up to now, m."""
LANES_Y = (1.75, 5.25)
SPEED_MPS = 2.5
"""Speed of the vehicles; their zones are 7.5 m long."""
FIRST_X, LAST_X, STEP_X = -12.0, 24.0, 1.5
"""Where the bumpers are at the horizon."""

_ON = ((12.0, -2.0), (0.8, 0.4), 0.40)
_WAIT = ((7.5, -2.2), (0.5, 0.4), 0.25)
_CROSS = ((11.0, 2.6), (0.6, 0.9), 0.35)
MODELS: dict[str, tuple[tuple[tuple[float, float], tuple[float, float], float], ...]] = {
    "truth": (_ON, _WAIT, _CROSS),
    "wrong on the sidewalk": (((9.8, -2.8), (1.6, 0.35), 0.65), _CROSS),
    "wrong crossing": (_ON, _WAIT, ((6.0, 2.6), (1.0, 0.9), 0.35)),
    "one mode": (((10.4, -0.9), (1.0, 1.1), 1.0),),
}
"""Modes of each model: mean and standard deviations in m, weight."""
TRUTH, SIDEWALK, CROSSING, ONE_MODE = MODELS
NODES = 40
"""Points of the quadrature along each axis."""
SAME_IRS = 0.01
"""Sensitivities that differ by less than one point are the same."""


def forecast_of(model: str) -> MixtureForecast:
    """The forecast of one model, of one person at one horizon."""
    mean, sd, weight = (np.array(part) for part in zip(*MODELS[model], strict=True))
    covariance = np.square(sd)[:, :, None] * np.eye(2)
    return MixtureForecast([HORIZON_S], mean[None, :, None], covariance[None, :, None], weight[None])


def zones() -> FloatArray:
    """(Z, 4, 2) corners of the vehicles' zones: both lanes, many places."""
    bumper = np.arange(FIRST_X, LAST_X, STEP_X)
    motion = Motion(bumper, np.full(len(bumper), SPEED_MPS))
    return np.concatenate(
        [ComfortZone().outlines(DrivingPath(np.array([[0.0, y], [1.0, y]])), motion, 4.0) for y in LANES_Y]
    )


@dataclass(frozen=True)
class ToyValues:
    """What a model scores when the pedestrian goes where the truth says: expectations, not means over draws."""

    nll: float
    ade: float
    irs: float


def expected_values(model: str) -> ToyValues:
    """NLL and ADE by Gauss-Hermite quadrature over the modes of the truth; IRS from the truth's probability of every
    zone, of which each threshold calls some positive."""
    forecast, truth = forecast_of(model), forecast_of(TRUTH)
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    grid = np.stack(np.meshgrid(nodes, nodes, indexing="ij"), axis=-1).reshape(-1, 2)
    share = np.outer(weights, weights).ravel() / (2.0 * np.pi)
    nll = ade = 0.0
    for mean, sd, weight in MODELS[TRUTH]:
        points = (np.array(mean) + np.array(sd) * grid)[:, None]
        parts = points, forecast.paths, forecast.covariances, forecast.weights
        nll -= weight * float(share @ log_density(*parts)[:, 0])
        ade += weight * float(share @ expected_distance(*parts)[:, 0])
    corners = zones()
    p, positive = (_zone_probability(each, corners) for each in (forecast, truth))
    return ToyValues(nll, ade, _expected_sensitivity(p, positive, float(irs_fpr(forecast.horizons_s)[0])))


def _zone_probability(forecast: MixtureForecast, corners: FloatArray) -> FloatArray:
    """(Z,) probability of each zone."""
    return mixture_in_polygon(forecast.paths[0, :, 0], forecast.covariances[0, :, 0], forecast.weights[0], corners)


def _expected_sensitivity(p: FloatArray, positive: FloatArray, rate: float) -> float:
    """Highest true positive rate with a false positive rate of ``rate``, where zone k has the predicted probability
    ``p (Z,)`` and is positive with probability ``positive (Z,)``; straight lines between zones of different ``p``."""
    groups, group = np.unique(-np.round(p, DIGITS), return_inverse=True)
    true, false = (np.bincount(group, each, len(groups)) for each in (positive, 1.0 - positive))
    curve = [np.concatenate([[0.0], np.cumsum(each)]) / each.sum() for each in (false, true)]
    return float(np.interp(rate, *curve))


@dataclass(frozen=True, eq=False)
class ToyResult:
    """The scores of all models on some draws, their expectations, and what the paper finds in them."""

    bootstrap: Bootstrap
    draws: FloatArray  # (N, 2) m: where the pedestrian was
    expected: dict[str, ToyValues]

    @property
    def findings(self) -> dict[str, bool]:
        """The paper's statements, and whether they hold of the expectations: no chance is in them."""
        truth, *others = (self.expected[model] for model in MODELS)
        sidewalk, crossing, single = others
        return {
            "NLL is best for the truth": all(truth.nll < other.nll for other in others),
            "ADE prefers one mode to the truth": single.ade < truth.ade,
            "IRS does not separate the truth from a model that is wrong on the sidewalk": abs(truth.irs - sidewalk.irs)
            < SAME_IRS,
            "IRS puts both above the two other models": all(
                good.irs - bad.irs > SAME_IRS for good in (truth, sidewalk) for bad in (crossing, single)
            ),
        }


def run_toy(draws: int = 1000, resamples: int = RESAMPLES, seed: int = 0) -> ToyResult:
    """Draw where the pedestrian goes and score all models; each draw is one track of the bootstrap."""
    drawn = forecast_of(TRUTH).sample(draws, np.random.default_rng(seed))[0, :, 0]
    corners = zones()
    low, high = corners.min(axis=1), corners.max(axis=1)
    inside = ((drawn[:, None] >= low) & (drawn[:, None] <= high)).all(axis=2)
    scores = [_score(model, drawn, corners, inside.ravel()) for model in MODELS]
    expected = {model: expected_values(model) for model in MODELS}
    return ToyResult(bootstrap_scores(scores, resamples=resamples, seed=seed), drawn, expected)


def _score(model: str, drawn: FloatArray, corners: FloatArray, inside: BoolArray) -> Scores:
    """Scores of one model, one moment for each draw and zone: errors are the same for all zones of a draw."""
    forecast = forecast_of(model)
    parts = drawn[:, None], forecast.paths, forecast.covariances, forecast.weights
    count = len(corners)
    nll, ade = (np.repeat(values, count, axis=0) for values in (-log_density(*parts), expected_distance(*parts)))
    p = _zone_probability(forecast, corners)
    track = np.repeat(np.arange(len(drawn)), count)
    known, nothing = np.ones(nll.shape, bool), np.full(nll.shape, np.nan)
    p_zone, in_zone = np.tile(p, len(drawn))[:, None], inside[:, None]
    return Scores(
        model, forecast.horizons_s, track, known, np.zeros(len(track)), in_zone, p_zone, nll, ade,
        nothing, nothing, nothing, nothing,
    )  # fmt: skip
