"""How what the lidar sees moves: runs of rays that end where the map was free are bodies, followed from scan to scan."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep import exact
from sidestep.policies.dynamic_window.seen_map import SeenMap
from sidestep.types.base import FloatArray

APART_M = 0.4
"""Neighbouring rays that end farther apart belong to two bodies."""
LARGEST_M = 1.2
"""A longer run of rays is no person."""
FASTEST = 2.5  # m/s
SMOOTHING_S = 0.4
FORGET_S = 0.6


class Movers:
    """Bodies of the last scans, with their velocities."""

    def __init__(self) -> None:
        self._time = 0.0
        self._places: FloatArray = np.zeros((0, 2))
        self._velocities: FloatArray = np.zeros((0, 2))
        self._age: FloatArray = np.zeros(0)

    def velocities(self, time: float, ends: FloatArray, hit: Any, ranges: FloatArray, seen: SeenMap) -> FloatArray:
        """(K, 2): the velocity of what every ray met, m/s."""
        velocity = np.zeros((len(ends), 2))
        near = np.flatnonzero((hit == 1) & (ranges < 6.0))
        if not len(near):
            self._time, self._places = time, np.zeros((0, 2))
            return velocity
        gap = np.flatnonzero((np.diff(near) > 1) | (exact.hypot(*np.diff(ends[near], axis=0).T) > APART_M)) + 1
        runs = [run for run in np.split(near, gap) if len(run) > 2]
        runs = [run for run in runs if exact.hypot(*(ends[run[-1]] - ends[run[0]])) < LARGEST_M]
        places = np.array([ends[run].mean(axis=0) for run in runs]).reshape(-1, 2)
        step = time - self._time
        found, age = np.zeros((len(runs), 2)), np.zeros(len(runs))
        if step > 0.0 and len(self._places):
            for k, place in enumerate(places):
                expected = self._places + self._velocities * step
                away = exact.hypot(*(expected - place).T)
                j = int(np.argmin(away))
                if away[j] < FASTEST * step + 0.1:
                    now = (place - self._places[j]) / step
                    share = step / (step + min(float(self._age[j]), SMOOTHING_S))
                    found[k] = self._velocities[j] + share * (now - self._velocities[j])
                    age[k] = self._age[j] + step
                    if exact.hypot(*found[k]) > FASTEST:
                        found[k], age[k] = 0.0, 0.0
        for k, run in enumerate(runs):
            if age[k] > 0.15 and exact.hypot(*found[k]) > 0.25:
                velocity[run] = found[k]
        self._time, self._places, self._velocities, self._age = time, places, found, age
        return velocity
