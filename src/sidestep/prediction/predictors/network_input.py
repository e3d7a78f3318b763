"""What a learned predictor looks at, as arrays: motions, the vehicle, orientations and a window of the semantic map, in
a frame that has its origin at the pedestrian's last position.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput, UnknownName
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.interactions import GroundMap
from sidestep.types.moments import Moments

FEATURE_SETS = (
    "motion", "motion+egodist", "motion+head&body", "motion+egodist+head&body",
    "motion+map", "motion+map+egodist", "motion+map+head&body", "motion+map+egodist+head&body",
)  # fmt: skip
"""All combinations of features, in the order of the paper's tables."""
CHANNELS = {"motion": 2, "egodist": 2, "head&body": 4}
"""Numbers per time step of the features that have a history."""
STEPS = 10
"""Relative motions in a history of one second."""
STEP_S = 0.1
SPAN_M = 25.6
"""Side of the map window."""
SLOWEST_M = 0.3
"""A frame follows the pedestrian's motion only if that was longer than this over the history, m."""
FrameKind = Literal["world", "heading"]
WINDOWS_AT_ONCE = 2048


def parse_features(name: str) -> str:
    """The feature set as ``FEATURE_SETS`` spells it, from features in any order; ``UnknownName`` if there is none."""
    parts = frozenset(part.strip() for part in name.split("+"))
    for known in FEATURE_SETS:
        if parts == frozenset(known.split("+")):
            return known
    raise UnknownName("feature set", name, FEATURE_SETS)


def channels_of(features: str) -> int:
    """C, numbers per time step of a feature set."""
    return sum(CHANNELS.get(part, 0) for part in features.split("+"))


def frame_turn(past: FloatArray, kind: FrameKind) -> FloatArray:
    """(S,) rad from the world's x axis to the frame's: 0 for ``world``; for ``heading`` the direction from the first to
    the last position of ``past (S, T, 2)``, 0 for those who stand."""
    motion = past[:, -1] - past[:, 0]
    far = exact.hypot(motion[:, 0], motion[:, 1]) > SLOWEST_M
    if kind == "world":
        return np.zeros(len(past))
    return np.where(far, exact.arctan2(motion[:, 1], np.where(far, motion[:, 0], 1.0)), 0.0)


def turned(vectors: FloatArray, turn: FloatArray) -> FloatArray:
    """``vectors (S, …, 2)`` of the world in frames that are turned by ``turn (S,)``; with ``-turn``, back."""
    sine, cosine = exact.sincos(turn)
    shape = (len(vectors), *[1] * (vectors.ndim - 2))
    sine, cosine = sine.reshape(shape), cosine.reshape(shape)
    x, y = vectors[..., 0], vectors[..., 1]
    return np.stack([cosine * x + sine * y, cosine * y - sine * x], axis=-1)


def history_input(moments: Moments, features: str, turn: FloatArray) -> FloatArray:
    """(S, STEPS, C) float32: for each of the last steps the relative motion (m), the vehicle's position relative to the
    pedestrian (m), and cosine and sine of head and body. What is not known is 0."""
    if moments.past.shape[1] <= STEPS or abs(moments.step_s - STEP_S) > 1e-6:
        raise BadInput(
            f"a learned predictor looks at {STEPS + 1} positions in steps of {STEP_S:g} s; there are "
            f"{moments.past.shape[1]} in steps of {moments.step_s:g} s: resample the data"
        )
    parts = features.split("+")
    now = slice(-STEPS, None)
    columns = [turned(np.diff(moments.past[:, -STEPS - 1 :], axis=1), turn)]
    if "egodist" in parts:
        columns.append(turned(moments.ego[:, now, :2] - moments.past[:, now], turn))
    if "head&body" in parts:
        for angle in (moments.head[:, now], moments.body[:, now]):
            known = np.isfinite(angle)
            sine, cosine = exact.sincos(np.where(known, angle - turn[:, None], 0.0).astype(np.float64))
            columns.append(np.where(known[..., None], np.stack([cosine, sine], axis=-1), 0.0))
    joined = np.concatenate(columns, axis=-1)
    return np.where(np.isfinite(joined), joined, 0.0).astype(np.float32)


class GroundWindows:
    """Cuts turned windows from many maps."""

    def __init__(self, grounds: tuple[GroundMap, ...], cells: int, span_m: float = SPAN_M) -> None:
        """``cells`` along each side of a window of ``span_m``."""
        self.cells, self.span_m = cells, span_m
        framed = [np.pad(ground.cells, 1) for ground in grounds]  # a frame of unknown ground stands for the outside
        self._flat = np.concatenate([np.zeros(1, np.uint8), *(each.ravel() for each in framed)])
        sizes = [each.size for each in framed]
        self._first = np.cumsum([1, *sizes])[:-1]
        self._shape = np.array([each.shape for each in framed], np.int64).reshape(-1, 2)
        self._origin = np.array([ground.origin for ground in grounds], np.float64).reshape(-1, 2)
        self._cell_m = np.array([ground.cell_m for ground in grounds], np.float64)
        offsets = (np.arange(cells) + 0.5) * (span_m / cells) - span_m / 2
        self._x, self._y = offsets.astype(np.float32)[None, None, :], offsets.astype(np.float32)[None, :, None]

    def cut(self, ground: IntArray, centre: FloatArray, turn: FloatArray) -> IntArray:
        """(S, cells, cells) uint8: column j and row i look along x and y of the turned frame around ``centre (S, 2)``.
        Unknown (0) beyond the map, and everywhere where ``ground`` is -1."""
        windows = np.zeros((len(ground), self.cells, self.cells), np.uint8)
        there = np.flatnonzero(ground >= 0)
        for first in range(0, len(there), WINDOWS_AT_ONCE):
            rows = there[first : first + WINDOWS_AT_ONCE]
            windows[rows] = self._cut(ground[rows], centre[rows], turn[rows])
        return windows

    def _cut(self, ground: IntArray, centre: FloatArray, turn: FloatArray) -> IntArray:
        sine, cosine = exact.sincos(turn)
        scale = 1.0 / self._cell_m[ground]
        middle = (centre - self._origin[ground]) * scale[:, None] + 1.0

        def place(along_x: FloatArray, along_y: FloatArray, shift: FloatArray, most: IntArray) -> IntArray:
            a, b, c = ((value.astype(np.float32))[:, None, None] for value in (along_x, along_y, shift))
            position = a * self._x + (b * self._y + c)
            np.clip(position, 0, most.astype(np.float32)[:, None, None] - 0.5, out=position)
            return position.astype(np.int32)

        column = place(scale * cosine, -scale * sine, middle[:, 0], self._shape[ground, 1])
        row = place(scale * sine, scale * cosine, middle[:, 1], self._shape[ground, 0])
        row *= self._shape[ground, 1].astype(np.int32)[:, None, None]
        row += column
        index = row + self._first[ground][:, None, None]
        found: IntArray = self._flat.take(index)
        return found
