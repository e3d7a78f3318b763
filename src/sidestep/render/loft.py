"""Solid shapes for things that move: tubes through rings, boxes, prisms, wheels. One or two bones move each vertex.

A shape is a :class:`Part`; :func:`join_parts` makes the mesh of one level of detail from many parts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import cos, pi, sin, sqrt

import numpy as np

from sidestep.render.mesh import Mesh, Semantic, vertex_normals
from sidestep.types.base import FloatArray, IntArray

Skinning = Callable[[FloatArray], tuple[IntArray, FloatArray]]
"""A function from vertices (V, 3) of the rest pose to their bones (V, 2) and weights (V, 2)."""


@dataclass(frozen=True, eq=False)
class Part:
    """Triangles of one shape, with the slot of each face and the bones of each vertex."""

    vertices: FloatArray  # (V, 3)
    triangles: IntArray  # (F, 3), counter-clockwise from outside
    slot: IntArray  # (F,)
    bones: IntArray  # (V, 2)
    weights: FloatArray  # (V, 2)
    normals: FloatArray | None = None  # (V, 3); None: from the faces about each vertex


@dataclass(frozen=True)
class Ring:
    """A closed curve that a tube runs through, in the plane across ``axis``; half widths in metres.

    For axis z the width ``ahead`` is along +x, ``behind`` along -x and ``side`` along ±y; for x they are y, -y, z;
    for y they are z, -z, x. ``power`` 2 is an ellipse, more is squarer. ``slope`` lifts the curve along the axis by so
    much per metre ahead; ``toe`` lifts the outermost quarter ahead by so many metres. ``slot`` colours the band that
    starts here; ``crease`` gives the bands on either side normals of their own. Levels of detail above ``level`` leave
    the ring out.
    """

    centre: tuple[float, float, float]
    ahead: float
    side: float
    behind: float | None = None
    slot: int = 0
    bones: tuple[int, int] = (0, 0)
    weight: float = 1.0
    level: int = 2
    power: float = 2.0
    slope: float = 0.0
    toe: float = 0.0
    crease: bool = False


_AXES = {"z": (0, 1, 2), "x": (1, 2, 0), "y": (2, 0, 1)}


def _widening(segments: int) -> float:
    """Factor by which a polygon is widened to have the area of its curve; a little less for three or four corners."""
    return sqrt(2 * pi / segments / sin(2 * pi / segments)) if segments > 4 else 1.12


def _ring_points(ring: Ring, axis: str, segments: int, turn: float) -> FloatArray:
    """(segments, 3). Widened so that the polygon has the area of the curve, whatever the number of segments."""
    u, v, w = _AXES[axis]
    angle = 2 * pi * (np.arange(segments) + turn) / segments
    c, s = np.cos(angle), np.sin(angle)
    c = np.sign(c) * np.abs(c) ** (2 / ring.power)
    s = np.sign(s) * np.abs(s) ** (2 / ring.power)
    widen = _widening(segments)
    behind = ring.ahead if ring.behind is None else ring.behind
    points = np.empty((segments, 3))
    offset = np.where(c > 0, ring.ahead, behind) * c * widen
    points[:, u] = ring.centre[u] + offset
    points[:, v] = ring.centre[v] + ring.side * s * widen
    points[:, w] = ring.centre[w] + ring.slope * offset
    if ring.toe:
        points[:, w] += ring.toe * np.clip(4 * offset / max(ring.ahead, 1e-9) - 3, 0, 1)
    return points


class _Surface:
    """Vertices and triangles of a tube, ring by ring. ``rising``: the rings follow the axis."""

    def __init__(self, segments: int, rising: bool) -> None:
        self._next = [(j, (j + 1) % segments) for j in range(segments)]
        self._rising, self._count = rising, 0
        self.vertices: list[FloatArray] = []
        self.bones: list[tuple[int, int]] = []
        self.weights: list[float] = []
        self.triangles: list[tuple[int, int, int]] = []
        self.slots: list[int] = []

    def add_ring(self, ring: Ring, points: FloatArray) -> int:
        """Add vertices; returns the number of the first."""
        start = self._count
        self._count += len(points)
        self.vertices.append(points)
        self.bones.extend([ring.bones] * len(points))
        self.weights.extend([ring.weight] * len(points))
        return start

    def add_band(self, lower: int, upper: int, slot: int) -> None:
        """Add the faces between two rings."""
        for j, k in self._next:
            a, b, c, d = lower + j, lower + k, upper + k, upper + j
            self.triangles.extend([(a, b, c), (a, c, d)] if self._rising else [(a, c, b), (a, d, c)])
            self.slots.extend([slot, slot])

    def add_fan(self, start: int, apex: int, at_end: bool, slot: int) -> None:
        """Add the faces between a ring and a point beyond it."""
        for j, k in self._next:
            j, k = (start + j, start + k) if at_end == self._rising else (start + k, start + j)
            self.triangles.append((j, k, apex))
            self.slots.append(slot)


def tube(
    rings: Sequence[Ring],
    segments: int,
    *,
    axis: str = "z",
    level: int = 0,
    caps: tuple[float | None, float | None] = (0.0, 0.0),
    turn: float = 0.0,
    skinning: Skinning | None = None,
) -> Part:
    """The surface through ``rings``. ``caps`` closes each end with a point so far beyond the ring (None: open)."""
    used = [ring for ring in rings if ring.level >= level]
    w = _AXES[axis][2]
    rising = used[-1].centre[w] >= used[0].centre[w]
    surface = _Surface(segments, rising)
    previous = -1
    for index, ring in enumerate(used):
        points = _ring_points(ring, axis, segments, turn)
        lower = surface.add_ring(ring, points)
        if index:
            surface.add_band(previous, lower, used[index - 1].slot)
        previous = surface.add_ring(ring, points) if ring.crease and 0 < index < len(used) - 1 else lower
    for at_end, height in ((False, caps[0]), (True, caps[1])):
        if height is None:
            continue
        ring, start = (used[-1], previous) if at_end else (used[0], 0)
        points = _ring_points(ring, axis, segments, turn)
        tip = points.mean(axis=0)
        tip[w] += height if at_end == rising else -height
        if height == 0:  # a flat end has vertices of its own, which keep its edge
            start = surface.add_ring(ring, points)
        slot = used[-2].slot if at_end and len(used) > 1 else ring.slot
        surface.add_fan(start, surface.add_ring(ring, tip[None]), at_end, slot)
    where = np.concatenate(surface.vertices)
    if skinning is None:
        pair: IntArray = np.asarray(surface.bones, np.int32).reshape(-1, 2)
        share = np.stack([np.asarray(surface.weights), 1 - np.asarray(surface.weights)], axis=1)
    else:
        pair, share = skinning(where)
    return Part(where, np.asarray(surface.triangles, np.int32), np.asarray(surface.slots, np.int32), pair, share)


def rigid(vertices: FloatArray, triangles: IntArray, slot: int | IntArray, bone: int) -> Part:
    """A shape on one bone, with flat faces."""
    corners = np.asarray(vertices, np.float64)[np.asarray(triangles).reshape(-1)]
    count = len(corners)
    return Part(
        corners,
        np.arange(count, dtype=np.int32).reshape(-1, 3),
        np.broadcast_to(np.asarray(slot, np.int32), (count // 3,)).copy(),
        np.full((count, 2), bone, np.int32),
        np.tile([1.0, 0.0], (count, 1)),
    )


def creased(
    vertices: FloatArray, triangles: IntArray, slot: int | IntArray, bone: int, angle_deg: float = 38.0
) -> Part:
    """A shape on one bone whose faces are shaded smoothly where they meet at less than ``angle_deg``."""
    part = rigid(vertices, triangles, slot, bone)
    corners = part.vertices.reshape(-1, 3, 3)
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    unit = face / np.maximum(np.linalg.norm(face, axis=1, keepdims=True), 1e-12)
    _, where = np.unique(np.round(part.vertices, 5), axis=0, return_inverse=True)
    meet = where.reshape(-1, 1) == where.reshape(1, -1)
    owner = np.repeat(np.arange(len(face)), 3)
    near = (unit @ unit.T)[np.ix_(owner, owner)] > cos(angle_deg * pi / 180)
    total = (meet & near) @ face[owner]
    normals = total / np.maximum(np.linalg.norm(total, axis=1, keepdims=True), 1e-12)
    return Part(part.vertices, part.triangles, part.slot, part.bones, part.weights, normals)


def box(
    centre: tuple[float, float, float], size: tuple[float, float, float], slot: int, bone: int, taper: float = 1.0
) -> Part:
    """A box; its top is ``taper`` times as wide as its bottom."""
    x, y, z = (value / 2 for value in size)
    low = [(-x, -y, -z), (x, -y, -z), (x, y, -z), (-x, y, -z)]
    high = [(a * taper, b * taper, z) for a, b, _ in low]
    quads = [(0, 3, 2, 1), (4, 5, 6, 7), (0, 1, 5, 4), (1, 2, 6, 5), (2, 3, 7, 6), (3, 0, 4, 7)]
    triangles = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return rigid(np.asarray(low + high) + centre, np.asarray(triangles), slot, bone)


def prism(outline: FloatArray, z0: float, z1: float, slot: int, bone: int, shrink: float = 1.0) -> Part:
    """A convex outline (K, 2), counter-clockwise, raised from z0 to z1; its top is ``shrink`` times as wide."""
    outline = np.asarray(outline, np.float64)
    k = len(outline)
    middle = outline.mean(axis=0)
    top = middle + (outline - middle) * shrink
    vertices = np.concatenate([np.c_[outline, np.full(k, z0)], np.c_[top, np.full(k, z1)]])
    triangles = []
    for i in range(k):
        j = (i + 1) % k
        triangles += [(i, j, k + j), (i, k + j, k + i)]
    for i in range(1, k - 1):
        triangles += [(0, i + 1, i), (k, k + i, k + i + 1)]
    return rigid(vertices, np.asarray(triangles), slot, bone)


def disc_outline(radius: float, count: int) -> FloatArray:
    """(count, 2): corners of a polygon in the circle, counter-clockwise."""
    return np.asarray([(radius * cos(2 * pi * i / count), radius * sin(2 * pi * i / count)) for i in range(count)])


def wheel(
    centre: tuple[float, float, float], radius: float, width: float, tyre: int, hub: int, bone: int, segments: int
) -> Part:
    """A wheel that turns about y, with a hub of another colour on both sides."""
    x, y, z = centre
    radius /= _widening(segments)  # the rim touches the ground, not the mean radius
    half, inner = width / 2, 0.62 * radius
    rings = [
        Ring((x, y - half * 0.97, z), inner, inner, slot=tyre, crease=True),
        Ring((x, y - half, z), radius * 0.93, radius * 0.93, slot=tyre),
        Ring((x, y - half * 0.8, z), radius, radius, slot=tyre),
        Ring((x, y + half * 0.8, z), radius, radius, slot=tyre),
        Ring((x, y + half, z), radius * 0.93, radius * 0.93, slot=tyre),
        Ring((x, y + half * 0.97, z), inner, inner, slot=tyre),
    ]
    part = tube(rings, segments, axis="y")
    slot = part.slot.copy()
    slot[-2 * segments :] = hub
    return Part(part.vertices, part.triangles, slot, np.full_like(part.bones, bone), part.weights)


def limb(
    start: tuple[float, float, float],
    end: tuple[float, float, float],
    radius: tuple[float, float],
    slot: int,
    bone: int,
    segments: int,
    flat: float = 1.0,
    plain: bool = False,
) -> Part:
    """A straight tapered bar with round ends from ``start`` to ``end``, in any direction; ``plain``: pointed ends."""
    a, b = np.asarray(start), np.asarray(end)
    length = float(np.linalg.norm(b - a))
    rings = [
        Ring((0, 0, -0.6 * radius[0]), 0.75 * radius[0], 0.75 * radius[0] * flat, slot=slot),
        Ring((0, 0, 0), radius[0], radius[0] * flat, slot=slot),
        Ring((0, 0, length), radius[1], radius[1] * flat, slot=slot),
        Ring((0, 0, length + 0.6 * radius[1]), 0.75 * radius[1], 0.75 * radius[1] * flat, slot=slot),
    ]
    if plain:
        rings = rings[1:3]
    part = tube(rings, segments, caps=(0.3 * radius[0], 0.3 * radius[1]))
    along = (b - a) / length
    other = np.array([1.0, 0.0, 0.0]) if abs(along[0]) < 0.9 else np.array([0.0, 1.0, 0.0])
    across = np.cross(along, np.cross(other, along))
    across /= np.linalg.norm(across)
    frame = np.stack([across, np.cross(along, across), along], axis=1)
    return Part(part.vertices @ frame.T + a, part.triangles, part.slot, np.full_like(part.bones, bone), part.weights)


def mirrored(part: Part, bone_of: dict[int, int]) -> Part:
    """The part seen in the plane y = 0, on the bones of the other side."""
    lookup = np.arange(256, dtype=np.int32)
    for one, other in bone_of.items():
        lookup[one] = other
    vertices = part.vertices * np.array([1.0, -1.0, 1.0])
    return Part(vertices, part.triangles[:, ::-1], part.slot, lookup[part.bones], part.weights)


def join_parts(parts: Sequence[Part], semantic: Semantic) -> tuple[Mesh, IntArray, FloatArray]:
    """(mesh, bones of its vertices, their weights). Faces without area are left out."""
    vertices, triangles, normals, slots, bones, weights = [], [], [], [], [], []
    start = 0
    for part in parts:
        corners = part.vertices[part.triangles]
        area = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
        solid = area > 1e-10
        vertices.append(part.vertices)
        normals.append(vertex_normals(part.vertices, part.triangles) if part.normals is None else part.normals)
        triangles.append(part.triangles[solid] + start)
        slots.append(part.slot[solid])
        bones.append(part.bones)
        weights.append(part.weights)
        start += len(part.vertices)
    faces = np.concatenate(triangles)
    uv, classes = np.zeros((start, 2)), np.full(len(faces), int(semantic))
    mesh = Mesh(np.concatenate(vertices), faces, np.concatenate(normals), uv, np.concatenate(slots), classes)
    return mesh, np.concatenate(bones).astype(np.int32), np.concatenate(weights).astype(np.float32)
