"""A scene as a person writes it, compiled into the arrays that kernels read."""

from __future__ import annotations

import numpy as np

from sidestep.scenes.distance_field import distance_field, plan_field
from sidestep.scenes.solids import solid_rings
from sidestep.scenes.wall_cells import list_wall_cells
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scene import CompiledScene, SceneSpec

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
