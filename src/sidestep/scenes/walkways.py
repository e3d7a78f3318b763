"""Lines to walk along, shared by procedural towns and imported places: polylines by arc length, the splines and
fillets of which streets and corners are made, and smooth routes over consecutive lines of a walkway graph.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial import KDTree

from sidestep import exact
from sidestep.types.base import BoolArray, FloatArray, IntArray

_QUARTER = np.array([-1.0, 1.0])
SAGITTA = 0.01  # m between an arc and the chords that stand for it


class Curve(NamedTuple):
    """Points ``(N, 2)``, m, and unit directions ``(N, 2)``."""

    points: FloatArray
    tangents: FloatArray

    @property
    def normals(self) -> FloatArray:
        """To the left."""
        return left_of(self.tangents)


def left_of(direction: FloatArray) -> FloatArray:
    """Directions turned by a quarter to the left."""
    return np.asarray(direction[..., ::-1] * _QUARTER)


def unit(vectors: FloatArray) -> FloatArray:
    """Vectors of length 1 m."""
    length = np.sqrt((vectors * vectors).sum(axis=-1, keepdims=True))
    return np.asarray(vectors / np.maximum(length, 1e-12))


def dot(vectors: FloatArray, other: FloatArray) -> Any:
    """Scalar product over the last axis, of two components, without a matrix product."""
    return vectors[..., 0] * other[..., 0] + vectors[..., 1] * other[..., 1]


def steps(start: float, stop: float, step: float) -> FloatArray:
    """``start``, ``start + step``, … below ``stop``."""
    return np.asarray(start + step * np.arange(max(int(np.ceil((stop - start) / step)), 0)))


def turn_between(a: FloatArray, b: FloatArray) -> float:
    """Angle (rad) from direction ``a`` to ``b``, positive to the left."""
    return float(exact.arctan2(a[0] * b[1] - a[1] * b[0], a[0] * b[0] + a[1] * b[1]))


def spline(a: FloatArray, da: FloatArray, b: FloatArray, db: FloatArray, pieces: int) -> Curve:
    """The cubic Hermite curve from ``a`` along ``da`` to ``b`` along ``db``, as fast as its chord is long."""
    size = float(exact.hypot(*(b - a)))
    u = np.linspace(0.0, 1.0, pieces + 1)[:, None]
    m0, m1 = da * size, db * size
    u2 = u * u
    u3 = u2 * u
    points = (2 * u3 - 3 * u2 + 1) * a + (u3 - 2 * u2 + u) * m0 + (3 * u2 - 2 * u3) * b + (u3 - u2) * m1
    slope = (6 * u2 - 6 * u) * a + (3 * u2 - 4 * u + 1) * m0 + (6 * u - 6 * u2) * b + (3 * u2 - 2 * u) * m1
    return Curve(points, unit(slope))


def fillet(a: FloatArray, da: FloatArray, b: FloatArray, db: FloatArray, radius: float) -> Curve:
    """Straight from ``a`` along ``da``, an arc of at most ``radius`` (m), straight along ``db`` to ``b``.

    The two lines must meet ahead of ``a`` and behind ``b``; otherwise a spline joins them.
    """
    turn = turn_between(da, db)
    cross = da[0] * db[1] - da[1] * db[0]
    gap = b - a
    ta = (gap[0] * db[1] - gap[1] * db[0]) / cross if abs(cross) > 1e-6 else -1.0
    tb = (gap[1] * da[0] - gap[0] * da[1]) / cross if abs(cross) > 1e-6 else -1.0
    if ta <= 0.05 or tb <= 0.05:
        return spline(a, da, b, db, 12)
    corner = a + da * ta
    reach = min(radius * exact.tan(abs(turn) / 2), ta, tb)
    radius = reach / exact.tan(abs(turn) / 2)
    pieces = max(int(np.ceil(abs(turn) / np.sqrt(8 * SAGITTA / max(radius, 0.1)))), 3)
    angle = np.linspace(0.0, turn, pieces + 1)[:, None]
    tangents = da * exact.cos(angle) + left_of(da) * exact.sin(angle)
    centre = corner - da * reach + left_of(da) * radius * np.sign(turn)
    arc = centre - left_of(tangents) * radius * np.sign(turn)
    points: list[FloatArray] = [arc]
    directions: list[FloatArray] = [tangents]
    if ta - reach > 0.03:
        points.insert(0, a[None])
        directions.insert(0, da[None])
    else:
        arc[0] = a
    if tb - reach > 0.03:
        points.append(b[None])
        directions.append(db[None])
    else:
        arc[-1] = b
    return Curve(np.concatenate(points), np.concatenate(directions))


def stations_of(points: FloatArray) -> FloatArray:
    """Length (m) along a polyline up to each of its points."""
    return np.concatenate([[0.0], np.cumsum(exact.norm(np.diff(points, axis=0)))])


def points_at(stations: FloatArray, at: FloatArray, values: FloatArray) -> FloatArray:
    """Rows of ``values (N, C)``, which belong to the stations ``at (N,)``, at others ``(M,)``: linear between, and the
    first or last row beyond the ends."""
    k = np.minimum(np.maximum(at.searchsorted(stations, side="right") - 1, 0), len(at) - 2)
    low, first = at[k], values[k]
    share = np.maximum(stations - low, 0.0) / np.maximum(at[k + 1] - low, 1e-300)
    found = first + share[:, None] * (values[k + 1] - first)
    found[stations >= at[-1]] = values[-1]
    return np.asarray(found)


def point_at(station: float, at: FloatArray, values: FloatArray) -> FloatArray:
    """The row at one station."""
    return np.asarray(points_at(np.array([station]), at, values)[0])


def resample(points: FloatArray, spacing: float) -> FloatArray:
    """The polyline at equal steps of at most ``spacing`` (m), both ends included."""
    at = stations_of(points)
    wanted = np.linspace(0.0, at[-1], max(int(np.ceil(at[-1] / spacing)), 1) + 1)
    return points_at(wanted, at, points)


def cut(points: FloatArray, start: float, end: float, at: FloatArray | None = None) -> FloatArray:
    """The part of a polyline between two stations (m); ``at`` are the stations of its points, if they are known."""
    at = stations_of(points) if at is None else at
    first, last = np.searchsorted(at, [start + 1e-6, end - 1e-6])
    part = np.empty((last - first + 2, 2))
    part[1:-1] = points[first:last]
    part[[0, -1]] = points_at(np.array([start, end]), at, points)
    return part


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
