"""Shapes on a grid of 1 mm: whatever GEOS computes is rounded before anything is decided by it. The last bits of a
buffer's arcs or of a crossing of two lines differ between machines; rounded at once, they cannot decide whether a
sliver is left between two areas that should touch, or in which order GEOS lists corners. Overlapping areas in order
of precedence become regions that share their corners and do not overlap.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.scenes.walkways import dot, points_at, stations_of
from sidestep.types.base import FloatArray
from sidestep.types.scene import Region, RegionKind

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


def locate(points: FloatArray, point: FloatArray) -> tuple[float, float]:
    """The station (m) along the line ``points (K, 2)`` that is nearest to a point, and the distance there."""
    start, along = points[:-1], np.diff(points, axis=0)
    share = dot(point - start, along) / np.maximum(dot(along, along), 1e-300)
    share = np.minimum(np.maximum(share, 0.0), 1.0)
    away = np.round(exact.norm(point - start - share[:, None] * along), SAME)
    nearest = int(away.argmin())
    at = stations_of(points)
    return float(at[nearest] + share[nearest] * (at[nearest + 1] - at[nearest])), float(away[nearest])


def points_along(points: FloatArray, stations: Iterable[float]) -> FloatArray:
    """Points ``(N, 2)`` at stations (m) of a line; beyond its ends, the ends."""
    return points_at(np.array(list(stations)), stations_of(points), points)


SMALLEST_FACE = 0.02  # m²: smaller faces go to the neighbours' side of nothing


@dataclass(frozen=True, eq=False)
class Layer:
    """Ground of one kind; ``kind`` None: nothing, which later layers do not get either."""

    kind: RegionKind | None
    area: Any  # shapely
    name: str = ""


def partition(layers: Sequence[Layer], clip: Any | None = None) -> tuple[Region, ...]:
    """Regions layer by layer: each point goes to the first layer that has it.

    All outlines are cut against each other once on a grid of 1 mm, and the faces between them are given away whole, so
    neighbours share their corners.
    """
    areas = [layer.area if clip is None else intersection(layer.area, clip) for layer in layers]
    outlines = [shapely.boundary(area) for area in areas if not area.is_empty]
    if not outlines:
        return ()
    faces = shapely.get_parts(shapely.polygonize([shapely.union_all(outlines, grid_size=GRID)]))
    inside = shapely.point_on_surface(faces)
    free = np.full(len(faces), True)
    regions: list[Region] = []
    for layer, area in zip(layers, areas, strict=True):
        shapely.prepare(area)
        mine = free & shapely.contains(area, inside)
        free &= ~mine
        if layer.kind is not None and mine.any():
            joined = shapely.coverage_union_all(faces[mine])
            for part in shapely.get_parts(joined):
                regions += [as_region(layer.kind, face, layer.name) for face in _simple(part)]
    return tuple(regions)


def _simple(area: Any) -> list[Any]:
    """Valid polygons without crumbs; two faces that touch in a corner only may have joined to a ring that does."""
    sound = area if area.is_valid else snapped(shapely.make_valid(area))
    return [part for part in shapely.get_parts(sound) if part.geom_type == "Polygon" and part.area > SMALLEST_FACE]


def as_region(kind: RegionKind, polygon: Any, name: str, height: float | None = None) -> Region:
    """A shapely polygon as a region, mm precise."""
    rings = (np.round(corners(ring)[:-1], 3).tolist() for ring in (polygon.exterior, *polygon.interiors))
    shell, *holes = (tuple((x, y) for x, y in ring) for ring in rings)
    return Region(kind=kind, polygon=shell, holes=tuple(holes), name=name, height=height)
