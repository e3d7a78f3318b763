"""Samples as the arrays that predictors take: histories, vehicle, orientations, maps, and who else is there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidestep.errors import BadInput
from sidestep.prediction.data.samples import Samples
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.interactions import Interactions
from sidestep.types.moments import Moments


class SceneMoment(NamedTuple):
    """Everybody in a clip at one time."""

    clip: int
    tracks: IntArray  # (N,) in increasing order
    frames: IntArray  # (N,) rows of the data's frames


def moments_of(samples: Samples, with_maps: bool = True, with_crowd: bool = True) -> Moments:
    """The moments of ``samples``; without maps or other people where those are not needed.

    ``BadInput`` if a map does not cover where a pedestrian is.
    """
    data, rows = samples.data, samples.rows
    sizes = np.array([(clip.length, clip.width) for clip in data.clips]).reshape(-1, 2)
    ground = np.array([clip.ground for clip in data.clips], np.int64)[samples.clip]
    if with_maps:
        _check_maps(samples, ground)
    crowd, member = _crowd_of(samples) if with_crowd else (np.zeros((0, 0, 4)), np.zeros((0, 2), np.int64))
    return Moments(
        step_s=data.step_s,
        horizons_s=samples.horizons_s,
        past=samples.past,
        ego=data.ego[rows],
        ego_speed=samples.ego_speed,
        ego_size=sizes[samples.clip],
        body=data.body[rows],
        head=data.head[rows],
        ground=ground if with_maps else np.full(len(samples), -1),
        grounds=data.grounds if with_maps else (),
        crowd=crowd,
        member=member,
    )


def scenes_of(samples: Samples) -> tuple[list[SceneMoment], IntArray]:
    """The different scenes of ``samples``, and (S,) the scene of each sample."""
    data = samples.data
    span = data.stop - data.start
    first = _steps_of(data, np.arange(len(data)), data.start)
    moments = np.stack([samples.clip, _steps_of(data, samples.track, samples.frame)], axis=1)
    keys, scene = np.unique(moments, axis=0, return_inverse=True)
    of_clip = {number: np.flatnonzero(data.clip == number) for number in np.unique(samples.clip).tolist()}
    found = []
    for clip, time in keys.tolist():
        there = of_clip[clip]
        there = there[(first[there] <= time) & (time < first[there] + span[there])]
        found.append(SceneMoment(clip, there, data.start[there] + time - first[there]))
    return found, scene.reshape(-1)


def _crowd_of(samples: Samples) -> tuple[FloatArray, IntArray]:
    """``Moments.crowd`` and ``Moments.member``."""
    data = samples.data
    scenes, scene = scenes_of(samples)
    crowd = np.full((len(scenes), max((len(each.tracks) for each in scenes), default=0), 4), np.nan)
    for row, (_, tracks, frames) in zip(crowd, scenes, strict=True):
        before = np.maximum(frames - 1, data.start[tracks])
        row[: len(tracks), :2] = data.position[frames]
        row[: len(tracks), 2:] = (data.position[frames] - data.position[before]) / data.step_s
    pairs = zip(scene.tolist(), samples.track.tolist(), strict=True)
    place = [int(np.searchsorted(scenes[g].tracks, track)) for g, track in pairs]
    return crowd, np.stack([scene, np.array(place, np.int64)], axis=1)


def _check_maps(samples: Samples, ground: IntArray) -> None:
    data = samples.data
    for number in np.unique(ground[ground >= 0]).tolist():
        there = np.flatnonzero(ground == number)
        outside = ~data.grounds[number].covers(data.position[samples.frame[there]])
        if outside.any():
            frame = int(samples.frame[there[np.argmax(outside)]])
            x, y = data.position[frame].tolist()
            raise BadInput(
                f"{data.place_of(frame)}: map {number} does not cover the position ({x:.2f}, {y:.2f}); give a larger "
                "map, or set the clip's ground to -1"
            )


def _steps_of(data: Interactions, track: IntArray, frame: IntArray) -> IntArray:
    """Times of frames in their clips, in steps."""
    times: IntArray = np.rint(data.begin_s[track] / data.step_s).astype(np.int64) + frame - data.start[track]
    return times
