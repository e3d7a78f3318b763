"""A Kalman filter over each person's history, and its prediction."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sidestep.interfaces import MomentPredictor
from sidestep.types.base import FloatArray, Model, NonNegative, Positive
from sidestep.types.forecast import Ego, MixtureForecast, TrackHistory
from sidestep.types.moments import Moments
from sidestep.types.scene import CompiledScene


class KalmanSettings(Model):
    """Noise of the motion and of the measurements."""

    acceleration_noise: Positive = 0.1
    """q, m²/s³: intensity of the white noise that accelerates people."""
    position_sd: Positive = 0.05
    """σ_z, m: of a measured position along each axis."""
    velocity_sd: Positive = 1.0
    """σ_0, m/s: of the velocity that is reported at the first sighting."""
    floor_sd: NonNegative = 0.05
    """Least standard deviation of a forecast, m."""


class Kalman(MomentPredictor):
    """One Gaussian per person from a filter with the states position and velocity and white-noise acceleration.

    Per axis, with the step dt,

        F = [[1, dt], [0, 1]],   Q = q [[dt³/3, dt²/2], [dt²/2, dt]],   z = position + noise of variance σ_z²;

    the filter begins with the first sighting and predicts without measurements while a person is not seen. The
    forecast at t has the mean p + t v and the variance P_pp + 2 t P_pv + t² P_vv + q t³ / 3 (Bar-Shalom, Li,
    Kirubarajan, Estimation with Applications to Tracking and Navigation, 2001, sections 5.2 and 6.2).
    """

    name = "kalman"
    summary = "Kalman filter with constant velocity over one second of history"
    citation = "Bar-Shalom, Li, Kirubarajan, Estimation with Applications to Tracking and Navigation (2001)"
    needs: ClassVar[frozenset[str]] = frozenset()
    history_s: ClassVar[float] = 1.0
    looks_at_others: ClassVar[bool] = False

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`KalmanSettings`."""
        self._settings = KalmanSettings.parse(settings, "predictor kalman")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> MixtureForecast:
        """Filter the history, then predict."""
        s = self._settings
        mean, covariance = self._filter(history)
        t = np.asarray(horizons_s, np.float64)
        paths = mean[:, None, 0] + t[None, :, None] * mean[:, None, 1]
        pp, pv, vv = (covariance[:, None, k] for k in range(3))
        variance = pp + 2.0 * t * pv + t * t * vv + s.acceleration_noise * t * t * t / 3.0 + s.floor_sd * s.floor_sd
        covariances = variance[:, None, :, None, None] * np.eye(2)
        return MixtureForecast(t, paths[:, None], covariances, np.ones((len(history), 1)))

    def predict_moments(self, moments: Moments) -> MixtureForecast:
        """All pedestrians at once."""
        return self.predict(moments.as_history(), moments.horizons_s)

    def _filter(self, history: TrackHistory) -> tuple[FloatArray, FloatArray]:
        """(N, 2, 2) position and velocity now, and (N, 3) the variances P_pp, P_pv, P_vv of each axis."""
        s = self._settings
        noise = s.position_sd * s.position_sd
        mean: FloatArray = np.zeros((len(history), 2, 2))
        covariance: FloatArray = np.zeros((len(history), 3))
        begun = np.zeros(len(history), bool)
        for position, velocity in zip(history.position, history.velocity, strict=True):
            mean, covariance = self._advance(mean, covariance, history.step_s)
            seen = np.isfinite(position).all(axis=1)
            gain = covariance[:, :2] / (covariance[:, :1] + noise)
            error = np.where((seen & begun)[:, None], position - mean[:, 0], 0.0)
            gain = np.where((seen & begun)[:, None], gain, 0.0)
            mean = mean + gain[:, :, None] * error[:, None, :]
            pp, pv, vv = covariance.T
            covariance = np.stack([pp * (1.0 - gain[:, 0]), pv * (1.0 - gain[:, 0]), vv - gain[:, 1] * pv], axis=1)
            first = seen & ~begun
            mean[first] = np.stack([position, np.where(np.isfinite(velocity), velocity, 0.0)], axis=1)[first]
            covariance[first] = (noise, 0.0, s.velocity_sd * s.velocity_sd)
            begun |= seen
        return mean, covariance

    def _advance(self, mean: FloatArray, covariance: FloatArray, dt: float) -> tuple[FloatArray, FloatArray]:
        q = self._settings.acceleration_noise
        pp, pv, vv = covariance.T
        moved = np.stack([mean[:, 0] + dt * mean[:, 1], mean[:, 1]], axis=1)
        grown = (
            pp + 2.0 * dt * pv + dt * dt * vv + q * dt * dt * dt / 3.0,
            pv + dt * vv + q * dt * dt / 2.0,
            vv + q * dt,
        )
        return moved, np.stack(grown, axis=1)
