"""What a predictor is given and what it returns: the history of tracked people, and a forecast of their positions as
weighted samples or Gaussian mixtures. World frame, metres, seconds; horizons count from the last time of the history.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.observation import RobotState

WEIGHT_SUM_TOLERANCE = 1e-6
SYMMETRY_TOLERANCE = 1e-9
SAME_HORIZON_S = 1e-9


class TrackHistory:
    """N tracked people at T times, ``step_s`` apart; the last time is now. Everybody is seen now; NaN before that
    while a person was not seen. With T = 1 only the present is known."""

    __slots__ = ("body", "head", "id", "position", "step_s", "velocity")

    def __init__(
        self,
        id: IntArray,
        position: FloatArray,
        velocity: FloatArray,
        step_s: float,
        body: FloatArray | None = None,
        head: FloatArray | None = None,
    ) -> None:
        """``id (N,)``: one number per person, each once. ``position`` and ``velocity (T, N, 2)``: m and m/s.
        ``body`` and ``head (T, N)``: where they point, rad in the world frame; NaN or None: not known."""
        self.id, self.position, self.velocity, self.step_s = id, position, velocity, step_s
        self.body, self.head = body, head
        shape = position.shape
        if len(shape) != 3 or shape[0] < 1 or shape[1:] != (len(id), 2):
            raise BadInput(
                f"history: position has shape {shape}; expected (T, {len(id)}, 2) with at least one time for {len(id)} "
                "people"
            )
        if velocity.shape != shape:
            raise BadInput(f"history: velocity has shape {velocity.shape}, position {shape}; they must be equal")
        for name, angle in (("body", body), ("head", head)):
            if angle is not None and angle.shape != shape[:2]:
                raise BadInput(f"history: {name} has shape {angle.shape}; expected {shape[:2]}")
        if not step_s > 0.0:
            raise BadInput(f"history: step_s is {step_s}; give the time between two rows in seconds")

    def __len__(self) -> int:
        return len(self.id)


@dataclass(frozen=True, slots=True, eq=False)
class Ego:
    """The robot or vehicle among the people."""

    state: RobotState  # state of the robot
    radius: float
    """Radius of a disc that encloses it, m."""
    plan: FloatArray | None = None  # (H, 2) m: where it means to be at the horizons; None: not known
    past: FloatArray | None = None
    """(T, 3) x, y, heading of its reference point at the times of the history; None: it went straight."""
    body: tuple[float, float, float] | None = None
    """Length, width, and how far the middle of the body is ahead of the reference point, m; None: a disc."""


class Forecast:
    """Where N people will be at H horizons: M alternative paths per person with weights.

    Base class of :class:`SampleForecast` and :class:`MixtureForecast`.
    """

    def __init__(self, horizons_s: Any) -> None:
        self.horizons_s: FloatArray = np.asarray(horizons_s, np.float64)
        """(H,) s ahead, increasing."""
        check_horizons(self.horizons_s)

    @property
    def paths(self) -> FloatArray:
        """(N, M, H, 2) m: the samples, or the means of the modes."""
        raise NotImplementedError

    @property
    def weights(self) -> FloatArray:
        """(N, M): at least 0, their sum over M is 1."""
        raise NotImplementedError

    def __len__(self) -> int:
        return len(self.paths)

    def mean(self) -> FloatArray:
        """(N, H, 2) m: expected positions."""
        total: FloatArray = (self.weights[:, :, None, None] * self.paths).sum(axis=1)
        return total

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """(N, count, H, 2) m: paths drawn at random."""
        return self._chosen(self.paths, count, rng)[0]

    def marginal(self, horizon_s: float) -> Forecast:
        """The forecast of one horizon alone: the same kind, with H = 1."""
        raise NotImplementedError

    def _index(self, horizon_s: float) -> int:
        index = int(np.argmin(np.abs(self.horizons_s - horizon_s)))
        if abs(self.horizons_s[index] - horizon_s) > SAME_HORIZON_S:
            known = ", ".join(f"{t:g}" for t in self.horizons_s)
            raise BadInput(f"forecast: no horizon of {horizon_s:g} s; it has {known} s")
        return index

    def _chosen(self, values: FloatArray, count: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
        """Values (N, count, …) of alternatives drawn by weight from (N, M, …), and their numbers (N, count)."""
        people, alternatives = self.weights.shape
        reached = rng.random((people, count))[:, :, None] >= np.cumsum(self.weights, axis=1)[:, None, :]
        which: IntArray = np.minimum(reached.sum(axis=2), alternatives - 1)
        return values[np.arange(people)[:, None], which], which


class SampleForecast(Forecast):
    """K sampled paths per person, with weights (equal ones by default)."""

    def __init__(self, horizons_s: Any, samples: Any, weights: Any | None = None) -> None:
        """``samples (N, K, H, 2)``: m. ``weights (N, K)``, or (K,) for everybody."""
        super().__init__(horizons_s)
        self._paths: FloatArray = np.asarray(samples, np.float64)
        if self._paths.ndim != 4 or self._paths.shape[1] < 1 or self._paths.shape[2:] != (len(self.horizons_s), 2):
            raise BadInput(
                f"forecast: samples have shape {self._paths.shape}; expected (people, samples, "
                f"{len(self.horizons_s)} horizons, 2)"
            )
        _check_finite("sample", self._paths, self.horizons_s)
        shape = self._paths.shape[:2]
        self._weights = np.full(shape, 1.0 / shape[1]) if weights is None else _checked_weights(weights, shape)

    @property
    def paths(self) -> FloatArray:
        """(N, K, H, 2) m: the samples."""
        return self._paths

    @property
    def weights(self) -> FloatArray:
        """(N, K)."""
        return self._weights

    def marginal(self, horizon_s: float) -> SampleForecast:
        """The samples at one horizon."""
        h = self._index(horizon_s)
        return SampleForecast(self.horizons_s[h : h + 1], self._paths[:, :, h : h + 1], self._weights)


class MixtureForecast(Forecast):
    """A mixture of M Gaussians per person and horizon; mode m is the same alternative at all horizons."""

    def __init__(self, horizons_s: Any, means: Any, covariances: Any, weights: Any) -> None:
        """``means (N, M, H, 2)``: m. ``covariances (N, M, H, 2, 2)``: m². ``weights (N, M)``, or (M,)."""
        super().__init__(horizons_s)
        self._means: FloatArray = np.asarray(means, np.float64)
        self._covariances: FloatArray = np.asarray(covariances, np.float64)
        if self._means.ndim != 4 or self._means.shape[1] < 1 or self._means.shape[2:] != (len(self.horizons_s), 2):
            raise BadInput(
                f"forecast: means have shape {self._means.shape}; expected (people, modes, {len(self.horizons_s)} "
                "horizons, 2)"
            )
        if self._covariances.shape != (*self._means.shape, 2):
            raise BadInput(
                f"forecast: covariances have shape {self._covariances.shape}; expected {(*self._means.shape, 2)}"
            )
        _check_finite("mean", self._means, self.horizons_s)
        _check_covariances(self._covariances, self.horizons_s)
        self._weights = _checked_weights(weights, self._means.shape[:2])

    @property
    def paths(self) -> FloatArray:
        """(N, M, H, 2) m: the means of the modes."""
        return self._means

    @property
    def covariances(self) -> FloatArray:
        """(N, M, H, 2, 2) m², symmetric and positive definite."""
        return self._covariances

    @property
    def weights(self) -> FloatArray:
        """(N, M)."""
        return self._weights

    def sample(self, count: int, rng: np.random.Generator) -> FloatArray:
        """(N, count, H, 2) m. A path draws its mode and one standard normal vector z, and is mean + L z at every
        horizon (L: Cholesky factor of the covariance there): each horizon has its distribution, and paths are smooth.
        """
        paths, which = self._chosen(self.paths, count, rng)
        covariance = self.covariances[np.arange(len(self))[:, None], which]
        z = exact.normal(rng, size=(len(self), count, 2))[:, :, None, :]
        first = np.sqrt(covariance[..., 0, 0])
        mixed = covariance[..., 1, 0] / first
        second = np.sqrt(covariance[..., 1, 1] - mixed * mixed)
        drawn: FloatArray = paths + np.stack([first * z[..., 0], mixed * z[..., 0] + second * z[..., 1]], axis=-1)
        return drawn

    def marginal(self, horizon_s: float) -> MixtureForecast:
        """The mixture at one horizon."""
        h = self._index(horizon_s)
        at = slice(h, h + 1)
        return MixtureForecast(
            self.horizons_s[at], self.paths[:, :, at], self.covariances[:, :, at], self.weights
        )  # fmt: skip


class StraightForecast(MixtureForecast):
    """One Gaussian per person whose mean moves on a straight line: position + t · velocity, variance · identity.

    The arrays of the mixture are made when they are first read, so that a planner that can use straight lines does not
    wait for them.
    """

    def __init__(self, horizons_s: Any, position: FloatArray, velocity: FloatArray, variance: FloatArray) -> None:
        """``position`` and ``velocity (N, 2)``: m and m/s at time 0. ``variance (H,)``: m² along each axis."""
        Forecast.__init__(self, horizons_s)
        if variance.shape != self.horizons_s.shape or not (variance > 0.0).all():
            raise BadInput(f"forecast: variance must be {len(self.horizons_s)} numbers above 0, one per horizon")
        self.variance = variance
        self._set_lines(position, velocity)

    def of(self, position: FloatArray, velocity: FloatArray) -> StraightForecast:
        """A forecast of other people with the same horizons and variances, which are not checked again."""
        other = StraightForecast.__new__(StraightForecast)
        other.horizons_s, other.variance = self.horizons_s, self.variance
        other._set_lines(position, velocity)
        return other

    def _set_lines(self, position: FloatArray, velocity: FloatArray) -> None:
        if position.ndim != 2 or position.shape[1] != 2 or velocity.shape != position.shape:
            raise BadInput(
                f"forecast: position has shape {position.shape} and velocity {velocity.shape}; expected (people, 2)"
            )
        if not isfinite(np.add.reduce(position + velocity, axis=None)):  # one number that is not finite makes it so
            person = int(np.argmin(np.isfinite(position + velocity).all(axis=1)))
            raise BadInput(f"forecast: position or velocity of person {person} is not finite")
        self.position, self.velocity = position, velocity

    def __len__(self) -> int:
        return len(self.position)

    @cached_property
    def _means(self) -> FloatArray:  # type: ignore[override]
        line = self.position[:, None] + self.horizons_s[None, :, None] * self.velocity[:, None]
        return line[:, None]

    @cached_property
    def _covariances(self) -> FloatArray:  # type: ignore[override]
        shape = (len(self.position), 1, len(self.horizons_s), 2, 2)
        return np.broadcast_to(self.variance[:, None, None] * np.eye(2), shape)

    @cached_property
    def _weights(self) -> FloatArray:  # type: ignore[override]
        return np.ones((len(self.position), 1))


def as_forecast(found: Any, predictor: str) -> Forecast:
    """What a predictor returned; ``BadInput`` unless it is a ``Forecast``."""
    if not isinstance(found, Forecast):
        raise BadInput(
            f"predictor {predictor} returned {type(found).__name__}; return a SampleForecast or a MixtureForecast "
            "(sidestep.types.forecast)"
        )
    return found


def check_horizons(horizons_s: FloatArray) -> None:
    """``BadInput`` unless these are times ahead (H,) in increasing order, s."""
    if horizons_s.ndim != 1 or not len(horizons_s):
        raise BadInput(f"horizons have shape {horizons_s.shape}; give at least one time in seconds, as (H,)")
    if not (np.isfinite(horizons_s).all() and horizons_s[0] > 0.0 and (horizons_s[1:] > horizons_s[:-1]).all()):
        raise BadInput(f"horizons must be finite, above 0 and increasing, not {horizons_s.tolist()}")


def _check_finite(kind: str, paths: FloatArray, horizons_s: FloatArray) -> None:
    finite = np.isfinite(paths).all(axis=-1)
    if not finite.all():
        person, number, h = np.argwhere(~finite)[0].tolist()
        raise BadInput(f"forecast: {kind} {number} of person {person} at {horizons_s[h]:g} s is not finite")


def _check_covariances(covariances: FloatArray, horizons_s: FloatArray) -> None:
    xx, xy, yx, yy = (covariances[..., i, j] for i in (0, 1) for j in (0, 1))
    symmetric = np.abs(xy - yx) <= SYMMETRY_TOLERANCE * (1.0 + np.abs(xy))
    good = symmetric & (xx > 0.0) & (yy > 0.0) & (xx * yy - xy * yx > 0.0) & np.isfinite(xx + yy)
    if not good.all():
        person, mode, h = np.argwhere(~good)[0].tolist()
        raise BadInput(
            f"forecast: the covariance of person {person}, mode {mode} at {horizons_s[h]:g} s is "
            f"{covariances[person, mode, h].tolist()}; it must be symmetric and positive definite"
        )


def _checked_weights(weights: Any, shape: tuple[int, ...]) -> FloatArray:
    found: FloatArray = np.asarray(weights, np.float64)
    if found.shape == shape[1:]:
        found = np.broadcast_to(found, shape)
    if found.shape != shape:
        raise BadInput(f"forecast: weights have shape {found.shape}; expected {shape}, one per person and alternative")
    good = (found >= 0.0).all(axis=1) & (np.abs(found.sum(axis=1) - 1.0) <= WEIGHT_SUM_TOLERANCE)
    if not good.all():
        person = int(np.argmin(good))
        raise BadInput(
            f"forecast: weights of person {person} are {found[person].tolist()}; they must be at least 0 and sum to 1"
        )
    return found
