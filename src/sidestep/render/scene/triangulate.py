"""Polygons with holes → triangles, by constrained Delaunay triangulation."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from sidestep.types.base import FloatArray, IntArray


def triangulate(polygon: Any) -> tuple[FloatArray, IntArray]:
    """Corners ``(V, 2)`` and counter-clockwise triangles ``(F, 3)`` that cover the polygon exactly."""
    ring = np.asarray(polygon.exterior.coords)[:-1]
    if len(polygon.interiors) == 0 and (fan := _convex_fan(ring)) is not None:
        return fan
    pieces = shapely.get_parts(shapely.constrained_delaunay_triangles(polygon))
    if len(pieces) == 0:
        return np.zeros((0, 2)), np.zeros((0, 3), int)
    corners = shapely.get_coordinates(pieces).reshape(-1, 4, 2)[:, :3]
    return _share_corners(_counter_clockwise(corners))


def _convex_fan(ring: FloatArray) -> tuple[FloatArray, IntArray] | None:
    """A fan, if every corner turns the same way by more than nothing; else None."""
    if len(ring) > 24:
        return None
    x, y = ring.T
    if np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) < 0:
        ring = ring[::-1]
    step = np.roll(ring, -1, axis=0) - ring
    following = np.roll(step, -1, axis=0)
    turn = step[:, 0] * following[:, 1] - step[:, 1] * following[:, 0]
    if (turn <= 1e-9).any():
        return None
    count = len(ring)
    middle = np.arange(1, count - 1)
    return ring, np.stack([np.zeros(count - 2, int), middle, middle + 1], axis=1)


def _counter_clockwise(corners: FloatArray) -> FloatArray:
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    corners = corners[np.abs(area) > 1e-10]
    area = area[np.abs(area) > 1e-10]
    return np.where((area < 0)[:, None, None], corners[:, ::-1], corners)


def _share_corners(corners: FloatArray) -> tuple[FloatArray, IntArray]:
    points, index = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    return points, index.reshape(-1, 3)
