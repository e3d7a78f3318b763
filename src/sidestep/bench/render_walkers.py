"""Stand-ins for people, to measure the renderer by: tapered limbs on 16 bones, three levels of detail."""

from __future__ import annotations

import math

import numpy as np

from sidestep.render.mesh import Mesh, Model, Semantic
from sidestep.render.packing import PackedInstances
from sidestep.types.base import FloatArray, IntArray

# parent, slot, from, to (m, rest pose facing +x), radii
_BONES: tuple[tuple[int, int, tuple[float, float, float], tuple[float, float, float], float, float], ...] = (
    (-1, 2, (0, 0, 0.86), (0, 0, 1.02), 0.155, 0.145),  # 0 pelvis
    (0, 1, (0, 0, 1.00), (0, 0, 1.22), 0.140, 0.155),  # 1 belly
    (1, 1, (0, 0, 1.20), (0, 0, 1.46), 0.165, 0.115),  # 2 chest
    (2, 0, (0, 0, 1.44), (0.01, 0, 1.56), 0.055, 0.055),  # 3 neck
    (3, 0, (0.02, 0, 1.56), (0.02, 0, 1.74), 0.085, 0.090),  # 4 head
    (2, 1, (0, 0.19, 1.42), (0, 0.23, 1.14), 0.055, 0.045),  # 5 left upper arm
    (2, 1, (0, -0.19, 1.42), (0, -0.23, 1.14), 0.055, 0.045),  # 6 right upper arm
    (5, 0, (0, 0.23, 1.14), (0.03, 0.24, 0.86), 0.042, 0.033),  # 7 left forearm
    (6, 0, (0, -0.23, 1.14), (0.03, -0.24, 0.86), 0.042, 0.033),  # 8 right forearm
    (0, 2, (0, 0.09, 0.90), (0, 0.10, 0.48), 0.085, 0.060),  # 9 left thigh
    (0, 2, (0, -0.09, 0.90), (0, -0.10, 0.48), 0.085, 0.060),  # 10 right thigh
    (9, 2, (0, 0.10, 0.48), (-0.01, 0.10, 0.08), 0.058, 0.042),  # 11 left shin
    (10, 2, (0, -0.10, 0.48), (-0.01, -0.10, 0.08), 0.058, 0.042),  # 12 right shin
    (11, 4, (-0.05, 0.10, 0.045), (0.16, 0.10, 0.035), 0.045, 0.035),  # 13 left foot
    (12, 4, (-0.05, -0.10, 0.045), (0.16, -0.10, 0.035), 0.045, 0.035),  # 14 right foot
    (4, 3, (0.0, 0, 1.66), (0.005, 0, 1.76), 0.098, 0.085),  # 15 hair
)
SLOTS = ("skin", "top", "trousers", "hair", "shoes")
LEVELS = ((8, 6), (6, 2), (3, 1))  # sides and rings of a limb
BONES = len(_BONES)


def make_walker() -> Model:
    """1536, 384 and 96 triangles."""
    meshes, bones = zip(*(_body(sides, rings) for sides, rings in LEVELS), strict=True)
    pairs = tuple(np.stack([one, one], axis=1).astype(np.int32) for one in bones)
    weights = tuple(np.tile(np.array([1.0, 0.0], np.float32), (len(one), 1)) for one in bones)
    return Model(meshes, pairs, weights, BONES, SLOTS, 1.76, 0.8)


def _body(sides: int, rings: int) -> tuple[Mesh, FloatArray]:
    vertices, normals, faces, slots, indices = [], [], [], [], []
    start = 0
    for bone, (_, slot, begin, end, r0, r1) in enumerate(_BONES):
        points, outward, local = _limb(np.array(begin, float), np.array(end, float), r0, r1, sides, rings)
        vertices.append(points)
        normals.append(outward)
        faces.append(local + start)
        slots += [slot] * len(local)
        indices += [bone] * len(points)
        start += len(points)
    points, triangles, outward = np.concatenate(vertices), np.concatenate(faces), np.concatenate(normals)
    semantic = np.full(len(triangles), Semantic.PERSON)
    return Mesh(points, triangles, outward, np.zeros((start, 2)), np.array(slots), semantic), np.array(indices)


def _limb(
    a: FloatArray, b: FloatArray, r0: float, r1: float, sides: int, rings: int
) -> tuple[FloatArray, FloatArray, IntArray]:
    """A closed, tapered limb: 2 · sides · rings triangles."""
    along = (b - a) / np.linalg.norm(b - a)
    side = np.cross(along, [1.0, 0.0, 0.0] if abs(along[0]) < 0.9 else [0.0, 1.0, 0.0])
    side /= np.linalg.norm(side)
    other = np.cross(along, side)
    turn = np.arange(sides) * 2 * np.pi / sides
    spoke = np.outer(np.cos(turn), side) + np.outer(np.sin(turn), other)
    low, high = a - 0.6 * r0 * along, b + 0.6 * r1 * along
    points, outward = [low[None]], [-along[None]]
    swell = 1.25 if sides < 5 else 1.0  # few sides: keep the area
    for k in range(rings):
        t = (k + 0.5) / rings if rings < 3 else 0.02 + 0.96 * k / (rings - 1)
        radius = (r0 + (r1 - r0) * t) * swell * (1.0 if 0 < k < rings - 1 or rings < 3 else 0.8)
        points.append(a + (b - a) * t + radius * spoke)
        outward.append(spoke)
    points.append(high[None])
    outward.append(along[None])
    top = 1 + sides * rings
    faces = []
    for j in range(sides):
        k = (j + 1) % sides
        faces += [[0, 1 + k, 1 + j], [top, top - sides + j, top - sides + k]]
        for i in range(rings - 1):
            c, d = 1 + i * sides + j, 1 + i * sides + k
            faces += [[c, d, d + sides], [c, d + sides, c + sides]]
    return np.concatenate(points), np.concatenate(outward), np.array(faces)


def walk_bones(x: FloatArray, y: FloatArray, heading: FloatArray, phase: FloatArray, ground: FloatArray) -> FloatArray:
    """(I, 16, 3, 4) float32 of people at (x, y) who walk; phase 2π is two steps."""
    count = len(x)
    swing = np.zeros((BONES, count))
    swing[9], swing[10] = -0.45 * np.sin(phase), 0.45 * np.sin(phase)
    swing[11], swing[12] = 0.35 - 0.35 * np.cos(phase - 0.6), 0.35 + 0.35 * np.cos(phase - 0.6)
    swing[5], swing[6] = 0.4 * np.sin(phase), -0.4 * np.sin(phase)
    swing[7], swing[8] = -0.35, -0.35
    bones = np.zeros((BONES, count, 4, 4))
    cos, sin = np.cos(heading), np.sin(heading)
    for bone, (parent, _, pivot, *_) in enumerate(_BONES):
        local = np.zeros((count, 4, 4))
        c, s = np.cos(swing[bone]), np.sin(swing[bone])
        local[:, 0, 0], local[:, 0, 2], local[:, 2, 0], local[:, 2, 2] = c, s, -s, c
        local[:, 1, 1] = local[:, 3, 3] = 1.0
        local[:, :3, 3] = np.array(pivot) - local[:, :3, :3] @ np.array(pivot, float)
        if parent < 0:
            base = np.zeros((count, 4, 4))
            base[:, 0, 0], base[:, 0, 1], base[:, 1, 0], base[:, 1, 1] = cos, -sin, sin, cos
            base[:, 2, 2] = base[:, 3, 3] = 1.0
            base[:, 0, 3], base[:, 1, 3], base[:, 2, 3] = x, y, ground + 0.015 * np.cos(2 * phase) - 0.015
        else:
            base = bones[parent]
        bones[bone] = base @ local
    return np.ascontiguousarray(bones[:, :, :3].transpose(1, 0, 2, 3), np.float32)


class Walkers:
    """``count`` people on the sidewalks and the road of the street, to and fro."""

    def __init__(self, count: int, seed: int = 0, kerb: float = 0.14) -> None:
        rng = np.random.default_rng(seed)
        self._x = rng.uniform(4.0, 46.0, count)
        lane = rng.random(count)
        self._y = np.where(
            lane < 0.15, rng.uniform(-3.0, 3.0, count), rng.uniform(4.8, 8.4, count) * rng.choice([-1, 1], count)
        )
        self._ground = np.where(np.abs(self._y) < 4.0, 0.0, kerb)
        self._heading = np.where(rng.random(count) < 0.5, 0.0, math.pi)
        self._speed = rng.uniform(0.9, 1.5, count)
        self._phase = rng.uniform(0, 2 * math.pi, count)
        skin = np.outer(rng.uniform(0.25, 1.0, count), [0.62, 0.40, 0.28])
        cloth = rng.uniform(0.02, 1.0, (count, 3)) ** 1.6
        trousers = np.outer(rng.uniform(0.02, 0.25, count), [0.8, 0.9, 1.2])
        hair = np.outer(rng.uniform(0.02, 0.3, count), [1.0, 0.7, 0.45])
        shoes = np.full((count, 3), 0.03)
        self._colours = np.stack([skin, cloth, trousers, hair, shoes], axis=1).astype(np.float32)
        self._ids = np.arange(1, count + 1, dtype=np.int32)

    def at(self, time_s: float) -> PackedInstances:
        """Everyone at a time."""
        distance = np.where(self._heading == 0.0, 1.0, -1.0) * self._speed * time_s
        x = 4.0 + (self._x - 4.0 + distance) % 42.0
        phase = self._phase + 2 * math.pi * self._speed * time_s / 1.4
        bones = walk_bones(x, self._y, self._heading, phase, self._ground)
        return PackedInstances(np.zeros(len(x), np.int32), bones, self._colours, self._ids)
