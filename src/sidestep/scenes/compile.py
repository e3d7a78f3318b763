"""A scene as a person writes it, compiled into the arrays that kernels read: regions merged into walls (rings of
corners with the solid on their left), the walls near each cell of a grid, and the distance to them. Overlapping and
touching regions are merged, so that no wall edge lies inside a solid, where an agent would feel it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.kernels.layout import WALL_REACH
from sidestep.scenes.distance_field import distance_field, plan_field
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scene import OPEN, SOLID, CompiledScene, Region, SceneSpec

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
    """The geometry on the grid, with parts, rings and first corners in an order that follows from the coordinates
    alone: that of GEOS depends on last bits of corners before they are snapped."""
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


WALL_CELL = 1.0  # m
MOST_WALL_CELLS = 200_000
PIECE = 8.0  # m: longer edges are cut for the search, which visits the bounding box of each piece
SLACK = 1e-3  # m: kernels find their cell in float32


class WallCells(NamedTuple):
    """Edges ``cell_items[cell_start[c]:cell_start[c + 1]]`` are near cell ``c = row * nx + column``."""

    cell_start: IntArray  # (cells + 1,) int32
    cell_items: IntArray  # int32
    grid: FloatArray  # (4,) float32: x0, y0, cell size (m), 0
    grid_shape: IntArray  # (2,) int32: nx, ny


def list_wall_cells(segments: FloatArray, bounds: tuple[float, float, float, float]) -> WallCells:
    """List every edge of ``segments (W, 4)`` within ``WALL_REACH`` of any point of each cell.

    An edge is listed when it is within ``WALL_REACH + cell / √2`` of the cell's centre, which holds for all
    that are required and a few that are up to 0.2 cells too far. Edges of a cell are in ascending order. The
    grid reaches so far beyond ``bounds`` that the lists of its border cells, which stand for everything
    outside, are empty.
    """
    if not len(segments):
        return WallCells(
            np.zeros(2, np.int32),
            np.zeros(0, np.int32),
            np.array([0, 0, WALL_CELL, 0], np.float32),
            np.ones(2, np.int32),
        )
    x0, y0, size, nx, ny = _lay_grid(bounds)
    edge, start, end = _cut(segments)
    reach = WALL_REACH + size / np.sqrt(2) + SLACK
    low = np.floor((np.minimum(start, end) - reach - (x0, y0)) / size).astype(np.int64)
    high = np.floor((np.maximum(start, end) + reach - (x0, y0)) / size).astype(np.int64)
    low, high = np.maximum(low, 0), np.minimum(high, (nx - 1, ny - 1))
    wide, tall = (high - low + 1).T
    visited = wide * tall
    piece = np.repeat(np.arange(len(edge)), visited)
    place = np.arange(len(piece)) - np.repeat(np.cumsum(visited) - visited, visited)
    row, column = np.divmod(place, wide[piece])
    row, column = row + low[piece, 1], column + low[piece, 0]
    x, y = x0 + (column + 0.5) * size, y0 + (row + 0.5) * size
    near = _squared_distance(x, y, start, end - start, piece) <= reach * reach
    listed = np.sort((row[near] * nx + column[near]) * len(segments) + edge[piece[near]])
    listed = listed[np.concatenate([[True], np.diff(listed) > 0])]  # two pieces of an edge may be near one cell
    cell, item = np.divmod(listed, len(segments))
    cell_start = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=nx * ny))])
    grid = np.array([x0, y0, size, 0], np.float32)
    return WallCells(cell_start.astype(np.int32), item.astype(np.int32), grid, np.array([nx, ny], np.int32))


def _lay_grid(bounds: tuple[float, float, float, float]) -> tuple[float, float, float, int, int]:
    """Corner, cell size and cell counts; whole metres, so that float32 holds them exactly."""
    size = WALL_CELL
    while True:
        pad = WALL_REACH + 2 * size
        x0, y0 = np.floor(bounds[0] - pad), np.floor(bounds[1] - pad)
        nx, ny = int(np.ceil((bounds[2] + pad - x0) / size)), int(np.ceil((bounds[3] + pad - y0) / size))
        if nx * ny <= MOST_WALL_CELLS:
            return float(x0), float(y0), size, nx, ny
        size *= 2


def _cut(segments: FloatArray) -> tuple[IntArray, FloatArray, FloatArray]:
    """Edge number, start and end of pieces no longer than ``PIECE``."""
    start, end = segments[:, :2].astype(np.float64), segments[:, 2:].astype(np.float64)
    pieces = np.maximum(np.ceil(exact.hypot(*(end - start).T) / PIECE), 1).astype(np.int64)
    edge = np.repeat(np.arange(len(segments)), pieces)
    k = np.arange(len(edge)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    along = (end - start)[edge] / pieces[edge, None]
    first = start[edge] + k[:, None] * along
    return edge, first, first + along


def _squared_distance(
    x: FloatArray, y: FloatArray, start: FloatArray, along: FloatArray, piece: IntArray
) -> FloatArray:
    """Squared distance (m²) from each point (x, y) to the segment that starts at ``start[piece]``."""
    dx, dy = along[piece].T
    px, py = x - start[piece, 0], y - start[piece, 1]
    t = np.clip((px * dx + py * dy) / np.maximum(dx * dx + dy * dy, 1e-30), 0.0, 1.0)
    px -= t * dx
    py -= t * dy
    return np.asarray(px * px + py * py)


MOST_SAMPLES_AT_ONCE = 600_000
EMPTY_BOUNDS = (-10.0, -10.0, 10.0, 10.0)  # m: what is shown of a scene without regions


def compile_scene(spec: SceneSpec, where: str = "scene") -> CompiledScene:
    """Merge the regions into walls, list the walls near each cell and sample the distance to them.

    Where that takes more than ``MOST_SAMPLES_AT_ONCE`` samples (6 000 m² at 0.1 m), the distance field is computed when
    it is first asked for.
    Solid is the union of the solid regions and, in an enclosed scene, everything outside the open ones.
    ``where`` (a file, a scenario) opens the message of the ``BadInput`` that a wrong polygon raises.
    """
    rings = solid_rings(spec, where)
    points, following, previous = _join(rings)
    corners = points.astype(np.float64)
    segments = np.concatenate([corners, corners[following]], axis=1)
    along = segments[:, 2:] - segments[:, :2]
    directions = along / np.sqrt((along * along).sum(axis=1, keepdims=True))
    bounds = _bounds(spec, points)
    cells = list_wall_cells(segments, bounds)
    samples = plan_field(len(segments) > 0, bounds)
    scene = CompiledScene(
        spec=spec,
        bounds=bounds,
        wall_points=points,
        wall_dirs=directions.astype(np.float32),
        wall_next=following,
        wall_prev=previous,
        wall_convex=_convex(corners, following, previous),
        cell_start=cells.cell_start,
        cell_items=cells.cell_items,
        grid=cells.grid,
        grid_shape=cells.grid_shape,
        make_distance=lambda: distance_field(segments, spec.enclosed, bounds).values,
        distance_origin=samples.origin,
        distance_cell=samples.cell,
    )
    if samples.shape[0] * samples.shape[1] <= MOST_SAMPLES_AT_ONCE:
        _ = scene.distance
    return scene


def _join(rings: list[FloatArray]) -> tuple[FloatArray, IntArray, IntArray]:
    """Corners of all rings in one array, and the numbers of the following and the previous corner of each."""
    if not rings:
        return np.zeros((0, 2), np.float32), np.zeros(0, np.int32), np.zeros(0, np.int32)
    points = np.concatenate(rings).astype(np.float32)
    following = np.arange(1, len(points) + 1, dtype=np.int32)
    lengths = np.array([len(ring) for ring in rings])
    ends = np.cumsum(lengths)
    following[ends - 1] = ends - lengths
    previous = np.empty_like(following)
    previous[following] = np.arange(len(points), dtype=np.int32)
    return points, following, previous


def _convex(points: FloatArray, following: IntArray, previous: IntArray) -> IntArray:
    """1 where the ring does not turn right, in RVO2: ``det(this - previous, next - previous) >= 0``."""
    a, b = points - points[previous], points[following] - points[previous]
    return (a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0] >= 0).astype(np.uint8)


def _bounds(spec: SceneSpec, points: FloatArray) -> tuple[float, float, float, float]:
    drawn = [np.asarray(region.polygon, np.float64) for region in spec.regions]
    if not drawn:
        return EMPTY_BOUNDS
    corners = np.concatenate([*drawn, points.astype(np.float64)])
    (x0, y0), (x1, y1) = corners.min(axis=0), corners.max(axis=0)
    return float(x0), float(y0), float(x1), float(y1)
