"""Shapes on a grid of 1 mm: whatever GEOS computes is rounded before anything is decided by it.

The last bits of a buffer's arcs or of a crossing of two lines differ between machines. Rounded at once, they cannot
decide whether a sliver is left between two areas that should touch, or in which order GEOS lists corners.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import shapely

from sidestep import exact
from sidestep.scenes.towns.curves import dot, points_at, stations_of
from sidestep.types.base import FloatArray

GRID = 1e-3  # m
SAME = 6  # decimals (m) to which distances are compared: what is nearer by less is as near


def snapped(shape: Any) -> Any:
    """An area on the grid; parts, rings and their first corners are in an order that follows from its coordinates."""
    return shapely.normalize(shapely.set_precision(shape, GRID))


def grown(shape: Any, distance: float, **style: Any) -> Any:
    """Everything within ``distance`` m of a shape; a negative distance takes away from an area."""
    return snapped(shapely.buffer(shape, distance, **style))


def joined(shapes: Iterable[Any]) -> Any:
    """All areas together, rings where GEOS starts them: for areas that were on the grid before."""
    return shapely.union_all(list(shapes), grid_size=GRID)


def union(shapes: Iterable[Any]) -> Any:
    """All areas together."""
    return shapely.normalize(joined(shapes))


def difference(shape: Any, other: Any) -> Any:
    """The first without the second."""
    return shapely.difference(shape, other, grid_size=GRID)


def intersection(shape: Any, other: Any) -> Any:
    """What both share."""
    return shapely.intersection(shape, other, grid_size=GRID)


def apart(shape: Any, other: Any) -> float:
    """The distance (m) between two shapes, rounded so that one that was drawn to be 1.6 m is 1.6 m."""
    return round(float(shapely.distance(shape, other)), SAME)


def corners(shape: Any) -> FloatArray:
    """Coordinates ``(K, 2)`` of a line."""
    return np.asarray(shapely.get_coordinates(shape))


def length_of(line: Any) -> float:
    """m."""
    return float(stations_of(corners(line))[-1])


def locate(points: FloatArray, place: FloatArray) -> tuple[float, float]:
    """The station (m) along the line ``points (K, 2)`` that is nearest to a place, and the distance there."""
    start, along = points[:-1], np.diff(points, axis=0)
    share = dot(place - start, along) / np.maximum(dot(along, along), 1e-300)
    share = np.minimum(np.maximum(share, 0.0), 1.0)
    away = np.round(exact.norm(place - start - share[:, None] * along), SAME)
    nearest = int(away.argmin())
    at = stations_of(points)
    return float(at[nearest] + share[nearest] * (at[nearest + 1] - at[nearest])), float(away[nearest])


def places_along(points: FloatArray, stations: Iterable[float]) -> FloatArray:
    """Points ``(N, 2)`` at stations (m) of a line; beyond its ends, the ends."""
    return points_at(np.array(list(stations)), stations_of(points), points)
