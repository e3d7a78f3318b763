"""Static triangles sorted into chunks that lie close together, so that a frame skips what it cannot see."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels.raster_frame import StaticArrays
from sidestep.kernels.raster_layout import CHUNK_COLUMNS
from sidestep.render.mesh import Scene3D, Semantic
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
    chunks = np.zeros((len(starts) - 1, CHUNK_COLUMNS), np.int32)
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
