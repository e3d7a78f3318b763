"""Smooth ways over the graph."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.spatial import KDTree

from sidestep import exact
from sidestep.scenes.towns.curves import points_at, resample, stations_of, turn_between, unit
from sidestep.types.base import BoolArray, FloatArray, IntArray

SPACING = 1.0  # m
ROUNDING = 1.2  # m before and after a corner of the way
SHARP = np.radians(18)
AS_NEAR = 4  # at most so many ends of lines are equally near: two on either side


@dataclass(frozen=True, eq=False)
class Route:
    """A way to walk: points about a metre apart in the middle of the clear sidewalk, or beside what stands there."""

    points: FloatArray  # (K, 2) m
    width: FloatArray  # (K,) m, of the clear sidewalk or crosswalk
    kinds: tuple[str, ...]  # (K,) sidewalk, crosswalk or plaza
    nodes: tuple[int, ...]  # of the graph

    @property
    def length(self) -> float:
        """m."""
        return float(stations_of(self.points)[-1])


def join_lines(lines: list[FloatArray], widths: list[float], kinds: list[str], nodes: tuple[int, ...]) -> Route:
    """One route over consecutive lines, its corners rounded."""
    dense = [resample(line, 0.5) for line in lines]
    owner = np.repeat(np.arange(len(lines)), [len(line) for line in dense])
    points = np.concatenate(lines)
    smooth = resample(_rounded(points[_apart(points)]), SPACING)
    part = owner[_nearest(np.concatenate(dense), smooth)].tolist()
    return Route(np.round(smooth, 3), np.array([widths[k] for k in part]), tuple(kinds[k] for k in part), nodes)


def _nearest(points: FloatArray, places: FloatArray) -> IntArray:
    """Number of the point nearest to each place; the first of those that are as near. Two lines meet in one point, and
    which of the two a search tree finds first depends on the machine."""
    _, around = KDTree(points).query(places, k=min(AS_NEAR, len(points)))
    around = np.sort(around.reshape(len(places), -1), axis=1)
    gap = points[around] - places[:, None]
    found: IntArray = around[np.arange(len(places)), exact.norm(gap).argmin(axis=1)]
    return found


def _apart(points: FloatArray) -> BoolArray:
    """False for points that repeat the one before."""
    return np.concatenate([[True], np.diff(stations_of(points)) > 2e-3])


def _rounded(points: FloatArray) -> FloatArray:
    """Corners sharper than ``SHARP`` as quadratic curves that start ``ROUNDING`` before them."""
    step = unit(np.diff(points, axis=0))
    at = stations_of(points)
    out = [points[:1]]
    skip_until = 0.0
    for k in range(1, len(points) - 1):
        if at[k] < skip_until:
            continue
        if abs(turn_between(step[k - 1], step[k])) < SHARP:
            out.append(points[k : k + 1])
            continue
        reach = min(ROUNDING, (at[k] - at[0]) * 0.9, (at[-1] - at[k]) * 0.9)
        start, end = points_at(at[k] + reach * np.array([-1.0, 1.0]), at, points)
        joined = np.concatenate(out)
        while len(joined) > 1 and exact.hypot(*(joined[-1] - points[k])) < reach:
            joined = joined[:-1]
        u = np.linspace(0.0, 1.0, 7)[:, None]
        out = [joined, (1 - u) * (1 - u) * start + 2 * u * (1 - u) * points[k] + u * u * end]
        skip_until = at[k] + reach
    out.append(points[-1:])
    return np.concatenate(out)
