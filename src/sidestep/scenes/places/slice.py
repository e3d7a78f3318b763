"""Solids in a mesh: whatever of it lies between ankle and chest height, seen from above."""

from __future__ import annotations

from typing import Any

import numpy as np
import shapely

from sidestep.errors import BadInput
from sidestep.scenes.places import grid
from sidestep.scenes.places.partition import as_region
from sidestep.types.base import FloatArray
from sidestep.types.scene import Region

LOW, HIGH = 0.15, 1.5  # m above the ground
THIN = 0.04  # m: half the thickness that upright faces get
SMALLEST = 0.01  # m²
MOST = 400_000  # triangles in the slice


def slice_solids(triangles: FloatArray, ground: Any, low: float = LOW, high: float = HIGH) -> list[Region]:
    """Outlines of the triangles ``(T, 3, 3)`` between two heights (m) over z = 0.

    Upright faces count with a thickness of 8 cm. A hollow outline is filled unless some of ``ground``, where people
    walk, lies in it. A region's height is that of the highest triangle which touches it.
    """
    z = triangles[..., 2]
    reached = (z.min(axis=1) < high) & (z.max(axis=1) > low)
    if reached.sum() > MOST:
        raise BadInput(
            f"the mesh has {int(reached.sum())} triangles up to {high} m, at most {MOST} are sliced; thin it out"
        )
    shapes, tops = [], []
    for triangle in triangles[reached]:
        part = _between(_between(triangle, low, 1.0), high, -1.0)
        if len(part) > 2:
            shapes.append(
                grid.grown(shapely.MultiPoint(part[:, :2]).convex_hull, THIN, quad_segs=1, join_style="mitre")
            )
            tops.append(float(triangle[:, 2].max()))
    if not shapes:
        return []
    joined = shapely.simplify(grid.union(shapes), THIN / 2)
    tree = shapely.STRtree(shapes)
    regions = []
    for polygon in shapely.get_parts(joined):
        holes = [ring for ring in polygon.interiors if shapely.Polygon(ring).intersects(ground)]
        filled = shapely.Polygon(polygon.exterior, holes)
        if filled.area > SMALLEST and filled.is_valid:
            top = max(tops[k] for k in tree.query(polygon, predicate="intersects"))
            regions.append(as_region("obstacle", filled, "scanned", round(top, 2)))
    return regions


def _between(polygon: FloatArray, level: float, sign: float) -> FloatArray:
    """The part of a convex polygon ``(K, 3)`` above (``sign`` 1) or below (−1) a level (Sutherland, Hodgman 1974)."""
    kept: list[FloatArray] = []
    for k, corner in enumerate(polygon):
        before = polygon[k - 1]
        here, there = sign * (corner[2] - level), sign * (before[2] - level)
        if (here >= 0) != (there >= 0):
            kept.append(before + (corner - before) * (there / (there - here)))
        if here >= 0:
            kept.append(corner)
    return np.array(kept).reshape(-1, 3)
