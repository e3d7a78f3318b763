"""From vertices to faces that can be drawn: which way they look, where they are cut, and what varies over them.

Everything that is linear on a triangle in space, divided by depth, is linear on the picture. With the corners P of a
triangle as rows of a matrix, a quantity with values a at the corners is, at the pixel with ray r = (1, ry, rz)::

    a / X = (P⁻¹ a) · r        P⁻¹ = (P1 × P2, P2 × P0, P0 × P1) / (P0 · P1 × P2)

and the inverse depth itself is that for a = (1, 1, 1). This holds for the whole triangle, so a cut one needs no new
values at its new corners (M. Olano, T. Greer, 1997).
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import atomic_add, inlined
from sidestep.render.raster import layout as L
from sidestep.render.raster.layout import Array
from sidestep.render.raster.light import mark_red
from sidestep.render.raster.triangles import BEHIND, clip_triangle, first_centre

MIRRORED_FROM = 0.15  # m over the plane of the mirror: nothing lower is seen in wet ground, least of all ground
UPRIGHT = 0.8  # less of a normal's z than this: water runs off


Corners = tuple[float, float, float]


@inlined
def _put(
    camera: Array, anchor: tuple[int, int], cross: Array, floats: Array, face: int, plane: int, values: Corners
) -> None:
    """Store a quantity with ``values`` at the corners as a plane anchored at the pixel ``anchor`` (column, row)."""
    fx, fy, (a, b, c) = camera[L.FX], camera[L.FY], values
    ry, rz = (camera[L.CX] - anchor[0] - 0.5) / fx, (camera[L.CY] - anchor[1] - 0.5) / fy
    gx = cross[0] * a + cross[3] * b + cross[6] * c
    gy = cross[1] * a + cross[4] * b + cross[7] * c
    gz = cross[2] * a + cross[5] * b + cross[8] * c
    floats[face, plane] = gx + gy * ry + gz * rz
    floats[face, plane + 1] = -gy / fx
    floats[face, plane + 2] = -gz / fy


@inlined
def _crosses(points: Array, a: int, b: int, c: int, cross: Array) -> Any:
    """P⁻¹ but for the division by the determinant, which is returned."""
    ax, ay, az = points[a, 0], points[a, 1], points[a, 2]
    bx, by, bz = points[b, 0], points[b, 1], points[b, 2]
    cx, cy, cz = points[c, 0], points[c, 1], points[c, 2]
    cross[0], cross[1], cross[2] = by * cz - bz * cy, bz * cx - bx * cz, bx * cy - by * cx
    cross[3], cross[4], cross[5] = cy * az - cz * ay, cz * ax - cx * az, cx * ay - cy * ax
    cross[6], cross[7], cross[8] = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    return ax * cross[0] + ay * cross[1] + az * cross[2]


@inlined
def _gradient(cross: Array) -> Corners:
    """Gradient of the inverse depth over the ray."""
    return cross[0] + cross[3] + cross[6], cross[1] + cross[4] + cross[7], cross[2] + cross[5] + cross[8]


@inlined
def _put_surface(
    camera: Array,
    light: Array,
    cross: Array,
    frame: L.FrameArrays,
    face: int,
    finish: tuple[float, float],
    soak: float | np.float32,
) -> None:
    """What a face does besides being lit (``finish``: gloss and glow), and its normal if that matters: on the face
    ``c · p = 1`` in the camera's frame, where c is the gradient of the inverse depth."""
    floats, shine, emit = frame.floats, finish[0], finish[1] * light[L.GLOWING]
    special = shine > 0.0 or emit > 0.0
    frame.ints[face, L.SPECIAL] = special
    floats[face, L.SHINE], floats[face, L.EMIT] = shine, emit
    if not (special or light[L.LAMPS] > 0.0 or light[L.WET] > 0.0):
        return
    gx, gy, gz = _gradient(cross)
    scale = -1.0 / math.sqrt(gx * gx + gy * gy + gz * gz + 1e-30)
    for axis in range(3):
        floats[face, L.NORMAL + axis] = scale * (
            camera[L.TURN + axis] * gx + camera[L.TURN + 3 + axis] * gy + camera[L.TURN + 6 + axis] * gz
        )
    floats[face, L.SOAKED] = soak if floats[face, L.NORMAL + 2] > UPRIGHT else -soak


@inlined
def prepare_face(
    view: L.View, two_sided: bool, a: int, b: int, c: int, face: int, frame: L.FrameArrays, thread: L.ThreadArrays
) -> bool:
    """Cull, clip and set up the triangle of vertices a, b, c as ``face``; whether it can be seen."""
    camera, cross, points, flags, ints = view.camera, thread.cross, frame.points, frame.flags, frame.ints
    behind = flags[a] | flags[b] | flags[c]
    if flags[a] & flags[b] & flags[c] & BEHIND:
        return False
    polygon = -1
    if behind == 0:
        screen = frame.screen
        xa, ya = np.int64(screen[a, 0]), np.int64(screen[a, 1])
        xb, yb = np.int64(screen[b, 0]), np.int64(screen[b, 1])
        xc, yc = np.int64(screen[c, 0]), np.int64(screen[c, 1])
        area = (xb - xa) * (yc - ya) - (xc - xa) * (yb - ya)
        if area == 0:
            return False
        flipped = area > 0
        if not two_sided and flipped != (camera[L.MIRROR] != 0.0):
            return False
        x_least, x_most = min(xa, xb, xc), max(xa, xb, xc)
        y_least, y_most = min(ya, yb, yc), max(ya, yb, yc)
        near, far = max(points[a, 0], points[b, 0], points[c, 0]), min(points[a, 0], points[b, 0], points[c, 0])
        least, most = 1.0 / near, 1.0 / far
        ints[face, 0], ints[face, 1], ints[face, 2] = xa, ya, xb
        ints[face, 3], ints[face, 4], ints[face, 5] = yb, xc, yc
        row, row_end = max(first_centre(y_least), 0), min(first_centre(y_most), view.height)
        column, column_end = max(first_centre(x_least), 0), min(first_centre(x_most), view.width)
        if row >= row_end or column >= column_end:
            return False
        det = _crosses(points, a, b, c, cross)
    else:
        det = _crosses(points, a, b, c, cross)
        flipped = det > 0.0
        if not two_sided and flipped != (camera[L.MIRROR] != 0.0):
            return False
        polygons = frame.polygons
        polygon = atomic_add(frame.counts, L.POLYGONS, 1)
        if polygon >= polygons.shape[0]:
            return False  # the frame is drawn again with more room
        count, least, most = clip_triangle(camera, points, a, b, c, thread.corners, polygons[polygon])
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
        row, row_end = max(first_centre(y_least), 0), min(first_centre(y_most), view.height)
        column, column_end = max(first_centre(x_least), 0), min(first_centre(x_most), view.width)
        if row >= row_end or column >= column_end:
            return False
    if det == 0.0:
        return False
    for k in range(9):
        cross[k] /= det
    ints[face, L.FACE_ROW], ints[face, L.FACE_ROW_END] = row, row_end
    ints[face, L.FACE_COLUMN] = column
    ints[face, L.POLYGON] = polygon
    ints[face, L.FLIPPED] = flipped
    floats, planes, lights = frame.floats, frame.depths, frame.lights
    floats[face, L.LEAST], floats[face, L.MOST] = least, most
    fx, fy = camera[L.FX], camera[L.FY]
    gx, gy, gz = _gradient(cross)
    planes[face, 0] = gx + gy * (camera[L.CX] - 0.5) / fx + gz * (camera[L.CY] - 0.5) / fy
    planes[face, 1], planes[face, 2] = -gy / fx, -gz / fy
    _put(camera, (0, 0), cross, floats, face, L.SUN, (lights[a, 0], lights[b, 0], lights[c, 0]))
    _put(camera, (0, 0), cross, floats, face, L.AMBIENT, (lights[a, 1], lights[b, 1], lights[c, 1]))
    return True


@inlined
def prepare_chunk(
    view: L.View,
    light: Array,
    row: Array,
    static: L.StaticArrays,
    surfaces: L.SurfaceArrays,
    frame: L.FrameArrays,
    thread: L.ThreadArrays,
) -> None:
    """The faces of one static chunk."""
    camera, ints, floats, materials, uv = view.camera, frame.ints, frame.floats, surfaces.materials, static.uv
    chunk, vertices = row[L.SOURCE], static.vertices
    shift = row[L.FIRST_VERTEX] - static.chunks[chunk, L.CHUNK_VERTEX]
    face = first = row[L.FIRST_FACE]
    top, bottom = view.height, 0
    lowest = light[L.MIRROR_Z] + MIRRORED_FROM
    for f in range(static.chunks[chunk, L.CHUNK_FACE], static.chunks[chunk, L.CHUNK_FACE_END]):
        i, j, k = static.triangles[f, 0], static.triangles[f, 1], static.triangles[f, 2]
        if camera[L.MIRROR] != 0.0 and max(vertices[i, 2], vertices[j, 2], vertices[k, 2]) < lowest:
            continue
        material = static.material[f]
        two_sided = materials[material, L.TWO_SIDED] != 0
        if not prepare_face(view, two_sided, i + shift, j + shift, k + shift, face, frame, thread):
            continue
        plain = materials[material, L.PLAIN] != 0
        ints[face, L.MATERIAL] = -1 if plain else material
        ints[face, L.IDENTITY] = static.identity[f]
        ints[face, L.SEMANTIC] = static.semantic[f]
        finish = materials[material, L.GLOSS], materials[material, L.GLOW]
        _put_surface(camera, light, thread.cross, frame, face, finish, surfaces.soak[np.uint64(static.semantic[f])])
        if plain:
            red = materials[material, L.PLAIN_RED]
            floats[face, L.RED] = mark_red(red) if ints[face, L.SPECIAL] != 0 else red
            floats[face, L.GREEN] = materials[material, L.PLAIN_GREEN]
            floats[face, L.BLUE] = materials[material, L.PLAIN_BLUE]
        else:
            floats[face, L.RED] = mark_red(np.float32(0.0))
            anchor, scale = (
                (ints[face, L.FACE_COLUMN], ints[face, L.FACE_ROW]),
                np.float64(materials[material, L.PER_METRE]),
            )
            us = scale * uv[i, 0], scale * uv[j, 0], scale * uv[k, 0]
            _put(camera, anchor, thread.cross, floats, face, L.U, us)
            vs = scale * uv[i, 1], scale * uv[j, 1], scale * uv[k, 1]
            _put(camera, anchor, thread.cross, floats, face, L.V, vs)
        top, bottom = min(top, ints[face, L.FACE_ROW]), max(bottom, ints[face, L.FACE_ROW_END])
        face += 1
    row[L.FACES] = face - first
    row[L.ROW], row[L.ROW_END] = top, bottom


@inlined
def prepare_instance(
    view: L.View,
    light: Array,
    row: Array,
    models: L.ModelArrays,
    instances: L.InstanceArrays,
    frame: L.FrameArrays,
    thread: L.ThreadArrays,
) -> None:
    """The faces of one instance, each in the colour that the instance gives its slot."""
    ints, floats, levels, triangles = frame.ints, frame.floats, models.levels, models.triangles
    instance, level = row[L.INSTANCE], row[L.SOURCE]
    shift = row[L.FIRST_VERTEX] - levels[level, L.LEVEL_VERTEX]
    face = first = row[L.FIRST_FACE]
    top, bottom = view.height, 0
    for f in range(levels[level, L.LEVEL_FACE], levels[level, L.LEVEL_FACE_END]):
        i, j, k = triangles[f, 0] + shift, triangles[f, 1] + shift, triangles[f, 2] + shift
        if not prepare_face(view, False, i, j, k, face, frame, thread):
            continue
        ints[face, L.MATERIAL] = -1
        ints[face, L.IDENTITY] = instances.ids[instance]
        ints[face, L.SEMANTIC] = models.semantic[f]
        finish = models.finish[f, 0], models.finish[f, 1]
        _put_surface(view.camera, light, thread.cross, frame, face, finish, np.float32(0.0))
        colour = instances.colours[instance, models.slot[f]]
        floats[face, L.RED] = mark_red(colour[0]) if ints[face, L.SPECIAL] != 0 else colour[0]
        floats[face, L.GREEN], floats[face, L.BLUE] = colour[1], colour[2]
        top, bottom = min(top, ints[face, L.FACE_ROW]), max(bottom, ints[face, L.FACE_ROW_END])
        face += 1
    row[L.FACES] = face - first
    row[L.ROW], row[L.ROW_END] = top, bottom
