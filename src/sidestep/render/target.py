"""Working memory for pictures of one size, and the stages that fill it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidestep.kernels import raster_frame as stages
from sidestep.kernels.raster_layout import (
    COUNT_SIZE,
    FLOAT_COLUMNS,
    INT_COLUMNS,
    OBJECT_COLUMNS,
    POLYGON_COLUMNS,
    POLYGONS,
)
from sidestep.kernels.raster_vertices import BONE_COLUMNS
from sidestep.render.shadow import ShadowMap
from sidestep.render.team import Team
from sidestep.types.base import FloatArray

BAND_BYTES = 262_144  # of the visibility buffer: what stays in a core's own cache
FIRST_POLYGONS = 1024


class World(NamedTuple):
    """What does not change from frame to frame."""

    static: stages.StaticArrays
    models: stages.ModelArrays
    surfaces: stages.SurfaceArrays


class Target:
    """The working memory for pictures of one size, and the stages in order."""

    def __init__(self, width: int, height: int, world: World, shadow: ShadowMap, team: Team) -> None:
        self.width, self.height = width, height
        self._static, self._models, self._surfaces = world
        self._team, self._shadow = team, shadow
        threads = team.count
        rows = max(1, BAND_BYTES // (8 * width))
        self._bands = max(-(-height // rows), min(6 * threads, height) if threads > 1 else 1)
        self._room = -1
        bones = self._models.spheres.shape[1]
        self._threads = [_make_scratch(width, height, bones) for _ in range(threads)]
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


def _make_scratch(width: int, height: int, bones: int) -> stages.ThreadArrays:
    rows = {name: np.zeros(width, np.float32) for name in stages.ThreadArrays._fields}
    return stages.ThreadArrays(**rows)._replace(
        bones=np.empty((bones, BONE_COLUMNS)),
        cross=np.empty(9),
        corners=np.empty((2, 16, 3)),
        left=np.empty(height, np.int64),
        right=np.empty(height, np.int64),
        packed=np.empty(width, np.int32),
        owner=np.empty(width, np.int32),
        spots=np.empty(width, np.int32),
        runs=np.empty((width, 2), np.int32),
    )
