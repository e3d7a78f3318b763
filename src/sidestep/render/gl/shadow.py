"""The shadow map on the graphics card: what stands still is kept, what moves is drawn onto a copy of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.kernels.raster_frame import InstanceArrays, StaticArrays
from sidestep.render.camera_model import CameraPose
from sidestep.render.gl.plan import Planner
from sidestep.render.gl.programs import UNITS
from sidestep.render.gl.world import GlWorld, InstanceTable
from sidestep.render.shadow import ShadowMap
from sidestep.types.base import FloatArray

MARGIN = 60.0  # m above and below the static scene, along the light, in which things still cast shadows


class GlShadow:
    """Depth along the light on a square of texels that lies where the one of ``sidestep.render.shadow`` does."""

    def __init__(self, context: Any, static: StaticArrays, size: int) -> None:
        self.size, self._context = size, context
        self._place = ShadowMap(static, size)
        corners = np.concatenate([static.boxes[:, :3], static.boxes[:, 3:]]) if len(static.boxes) else np.zeros((1, 3))
        self._box = np.stack([corners.min(axis=0), corners.max(axis=0)]).astype(np.float64)
        self._kept, self._texture = context.depth_texture((size, size)), context.depth_texture((size, size))
        # moderngl copies depth only along with a colour, so both have one of a byte
        self._kept_target = context.framebuffer(context.renderbuffer((size, size), 1), self._kept)
        self._target = context.framebuffer(context.renderbuffer((size, size), 1), self._texture)
        self._texture.compare_func = "<="
        self._texture.repeat_x = self._texture.repeat_y = False
        self._table = InstanceTable(context)
        self._key: tuple[float, ...] = ()

    def aim(self, direction: FloatArray) -> None:
        """Let the light come from ``direction``, a unit vector."""
        self._direction = direction
        self._place.aim(direction)

    def at(self, pose: CameraPose) -> tuple[FloatArray, float]:
        """World → 0 … 1 on the map and along the light, (3, 4); and 1 / m of the latter."""
        *_, view, self._planes = self._place.at(pose, False)
        rows = view.reshape(3, 4).copy()
        rows[:2] /= self.size
        spread = np.abs(self._direction) @ (self._box[1] - self._box[0]) / 2 + MARGIN
        top = self._direction @ self._box.mean(axis=0) + spread
        rows[2, :3] = -self._direction / (2 * spread)
        rows[2, 3] = top / (2 * spread)
        self._wanted = tuple(view)
        return rows, float(1 / (2 * spread))

    def draw(self, world: GlWorld, planner: Planner, instances: InstanceArrays, eye: FloatArray) -> None:
        """For the place last asked for. The block ``Frame`` must be filled."""
        self._context.front_face, self._context.depth_func = "ccw", "<"
        if self._key != self._wanted:
            self._kept_target.use()
            self._kept_target.clear(depth=1.0)
            _cull_on(self._context)
            world.cast_static()
            self._key = self._wanted
        self._context.copy_framebuffer(self._target, self._kept_target)
        crowd = planner.casters(instances, self._planes)
        if crowd.calls:
            self._target.use()
            self._table.fill(instances, crowd.order, eye)
            world.cast_models(crowd, self._table)

    def use(self) -> None:
        """Bind it."""
        self._texture.use(UNITS["shadow"])


def _cull_on(context: Any) -> None:
    import moderngl

    context.enable(moderngl.CULL_FACE)
