"""Which ground of a scene is solid, as rings of corners with the solid on their left.

Overlapping and touching regions are merged, so that no wall edge lies inside a solid: an agent would feel it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray
from sidestep.types.scene import OPEN, SOLID, Region, SceneSpec

if TYPE_CHECKING:
    from shapely import Polygon

SNAP = 1e-4  # m: corners are rounded to this grid, so that walls that should touch do
STRAIGHT = 1e-3  # m: a corner this close to the line through its neighbours is dropped
FARTHEST = 16_000.0  # m from the origin: beyond it float32 resolves less than 1 mm
MOST_CORNERS = 500_000  # of all regions together
SMALLEST_AREA = 1e-6  # m²
MANY = 3000  # solids: from here on those that touch no other are left out of the union, which takes too long otherwise


def solid_rings(spec: SceneSpec, where: str = "scene") -> list[FloatArray]:
    """Rings ``(n, 2)`` float64, m, not closed, that separate solid from free ground, with the solid on the
    left.

    In an enclosed scene the free ground is the open regions without the solid ones; nothing marks how far the
    solid reaches outwards, because nobody is there.
    """
    import shapely
    from shapely.geometry.polygon import orient

    drawn = sum(len(ring) for region in spec.regions for ring in (region.polygon, *region.holes))
    if drawn > MOST_CORNERS:
        raise BadInput(f"{where}: {drawn:,} corners, at most {MOST_CORNERS:,} are compiled; simplify the scene")
    polygons = [region_polygon(region, f"{where}: {describe(region, i)}") for i, region in enumerate(spec.regions)]
    kinds = [region.kind for region in spec.regions]
    solid = _union([polygon for polygon, kind in zip(polygons, kinds, strict=True) if kind in SOLID])
    if spec.enclosed:
        open_ground = _union([polygon for polygon, kind in zip(polygons, kinds, strict=True) if kind in OPEN])
        bounded = _snapped(shapely.difference(open_ground, solid))
        if bounded.area < SMALLEST_AREA:
            raise BadInput(f"{where}: the solid regions cover all open ground; shrink them or add a walkable region")
        solid_side = -1.0  # shapely: clockwise shells, so that the free ground is on the right
    else:
        bounded, solid_side = solid, 1.0
    if shapely.get_num_geometries(bounded) > MANY:
        parts = shapely.simplify(shapely.get_parts(bounded), STRAIGHT, preserve_topology=True)
    else:
        parts = shapely.get_parts(shapely.simplify(bounded, STRAIGHT, preserve_topology=True))
    rings = []
    for polygon in parts:
        if polygon.geom_type != "Polygon" or polygon.area < SMALLEST_AREA:
            continue
        oriented = orient(polygon, solid_side)
        for ring in (oriented.exterior, *oriented.interiors):
            corners = _tidy_ring(np.asarray(ring.coords)[:-1])
            if len(corners) >= 3:
                rings.append(corners)
    return rings


def describe(region: Region, index: int) -> str:
    """``regions[2] (furniture 'bench')``: how errors name a region."""
    name = f" {region.name!r}" if region.name else ""
    return f"regions[{index}] ({region.kind}{name})"


def region_polygon(region: Region, where: str) -> Polygon:
    """The region as a valid shapely polygon; a bad one is an error that names the place and the remedy."""
    import shapely

    shell, *holes = (_checked_ring(ring, where) for ring in (region.polygon, *region.holes))
    polygon = shapely.Polygon(shell, holes)
    if polygon.area < SMALLEST_AREA and polygon.convex_hull.area < SMALLEST_AREA:
        raise BadInput(
            f"{where}: the polygon has no area (its corners lie on a line); give it corners around a surface"
        )
    if not polygon.is_valid:
        raise BadInput(f"{where}: {_why_invalid(polygon)}")
    return polygon


def _checked_ring(ring: tuple[tuple[float, float], ...], where: str) -> FloatArray:
    """Corners of one ring, without the closing repeat of the first that some formats write."""
    corners = np.asarray(ring, dtype=np.float64).reshape(-1, 2)
    if not np.isfinite(corners).all():
        bad = int(np.flatnonzero(~np.isfinite(corners).all(axis=1))[0])
        raise BadInput(f"{where}: corner {bad} is not finite; give every corner as numbers [x, y] in metres")
    if np.abs(corners).max() > FARTHEST:
        x, y = corners[np.abs(corners).max(axis=1).argmax()]
        raise BadInput(
            f"{where}: corner ({x:g}, {y:g}) is more than {FARTHEST / 1000:g} km from the origin, where "
            f"single precision is coarser than 1 mm; move the scene near the origin"
        )
    if (corners[0] == corners[-1]).all():
        corners = corners[:-1]
    repeated = np.flatnonzero((corners[1:] == corners[:-1]).all(axis=1)) + 1
    if repeated.size:
        x, y = corners[repeated[0]]
        raise BadInput(f"{where}: corner {repeated[0]} repeats the one before it, ({x:g}, {y:g}); remove one of them")
    if len(corners) < 3:
        raise BadInput(f"{where}: a polygon needs at least 3 different corners, got {len(corners)}")
    return corners


def _why_invalid(polygon: Polygon) -> str:
    from shapely.validation import explain_validity

    reason = explain_validity(polygon)
    place = re.search(r"\[(\S+) (\S+)\]", reason)
    at = f" at ({float(place[1]):g}, {float(place[2]):g})" if place else ""
    kind = reason.split("[")[0].strip().lower()
    if "self-intersection" in kind:
        return f"its outline crosses or touches itself{at}; list the corners in order around it, or split it"
    if "hole" in kind or "shell" in kind or "nested" in kind:
        return f"a hole is not inside the polygon, or overlaps another ({kind}{at}); move it inside"
    return f"not a valid polygon ({kind}{at}); list the corners in order around it"


def _union(polygons: list[Polygon]) -> Any:
    """Snapped after the union, which is several times as fast as a union on the snapping grid."""
    import shapely

    if len(polygons) <= MANY:
        return _snapped(shapely.union_all(polygons))
    one, _ = shapely.STRtree(polygons).query(polygons, predicate="intersects")
    alone = np.bincount(one, minlength=len(polygons)) == 1  # each meets itself
    every = np.array(polygons, dtype=object)
    joined = shapely.get_parts(shapely.set_precision(shapely.union_all(every[~alone]), SNAP))
    snapped = shapely.get_parts(shapely.set_precision(every[alone], SNAP))
    both = np.concatenate([joined, snapped])
    polygons_only = both[shapely.get_type_id(both) == shapely.GeometryType.POLYGON]
    return shapely.normalize(shapely.multipolygons(polygons_only))


def _snapped(geometry: Any) -> Any:
    """On the grid, and with parts, rings and first corners in an order that follows from the coordinates alone: that of
    GEOS depends on last bits of corners before they are snapped."""
    import shapely

    return shapely.normalize(shapely.set_precision(geometry, SNAP))


def _tidy_ring(corners: FloatArray) -> FloatArray:
    """Round to float32, as kernels read it; drop repeats and a straight first corner that simplify left."""
    corners = corners.astype(np.float32).astype(np.float64)
    corners = corners[(corners != np.roll(corners, 1, axis=0)).any(axis=1)]
    if len(corners) > 3:
        before, first, after = corners[-1], corners[0], corners[1]
        chord = after - before
        offset = first - before
        if abs(chord[0] * offset[1] - chord[1] * offset[0]) <= STRAIGHT * exact.hypot(*chord):
            corners = corners[1:]
    return corners
