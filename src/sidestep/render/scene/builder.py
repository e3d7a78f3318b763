"""Collects triangles while a scene is built, cuts polygons with holes into triangles, and hands everything over as one
mesh.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import shapely

from sidestep.render.materials import material
from sidestep.render.mesh import Mesh, Scene3D, Semantic
from sidestep.types.base import BoolArray, FloatArray, IntArray


def triangulate(polygon: Any) -> tuple[FloatArray, IntArray]:
    """Corners ``(V, 2)`` and counter-clockwise triangles ``(F, 3)`` that cover the polygon exactly."""
    ring = np.asarray(polygon.exterior.coords)[:-1]
    if len(polygon.interiors) == 0 and (fan := _convex_fan(ring)) is not None:
        return fan
    pieces = shapely.get_parts(shapely.constrained_delaunay_triangles(polygon))
    if len(pieces) == 0:
        return np.zeros((0, 2)), np.zeros((0, 3), int)
    corners = shapely.get_coordinates(pieces).reshape(-1, 4, 2)[:, :3]
    return _share_corners(_counter_clockwise(corners))


def _convex_fan(ring: FloatArray) -> tuple[FloatArray, IntArray] | None:
    """A fan, if every corner turns the same way by more than nothing; else None."""
    if len(ring) > 24:
        return None
    x, y = ring.T
    if np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y) < 0:
        ring = ring[::-1]
    step = np.roll(ring, -1, axis=0) - ring
    following = np.roll(step, -1, axis=0)
    turn = step[:, 0] * following[:, 1] - step[:, 1] * following[:, 0]
    if (turn <= 1e-9).any():
        return None
    count = len(ring)
    middle = np.arange(1, count - 1)
    return ring, np.stack([np.zeros(count - 2, int), middle, middle + 1], axis=1)


def _counter_clockwise(corners: FloatArray) -> FloatArray:
    a, b = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    area = a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]
    corners = corners[np.abs(area) > 1e-10]
    area = area[np.abs(area) > 1e-10]
    return np.where((area < 0)[:, None, None], corners[:, ::-1], corners)


def _share_corners(corners: FloatArray) -> tuple[FloatArray, IntArray]:
    points, index = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    return points, index.reshape(-1, 3)


FIRST_OBJECT = 100_000
"""Number of the first object: in the instance image, people, robots and vehicles have the numbers below."""


class MeshBuilder:
    """Triangles with a material by name, a semantic class and the number of the object they belong to."""

    def __init__(self) -> None:
        self._parts: list[tuple[FloatArray, IntArray, FloatArray, FloatArray]] = []
        self._faces: list[tuple[int, int, int, int]] = []  # count, material, semantic, object
        self._materials: dict[str, int] = {}
        self._vertex_count = 0
        self._objects = FIRST_OBJECT - 1
        self._current = 0

    @contextmanager
    def object(self) -> Iterator[int]:
        """All triangles added inside belong to one new numbered object."""
        self._objects += 1
        before, self._current = self._current, self._objects
        try:
            yield self._objects
        finally:
            self._current = before

    def triangles(
        self,
        vertices: FloatArray,  # (V, 3)
        triangles: IntArray,  # (F, 3), counter-clockwise seen from outside
        normals: FloatArray,  # (V, 3) or (3,)
        uv: FloatArray,  # (V, 2), m
        material_name: str,
        semantic: Semantic,
    ) -> None:
        if len(triangles) == 0:
            return
        normals = np.broadcast_to(normals, (len(vertices), 3))
        self._parts.append((vertices, np.asarray(triangles) + self._vertex_count, normals, uv))
        index = self._materials.setdefault(material_name, len(self._materials))
        self._faces.append((len(triangles), index, int(semantic), self._current))
        self._vertex_count += len(vertices)

    def quads(
        self,
        corners: FloatArray,
        uv: FloatArray,
        material_name: str,
        semantic: Semantic,
        normals: FloatArray | None = None,
    ) -> None:
        """Flat quadrilaterals ``(K, 4, 3)`` with ``uv (K, 4, 2)``; ``normals (K, 4, 3)`` for a rounded look."""
        count = len(corners)
        if normals is None:
            flat = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
            flat /= np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
            normals = np.repeat(flat[:, None, :], 4, axis=1)
        first = 4 * np.arange(count)[:, None]
        faces = (first[:, :, None] + np.array([[0, 1, 2], [0, 2, 3]])).reshape(-1, 3)
        self.triangles(
            corners.reshape(-1, 3), faces, normals.reshape(-1, 3), uv.reshape(-1, 2), material_name, semantic
        )

    def finish(self, indoor: bool) -> Scene3D:
        """Everything so far as a scene."""
        if not self._parts:
            self._parts.append((np.zeros((0, 3)), np.zeros((0, 3), int), np.zeros((0, 3)), np.zeros((0, 2))))
            self._faces.append((0, 0, 0, 0))
        vertices, triangles, normals, uv = (np.concatenate(column) for column in zip(*self._parts, strict=True))
        counts, materials, semantics, objects = np.array(self._faces).T
        vertices = vertices.astype(np.float32)
        seen = _has_area(vertices, triangles)
        faces = [np.repeat(values, counts)[seen] for values in (materials, semantics, objects)]
        mesh = Mesh(vertices, triangles[seen], normals, uv, faces[0], faces[1])
        surfaces = tuple(material(name) for name in self._materials)
        return Scene3D(mesh, faces[2].astype(np.int32), surfaces, (), indoor)


def _has_area(vertices: FloatArray, triangles: IntArray) -> BoolArray:
    """False for thin triangles that rounding to single precision has closed."""
    corners = vertices[triangles].astype(np.float64)
    double = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    return np.asarray((double * double).sum(axis=1) > 1e-16)
