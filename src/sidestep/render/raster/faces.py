"""From vertices to faces that can be drawn: which way they look, where they are cut, and what varies over them.

Everything that is linear on a triangle in space, divided by depth, is linear on the picture. With the corners P of a
triangle as rows of a matrix, a quantity with values a at the corners is, at the pixel with ray r = (1, ry, rz)::

    a / X = (P⁻¹ a) · r        P⁻¹ = (P1 × P2, P2 × P0, P0 × P1) / (P0 · P1 × P2)

and the inverse depth itself is that for a = (1, 1, 1). This holds for the whole triangle, so a cut one needs no new
values at its new corners (M. Olano, T. Greer, 1997).
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import atomic_add, inlined, kernel
from sidestep.render.raster.layout import (
    AMBIENT,
    BLUE,
    CHUNK_FACE,
    CHUNK_FACE_END,
    CHUNK_VERTEX,
    CX,
    CY,
    EMIT,
    FACE_COLUMN,
    FACE_ROW,
    FACE_ROW_END,
    FACES,
    FIRST_FACE,
    FIRST_VERTEX,
    FLIPPED,
    FX,
    FY,
    GLOSS,
    GLOW,
    GLOWING,
    GREEN,
    IDENTITY,
    INSTANCE,
    LAMPS,
    LEAST,
    LEVEL_FACE,
    LEVEL_FACE_END,
    LEVEL_VERTEX,
    MATERIAL,
    MIRROR,
    MIRROR_Z,
    MOST,
    NORMAL,
    PER_METRE,
    PLAIN,
    PLAIN_BLUE,
    PLAIN_GREEN,
    PLAIN_RED,
    POLYGON,
    POLYGONS,
    RED,
    ROW,
    ROW_END,
    SEMANTIC,
    SHINE,
    SOAKED,
    SOURCE,
    SPECIAL,
    SUN,
    TURN,
    TWO_SIDED,
    WET,
    U,
    V,
)
from sidestep.render.raster.light import mark_red
from sidestep.render.raster.triangles import BEHIND, clip_triangle, first_centre

MIRRORED_FROM = 0.15  # m over the plane of the mirror: nothing lower is seen in wet ground, least of all ground
UPRIGHT = 0.8  # less of a normal's z than this: water runs off


@inlined
def _put(floats, face, plane, cross, fx, fy, ry, rz, a, b, c):
    """Store a quantity with values a, b, c at the corners as a plane anchored at the pixel with ray (1, ry, rz)."""
    gx = cross[0] * a + cross[3] * b + cross[6] * c
    gy = cross[1] * a + cross[4] * b + cross[7] * c
    gz = cross[2] * a + cross[5] * b + cross[8] * c
    floats[face, plane] = gx + gy * ry + gz * rz
    floats[face, plane + 1] = -gy / fx
    floats[face, plane + 2] = -gz / fy


@inlined
def _crosses(points, a, b, c, cross):
    """P⁻¹ but for the division by the determinant, which is returned."""
    ax, ay, az = points[a, 0], points[a, 1], points[a, 2]
    bx, by, bz = points[b, 0], points[b, 1], points[b, 2]
    cx, cy, cz = points[c, 0], points[c, 1], points[c, 2]
    cross[0], cross[1], cross[2] = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    cross[3], cross[4], cross[5] = cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax
    cross[6], cross[7], cross[8] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return ax * cross[0] + ay * cross[1] + az * cross[2]


@inlined
def _put_surface(camera, light, cross, ints, floats, face, shine, emit, soak):
    """What a face does besides being lit, and its normal if that matters: on the face ``c · p = 1`` in the camera's
    frame, where c is the gradient of the inverse depth over the ray."""
    emit *= light[GLOWING]
    special = shine > 0.0 or emit > 0.0
    ints[face, SPECIAL] = special
    floats[face, SHINE], floats[face, EMIT] = shine, emit
    if not (special or light[LAMPS] > 0.0 or light[WET] > 0.0):
        return
    gx, gy, gz = cross[0] + cross[3] + cross[6], cross[1] + cross[4] + cross[7], cross[2] + cross[5] + cross[8]
    scale = -1.0 / math.sqrt(gx * gx + gy * gy + gz * gz + 1e-30)
    for axis in range(3):
        floats[face, NORMAL + axis] = scale * (
            camera[TURN + axis] * gx + camera[TURN + 3 + axis] * gy + camera[TURN + 6 + axis] * gz
        )
    floats[face, SOAKED] = soak if floats[face, NORMAL + 2] > UPRIGHT else -soak


@kernel(forceinline=True)
def prepare_face(
    camera, width, height, two_sided, a, b, c, face, points, screen, flags, lights,
    ints, floats, planes, polygons, counts, cross, corners,
):  # fmt: skip
    """Cull, clip and set up the triangle of vertices a, b, c as ``face``; whether it is kept."""
    behind = flags[a] | flags[b] | flags[c]
    if flags[a] & flags[b] & flags[c] & BEHIND:
        return False
    polygon = -1
    if behind == 0:
        xa, ya = np.int64(screen[a, 0]), np.int64(screen[a, 1])
        xb, yb = np.int64(screen[b, 0]), np.int64(screen[b, 1])
        xc, yc = np.int64(screen[c, 0]), np.int64(screen[c, 1])
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        if area == 0:
            return False
        flipped = area > 0
        if not two_sided and flipped != (camera[MIRROR] != 0.0):
            return False
        x_least, x_most = min(xa, xb, xc), max(xa, xb, xc)
        y_least, y_most = min(ya, yb, yc), max(ya, yb, yc)
        near, far = max(points[a, 0], points[b, 0], points[c, 0]), min(points[a, 0], points[b, 0], points[c, 0])
        least, most = 1.0 / near, 1.0 / far
        ints[face, 0], ints[face, 1], ints[face, 2] = xa, ya, xb
        ints[face, 3], ints[face, 4], ints[face, 5] = yb, xc, yc
        row, row_end = max(first_centre(y_least), 0), min(first_centre(y_most), height)
        column, column_end = max(first_centre(x_least), 0), min(first_centre(x_most), width)
        if row >= row_end or column >= column_end:
            return False
        det = _crosses(points, a, b, c, cross)
    else:
        det = _crosses(points, a, b, c, cross)
        flipped = det > 0.0
        if not two_sided and flipped != (camera[MIRROR] != 0.0):
            return False
        polygon = atomic_add(counts, POLYGONS, 1)
        if polygon >= polygons.shape[0]:
            return False  # the frame is drawn again with more room
        count, least, most = clip_triangle(camera, points, a, b, c, corners, polygons[polygon])
        if count == 0:
            return False
        x_least = x_most = np.int64(polygons[polygon, 1])
        y_least = y_most = np.int64(polygons[polygon, 2])
        twice = np.int64(0)
        for k in range(count):
            j = k + 1 if k + 1 < count else 0
            x, y = np.int64(polygons[polygon, 1 + 2 * k]), np.int64(polygons[polygon, 2 + 2 * k])
            x_least, x_most, y_least, y_most = min(x_least, x), max(x_most, x), min(y_least, y), max(y_most, y)
            twice += x * np.int64(polygons[polygon, 2 + 2 * j]) - np.int64(polygons[polygon, 1 + 2 * j]) * y
        if twice == 0:
            return False
        flipped = twice > 0
        row, row_end = max(first_centre(y_least), 0), min(first_centre(y_most), height)
        column, column_end = max(first_centre(x_least), 0), min(first_centre(x_most), width)
        if row >= row_end or column >= column_end:
            return False
    if det == 0.0:
        return False
    for k in range(9):
        cross[k] /= det
    ints[face, FACE_ROW], ints[face, FACE_ROW_END] = row, row_end
    ints[face, FACE_COLUMN] = column
    ints[face, POLYGON] = polygon
    ints[face, FLIPPED] = flipped
    floats[face, LEAST], floats[face, MOST] = least, most
    fx, fy = camera[FX], camera[FY]
    gx, gy, gz = cross[0] + cross[3] + cross[6], cross[1] + cross[4] + cross[7], cross[2] + cross[5] + cross[8]
    planes[face, 0] = gx + gy * (camera[CX] - 0.5) / fx + gz * (camera[CY] - 0.5) / fy
    planes[face, 1], planes[face, 2] = -gy / fx, -gz / fy
    ry, rz = (camera[CX] - 0.5) / fx, (camera[CY] - 0.5) / fy
    _put(floats, face, SUN, cross, fx, fy, ry, rz, lights[a, 0], lights[b, 0], lights[c, 0])
    _put(floats, face, AMBIENT, cross, fx, fy, ry, rz, lights[a, 1], lights[b, 1], lights[c, 1])
    return True


@kernel
def prepare_chunk(
    camera, light, width, height, row, chunks, triangles, uv, vertices, material_of, semantic_of, identity_of,
    materials, soak, points, screen, flags, lights, ints, floats, planes, polygons, counts, cross, corners,
):  # fmt: skip
    """The faces of one static chunk."""
    chunk = row[SOURCE]
    shift = row[FIRST_VERTEX] - chunks[chunk, CHUNK_VERTEX]
    face = first = row[FIRST_FACE]
    top, bottom = height, 0
    lowest = light[MIRROR_Z] + MIRRORED_FROM
    for f in range(chunks[chunk, CHUNK_FACE], chunks[chunk, CHUNK_FACE_END]):
        i, j, k = triangles[f, 0], triangles[f, 1], triangles[f, 2]
        if camera[MIRROR] != 0.0 and max(vertices[i, 2], vertices[j, 2], vertices[k, 2]) < lowest:
            continue
        material = material_of[f]
        kept = prepare_face(
            camera, width, height, materials[material, TWO_SIDED] != 0, i + shift, j + shift, k + shift, face,
            points, screen, flags, lights, ints, floats, planes, polygons, counts, cross, corners,
        )  # fmt: skip
        if not kept:
            continue
        plain = materials[material, PLAIN] != 0
        ints[face, MATERIAL] = -1 if plain else material
        ints[face, IDENTITY] = identity_of[f]
        ints[face, SEMANTIC] = semantic_of[f]
        _put_surface(
            camera, light, cross, ints, floats, face,
            materials[material, GLOSS], materials[material, GLOW], soak[np.uint64(semantic_of[f])],
        )  # fmt: skip
        if plain:
            red = materials[material, PLAIN_RED]
            floats[face, RED] = mark_red(red) if ints[face, SPECIAL] != 0 else red
            floats[face, GREEN] = materials[material, PLAIN_GREEN]
            floats[face, BLUE] = materials[material, PLAIN_BLUE]
        else:
            floats[face, RED] = mark_red(np.float32(0.0))
            fx, fy = camera[FX], camera[FY]
            ry = (camera[CX] - ints[face, FACE_COLUMN] - 0.5) / fx
            rz = (camera[CY] - ints[face, FACE_ROW] - 0.5) / fy
            scale = np.float64(materials[material, PER_METRE])
            _put(floats, face, U, cross, fx, fy, ry, rz, scale * uv[i, 0], scale * uv[j, 0], scale * uv[k, 0])
            _put(floats, face, V, cross, fx, fy, ry, rz, scale * uv[i, 1], scale * uv[j, 1], scale * uv[k, 1])
        top, bottom = min(top, ints[face, FACE_ROW]), max(bottom, ints[face, FACE_ROW_END])
        face += 1
    row[FACES] = face - first
    row[ROW], row[ROW_END] = top, bottom


@kernel
def prepare_instance(
    camera, light, width, height, row, levels, triangles, slot_of, semantic_of, coat_of, colours, ids, points,
    screen, flags, lights, ints, floats, planes, polygons, counts, cross, corners,
):  # fmt: skip
    """The faces of one instance, each in the colour that the instance gives its slot."""
    instance, level = row[INSTANCE], row[SOURCE]
    shift = row[FIRST_VERTEX] - levels[level, LEVEL_VERTEX]
    face = first = row[FIRST_FACE]
    top, bottom = height, 0
    for f in range(levels[level, LEVEL_FACE], levels[level, LEVEL_FACE_END]):
        i, j, k = triangles[f, 0] + shift, triangles[f, 1] + shift, triangles[f, 2] + shift
        kept = prepare_face(
            camera, width, height, False, i, j, k, face,
            points, screen, flags, lights, ints, floats, planes, polygons, counts, cross, corners,
        )  # fmt: skip
        if not kept:
            continue
        ints[face, MATERIAL] = -1
        ints[face, IDENTITY] = ids[instance]
        ints[face, SEMANTIC] = semantic_of[f]
        _put_surface(camera, light, cross, ints, floats, face, coat_of[f, 0], coat_of[f, 1], np.float32(0.0))
        slot = slot_of[f]
        red = colours[instance, slot, 0]
        floats[face, RED] = mark_red(red) if ints[face, SPECIAL] != 0 else red
        floats[face, GREEN] = colours[instance, slot, 1]
        floats[face, BLUE] = colours[instance, slot, 2]
        top, bottom = min(top, ints[face, FACE_ROW]), max(bottom, ints[face, FACE_ROW_END])
        face += 1
    row[FACES] = face - first
    row[ROW], row[ROW_END] = top, bottom
