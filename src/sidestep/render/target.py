"""Working memory for pictures of one size, the stages of the rasteriser that fill it, and their threads."""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, NamedTuple

import numpy as np

from sidestep.render.raster import frame as stages
from sidestep.render.raster.layout import (
    COUNT_SIZE,
    FLOAT_COLUMNS,
    INT_COLUMNS,
    OBJECT_COLUMNS,
    POLYGON_COLUMNS,
    POLYGONS,
)
from sidestep.render.raster.triangles import BONE_COLUMNS
from sidestep.render.shading_maps import ShadowMap
from sidestep.types.base import FloatArray

Job = Callable[[int], Any]


class WorkerThreads:
    """``count`` threads, the caller included. The others start with the first job and end with this object."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._process = 0
        self._lines: list[SimpleQueue[Any]] = []
        self._done: SimpleQueue[BaseException | None] = SimpleQueue()

    def run(self, job: Job) -> None:
        """``job(k)`` for k = 0 … count - 1, one on each thread; returns when all are done."""
        if self.count > 1 and self._process != os.getpid():  # not begun yet, or a forked child, which has no threads
            self._begin()
        for number, line in enumerate(self._lines, start=1):
            line.put((job, number))
        try:
            job(0)
        finally:
            failures = [self._done.get() for _ in self._lines]
        for failure in failures:
            if failure is not None:
                raise failure

    def __deepcopy__(self, memo: dict[int, Any]) -> WorkerThreads:
        """Threads are not copied: a copy starts its own."""
        return WorkerThreads(self.count)

    def _begin(self) -> None:
        self._process = os.getpid()
        self._done = SimpleQueue()
        self._lines = [SimpleQueue() for _ in range(self.count - 1)]
        for line in self._lines:
            thread = threading.Thread(target=_serve, args=(line, self._done), daemon=True, name="sidestep-render")
            thread.start()
        weakref.finalize(self, _dismiss, self._lines)


def _dismiss(lines: list[SimpleQueue[Any]]) -> None:
    for line in lines:
        line.put(None)


def _serve(line: SimpleQueue[Any], done: SimpleQueue[BaseException | None]) -> None:
    call = line.get()
    while call is not None:
        job, number = call
        failure: BaseException | None = None
        try:
            job(number)
        except BaseException as error:  # handed to the caller
            failure = error
        del call, job
        done.put(failure)
        call = line.get()


BAND_BYTES = 262_144  # of the visibility buffer: what stays in a core's own cache
FIRST_POLYGONS = 1024


class World(NamedTuple):
    """What does not change from frame to frame."""

    static: stages.StaticArrays
    models: stages.ModelArrays
    surfaces: stages.SurfaceArrays


class Target:
    """The working memory for pictures of one size, and the stages in order."""

    def __init__(self, width: int, height: int, world: World, shadow: ShadowMap, team: WorkerThreads) -> None:
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
