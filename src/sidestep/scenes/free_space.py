"""Where a body fits between the walls of a compiled scene, and the shortest path from one point to another."""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from sidestep._util import exact
from sidestep.errors import BadInput
from sidestep.scenes.distance_field import CELL, DistanceField, distance_field
from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.scene import CompiledScene

PAIRS_AT_ONCE = 2_000_000  # point-edge pairs held in memory
TOUCH = 1e-6  # m: how far a path may cut into the clearance asked for
FINER = 4  # how much finer than the scene's own field the second search for a narrow passage is
FINER_MOST_CELLS = 8_000_000
NEAR = 4  # cells from an end of the path to where it enters the grid
PULLS = 8  # tightening rounds at most


def wall_distance(scene: CompiledScene, points: npt.ArrayLike) -> FloatArray:
    """Exact distance (m) from each of ``points (P, 2)`` to the nearest wall edge; inf without walls."""
    where = _as_points(points)
    nearest2 = np.full(len(where), np.inf)
    start = scene.wall_points.astype(np.float64)
    along = start[scene.wall_next] - start
    length2 = (along * along).sum(axis=1)
    for part in _parts(len(where), len(start)):
        offset = where[part, None, :] - start
        t = np.clip((offset * along).sum(axis=2) / length2, 0.0, 1.0)
        gap = offset - t[:, :, None] * along
        nearest2[part] = (gap * gap).sum(axis=2).min(axis=1)
    return np.asarray(np.sqrt(nearest2))


def inside_solid(scene: CompiledScene, points: npt.ArrayLike) -> BoolArray:
    """Whether each of ``points (P, 2)`` lies in a solid, by the number of edges on its right."""
    where = _as_points(points)
    inside = np.full(len(where), scene.spec.enclosed)
    x0, y0, x1, y1 = scene.segments.astype(np.float64).T
    slope = np.divide(x1 - x0, y1 - y0, out=np.zeros_like(x0), where=y1 != y0)
    for part in _parts(len(where), len(x0)):
        x, y = where[part, :1], where[part, 1:]
        crossed = ((y0 <= y) != (y1 <= y)) & (x < x0 + (y - y0) * slope)
        inside[part] ^= crossed.sum(axis=1) % 2 == 1
    return inside


def free_mask(scene: CompiledScene, points: npt.ArrayLike, radius: npt.ArrayLike) -> BoolArray:
    """Whether a disc of ``radius`` (m; one, or one per point) at each of ``points (P, 2)`` overlaps no solid.

    Exact for the compiled walls; a disc that just touches a wall is free.
    """
    return ~inside_solid(scene, points) & (wall_distance(scene, points) >= np.asarray(radius, np.float64))


def is_free(scene: CompiledScene, x: float, y: float, radius: float) -> bool:
    """Whether a disc of ``radius`` (m) at (x, y) overlaps no solid."""
    return bool(free_mask(scene, [[x, y]], radius)[0])


def shortest_path(
    scene: CompiledScene, start: npt.ArrayLike, goal: npt.ArrayLike, radius: float, where: str = "path"
) -> FloatArray:
    """Waypoints ``(K, 2)`` float64, m, from ``start`` to ``goal`` along which a disc of ``radius`` (m)
    overlaps no solid.

    A* on the distance field, pulled tight between the walls. Corners are rounded by polygons, so the length
    is within about 1 % of the shortest. A passage too tight for the field's cell is tried again on a finer
    field: one that is wider than ``2 * radius`` by half a cell (5 cm, more in scenes of hectares) is found.
    No path is a ``BadInput``.
    """
    ends = _as_points([np.asarray(start, np.float64), np.asarray(goal, np.float64)])
    _require_free(scene, ends, radius, where)
    walls = np.ascontiguousarray(scene.segments, np.float64)
    if _is_clear(walls, ends[0], ends[1], radius):
        return ends
    own = DistanceField(scene.distance, scene.distance_origin, scene.distance_cell)
    path = _search(own, walls, ends, radius)
    if path is None and _may_exist(own, ends, radius):
        path = _search(_finer_field(scene), walls, ends, radius)
    if path is None:
        raise BadInput(
            f"{where}: no way from {_format_point(ends[0])} to {_format_point(ends[1])} in scene {scene.spec.name!r} "
            f"for a body of radius {radius:g} m: every passage is closed or narrower than {2 * radius:g} m; "
            f"widen one, move an end, or take a smaller radius"
        )
    return path


def geodesic_distance(
    scene: CompiledScene, start: npt.ArrayLike, goal: npt.ArrayLike, radius: float, where: str = "path"
) -> float:
    """Length (m) of :func:`shortest_path`."""
    return path_length(shortest_path(scene, start, goal, radius, where))


def path_length(points: FloatArray) -> float:
    """Length (m) of the line through ``points (K, 2)``."""
    return float(exact.norm(np.diff(points, axis=0)).sum())


def _as_points(points: npt.ArrayLike) -> FloatArray:
    return np.asarray(points, np.float64).reshape(-1, 2)


def _parts(points: int, edges: int) -> list[slice]:
    """Slices of the points that keep the number of point-edge pairs in bounds."""
    if not edges:
        return []
    step = max(PAIRS_AT_ONCE // edges, 1)
    return [slice(first, first + step) for first in range(0, points, step)]


def _format_point(point: FloatArray) -> str:
    return f"({point[0]:g}, {point[1]:g})"


def _require_free(scene: CompiledScene, ends: FloatArray, radius: float, where: str) -> None:
    if not (np.isfinite(ends).all() and math.isfinite(radius) and radius >= 0):
        raise BadInput(
            f"{where}: start, goal and radius must be finite, the radius >= 0; got {ends.tolist()}, {radius}"
        )
    distance = wall_distance(scene, ends)
    for name, point, solid, gap in zip(("start", "goal"), ends, inside_solid(scene, ends), distance, strict=True):
        if solid:
            raise BadInput(
                f"{where}: the {name} {_format_point(point)} is inside a solid of scene {scene.spec.name!r}; move it"
            )
        if gap < radius:
            raise BadInput(
                f"{where}: the {name} {_format_point(point)} is {gap:.3f} m from a wall of scene "
                f"{scene.spec.name!r}, but the body's radius is {radius:g} m; move it away from the wall"
            )


def _is_clear(walls: FloatArray, a: FloatArray, b: FloatArray, radius: float) -> bool:
    from sidestep.kernels.grid_path import is_segment_clear

    return bool(is_segment_clear(walls, a[0], a[1], b[0], b[1], max(radius - TOUCH, 0.0)))


@lru_cache(maxsize=2)
def _finer_field(scene: CompiledScene) -> DistanceField:
    cell = min(scene.distance_cell, CELL) / FINER
    segments = scene.segments.astype(np.float64)
    return distance_field(segments, scene.spec.enclosed, scene.bounds, cell, FINER_MOST_CELLS)


def _cell_of(field: DistanceField, point: FloatArray) -> tuple[int, int]:
    """Row and column of the sample nearest to ``point``; a point outside the field takes its border."""
    ny, nx = field.values.shape
    column = round((point[0] - field.origin[0]) / field.cell)
    row = round((point[1] - field.origin[1]) / field.cell)
    return min(max(row, 0), ny - 1), min(max(column, 0), nx - 1)


def _may_exist(field: DistanceField, ends: FloatArray, radius: float) -> bool:
    """Whether a path exists when every sample is believed to be a cell freer than it is: False is certain."""
    from sidestep.kernels.grid_path import find_grid_path

    nx = field.values.shape[1]
    start, goal = (row * nx + column for row, column in (_cell_of(field, end) for end in ends))
    return len(find_grid_path(field.values, radius - field.cell, start, goal)) > 0


def _search(field: DistanceField, walls: FloatArray, ends: FloatArray, radius: float) -> FloatArray | None:
    """The tightened path over the samples of ``field``; None if there is none at this resolution.

    Samples must be ``sqrt(radius² + cell² / 2)`` from solids: then a step between two, diagonal or not, keeps
    ``radius``.
    """
    from sidestep.kernels.grid_path import find_grid_path

    clearance = math.sqrt(radius * radius + field.cell * field.cell / 2)
    nx = field.values.shape[1]
    entries = [_entry(field, walls, end, radius, clearance) for end in ends]
    if entries[0] is None or entries[1] is None:
        return None
    cells = find_grid_path(field.values, clearance, entries[0], entries[1])
    if not len(cells):
        return None
    samples = np.stack([cells % nx, cells // nx], axis=1) * field.cell + field.origin
    return _tighten(np.concatenate([ends[:1], samples, ends[1:]]), walls, radius, 2 * field.cell)


def _entry(field: DistanceField, walls: FloatArray, end: FloatArray, radius: float, clearance: float) -> int | None:
    """The nearest sample with ``clearance`` to which there is a clear line from ``end``."""
    ny, nx = field.values.shape
    row, column = _cell_of(field, end)
    rows = np.arange(max(row - NEAR, 0), min(row + NEAR + 1, ny))
    columns = np.arange(max(column - NEAR, 0), min(column + NEAR + 1, nx))
    i, j = (index.ravel() for index in np.meshgrid(rows, columns, indexing="ij"))
    samples = np.stack([j, i], axis=1) * field.cell + field.origin
    for k in np.argsort(exact.norm(samples - end), kind="stable"):
        if field.values[i[k], j[k]] >= clearance and _is_clear(walls, end, samples[k], radius):
            return int(i[k] * nx + j[k])
    return None


def _tighten(path: FloatArray, walls: FloatArray, radius: float, spacing: float) -> FloatArray:
    """Pull the path straight, from either end in turn, until it gets no shorter."""
    from sidestep.kernels.grid_path import pull_string

    reach = max(radius - TOUCH, 0.0)
    start = path[0]
    path = path[pull_string(path, walls, reach)]
    length = path_length(path)
    for _ in range(PULLS):
        dense = _densify(path, spacing)[::-1].copy()
        path = dense[pull_string(dense, walls, reach)]
        previous, length = length, path_length(path)
        if length > previous * (1 - 1e-4):
            break
    return path if np.array_equal(path[0], start) else path[::-1].copy()


def _densify(path: FloatArray, spacing: float) -> FloatArray:
    """The same line with a point at least every ``spacing`` metres."""
    pieces = []
    for a, b in pairwise(path):
        count = max(math.ceil(exact.hypot(b[0] - a[0], b[1] - a[1]) / spacing), 1)
        pieces.append(a + (b - a) * (np.arange(count) / count)[:, None])
    return np.concatenate([*pieces, path[-1:]])
