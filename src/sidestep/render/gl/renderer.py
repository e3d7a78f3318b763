"""The renderer on a graphics card, with the interface of the one on the processor."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.errors import BadInput, SidestepError
from sidestep.kernels.raster_faces import MIRRORED_FROM
from sidestep.kernels.raster_finish import draw_rain, halve_depth, halve_ids, halve_rgb
from sidestep.kernels.raster_frame import InstanceArrays
from sidestep.kernels.raster_layout import EYE, SHELTER_SIZE
from sidestep.render.camera_model import CameraModel, CameraPose, pack_camera
from sidestep.render.chunks import pack_static
from sidestep.render.gl.context import open_context
from sidestep.render.gl.plan import Planner
from sidestep.render.gl.programs import FRAME_BLOCK, UNITS, Features, Programs
from sidestep.render.gl.shadow import GlShadow
from sidestep.render.gl.target import GlTarget
from sidestep.render.gl.uniforms import ROWS, pack_frame
from sidestep.render.gl.world import GlWorld, InstanceTable
from sidestep.render.ground_plane import GroundPlane
from sidestep.render.lamps import Lamp, find_lamps, pack_lamps
from sidestep.render.light import Light, make_light, tone_table, tones_of
from sidestep.render.mesh import Instance, Scene3D
from sidestep.render.packing import PackedInstances, check_instances, pack_models
from sidestep.render.renderer import ALL, WANTS, Images, _bits
from sidestep.render.shelter import Shelter
from sidestep.types.base import FloatArray

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
