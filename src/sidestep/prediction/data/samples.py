"""The moments of a data set at which a predictor is asked: one second of history, and what happened afterwards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.interactions import Interactions

HORIZONS_S = np.array([1.0, 2.0, 3.0, 4.0])
"""The paper's prediction horizons, s."""
HORIZONS_S.flags.writeable = False
HISTORY_S = 1.0


@dataclass(frozen=True, eq=False)
class Samples:
    """S moments. Arrays are in the order of the moments; a moment is the last frame of its history."""

    data: Interactions
    track: IntArray  # (S,) int64
    frame: IntArray  # (S,) int64, a row of the data's frames
    history: int
    """Steps between the first and the last frame of the history."""
    horizons_s: FloatArray  # (H,) s ahead

    def __len__(self) -> int:
        return len(self.frame)

    @cached_property
    def rows(self) -> IntArray:
        """(S, history + 1) the frames of the histories."""
        found: IntArray = self.frame[:, None] + np.arange(-self.history, 1)
        return found

    @cached_property
    def past(self) -> FloatArray:
        """(S, history + 1, 2) m."""
        found: FloatArray = self.data.position[self.rows]
        return found

    @cached_property
    def future_rows(self) -> IntArray:
        """(S, H) the frames of the horizons; -1 where the track ends before."""
        ahead = np.rint(self.horizons_s / self.data.step_s).astype(np.int64)
        rows = self.frame[:, None] + ahead
        return np.where(rows < self.data.stop[self.track][:, None], rows, -1)

    @cached_property
    def known(self) -> BoolArray:
        """(S, H) whether it is known where the pedestrian was then."""
        found: BoolArray = self.future_rows >= 0
        return found

    @cached_property
    def future(self) -> FloatArray:
        """(S, H, 2) m; NaN where it is not known."""
        return np.where(self.known[..., None], self.data.position[self.future_rows], np.nan)

    @property
    def ego(self) -> FloatArray:
        """(S, 3) x, y, heading of the middle of the vehicle at the moment."""
        found: FloatArray = self.data.ego[self.frame]
        return found

    @property
    def ego_speed(self) -> FloatArray:
        """(S,) m/s."""
        found: FloatArray = self.data.ego_speed[self.frame].astype(np.float64)
        return found

    @property
    def clip(self) -> IntArray:
        """(S,) number of the clip."""
        found: IntArray = self.data.clip[self.track]
        return found

    def choose(self, rows: IntArray | BoolArray) -> Samples:
        """Some of the moments."""
        return Samples(self.data, self.track[rows], self.frame[rows], self.history, self.horizons_s)


def make_samples(
    data: Interactions, every: int = 1, horizons_s: FloatArray = HORIZONS_S, history_s: float = HISTORY_S
) -> Samples:
    """Every ``every``-th frame of each track that has a whole history behind it and at least the first horizon ahead.

    ``BadInput`` if a horizon or the history is no whole number of steps, or if a track is too short for one sample: a
    rate over tracks must not lose any without saying so. Drop short tracks with ``Interactions.choose`` first.
    """
    steps = np.append(horizons_s, history_s) / data.step_s
    if (np.abs(steps - np.rint(steps)) > 1e-6).any():
        raise BadInput(f"horizons and history must be whole numbers of steps of {data.step_s:g} s")
    history, first = round(history_s / data.step_s), round(float(horizons_s[0]) / data.step_s)
    short = data.stop - data.start < history + first + 1
    if short.any():
        track = int(np.argmax(short))
        frames = int(data.stop[track] - data.start[track])
        raise BadInput(
            f"{data.place_of(int(data.start[track]))}: the track has {frames} frames; a history of {history_s:g} s and "
            f"a horizon of {horizons_s[0]:g} s need {history + first + 1}; leave short tracks out "
            f"({int(short.sum())} of {len(data)})"
        )
    none = np.zeros(0, np.int64)
    moments = [
        np.arange(start + history, stop - first, every, dtype=np.int64)
        for start, stop in zip(data.start.tolist(), data.stop.tolist(), strict=True)
    ]
    tracks = np.repeat(np.arange(len(data)), [len(found) for found in moments]) if moments else none
    return Samples(data, tracks, np.concatenate([none, *moments]), history, horizons_s)
