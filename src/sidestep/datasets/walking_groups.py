"""People who walk together, found from their tracks.

Rule: two people are a pair if, on a clock of 2.5 Hz, they are both present for at least 2 s and for at least half of
the shorter track, and for at least 80 % of that common time they are within 1.7 m of each other and their velocities
differ by at most 0.5 m/s, while both move on average at 0.4 m/s or more. Groups are people connected by pairs. People
who only stand together are no walking group.
"""

from __future__ import annotations

import numpy as np

from sidestep.types.base import BoolArray, FloatArray, IntArray
from sidestep.types.tracks import Tracks

CLOCK_HZ = 2.5
LEAST_TIME_S = 2.0
LEAST_SHARE_OF_TRACK = 0.5
LEAST_SHARE_TOGETHER = 0.8
DISTANCE_M = 1.7
VELOCITY_DIFFERENCE_MPS = 0.5
LEAST_SPEED_MPS = 0.4


def detect_groups(tracks: Tracks) -> dict[int, int]:
    """Person → walking group, groups counted from 0 in the order of their lowest member; people alone are absent."""
    times = np.arange(tracks.time.min(), tracks.time.max() + 1e-9, 1.0 / CLOCK_HZ)
    position, velocity, present = tracks.sample(times)
    a, b, common, together = _meetings(position, velocity, present)
    if not len(a):
        return {}
    instants = present.sum(axis=0)
    speed = np.nansum(np.hypot(velocity[..., 0], velocity[..., 1]), axis=0) / np.maximum(instants, 1)
    long = (common - 1 >= LEAST_TIME_S * CLOCK_HZ) & (
        common >= LEAST_SHARE_OF_TRACK * np.minimum(instants[a], instants[b])
    )
    moving = np.minimum(speed[a], speed[b]) >= LEAST_SPEED_MPS
    pair = long & moving & (together >= LEAST_SHARE_TOGETHER * common)
    return _connected(tracks.people, a[pair], b[pair])


def _meetings(
    position: FloatArray, velocity: FloatArray, present: BoolArray
) -> tuple[IntArray, IntArray, IntArray, IntArray]:
    """Columns a < b of all people ever present at once, at how many instants, and at how many of them together."""
    count = present.shape[1]
    keys, near = [], []
    for where, v, here in zip(position, velocity, present, strict=True):
        columns = np.flatnonzero(here)
        if len(columns) < 2:
            continue
        i, j = np.triu_indices(len(columns), 1)
        i, j = columns[i], columns[j]
        close = np.hypot(*(where[i] - where[j]).T) <= DISTANCE_M
        close &= np.hypot(*(v[i] - v[j]).T) <= VELOCITY_DIFFERENCE_MPS
        keys.append(i * count + j)
        near.append(close)
    if not keys:
        none = np.zeros(0, dtype=np.int64)
        return none, none, none, none
    pairs, inverse = np.unique(np.concatenate(keys), return_inverse=True)
    together = np.bincount(inverse, np.concatenate(near)).astype(np.int64)
    return pairs // count, pairs % count, np.bincount(inverse), together


def _connected(people: IntArray, a: IntArray, b: IntArray) -> dict[int, int]:
    label = np.arange(len(people))
    for i, j in zip(a, b, strict=True):
        label[label == max(label[i], label[j])] = min(label[i], label[j])
    members = np.unique(np.concatenate([a, b])).astype(np.int64)
    order = {old: new for new, old in enumerate(dict.fromkeys(label[members].tolist()))}
    return {int(people[column]): order[int(label[column])] for column in members}
