"""From the frames of a clip, everybody in it, to tracks with labels; and from tracks to ``Interactions``."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.prediction.data.corridor import passes_of, project, runs
from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.interactions import FRAME_COLUMNS, GROUND, Clip, GroundMap, Interactions

STEP_S = 0.1
"""Time between two frames of interactions, s."""
NEAR_M = 60.0
"""Tracks are cut where the pedestrian is farther from the middle of the vehicle."""
MOVES_MPS = 0.5
"""The vehicle must be faster at some time of a track."""
LEAST_FRAMES = 22
"""Shortest track: one second of history, one second ahead, and the present."""
ACROSS_M = 2.0
"""Metres across the carriageway that make a crossing."""
CARRIAGEWAY = tuple(GROUND.index(name) for name in ("road", "zebra", "island"))
_KERB_M = 1.0


@dataclass(frozen=True, eq=False)
class ClipFrames:
    """One drive, ``STEP_S`` between frames: T frames, N people."""

    clip: Clip
    ground: GroundMap | None
    person: IntArray  # (N,) numbers of the people
    position: FloatArray  # (T, N, 2) m; anything where absent
    present: BoolArray  # (T, N)
    body: FloatArray  # (T, N) rad; NaN: not known
    head: FloatArray  # (T, N) rad, world frame; NaN: not known
    ego: FloatArray  # (T, 3) middle of the vehicle: x, y, heading
    ego_speed: FloatArray  # (T,) m/s
    begin_s: float = 0.0


class Track(NamedTuple):
    """One pedestrian near the vehicle, without gaps."""

    person: int
    begin_s: float
    position: FloatArray
    body: FloatArray
    head: FloatArray
    ego: FloatArray
    ego_speed: FloatArray
    crossing: bool
    passes: int


class ClipTracks(NamedTuple):
    """A clip, its map and its tracks."""

    clip: Clip
    ground: GroundMap | None
    tracks: tuple[Track, ...]


def cut_tracks(frames: ClipFrames, near_m: float = NEAR_M, least: int = LEAST_FRAMES) -> ClipTracks:
    """The tracks of everybody who is near the vehicle for long enough while it drives."""
    away = exact.norm(frames.position - frames.ego[:, None, :2])
    near = frames.present & (away < near_m)
    pieces = [
        (k, begin, end)
        for k in range(near.shape[1])
        for begin, end in runs(near[:, k]).tolist()
        if end - begin >= least and float(frames.ego_speed[begin:end].max()) > MOVES_MPS
    ]
    ego_along, _ = project(frames.clip.path, frames.ego[:, :2])
    tracks = tuple(_track(frames, ego_along, *piece) for piece in pieces)
    return ClipTracks(frames.clip, frames.ground, tracks)


def _track(frames: ClipFrames, ego_along: FloatArray, k: int, begin: int, end: int) -> Track:
    rows = slice(begin, end)
    position = np.asarray(frames.position[rows, k], np.float64)
    along, left = project(frames.clip.path, position)
    passes = passes_of(along, left, ego_along[rows])
    crossing = passes > 0 if frames.ground is None else crosses_road(frames.ground, position, frames.clip.path)
    return Track(
        int(frames.person[k]), frames.begin_s + begin * STEP_S, position, frames.body[rows, k], frames.head[rows, k],
        frames.ego[rows], frames.ego_speed[rows], crossing, passes,
    )  # fmt: skip


def crosses_road(ground: GroundMap, position: FloatArray, path: FloatArray) -> bool:
    """Whether the pedestrian gets more than ``ACROSS_M`` across a carriageway in one stretch on it.

    Across is the direction away from the kerb at which the stretch begins or, where that was not seen, ends; without
    any kerb it is away from the vehicle's path.
    """
    on = np.isin(ground.at(position), CARRIAGEWAY)
    for begin, end in runs(on).tolist():
        stretch = position[begin:end]
        if begin > 0:
            way = (stretch - stretch[0]) @ _from_kerb(ground, stretch[0])
        elif end < len(position):
            way = (stretch - stretch[-1]) @ _from_kerb(ground, stretch[-1])
        else:
            _, left = project(path, stretch)
            way = np.abs(left - left[0])
        if float(way.max()) > ACROSS_M:
            return True
    return False


_DISC = np.array([(x, y) for x in np.linspace(-1, 1, 11) for y in np.linspace(-1, 1, 11) if x * x + y * y <= 1.0])


def _from_kerb(ground: GroundMap, point: FloatArray) -> FloatArray:
    """Unit vector from the kerb near ``point`` onto the carriageway."""
    on = np.isin(ground.at(point + _KERB_M * _DISC), CARRIAGEWAY)
    normal: FloatArray = _DISC[on].sum(axis=0) - _DISC[~on].sum(axis=0)
    length = float(exact.norm(normal))
    return normal / length if length > 1e-9 else np.zeros(2)


def assemble(found: Iterable[ClipTracks]) -> Interactions:
    """All tracks of some clips, attributes as known, everything in the training split. Equal maps become one."""
    clips: list[Clip] = []
    grounds: list[GroundMap] = []
    numbers: dict[int, int] = {}
    tracks: list[Track] = []
    clip_of: list[int] = []
    for item in found:
        if not item.tracks:
            continue
        number = -1 if item.ground is None else numbers.setdefault(id(item.ground), len(grounds))
        if number == len(grounds) and item.ground is not None:
            grounds.append(item.ground)
        clip_of += [len(clips)] * len(item.tracks)
        clips.append(replace(item.clip, ground=number))
        tracks += item.tracks
    lengths = [len(track.position) for track in tracks]
    stop = np.cumsum(lengths, dtype=np.int64)
    frames = {
        name: np.concatenate([np.zeros((0, *shape)), *(getattr(track, name) for track in tracks)])
        for name, (_, shape) in FRAME_COLUMNS.items()
    }
    known = [bool(np.isfinite(track.body).any() or np.isfinite(track.head).any()) for track in tracks]
    return Interactions(
        step_s=STEP_S, **frames, start=stop - np.array(lengths, np.int64), stop=stop,
        person=np.array([track.person for track in tracks], np.int64), clip=np.array(clip_of, np.int32),
        begin_s=np.array([track.begin_s for track in tracks], np.float64),
        crossing=np.array([track.crossing for track in tracks], np.bool_),
        passes=np.array([track.passes for track in tracks], np.uint8), labelled=np.array(known, np.bool_),
        split=np.zeros(len(tracks), np.uint8), clips=tuple(clips), grounds=tuple(grounds),
    )  # fmt: skip


def compact(data: Interactions) -> Interactions:
    """The same tracks without the frames, clips and maps that none of them has."""
    parts = [np.arange(a, b) for a, b in zip(data.start.tolist(), data.stop.tolist(), strict=True)]
    rows = np.concatenate([np.zeros(0, np.int64), *parts])
    lengths = data.stop - data.start
    stop = np.cumsum(lengths)
    clips, clip = np.unique(data.clip, return_inverse=True)
    kept = [data.clips[k] for k in clips.tolist()]
    maps = sorted({each.ground for each in kept if each.ground >= 0})
    frames = {name: data.columns()[name][rows] for name in FRAME_COLUMNS}
    return replace(
        data, **frames, start=stop - lengths, stop=stop, clip=clip, grounds=tuple(data.grounds[k] for k in maps),
        clips=tuple(replace(each, ground=maps.index(each.ground) if each.ground >= 0 else -1) for each in kept),
    )  # fmt: skip
