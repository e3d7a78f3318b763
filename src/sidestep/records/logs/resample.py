"""Interpolates samples at any times to states at a constant step.

Positions are interpolated linearly, headings along the shorter way round, velocities linearly where the log has them.
Where it has none, the velocity of a state is the difference quotient of the step that leads to it, as in records of
simulated episodes; the first state has that of the first step. Nothing is interpolated over more than the longest gap.
A sample within a microsecond of a step is taken as it is, so that a log at a constant rate is not changed at all.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.records.logs.drive import Track
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.outcome import MOST_STEPS

SHORTEST_STEP_S, LONGEST_STEP_S = 0.02, 1.0
"""Range of the step that is chosen automatically; a step that is given may have any size."""
SNAP_S = 1e-6
LONGEST_GAP_S = 1.0
GAP_INTERVALS = 2.5
"""Samples farther apart than a second and than this many usual intervals are a gap."""
STANDING_MPS = 0.05
"""A body slower than this keeps its last heading."""


class States(NamedTuple):
    """One body at T + 1 times; NaN where it is absent."""

    position: FloatArray  # (T+1, 2) m
    heading: FloatArray  # (T+1,) rad
    velocity: FloatArray  # (T+1, 3) m/s, m/s, rad/s
    present: BoolArray  # (T+1,)


def usual_interval(time: FloatArray) -> float:
    """Median time between two samples, s."""
    return float(np.median(np.diff(time))) if len(time) > 1 else LONGEST_STEP_S


def choose_step(time: FloatArray) -> float:
    """The usual interval of a track, to the microsecond, between 0.02 and 1 s."""
    return float(np.clip(round(usual_interval(time), 6), SHORTEST_STEP_S, LONGEST_STEP_S))


def longest_gap(time: FloatArray) -> float:
    """Over how much time the samples of a track are interpolated, s."""
    return max(LONGEST_GAP_S, GAP_INTERVALS * usual_interval(time))


def pieces(time: FloatArray, gap_s: float) -> list[slice]:
    """The parts of a track between gaps."""
    cuts = np.flatnonzero(np.diff(time) > gap_s) + 1
    bounds = [0, *cuts.tolist(), len(time)]
    return [slice(a, b) for a, b in pairwise(bounds)]


def make_grid(start: float, end: float, step_s: float, where: str) -> FloatArray:
    """(T+1,) times from ``start`` in steps of ``step_s`` up to ``end``."""
    steps = int((end - start + SNAP_S) / step_s)
    if steps > MOST_STEPS:
        raise BadInput(
            f"{where}: {steps:,} steps of {step_s:g} s, at most {MOST_STEPS:,} fit in a record; give a longer --step, "
            "or check the unit of time (--time-unit)"
        )
    return np.asarray(start + np.arange(steps + 1) * step_s)


def sample(track: Track, times: FloatArray, gap_s: float) -> States:
    """The body at ``times``; absent before its first sample, after its last, and in gaps longer than ``gap_s``."""
    count = len(times)
    time = _snapped(track.time, times)
    position, present = np.full((count, 2), np.nan), np.zeros(count, bool)
    heading, velocity = np.full(count, np.nan), np.full((count, 3), np.nan)
    for part in pieces(time, gap_s):
        t = time[part]
        here = np.flatnonzero((times >= t[0]) & (times <= t[-1]))
        if not len(here):
            continue
        present[here] = True
        position[here] = exact.interp(times[here], t, track.position[part])
        turned = None if track.heading is None else _unwrapped(track.heading[part])
        if turned is not None:
            heading[here] = exact.wrap_angle(exact.interp(times[here], t, turned))
        if track.velocity is not None:
            velocity[here] = exact.interp(times[here], t, track.velocity[part])
        else:
            velocity[here] = _quotients(times[here], t, track.position[part], turned)
        if turned is None:
            heading[here] = _directions(velocity[here, :2])
    return States(position, heading, velocity, present)


def _snapped(time: FloatArray, times: FloatArray) -> FloatArray:
    """Times of samples, those within a microsecond of a time of the grid moved onto it."""
    nearest = np.clip(np.searchsorted(times, time), 1, max(len(times) - 1, 1))
    if len(times) < 2:
        return time
    before = time - times[nearest - 1] < times[nearest] - time
    grid = np.where(before, times[nearest - 1], times[nearest])
    moved = np.where(np.abs(time - grid) <= SNAP_S, grid, time)
    return moved if (np.diff(moved) > 0).all() else time


def _unwrapped(heading: FloatArray) -> FloatArray:
    """The same angles without jumps: each step is the shorter way round."""
    turns = exact.wrap_angle(np.diff(heading))
    return np.concatenate([heading[:1], heading[0] + np.cumsum(turns)])


def _quotients(times: FloatArray, t: FloatArray, position: FloatArray, turned: FloatArray | None) -> FloatArray:
    """(K, 3) velocities at ``times`` by differences of the interpolated samples."""
    if len(times) == 1:  # between two states: the piece of the samples around it
        k = int(np.clip(np.searchsorted(t, times[0], side="left"), 1, max(len(t) - 1, 1)))
        pairs = slice(k - 1, k + 1)
        times, points = t[pairs], position[pairs]
        angles = None if turned is None else turned[pairs]
        if len(times) == 1:
            return np.zeros((1, 3))
        return _differences(times, points, angles)[1:]
    points = exact.interp(times, t, position)
    return _differences(times, points, None if turned is None else exact.interp(times, t, turned))


def _differences(times: FloatArray, points: FloatArray, angles: FloatArray | None) -> FloatArray:
    rate = np.zeros((len(times), 3))
    rate[1:, :2] = np.diff(points, axis=0) / np.diff(times)[:, None]
    if angles is not None:
        rate[1:, 2] = np.diff(angles) / np.diff(times)
    rate[0] = rate[1]
    return rate


def _directions(velocity: FloatArray) -> FloatArray:
    """(K,) direction of motion, kept while slower than ``STANDING_MPS``, before the first motion that of it; 0 of a
    body that never moves."""
    moving = exact.norm(velocity) >= STANDING_MPS
    if not moving.any():
        return np.zeros(len(velocity))
    last = np.maximum.accumulate(np.where(moving, np.arange(len(moving)), -1))
    last = np.where(last >= 0, last, int(np.argmax(moving)))
    return np.asarray(exact.arctan2(velocity[:, 1], velocity[:, 0]))[last]


def hold(time: FloatArray, values: FloatArray, times: FloatArray) -> FloatArray:
    """(T, C) the last value before or at each time; NaN before the first."""
    last = np.searchsorted(time, times + SNAP_S, side="right") - 1
    held: FloatArray = np.where((last >= 0)[:, None], values[np.maximum(last, 0)], np.nan)
    return held
