"""Models and instances as the rasteriser wants them: one table each, no loop over vertices in a frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.errors import BadInput
from sidestep.kernels.raster_frame import InstanceArrays, ModelArrays
from sidestep.kernels.raster_layout import LEVEL_COLUMNS, MODEL_COLUMNS
from sidestep.render.figure import COATS
from sidestep.render.mesh import Instance, Model
from sidestep.types.base import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class PackedInstances:
    """I instances in arrays that a caller may fill anew for every frame. B and S are those of the model with the most
    bones and slots; what a model does not use is ignored."""

    model: IntArray  # (I,) int32
    bones: FloatArray  # (I, B, 3, 4) float32: rest pose → world
    colours: FloatArray  # (I, S, 3) float32, linear RGB 0 … 1
    ids: IntArray  # (I,) int32, > 0

    @classmethod
    def of(cls, instances: Sequence[Instance]) -> PackedInstances:
        """Copy single instances into arrays."""
        count = len(instances)
        bones = max([len(one.bones) for one in instances], default=1)
        slots = max([len(one.colours) for one in instances], default=1)
        packed = cls(
            np.array([one.model for one in instances], np.int32),
            np.zeros((count, bones, 3, 4), np.float32),
            np.zeros((count, slots, 3), np.float32),
            np.array([one.instance_id for one in instances], np.int32),
        )
        for k, one in enumerate(instances):
            packed.bones[k, : len(one.bones)] = one.bones
            packed.colours[k, : len(one.colours)] = one.colours
        return packed


def check_instances(packed: PackedInstances, models: Sequence[Model]) -> InstanceArrays:
    """The arrays of ``packed``, converted where need be; raises where they do not fit the models."""
    model = np.ascontiguousarray(packed.model, np.int32)
    bones = np.ascontiguousarray(packed.bones, np.float32)
    colours = np.ascontiguousarray(packed.colours, np.float32)
    ids = np.ascontiguousarray(packed.ids, np.int32)
    count = len(model)
    if bones.ndim != 4 or bones.shape[0] != count or bones.shape[2:] != (3, 4):
        raise BadInput(f"instances: bones must be ({count}, B, 3, 4), got {bones.shape}")
    if colours.ndim != 3 or colours.shape[0] != count or colours.shape[2] != 3 or ids.shape != (count,):
        raise BadInput(f"instances: colours and ids must be ({count}, S, 3) and ({count},)")
    if count:
        if model.min() < 0 or model.max() >= len(models):
            raise BadInput(f"instances: a model that does not exist; the scene has {len(models)}")
        needs = np.array([(one.bone_count, len(one.slots)) for one in models])[model].max(axis=0)
        if needs[0] > bones.shape[1] or needs[1] > colours.shape[1]:
            raise BadInput("instances: fewer bones or colours than the model has bones or slots")
        if not np.isfinite(bones).all():
            raise BadInput("instances: bones must be finite")
    return InstanceArrays(model, bones, colours, ids)


def pack_models(models: Sequence[Model]) -> ModelArrays:
    """All levels of all models, one after another."""
    table = np.zeros((len(models), MODEL_COLUMNS), np.int32)
    bones = max([model.bone_count for model in models], default=1)
    spheres = np.full((len(models), bones, 4), -1.0, np.float32)
    levels: list[tuple[int, int, int, int]] = []
    vertex = face = 0
    triangles: list[IntArray] = [np.zeros((0, 3), np.int32)]
    for m, model in enumerate(models):
        if not model.levels or not all(len(mesh.triangles) for mesh in model.levels):
            raise BadInput(f"model {m}: every level of detail needs faces")
        table[m] = len(levels), len(levels) + len(model.levels), model.bone_count
        spheres[m] = _bone_spheres(model, bones)
        for mesh in model.levels:
            levels.append((vertex, vertex + len(mesh.vertices), face, face + len(mesh.triangles)))
            triangles.append(mesh.triangles + np.int32(vertex))
            vertex, face = levels[-1][1], levels[-1][3]
    owned = [(model, mesh) for model in models for mesh in model.levels]
    meshes = [mesh for _, mesh in owned]
    empty = np.zeros((0, 3), np.float32)
    return ModelArrays(
        table,
        np.array(levels, np.int32).reshape(-1, LEVEL_COLUMNS),
        np.array([model.height for model in models], np.float32),
        spheres,
        np.concatenate([empty, *(mesh.vertices for mesh in meshes)]),
        np.concatenate([empty, *(mesh.normals for mesh in meshes)]),
        _join([part for model in models for part in model.bones], np.int32),
        _join([part for model in models for part in model.weights], np.float32),
        np.concatenate(triangles).astype(np.int32),
        np.concatenate([np.zeros(0, np.int32), *(mesh.material for mesh in meshes)]),
        np.concatenate([np.zeros(0, np.uint8), *(mesh.semantic for mesh in meshes)]),
        np.concatenate([np.zeros((0, 2), np.float32), *(_coats(model)[mesh.material] for model, mesh in owned)]),
    )


def _coats(model: Model) -> FloatArray:
    """(slots, 2) float32: gloss and glow."""
    return np.array([COATS.get(slot, (0.0, 0.0)) for slot in model.slots], np.float32).reshape(-1, 2)


def _join(parts: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.zeros((0, 2), dtype), *(np.asarray(part, dtype) for part in parts)])


def _bone_spheres(model: Model, rows: int) -> FloatArray:
    """(rows, 4): centre and radius about the vertices, at rest, of all levels that each bone moves; radius -1: none."""
    spheres = np.full((rows, 4), -1.0, np.float32)
    for bone in range(model.bone_count):
        points = np.concatenate(
            [
                mesh.vertices[((hangs == bone) & (weights > 0)).any(axis=1)]
                for mesh, hangs, weights in zip(model.levels, model.bones, model.weights, strict=True)
            ]
        )
        if len(points):
            centre = (points.min(axis=0) + points.max(axis=0)) / 2
            spheres[bone, :3] = centre
            spheres[bone, 3] = np.linalg.norm(points - centre, axis=1).max() + 1e-4
    return spheres
