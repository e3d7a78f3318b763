"""Columns of the tables that the stages of the rasteriser share.

The camera's frame: x along the optical axis, y to the left, z up; a point at (X, Y, Z) falls on the picture at
``u = cx - fx Y / X``, ``v = cy - fy Z / X``, pixels; the centre of pixel (column i, row j) is (i + ½, j + ½).

The stages: ``raster_cull`` chooses what may be seen, ``raster_vertices`` moves vertices into the camera's frame,
``raster_faces`` clips and prepares triangles, ``raster_shadow`` draws what the light sees, ``raster_scan`` fills the
visibility buffer, ``raster_shade`` gives each pixel its colour once, ``raster_frame`` puts them in order.
"""

from __future__ import annotations

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
FACES = 4  # how many faces were kept
ROW, ROW_END = 5, 6  # rows of the picture that the kept faces can touch
OBJECT_COLUMNS = 7

# counts (COUNT_SIZE,) int64: of one frame
OBJECTS, VERTICES, ALL_FACES, CASTERS, CASTER_VERTICES = 0, 1, 2, 3, 4
NEXT_OBJECT, NEXT_CASTER, NEXT_SHADOW_BAND, NEXT_BAND, POLYGONS = 5, 6, 7, 8, 9
COUNT_SIZE = 10

# Screen coordinates are whole numbers of 1/16384 pixel, so that edges are exact: a vertex moves by 3e-5 pixel at most.
SHIFT = 14
ONE = 1 << SHIFT
HALF = ONE >> 1
GUARD = 30000.0  # pixels: farther out than this from the picture's origin, triangles are clipped

# faces of a frame: ints (T, INT_COLUMNS) int32
X0, Y0, X1, Y1, X2, Y2 = 0, 1, 2, 3, 4, 5
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
GLOSS, GLOW, TWO_SIDED, GROUND = 0, 1, 2, 3
PER_METRE = 4  # 1 / size of the picture
PLAIN_RED, PLAIN_GREEN, PLAIN_BLUE = 5, 6, 7
PLAIN = 8
MATERIAL_COLUMNS = 9
PICTURE_LEVELS = 12

# shadow (SHADOW_SIZE,) float64: texel = M · (world - origin): three rows of four numbers
SHADOW_SIZE = 12

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
