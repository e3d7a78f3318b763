"""Collects triangles while a scene is built and hands them over as one mesh; the simple solids that things are made
of: polygons with holes cut into triangles, prisms, boxes, tapered posts, round crowns.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import shapely
from shapely.geometry.polygon import orient

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


SCAN_HEIGHT = 0.25
"""m above the ground: the plane of the planar lidar. Here every solid fills its footprint."""
HEAD_ROOM = 2.2
"""m: above it branches, lamps and signs may reach beyond the footprint."""
FLUSH = 0.02
"""m by which a solid may differ from its footprint: outside it below ``HEAD_ROOM``, inside it at ``SCAN_HEIGHT``."""
LEAST_HEIGHT = 0.4
"""m: no solid is drawn lower, so that it reaches the scan plane also where it stands a kerb lower than the robot."""
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
        self._is_backdrop = False

    @contextmanager
    def object(self) -> Iterator[int]:
        """All triangles added inside belong to one new numbered object."""
        self._objects += 1
        before, self._current = self._current, self._objects
        try:
            yield self._objects
        finally:
            self._current = before

    @contextmanager
    def backdrop(self) -> Iterator[None]:
        """All triangles added inside are scenery: colour pictures show them, and in depth and classes they are sky."""
        self._is_backdrop = True
        try:
            yield
        finally:
            self._is_backdrop = False

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
        kind, number = (Semantic.SKY, 0) if self._is_backdrop else (semantic, self._current)
        self._faces.append((len(triangles), index, int(kind), number))
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


def polygon_parts(geometry: Any, smallest: float = 1e-5) -> list[Any]:
    """The polygons of any geometry that are larger than ``smallest`` m², shells counter-clockwise."""
    return [
        orient(part, 1.0)
        for part in shapely.get_parts(geometry)
        if part.geom_type == "Polygon" and part.area > smallest
    ]


def shrunk(polygon: Any, inset: float) -> Any:
    """The polygon moved in by ``inset`` m, with sharp corners. Corners are freed from their grid of 1 mm first: on it,
    GEOS may return nothing at all."""
    return shapely.set_precision(polygon, 0.0).buffer(-inset, join_style="mitre")


def flat(
    builder: MeshBuilder,
    polygon: Any,
    z: float,
    material: str,
    semantic: Semantic,
    down: bool = False,
    turn: float = 0.0,
) -> None:
    """A horizontal polygon that faces up (or down). ``turn`` rotates the picture, rad."""
    points, triangles = triangulate(polygon)
    if down:
        triangles = triangles[:, ::-1]
    vertices = np.column_stack([points, np.full(len(points), z)])
    builder.triangles(
        vertices, triangles, np.array([0.0, 0.0, -1.0 if down else 1.0]), turned(points, turn), material, semantic
    )


def turned(points: FloatArray, angle: float) -> FloatArray:
    """Coordinates in axes rotated by ``angle``: pictures that follow a wall or a street."""
    c, s = np.cos(angle), np.sin(angle)
    return np.asarray(points @ np.array([[c, -s], [s, c]]))


def sides(
    builder: MeshBuilder, polygon: Any, z0: float, z1: float, material: str, semantic: Semantic, smooth: bool = False
) -> None:
    """The upright faces of a prism, also of its holes."""
    for ring in _rings(orient(polygon, 1.0)):
        band(builder, ring, ring, z0, z1, material, semantic, smooth)


def prism(
    builder: MeshBuilder,
    polygon: Any,
    z0: float,
    z1: float,
    material: str,
    semantic: Semantic,
    *,
    top: str | None = None,
    bottom: bool = False,
    smooth: bool = False,
) -> None:
    """A polygon raised from z0 to z1; ``top`` is the material of its upper face, ``bottom`` closes it below."""
    for part in polygon_parts(polygon):
        sides(builder, part, z0, z1, material, semantic, smooth)
        flat(builder, part, z1, top or material, semantic)
        if bottom:
            flat(builder, part, z0, material, semantic, down=True)


def taper(
    builder: MeshBuilder,
    low: FloatArray,
    high: FloatArray,
    z0: float,
    z1: float,
    material: str,
    semantic: Semantic,
    *,
    top: bool = True,
    smooth: bool = True,
) -> None:
    """A frustum between two counter-clockwise rings with the same number of corners."""
    band(builder, low, high, z0, z1, material, semantic, smooth)
    if top:
        flat(builder, shapely.Polygon(high), z1, material, semantic)


def _rings(polygon: Any) -> list[FloatArray]:
    return [np.asarray(ring.coords)[:-1] for ring in (polygon.exterior, *polygon.interiors)]


def band(
    builder: MeshBuilder,
    low: FloatArray,
    high: FloatArray,
    z0: float,
    z1: float,
    material: str,
    semantic: Semantic,
    smooth: bool = False,
) -> None:
    """Upright or slanted faces between two rings with the same number of corners; they look to the right of the
    rings' direction, so a clockwise ring looks inwards."""
    low_next, high_next = np.roll(low, -1, axis=0), np.roll(high, -1, axis=0)
    foot, head = np.full((len(low), 1), z0), np.full((len(low), 1), z1)
    corners = np.stack(
        [np.hstack([low, foot]), np.hstack([low_next, foot]), np.hstack([high_next, head]), np.hstack([high, head])], 1
    )
    length = np.linalg.norm(low_next - low, axis=1)
    u1 = np.cumsum(length)
    u0 = u1 - length
    slant0, slant1 = np.full(len(low), z0), np.full(len(low), z1)
    uv = np.stack([np.stack(p, 1) for p in ((u0, slant0), (u1, slant0), (u1, slant1), (u0, slant1))], 1)
    builder.quads(corners, uv, material, semantic, _round_normals(corners) if smooth else None)


def _round_normals(corners: FloatArray) -> FloatArray:
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 3] - corners[:, 0])
    face /= np.maximum(np.linalg.norm(face, axis=1, keepdims=True), 1e-12)
    start = face + np.roll(face, 1, axis=0)
    start /= np.maximum(np.linalg.norm(start, axis=1, keepdims=True), 1e-12)
    end = np.roll(start, -1, axis=0)
    return np.stack([start, end, end, start], axis=1)


def disc(x: float, y: float, radius: float, corners: int = 10) -> Any:
    """A regular polygon about a point."""
    angle = np.arange(corners) * 2 * np.pi / corners
    return shapely.Polygon(np.column_stack([x + radius * np.cos(angle), y + radius * np.sin(angle)]))


@dataclass(frozen=True)
class OrientedRectangle:
    """The smallest rectangle about a footprint: its own axes, x along the longer side."""

    x: float
    y: float
    angle: float  # rad
    length: float  # m
    width: float  # m
    z: float = 0.0  # m, of the ground under it

    @classmethod
    def about(cls, polygon: Any, z: float = 0.0) -> OrientedRectangle:
        ring = np.asarray(polygon.minimum_rotated_rectangle.exterior.coords)
        a, b = ring[1] - ring[0], ring[2] - ring[1]
        if np.hypot(*b) > np.hypot(*a) + 1e-9:
            a, b = b, a
        angle = float(np.arctan2(a[1], a[0]))
        angle = (angle + np.pi / 2) % np.pi - np.pi / 2  # a rectangle has no head: keep the turn in one half circle
        middle = ring[:4].mean(axis=0)
        return cls(float(middle[0]), float(middle[1]), angle, float(np.hypot(*a)), float(np.hypot(*b)), z)

    def to_world(self, points: Any) -> FloatArray:
        local = np.asarray(points, float)
        c, s = np.cos(self.angle), np.sin(self.angle)
        return np.asarray(local @ np.array([[c, s], [-s, c]]) + (self.x, self.y))

    def rectangle(self, x0: float, x1: float, y0: float, y1: float) -> Any:
        return shapely.Polygon(self.to_world([(x0, y0), (x1, y0), (x1, y1), (x0, y1)]))

    def box(
        self,
        builder: MeshBuilder,
        x: tuple[float, float],
        y: tuple[float, float],
        z: tuple[float, float],
        material: str,
        semantic: Semantic = Semantic.FURNITURE,
        *,
        top: str | None = None,
        bottom: bool = False,
    ) -> None:
        """A box in the frame's axes, z above the frame's ground."""
        shape = self.rectangle(*x, *y)
        prism(builder, shape, self.z + z[0], self.z + z[1], material, semantic, top=top, bottom=bottom)

    def post(
        self,
        builder: MeshBuilder,
        at: tuple[float, float],
        radius: tuple[float, float],
        z: tuple[float, float],
        material: str,
        semantic: Semantic = Semantic.FURNITURE,
        corners: int = 8,
        bottom: bool = False,
    ) -> None:
        """A round post that tapers from ``radius[0]`` to ``radius[1]``."""
        x, y = self.to_world([at])[0]
        low, high = (np.asarray(disc(x, y, r, corners).exterior.coords)[:-1] for r in radius)
        taper(builder, low, high, self.z + z[0], self.z + z[1], material, semantic)
        if bottom:
            flat(builder, shapely.Polygon(low), self.z + z[0], material, semantic, down=True)


@lru_cache(maxsize=4)
def ball(level: int) -> tuple[FloatArray, IntArray]:
    """An icosahedron (20 triangles), each triangle split into four ``level`` times: unit vectors and triangles."""
    g = (1 + 5**0.5) / 2
    points: list[tuple[float, float, float]] = []
    points += [(-1, g, 0), (1, g, 0), (-1, -g, 0), (1, -g, 0), (0, -1, g), (0, 1, g), (0, -1, -g), (0, 1, -g)]
    points += [(g, 0, -1), (g, 0, 1), (-g, 0, -1), (-g, 0, 1)]
    faces = [(0, 11, 5), (0, 5, 1), (0, 1, 7), (0, 7, 10), (0, 10, 11), (1, 5, 9), (5, 11, 4), (11, 10, 2), (10, 7, 6)]
    faces += [(7, 1, 8), (3, 9, 4), (3, 4, 2), (3, 2, 6), (3, 6, 8), (3, 8, 9), (4, 9, 5), (2, 4, 11), (6, 2, 10)]
    faces += [(8, 6, 7), (9, 8, 1)]
    vertices = [np.array(p) / np.linalg.norm(p) for p in points]
    for _ in range(level):
        middle: dict[tuple[int, int], int] = {}

        def half(a: int, b: int, middle: dict[tuple[int, int], int] = middle) -> int:
            key = (min(a, b), max(a, b))
            if key not in middle:
                m = vertices[a] + vertices[b]
                vertices.append(m / np.linalg.norm(m))
                middle[key] = len(vertices) - 1
            return middle[key]

        faces = [
            face
            for a, b, c in faces
            for ab, bc, ca in [(half(a, b), half(b, c), half(c, a))]
            for face in [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        ]
    return np.array(vertices), np.array(faces)


def blob(
    builder: MeshBuilder,
    centre: tuple[float, float, float],
    radius: tuple[float, float, float],
    material: str,
    semantic: Semantic,
    rng: np.random.Generator,
    rough: float = 0.12,
    level: int = 1,
) -> None:
    """A lumpy ball: leaves, shrubs, cushions."""
    unit, faces = ball(level)
    swell = 1.0 - rough * rng.random((len(unit), 1))
    vertices = np.array(centre) + unit * np.array(radius) * swell
    normals = unit / np.array(radius)
    normals /= np.linalg.norm(normals, axis=1, keepdims=True)
    corners = vertices[faces]
    facing = np.abs(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])).argmax(axis=1)
    keep = np.array([[1, 2], [0, 2], [0, 1]])[facing]  # each face is painted along the axis it looks at most
    uv = np.take_along_axis(corners, keep[:, None, :].repeat(3, axis=1), axis=2)
    count = 3 * len(faces)
    builder.triangles(
        corners.reshape(count, 3),
        np.arange(count).reshape(-1, 3),
        normals[faces].reshape(count, 3),
        uv.reshape(count, 2),
        material,
        semantic,
    )
