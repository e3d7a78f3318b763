"""Interactions between pedestrians and a vehicle: tracks with the vehicle's motion, orientations of head and body, a
semantic map, and labels. World frame, metres, seconds, radians counter-clockwise from +x.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from hashlib import sha256
from typing import Any, Literal

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray, IntArray, frozen_array

GROUND = ("unknown", "road", "sidewalk", "zebra", "island", "building", "bicycle", "grass")
"""Classes of ground in semantic maps; a cell holds the number of its class."""
PLACES = ("none", "zebra", "island", "zebra+island", "shared")
"""What there is for those who cross; ``shared``: a place without kerbs."""
SPLITS = ("train", "validation", "test")
PASSES = ("none", "front", "behind")
"""Whether a pedestrian crossed the vehicle's corridor in front of the vehicle or behind it."""
Origin = Literal["recorded", "generated"]


@dataclass(frozen=True, eq=False)
class GroundMap:
    """A semantic map from above."""

    cells: IntArray  # (ny, nx) uint8: numbers of GROUND; row 0 is the lowest y
    origin: tuple[float, float]
    """Lower left corner of cell (0, 0), m."""
    cell_m: float = 0.1

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", frozen_array(self.cells, np.uint8, (None, None), "map.cells"))
        if self.cells.size == 0 or int(self.cells.max()) >= len(GROUND):
            raise BadInput(f"map: cells must be numbers below {len(GROUND)}: {', '.join(GROUND)}")
        if not self.cell_m > 0.0:
            raise BadInput(f"map: cell_m is {self.cell_m}; give the size of a cell in metres")

    def at(self, points: FloatArray) -> IntArray:
        """(…) class of the ground at ``points (…, 2)``; 0 (unknown) outside the map."""
        ny, nx = self.cells.shape
        column, row = (np.floor((points[..., k] - self.origin[k]) / self.cell_m) for k in (0, 1))
        inside = (column >= 0) & (column < nx) & (row >= 0) & (row < ny)
        i, j = np.where(inside, row, 0).astype(np.int64), np.where(inside, column, 0).astype(np.int64)
        return np.where(inside, self.cells[i, j], 0).astype(np.uint8)

    def covers(self, points: FloatArray) -> BoolArray:
        """(…) whether ``points (…, 2)`` lie on the map."""
        ny, nx = self.cells.shape
        x, y = points[..., 0] - self.origin[0], points[..., 1] - self.origin[1]
        inside: BoolArray = (x >= 0.0) & (x < nx * self.cell_m) & (y >= 0.0) & (y < ny * self.cell_m)
        return inside


@dataclass(frozen=True, eq=False)
class Clip:
    """One stretch of time with one vehicle: what the tracks in it have in common."""

    name: str
    path: FloatArray  # (P, 2) float64: where the vehicle drives, beyond both ends of what it drove, m
    length: float
    """Length of the vehicle, m."""
    width: float
    ground: int = -1
    """Number of its map; -1: none."""
    place: str = "none"
    """One of PLACES."""
    origin: Origin = "generated"
    driver: str = ""
    """The driver, where known."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", frozen_array(self.path, np.float64, (None, 2), f"clip {self.name}: path"))
        if len(self.path) < 2 or not np.isfinite(self.path).all():
            raise BadInput(f"clip {self.name}: the path needs at least two finite points")
        if self.place not in PLACES:
            raise BadInput(f"clip {self.name}: place {self.place!r} is not one of {', '.join(PLACES)}")


FRAME_COLUMNS: dict[str, tuple[type[np.generic], tuple[int, ...]]] = {
    "position": (np.float64, (2,)),
    "body": (np.float32, ()),
    "head": (np.float32, ()),
    "ego": (np.float64, (3,)),
    "ego_speed": (np.float32, ()),
}
"""Columns with one row per frame: their types and shapes."""
TRACK_COLUMNS: dict[str, type[np.generic]] = {
    "start": np.int64, "stop": np.int64, "person": np.int64, "clip": np.int32, "begin_s": np.float64,
    "crossing": np.bool_, "passes": np.uint8, "labelled": np.bool_, "split": np.uint8,
}  # fmt: skip
"""Columns with one row per track, and their types."""


@dataclass(frozen=True, eq=False)
class Interactions:
    """Many tracks. Frames ``start[i]:stop[i]`` are those of track i, ``step_s`` apart and without gaps."""

    step_s: float
    # one row per frame
    position: FloatArray  # (F, 2) float64, m
    body: FloatArray  # (F,) float32, rad; NaN: not labelled
    head: FloatArray  # (F,) float32, rad, world frame; NaN: not labelled
    ego: FloatArray  # (F, 3) float64: x, y, heading of the middle of the vehicle's body
    ego_speed: FloatArray  # (F,) float32, m/s, along its heading
    # one row per track
    start: IntArray  # (N,) int64, first frame
    stop: IntArray  # (N,) int64, one after the last frame
    person: IntArray  # (N,) int64, number of the pedestrian in the clip
    clip: IntArray  # (N,) int32, number of the clip
    begin_s: FloatArray  # (N,) float64, time of the first frame in the clip, s
    crossing: BoolArray  # (N,) whether the pedestrian crosses the road
    passes: IntArray  # (N,) uint8, number of PASSES
    labelled: BoolArray  # (N,) whether head and body are known
    split: IntArray  # (N,) uint8, number of SPLITS
    clips: tuple[Clip, ...]
    grounds: tuple[GroundMap, ...] = field(default=())

    def __post_init__(self) -> None:
        frames, tracks = len(self.position), len(self.start)
        for name, (dtype, shape) in FRAME_COLUMNS.items():
            array = frozen_array(getattr(self, name), dtype, (frames, *shape), f"interactions.{name}")
            object.__setattr__(self, name, array)
        for name, kind in TRACK_COLUMNS.items():
            array = frozen_array(getattr(self, name), kind, (tracks,), f"interactions.{name}")
            object.__setattr__(self, name, array)
        if not self.step_s > 0.0:
            raise BadInput(f"interactions: step_s is {self.step_s}; give the time between two frames in seconds")
        self._check_rows(frames)
        for name in ("position", "ego", "ego_speed"):
            bad = ~np.isfinite(np.atleast_2d(getattr(self, name).T)).all(axis=0)
            if bad.any():
                raise BadInput(f"{self.place_of(int(np.argmax(bad)))}: {name} is not finite")

    def _check_rows(self, frames: int) -> None:
        wrong = (self.start < 0) | (self.stop <= self.start) | (self.stop > frames)
        wrong |= (self.clip < 0) | (self.clip >= len(self.clips))
        wrong |= (self.split >= len(SPLITS)) | (self.passes >= len(PASSES))
        if wrong.any():
            track = int(np.argmax(wrong))
            raise BadInput(f"interactions: track {track} has frames, a clip, a split or a label that do not exist")
        for clip in self.clips:
            if clip.ground >= len(self.grounds):
                raise BadInput(f"clip {clip.name}: there is no map {clip.ground}")

    def __len__(self) -> int:
        """Number of tracks."""
        return len(self.start)

    @cached_property
    def track_of(self) -> IntArray:
        """(F,) the track of every frame; -1: of none."""
        found = np.full(len(self.position), -1, np.int64)
        for track, (a, b) in enumerate(zip(self.start.tolist(), self.stop.tolist(), strict=True)):
            found[a:b] = track
        return found

    def place_of(self, frame: int) -> str:
        """``clip NAME, track K, frame J``: how errors name a frame."""
        track = int(self.track_of[frame])
        if track < 0:
            return f"frame {frame}"
        name = self.clips[int(self.clip[track])].name
        return f"clip {name}, track {track}, frame {frame - int(self.start[track])}"

    def choose(self, tracks: Any) -> Interactions:
        """Some of the tracks (numbers or a mask), in their order; clips, maps and frames stay as they are."""
        return replace(self, **{name: getattr(self, name)[tracks] for name in TRACK_COLUMNS})

    def of_split(self, split: str) -> Interactions:
        """The tracks of one split."""
        if split not in SPLITS:
            raise BadInput(f"split {split!r} is not one of {', '.join(SPLITS)}")
        return self.choose(self.split == SPLITS.index(split))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of what forecasts are about: the frames of everybody and of the vehicles, and the clips. Splits,
        labels and annotations of orientations do not count."""
        found = sha256(f"interactions {self.step_s!r}".encode())
        for name in ("position", "ego", "ego_speed"):
            values = np.ascontiguousarray(getattr(self, name))
            found.update(f" {name} {values.dtype.str} {values.shape} ".encode() + values.tobytes())
        for clip in self.clips:
            found.update(f" {clip.name!r} {clip.length!r} {clip.width!r}".encode())
        return found.hexdigest()

    def columns(self) -> dict[str, Any]:
        """All arrays by name."""
        return {item.name: getattr(self, item.name) for item in fields(self) if item.name in _ARRAYS}


_ARRAYS = {*FRAME_COLUMNS, *TRACK_COLUMNS}
