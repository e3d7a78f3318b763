"""The renderer: a scene, a camera and a light in, pictures out; one frame, or one frame of each of several
environments side by side. All pictures of a frame come from one visibility buffer, so they agree to the pixel.
``rgb`` is sRGB, ``depth`` is in metres along the optical axis (not along the ray) and infinite where nothing is
nearer than ``far_m``.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from sidestep.errors import BadInput, UnknownName
from sidestep.render.camera_model import CameraModel, CameraPose, pack_camera
from sidestep.render.light import (
    Lamp,
    Light,
    find_lamps,
    make_light,
    make_noise,
    pack_lamps,
    pack_light,
    root_table,
    tone_table,
    tones_of,
)
from sidestep.render.mesh import Instance, Scene3D
from sidestep.render.packing import PackedInstances, check_instances, pack_materials, pack_models, pack_static
from sidestep.render.raster import frame as stages
from sidestep.render.raster import shade as raster_shade
from sidestep.render.raster.finish import draw_rain, halve_depth, halve_ids, halve_rgb
from sidestep.render.raster.layout import SHELTER_X, SHELTER_Y
from sidestep.render.raster.surface import soften_mirror
from sidestep.render.shading_maps import GroundPlane, ShadowMap, Shelter
from sidestep.render.target import Target, WorkerThreads, World
from sidestep.types.base import FloatArray, IntArray

WANTS = {
    "rgb": raster_shade.WANT_RGB,
    "depth": raster_shade.WANT_DEPTH,
    "semantic": raster_shade.WANT_SEMANTIC,
    "instance": raster_shade.WANT_INSTANCE,
}
ALL = frozenset(WANTS)
BACK_ENDS = ("cpu", "gl", "auto")
RENDERER_VARIABLE = "SIDESTEP_RENDERER"
"""Environment variable that says which back end draws."""
NO_PICTURES = stages.Pictures(*(np.zeros(1, dtype) for dtype in (np.uint8, np.float32, np.uint8, np.int32)))
"""For the pictures that are not asked for."""
NO_MIRROR = np.zeros(2, np.uint32), np.ones(1, np.float32)
BLUR = 1 / 36  # of the height of a picture: how far rough wet ground draws out what it mirrors


@dataclass(frozen=True, eq=False)
class Images:
    """Pictures of one frame; None: not asked for."""

    rgb: IntArray | None = None  # (H, W, 3) uint8, sRGB
    depth: FloatArray | None = None  # (H, W) float32, m along the optical axis; inf: sky
    semantic: IntArray | None = None  # (H, W) uint8: Semantic
    instance: IntArray | None = None  # (H, W) int32; 0: nothing that is counted


class Renderer:
    """Draws one scene again and again. Not for two threads at once: make one renderer each.

    ``threads`` share each frame; the pictures do not depend on them. ``supersample`` 2 takes four samples a pixel for
    ``rgb`` (weighted 1 : 2 : 1 both ways about the centre); the other pictures are of the pixels' centres in either
    case. With ``reuse`` the pictures of a call are overwritten by the next.
    """

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
        if not 1 <= threads <= 64:
            raise BadInput(f"threads must be 1 to 64, got {threads}")
        self.scene, self.camera, self.threads, self.supersample = scene, camera, threads, supersample
        self._shadows, self._reuse = shadows, reuse
        static, self._normals = pack_static(scene)
        self._world = World(static, pack_models(scene.models), pack_materials(scene.materials))
        self._noise = make_noise()
        self._found_lamps = find_lamps(scene)
        small = camera.width * camera.height <= 256 * 256
        self._shadow = ShadowMap(static, shadow_size or (512 if small else 1024))
        self._shelter = Shelter(scene, scene.models)
        self._team = WorkerThreads(threads)
        self._main = Target(
            camera.width * supersample, camera.height * supersample, self._world, self._shadow, self._team
        )
        self._mirrored: Target | None = None
        self._ground: GroundPlane | None = None
        self._reused: dict[str, NDArray[Any]] = {}
        self.set_light(light or make_light(indoor=scene.indoor))

    def set_light(self, light: Light) -> None:
        """Change weather or time of day from the next frame on."""
        self.light = light
        self._tones, self._roots = tone_table(light), root_table()
        direction = light.direction
        self._lit = np.empty((len(self._normals), 2), np.float32)
        self._lit[:, 0] = self._normals @ direction
        self._lit[:, 1] = 0.5 + 0.5 * self._normals[:, 2]
        self._shadow.aim(direction)

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
        asked = _bits(want)
        packed = instances if isinstance(instances, PackedInstances) else PackedInstances.of(instances)
        arrays = check_instances(packed, self.scene.models)
        plane, mirror_width = self._mirror_height(pose, asked), 0
        lights = self._light_up(pose, arrays, lamps, plane or 0.0)
        if plane is not None:
            lights, mirror_width = self._draw_mirror(pose, plane, arrays, lights)
        camera = pack_camera(self.camera, pose, self.supersample)
        pictures = self._make_pictures(asked, self.supersample)
        self._main.draw(camera, asked, self._shadows, mirror_width, arrays, lights, _flat(pictures))
        if self.supersample == 2:
            pictures = self._halve(pictures, asked)
        if self.light.rain > 0.0 and asked & WANTS["rgb"]:
            colour = tones_of(self._tones, self.light.fog_rgb, 1.25)
            draw_rain(pictures["rgb"], float(time_s), float(self.light.rain), colour, self.camera.fy)
        return Images(**{name: pictures[name] for name, bit in WANTS.items() if asked & bit})

    def _mirror_height(self, pose: CameraPose, asked: int) -> float | None:
        """Height of the plane that wet ground mirrors in; None: nothing is mirrored."""
        if self.light.wetness <= 0.0 or not asked & WANTS["rgb"] or self.scene.indoor:
            return None
        if self._ground is None:
            self._ground = GroundPlane(self.scene)
        plane = self._ground.at(pose)
        return plane if pose.z > plane else None

    def _light_up(
        self, pose: CameraPose, arrays: stages.InstanceArrays, lamps: Sequence[Lamp], mirror_z: float
    ) -> stages.LightArrays:
        """All that lights a frame."""
        shining = pack_lamps(self._found_lamps, lamps, pose, self.light)
        light = pack_light(self.light, len(shining), self._shadows, mirror_z)
        maps, view, planes = self._shadow.at(pose, self._shadows)
        shelter, light[SHELTER_X], light[SHELTER_Y] = self._shelter.at(pose, arrays)
        return stages.LightArrays(
            light, shining, self._noise, self._tones, self._lit, view, planes, *maps, shelter, *NO_MIRROR
        )

    def _draw_mirror(
        self, pose: CameraPose, plane: float, arrays: stages.InstanceArrays, lights: stages.LightArrays
    ) -> tuple[stages.LightArrays, int]:
        """Light with the world as mirrored in the ground, at half the size; and the width of that picture."""
        width, height = (-(-side * self.supersample // 2) for side in (self.camera.width, self.camera.height))
        size = width * height
        if self._mirrored is None:
            self._mirrored = Target(width, height, self._world, self._shadow, self._team)
            self._mirror_picture = np.zeros(3 * size, np.uint8), np.zeros(size, np.float32)
            self._mirror_scratch = tuple(np.zeros(count, np.int32) for count in (3 * size, 3 * size, 3 * width))
            self._mirror = np.zeros(2 * size, np.uint32)
        camera = pack_camera(self.camera, pose, self.supersample, mirrored=True, mirror_z=plane)
        rgb, depth = self._mirror_picture
        pictures, asked = NO_PICTURES._replace(rgb=rgb, depth=depth), WANTS["rgb"] | WANTS["depth"]
        unseen = lights._replace(tones=self._roots)
        self._mirrored.draw(camera, asked, self._shadows, 0, arrays, unseen, pictures)
        soften_mirror(rgb, width, height, max(1, round(height * BLUR)), *self._mirror_scratch, self._mirror)
        return lights._replace(mirror=self._mirror, mirror_far=depth), width

    def _make_pictures(self, asked: int, scale: int) -> dict[str, NDArray[Any]]:
        width, height = self.camera.width * scale, self.camera.height * scale
        shapes = {
            "rgb": ((height, width, 3), np.uint8),
            "depth": ((height, width), np.float32),
            "semantic": ((height, width), np.uint8),
            "instance": ((height, width), np.int32),
        }
        pictures: dict[str, NDArray[Any]] = {}
        for name, (shape, dtype) in shapes.items():
            if not asked & WANTS[name]:
                pictures[name] = np.zeros(1, dtype)
            elif self._reuse or scale == 2:
                key = f"{name}{scale}"
                if key not in self._reused:
                    self._reused[key] = np.empty(shape, dtype)
                pictures[name] = self._reused[key]
            else:
                pictures[name] = np.empty(shape, dtype)
        return pictures

    def _halve(self, fine: dict[str, NDArray[Any]], asked: int) -> dict[str, NDArray[Any]]:
        pictures = self._make_pictures(asked, 1)
        if asked & WANTS["rgb"]:
            halve_rgb(fine["rgb"], pictures["rgb"])
        if asked & WANTS["depth"]:
            halve_depth(fine["depth"], pictures["depth"])
        for name in ("semantic", "instance"):
            if asked & WANTS[name]:
                halve_ids(fine[name], pictures[name])
        return pictures


def _bits(want: Iterable[str]) -> int:
    bits = 0
    for name in [want] if isinstance(want, str) else want:
        if name not in WANTS:
            raise UnknownName("picture", name, WANTS)
        bits |= WANTS[name]
    if not bits:
        raise BadInput(f"want: ask for at least one of {', '.join(WANTS)}")
    return bits


def _flat(pictures: dict[str, NDArray[Any]]) -> stages.Pictures:
    return stages.Pictures(*(pictures[name].reshape(-1) for name in ("rgb", "depth", "semantic", "instance")))


class AnyRenderer(Protocol):
    """What the renderers of all back ends have in common."""

    scene: Scene3D
    camera: CameraModel
    light: Light

    def set_light(self, light: Light) -> None:
        """Change weather or time of day from the next frame on."""

    def render(
        self,
        pose: CameraPose,
        instances: Sequence[Instance] | PackedInstances = (),
        want: Iterable[str] = ALL,
        *,
        lamps: Sequence[Lamp] = (),
        time_s: float = 0.0,
    ) -> Images:
        """Pictures from ``pose``."""


def make_renderer(kind: str, scene: Scene3D, camera: CameraModel, **options: Any) -> AnyRenderer:
    """The renderer of a back end: ``cpu``; ``gl``, OpenGL; ``auto``, OpenGL if there is a graphics card, else ``cpu``.
    ``options`` are those of :class:`Renderer`."""
    if kind not in BACK_ENDS:
        raise UnknownName("renderer", kind, BACK_ENDS)
    if kind != "cpu":
        from sidestep.render.gl.context import has_gpu
        from sidestep.render.gl.renderer import GlRenderer

        if kind == "gl" or has_gpu():
            return GlRenderer(scene, camera, **options)
    return Renderer(scene, camera, **options)


def open_renderer(scene: Scene3D, camera: CameraModel, **options: Any) -> AnyRenderer:
    """The renderer that the variable SIDESTEP_RENDERER asks for; without it ``cpu``, whose pictures are the same on
    every machine. A choice of the machine, not of the scenario."""
    return make_renderer(os.environ.get(RENDERER_VARIABLE) or "cpu", scene, camera, **options)


def render_many(
    renderers: Sequence[Renderer],
    poses: Sequence[CameraPose],
    instances: Sequence[Sequence[Instance] | PackedInstances],
    want: Iterable[str] = ALL,
    *,
    threads: int = 2,
    time_s: float = 0.0,
) -> list[Images]:
    """A picture of each environment, each drawn by one thread. For small pictures this is the way to use all cores."""
    return BatchRenderer(renderers, threads=threads).render(poses, instances, want, time_s=time_s)


class BatchRenderer:
    """Several environments, each with its own renderer (of one scene or of several), drawn side by side."""

    def __init__(self, renderers: Sequence[Renderer], *, threads: int = 2) -> None:
        if any(renderer.threads != 1 for renderer in renderers) or len(set(map(id, renderers))) != len(renderers):
            raise BadInput("batch: give every environment a renderer of its own with threads=1")
        self.renderers = list(renderers)
        self._team = WorkerThreads(max(1, min(threads, len(renderers))))

    def render(
        self,
        poses: Sequence[CameraPose],
        instances: Sequence[Sequence[Instance] | PackedInstances],
        want: Iterable[str] = ALL,
        *,
        time_s: float = 0.0,
    ) -> list[Images]:
        """One frame of every environment, in order."""
        if not len(poses) == len(instances) == len(self.renderers):
            raise BadInput(
                f"batch: {len(self.renderers)} renderers, {len(poses)} poses, {len(instances)} sets of people"
            )
        asked = frozenset([want] if isinstance(want, str) else want)
        images: list[Images | None] = [None] * len(poses)

        def draw(k: int) -> None:
            images[k] = self.renderers[k].render(poses[k], instances[k], asked, time_s=time_s)

        run_side_by_side(self._team, draw, range(len(poses)))
        return [one for one in images if one is not None]


def run_side_by_side(team: WorkerThreads, job: Callable[[int], object], numbers: Iterable[int]) -> None:
    """``job(k)`` for every number, each on one of the team's threads."""
    waiting = deque(numbers)

    def work(_: int) -> None:
        while waiting:
            try:
                k = waiting.popleft()
            except IndexError:  # another thread took the last
                return
            job(k)

    team.run(work)
