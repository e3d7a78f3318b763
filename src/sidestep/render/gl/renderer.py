"""The renderer on a graphics card, with the interface of the one on the processor: its frame buffers, the block of
numbers that every shader reads (``Frame`` in ``shaders/frame.glsl``), its shadow map, and the passes of a frame.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.errors import SidestepError
from sidestep.render.camera_model import CameraPose, pack_camera
from sidestep.render.gl.context import FRAME_BLOCK, UNITS, Features, Programs, open_context
from sidestep.render.gl.world import GlScene, InstanceTable, Planner, cull_faces
from sidestep.render.light import Light
from sidestep.render.raster import layout as L
from sidestep.render.raster.faces import MIRRORED_FROM
from sidestep.render.renderer import AnyRenderer
from sidestep.render.shading_maps import ShadowMap
from sidestep.types.base import FloatArray

FORMATS = {"rgb": (4, "f1"), "depth": (1, "f4"), "semantic": (1, "u1"), "instance": (1, "i4")}
"""Picture → channels and type on the card."""


class GlTarget:
    """A frame buffer with the pictures that are asked for, and the depth that decides what is seen."""

    def __init__(self, context: Any, width: int, height: int, pictures: tuple[str, ...]) -> None:
        self.width, self.height, self.pictures = width, height, pictures
        self.textures = {}
        for name in pictures:
            channels, kind = FORMATS[name]
            texture = self.textures[name] = context.texture((width, height), channels, alignment=1, dtype=kind)
            texture.repeat_x = texture.repeat_y = False
        depth = context.depth_renderbuffer((width, height))
        self._buffer = context.framebuffer([self.textures[name] for name in pictures], depth)

    def begin(self) -> None:
        """Draw into it from now on. Whatever clearing makes of the pictures, the sky covers."""
        self._buffer.use()
        self._buffer.clear(depth=1.0)

    def read(self, name: str, out: NDArray[Any]) -> None:
        """Copy a picture into ``out``, of the shape and type that :class:`Images` says."""
        if name == "rgb":
            self._buffer.read_into(out, components=3, attachment=self.pictures.index(name), alignment=1)
        else:
            self.textures[name].read_into(out, alignment=1)


MOST_LAMPS = 64
LAMP_ROWS = 18
ROWS = LAMP_ROWS + 3 * MOST_LAMPS
LOWER = 0.03  # m: what faces the sun is drawn lower on the shadow map


def pack_frame(
    camera: FloatArray, size: tuple[int, int], shadow_map: FloatArray, shadow: tuple[int, float], light: Light,
    lamps: FloatArray, mirror_z: float, shelter: tuple[float, float],
) -> FloatArray:  # fmt: skip
    """(ROWS, 4) float32. ``camera`` is of ``pack_camera``; ``shadow_map`` (3, 4) takes the world to 0 … 1 on the shadow
    map and along the sun; ``shadow`` holds its texels and 1 / m of the latter; ``mirror_z`` is the plane that
    wet ground mirrors in, m; ``shelter`` is where the map of shelter begins."""
    rows = np.zeros((ROWS, 4))
    eye = camera[L.EYE : L.EYE + 3]
    rows[:3, :3] = camera[L.TURN : L.TURN + 9].reshape(3, 3)
    rows[:3, 3] = camera[L.NEAR], camera[L.FAR], mirror_z
    rows[3] = *eye, min(len(lamps), MOST_LAMPS)
    rows[4] = camera[[L.FX, L.FY, L.CX, L.CY]]
    rows[5] = *size, *(np.array(shelter) - eye[:2])
    rows[6:9, :3], rows[6:9, 3] = shadow_map[:, :3], shadow_map[:, :3] @ eye + shadow_map[:, 3]
    texel = 1 / (shadow[0] * float(np.linalg.norm(shadow_map[0, :3])))
    rows[9] = shadow[0], light.shadow, LOWER * shadow[1], 0.5 * texel * shadow[1]
    rows[10] = *light.direction, light.disc
    rows[11] = *light.sun_rgb, light.glow
    rows[12] = *light.sky_rgb, light.contact
    rows[13] = *light.bounce_rgb, light.wetness
    rows[14] = *light.zenith_rgb, light.cloud_cover
    rows[15, :3] = light.horizon_rgb
    rows[16] = *light.fog_rgb, light.fog_per_m
    rows[17] = *light.cloud_rgb, light.exposure
    shining = lamps[:MOST_LAMPS].astype(np.float64)
    place = slice(LAMP_ROWS, LAMP_ROWS + 3 * len(shining))
    rows[place][0::3, :3], rows[place][0::3, 3] = shining[:, :3] - eye, shining[:, L.LAMP_REACH]
    rows[place][1::3] = shining[:, L.LAMP_DX : L.LAMP_COS + 1]
    rows[place][2::3, :3] = shining[:, L.LAMP_R : L.LAMP_B + 1]
    return rows.astype(np.float32)


MARGIN = 60.0  # m above and below the static scene, along the light, in which things still cast shadows


class GlShadow:
    """Depth along the light on a square of texels that lies where the one of ``sidestep.render.shading_maps`` does."""

    def __init__(self, context: Any, static: L.StaticArrays, size: int) -> None:
        self.size, self._context = size, context
        self._reference = ShadowMap(static, size)
        corners = np.concatenate([static.boxes[:, :3], static.boxes[:, 3:]]) if len(static.boxes) else np.zeros((1, 3))
        self._box = np.stack([corners.min(axis=0), corners.max(axis=0)]).astype(np.float64)
        self._static_map, self._texture = context.depth_texture((size, size)), context.depth_texture((size, size))
        # moderngl copies depth only along with a colour, so both have one of a byte
        self._static_target = context.framebuffer(context.renderbuffer((size, size), 1), self._static_map)
        self._target = context.framebuffer(context.renderbuffer((size, size), 1), self._texture)
        self._texture.compare_func = "<="
        self._texture.repeat_x = self._texture.repeat_y = False
        self._table = InstanceTable(context)
        self._key: tuple[float, ...] = ()

    def aim(self, direction: FloatArray) -> None:
        """Let the light come from ``direction``, a unit vector."""
        self._direction = direction
        self._reference.aim(direction)

    def at(self, pose: CameraPose) -> tuple[FloatArray, float]:
        """World → 0 … 1 on the map and along the light, (3, 4); and 1 / m of the latter."""
        arrays = self._reference.at(pose, False)
        self._planes, rows = arrays.planes, arrays.to_texels.reshape(3, 4).copy()
        rows[:2] /= self.size
        spread = np.abs(self._direction) @ (self._box[1] - self._box[0]) / 2 + MARGIN
        top = self._direction @ self._box.mean(axis=0) + spread
        rows[2, :3] = -self._direction / (2 * spread)
        rows[2, 3] = top / (2 * spread)
        self._wanted = tuple(arrays.to_texels)
        return rows, float(1 / (2 * spread))

    def draw(self, scene: GlScene, planner: Planner, instances: L.InstanceArrays, eye: FloatArray) -> None:
        """For the place last asked for. The block ``Frame`` must be filled."""
        self._context.front_face, self._context.depth_func = "ccw", "<"
        if self._key != self._wanted:
            self._static_target.use()
            self._static_target.clear(depth=1.0)
            cull_faces(self._context, True)
            scene.cast_static()
            self._key = self._wanted
        self._context.copy_framebuffer(self._target, self._static_target)
        crowd = planner.casters(instances, self._planes)
        if crowd.calls:
            self._target.use()
            self._table.fill(instances, crowd.order, eye)
            scene.cast_models(crowd, self._table)

    def use(self) -> None:
        """Bind it."""
        self._texture.use(UNITS["shadow"])


class GlRenderer(AnyRenderer):
    """Draws one scene again and again, in the thread that made it. ``threads`` is the driver's business and ignored."""

    def _prepare(self, shadow_size: int) -> None:
        self._thread = threading.get_ident()
        self._context = open_context()
        with self._context as context:
            context.gc()
            if context.extra is None:
                context.extra = Programs(context)
            self._world = GlScene(context, context.extra, self.scene, self._static, self._normals, self._models)
            self._shadow = GlShadow(context, self._static, shadow_size)
            self._block = context.buffer(reserve=16 * ROWS, dynamic=True)
            self._table = InstanceTable(context)
            self._shelter_map = context.texture((L.SHELTER_SIZE, L.SHELTER_SIZE), 4)
        self._planner = Planner(self._static, self._models)
        self._shelter_origin = (0.0, 0.0)
        self._targets: dict[Sequence[str], GlTarget] = {}
        self._mirrored: GlTarget | None = None

    def set_light(self, light: Light) -> None:
        """Change weather or time of day from the next frame on."""
        super().set_light(light)
        self._shadow.aim(light.direction)

    def _draw(
        self, pose: CameraPose, instances: L.InstanceArrays, pictures: Sequence[str], lamps: FloatArray
    ) -> dict[str, NDArray[Any]]:
        if threading.get_ident() != self._thread:
            raise SidestepError("an OpenGL renderer draws only in the thread that made it; make one in each thread")
        with self._context:
            target = self._draw_frame(pose, instances, tuple(pictures), lamps)
            read = {name: self._buffer(name, self.supersample) for name in pictures}
            for name, picture in read.items():
                target.read(name, picture)
        return read

    def _draw_frame(
        self, pose: CameraPose, instances: L.InstanceArrays, pictures: tuple[str, ...], lamps: FloatArray
    ) -> GlTarget:
        if pictures not in self._targets:
            width, height = self.camera.width * self.supersample, self.camera.height * self.supersample
            self._targets[pictures] = GlTarget(self._context, width, height, pictures)
        target = self._targets[pictures]
        camera = pack_camera(self.camera, pose, self.supersample)
        features = self._features(len(lamps)) if "rgb" in pictures else ()
        if "rgb" in pictures:
            shelter, *origin = self._shelter.at(pose, instances)
            self._shelter_origin = (origin[0], origin[1])
            self._shelter_map.write(shelter)
            self._shelter_map.use(UNITS["shelter"])
        plane = self._mirror_height(pose, pictures)
        self._fill_block(camera, target, pose, lamps, plane)
        if "SHADOWS" in features:
            self._shadow.draw(self._world, self._planner, instances, camera[L.EYE : L.EYE + 3])
            self._shadow.use()
        if plane is not None:
            self._draw_mirror(pose, plane, instances, lamps, tuple(one for one in features if one != "WET"))
            self._fill_block(camera, target, pose, lamps, plane)
            features = ("MIRROR", *features)
        self._draw_scene(camera, target, instances, features)
        return target

    def _features(self, lamps: int) -> Features:
        """What the shaders of this light must be able to do; the less, the faster."""
        light = self.light
        shadows = self._shadows and light.shadow > 0.0
        wanted = {
            "SHADOWS": shadows,
            f"TAPS={light.shadow_softness}": shadows,
            "LAMPS": lamps > 0,
            "WET": light.wetness > 0.0,
        }
        return tuple(name for name, needed in wanted.items() if needed)

    def _fill_block(
        self, camera: FloatArray, target: GlTarget, pose: CameraPose, lamps: FloatArray, plane: float | None
    ) -> None:
        rows, per_metre = self._shadow.at(pose)
        size, shadow = (target.width, target.height), (self._shadow.size, per_metre)
        self._block.write(pack_frame(camera, size, rows, shadow, self.light, lamps, plane or 0.0, self._shelter_origin))
        self._block.bind_to_uniform_block(FRAME_BLOCK)

    def _draw_scene(
        self,
        camera: FloatArray,
        target: GlTarget,
        instances: L.InstanceArrays,
        features: Features,
        plane: float | None = None,
    ) -> None:
        """People first: they stand before other things more often than not. With a ``plane``, ``camera`` sees the world
        mirrored in it."""
        self._planner.aim(camera, target.width, target.height)
        crowd = self._planner.instances(instances)
        target.begin()
        self._context.front_face, self._context.depth_func = "cw" if plane is None else "ccw", "<="
        lowest = None if plane is None else plane + MIRRORED_FROM
        if crowd.calls:
            self._table.fill(instances, crowd.order, camera[L.EYE : L.EYE + 3])
            self._world.draw_models(crowd, self._table, features, target.pictures)
        self._world.draw_static(self._planner.chunks(), features, target.pictures, lowest)
        self._world.draw_sky(features, target.pictures)

    def _draw_mirror(
        self, pose: CameraPose, plane: float, instances: L.InstanceArrays, lamps: FloatArray, features: Features
    ) -> None:
        """The world as mirrored in the ground, at half the size."""
        if self._mirrored is None:
            self._mirrored = GlTarget(self._context, *self._mirror_size(), ("rgb", "depth"))
        camera = pack_camera(self.camera, pose, self.supersample, mirrored=True, mirror_z=plane)
        self._fill_block(camera, self._mirrored, pose, lamps, plane)
        self._draw_scene(camera, self._mirrored, instances, ("MIRRORED", *features), plane)
        self._mirrored.textures["rgb"].use(UNITS["mirror"])
        self._mirrored.textures["depth"].use(UNITS["mirror_far"])
