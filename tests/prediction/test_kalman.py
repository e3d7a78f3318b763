"""The Kalman filter: against matrices, by hand, and what it does with people who were not always seen."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.prediction.predictors.kalman import Kalman
from sidestep.types.forecast import TrackHistory

HORIZONS = np.array([1.0, 3.0])


def reference(positions: np.ndarray, velocity: np.ndarray, dt: float, q: float, r: float, v0: float) -> tuple:
    """The textbook's filter of one axis, with matrices."""
    state, p = np.array([positions[0], velocity]), np.diag([r * r, v0 * v0])
    f, h = np.array([[1.0, dt], [0.0, 1.0]]), np.array([[1.0, 0.0]])
    noise = q * np.array([[dt**3 / 3, dt**2 / 2], [dt**2 / 2, dt]])
    for z in positions[1:]:
        state, p = f @ state, f @ p @ f.T + noise
        gain = p @ h.T / (h @ p @ h.T + r * r)
        state = state + (gain * (z - state[0])).ravel()
        p = (np.eye(2) - gain @ h) @ p
    return state, p


def test_it_is_the_filter_of_the_textbook() -> None:
    rng = np.random.default_rng(3)
    position = np.cumsum(rng.normal(0.1, 0.03, (11, 1, 2)), axis=0)
    velocity = np.full((11, 1, 2), 0.7)
    predictor = Kalman(acceleration_noise=0.3, position_sd=0.1, velocity_sd=0.8, floor_sd=0.0)
    forecast = predictor.predict(TrackHistory(np.array([0]), position, velocity, 0.1), HORIZONS)
    for axis in (0, 1):
        state, p = reference(position[:, 0, axis], 0.7, 0.1, 0.3, 0.1, 0.8)
        for h, t in enumerate(HORIZONS):
            f = np.array([1.0, t])
            assert forecast.mean()[0, h, axis] == pytest.approx(f @ state)
            assert forecast.covariances[0, 0, h, axis, axis] == pytest.approx(f @ p @ f + 0.3 * t**3 / 3)


def test_one_sighting_by_hand() -> None:
    history = TrackHistory(np.array([0]), np.array([[[1.0, 2.0]]]), np.array([[[0.5, -1.0]]]), 0.1)
    forecast = Kalman(acceleration_noise=0.6, position_sd=0.1, velocity_sd=0.5, floor_sd=0.2).predict(history, HORIZONS)
    assert forecast.mean().tolist() == [[[1.5, 1.0], [2.5, -1.0]]]
    variance = forecast.covariances[0, 0, :, 0, 0]
    np.testing.assert_allclose(variance, [0.01 + 0.25 + 0.2 + 0.04, 0.01 + 9 * 0.25 + 0.2 * 27 + 0.04])


def test_gaps_make_it_less_certain_and_late_comers_begin_late() -> None:
    position = np.zeros((11, 3, 2))
    position[..., 0] = 0.1 * np.arange(11)[:, None]
    position[3:8, 1] = np.nan
    position[:-1, 2] = np.nan
    velocity = np.where(np.isfinite(position), [1.0, 0.0], np.nan)
    forecast = Kalman().predict(TrackHistory(np.arange(3), position, velocity, 0.1), HORIZONS)
    variance = forecast.covariances[:, 0, 0, 0, 0]
    assert variance[0] < variance[1] < variance[2]
    np.testing.assert_allclose(forecast.mean()[:, 0], [[2.0, 0.0]] * 3, atol=1e-9)
