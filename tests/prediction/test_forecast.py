"""Forecasts: shapes, hand-computed means and samples, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.types.forecast import MixtureForecast, SampleForecast, StraightForecast, TrackHistory

H = [1.0, 2.0]


def mixture(**changes: Any) -> MixtureForecast:
    """One person who goes on (weight 0.75, 1 m/s along x) or turns left (0.25, 1 m/s along y)."""
    means = np.array([[[[1.0, 0], [2, 0]], [[0, 1], [0, 2]]]])
    covariances = np.broadcast_to([[0.04, 0.01], [0.01, 0.09]], (1, 2, 2, 2, 2))
    parts = {"horizons_s": H, "means": means, "covariances": covariances, "weights": [[0.75, 0.25]]}
    return MixtureForecast(**(parts | changes))


def samples(**changes: Any) -> SampleForecast:
    paths = np.array([[[[0.0, 0], [0, 4]], [[2, 0], [4, 0]]]])
    return SampleForecast(**({"horizons_s": H, "samples": paths, "weights": [[0.25, 0.75]]} | changes))


def test_means_by_hand() -> None:
    assert mixture().mean().tolist() == [[[0.75, 0.25], [1.5, 0.5]]]
    assert samples().mean().tolist() == [[[1.5, 0.0], [3.0, 1.0]]]
    assert samples(weights=None).mean().tolist() == [[[1.0, 0.0], [2.0, 2.0]]]


def test_the_marginal_is_one_horizon_alone() -> None:
    for forecast in (mixture(), samples()):
        later = forecast.marginal(2.0)
        assert later.horizons_s.tolist() == [2.0]
        assert later.paths.shape == (1, 2, 1, 2)
        np.testing.assert_array_equal(later.mean()[:, 0], forecast.mean()[:, 1])
        assert type(later) is type(forecast)
    with pytest.raises(BadInput, match=r"no horizon of 1.5 s; it has 1, 2 s"):
        mixture().marginal(1.5)


def test_samples_of_a_mixture_have_its_modes_and_covariance() -> None:
    drawn = mixture().sample(20_000, np.random.default_rng(1))
    assert drawn.shape == (1, 20_000, 2, 2)
    at_end = drawn[0, :, 1]
    ahead = at_end[:, 0] > at_end[:, 1]
    assert ahead.mean() == pytest.approx(0.75, abs=0.01)
    np.testing.assert_allclose(np.cov(at_end[ahead].T), [[0.04, 0.01], [0.01, 0.09]], atol=0.004)
    np.testing.assert_allclose(at_end[ahead].mean(axis=0), [2.0, 0.0], atol=0.01)
    # one draw for all horizons: the covariance is the same at both, so is the deviation from the mean
    np.testing.assert_allclose(drawn[0, ahead, 1] - drawn[0, ahead, 0], [[1.0, 0.0]] * ahead.sum(), atol=1e-12)
    np.testing.assert_array_equal(drawn, mixture().sample(20_000, np.random.default_rng(1)))


def test_samples_of_samples_are_drawn_by_weight() -> None:
    drawn = samples().sample(10_000, np.random.default_rng(2))[0]
    assert {tuple(path.ravel()) for path in drawn} == {(0, 0, 0, 4), (2, 0, 4, 0)}
    assert (drawn[:, 0, 0] == 2).mean() == pytest.approx(0.75, abs=0.015)


def test_a_straight_forecast_is_the_mixture_that_it_stands_for() -> None:
    position, velocity = np.array([[1.0, 2.0], [0, 0]]), np.array([[0.5, -1.0], [1, 0]])
    straight = StraightForecast(np.array(H), position, velocity, np.array([0.1, 0.4]))
    assert straight.paths.tolist() == [[[[1.5, 1.0], [2.0, 0.0]]], [[[1.0, 0.0], [2.0, 0.0]]]]
    assert straight.weights.tolist() == [[1.0], [1.0]]
    assert straight.covariances.shape == (2, 1, 2, 2, 2)
    assert straight.covariances[1, 0, 1].tolist() == [[0.4, 0.0], [0.0, 0.4]]
    checked = MixtureForecast(H, straight.paths, straight.covariances, straight.weights)
    np.testing.assert_array_equal(checked.mean(), straight.mean())
    other = straight.of(position[:1], velocity[:1])
    assert (len(other), other.marginal(2.0).mean().tolist()) == (1, [[[2.0, 0.0]]])


def test_a_forecast_of_nobody_is_possible() -> None:
    empty = SampleForecast(H, np.zeros((0, 3, 2, 2)))
    assert (len(empty), empty.mean().shape) == (0, (0, 2, 2))
    assert empty.sample(5, np.random.default_rng(0)).shape == (0, 5, 2, 2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"means": np.zeros((1, 2, 3, 2))},
            r"means have shape \(1, 2, 3, 2\); expected \(people, modes, 2 horizons, 2\)",
        ),
        ({"means": np.full((1, 2, 2, 2), np.nan)}, "mean 0 of person 0 at 1 s is not finite"),
        ({"covariances": np.zeros((1, 2, 2, 2))}, "covariances have shape"),
        ({"covariances": np.broadcast_to([[1.0, 2], [2, 1]], (1, 2, 2, 2, 2))}, "person 0, mode 0 at 1 s .* positive"),
        ({"covariances": np.broadcast_to([[1.0, 0.1], [0.3, 1]], (1, 2, 2, 2, 2))}, "symmetric"),
        ({"covariances": np.full((1, 2, 2, 2, 2), np.nan)}, "positive definite"),
        ({"weights": [[0.75, 0.3]]}, r"weights of person 0 are \[0.75, 0.3\]; they must be at least 0 and sum to 1"),
        ({"weights": [[1.5, -0.5]]}, "at least 0"),
        ({"weights": [[np.nan, 1.0]]}, "at least 0"),
        ({"weights": [1.0]}, r"weights have shape \(1,\); expected \(1, 2\)"),
        ({"horizons_s": [2.0, 1.0]}, "increasing"),
        ({"horizons_s": [0.0, 1.0]}, "above 0"),
        ({"horizons_s": []}, "at least one"),
    ],
)
def test_a_wrong_mixture_is_refused_with_the_place(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        mixture(**changes)


def test_wrong_samples_are_refused_with_the_place() -> None:
    with pytest.raises(BadInput, match=r"samples have shape \(2, 2, 2\)"):
        samples(samples=np.zeros((2, 2, 2)))
    paths = samples().paths.copy()
    paths[0, 1, 1, 0] = np.inf
    with pytest.raises(BadInput, match="sample 1 of person 0 at 2 s is not finite"):
        samples(samples=paths)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_a_line_that_is_not_finite_is_refused(wrong: float) -> None:
    position = np.array([[0.0, 0.0], [wrong, 0.0]])
    with pytest.raises(BadInput, match="of person 1 is not finite"):
        StraightForecast(np.array(H), position, np.zeros((2, 2)), np.ones(2))
    with pytest.raises(BadInput, match="variance must be 2 numbers above 0"):
        StraightForecast(np.array(H), np.zeros((1, 2)), np.zeros((1, 2)), np.zeros(2))


def test_a_history_says_what_is_wrong_with_it() -> None:
    one = np.zeros((3, 1, 2))
    assert len(TrackHistory(np.array([7]), one, one, 0.1)) == 1
    with pytest.raises(BadInput, match=r"position has shape \(3, 2\); expected \(T, 1, 2\)"):
        TrackHistory(np.array([7]), one[:, 0], one[:, 0], 0.1)
    with pytest.raises(BadInput, match="they must be equal"):
        TrackHistory(np.array([7]), one, one[1:], 0.1)
    with pytest.raises(BadInput, match="step_s is 0"):
        TrackHistory(np.array([7]), one, one, 0.0)
