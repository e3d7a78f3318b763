"""The tables that the kernels of the rasteriser share: their columns, and named tuples of them.

The camera's frame: x along the optical axis, y to the left, z up; a point at (X, Y, Z) falls on the picture at
``u = cx - fx Y / X``, ``v = cy - fy Z / X``, pixels; the centre of pixel (column i, row j) is (i + ½, j + ½).

The steps of a frame: ``frame`` chooses what may be seen, ``triangles`` moves vertices into the camera's frame and
fills the visibility buffer, ``faces`` clips and prepares triangles, ``shadow`` draws what the light sees, ``shade``
gives each pixel its colour once, and ``frame`` runs these in order.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]

# camera (CAMERA_SIZE,) float64
TURN = 0  # 9 numbers, row by row: world → camera
EYE = 9  # 3 numbers: where the camera is
FX, FY, CX, CY, NEAR, FAR = 12, 13, 14, 15, 16, 17
MIRROR = 18  # 1 if the picture is of the world mirrored in the ground: triangles turn the other way round
CAMERA_SIZE = 19

# chunks (C, CHUNK_COLUMNS) int32: static triangles that lie close together
CHUNK_VERTEX, CHUNK_VERTEX_END, CHUNK_FACE, CHUNK_FACE_END, CHUNK_CASTS = 0, 1, 2, 3, 4
CHUNK_COLUMNS = 5

# levels (L, LEVEL_COLUMNS) int32: levels of detail of all models
LEVEL_VERTEX, LEVEL_VERTEX_END, LEVEL_FACE, LEVEL_FACE_END = 0, 1, 2, 3
LEVEL_COLUMNS = 4

# models (M, MODEL_COLUMNS) int32
MODEL_LEVEL, MODEL_LEVEL_END, MODEL_BONES = 0, 1, 2
MODEL_COLUMNS = 3

# objects (O, OBJECT_COLUMNS) int32: what of one frame may be seen
INSTANCE = 0  # -1: a static chunk
SOURCE = 1  # row of chunks or of levels
FIRST_VERTEX = 2  # in the vertex tables of the frame
FIRST_FACE = 3  # in the face tables of the frame; the 0th face is the sky
FACES = 4  # number of faces that can be seen
ROW, ROW_END = 5, 6  # rows of the picture that these faces can touch
OBJECT_COLUMNS = 7

# counts (COUNT_SIZE,) int64: of one frame
OBJECTS, VERTICES, ALL_FACES, CASTERS = 0, 1, 2, 3
NEXT_OBJECT, NEXT_CASTER, NEXT_SHADOW_BAND, NEXT_BAND, POLYGONS = 4, 5, 6, 7, 8
COUNT_SIZE = 9

# Screen coordinates are whole numbers of 1/16384 pixel, so that edges are exact: a vertex moves by 3e-5 pixel at most.
SHIFT = 14
FIXED_ONE = 1 << SHIFT
FIXED_HALF = FIXED_ONE >> 1
GUARD = 30000.0  # pixels: farther out than this from the picture's origin, triangles are clipped

# faces of a frame: ints (T, INT_COLUMNS) int32
X0 = 0  # x of the first corner; then its y, and x and y of the others
FACE_ROW, FACE_ROW_END, FACE_COLUMN = 6, 7, 8
POLYGON = 9  # row of the polygon table, or -1
MATERIAL = 10  # whose picture lies on it; -1: of one colour
IDENTITY = 11
SEMANTIC = 12
FLIPPED = 13
SPECIAL = 14  # 1: glows, or mirrors the sky
INT_COLUMNS = 15

# faces of a frame: floats (T, FLOAT_COLUMNS) float32; planes are (value, step per column, step per row); of sun and
# sky the value is at pixel (0, 0), of u and v at (FACE_COLUMN, FACE_ROW), as textures need more digits
SUN, AMBIENT, U, V = 0, 3, 6, 9
RED, GREEN, BLUE = 12, 13, 14
LEAST, MOST = 15, 16  # of the inverse depth
SHINE, EMIT = 17, 18  # gloss; light of its own, as a multiple of its colour
SOAKED = 19  # how much water it holds; below 0: so much, but it runs off
NORMAL = 20  # 3 numbers: unit, in the world, toward the camera; only where something needs it
FLOAT_COLUMNS = 23

# polygons of clipped faces (P, POLYGON_COLUMNS) int32: number of corners, then x and y of each
POLYGON_CORNERS = 9
POLYGON_COLUMNS = 1 + 2 * POLYGON_CORNERS

# materials (M, MATERIAL_COLUMNS) float32 and their pictures: pictures (M, 1 + levels) int32: log2 of the size, offsets
GLOSS, GLOW, TWO_SIDED = 0, 1, 2
PER_METRE = 3  # 1 / size of the picture
PLAIN_RED, PLAIN_GREEN, PLAIN_BLUE = 4, 5, 6
PLAIN = 7
MATERIAL_COLUMNS = 8
PICTURE_LEVELS = 12

# light (LIGHT_SIZE,) float32
SUN_X, SUN_Y, SUN_Z = 0, 1, 2
SUN_RGB, SKY_RGB, BOUNCE_RGB, ZENITH_RGB, HORIZON_RGB, FOG_RGB, CLOUD_RGB = 3, 6, 9, 12, 15, 18, 21
FOG = 24  # per metre
CLOUDS = 25  # share of the sky
SHADE = 26  # how much of the sun a shadow takes away, 0 … 1
TAPS = 27  # edge of the shadow's filter, texels
WET = 28
GLOWING = 29  # factor of materials' own light
CONTACT = 30  # how much darker walls are at their foot
DISC = 31  # brightness of the sun's disc
CLOUD_SHIFT = 32
LAMPS = 33  # how many
MIRROR_Z = 34  # m: height of the plane that the mirrored picture is of
SHELTER_X, SHELTER_Y = 35, 36  # m: where the map of shelter begins
LIGHT_SIZE = 37

# the map of shelter: how little of the sky the ground sees, 512² bytes over 64 m; each word holds a texel and those to
# its right, below it, and diagonally below
SHELTER_SIZE = 512
SHELTER_PER_METRE = 8.0

# lamps (K, LAMP_COLUMNS) float32
LAMP_X, LAMP_Y, LAMP_Z, LAMP_DX, LAMP_DY, LAMP_DZ, LAMP_COS, LAMP_R, LAMP_G, LAMP_B, LAMP_REACH = range(11)
LAMP_COLUMNS = 11

# pictures that a frame is asked for
WANT_RGB, WANT_DEPTH, WANT_SEMANTIC, WANT_INSTANCE = 1, 2, 4, 8


class StaticArrays(NamedTuple):
    """Everything that stands still, sorted into chunks: C chunks, V vertices, F faces."""

    chunks: Array  # (C, CHUNK_COLUMNS) int32
    boxes: Array  # (C, 6) float32: least and greatest corner, m
    vertices: Array  # (V, 3) float32
    uv: Array  # (V, 2) float32, m
    triangles: Array  # (F, 3) int32
    material: Array  # (F,) int32
    semantic: Array  # (F,) uint8
    identity: Array  # (F,) int32


class ModelArrays(NamedTuple):
    """All levels of detail of all models."""

    models: Array  # (M, MODEL_COLUMNS) int32
    levels: Array  # (levels, LEVEL_COLUMNS) int32
    heights: Array  # (M,) float32, m
    spheres: Array  # (M, bones, 4) float32: centre and radius about the vertices of each bone, at rest
    vertices: Array  # (V, 3) float32
    normals: Array  # (V, 3) float32
    bone_indices: Array  # (V, 2) int32
    weights: Array  # (V, 2) float32
    triangles: Array  # (F, 3) int32
    slot: Array  # (F,) int32
    semantic: Array  # (F,) uint8
    finish: Array  # (F, 2) float32: gloss and glow


class SurfaceArrays(NamedTuple):
    """Materials, their pictures, and how much water each semantic class holds."""

    materials: Array  # (K, MATERIAL_COLUMNS) float32
    pictures: Array  # (K, 1 + PICTURE_LEVELS) int32
    texels: Array  # (T,) uint32
    soak: Array  # (256,) float32


class SceneArrays(NamedTuple):
    """What does not change from frame to frame."""

    static: StaticArrays
    models: ModelArrays
    surfaces: SurfaceArrays


class InstanceArrays(NamedTuple):
    """What moves, in this frame."""

    model: Array  # (I,) int32
    bones: Array  # (I, bones, 3, 4) float32
    colours: Array  # (I, slots, 3) float32
    ids: Array  # (I,) int32


class ShadowArrays(NamedTuple):
    """The shadow map, flat: heights along the light of what stands still, and of everything."""

    static: Array  # (size²,) float32
    map: Array  # (size²,) float32
    to_texels: Array  # (12,): texel = M · (world - origin), three rows of four numbers
    planes: Array  # (4, 4): planes of the world that bound the map
    rays: Array  # (9,) float32: of a frame, see ``aim_shadow``
    eye: Array  # (3,) float32: of a frame
    size: int


class ShelterArrays(NamedTuple):
    """The map of shelter: texels of what stands still, and of everything, (SHELTER_SIZE, SHELTER_SIZE) uint8."""

    static: Array
    plain: Array
    packed: Array  # (SHELTER_SIZE²,) uint32: the words that shading reads
    boxes: Array  # (I, 4) int32: x, y, x end, y end of what each instance touched


class MirrorArrays(NamedTuple):
    """The world as mirrored in wet ground; ``width`` 0: nothing is mirrored."""

    picture: Array  # (2 size,) uint32: blurred, then clear
    far: Array  # (size,) float32, m
    width: int


class LightArrays(NamedTuple):
    """Light of one frame."""

    light: Array  # (LIGHT_SIZE,) float32
    lamps: Array  # (K, LAMP_COLUMNS) float32
    noise: Array  # (S, S) float32
    tones: Array  # (TONES,) int32
    lit: Array  # (V, 2) float32: share of sun and sky of every static vertex
    shelter: Array  # (SHELTER_SIZE²,) uint32
    shadow: ShadowArrays
    mirror: MirrorArrays


class View(NamedTuple):
    """The camera of a frame and what is drawn from it."""

    camera: Array  # (CAMERA_SIZE,)
    width: int
    height: int
    bands: int  # of rows, which threads share
    want: int  # bits of WANT_RGB …
    with_shadow: bool


class FrameArrays(NamedTuple):
    """Working memory of one frame."""

    counts: Array
    planes: Array
    objects: Array
    points: Array
    screen: Array
    flags: Array
    lights: Array
    ints: Array
    floats: Array
    depths: Array
    polygons: Array
    casters: Array
    caster_counts: Array
    caster_texels: Array
    caster_boxes: Array
    old_boxes: Array
    seen: Array


class Rgb(NamedTuple):
    """Three rows of float32, one number per pixel: colours, or coordinates of normals."""

    red: Array
    green: Array
    blue: Array


class ThreadArrays(NamedTuple):
    """Scratch of one thread; what has no comment is one float32 per pixel of a row."""

    bones: Array  # (bones, BONE_COLUMNS)
    cross: Array  # (9,)
    corners: Array  # (2, 16, 3)
    left: Array  # (height,) int64
    right: Array  # (height,) int64
    far: Array
    sun: Array
    sky: Array
    shaded_sun: Array
    through: Array
    surface: Rgb
    out: Rgb
    lamp: Rgb
    spare: Rgb
    normal: Rgb
    packed: Array  # (width,) int32
    owner: Array  # (width,) int32
    special: Array  # (width,) int32
    runs: Array  # (width, 2) int32


class Pictures(NamedTuple):
    """Where the pictures go, flat."""

    rgb: Array
    depth: Array
    semantic: Array
    instance: Array


class Line(NamedTuple):
    """One row of the picture, and where it begins in flat pictures."""

    camera: Array
    row: int
    width: int
    begin: np.uint64
