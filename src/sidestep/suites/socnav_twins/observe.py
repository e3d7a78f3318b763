"""A crowd as it is looked at, recorded or generated alike: where everybody is and how they move, every 0.4 s."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.suites.socnav_twins.windows import STEP_S
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.tracks import Tracks

MOVING_MPS = 0.3
"""Who is slower stands."""


@dataclass(frozen=True, eq=False)
class Seen:
    """T looks at N people, ``STEP_S`` apart. NaN where absent; the velocity is the displacement until the next look."""

    position: FloatArray  # (T, N, 2) m
    velocity: FloatArray  # (T, N, 2) m/s

    @property
    def present(self) -> BoolArray:
        """(T, N)."""
        return np.isfinite(self.position[:, :, 0])

    @property
    def speed(self) -> FloatArray:
        """(T, N) m/s."""
        return np.hypot(self.velocity[:, :, 0], self.velocity[:, :, 1])


def see_positions(position: FloatArray) -> Seen:
    """From positions (T, N, 2) every ``STEP_S``; who is seen once only has no velocity."""
    ahead = np.diff(position, axis=0) / STEP_S
    nothing = np.full((1, *position.shape[1:]), np.nan)
    forward, backward = np.concatenate([ahead, nothing]), np.concatenate([nothing, ahead])
    return Seen(position, np.where(np.isfinite(forward), forward, backward))


def see_tracks(tracks: Tracks, start_s: float, duration_s: float) -> Seen:
    """The people of a recording during a window, in the order of ``tracks.people``."""
    times = start_s + STEP_S * np.arange(round(duration_s / STEP_S) + 1)
    return see_positions(tracks.sample(times)[0])


def see_steps(replay: FloatArray, step_s: float) -> Seen:
    """A crowd given at every simulation step, (T, N, 4)."""
    return see_positions(replay[:: round(STEP_S / step_s), :, :2].astype(np.float64))
