"""Parts of a town as scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from sidestep.scenes.towns.pieces import Pieces
from sidestep.types.scene import SOLID, Region

GRID = 1e-3  # m
SMALLEST = 1e-3  # m²: smaller bits of clipped ground are left out
SMALLEST_BUILDING = 3.0  # m²: what a window's border leaves of a house and is smaller would stand there like a chimney


def regions_within(pieces: Pieces, area: Any, solids_only: bool = False) -> tuple[Region, ...]:
    """Everything inside ``area``, clipped at its border."""
    shapely.prepare(area)
    found = pieces.near(area)
    if solids_only:
        found = found[[pieces.kinds[index] in SOLID for index in found]]
    polygons = pieces.polygons[found]
    whole = shapely.contains(area, polygons)
    clipped = np.array(polygons)
    clipped[~whole] = shapely.intersection(polygons[~whole], area, grid_size=GRID)
    regions = []
    for index, polygon, uncut in zip(found.tolist(), clipped.tolist(), whole.tolist(), strict=True):
        least = SMALLEST if uncut or pieces.kinds[index] != "building" else SMALLEST_BUILDING
        for part in shapely.get_parts(polygon) if polygon.geom_type != "Polygon" else (polygon,):
            if part.geom_type == "Polygon" and part.area > least:
                regions.append(_region(pieces, index, part))
    return tuple(regions)


def _region(pieces: Pieces, index: int, polygon: Any) -> Region:
    rings = [_corners(ring) for ring in (polygon.exterior, *polygon.interiors)]
    height = float(pieces.heights[index])
    return Region.model_construct(
        kind=pieces.kinds[index],
        polygon=rings[0],
        holes=tuple(rings[1:]),
        height=None if np.isnan(height) else height,
        name=pieces.names[index],
    )


def _corners(ring: Any) -> tuple[tuple[float, float], ...]:
    return tuple(map(tuple, shapely.get_coordinates(ring)[:-1].tolist()))
