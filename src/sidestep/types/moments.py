"""Many moments of a data set as arrays: what a predictor is asked about all at once."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sidestep.types.base import FloatArray, IntArray
from sidestep.types.forecast import TrackHistory
from sidestep.types.interactions import GroundMap


@dataclass(frozen=True, eq=False)
class Moments:
    """S moments of one pedestrian each, with T times of history. World frame, m, s, rad."""

    step_s: float
    horizons_s: FloatArray  # (H,) s ahead
    past: FloatArray  # (S, T, 2) positions; the last one is now
    ego: FloatArray  # (S, T, 3) x, y, heading of the middle of the vehicle
    ego_speed: FloatArray  # (S,) m/s now, along the heading
    ego_size: FloatArray  # (S, 2) length and width of the vehicle
    body: FloatArray  # (S, T) where the body points; NaN: not known
    head: FloatArray  # (S, T) where the head points; NaN: not known
    ground: IntArray  # (S,) number of the map; -1: none
    grounds: tuple[GroundMap, ...] = ()
    crowd: FloatArray = field(default_factory=lambda: np.zeros((0, 0, 4)))
    """(G, N, 4) x, y, vx, vy of everybody in the G different scenes of the moments; NaN: nobody."""
    member: IntArray = field(default_factory=lambda: np.zeros((0, 2), np.int64))
    """(S, 2) the scene of each moment, and the place of its pedestrian there."""

    def __len__(self) -> int:
        return len(self.past)

    def choose(self, rows: Any) -> Moments:
        """Some of the moments; without other people."""
        names = ("past", "ego", "ego_speed", "ego_size", "body", "head", "ground")
        chosen = {name: getattr(self, name)[rows] for name in names}
        return replace(self, **chosen, crowd=np.zeros((0, 0, 4)), member=np.zeros((0, 2), np.int64))

    def as_history(self) -> TrackHistory:
        """All pedestrians as one history of S people who have nothing to do with each other."""
        position = np.ascontiguousarray(self.past.transpose(1, 0, 2))
        velocity = backward_velocity(self.past, self.step_s).transpose(1, 0, 2)
        return TrackHistory(np.arange(len(self)), position, velocity, self.step_s, self.body.T, self.head.T)


def backward_velocity(positions: FloatArray, step_s: float) -> FloatArray:
    """(…, T, 2) m/s: each position minus the one before; the first row repeats the second."""
    if positions.shape[-2] < 2:
        return np.zeros_like(positions)
    motion = np.diff(positions, axis=-2) / step_s
    return np.concatenate([motion[..., :1, :], motion], axis=-2)
