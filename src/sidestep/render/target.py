"""Working memory for pictures of one size, and the rasteriser's steps that fill it."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep._util.threads import WorkerThreads
from sidestep.render.raster import frame as steps
from sidestep.render.raster import layout as L
from sidestep.render.raster.triangles import BONE_COLUMNS
from sidestep.render.shading_maps import ShadowMap
from sidestep.types.base import FloatArray

BAND_BYTES = 262_144  # of the visibility buffer: what stays in a core's own cache
FIRST_POLYGONS = 1024


class Target:
    """The working memory for pictures of one size, and the steps in order."""

    def __init__(
        self, width: int, height: int, scene: L.SceneArrays, shadow: ShadowMap, workers: WorkerThreads
    ) -> None:
        self.width, self.height = width, height
        self._scene, self._shadow, self._workers = scene, shadow, workers
        threads = workers.count
        rows = max(1, BAND_BYTES // (8 * width))
        self._bands = max(-(-height // rows), min(6 * threads, height) if threads > 1 else 1)
        self._room = -1
        bones = scene.models.spheres.shape[1]
        self._threads = [_make_scratch(width, height, bones) for _ in range(threads)]
        self._polygons = FIRST_POLYGONS

    def _make_room(self, instances: int) -> None:
        """Tables for everything that could be seen with so many instances."""
        if instances <= self._room:
            return
        self._room = room = instances + instances // 4
        static, levels = self._scene.static, self._scene.models.levels
        vertices = int(np.diff(levels[:, 0:2], axis=1).max()) if len(levels) else 0
        faces = int(np.diff(levels[:, 2:4], axis=1).max()) if len(levels) else 0
        all_vertices = len(static.vertices) + room * vertices + 1
        all_faces = len(static.triangles) + room * faces + 2
        self._frame = L.FrameArrays(
            counts=np.zeros(L.COUNT_SIZE, np.int64),
            planes=np.empty((6, 4)),
            objects=np.empty((len(static.chunks) + room + 1, L.OBJECT_COLUMNS), np.int32),
            points=np.empty((all_vertices, 3)),
            screen=np.empty((all_vertices, 2), np.int32),
            flags=np.empty(all_vertices, np.uint8),
            lights=np.empty((all_vertices, 2), np.float32),
            ints=np.empty((all_faces, L.INT_COLUMNS), np.int32),
            floats=np.empty((all_faces, L.FLOAT_COLUMNS), np.float32),
            depths=np.empty((all_faces, 3)),
            polygons=np.empty((self._polygons, L.POLYGON_COLUMNS), np.int32),
            casters=np.empty((room + 1, L.OBJECT_COLUMNS), np.int32),
            caster_counts=np.zeros(L.COUNT_SIZE, np.int64),
            caster_texels=np.empty((room * vertices + 1, 3), np.float32),
            caster_boxes=np.empty((room + 1, 4), np.int32),
            old_boxes=self._shadow.touched(room + 1),
            seen=np.empty(self.width * self.height, np.uint64),
        )

    def draw(
        self,
        camera: FloatArray,
        want: int,
        with_shadow: bool,
        instances: L.InstanceArrays,
        lights: L.LightArrays,
        pictures: L.Pictures,
    ) -> None:
        """Draw one frame; again with more room if more triangles were cut than there was room for."""
        view = L.View(camera, self.width, self.height, self._bands, want, with_shadow)
        self._make_room(len(instances.model))
        while True:
            self._frame = self._frame._replace(old_boxes=self._shadow.touched(len(instances.model) + 1))
            needed = self._draw_once(view, instances, lights, pictures)
            if needed <= self._polygons:
                return
            self._polygons = 2 * needed
            self._frame = self._frame._replace(polygons=np.empty((self._polygons, L.POLYGON_COLUMNS), np.int32))

    def _draw_once(self, view: L.View, instances: L.InstanceArrays, lights: L.LightArrays, pictures: L.Pictures) -> int:
        scene, frame, shadow, scratch, run = self._scene, self._frame, self._shadow, self._threads, self._workers.run
        world = (view, scene, instances, lights, frame)
        if len(scratch) == 1:
            needed, shadow.drawn = steps.draw_frame(*world, scratch[0], pictures, shadow.drawn)
            return int(needed)
        steps.plan_frame(*world)
        steps.aim_shadow(view.camera, lights.shadow)
        run(lambda k: steps.prepare_objects(*world, scratch[k]))
        if view.with_shadow:
            run(lambda k: steps.cast_shadows(shadow.drawn, scene.models, lights.shadow, frame))
            shadow.drawn = steps.remember_boxes(frame)
        run(lambda k: steps.draw_bands(view, scene.surfaces, lights, frame, scratch[k], pictures))
        return int(frame.counts[L.POLYGONS])


def _make_scratch(width: int, height: int, bones: int) -> L.ThreadArrays:
    def row(dtype: type = np.float32) -> L.Array:
        return np.zeros(width, dtype)

    rows: dict[str, Any] = {name: row() for name in ("far", "sun", "sky", "shaded_sun", "through")}
    for name in ("surface", "out", "lamp", "spare", "normal"):
        rows[name] = L.Rgb(row(), row(), row())
    return L.ThreadArrays(
        bones=np.empty((bones, BONE_COLUMNS)),
        cross=np.empty(9),
        corners=np.empty((2, 16, 3)),
        left=np.empty(height, np.int64),
        right=np.empty(height, np.int64),
        packed=row(np.int32),
        owner=row(np.int32),
        special=row(np.int32),
        runs=np.empty((width, 2), np.int32),
        **rows,
    )
