"""What the rasteriser draws: triangles with a surface each, rigid or moved by bones, with their materials, semantic
classes and colours. Metres, z up, right-handed; colours are linear RGB.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray, frozen_array


def linear_rgb(hex_colour: str) -> FloatArray:
    """Linear RGB of a colour like ``"27344d"`` (sRGB, IEC 61966-2-1)."""
    value = np.asarray([int(hex_colour[i : i + 2], 16) for i in (0, 2, 4)]) / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def palette(hex_colours: Sequence[str]) -> FloatArray:
    """(slots, 3) float32 of several colours."""
    return np.stack([linear_rgb(colour) for colour in hex_colours]).astype(np.float32)


class Semantic(IntEnum):
    """Classes of the semantic image. Numbers are stable: data sets are labelled with them."""

    NOTHING = 0
    SKY = 1
    FLOOR = 2
    WALL = 3
    BUILDING = 4
    ROAD = 5
    LANE_MARKING = 6
    SIDEWALK = 7
    CROSSWALK = 8
    KERB = 9
    GRASS = 10
    TREE = 11
    POLE = 12
    SIGN = 13
    FURNITURE = 14
    DOOR = 15
    WINDOW = 16
    PERSON = 17
    VEHICLE = 18
    ROBOT = 19
    CEILING = 20
    OTHER = 21


@dataclass(frozen=True, eq=False)
class Mesh:
    """V vertices, F triangles. Triangles run counter-clockwise seen from outside; both sides are drawn if ``two_sided``
    in the material says so."""

    vertices: FloatArray  # (V, 3) float32, m
    triangles: IntArray  # (F, 3) int32
    normals: FloatArray  # (V, 3) float32, unit length
    uv: FloatArray  # (V, 2) float32, m on the surface: textures repeat at their own size in metres
    material: IntArray  # (F,) int32: index in the materials of a static scene, or the *slot* of a model (see ``Model``)
    semantic: IntArray  # (F,) uint8: Semantic

    def __post_init__(self) -> None:
        v, f = len(self.vertices), len(self.triangles)
        shapes = {
            "vertices": (np.float32, (v, 3)),
            "triangles": (np.int32, (f, 3)),
            "normals": (np.float32, (v, 3)),
            "uv": (np.float32, (v, 2)),
            "material": (np.int32, (f,)),
            "semantic": (np.uint8, (f,)),
        }
        for name, (dtype, shape) in shapes.items():
            object.__setattr__(self, name, frozen_array(getattr(self, name), dtype, shape, f"mesh.{name}"))
        if not np.isfinite(self.vertices).all():
            raise BadInput("mesh: vertices must be finite")
        if f and (self.triangles.min() < 0 or self.triangles.max() >= v):
            raise BadInput("mesh: a triangle names a vertex that does not exist")


def vertex_normals(vertices: FloatArray, triangles: IntArray) -> FloatArray:
    """(V, 3): mean of the normals of the faces about each vertex, weighted by area; up where there is none."""
    corners = vertices[triangles]
    face = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    total = np.zeros_like(vertices)
    for k in range(3):
        np.add.at(total, triangles[:, k], face)
    length = np.linalg.norm(total, axis=1, keepdims=True)
    return np.where(length > 1e-12, total / np.maximum(length, 1e-12), np.array([0.0, 0.0, 1.0]))


def join_meshes(meshes: Sequence[Mesh]) -> Mesh:
    """One mesh with the triangles of all, in order."""
    starts = np.cumsum([0] + [len(mesh.vertices) for mesh in meshes])
    parts = [mesh.triangles + start for mesh, start in zip(meshes, starts, strict=False)]
    empty3, empty2 = np.zeros((0, 3), np.float32), np.zeros((0, 2), np.float32)
    return Mesh(
        np.concatenate([empty3, *(mesh.vertices for mesh in meshes)]),
        np.concatenate([np.zeros((0, 3), np.int32), *parts]),
        np.concatenate([empty3, *(mesh.normals for mesh in meshes)]),
        np.concatenate([empty2, *(mesh.uv for mesh in meshes)]),
        np.concatenate([np.zeros(0, np.int32), *(mesh.material for mesh in meshes)]),
        np.concatenate([np.zeros(0, np.uint8), *(mesh.semantic for mesh in meshes)]),
    )


@dataclass(frozen=True, eq=False)
class Model:
    """Something that moves and is drawn many times: a person, a robot, a vehicle. Levels of detail, finest first.

    Up to two bones move each vertex; a rigid model has one bone. ``material`` of a face is a slot (skin, hair,
    top …), and an instance gives each slot its colour.
    """

    levels: tuple[Mesh, ...]
    bones: tuple[IntArray, ...]  # per level (V, 2) int32: the bones of each vertex
    weights: tuple[FloatArray, ...]  # per level (V, 2) float32, summing to 1
    bone_count: int
    slots: tuple[str, ...]
    height: float  # m, of the rest pose
    radius: float  # m, horizontal, encloses every pose about the origin


@dataclass(frozen=True, eq=False)
class Instance:
    """One drawing of a model: where its bones are now, and its colours."""

    model: int  # index in the list of models of the scene
    bones: FloatArray  # (bone_count, 3, 4) float32: rest pose → world
    colours: FloatArray  # (slots, 3) float32, linear RGB 0 … 1
    instance_id: int  # > 0, in the instance image; people: 1 + column in the record, robots and vehicles beyond


@dataclass(frozen=True, eq=False)
class Material:
    """How a surface looks: a repeating picture, or one colour."""

    name: str
    texture: FloatArray  # (S, S, 3) float32, linear RGB 0 … 1; S a power of two, 1 for a plain colour
    size_m: float = 1.0  # edge of the picture on the surface
    two_sided: bool = False
    gloss: float = 0.0  # 0 dull … 1 mirror; wet weather raises it for ground
    glow: float = 0.0  # light of its own, for lamps and windows at night


@dataclass(frozen=True, eq=False)
class Scene3D:
    """Everything that stands still, and the models of what moves. ``static_id`` gives the instance number of a face's
    object (0: the ground and other things that are not counted)."""

    mesh: Mesh
    static_id: IntArray  # (F,) int32
    materials: tuple[Material, ...]
    models: tuple[Model, ...] = ()
    indoor: bool = False  # a ceiling instead of the sky, lamps instead of the sun
