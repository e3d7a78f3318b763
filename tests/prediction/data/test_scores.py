"""Scores of forecasts: by hand on a straight road, sampled against closed forms, and what is refused."""

from __future__ import annotations

from math import log, pi, sqrt

import numpy as np
import pytest
from scipy.integrate import dblquad
from scipy.stats import gaussian_kde, multivariate_normal

from sidestep.errors import BadInput
from sidestep.prediction.comfort_zone import ComfortZone
from sidestep.prediction.data.samples import Samples, make_samples
from sidestep.prediction.scores import MEANS, score_forecast
from sidestep.types.base import FloatArray
from sidestep.types.forecast import MixtureForecast, SampleForecast
from tests.prediction.data.scenes import straight_road, walk


def one_moment(track: FloatArray, speed: float = 10.0, bumper: float = -10.0) -> Samples:
    """The sample one second after the start of a track; the bumper is at ``bumper`` + 10 m then."""
    return make_samples(straight_road([track], speed, bumper), every=1000)


def gaussian(samples: Samples, offset: FloatArray, covariance: FloatArray) -> MixtureForecast:
    """One mode per sample, off the truth by ``offset``; where the truth is not known, at 0."""
    means = np.nan_to_num(samples.future) + offset
    return MixtureForecast(
        samples.horizons_s, means[:, None], np.broadcast_to(covariance, (*means[:, None].shape, 2)), [1.0]
    )


def test_truth_relevance_and_probability_on_a_straight_road() -> None:
    """10 m/s, zone from 10 T to 10 T + 30 ahead of the bumper. Crossing from y = -3 at 1 m/s, 35 m ahead: inside the
    corridor from 1.5 s to 4.5 s after the moment, and in the zone while 10 T ≤ 35 ≤ 10 T + 30: from 0.5 to 3.5 s."""
    samples = one_moment(walk((35.0, -4.0), (0.0, 1.0), 6.0))
    scores = score_forecast(samples, gaussian(samples, np.zeros(2), 1e-6 * np.eye(2)))
    assert scores.ttc_s.tolist() == [3.5]
    assert scores.relevant.tolist() == [True]
    assert scores.known.all()
    assert scores.in_zone.tolist() == [[False, True, True, False]]
    assert scores.p_zone == pytest.approx(np.array([[0.0, 1.0, 1.0, 0.0]]))
    assert scores.nll == pytest.approx(np.full((1, 4), log(2 * pi * 1e-6)))


@pytest.mark.parametrize(("x", "relevant"), [(49.9, True), (50.1, False), (0.1, True), (-0.1, False)])
def test_relevant_are_those_ahead_within_five_seconds(x: float, relevant: bool) -> None:
    samples = one_moment(walk((x, 20.0), (0.0, 0.0), 3.0))
    scores = score_forecast(samples, gaussian(samples, np.zeros(2), np.eye(2)))
    assert scores.relevant.tolist() == [relevant]


def test_nothing_is_relevant_to_a_vehicle_that_stands() -> None:
    samples = one_moment(walk((5.0, 0.0), (0.0, 0.0), 3.0), speed=0.0)
    scores = score_forecast(samples, gaussian(samples, np.zeros(2), np.eye(2)))
    assert not scores.relevant.any()
    assert not scores.in_zone.any()
    assert scores.p_zone.max() < 1e-9


def test_a_track_that_ends_is_unknown_and_not_a_negative() -> None:
    samples = one_moment(walk((35.0, 0.0), (0.0, 0.0), 3.5))
    scores = score_forecast(samples, gaussian(samples, np.zeros(2), np.eye(2)))
    assert scores.known.tolist() == [[True, True, False, False]]
    for key in MEANS:
        assert np.isnan(getattr(scores, key)[0]).tolist() == [False, False, True, True], key


def test_errors_of_a_gaussian() -> None:
    samples = one_moment(walk((35.0, -4.0), (0.0, 1.0), 6.0))
    covariance = np.array([[0.5, 0.2], [0.2, 0.3]])
    scores = score_forecast(samples, gaussian(samples, np.array([0.6, 0.8]), covariance))
    law = multivariate_normal([0.6, 0.8], covariance)
    assert scores.nll[0] == pytest.approx(np.full(4, -law.logpdf([0.0, 0.0])))
    expected, _ = dblquad(lambda y, x: float(np.hypot(x, y) * law.pdf([x, y])), -6, 6, -6, 6, epsabs=1e-3)
    assert scores.ade[0] == pytest.approx(np.full(4, expected), rel=2e-3)
    assert scores.fde[0] == pytest.approx(np.ones(4))
    assert scores.min_ade[0] == pytest.approx(np.ones(4))
    assert scores.miss[0].tolist() == [0.0] * 4


def test_expected_distance_of_a_centred_and_of_a_sharp_gaussian() -> None:
    samples = one_moment(walk((35.0, -4.0), (0.0, 1.0), 6.0))
    centred = score_forecast(samples, gaussian(samples, np.zeros(2), 4.0 * np.eye(2)))
    assert centred.ade[0] == pytest.approx(np.full(4, 2.0 * sqrt(pi / 2)))  # Rayleigh
    sharp = score_forecast(samples, gaussian(samples, np.array([3.0, 4.0]), 1e-8 * np.eye(2)))
    assert sharp.ade[0] == pytest.approx(np.full(4, 5.0), rel=2e-3)


def test_best_of_k_means_over_time_and_misses() -> None:
    samples = one_moment(walk((35.0, -4.0), (0.0, 0.0), 6.0))
    truth = samples.future[0]
    near = truth + np.array([[0.0, 0.0], [0.0, 1.0], [0.0, 2.0], [0.0, 3.0]])
    far = truth + np.array([[9.0, 0.0], [9.0, 0.0], [9.0, 0.0], [0.0, 2.5]])
    forecast = SampleForecast(samples.horizons_s, np.stack([near, far])[None], [0.75, 0.25])
    scores = score_forecast(samples, forecast)
    assert scores.min_ade[0] == pytest.approx([0.0, 0.5, 1.0, 1.5])
    assert scores.miss[0].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert scores.ade[0] == pytest.approx([2.25, 3.0, 3.75, 0.75 * 3.0 + 0.25 * 2.5])
    only_first = score_forecast(samples, forecast, best_of=1, miss_m=1.5)
    assert only_first.miss[0].tolist() == [0.0, 0.0, 1.0, 1.0]


def test_kernel_density_of_samples_is_scipys() -> None:
    samples = one_moment(walk((35.0, -4.0), (0.0, 1.0), 6.0))
    drawn = np.random.default_rng(0).normal(size=(1, 200, 4, 2)) * [2.0, 1.0] + np.nan_to_num(samples.future)[:, None]
    scores = score_forecast(samples, SampleForecast(samples.horizons_s, drawn))
    for h in range(4):
        spread = drawn[0, :, h].T
        kernel = gaussian_kde(spread, bw_method="scott")
        kernel.covariance = np.cov(spread, bias=True) * 200 ** (-1 / 3) + 0.0025 * np.eye(2)
        law = [multivariate_normal(point, kernel.covariance).pdf(samples.future[0, h]) for point in spread.T]
        assert scores.nll[0, h] == pytest.approx(-log(np.mean(law)))
        assert scores.nll[0, h] == pytest.approx(-gaussian_kde(spread).logpdf(samples.future[0, h])[0], abs=0.02)


def test_samples_of_a_mixture_score_as_the_mixture() -> None:
    samples = make_samples(
        straight_road([walk((35.0, -4.0), (0.0, 1.0), 8.0), walk((30.0, 3.0), (0.5, -0.7), 8.0)]), 10
    )
    rng = np.random.default_rng(5)
    means = np.nan_to_num(samples.future)[:, None] + rng.normal(0.0, 1.0, (len(samples), 2, 4, 2))
    factor = rng.normal(0.0, 0.8, (len(samples), 2, 4, 2, 2))
    covariances = factor @ np.swapaxes(factor, -1, -2) + 0.1 * np.eye(2)
    mixture = MixtureForecast(samples.horizons_s, means, covariances, [0.4, 0.6])
    closed = score_forecast(samples, mixture)
    drawn = score_forecast(samples, SampleForecast(samples.horizons_s, mixture.sample(20_000, rng)))
    assert np.abs(closed.p_zone - drawn.p_zone).max() < 0.015
    known = closed.known
    assert np.abs(closed.ade - drawn.ade)[known].max() < 0.05
    assert np.array_equal(closed.in_zone, drawn.in_zone)
    assert np.abs(closed.nll - drawn.nll)[known].mean() < 0.3


def test_collisions_between_horizons_count() -> None:
    """Standing in the way 15 m ahead: hit between 1 and 2 s, where no horizon lies."""
    samples = one_moment(walk((15.0, 0.0), (0.0, 0.0), 6.0))
    standing = np.full((1, 1, 4, 2), [15.0, 0.0])
    beside = np.full((1, 1, 4, 2), [15.0, 1.1])
    both = SampleForecast(samples.horizons_s, np.concatenate([standing, beside], axis=1), [0.7, 0.3])
    assert score_forecast(samples, both).collision[0] == pytest.approx([0.0, 0.7, 0.7, 0.7])


def test_the_zone_can_be_chosen() -> None:
    samples = one_moment(walk((35.0, 0.0), (0.0, 0.0), 6.0))
    forecast = gaussian(samples, np.zeros(2), 1e-4 * np.eye(2))
    short = score_forecast(samples, forecast, ComfortZone(time_gap_s=1.0))
    assert short.in_zone.tolist() == [[False, False, True, False]]


def test_blocks_do_not_change_scores(monkeypatch: pytest.MonkeyPatch) -> None:
    tracks = [walk((35.0 + k, -4.0), (0.0, 1.0), 6.0) for k in range(4)]
    samples = make_samples(straight_road(tracks, clips=3), 5)
    forecast = gaussian(samples, np.array([0.5, 0.1]), np.eye(2))
    whole = score_forecast(samples, forecast)
    monkeypatch.setattr("sidestep.prediction.scores._VALUES_AT_ONCE", 24)
    parts = score_forecast(samples, forecast)
    for key in (*MEANS, "p_zone", "in_zone", "ttc_s"):
        assert np.allclose(getattr(whole, key), getattr(parts, key), rtol=1e-12, equal_nan=True), key


def test_forecasts_that_do_not_fit_are_refused() -> None:
    samples = one_moment(walk((35.0, -4.0), (0.0, 1.0), 6.0))
    forecast = gaussian(samples, np.zeros(2), np.eye(2))
    two = SampleForecast(samples.horizons_s, np.zeros((2, 1, 4, 2)))
    with pytest.raises(BadInput, match="2 people and there are 1 samples"):
        score_forecast(samples, two)
    with pytest.raises(BadInput, match="horizons"):
        score_forecast(samples, forecast.marginal(2.0))
    sharp = gaussian(samples, np.array([1e200, 0.0]), 1e-150 * np.eye(2))
    with pytest.raises(BadInput, match="clip clip 0, track 0, frame 10"), np.errstate(all="ignore"):
        score_forecast(samples, sharp)


def test_an_empty_split_is_an_error() -> None:
    samples = one_moment(walk((0.0, 0.0), (1.0, 0.0), 5.0))
    nobody = samples.choose(np.zeros(len(samples), bool))
    forecast = MixtureForecast(samples.horizons_s, np.zeros((0, 1, 4, 2)), np.zeros((0, 1, 4, 2, 2)), np.ones((0, 1)))
    with pytest.raises(BadInput, match="the split has no tracks"):
        score_forecast(nobody, forecast)
