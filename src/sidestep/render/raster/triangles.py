"""From vertices of the world to samples of the picture: vertices are moved by bones into the camera's frame and
projected, triangles are cut at the near plane and far off the picture, and what is left is scanned row by row into
the visibility buffer. Two triangles that share an edge cut it at the same point, bit for bit: the point is computed
from the end that stays, and the planes come in one order, so no gap opens between them.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster.intrinsics import peek, poke, to_bits
from sidestep.render.raster.layout import (
    CHUNK_VERTEX,
    CHUNK_VERTEX_END,
    CX,
    CY,
    EYE,
    FACE_ROW,
    FACE_ROW_END,
    FIRST_VERTEX,
    FLIPPED,
    FX,
    FY,
    GUARD,
    HALF,
    INSTANCE,
    LEAST,
    LEVEL_VERTEX,
    LEVEL_VERTEX_END,
    MODEL_BONES,
    MOST,
    NEAR,
    ONE,
    POLYGON,
    POLYGON_CORNERS,
    SHIFT,
    SOURCE,
    SUN_X,
    SUN_Y,
    SUN_Z,
    TURN,
    X0,
    Y0,
)

BEHIND, OUTSIDE = 1, 2  # flags of a vertex: nearer than the near plane; too far off the picture for whole numbers
BONE_COLUMNS = 18  # of the scratch: 12 of the matrix, then the sun's and the zenith's direction


@inlined
def _fixed(value):
    """A coordinate of the picture in whole numbers of 1/16384 pixel, rounded."""
    scaled = value * ONE + 0.5
    whole = np.int64(scaled)
    return np.int32(whole - np.int64(np.float64(whole) > scaled))


@inlined
def _project(camera, k, x, y, z, points, screen, flags):
    """Without a branch, so that loops over vertices compile to vector instructions."""
    ahead = x >= peek(camera, np.uint64(NEAR))
    inverse = 1.0 / (x if ahead else 1.0)
    u = peek(camera, np.uint64(CX)) - peek(camera, np.uint64(FX)) * y * inverse
    v = peek(camera, np.uint64(CY)) - peek(camera, np.uint64(FY)) * z * inverse
    near = (abs(u) < GUARD) & (abs(v) < GUARD)
    poke(points, np.uint64(3) * k, x)
    poke(points, np.uint64(3) * k + np.uint64(1), y)
    poke(points, np.uint64(3) * k + np.uint64(2), z)
    poke(screen, np.uint64(2) * k, _fixed(u if near else 0.0))
    poke(screen, np.uint64(2) * k + np.uint64(1), _fixed(v if near else 0.0))
    poke(flags, k, np.uint8(0 if near else OUTSIDE) if ahead else np.uint8(BEHIND))


@kernel
def move_chunk(camera, row, chunks, vertices, lit, points, screen, flags, lights):
    """The vertices of one static chunk; ``lit`` (V, 2): the sun's and the sky's share, known before the frame."""
    chunk = row[SOURCE]
    first, begin = np.uint64(row[FIRST_VERTEX]), np.uint64(chunks[chunk, CHUNK_VERTEX])
    ex, ey, ez = camera[EYE], camera[EYE + 1], camera[EYE + 2]
    ax, ay, az = camera[TURN], camera[TURN + 1], camera[TURN + 2]
    bx, by, bz = camera[TURN + 3], camera[TURN + 4], camera[TURN + 5]
    cx, cy, cz = camera[TURN + 6], camera[TURN + 7], camera[TURN + 8]
    for n in range(np.uint64(chunks[chunk, CHUNK_VERTEX_END] - chunks[chunk, CHUNK_VERTEX])):
        place = np.uint64(3) * (begin + n)
        dx = np.float64(peek(vertices, place)) - ex
        dy = np.float64(peek(vertices, place + np.uint64(1))) - ey
        dz = np.float64(peek(vertices, place + np.uint64(2))) - ez
        x, y, z = ax * dx + ay * dy + az * dz, bx * dx + by * dy + bz * dz, cx * dx + cy * dy + cz * dz
        _project(camera, first + n, x, y, z, points, screen, flags)
        twice, there = np.uint64(2) * (first + n), np.uint64(2) * (begin + n)
        poke(lights, twice, peek(lit, there))
        poke(lights, twice + np.uint64(1), peek(lit, there + np.uint64(1)))


@kernel
def move_bones(camera, light, bones, count, scratch):
    """Each bone in the camera's frame, and the sun and the zenith in the bone's."""
    for b in range(count):
        for i in range(3):
            for j in range(4):
                total = 0.0
                for axis in range(3):
                    value = np.float64(bones[b, axis, j])
                    if j == 3:
                        value -= camera[EYE + axis]
                    total += camera[TURN + 3 * i + axis] * value
                scratch[b, 4 * i + j] = total
        for j in range(3):
            sun = light[SUN_X] * bones[b, 0, j] + light[SUN_Y] * bones[b, 1, j] + light[SUN_Z] * bones[b, 2, j]
            scratch[b, 12 + j] = sun
            scratch[b, 15 + j] = bones[b, 2, j]


@kernel
def move_instance(
    camera, light, row, models, levels, model_of, bones,
    vertices, normals, hangs, weights, scratch, points, screen, flags, lights,
):  # fmt: skip
    """The vertices of one instance, blended between the two bones of each."""
    instance = row[INSTANCE]
    level = row[SOURCE]
    move_bones(camera, light, bones[instance], models[model_of[instance], MODEL_BONES], scratch)
    k = row[FIRST_VERTEX]
    for v in range(levels[level, LEVEL_VERTEX], levels[level, LEVEL_VERTEX_END]):
        px, py, pz = np.float64(vertices[v, 0]), np.float64(vertices[v, 1]), np.float64(vertices[v, 2])
        nx, ny, nz = np.float64(normals[v, 0]), np.float64(normals[v, 1]), np.float64(normals[v, 2])
        x, y, z, sun, up = 0.0, 0.0, 0.0, 0.0, 0.0
        for end in range(2):
            weight = np.float64(weights[v, end])
            if weight != 0.0:
                b = hangs[v, end]
                x += weight * (scratch[b, 0] * px + scratch[b, 1] * py + scratch[b, 2] * pz + scratch[b, 3])
                y += weight * (scratch[b, 4] * px + scratch[b, 5] * py + scratch[b, 6] * pz + scratch[b, 7])
                z += weight * (scratch[b, 8] * px + scratch[b, 9] * py + scratch[b, 10] * pz + scratch[b, 11])
                sun += weight * (scratch[b, 12] * nx + scratch[b, 13] * ny + scratch[b, 14] * nz)
                up += weight * (scratch[b, 15] * nx + scratch[b, 16] * ny + scratch[b, 17] * nz)
        _project(camera, np.uint64(k), x, y, z, points, screen, flags)
        lights[k, 0], lights[k, 1] = sun, 0.5 + 0.5 * up
        k += 1


PLANES = 5


@inlined
def _inside(camera, plane, x, y, z):
    """Signed distance, of any scale, from the near plane or from one of the four guards."""
    if plane == 0:
        return x - camera[NEAR]
    if plane == 1:
        return GUARD * x + (camera[CX] * x - camera[FX] * y)
    if plane == 2:
        return GUARD * x - (camera[CX] * x - camera[FX] * y)
    if plane == 3:
        return GUARD * x + (camera[CY] * x - camera[FY] * z)
    return GUARD * x - (camera[CY] * x - camera[FY] * z)


@kernel
def clip_triangle(camera, points, a, b, c, corners, polygon):
    """Cut the triangle of ``points`` a, b, c; ``corners`` (2, 9, 3) float64 is scratch.

    Fills ``polygon`` with the number of corners and their fixed-point x and y; returns that number (0: nothing is
    left) and the least and greatest inverse depth.
    """
    for axis in range(3):
        corners[0, 0, axis] = points[a, axis]
        corners[0, 1, axis] = points[b, axis]
        corners[0, 2, axis] = points[c, axis]
    count, now = 3, 0
    for plane in range(PLANES):
        kept = 0
        for k in range(count):
            following = k + 1 if k + 1 < count else 0
            x0, y0, z0 = corners[now, k, 0], corners[now, k, 1], corners[now, k, 2]
            x1, y1, z1 = corners[now, following, 0], corners[now, following, 1], corners[now, following, 2]
            d0, d1 = _inside(camera, plane, x0, y0, z0), _inside(camera, plane, x1, y1, z1)
            if d0 >= 0.0:
                corners[1 - now, kept, 0], corners[1 - now, kept, 1], corners[1 - now, kept, 2] = x0, y0, z0
                kept += 1
            if (d0 >= 0.0) != (d1 >= 0.0):
                if d0 < 0.0:  # from the end that stays
                    x0, y0, z0, x1, y1, z1, d0, d1 = x1, y1, z1, x0, y0, z0, d1, d0
                t = d0 / (d0 - d1)
                corners[1 - now, kept, 0] = x0 + t * (x1 - x0) if plane != 0 else camera[NEAR]
                corners[1 - now, kept, 1] = y0 + t * (y1 - y0)
                corners[1 - now, kept, 2] = z0 + t * (z1 - z0)
                kept += 1
        count, now = kept, 1 - now
        if count < 3:
            return 0, 0.0, 0.0
    least, most = math.inf, 0.0
    polygon[0] = count
    for k in range(min(count, POLYGON_CORNERS)):
        inverse = 1.0 / corners[now, k, 0]
        least, most = min(least, inverse), max(most, inverse)
        u = camera[CX] - camera[FX] * corners[now, k, 1] * inverse
        v = camera[CY] - camera[FY] * corners[now, k, 2] * inverse
        polygon[1 + 2 * k] = math.floor(u * ONE + 0.5)
        polygon[2 + 2 * k] = math.floor(v * ONE + 0.5)
    return count, least, most


@inlined
def first_centre(coordinate):
    """The first pixel whose centre is not before a fixed-point coordinate."""
    return (coordinate - HALF + ONE - 1) >> SHIFT


@kernel
def scan_edge(xa, ya, xb, yb, row, row_end, out):
    """For each row between ``row`` and ``row_end`` that the edge from (xa, ya) down to (xb, yb) crosses: the first
    pixel whose centre is not left of the edge, stepped in whole numbers without rounding."""
    first, last = max(first_centre(ya), row), min(first_centre(yb), row_end)
    if first >= last:
        return
    dx, dy = xb - xa, yb - ya
    whole = dy << SHIFT
    above = (xa - HALF) * dy + ((first << SHIFT) + HALF - ya) * dx
    pixel = np.int64(np.float64(above) / np.float64(whole))  # near enough: whole numbers divide more slowly
    spare = pixel * whole - above
    while spare < 0:
        pixel += 1
        spare += whole
    while spare >= whole:
        pixel -= 1
        spare -= whole
    out[np.uint64(first)] = pixel
    if last - first == 1:
        return
    step = np.int64(np.float64(dx) / np.float64(dy))
    rest = dx - step * dy
    if rest < 0:
        step -= 1
        rest += dy
    rest <<= SHIFT
    for r in range(first + 1, last):
        pixel += step
        spare -= rest
        if spare < 0:
            spare += whole
            pixel += 1
        out[np.uint64(r)] = pixel


@inlined
def _edge(xa, ya, xb, yb, flipped, row, row_end, left, right):
    """Downward edges are on the left of a polygon that runs counter-clockwise on the picture, upward ones right."""
    if ya < yb:
        scan_edge(xa, ya, xb, yb, row, row_end, right if flipped else left)
    elif ya > yb:
        scan_edge(xb, yb, xa, ya, row, row_end, left if flipped else right)


@kernel(forceinline=True)
def scan_face(ints, polygons, face, row, row_end, left, right):
    """Fill ``left`` and ``right`` (one past the last pixel) for the rows of one face."""
    flipped = ints[face, FLIPPED] != 0
    polygon = ints[face, POLYGON]
    if polygon < 0:
        xa, ya = np.int64(ints[face, X0]), np.int64(ints[face, Y0])
        xb, yb = np.int64(ints[face, X0 + 2]), np.int64(ints[face, Y0 + 2])
        xc, yc = np.int64(ints[face, X0 + 4]), np.int64(ints[face, Y0 + 4])
        _edge(xa, ya, xb, yb, flipped, row, row_end, left, right)
        _edge(xb, yb, xc, yc, flipped, row, row_end, left, right)
        _edge(xc, yc, xa, ya, flipped, row, row_end, left, right)
        return
    count = polygons[polygon, 0]
    for k in range(count):
        j = k + 1 if k + 1 < count else 0
        _edge(
            np.int64(polygons[polygon, 1 + 2 * k]), np.int64(polygons[polygon, 2 + 2 * k]),
            np.int64(polygons[polygon, 1 + 2 * j]), np.int64(polygons[polygon, 2 + 2 * j]),
            flipped, row, row_end, left, right,
        )  # fmt: skip


@inlined
def _fill_row(seen, begin, count, value, step, least, most, face):
    for k in range(np.uint64(count)):
        inverse = value + step * np.float32(np.int32(k))
        inverse = inverse if inverse > least else least
        inverse = inverse if inverse < most else most
        key = (np.uint64(to_bits(inverse)) << np.uint64(32)) | face
        place = begin + k
        old = seen[place]
        seen[place] = key if key > old else old


@kernel(forceinline=True)
def draw_face(ints, floats, planes, polygons, face, width, band, band_end, left, right, seen):
    """Put one face into the rows ``band`` … ``band_end`` of the visibility buffer (rows × width, flat)."""
    row, row_end = max(ints[face, FACE_ROW], band), min(ints[face, FACE_ROW_END], band_end)
    if row >= row_end:
        return
    scan_face(ints, polygons, face, row, row_end, left, right)
    least, most = floats[face, LEAST], floats[face, MOST]
    origin, per_column, per_row = planes[face, 0], planes[face, 1], planes[face, 2]
    step = np.float32(per_column)
    number = np.uint64(face)
    for r in range(row, row_end):
        begin, end = max(left[np.uint64(r)], 0), min(right[np.uint64(r)], width)
        if begin < end:
            value = np.float32(origin + per_row * r + per_column * begin)
            _fill_row(seen, np.uint64(r * width + begin), end - begin, value, step, least, most, number)
