"""The comfort zone of a vehicle along its planned path (Herman and others, Pedestrian Behavior Prediction for Automated
Driving, 2021, section IV.B).

Path coordinates are (along, aside): metres along the path, and metres to its left. The zone reaches from the front
bumper as far ahead as the vehicle drives in the time gap, and half the corridor's width to either side; future zones
are the same one moved along the path. ``violation`` has the probability that somebody is in a zone, and the reaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.types.base import BoolArray, FloatArray, IntArray

PATH_TOLERANCE_M = 0.05
"""Tolerance for simplifying a path: noise of recordings must not bend the zone."""
BEYOND_M = 1000.0
"""A path goes straight on at both ends."""
SHARPEST_MITRE = 2.0
"""Longest corner of an offset line, in half widths."""
_PAIRS_AT_ONCE = 4_000_000
"""Points × segments that are held in memory together."""


class DrivingPath:
    """A planned path: a polyline that goes straight on at both ends."""

    def __init__(self, points: FloatArray, tolerance_m: float = PATH_TOLERANCE_M) -> None:
        """``points (P, 2)``: m; the line is simplified by at most ``tolerance_m`` (Douglas and Peucker)."""
        found = np.asarray(points, np.float64)
        if found.ndim != 2 or found.shape[1] != 2 or len(found) < 2 or not np.isfinite(found).all():
            raise BadInput(f"path: points have shape {found.shape}; give at least two finite points as (P, 2)")
        kept = _simplified(found, tolerance_m)
        step = np.diff(kept, axis=0)
        length = exact.norm(step)
        kept = kept[np.concatenate([[True], length > 1e-6])]
        if len(kept) < 2:
            raise BadInput("path: all points are the same; give a line of some length")
        step = np.diff(kept, axis=0)
        length = exact.norm(step)
        self.direction: FloatArray = step / length[:, None]
        """(P - 1, 2) unit vectors of the segments."""
        self.at: FloatArray = np.concatenate([[0.0], np.cumsum(length)])
        """(P,) metres along at each point."""
        self.total = float(self.at[-1])
        """Length of the given line, m."""
        kept[0] -= BEYOND_M * self.direction[0]
        kept[-1] += BEYOND_M * self.direction[-1]
        self.at[0] -= BEYOND_M
        self.at[-1] += BEYOND_M
        self.points: FloatArray = kept
        self._length = np.diff(self.at)
        left = np.stack([-self.direction[:, 1], self.direction[:, 0]], axis=1)
        dot = (left[1:] * left[:-1]).sum(axis=1)
        mitre = (left[1:] + left[:-1]) / np.maximum(1.0 + dot, 2.0 / (SHARPEST_MITRE * SHARPEST_MITRE))[:, None]
        self._left, self._mitre = left, np.concatenate([left[:1], mitre, left[-1:]])

    def segment(self, along: FloatArray) -> IntArray:
        """(…) number of the segment at each distance along."""
        found: IntArray = np.searchsorted(self.at[1:-1], along, side="right")
        return found

    def point(self, along: FloatArray, aside: FloatArray | float = 0.0) -> FloatArray:
        """(…, 2) m: the points at these path coordinates."""
        along = np.asarray(along, np.float64)
        k = self.segment(along)
        ahead = (along - self.at[k])[..., None] * self.direction[k]
        found: FloatArray = self.points[k] + ahead + np.asarray(aside)[..., None] * self._left[k]
        return found

    def heading(self, along: FloatArray) -> FloatArray:
        """(…) rad: direction of the path."""
        direction = self.direction[self.segment(np.asarray(along, np.float64))]
        found: FloatArray = exact.arctan2(direction[..., 1], direction[..., 0])
        return found

    def project(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        """(…) along and aside of the nearest point of the path, for ``points (…, 2)``."""
        flat = np.asarray(points, np.float64).reshape(-1, 2)
        along, aside = np.empty(len(flat)), np.empty(len(flat))
        block = max(_PAIRS_AT_ONCE // len(self.direction), 1)
        for first in range(0, len(flat), block):
            part = slice(first, first + block)
            along[part], aside[part] = self._nearest(flat[part])
        return along.reshape(points.shape[:-1]), aside.reshape(points.shape[:-1])

    def _nearest(self, points: FloatArray) -> tuple[FloatArray, FloatArray]:
        best = np.full(len(points), np.inf)
        along, aside = np.zeros(len(points)), np.zeros(len(points))
        for k, (ux, uy) in enumerate(self.direction.tolist()):
            dx, dy = points[:, 0] - self.points[k, 0], points[:, 1] - self.points[k, 1]
            ahead, left = ux * dx + uy * dy, ux * dy - uy * dx
            share = np.clip(ahead, 0.0, self._length[k])
            over = ahead - share
            miss = over * over + left * left
            nearer = miss < best
            np.copyto(best, miss, where=nearer)
            np.copyto(along, self.at[k] + share, where=nearer)
            np.copyto(aside, np.where(left >= 0.0, 1.0, -1.0) * np.sqrt(miss), where=nearer)
        return along, aside

    def outlines(self, begin: FloatArray, end: FloatArray, half_width: float) -> FloatArray:
        """(Z, V, 2) corners, counter-clockwise, of the strips from ``begin`` to ``end (Z,)`` along the path.

        All have the same number of corners; a strip with fewer bends repeats its last ones.
        """
        inner = self.at[1:-1]
        first = np.searchsorted(inner, begin, side="right")
        count = int(np.max(np.searchsorted(inner, end, side="left") - first, initial=0))
        vertex = np.minimum(first[:, None] + np.arange(max(count, 0)), max(len(inner) - 1, 0))
        station = inner[vertex] if count > 0 else np.zeros((len(begin), 0))
        bends = (station > begin[:, None]) & (station < end[:, None])
        bends &= np.arange(station.shape[1]) < (len(inner) - first)[:, None]
        k_begin, k_end = self.segment(begin), np.searchsorted(inner, end, side="left")
        start, stop = self._on(k_begin, begin), self._on(k_end, end)
        middle = np.where(bends[..., None], self.points[vertex + 1], stop[:, None])
        normal = np.where(bends[..., None], self._mitre[vertex + 1], self._left[k_end][:, None])
        line = np.concatenate([start[:, None], middle, stop[:, None]], axis=1)
        sides = np.concatenate([self._left[k_begin][:, None], normal, self._left[k_end][:, None]], axis=1)
        right, left = line - half_width * sides, line + half_width * sides
        return np.concatenate([right, left[:, ::-1]], axis=1)

    def _on(self, k: IntArray, along: FloatArray) -> FloatArray:
        found: FloatArray = self.points[k] + (along - self.at[k])[..., None] * self.direction[k]
        return found


def _simplified(points: FloatArray, tolerance_m: float) -> FloatArray:
    from shapely import LineString, get_coordinates

    found: FloatArray = get_coordinates(LineString(points).simplify(tolerance_m, preserve_topology=False)).copy()
    return found


class Motion(NamedTuple):
    """Where the front bumper is along the path, and how fast the vehicle is; all of one shape."""

    bumper: FloatArray  # (…) m along
    speed: FloatArray  # (…) m/s, at least 0


def move(bumper: FloatArray, speed: FloatArray, time_s: FloatArray, deceleration: FloatArray | float = 0.0) -> Motion:
    """The motion after ``time_s`` with a constant deceleration (m/s²) until the vehicle stands; shapes broadcast.

    bumper + v t - a t² / 2 with t no later than v / a, the moment of standing.
    """
    speed = np.maximum(np.asarray(speed, np.float64), 0.0)
    a = np.asarray(deceleration, np.float64)
    braking = a > 0.0
    stands = np.where(braking, speed / np.where(braking, a, 1.0), np.inf)
    t = np.minimum(time_s, stands)
    return Motion(bumper + speed * t - 0.5 * a * t * t, np.maximum(speed - a * t, 0.0))


@dataclass(frozen=True)
class ComfortZone:
    """The part of the corridor that has to be free of people.

    From the front bumper, ``time_gap_s`` · speed ahead. A vehicle that stands has no zone: collision checks
    cover its body. With ``behind_s`` the zone also covers the body and ``behind_s`` · speed behind the rear bumper,
    so that passing in front of somebody shortly before they step into the corridor counts as well.
    """

    time_gap_s: float = 3.0
    corridor_m: float = 3.0
    behind_s: float = 0.0

    def __post_init__(self) -> None:
        if not (self.time_gap_s > 0.0 and self.corridor_m > 0.0 and self.behind_s >= 0.0):
            raise BadInput(f"{self}: time gap and corridor must be above 0, and behind_s at least 0")

    @property
    def half_width(self) -> float:
        """Half the corridor's width, m."""
        return self.corridor_m / 2

    def extent(self, motion: Motion, body_m: float) -> tuple[FloatArray, FloatArray]:
        """(…) where the zone begins and ends, m along; equal for a vehicle that stands. ``body_m``: its length."""
        bumper, speed = motion
        behind = body_m + self.behind_s * speed if self.behind_s > 0.0 else 0.0
        return bumper - np.where(speed > 0.0, behind, 0.0), bumper + self.time_gap_s * speed

    def contains(self, along: FloatArray, aside: FloatArray, motion: Motion, body_m: float) -> BoolArray:
        """(…) whether points in path coordinates are in the zone; its edges belong to it. Shapes broadcast."""
        begin, end = self.extent(motion, body_m)
        inside: BoolArray = (along >= begin) & (along <= end) & (np.abs(aside) <= self.half_width) & (end > begin)
        return inside

    def outlines(self, path: DrivingPath, motion: Motion, body_m: float) -> FloatArray:
        """(…, V, 2) m: corners of the zones, counter-clockwise; a vehicle that stands has one of no area."""
        begin, end = self.extent(motion, body_m)
        corners = path.outlines(np.ravel(begin), np.ravel(end), self.half_width)
        return corners.reshape(*np.shape(begin), *corners.shape[-2:])


def time_to_collision(along: FloatArray, motion: Motion) -> FloatArray:
    """(…) s: d / v with d from the front bumper to the person's place along the path. Infinite for a vehicle that
    stands, NaN for a person whom the bumper has passed."""
    bumper, speed = motion
    ahead = along - bumper
    moving = speed > 0.0
    time_s = np.where(moving, ahead / np.where(moving, speed, 1.0), np.inf)
    return np.where(ahead >= 0.0, time_s, np.nan)


def join_crossings(outline: FloatArray, crossings: Sequence[FloatArray]) -> list[FloatArray]:
    """The zone together with all of each crossing that it touches, as counter-clockwise rings without overlap.

    Where drivers have to give way on zebra crossings, a person on any part of a crossing that lies in the zone matters,
    also outside the corridor. A crossing beyond the zone's end does not count yet. ``outline (V, 2)``; ``crossings``:
    polygons (K, 2).
    """
    from shapely import Polygon, get_coordinates, get_parts, make_valid, union_all
    from shapely.geometry.polygon import orient

    zone = make_valid(Polygon(outline))
    if zone.area <= 0.0:
        return []
    met = [each for each in map(Polygon, crossings) if each.intersects(zone)]
    parts = [part for part in get_parts(union_all([zone, *met])) if part.geom_type == "Polygon"]
    return [get_coordinates(orient(part).exterior)[:-1] for part in parts]
