"""Where the shadow map lies, and the parts of it that do not change."""

from __future__ import annotations

import numpy as np

from sidestep.kernels.raster_frame import StaticArrays
from sidestep.kernels.raster_shadow import draw_static_shadow
from sidestep.render.camera_model import CameraPose
from sidestep.types.base import FloatArray, IntArray

HALF_SIDE = 32.0  # m about the camera that have shadows
STEP = 8.0  # m: the map moves with the camera in steps, and what stands still is drawn anew only then


class ShadowMap:
    """Heights along the light on a square of texels about the camera's place, rounded to ``STEP``: so a picture depends
    on where the camera is, not on where it was."""

    def __init__(self, static: StaticArrays, size: int) -> None:
        self._static, self.size = static, size
        self._maps: tuple[FloatArray, FloatArray] | None = None
        self._key: tuple[float, ...] = ()
        self._touched = np.zeros((1, 4), np.int32)
        self._direction = np.array([0.0, 0.0, 1.0])
        self.drawn = 0
        """Boxes of ``touched`` that hold shadows of the last frame."""

    def aim(self, direction: FloatArray) -> None:
        """Let the light come from ``direction``, a unit vector."""
        self._direction = direction

    def touched(self, count: int) -> IntArray:
        """Room for at least ``count`` boxes; kept from frame to frame."""
        if len(self._touched) < count:
            grown = np.zeros((2 * count, 4), np.int32)
            grown[: len(self._touched)] = self._touched
            self._touched = grown
        return self._touched

    def at(self, pose: CameraPose, wanted: bool) -> tuple[tuple[FloatArray, FloatArray], FloatArray, FloatArray]:
        """For a camera at ``pose``: the static map and the map to draw into, world → texels (12,), and the four planes
        (4, 4) of the world that bound the map."""
        centre = np.array([round(pose.x / STEP) * STEP, round(pose.y / STEP) * STEP, 0.0])
        key = (*centre, *self._direction)
        if self._maps is None:
            length = self.size**2 if wanted else 1
            self._maps = np.empty(length, np.float32), np.empty(length, np.float32)
        if key != self._key:
            self._key = key
            self._view, self._planes = self._look_from(centre)
            if wanted:
                static, moving = self._maps
                draw_static_shadow(
                    self._view, self._static.chunks, self._static.triangles, self._static.vertices, self.size, static
                )
                moving[:] = static
                self.drawn = 0
        return self._maps, self._view, self._planes

    def _look_from(self, centre: FloatArray) -> tuple[FloatArray, FloatArray]:
        toward = self._direction
        side = np.cross([0.0, 0.0, 1.0], toward) if abs(toward[2]) < 0.999 else np.array([0.0, 1.0, 0.0])
        side /= np.linalg.norm(side)
        up = np.cross(toward, side)
        per_metre = self.size / (2 * HALF_SIDE)
        view = np.zeros((3, 4))
        view[0, :3], view[1, :3], view[2, :3] = side * per_metre, up * per_metre, toward
        view[:2, 3] = self.size / 2 - view[:2, :3] @ centre
        planes = np.zeros((4, 4))
        for k in range(2):
            planes[2 * k] = view[k]
            planes[2 * k + 1] = -view[k]
            planes[2 * k + 1, 3] += self.size
        planes /= per_metre
        return view.ravel(), planes
