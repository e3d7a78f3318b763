"""Where a camera flies that follows a robot: behind it and above, calm in turns, on this side of high walls."""

from __future__ import annotations

from math import atan2, cos, sin

import numpy as np
import shapely

from sidestep.render.camera_model import CameraPose
from sidestep.types.base import FloatArray
from sidestep.types.scene import SOLID, SceneSpec

BACK_M, UP_M, AHEAD_M = 3.2, 2.1, 2.6
"""Behind the robot, above the ground, and how far ahead of the robot the camera aims (at ``AIM_M`` above ground)."""
AIM_M = 0.5
NEAREST_M, OFF_WALL_M = 1.0, 0.35
EYE_M = 1.8
"""Solids lower than this do not hide the robot."""
TURN_S, SLIDE_S = 0.5, 0.6
"""Time constant of the turning camera, and the time over which it slides nearer before a wall."""


class Chase:
    """The way of the chasing camera along the poses (T+1, 3) of a robot, ``step_s`` apart."""

    def __init__(self, path: FloatArray, step_s: float, walls: FloatArray) -> None:
        self._path = path
        self._yaw = _calm(np.unwrap(path[:, 2]), max(TURN_S / step_s, 1.0))
        back = _free_way(path[:, :2], self._yaw, walls)
        self._back = _slid(back, max(round(SLIDE_S / step_s), 1))

    def pose(self, step: int, ground: float) -> CameraPose:
        """Where it is at a step; ``ground`` is the height under the robot."""
        x, y, _ = (float(value) for value in self._path[step])
        yaw, back = float(self._yaw[step]), float(self._back[step])
        down = atan2(UP_M - AIM_M, back + AHEAD_M)
        return CameraPose(x - back * cos(yaw), y - back * sin(yaw), ground + UP_M, yaw, down, 0.0)


def high_walls(scene: SceneSpec, walls: FloatArray, indoor: bool) -> FloatArray:
    """Edges (W, 4) of what would hide the robot: not indoors, where walls are seen through from behind."""
    if indoor or not len(walls):
        return np.zeros((0, 4))
    low = [
        shapely.Polygon(region.polygon)
        for region in scene.regions
        if region.kind in SOLID and region.height is not None and region.height < EYE_M
    ]
    if not low:
        return np.asarray(walls, np.float64)
    middles = shapely.points((walls[:, 0] + walls[:, 2]) / 2, (walls[:, 1] + walls[:, 3]) / 2)
    return np.asarray(walls[shapely.distance(shapely.union_all(low), middles) > 0.02], np.float64)


def _calm(headings: FloatArray, steps: float) -> FloatArray:
    calm = np.array(headings, np.float64)
    for step in range(1, len(calm)):
        calm[step] = calm[step - 1] + (headings[step] - calm[step - 1]) / steps
    return calm


def _free_way(places: FloatArray, yaw: FloatArray, walls: FloatArray) -> FloatArray:
    """How far behind each place the camera may be, m."""
    free = np.full(len(places), BACK_M)
    along = -np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
    for x0, y0, x1, y1 in walls:
        ex, ey = x1 - x0, y1 - y0
        cross = along[:, 0] * ey - along[:, 1] * ex
        with np.errstate(divide="ignore", invalid="ignore"):
            dx, dy = x0 - places[:, 0], y0 - places[:, 1]
            ray = (dx * ey - dy * ex) / cross
            edge = (dx * along[:, 1] - dy * along[:, 0]) / cross
            hit = (np.abs(cross) > 1e-9) & (ray > 0) & (edge >= 0) & (edge <= 1)
        free = np.where(hit, np.minimum(free, ray - OFF_WALL_M), free)
    kept: FloatArray = np.clip(free, NEAREST_M, BACK_M)
    return kept


def _slid(back: FloatArray, steps: int) -> FloatArray:
    """Each the least within ``steps`` either side, then the mean over as many: never beyond a wall, never a jump."""
    padded = np.pad(back, steps, mode="edge")
    least = np.lib.stride_tricks.sliding_window_view(padded, 2 * steps + 1).min(axis=1)
    padded = np.pad(least, steps, mode="edge")
    mean: FloatArray = np.lib.stride_tricks.sliding_window_view(padded, 2 * steps + 1).mean(axis=1)
    return mean
