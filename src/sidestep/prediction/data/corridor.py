"""The vehicle's driving corridor: places along and beside its path, and the visits of pedestrians to it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray, IntArray

CORRIDOR_M = 3.0
"""Width of the driving corridor, m."""
_MOST_PAIRS = 4_000_000


def project(path: FloatArray, points: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(K,) metres along ``path (P, 2)``, and (K,) metres to its left, of the points of the path nearest to ``points
    (K, 2)``; of two equally near the first."""
    step = np.diff(path, axis=0)
    square = step[:, 0] * step[:, 0] + step[:, 1] * step[:, 1]
    length = np.sqrt(square)
    begin_m = np.concatenate([[0.0], np.cumsum(length)])[:-1]
    along, left = np.zeros(len(points)), np.zeros(len(points))
    rows = max(_MOST_PAIRS // max(len(step), 1), 1)
    for first in range(0, len(points), rows):
        chosen = slice(first, first + rows)
        dx, dy = (points[chosen, k, None] - path[:-1, k] for k in (0, 1))
        share = np.clip((dx * step[:, 0] + dy * step[:, 1]) / square, 0.0, 1.0)
        miss = (dx - share * step[:, 0]) ** 2 + (dy - share * step[:, 1]) ** 2
        k = np.argmin(miss, axis=1)
        row = np.arange(len(k))
        side = step[k, 0] * dy[row, k] - step[k, 1] * dx[row, k]
        along[chosen] = begin_m[k] + share[row, k] * length[k]
        left[chosen] = np.where(side >= 0.0, 1.0, -1.0) * np.sqrt(miss[row, k])
    return along, left


def extend(path: FloatArray, before_m: float, after_m: float, over_m: float = 2.0, hop_m: float = 1e-3) -> FloatArray:
    """The path without points nearer than ``hop_m`` to the one before, prolonged straight at both ends in the direction
    of its first and last ``over_m`` metres."""
    kept = [path[0]]
    for point in path[1:]:
        if exact.norm(point - kept[-1]) > hop_m:
            kept.append(point)
    if len(kept) < 2:
        raise BadInput("a path needs two points that differ")
    line = np.array(kept)
    return np.concatenate([[_beyond(line[::-1], before_m, over_m)], line, [_beyond(line, after_m, over_m)]])


def _beyond(line: FloatArray, metres: float, over_m: float) -> FloatArray:
    away = exact.norm(line - line[-1])
    k = int(np.nonzero(away >= min(over_m, float(away.max())))[0][-1])
    direction = (line[-1] - line[k]) / away[k]
    found: FloatArray = line[-1] + metres * direction
    return found


class Visit(NamedTuple):
    """Frames ``first`` to ``last`` of a track in which the pedestrian is in the corridor."""

    first: int
    last: int
    across: bool
    """Whether the pedestrian came from one side and left to the other."""


def runs(mask: BoolArray) -> IntArray:
    """(K, 2) first and one after the last index of each run of True."""
    edges = np.diff(np.concatenate([[0], mask.astype(np.int8), [0]]))
    return np.stack([np.nonzero(edges == 1)[0], np.nonzero(edges == -1)[0]], axis=1)


def visits(left: FloatArray, corridor_m: float = CORRIDOR_M) -> list[Visit]:
    """The visits of one pedestrian, from ``left (F,)``, metres to the left of the path."""
    found = []
    for begin, end in runs(np.abs(left) <= corridor_m / 2).tolist():
        across = begin > 0 and end < len(left) and (left[begin - 1] > 0.0) != (left[end] > 0.0)
        found.append(Visit(begin, end - 1, bool(across)))
    return found


def passes_of(along: FloatArray, left: FloatArray, ego_along: FloatArray) -> int:
    """Number of ``PASSES``: where the pedestrian was, from the middle of the vehicle, when it first crossed the middle
    of the corridor from side to side."""
    for visit in visits(left):
        if visit.across:
            inside = slice(visit.first, visit.last + 1)
            middle = visit.first + int(np.argmin(np.abs(left[inside])))
            return 1 if along[middle] > ego_along[middle] else 2
    return 0
