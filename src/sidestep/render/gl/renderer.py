"""The renderer on a graphics card, with the interface of the one on the processor: its frame buffers, the block of
numbers that every shader reads (``Frame`` in ``shaders/frame.glsl``), its shadow map, and the passes of a frame.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.errors import BadInput, SidestepError
from sidestep.render.camera_model import CameraModel, CameraPose, pack_camera
from sidestep.render.gl.context import FRAME_BLOCK, UNITS, Features, Programs, open_context
from sidestep.render.gl.plan import Planner
from sidestep.render.gl.world import GlWorld, InstanceTable
from sidestep.render.light import Lamp, Light, find_lamps, make_light, pack_lamps, tone_table, tones_of
from sidestep.render.mesh import Instance, Scene3D
from sidestep.render.packing import PackedInstances, check_instances, pack_models, pack_static
from sidestep.render.raster import layout
from sidestep.render.raster.faces import MIRRORED_FROM
from sidestep.render.raster.finish import draw_rain, halve_depth, halve_ids, halve_rgb
from sidestep.render.raster.frame import InstanceArrays, StaticArrays
from sidestep.render.raster.layout import EYE, SHELTER_SIZE
from sidestep.render.renderer import ALL, WANTS, Images, _bits
from sidestep.render.shading_maps import GroundPlane, ShadowMap, Shelter
from sidestep.types.base import FloatArray

FORMATS: dict[str, tuple[int, str]] = {
    "rgb": (4, "f1"),
    "depth": (1, "f4"),
    "semantic": (1, "u1"),
    "instance": (1, "i4"),
}
"""Picture → channels and type on the card."""


class GlTarget:
    """A frame buffer with the pictures that are asked for, and the depth that decides what is seen."""

    def __init__(self, context: Any, width: int, height: int, pictures: tuple[str, ...]) -> None:
        self.width, self.height, self.pictures = width, height, pictures
        self.textures = {name: context.texture((width, height), *_format(name)) for name in pictures}
        for texture in self.textures.values():
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


def _format(name: str) -> tuple[int, None, int, int, str]:
    channels, kind = FORMATS[name]
    return channels, None, 0, 1, kind


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
    eye = camera[layout.EYE : layout.EYE + 3]
    rows[:3, :3] = camera[layout.TURN : layout.TURN + 9].reshape(3, 3)
    rows[:3, 3] = camera[layout.NEAR], camera[layout.FAR], mirror_z
    rows[3] = *eye, min(len(lamps), MOST_LAMPS)
    rows[4] = camera[[layout.FX, layout.FY, layout.CX, layout.CY]]
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
    rows[place][0::3, :3], rows[place][0::3, 3] = shining[:, :3] - eye, shining[:, layout.LAMP_REACH]
    rows[place][1::3] = shining[:, layout.LAMP_DX : layout.LAMP_COS + 1]
    rows[place][2::3, :3] = shining[:, layout.LAMP_R : layout.LAMP_B + 1]
    return rows.astype(np.float32)


MARGIN = 60.0  # m above and below the static scene, along the light, in which things still cast shadows


class GlShadow:
    """Depth along the light on a square of texels that lies where the one of ``sidestep.render.shading_maps`` does."""

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


DTYPES: dict[str, type] = {"rgb": np.uint8, "depth": np.float32, "semantic": np.uint8, "instance": np.int32}


class GlRenderer:
    """Draws one scene again and again, in the thread that made it. ``threads`` is the driver's business and ignored;
    the other options are those of ``Renderer``."""

    def __init__(
        self,
        scene: Scene3D,
        camera: CameraModel,
        *,
        light: Light | None = None,
        threads: int = 1,
        shadows: bool = True,
        supersample: int = 1,
        shadow_size: int | None = None,
        reuse: bool = False,
    ) -> None:
        if supersample not in (1, 2):
            raise BadInput(f"supersample must be 1 or 2, got {supersample}")
        self.scene, self.camera, self.threads, self.supersample = scene, camera, threads, supersample
        self._shadows, self._reuse, self._thread = shadows, reuse, threading.get_ident()
        static, normals = pack_static(scene)
        models = pack_models(scene.models)
        self._context = open_context()
        with self._context as context:
            context.gc()
            if context.extra is None:
                context.extra = Programs(context)
            self._world = GlWorld(context, context.extra, scene, static, normals, models)
            small = camera.width * camera.height <= 256 * 256
            self._shadow = GlShadow(context, static, shadow_size or (512 if small else 1024))
            self._block = context.buffer(reserve=16 * ROWS, dynamic=True)
            self._table = InstanceTable(context)
            self._shelter_map = context.texture((SHELTER_SIZE, SHELTER_SIZE), 4)
        self._planner = Planner(static, models)
        self._shelter, self._shelter_place = Shelter(scene, scene.models), (0.0, 0.0)
        self._found_lamps = find_lamps(scene)
        self._targets: dict[tuple[str, ...], GlTarget] = {}
        self._mirrored: GlTarget | None = None
        self._ground: GroundPlane | None = None
        self._kept: dict[str, NDArray[Any]] = {}
        self.set_light(light or make_light(indoor=scene.indoor))

    def set_light(self, light: Light) -> None:
        """Change weather or time of day from the next frame on."""
        self.light = light
        self._tones = tone_table(light)
        self._shadow.aim(light.direction)

    def render(
        self,
        pose: CameraPose,
        instances: Sequence[Instance] | PackedInstances = (),
        want: Iterable[str] = ALL,
        *,
        lamps: Sequence[Lamp] = (),
        time_s: float = 0.0,
    ) -> Images:
        """Pictures from ``pose``. ``lamps`` shine besides the scene's own (head lamps); ``time_s`` moves the rain."""
        if threading.get_ident() != self._thread:
            raise SidestepError("an OpenGL renderer draws only in the thread that made it; make one in each thread")
        asked = _bits(want)
        pictures = tuple(name for name, bit in WANTS.items() if asked & bit)
        packed = instances if isinstance(instances, PackedInstances) else PackedInstances.of(instances)
        arrays = check_instances(packed, self.scene.models)
        with self._context:
            read = self._draw(pose, arrays, pictures, lamps)
        if "rgb" in read and self.light.rain > 0.0:
            colour = tones_of(self._tones, self.light.fog_rgb, 1.25)
            draw_rain(read["rgb"], float(time_s), float(self.light.rain), colour, self.camera.fy)
        return Images(**read)

    def _draw(
        self, pose: CameraPose, arrays: InstanceArrays, pictures: tuple[str, ...], lamps: Sequence[Lamp]
    ) -> dict[str, NDArray[Any]]:
        shining = pack_lamps(self._found_lamps, lamps, pose, self.light)
        target = self._target(pictures)
        camera = pack_camera(self.camera, pose, self.supersample)
        features = self._features(len(shining)) if "rgb" in pictures else ()
        if "rgb" in pictures:
            shelter, *place = self._shelter.at(pose, arrays)
            self._shelter_place = (place[0], place[1])
            self._shelter_map.write(shelter)
            self._shelter_map.use(UNITS["shelter"])
        plane = self._mirror_height(pose) if "WET" in features else None
        self._fill_block(camera, target, pose, shining, plane)
        if "SHADOWS" in features:
            self._shadow.draw(self._world, self._planner, arrays, camera[EYE : EYE + 3])
            self._shadow.use()
        if plane is not None:
            self._draw_mirror(pose, plane, arrays, shining, tuple(one for one in features if one != "WET"))
            self._fill_block(camera, target, pose, shining, plane)
            features = ("MIRROR", *features)
        self._draw_scene(camera, target, arrays, features)
        return self._read(target)

    def _mirror_height(self, pose: CameraPose) -> float | None:
        """Height of the plane that wet ground mirrors in; None: nothing is mirrored."""
        if self.scene.indoor:
            return None
        if self._ground is None:
            self._ground = GroundPlane(self.scene)
        plane = self._ground.at(pose)
        return plane if pose.z > plane else None

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

    def _target(self, pictures: tuple[str, ...]) -> GlTarget:
        if pictures not in self._targets:
            width, height = self.camera.width * self.supersample, self.camera.height * self.supersample
            self._targets[pictures] = GlTarget(self._context, width, height, pictures)
        return self._targets[pictures]

    def _fill_block(
        self, camera: FloatArray, target: GlTarget, pose: CameraPose, lamps: FloatArray, plane: float | None
    ) -> None:
        rows, per_metre = self._shadow.at(pose)
        size = (target.width, target.height)
        shadow = (self._shadow.size, per_metre)
        self._block.write(pack_frame(camera, size, rows, shadow, self.light, lamps, plane or 0.0, self._shelter_place))
        self._block.bind_to_uniform_block(FRAME_BLOCK)

    def _draw_scene(
        self,
        camera: FloatArray,
        target: GlTarget,
        arrays: InstanceArrays,
        features: Features,
        plane: float | None = None,
    ) -> None:
        """People first: they stand before other things more often than not. With a ``plane``, ``camera`` sees the world
        mirrored in it."""
        self._planner.aim(camera, target.width, target.height)
        crowd = self._planner.instances(arrays)
        target.begin()
        self._context.front_face, self._context.depth_func = "cw" if plane is None else "ccw", "<="
        lowest = None if plane is None else plane + MIRRORED_FROM
        if crowd.calls:
            self._table.fill(arrays, crowd.order, camera[EYE : EYE + 3])
            self._world.draw_models(crowd, self._table, features, target.pictures)
        self._world.draw_static(self._planner.chunks(), features, target.pictures, lowest)
        self._world.draw_sky(features, target.pictures)

    def _draw_mirror(
        self, pose: CameraPose, plane: float, arrays: InstanceArrays, lamps: FloatArray, features: Features
    ) -> None:
        """The world as mirrored in the ground, at half the size."""
        if self._mirrored is None:
            width, height = (-(-side * self.supersample // 2) for side in (self.camera.width, self.camera.height))
            self._mirrored = GlTarget(self._context, width, height, ("rgb", "depth"))
        camera = pack_camera(self.camera, pose, self.supersample, mirrored=True, mirror_z=plane)
        self._fill_block(camera, self._mirrored, pose, lamps, plane)
        self._draw_scene(camera, self._mirrored, arrays, ("MIRRORED", *features), plane)
        self._mirrored.textures["rgb"].use(UNITS["mirror"])
        self._mirrored.textures["depth"].use(UNITS["mirror_far"])

    def _read(self, target: GlTarget) -> dict[str, NDArray[Any]]:
        read = {}
        for name in target.pictures:
            fine = self._room(name, self.supersample)
            target.read(name, fine)
            if self.supersample == 2:
                coarse = self._room(name, 1)
                halve = {"rgb": halve_rgb, "depth": halve_depth}.get(name, halve_ids)
                halve(fine, coarse)
                fine = coarse
            read[name] = fine
        return read

    def _room(self, name: str, scale: int) -> NDArray[Any]:
        shape = (self.camera.height * scale, self.camera.width * scale) + ((3,) if name == "rgb" else ())
        if not self._reuse and scale == 1:
            return np.empty(shape, DTYPES[name])
        key = f"{name}{scale}"
        if key not in self._kept:
            self._kept[key] = np.empty(shape, DTYPES[name])
        return self._kept[key]
