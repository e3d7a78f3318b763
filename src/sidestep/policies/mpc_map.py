"""The static side of planning: room to walls and the way left to the goal, as grids."""

from __future__ import annotations

import numpy as np

from sidestep import exact
from sidestep.kernels.mpc_field import fill_gradients, fill_slowness, way_left
from sidestep.types import CompiledScene, Task
from sidestep.types.base import FloatArray

MARGIN_M = 4.0
"""Ground beyond the scene, the start and the goal."""
CELL_M = 0.1
MOST_CELLS = 400_000
SPARE_M = 0.25
"""Room beyond its radius that the robot's way to the goal keeps from walls where there is that much, m."""

WayArrays = tuple[FloatArray, FloatArray, FloatArray, FloatArray, float, float, float]


def grid_over(task: Task, cell: float, turn: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """x and y of the columns and rows of a grid over the scene, the start and the goal; the start is on a grid point.

    ``turn`` (2, 2): row vectors times it are in the grid's frame.
    """
    assert task.goal is not None
    corners = [task.start[:2], task.goal]
    if task.map is not None and len(task.map.wall_points):
        x_min, y_min, x_max, y_max = task.map.bounds
        corners += [(x_min, y_min), (x_min, y_max), (x_max, y_min), (x_max, y_max)]
    points = np.array(corners, np.float64)
    if turn is not None:
        points = exact.matmul(points, turn)
    before = np.ceil((points[0] - points.min(axis=0) + MARGIN_M) / cell).astype(np.int64)
    after = np.ceil((points.max(axis=0) - points[0] + MARGIN_M) / cell).astype(np.int64)
    x, y = (points[0, c] + cell * np.arange(-before[c], after[c] + 1) for c in range(2))
    return x, y


def sample_room(
    scene: CompiledScene | None, x: FloatArray, y: FloatArray, turn: FloatArray | None = None
) -> FloatArray:
    """Distance to the nearest solid (ny, nx) at grid points, bilinear; outside the scene's field the border's value."""
    if scene is None:
        return np.full((len(y), len(x)), 100.0)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    if turn is not None:
        points = exact.matmul(points, turn.T)
    values = scene.distance.astype(np.float64)
    ny, nx = values.shape
    u = np.clip((points[..., 0] - scene.distance_origin[0]) / scene.distance_cell, 0.0, nx - 1.0)
    v = np.clip((points[..., 1] - scene.distance_origin[1]) / scene.distance_cell, 0.0, ny - 1.0)
    j, i = np.minimum(u.astype(np.int64), nx - 2), np.minimum(v.astype(np.int64), ny - 2)
    fu, fv = u - j, v - i
    low = values[i, j] * (1.0 - fu) + values[i, j + 1] * fu
    high = values[i + 1, j] * (1.0 - fu) + values[i + 1, j + 1] * fu
    return np.ascontiguousarray(low * (1.0 - fv) + high * fv)


class WayMap:
    """Grids over the scene, the start and the goal. ``arrays``: room, way, its unit gradient, origin, cell size."""

    def __init__(self, task: Task, radius: float) -> None:
        assert task.goal is not None
        x, y = grid_over(task, CELL_M)
        cell = CELL_M * max(1.0, float(np.sqrt(len(x) * len(y) / MOST_CELLS)))
        if cell > CELL_M:
            x, y = grid_over(task, cell)
        room = sample_room(task.map, x, y)
        slowness, way, seen = np.empty_like(room), np.empty_like(room), np.empty(room.shape, np.uint8)
        fill_slowness(room, radius, SPARE_M, slowness)
        way_left(room, slowness, x[0], y[0], cell, task.goal[0], task.goal[1], radius + SPARE_M, way, seen)
        way_x, way_y = np.empty_like(room), np.empty_like(room)
        fill_gradients(way, cell, way_x, way_y, True)
        self.arrays: WayArrays = (room, way, way_x, way_y, float(x[0]), float(y[0]), cell)
