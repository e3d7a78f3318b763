"""Overlapping areas in order of precedence to regions that share their corners and do not overlap."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep.scenes.places import grid
from sidestep.types.scene import Region, RegionKind

SMALLEST = 0.02  # m²: smaller faces go to the neighbours' side of nothing


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
    areas = [layer.area if clip is None else grid.intersection(layer.area, clip) for layer in layers]
    outlines = [shapely.boundary(area) for area in areas if not area.is_empty]
    if not outlines:
        return ()
    faces = shapely.get_parts(shapely.polygonize([shapely.union_all(outlines, grid_size=grid.GRID)]))
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
                regions += [_region(layer.kind, face, layer.name) for face in _simple(part)]
    return tuple(regions)


def _simple(area: Any) -> list[Any]:
    """Valid polygons without crumbs; two faces that touch in a corner only may have joined to a ring that does."""
    sound = area if area.is_valid else grid.snapped(shapely.make_valid(area))
    return [part for part in shapely.get_parts(sound) if part.geom_type == "Polygon" and part.area > SMALLEST]


def _region(kind: RegionKind, polygon: Any, name: str) -> Region:
    return as_region(kind, polygon, name, None)


def as_region(kind: RegionKind, polygon: Any, name: str, height: float | None) -> Region:
    """A shapely polygon as a region, mm precise."""
    shell, *holes = (ring_corners(ring) for ring in (polygon.exterior, *polygon.interiors))
    return Region(kind=kind, polygon=shell, holes=tuple(holes), name=name, height=height)


def ring_corners(ring: Any) -> tuple[tuple[float, float], ...]:
    """Corners of a ring without the last, which repeats the first."""
    return tuple((x, y) for x, y in np.round(shapely.get_coordinates(ring)[:-1], 3).tolist())
