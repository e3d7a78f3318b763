"""People who walk together, found from their tracks.

Rule: two people are a pair if, on a clock of 2.5 Hz, they are both present for at least 2 s and for at least half of
the shorter track, and for at least 80 % of that common time they are within 1.7 m of each other and their velocities
differ by at most 0.5 m/s, while both move on average at 0.4 m/s or more. Groups are people connected by pairs. People
who only stand together are no walking group.
"""

from __future__ import annotations

import numpy as np

from sidestep import exact
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks

CLOCK_HZ = 2.5
LEAST_TIME_S = 2.0
LEAST_SHARE_OF_TRACK = 0.5
LEAST_SHARE_TOGETHER = 0.8
DISTANCE_M = 1.7
VELOCITY_DIFFERENCE_MPS = 0.5
LEAST_SPEED_MPS = 0.4
FARTHEST_M = 1e8
"""Positions beyond this are no metres on Earth, and are not searched."""
MOST_INSTANTS = 10**7
"""More positions than this, on the clock, are not searched: about 46 days of one person."""


def detect_groups(tracks: Tracks) -> dict[int, int]:
    """Person → walking group, groups counted from 0 in the order of their lowest member; people alone are absent.

    Nothing is detected in recordings of more than :data:`MOST_INSTANTS` positions on the clock.
    """
    clock = (tracks.time - tracks.time.min()) * CLOCK_HZ
    people, whose = np.unique(tracks.person, return_inverse=True)
    begin = np.searchsorted(whose, np.arange(len(people)), side="left")
    end = np.searchsorted(whose, np.arange(len(people)), side="right") - 1
    first, last = np.ceil(clock[begin] - 1e-9), np.floor(clock[end] + 1e-9)
    count = np.where(end > begin, np.maximum(last - first + 1, 0), 0)
    if count.sum() > MOST_INSTANTS or clock.max() > MOST_INSTANTS or np.abs(tracks.position).max() > FARTHEST_M:
        return {}
    count = count.astype(np.int64)
    column = np.repeat(np.arange(len(people)), count)
    instant = np.arange(len(column)) - np.repeat(np.cumsum(count) - count, count) + first[column]
    position, velocity = _on_the_clock(tracks, clock, whose, begin, end, column, instant)
    if not (np.isfinite(position).all() and np.isfinite(velocity).all()):
        return {}
    a, b, together = _meetings(column, instant, position, velocity, len(people))
    common = np.minimum(last[a], last[b]) - np.maximum(first[a], first[b]) + 1
    speed = np.bincount(column, exact.hypot(*velocity.T), len(people)) / np.maximum(count, 1)
    long = (common - 1 >= LEAST_TIME_S * CLOCK_HZ) & (common >= LEAST_SHARE_OF_TRACK * np.minimum(count[a], count[b]))
    moving = np.minimum(speed[a], speed[b]) >= LEAST_SPEED_MPS
    pair = long & moving & (together >= LEAST_SHARE_TOGETHER * common)
    return _connected(people, a[pair], b[pair])


def _on_the_clock(
    tracks: Tracks,
    clock: FloatArray,
    whose: IntArray,
    begin: IntArray,
    end: IntArray,
    column: IntArray,
    instant: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Positions (m) and velocities (m/s) of people at instants, linear between their annotations."""
    apart = clock.max() + 1.0
    piece = np.searchsorted(whose * apart + clock, column * apart + instant, side="right") - 1
    piece = np.clip(piece, begin[column], np.maximum(end[column] - 1, begin[column]))
    rate = (tracks.position[piece + 1] - tracks.position[piece]) / (clock[piece + 1] - clock[piece])[:, None]
    return tracks.position[piece] + rate * (instant - clock[piece])[:, None], rate * CLOCK_HZ


def _meetings(
    column: IntArray, instant: FloatArray, position: FloatArray, velocity: FloatArray, people: int
) -> tuple[IntArray, IntArray, IntArray]:
    """Columns a < b of people who were ever together, and at how many instants. Instants are kept apart in one search
    tree by a third coordinate."""
    from scipy.spatial import cKDTree

    tree = cKDTree(np.column_stack([position, instant * 2 * DISTANCE_M]))
    i, j = tree.query_pairs(1.001 * DISTANCE_M, output_type="ndarray").T
    near = exact.hypot(*(position[i] - position[j]).T) <= DISTANCE_M
    alike = near & (exact.hypot(*(velocity[i] - velocity[j]).T) <= VELOCITY_DIFFERENCE_MPS)
    i, j = column[i[alike]], column[j[alike]]
    pairs, together = np.unique(np.minimum(i, j) * people + np.maximum(i, j), return_counts=True)
    return pairs // people, pairs % people, together


def _connected(people: IntArray, a: IntArray, b: IntArray) -> dict[int, int]:
    label = np.arange(len(people))
    for i, j in zip(a, b, strict=True):
        label[label == max(label[i], label[j])] = min(label[i], label[j])
    members = np.unique(np.concatenate([a, b])).astype(np.int64)
    order = {old: new for new, old in enumerate(dict.fromkeys(label[members].tolist()))}
    return {int(people[column]): order[int(label[column])] for column in members}
