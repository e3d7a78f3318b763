"""The renderer: a scene, a camera and a light in, pictures out.

All pictures of a frame come from one visibility buffer, so they agree to the pixel. ``rgb`` is sRGB, ``depth`` is in
metres along the optical axis (not along the ray) and infinite where nothing is nearer than ``far_m``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from sidestep.errors import BadInput, SidestepError, UnknownName
from sidestep.kernels import raster_frame as stages
from sidestep.kernels import raster_shade
from sidestep.kernels.raster_finish import draw_rain, halve_depth, halve_ids, halve_rgb
from sidestep.kernels.raster_layout import (
    COUNT_SIZE,
    FLOAT_COLUMNS,
    INT_COLUMNS,
    OBJECT_COLUMNS,
    POLYGON_COLUMNS,
    POLYGONS,
)
from sidestep.kernels.raster_vertices import BONE_COLUMNS
from sidestep.render.camera_model import CameraModel, CameraPose, pack_camera
from sidestep.render.chunks import pack_static
from sidestep.render.lamps import Lamp, find_lamps, pack_lamps
from sidestep.render.light import Light, make_light, make_noise, pack_light, root_table, tone_table
from sidestep.render.mesh import Instance, Scene3D
from sidestep.render.packing import PackedInstances, check_instances, pack_models
from sidestep.render.shadow import ShadowMap
from sidestep.render.team import Team
from sidestep.render.textures import pack_materials
from sidestep.types.base import FloatArray, IntArray

WANTS = {
    "rgb": raster_shade.WANT_RGB,
    "depth": raster_shade.WANT_DEPTH,
    "semantic": raster_shade.WANT_SEMANTIC,
    "instance": raster_shade.WANT_INSTANCE,
}
ALL = frozenset(WANTS)
BAND_BYTES = 262_144  # of the visibility buffer: what stays in a core's own cache
FIRST_POLYGONS = 1024


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
        self._static, self._normals = pack_static(scene)
        self._models = pack_models(scene.models)
        self._surfaces = pack_materials(scene.materials)
        self._noise = make_noise()
        self._found_lamps = find_lamps(scene)
        small = camera.width * camera.height <= 256 * 256
        self._shadow = ShadowMap(self._static, shadow_size or (512 if small else 1024))
        self._team = Team(threads)
        self._main = _Target(camera.width * supersample, camera.height * supersample, self, threads)
        self._mirrored: _Target | None = None
        self._reused: dict[str, IntArray] = {}
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
        shining = pack_lamps(self._found_lamps, lamps, pose, self.light)
        static_shadow, shadow, view, planes = self._shadow.at(pose, self._shadows)
        noise, light = self._noise, pack_light(self.light, len(shining), self._shadows)
        camera = pack_camera(self.camera, pose, self.supersample)
        mirror, mirror_width = np.zeros(3, np.uint8), 0
        rest = (shining, noise)
        ends = (self._lit, view, planes, static_shadow, shadow)
        if self.light.wetness > 0.0 and asked & WANTS["rgb"] and pose.z > 0.0 and not self.scene.indoor:
            mirror, mirror_width = self._draw_mirror(pose, arrays, light, rest, ends)
        lights = stages.LightArrays(light, *rest, self._tones, *ends, mirror)
        pictures = self._make_pictures(asked, self.supersample)
        flat = _flat(pictures)
        self._main.draw(camera, asked, self._shadows, mirror_width, arrays, lights, flat)
        if self.supersample == 2:
            pictures = self._halve(pictures, asked)
        if self.light.rain > 0.0 and asked & WANTS["rgb"]:
            colour = np.array(
                self._tones[
                    np.minimum(np.array(self.light.fog_rgb) * 1.25 / 4 * len(self._tones), len(self._tones) - 1).astype(
                        int
                    )
                ],
                np.float32,
            )
            draw_rain(pictures["rgb"], float(time_s), float(self.light.rain), colour, self.camera.fy)
        return Images(**{name: pictures[name] for name, bit in WANTS.items() if asked & bit})

    def _draw_mirror(self, pose, arrays, light, rest, ends):  # type: ignore[no-untyped-def]
        """The world as mirrored in the ground, at half the size."""
        width, height = (
            (self.camera.width * self.supersample + 1) // 2,
            (self.camera.height * self.supersample + 1) // 2,
        )
        if self._mirrored is None:
            self._mirrored = _Target(width, height, self, self.threads)
            self._mirror_picture = np.zeros(width * height * 3, np.uint8)
        lights = stages.LightArrays(light, *rest, self._roots, *ends, np.zeros(3, np.uint8))
        empty = stages.Pictures(self._mirror_picture, *(np.zeros(1, t) for t in (np.float32, np.uint8, np.int32)))
        camera = pack_camera(self.camera, pose, self.supersample, mirrored=True)
        self._mirrored.draw(camera, WANTS["rgb"], self._shadows, 0, arrays, lights, empty)
        return self._mirror_picture, width

    def _make_pictures(self, asked: int, scale: int) -> dict[str, IntArray]:
        width, height = self.camera.width * scale, self.camera.height * scale
        shapes = {
            "rgb": ((height, width, 3), np.uint8),
            "depth": ((height, width), np.float32),
            "semantic": ((height, width), np.uint8),
            "instance": ((height, width), np.int32),
        }
        pictures: dict[str, IntArray] = {}
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

    def _halve(self, fine: dict[str, IntArray], asked: int) -> dict[str, IntArray]:
        pictures = self._make_pictures(asked, 1)
        if asked & WANTS["rgb"]:
            halve_rgb(fine["rgb"], pictures["rgb"])
        if asked & WANTS["depth"]:
            halve_depth(fine["depth"], pictures["depth"])
        for name in ("semantic", "instance"):
            if asked & WANTS[name]:
                halve_ids(fine[name], pictures[name])
        return pictures


class _Target:
    """The working memory for pictures of one size, and the stages in order."""

    def __init__(self, width: int, height: int, owner: Renderer, threads: int) -> None:
        self.width, self.height = width, height
        self._static, self._models, self._surfaces = owner._static, owner._models, owner._surfaces
        self._team, self._shadow = owner._team, owner._shadow
        rows = max(1, BAND_BYTES // (8 * width))
        self._bands = max(-(-height // rows), min(4 * threads, height) if threads > 1 else 1)
        self._room = -1
        bones = max([model.bone_count for model in owner.scene.models], default=1)
        self._threads = [
            stages.ThreadArrays(
                np.empty((bones, BONE_COLUMNS)),
                np.empty(9),
                np.empty((2, 16, 3)),
                np.empty(height, np.int64),
                np.empty(height, np.int64),
                *(np.zeros(width, np.float32) for _ in range(10)),
                np.empty(width, np.int32),
                np.empty((width, 3), np.int32),
            )
            for _ in range(threads)
        ]
        self._polygons = FIRST_POLYGONS
        self._rays, self._eye = np.empty(9, np.float32), np.empty(3, np.float32)

    def _make_room(self, instances: int) -> None:
        """Tables for everything that could be seen with so many instances."""
        if instances <= self._room:
            return
        self._room = instances + instances // 4
        levels = self._models.levels
        vertices = int(np.diff(levels[:, 0:2], axis=1).max()) if len(levels) else 0
        faces = int(np.diff(levels[:, 2:4], axis=1).max()) if len(levels) else 0
        all_vertices = len(self._static.vertices) + self._room * vertices + 1
        all_faces = len(self._static.triangles) + self._room * faces + 2
        self._frame = stages.FrameArrays(
            np.zeros(COUNT_SIZE, np.int64),
            np.empty((6, 4)),
            np.empty((len(self._static.chunks) + self._room + 1, OBJECT_COLUMNS), np.int32),
            np.empty((all_vertices, 3)),
            np.empty((all_vertices, 2), np.int32),
            np.empty(all_vertices, np.uint8),
            np.empty((all_vertices, 2), np.float32),
            np.empty((all_faces, INT_COLUMNS), np.int32),
            np.empty((all_faces, FLOAT_COLUMNS), np.float32),
            np.empty((all_faces, 3)),
            np.empty((self._polygons, POLYGON_COLUMNS), np.int32),
            np.empty((self._room + 1, OBJECT_COLUMNS), np.int32),
            np.zeros(COUNT_SIZE, np.int64),
            np.empty((self._room * vertices + 1, 3), np.float32),
            np.empty((self._room + 1, 4), np.int32),
            self._shadow.touched(self._room + 1),
            np.empty(self.width * self.height, np.uint64),
        )

    def draw(
        self,
        camera: FloatArray,
        asked: int,
        with_shadow: bool,
        mirror_width: int,
        instances: stages.InstanceArrays,
        lights: stages.LightArrays,
        pictures: stages.Pictures,
    ) -> None:
        """Draw one frame; again with more room if more triangles were cut than there was room for."""
        self._make_room(len(instances.model))
        while True:
            self._frame = self._frame._replace(old_boxes=self._shadow.touched(len(instances.model) + 1))
            needed = self._draw_once(camera, asked, with_shadow, mirror_width, instances, lights, pictures)
            if needed <= self._polygons:
                return
            self._polygons = 2 * needed
            self._frame = self._frame._replace(polygons=np.empty((self._polygons, POLYGON_COLUMNS), np.int32))

    def _draw_once(
        self,
        camera: FloatArray,
        asked: int,
        with_shadow: bool,
        mirror_width: int,
        instances: stages.InstanceArrays,
        lights: stages.LightArrays,
        pictures: stages.Pictures,
    ) -> int:
        size, frame, shadow = self._shadow.size, self._frame, self._shadow
        view = (camera, self.width, self.height)
        world = (self._static, self._models, self._surfaces, instances, lights, frame)
        aim = (self._rays, self._eye, size, mirror_width)
        if len(self._threads) == 1:
            needed, shadow.drawn = stages.draw_frame(
                *view, self._bands, asked, with_shadow, shadow.drawn, *aim, *world, self._threads[0], pictures
            )
            return int(needed)
        stages.plan_frame(*view, with_shadow, self._static, self._models, instances, lights, frame)
        stages.aim_shadow(camera, lights.shadow_view, self._rays, self._eye)
        self._team.run(lambda k: stages.prepare_objects(*view, size, *world, self._threads[k]))
        if with_shadow:
            self._team.run(lambda k: stages.cast_shadows(shadow.drawn, size, self._models, lights, frame))
            shadow.drawn = stages.keep_boxes(frame)
        self._team.run(
            lambda k: stages.draw_bands(
                *view, self._bands, asked, *aim, self._surfaces, lights, frame, self._threads[k], pictures
            )
        )
        return int(frame.counts[POLYGONS])


def _bits(want: Iterable[str]) -> int:
    bits = 0
    for name in [want] if isinstance(want, str) else want:
        if name not in WANTS:
            raise UnknownName("picture", name, WANTS)
        bits |= WANTS[name]
    if not bits:
        raise BadInput(f"want: ask for at least one of {', '.join(WANTS)}")
    return bits


def _flat(pictures: dict[str, IntArray]) -> stages.Pictures:
    return stages.Pictures(*(pictures[name].reshape(-1) for name in ("rgb", "depth", "semantic", "instance")))


def make_renderer(kind: str, scene: Scene3D, camera: CameraModel, **options: object) -> Renderer:
    """The renderer of a back end: ``cpu`` is ours; ``gl`` is a place kept for one on a graphics card."""
    if kind == "cpu":
        return Renderer(scene, camera, **options)  # type: ignore[arg-type]
    if kind == "gl":
        raise SidestepError("the OpenGL back end is not available in this version; use --renderer cpu")
    raise UnknownName("renderer", kind, ("cpu", "gl"))


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
        self._team = Team(max(1, min(threads, len(renderers))))

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
        waiting = deque(range(len(poses)))

        def draw(_: int) -> None:
            while waiting:
                try:
                    k = waiting.popleft()
                except IndexError:  # another thread took the last
                    return
                images[k] = self.renderers[k].render(poses[k], instances[k], asked, time_s=time_s)

        self._team.run(draw)
        return [one for one in images if one is not None]
