"""The static side of planning: room to walls and the way left to the goal, as grids."""

from __future__ import annotations

import numpy as np

from sidestep.kernels.mpc_field import fill_gradients, fill_slowness, way_left
from sidestep.types import Task
from sidestep.types.base import FloatArray

MARGIN_M = 4.0
MOST_CELLS = 400_000
SPARE_M = 0.25


class WayMap:
    """Grids over the scene, the start and the goal. ``arrays``: room, way, its unit gradient, origin, cell size."""

    def __init__(self, task: Task, radius: float) -> None:
        assert task.goal is not None
        scene = task.map
        points = [task.start[:2], task.goal]
        if scene is not None and len(scene.wall_points):
            points += [scene.bounds[:2], scene.bounds[2:]]
        low = np.min(points, axis=0) - MARGIN_M
        high = np.max(points, axis=0) + MARGIN_M
        cell = max(0.1, float(np.sqrt(np.prod(high - low) / MOST_CELLS)))
        nx, ny = (int(n) for n in np.ceil((high - low) / cell) + 1)
        x, y = low[0] + cell * np.arange(nx), low[1] + cell * np.arange(ny)
        room = np.full((ny, nx), 100.0) if scene is None else _sample(scene, x, y)
        slowness, way, seen = np.empty_like(room), np.empty_like(room), np.empty(room.shape, np.uint8)
        fill_slowness(room, radius, SPARE_M, slowness)
        way_left(room, slowness, x[0], y[0], cell, *task.goal, radius + SPARE_M, way, seen)
        way_x, way_y = np.empty_like(room), np.empty_like(room)
        fill_gradients(way, cell, way_x, way_y, True)
        self.arrays = (room, way, way_x, way_y, float(x[0]), float(y[0]), cell)


def _sample(scene, x: FloatArray, y: FloatArray) -> FloatArray:
    """The scene's distance field, bilinear, at a grid of points; outside it the border's value."""
    d = scene.distance.astype(np.float64)
    ny, nx = d.shape
    u = np.clip((x - scene.distance_origin[0]) / scene.distance_cell, 0.0, nx - 1.0)
    v = np.clip((y - scene.distance_origin[1]) / scene.distance_cell, 0.0, ny - 1.0)
    j, i = np.minimum(u.astype(int), nx - 2), np.minimum(v.astype(int), ny - 2)
    fu, fv = (u - j)[None, :], (v - i)[:, None]
    rows = d[i] * (1.0 - fv) + d[i + 1] * fv
    return np.ascontiguousarray(rows[:, j] * (1.0 - fu) + rows[:, j + 1] * fu)
