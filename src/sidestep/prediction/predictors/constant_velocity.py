"""People go on as they walk now; how far they may be off grows with time."""

from __future__ import annotations

from typing import Any, ClassVar

from sidestep.interfaces import MomentPredictor
from sidestep.types.base import FloatArray, Model, NonNegative, Positive
from sidestep.types.forecast import Ego, StraightForecast, TrackHistory
from sidestep.types.moments import Moments
from sidestep.types.scene import CompiledScene


class ConstantVelocitySettings(Model):
    """How fast the forecast gets uncertain."""

    position_sd: Positive = 0.05
    """σ_p, m: of the present position."""
    velocity_sd: NonNegative = 0.2
    """σ_v, m/s: of the present velocity."""
    acceleration_noise: NonNegative = 0.05
    """q, m²/s³: intensity of the white noise that accelerates people."""


class ConstantVelocity(MomentPredictor):
    """One Gaussian per person with mean p + t v and covariance σ²(t) I, where

        σ²(t) = σ_p² + σ_v² t² + q t³ / 3,

    the variance of a person whose present position and velocity are uncertain and whose acceleration is white noise
    (Bar-Shalom, Li, Kirubarajan, Estimation with Applications to Tracking and Navigation, 2001, section 6.2).
    """

    name = "constant_velocity"
    summary = "everybody keeps the present velocity; the variance grows with time"
    citation = "Bar-Shalom, Li, Kirubarajan, Estimation with Applications to Tracking and Navigation (2001)"
    needs: ClassVar[frozenset[str]] = frozenset()
    history_s: ClassVar[float] = 0.0
    looks_at_others: ClassVar[bool] = False

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`ConstantVelocitySettings`."""
        self._settings = ConstantVelocitySettings.parse(settings, "predictor constant_velocity")
        self.settings: dict[str, Any] = self._settings.model_dump()
        self._last: StraightForecast | None = None

    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> StraightForecast:
        """Straight lines from the last time of the history."""
        position, velocity = history.position[-1], history.velocity[-1]
        if self._last is not None and self._last.horizons_s is horizons_s:
            return self._last.of(position, velocity)
        forecast = StraightForecast(horizons_s, position, velocity, self._variance_at(horizons_s))
        if not horizons_s.flags.writeable:  # a planner asks for the same times again and again
            self._last = forecast
        return forecast

    def predict_moments(self, moments: Moments) -> StraightForecast:
        """All pedestrians at once, with the velocity of the last step."""
        return self.predict(moments.as_history(), moments.horizons_s)

    def _variance_at(self, t: FloatArray) -> FloatArray:
        """σ²(t), m²."""
        s = self._settings
        square = t * t
        return (
            s.position_sd * s.position_sd
            + s.velocity_sd * s.velocity_sd * square
            + s.acceleration_noise * square * t / 3.0
        )
