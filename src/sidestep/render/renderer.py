"""The renderer: a scene, a camera and a light in, pictures out; one frame, or one frame of each of several
environments side by side. All pictures of a frame come from one visibility buffer, so they agree to the pixel.
``rgb`` is sRGB, ``depth`` is in metres along the optical axis (not along the ray) and infinite where nothing is
nearer than ``far_m``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep._util.threads import WorkerThreads
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
from sidestep.render.prepare import announce_compiling
from sidestep.render.raster import layout as L
from sidestep.render.raster.finish import draw_rain, halve_rgb
from sidestep.render.raster.surface import soften_mirror
from sidestep.render.shading_maps import GroundPlane, ShadowMap, Shelter
from sidestep.render.target import Target
from sidestep.types.base import FloatArray, IntArray

WANTS = {"rgb": L.WANT_RGB, "depth": L.WANT_DEPTH, "semantic": L.WANT_SEMANTIC, "instance": L.WANT_INSTANCE}
DTYPES: dict[str, type] = {"rgb": np.uint8, "depth": np.float32, "semantic": np.uint8, "instance": np.int32}
ALL = frozenset(WANTS)
NO_PICTURES: dict[str, NDArray[Any]] = {name: np.zeros(1, dtype) for name, dtype in DTYPES.items()}
"""Stand-ins for the pictures that are not asked for."""
NO_MIRROR = L.MirrorArrays(np.zeros(2, np.uint32), np.ones(1, np.float32), 0)
BLUR = 1 / 36  # of the height of a picture: how far rough wet ground draws out what it mirrors


@dataclass(frozen=True, eq=False)
class Images:
    """Pictures of one frame; None: not asked for."""

    rgb: IntArray | None = None  # (H, W, 3) uint8, sRGB
    depth: FloatArray | None = None  # (H, W) float32, m along the optical axis; inf: sky
    semantic: IntArray | None = None  # (H, W) uint8: Semantic
    instance: IntArray | None = None  # (H, W) int32; 0: nothing that is counted


class Renderer:
    """Draws one scene again and again; its pictures are the same bits on every machine. A renderer must not be used by
    two threads at once: make one for each.

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
        announce_compiling(min(threads, 2))
        if not 1 <= threads <= 64:
            raise BadInput(f"threads must be 1 to 64, got {threads}")
        self.scene, self.camera, self.threads, self.supersample = scene, camera, threads, supersample
        self._shadows, self._reuse = shadows, reuse
        self._static, self._normals = pack_static(scene)
        self._models = pack_models(scene.models)
        self._scene_lamps = find_lamps(scene)
        self._shelter = Shelter(scene, scene.models)
        self._ground: GroundPlane | None = None
        self._buffers: dict[tuple[str, int], NDArray[Any]] = {}
        small = camera.width * camera.height <= 256 * 256
        self._scene = L.SceneArrays(self._static, self._models, pack_materials(scene.materials))
        self._noise, self._roots = make_noise(), root_table()
        self._shadow = ShadowMap(self._static, shadow_size or (512 if small else 1024))
        self._workers = WorkerThreads(threads)
        self._main = self._target(camera.width * supersample, camera.height * supersample)
        self._mirrored: Target | None = None
        self.set_light(light or make_light(indoor=scene.indoor))

    def _target(self, width: int, height: int) -> Target:
        return Target(width, height, self._scene, self._shadow, self._workers)

    def set_light(self, light: Light) -> None:
        """Change weather or time of day from the next frame on."""
        self.light = light
        self._tones = tone_table(light)
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
        names = _check_names(want)
        packed = instances if isinstance(instances, PackedInstances) else PackedInstances.of(instances)
        arrays = check_instances(packed, self.scene.models)
        drawn = self._draw(pose, arrays, names, pack_lamps(self._scene_lamps, lamps, pose, self.light))
        if self.supersample == 2:
            drawn = {name: self._halve(name, fine) for name, fine in drawn.items()}
        if self.light.rain > 0.0 and "rgb" in drawn:
            colour = tones_of(self._tones, self.light.fog_rgb, 1.25)
            draw_rain(drawn["rgb"], float(time_s), float(self.light.rain), colour, self.camera.fy)
        return Images(**drawn)

    def _mirror_height(self, pose: CameraPose, pictures: Sequence[str]) -> float | None:
        """Height of the plane that wet ground mirrors in; None: nothing is mirrored."""
        if self.light.wetness <= 0.0 or "rgb" not in pictures or self.scene.indoor:
            return None
        if self._ground is None:
            self._ground = GroundPlane(self.scene)
        plane = self._ground.at(pose)
        return plane if pose.z > plane else None

    def _buffer(self, name: str, scale: int) -> NDArray[Any]:
        """Memory for a picture of ``scale`` times the camera's size."""
        shape = (self.camera.height * scale, self.camera.width * scale) + ((3,) if name == "rgb" else ())
        if not self._reuse and scale == 1:
            return np.empty(shape, DTYPES[name])
        if (name, scale) not in self._buffers:
            self._buffers[name, scale] = np.empty(shape, DTYPES[name])
        return self._buffers[name, scale]

    def _halve(self, name: str, fine: NDArray[Any]) -> NDArray[Any]:
        """Colours are blended; of other pictures the sample on each pixel's centre counts."""
        coarse = self._buffer(name, 1)
        if name == "rgb":
            halve_rgb(fine, coarse)
        else:
            coarse[:] = fine[::2, ::2]
        return coarse

    def _draw(
        self, pose: CameraPose, instances: L.InstanceArrays, pictures: Sequence[str], lamps: FloatArray
    ) -> dict[str, NDArray[Any]]:
        plane = self._mirror_height(pose, pictures)
        light = pack_light(self.light, len(lamps), self._shadows, plane or 0.0)
        shadow = self._shadow.at(pose, self._shadows)
        shelter, light[L.SHELTER_X], light[L.SHELTER_Y] = self._shelter.at(pose, instances)
        lights = L.LightArrays(light, lamps, self._noise, self._tones, self._lit, shelter, shadow, NO_MIRROR)
        if plane is not None:
            lights = self._draw_mirror(pose, plane, instances, lights)
        camera = pack_camera(self.camera, pose, self.supersample)
        drawn = {name: self._buffer(name, self.supersample) for name in pictures}
        want = sum(WANTS[name] for name in pictures)
        self._main.draw(camera, want, self._shadows, instances, lights, _flat(drawn))
        return drawn

    def _draw_mirror(
        self, pose: CameraPose, plane: float, instances: L.InstanceArrays, lights: L.LightArrays
    ) -> L.LightArrays:
        """Light with the world as mirrored in the ground, at half the size."""
        width, height = -(-self.camera.width * self.supersample // 2), -(-self.camera.height * self.supersample // 2)
        size = width * height
        if self._mirrored is None:
            self._mirrored = self._target(width, height)
            rgb, depth = np.zeros(3 * size, np.uint8), np.zeros(size, np.float32)
            self._mirror_pictures: dict[str, NDArray[Any]] = {"rgb": rgb, "depth": depth}
            rows = np.zeros(3 * size, np.int32), np.zeros(3 * size, np.int32)
            self._mirror_scratch = (*rows, np.zeros(3 * width, np.int32))
            self._mirror = np.zeros(2 * size, np.uint32)
        camera = pack_camera(self.camera, pose, self.supersample, mirrored=True, mirror_z=plane)
        want, in_roots = L.WANT_RGB | L.WANT_DEPTH, lights._replace(tones=self._roots)
        self._mirrored.draw(camera, want, self._shadows, instances, in_roots, _flat(self._mirror_pictures))
        radius = max(1, round(height * BLUR))
        soften_mirror(self._mirror_pictures["rgb"], width, height, radius, self._mirror_scratch, self._mirror)
        return lights._replace(mirror=L.MirrorArrays(self._mirror, self._mirror_pictures["depth"], width))


def _check_names(want: Iterable[str]) -> tuple[str, ...]:
    """The pictures that are asked for, in the order of ``WANTS``."""
    names = {want} if isinstance(want, str) else set(want)
    for name in sorted(names - set(WANTS)):
        raise UnknownName("picture", name, WANTS)
    if not names:
        raise BadInput(f"want: ask for at least one of {', '.join(WANTS)}")
    return tuple(name for name in WANTS if name in names)


def _flat(pictures: dict[str, NDArray[Any]]) -> L.Pictures:
    return L.Pictures(**{name: array.reshape(-1) for name, array in (NO_PICTURES | pictures).items()})


class BatchRenderer:
    """Several environments, each with its own renderer (of one scene or of several), drawn side by side."""

    def __init__(self, renderers: Sequence[Renderer], *, threads: int = 2) -> None:
        if any(renderer.threads != 1 for renderer in renderers) or len(set(map(id, renderers))) != len(renderers):
            raise BadInput("batch: give every environment a renderer of its own with threads=1")
        self.renderers = list(renderers)
        self._workers = WorkerThreads(max(1, min(threads, len(renderers))))

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
        wanted = frozenset([want] if isinstance(want, str) else want)
        images: list[Images | None] = [None] * len(poses)

        def draw(k: int) -> None:
            images[k] = self.renderers[k].render(poses[k], instances[k], wanted, time_s=time_s)

        self._workers.run_side_by_side(draw, range(len(poses)))
        return [one for one in images if one is not None]
