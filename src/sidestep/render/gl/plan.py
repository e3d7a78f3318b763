"""What of a frame is drawn: the same culling and levels of detail as on the processor, sorted for few calls."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sidestep.render.raster import layout as L
from sidestep.render.raster.culling import cull_casters, cull_chunks, cull_instances, view_planes
from sidestep.render.raster.layout import InstanceArrays, ModelArrays, StaticArrays
from sidestep.types.base import FloatArray, IntArray


class Call(NamedTuple):
    """Instances of one level of detail, drawn together."""

    first_face: int
    faces: int
    first: int  # row of the table
    copies: int


class Crowd(NamedTuple):
    """Instances in the order in which they are drawn."""

    order: IntArray
    calls: tuple[Call, ...]


class Planner:
    """Culls one scene. Working memory is kept from frame to frame."""

    def __init__(self, static: StaticArrays, models: ModelArrays) -> None:
        self._static, self._models = static, models
        self._planes = np.empty((6, 4))
        self._counts = np.zeros(L.COUNT_SIZE, np.int64)
        self._objects = np.empty((len(static.chunks) + 1, L.OBJECT_COLUMNS), np.int32)

    def aim(self, camera: FloatArray, width: int, height: int) -> None:
        """Look from ``camera`` (``pack_camera``)."""
        self._camera = camera
        view_planes(camera, width, height, self._planes)

    def chunks(self) -> IntArray:
        """Static chunks that may be seen, nearest first: what is behind them is then not shaded."""
        self._counts[:] = 0
        cull_chunks(self._planes, self._static, self._objects, self._counts)
        seen: IntArray = self._objects[: self._counts[L.OBJECTS], L.SOURCE]
        boxes, eye = self._static.boxes[seen], self._camera[L.EYE : L.EYE + 3]
        gap = np.maximum(np.maximum(boxes[:, :3] - eye, eye - boxes[:, 3:]), 0.0)
        picked: IntArray = seen[np.argsort((gap * gap).sum(axis=1), kind="stable")]
        return picked

    def instances(self, instances: InstanceArrays) -> Crowd:
        """Instances that may be seen."""
        self._make_room(len(instances.model))
        cull_instances(self._camera, self._planes, self._models, instances, self._objects, self._counts)
        return self._by_level()

    def casters(self, instances: InstanceArrays, shadow_planes: FloatArray) -> Crowd:
        """Instances whose shadow may fall on the map between ``shadow_planes``."""
        self._make_room(len(instances.model))
        cull_casters(shadow_planes, self._models, instances, self._objects, self._counts)
        return self._by_level()

    def _make_room(self, count: int) -> None:
        self._counts[:] = 0
        if len(self._objects) < count:
            self._objects = np.empty((2 * count, L.OBJECT_COLUMNS), np.int32)

    def _by_level(self) -> Crowd:
        found = self._objects[: self._counts[L.OBJECTS]]
        found = found[np.argsort(found[:, L.SOURCE], kind="stable")]
        levels, first, count = np.unique(found[:, L.SOURCE], return_index=True, return_counts=True)
        faces = self._models.levels[levels]
        calls = zip(
            faces[:, L.LEVEL_FACE].tolist(), (faces[:, L.LEVEL_FACE_END] - faces[:, L.LEVEL_FACE]).tolist(),
            first.tolist(), count.tolist(), strict=True,
        )  # fmt: skip
        return Crowd(found[:, L.INSTANCE].copy(), tuple(Call(*call) for call in calls))
