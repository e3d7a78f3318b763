"""The level plane that wet ground mirrors in: the height of most of the ground before the camera."""

from __future__ import annotations

import math

import numpy as np

from sidestep.render.camera_model import CameraPose
from sidestep.render.mesh import Scene3D
from sidestep.render.textures import SOAK
from sidestep.types.base import FloatArray

CELL = 1.0  # m: the plane is chosen for a camera at the nearest of places so far apart,
SECTORS = 16  # looking in the nearest of so many directions, so that it depends on where the camera is, not was
DISTANCES = (2.0, 3.5, 6.0, 10.0)  # m ahead
ANGLES = np.radians((-24.0, 0.0, 24.0))
STEP = 0.04  # m: ground this level counts as one


class GroundPlane:
    """Heights of ground that holds water, asked for below points."""

    def __init__(self, scene: Scene3D) -> None:
        mesh = scene.mesh
        corners = mesh.vertices[mesh.triangles[np.isin(mesh.semantic, list(SOAK))]].astype(float)
        edges = corners[:, 1:, :2] - corners[:, :1, :2]
        area = edges[:, 0, 0] * edges[:, 1, 1] - edges[:, 0, 1] * edges[:, 1, 0]
        level = (area > 1e-6) & (np.ptp(corners[:, :, 2], axis=1) < 0.5)
        self._corner, self._edges, self._area = corners[level, 0], edges[level], area[level]
        self._height = corners[level, :, 2].mean(axis=1)
        self._known: dict[tuple[int, int, int], float] = {}

    def at(self, pose: CameraPose) -> float:
        """Height of the plane for a camera at ``pose``, m."""
        turn = round(pose.yaw / (2 * math.pi) * SECTORS) % SECTORS
        key = (round(pose.x / CELL), round(pose.y / CELL), turn)
        if key not in self._known:
            angles = turn * 2 * math.pi / SECTORS + ANGLES
            ahead = np.array([[d * math.cos(a), d * math.sin(a)] for d in DISTANCES for a in angles])
            heights = self._below(ahead + np.array(key[:2]) * CELL)
            levels, counts = np.unique(np.round(heights[np.isfinite(heights)] / STEP), return_counts=True)
            self._known[key] = float(levels[counts.argmax()] * STEP) if len(levels) else 0.0
        return self._known[key]

    def _below(self, points: FloatArray) -> FloatArray:
        """(N,): the highest ground under each point (N, 2), or -inf."""
        if not len(self._height):
            return np.full(len(points), -np.inf)
        off = points[:, None] - self._corner[None, :, :2]
        u = (off[..., 0] * self._edges[:, 1, 1] - off[..., 1] * self._edges[:, 1, 0]) / self._area
        v = (off[..., 1] * self._edges[:, 0, 0] - off[..., 0] * self._edges[:, 0, 1]) / self._area
        inside = (u >= 0) & (v >= 0) & (u + v <= 1)
        return np.asarray(np.where(inside, self._height, -np.inf).max(axis=1))
