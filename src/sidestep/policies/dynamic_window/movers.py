"""How what the lidar sees moves: short runs of neighbouring rays are bodies, followed from scan to scan."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep._util import exact
from sidestep.types.base import FloatArray

APART_M = 0.4
"""Neighbouring rays that end farther apart belong to two bodies."""
LARGEST_M = 1.2
"""Longest run of rays that can be a person."""
FASTEST = 2.5  # m/s
SMOOTHING_S = 0.4
SEEN_S, SLOWEST = 0.15, 0.25
"""What was followed for less time, s, or is slower, m/s, counts as standing."""
NEAR_M = 6.0


class Movers:
    """Bodies of the last scans, with their velocities."""

    def __init__(self) -> None:
        self._time = 0.0
        self._places: FloatArray = np.zeros((0, 2))
        self._velocities: FloatArray = np.zeros((0, 2))
        self._age: FloatArray = np.zeros(0)

    def velocities(self, time: float, ends: FloatArray, hit: Any, ranges: FloatArray) -> FloatArray:
        """(K, 2): the velocity of what every ray met, m/s."""
        velocity = np.zeros((len(ends), 2))
        near = np.flatnonzero((hit == 1) & (ranges < NEAR_M))
        if not len(near):
            self._follow(time, np.zeros((0, 2)))
            return velocity
        gap = np.flatnonzero((np.diff(near) > 1) | (exact.hypot(*np.diff(ends[near], axis=0).T) > APART_M)) + 1
        runs = [run for run in np.split(near, gap) if len(run) > 2]
        runs = [run for run in runs if exact.hypot(*(ends[run[-1]] - ends[run[0]])) < LARGEST_M]
        places = np.array([ends[run].mean(axis=0) for run in runs]).reshape(-1, 2)
        self._follow(time, places)
        for k, run in enumerate(runs):
            if self._age[k] > SEEN_S and exact.hypot(*self._velocities[k]) > SLOWEST:
                velocity[run] = self._velocities[k]
        return velocity

    def _follow(self, time: float, places: FloatArray) -> None:
        """Each body is the last scan's body that should be nearest to it now, if that is near enough."""
        step = time - self._time
        found, age = np.zeros((len(places), 2)), np.zeros(len(places))
        if step > 0.0 and len(self._places):
            expected = self._places + self._velocities * step
            for k, place in enumerate(places):
                away = exact.hypot(*(expected - place).T)
                j = int(np.argmin(away))
                if away[j] >= FASTEST * step + 0.1:
                    continue
                share = step / (step + min(float(self._age[j]), SMOOTHING_S))
                change = (place - self._places[j]) / step - self._velocities[j]
                found[k], age[k] = self._velocities[j] + share * change, self._age[j] + step
                if exact.hypot(*found[k]) > FASTEST:
                    found[k], age[k] = 0.0, 0.0
        self._time, self._places, self._velocities, self._age = time, places, found, age
