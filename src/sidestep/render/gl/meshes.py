"""Vertices as the graphics card wants them. What belongs to a face (material, class, number, slot) is put on its
vertices, so a vertex is doubled where faces that differ meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels.raster_frame import ModelArrays, StaticArrays
from sidestep.kernels.raster_layout import CHUNK_CASTS, CHUNK_FACE, CHUNK_FACE_END
from sidestep.render.mesh import Scene3D
from sidestep.render.textures import SOAK
from sidestep.types.base import FloatArray, IntArray

STATIC_LAYOUT = ("3f4 3f4 2f4 4f4 3f4 2i4", "in_place", "in_normal", "in_uv", "in_finish", "in_colour", "in_ids")
STATIC_ROW = np.dtype(
    [
        ("place", "f4", 3),
        ("normal", "f4", 3),
        ("uv", "f4", 2),
        ("finish", "f4", 4),
        ("colour", "f4", 3),
        ("ids", "i4", 2),
    ]
)
MODEL_LAYOUT = ("3f4 3f4 2i4 2f4 2i4 2f4", "in_place", "in_normal", "in_bones", "in_weights", "in_ids", "in_coat")
MODEL_ROW = np.dtype(
    [
        ("place", "f4", 3),
        ("normal", "f4", 3),
        ("bones", "i4", 2),
        ("weights", "f4", 2),
        ("ids", "i4", 2),
        ("coat", "f4", 2),
    ]
)


@dataclass(frozen=True, eq=False)
class StaticGroup:
    """Faces that are drawn in one call: of textures of one size, one- or two-sided."""

    edge: int  # texels of their pictures; 1: plain
    two_sided: bool
    triangles: IntArray  # (F, 3) uint32, chunk by chunk
    starts: IntArray  # (chunks + 1,): where the faces of each chunk begin
    tops: FloatArray  # (F,): z of the highest corner, m


@dataclass(frozen=True, eq=False)
class StaticMesh:
    """Everything that stands still."""

    rows: NDArray[Any]  # STATIC_ROW
    groups: tuple[StaticGroup, ...]
    casters: IntArray  # (F, 3) uint32: faces that cast shadows
    layers: dict[int, list[int]]  # edge → materials, in the order of the layers of their texture array


def make_static(scene: Scene3D, static: StaticArrays, normals: FloatArray) -> StaticMesh:
    """From the mesh in chunks (``pack_static``)."""
    materials = scene.materials
    edges = np.array([len(one.texture) for one in materials] or [1])
    layers = {int(edge): np.flatnonzero(edges == edge).tolist() for edge in np.unique(edges) if edge > 1}
    faces = np.stack([static.material, static.semantic, static.identity], axis=1).astype(np.int64)
    picked, kind, triangles = _split(static.triangles, faces)
    rows = np.zeros(len(picked), STATIC_ROW)
    rows["place"], rows["normal"], rows["ids"] = static.vertices[picked], normals[picked], kind[:, 1:]
    soak = np.zeros(256, np.float32)
    for semantic, share in SOAK.items():
        soak[semantic] = share
    rows["finish"][:, 2] = soak[kind[:, 1]]
    for k, one in enumerate(materials):
        mine = kind[:, 0] == k
        rows["uv"][mine] = static.uv[picked[mine]] / one.size_m
        rows["finish"][mine, 0], rows["finish"][mine, 1] = one.gloss, one.glow
        if edges[k] > 1:
            rows["finish"][mine, 3] = layers[int(edges[k])].index(k)
        else:
            rows["colour"][mine] = one.texture[0, 0]
    chunk = np.repeat(np.arange(len(static.chunks)), np.diff(static.chunks[:, [CHUNK_FACE, CHUNK_FACE_END]])[:, 0])
    sided = np.array([one.two_sided for one in materials] or [False])
    tops = static.vertices[static.triangles, 2].max(axis=1, initial=-np.inf)
    groups = []
    for edge in np.unique(edges):
        for two_sided in (False, True):
            chosen = (edges[static.material] == edge) & (sided[static.material] == two_sided)
            if chosen.any():
                starts = np.searchsorted(chunk[chosen], np.arange(len(static.chunks) + 1))
                groups.append(StaticGroup(int(edge), two_sided, triangles[chosen], starts, tops[chosen]))
    return StaticMesh(rows, tuple(groups), triangles[static.chunks[chunk, CHUNK_CASTS] != 0], layers)


def make_models(models: ModelArrays) -> tuple[NDArray[Any], IntArray]:
    """Rows (MODEL_ROW) of all levels of all models, and their triangles in the order of ``models.triangles``."""
    coats, coat_of = np.unique(models.coat, axis=0, return_inverse=True)
    faces = np.stack([models.semantic, models.slot, coat_of.reshape(-1)], axis=1).astype(np.int64)
    picked, kind, triangles = _split(models.triangles, faces)
    rows = np.zeros(len(picked), MODEL_ROW)
    rows["place"], rows["normal"], rows["ids"] = models.vertices[picked], models.normals[picked], kind[:, :2]
    rows["coat"] = coats[kind[:, 2]]
    rows["bones"], rows["weights"] = models.hangs[picked], models.weights[picked]
    return rows, triangles


def _split(triangles: IntArray, faces: IntArray) -> tuple[IntArray, IntArray, IntArray]:
    """Vertices so that all faces of one agree in ``faces`` (F, K): the old vertex of each, its (V, K) values, and the
    triangles of new vertices (F, 3) uint32."""
    if not len(triangles):
        return np.zeros(0, np.int64), np.zeros((0, faces.shape[1]), np.int64), np.zeros((0, 3), np.uint32)
    kinds, kind_of = np.unique(faces, axis=0, return_inverse=True)
    keys = triangles.astype(np.int64) * len(kinds) + kind_of.reshape(-1, 1)
    unique, corner = np.unique(keys, return_inverse=True)
    return unique // len(kinds), kinds[unique % len(kinds)], corner.reshape(-1, 3).astype(np.uint32)
