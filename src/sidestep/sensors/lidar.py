"""A planar laser scanner that sees walls, people and other robots."""

from __future__ import annotations

import numpy as np

from sidestep.exact import cos, sin
from sidestep.kernels import layout
from sidestep.kernels.rays import cast_lidar, make_ray_table, make_scratch
from sidestep.types import LidarScan
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.sensors import LidarSettings


class Lidar:
    """Exact ranges to the nearest wall or body. The robot does not see itself."""

    def __init__(self, settings: LidarSettings, segments: FloatArray) -> None:
        self._settings = settings
        self._segments = np.ascontiguousarray(segments, np.float32)
        self._directions = make_ray_table(settings.angle_min, settings.angle_increment, settings.rays)
        self._scratch = np.zeros((0, 0))
        self._columns = -1

    def sense(self, agents: FloatArray, flags: IntArray, pose: tuple[float, float, float], own: int) -> LidarScan:
        """The scan from ``pose``; ``own`` is the robot's column in ``agents``."""
        ahead, left = self._settings.mount
        c, s = cos(pose[2]), sin(pose[2])
        x, y = pose[0] + ahead * c - left * s, pose[1] + ahead * s + left * c
        ranges = np.empty(self._settings.rays, np.float32)
        hits = np.empty(self._settings.rays, np.int32)
        if self._columns != agents.shape[1]:
            self._columns = agents.shape[1]
            self._scratch = make_scratch(len(self._segments), self._columns)
        cast_lidar(
            x, y, pose[2], self._settings.angle_min, self._settings.angle_increment, self._directions,
            self._settings.max_range, self._segments, agents[layout.PX], agents[layout.PY], agents[layout.RADIUS],
            flags[layout.ACTIVE], own, self._scratch, ranges, hits,
        )  # fmt: skip
        return LidarScan(ranges, self._settings.angle_min, self._settings.angle_increment, self._settings.max_range)
