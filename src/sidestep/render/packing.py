"""A scene as tables for the rasteriser: static triangles sorted into chunks that lie close together, so that a frame
skips what it cannot see; models and instances with their bones; materials with their mip levels. No frame loops
over vertices in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.errors import BadInput
from sidestep.render.figure import SLOT_FINISH
from sidestep.render.mesh import Instance, Material, Model, Scene3D, Semantic
from sidestep.render.raster import layout as L
from sidestep.render.raster.layout import InstanceArrays, ModelArrays, StaticArrays, SurfaceArrays
from sidestep.types.base import BoolArray, FloatArray, IntArray

CELL = 8.0  # m, edge of the cells that chunks are cut by
MOST_FACES = 512  # of one chunk
MOST_EXTENT = 20_000.0  # m
LIE_FLAT = (
    Semantic.FLOOR, Semantic.ROAD, Semantic.LANE_MARKING, Semantic.SIDEWALK, Semantic.CROSSWALK, Semantic.GRASS,
    Semantic.CEILING,
)  # fmt: skip
"""Classes that cast no shadow worth drawing; a ceiling would take all the light away."""


def check_scene(scene: Scene3D) -> None:
    """Raise unless every index is within its table and sizes are those of a place where people walk."""
    mesh = scene.mesh
    if not len(mesh.triangles) and not scene.models:
        raise BadInput("scene: the mesh has no faces and there are no models: nothing could be drawn")
    if np.shape(scene.static_id) != (len(mesh.triangles),):
        raise BadInput(f"scene: static_id has shape {np.shape(scene.static_id)}, wanted {(len(mesh.triangles),)}")
    if len(mesh.triangles):
        if mesh.material.min() < 0 or mesh.material.max() >= len(scene.materials):
            raise BadInput(f"scene: a face names a material that does not exist; there are {len(scene.materials)}")
        extent = float(np.ptp(mesh.vertices, axis=0).max())
        if not 1e-3 < extent < MOST_EXTENT:
            raise BadInput(f"scene: {extent:g} m across; is the scale in metres?")


def pack_static(scene: Scene3D) -> tuple[StaticArrays, FloatArray]:
    """The mesh of ``scene`` in chunks, and the normals of its vertices in the new order."""
    check_scene(scene)
    mesh = scene.mesh
    order, starts = _sort_faces(mesh.vertices, mesh.triangles, np.isin(mesh.semantic, LIE_FLAT))
    sources: list[IntArray] = []
    triangles = np.empty_like(mesh.triangles)
    chunks = np.zeros((len(starts) - 1, L.CHUNK_COLUMNS), np.int32)
    boxes = np.zeros((len(starts) - 1, 6), np.float32)
    first = 0
    for c, (begin, end) in enumerate(pairwise(starts)):
        used, local = np.unique(mesh.triangles[order[begin:end]], return_inverse=True)
        triangles[begin:end] = local.reshape(-1, 3) + first
        sources.append(used)
        corners = mesh.vertices[used]
        boxes[c] = np.concatenate([corners.min(axis=0), corners.max(axis=0)])
        casts = not np.isin(mesh.semantic[order[begin]], LIE_FLAT)
        chunks[c] = first, first + len(used), begin, end, casts
        first += len(used)
    picked = np.concatenate([np.zeros(0, np.int64), *sources]).astype(np.int64)
    arrays = StaticArrays(
        chunks,
        boxes,
        np.ascontiguousarray(mesh.vertices[picked]),
        np.ascontiguousarray(mesh.uv[picked]),
        np.ascontiguousarray(triangles, np.int32),
        np.ascontiguousarray(mesh.material[order]),
        np.ascontiguousarray(mesh.semantic[order]),
        np.ascontiguousarray(np.asarray(scene.static_id, np.int32)[order]),
    )
    return arrays, np.ascontiguousarray(mesh.normals[picked])


def _sort_faces(vertices: FloatArray, triangles: IntArray, flat: BoolArray) -> tuple[IntArray, IntArray]:
    """An order of the faces by kind and cell, and where in it each chunk starts (one more number than chunks)."""
    if not len(triangles):
        return np.zeros(0, np.int64), np.zeros(1, np.int64)
    corners = vertices[triangles]
    cells = np.floor(corners.mean(axis=1)[:, :2] / CELL).astype(np.int64)
    large = (np.ptp(corners, axis=1).max(axis=1) > 2 * CELL).astype(np.int64)  # would make a small chunk's box large
    cells[large == 1] //= 8
    order = np.lexsort((cells[:, 0], cells[:, 1], large, flat))
    keys = np.stack([cells[:, 0], cells[:, 1], large, flat.astype(np.int64)], axis=1)[order]
    fresh = np.ones(len(order), bool)
    fresh[1:] = (keys[1:] != keys[:-1]).any(axis=1)
    group = np.flatnonzero(fresh)
    starts = [np.arange(begin, end, MOST_FACES) for begin, end in zip(group, [*group[1:], len(order)], strict=True)]
    return order, np.concatenate([*starts, [len(order)]])


@dataclass(frozen=True, eq=False)
class PackedInstances:
    """I instances in arrays that a caller may refill for every frame. B and S are those of the model with the most
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
    table = np.zeros((len(models), L.MODEL_COLUMNS), np.int32)
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
        np.array(levels, np.int32).reshape(-1, L.LEVEL_COLUMNS),
        np.array([model.height for model in models], np.float32),
        spheres,
        np.concatenate([empty, *(mesh.vertices for mesh in meshes)]),
        np.concatenate([empty, *(mesh.normals for mesh in meshes)]),
        _join([part for model in models for part in model.bones], np.int32),
        _join([part for model in models for part in model.weights], np.float32),
        np.concatenate(triangles).astype(np.int32),
        np.concatenate([np.zeros(0, np.int32), *(mesh.material for mesh in meshes)]),
        np.concatenate([np.zeros(0, np.uint8), *(mesh.semantic for mesh in meshes)]),
        np.concatenate([np.zeros((0, 2), np.float32), *(_finishes(model)[mesh.material] for model, mesh in owned)]),
    )


def _finishes(model: Model) -> FloatArray:
    """(slots, 2) float32: gloss and glow."""
    return np.array([SLOT_FINISH.get(slot, (0.0, 0.0)) for slot in model.slots], np.float32).reshape(-1, 2)


def _join(parts: Sequence[NDArray[Any]], dtype: type) -> NDArray[Any]:
    return np.concatenate([np.zeros((0, 2), dtype), *(np.asarray(part, dtype) for part in parts)])


def _bone_spheres(model: Model, rows: int) -> FloatArray:
    """(rows, 4): centre and radius about the vertices, at rest, of all levels that each bone moves; radius -1: none."""
    spheres = np.full((rows, 4), -1.0, np.float32)
    for bone in range(model.bone_count):
        points = np.concatenate(
            [
                mesh.vertices[((indices == bone) & (weights > 0)).any(axis=1)]
                for mesh, indices, weights in zip(model.levels, model.bones, model.weights, strict=True)
            ]
        )
        if len(points):
            centre = (points.min(axis=0) + points.max(axis=0)) / 2
            spheres[bone, :3] = centre
            spheres[bone, 3] = np.linalg.norm(points - centre, axis=1).max() + 1e-4
    return spheres


MOST_SIDE = 2 ** (L.PICTURE_LEVELS - 1)
SOAK = {
    Semantic.ROAD: 1.0,
    Semantic.LANE_MARKING: 0.9,
    Semantic.CROSSWALK: 0.9,
    Semantic.SIDEWALK: 0.85,
    Semantic.KERB: 0.6,
    Semantic.FLOOR: 1.0,
    Semantic.GRASS: 0.25,
}
"""How much water lies on each class in the rain."""


def mip_levels(texture: FloatArray) -> list[FloatArray]:
    """``texture`` (S, S, 3) and its halvings down to one texel; each texel is the mean of four."""
    levels = [np.asarray(texture, np.float32)]
    while len(levels[-1]) > 1:
        size = len(levels[-1]) // 2
        levels.append(levels[-1].reshape(size, 2, size, 2, 3).mean(axis=(1, 3)))
    return levels


def pack_texels(colours: FloatArray) -> IntArray:
    """Linear RGB (…, 3) 0 … 1 as uint32: square roots in 8 bits each, red lowest."""
    roots = np.sqrt(np.clip(colours, 0.0, 1.0)) * 255.0 + 0.5
    bytes_ = roots.astype(np.uint32)
    packed: IntArray = bytes_[..., 0] | bytes_[..., 1] << 8 | bytes_[..., 2] << 16
    return packed


def check_material(material: Material) -> None:
    """Raise unless it can be drawn."""
    shape = np.shape(material.texture)
    if len(shape) != 3 or shape[0] != shape[1] or shape[2] != 3 or shape[0] & (shape[0] - 1) or shape[0] < 1:
        raise BadInput(f"material {material.name!r}: texture must be (S, S, 3) with S a power of two, got {shape}")
    if shape[0] > MOST_SIDE:
        raise BadInput(f"material {material.name!r}: texture of {shape[0]} texels; at most {MOST_SIDE}")
    if not material.size_m > 0.0:
        raise BadInput(f"material {material.name!r}: size_m must be positive, got {material.size_m}")


def pack_materials(materials: Sequence[Material]) -> SurfaceArrays:
    """All materials in one table and all their texels in one row."""
    table = np.zeros((max(len(materials), 1), L.MATERIAL_COLUMNS), np.float32)
    pictures = np.zeros((max(len(materials), 1), 1 + L.PICTURE_LEVELS), np.int32)
    parts: list[IntArray] = []
    offset = 0
    for k, material in enumerate(materials):
        check_material(material)
        levels = mip_levels(material.texture)
        table[k, L.GLOSS], table[k, L.GLOW], table[k, L.TWO_SIDED] = material.gloss, material.glow, material.two_sided
        table[k, L.PER_METRE] = 1.0 / material.size_m
        table[k, L.PLAIN_RED : L.PLAIN_RED + 3] = levels[-1].reshape(3)
        table[k, L.PLAIN] = len(levels) == 1
        pictures[k, 0] = len(levels) - 1
        for number, level in enumerate(levels):
            pictures[k, 1 + number] = offset
            parts.append(pack_texels(level).ravel())
            offset += level.shape[0] ** 2
    texels = np.concatenate(parts) if parts else np.zeros(1, np.uint32)
    return SurfaceArrays(table, pictures, texels.astype(np.uint32), soak_table())


def soak_table() -> FloatArray:
    """(256,) float32: how much water lies on each semantic class."""
    soak = np.zeros(256, np.float32)
    soak[list(SOAK)] = list(SOAK.values())
    return soak
