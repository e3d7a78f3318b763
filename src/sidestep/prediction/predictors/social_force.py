"""People walk on as they do now and keep off each other and the vehicle: a roll-out of social forces."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sidestep._util import exact
from sidestep.interfaces import MomentPredictor
from sidestep.types.base import FloatArray, Model, NonNegative, Positive
from sidestep.types.forecast import Ego, MixtureForecast, TrackHistory
from sidestep.types.moments import Moments
from sidestep.types.scene import CompiledScene

STEP_S = 0.1
FASTEST = 1.3
"""Nobody walks faster than this multiple of the wished speed (Helbing and Molnár 1995)."""
LARGEST_EXPONENT = 1.0
SCENES_AT_ONCE = 256


class SocialForceSettings(Model):
    """Forces as Helbing, Farkas and Vicsek (2000) state them, and how fast the forecast gets uncertain."""

    relaxation_time: Positive = 0.5
    """τ, s."""
    strength: NonNegative = 25.0
    """A / m, m/s²: repulsion at touching distance (2000 N for 80 kg)."""
    range: Positive = 0.08
    """B, m."""
    radius: Positive = 0.25
    """Radius of a person, m."""
    vehicle_strength: NonNegative = 5.0
    """Repulsion by the vehicle at touching distance, m/s²; ours, and its range."""
    vehicle_range: Positive = 0.5
    position_sd: Positive = 0.05
    """σ_p, m: of the present position."""
    velocity_sd: NonNegative = 0.2
    """σ_v, m/s: of the present velocity."""
    acceleration_noise: NonNegative = 0.05
    """q, m²/s³."""


class SocialForce(MomentPredictor):
    """One Gaussian per person, whose mean moves under

        dv_i/dt = (v_i⁰ - v_i)/τ + Σ_j A/m exp((2 r - d_ij)/B) n_ij + (the same from the vehicle),

    where the wished velocity v⁰ is the present one, d_ij and n_ij are distance and direction from j to i, and the
    vehicle, a rectangle with round ends, keeps its velocity. The speed is at most 1.3 times the wished one. The
    variance is that of ``constant_velocity``: σ_p² + σ_v² t² + q t³ / 3. After D. Helbing, P. Molnár, Physical Review E
    51, 4282 (1995), with the constants of D. Helbing, I. Farkas, T. Vicsek, Nature 407, 487 (2000).
    """

    name = "social_force"
    summary = "everybody walks on and is pushed off by other people and the vehicle"
    citation = "Helbing, Molnár, Phys. Rev. E 51 (1995); Helbing, Farkas, Vicsek, Nature 407 (2000)"
    needs: ClassVar[frozenset[str]] = frozenset({"ego"})
    history_s: ClassVar[float] = 0.0
    looks_at_others: ClassVar[bool] = True

    def __init__(self, **settings: Any) -> None:
        """Settings: the fields of :class:`SocialForceSettings`."""
        self._settings = SocialForceSettings.parse(settings, "predictor social_force")
        self.settings: dict[str, Any] = self._settings.model_dump()

    def predict(
        self, history: TrackHistory, horizons_s: FloatArray, scene: CompiledScene | None = None, ego: Ego | None = None
    ) -> MixtureForecast:
        """Roll everybody out together."""
        people = np.concatenate([history.position[-1], history.velocity[-1]], axis=1)[None]
        vehicle = np.full((1, 7), np.nan)
        if ego is not None:
            state = ego.state
            length, width, ahead = ego.body or (2.0 * ego.radius, 2.0 * ego.radius, 0.0)
            sine, cosine = exact.sincos(state.heading)
            place = (state.x + ahead * cosine, state.y + ahead * sine, state.heading)
            vehicle[0] = (*place, state.vx, state.vy, length, width)
        paths = self._roll_out(people, vehicle, np.asarray(horizons_s, np.float64))[0]
        return self._with_variance(paths, horizons_s)

    def predict_moments(self, moments: Moments) -> MixtureForecast:
        """Roll out the scenes of all moments."""
        member = moments.member
        vehicle = np.full((len(moments.crowd), 7), np.nan)
        sine, cosine = exact.sincos(moments.ego[:, -1, 2])
        velocity = moments.ego_speed[:, None] * np.stack([cosine, sine], axis=1)
        vehicle[member[:, 0]] = np.concatenate([moments.ego[:, -1], velocity, moments.ego_size], axis=1)
        paths = np.zeros((*moments.crowd.shape[:2], len(moments.horizons_s), 2))
        for first in range(0, len(vehicle), SCENES_AT_ONCE):
            part = slice(first, first + SCENES_AT_ONCE)
            paths[part] = self._roll_out(moments.crowd[part], vehicle[part], moments.horizons_s)
        return self._with_variance(paths[member[:, 0], member[:, 1]], moments.horizons_s)

    def _with_variance(self, paths: FloatArray, horizons_s: FloatArray) -> MixtureForecast:
        s, t = self._settings, np.asarray(horizons_s, np.float64)
        variance = s.position_sd * s.position_sd + s.velocity_sd * s.velocity_sd * t * t
        variance = variance + s.acceleration_noise * t * t * t / 3.0
        covariances = np.broadcast_to(variance[:, None, None] * np.eye(2), (len(paths), 1, len(t), 2, 2))
        return MixtureForecast(t, paths[:, None], covariances, np.ones((len(paths), 1)))

    def _roll_out(self, crowd: FloatArray, vehicle: FloatArray, horizons_s: FloatArray) -> FloatArray:
        """(G, N, H, 2) positions of ``crowd (G, N, 4)`` beside ``vehicle (G, 7)`` (x, y, heading, vx, vy, length,
        width); NaN: nobody, no vehicle."""
        there = np.isfinite(crowd[..., 0])
        far = 1e6 * (1.0 + np.arange(crowd.shape[1]))[None, :, None]  # nobody is far from everybody
        position, wish = np.where(there[..., None], crowd[..., :2], far), np.where(there[..., None], crowd[..., 2:], 0)
        velocity, limit = wish, FASTEST * exact.norm(wish)
        middle = vehicle[:, None, :2].copy()
        found = np.zeros((*crowd.shape[:2], len(horizons_s), 2))
        time = 0.0
        for h, horizon in enumerate(horizons_s.tolist()):
            while time < horizon - 1e-9:
                dt = min(STEP_S, horizon - time)
                velocity = velocity + dt * self._acceleration(position, velocity, wish, middle, vehicle)
                speed = exact.norm(velocity)
                velocity = velocity * np.minimum(1.0, limit / np.maximum(speed, 1e-9))[..., None]
                position, middle = position + dt * velocity, middle + dt * vehicle[:, None, 3:5]
                time += dt
            found[:, :, h] = position
        return found

    def _acceleration(
        self, position: FloatArray, velocity: FloatArray, wish: FloatArray, middle: FloatArray, vehicle: FloatArray
    ) -> FloatArray:
        s = self._settings
        total = (wish - velocity) / s.relaxation_time
        if position.shape[1] > 1:
            away = position[:, :, None] - position[:, None]
            distance = np.maximum(exact.norm(away), 1e-6)
            exponent = np.minimum((2.0 * s.radius - distance) / s.range, LARGEST_EXPONENT)
            push = s.strength * exact.exp(np.maximum(exponent, -50.0)) / distance
            total = total + (push[..., None] * away).sum(axis=2)  # a person's own distance vector is 0
        if np.isfinite(vehicle[:, 0]).any():
            sine, cosine = (part[:, None] for part in exact.sincos(vehicle[:, 2]))
            half = np.maximum(vehicle[:, 5] - vehicle[:, 6], 0.0)[:, None] / 2.0
            offset = position - middle
            along = np.clip(offset[..., 0] * cosine + offset[..., 1] * sine, -half, half)
            away = offset - along[..., None] * np.stack([cosine, sine], axis=-1)
            distance = np.maximum(exact.norm(away), 1e-6)
            gap = distance - vehicle[:, None, 6] / 2.0 - s.radius
            exponent = np.minimum(-gap / s.vehicle_range, LARGEST_EXPONENT)
            push = s.vehicle_strength * exact.exp(np.maximum(exponent, -50.0)) / distance
            total = total + np.where(np.isfinite(push)[..., None], push[..., None] * away, 0.0)
        return total
