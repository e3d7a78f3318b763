"""From vertices of the world to samples of the picture: vertices are moved by bones into the camera's frame and
projected, triangles are cut at the near plane and far off the picture, and what is left is scanned row by row into
the visibility buffer. Two triangles that share an edge cut it at the same point, bit for bit: the point is computed
from the end that stays, and the planes come in one order, so no gap opens between them.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.intrinsics import peek, poke, to_bits
from sidestep.render.raster.layout import Array

Corner = tuple[int, int]
Limits = tuple[np.float32, np.float32]
BEHIND, OUTSIDE = 1, 2  # flags of a vertex: nearer than the near plane; too far off the picture for whole numbers
BONE_COLUMNS = 18  # of the scratch: 12 of the matrix, then the sun's and the zenith's direction


@inlined
def _fixed(value: float) -> np.int32:
    """A coordinate of the picture in whole numbers of 1/16384 pixel, rounded."""
    scaled = value * L.FIXED_ONE + 0.5
    whole = np.int64(scaled)
    return np.int32(whole - np.int64(np.float64(whole) > scaled))


@inlined
def _project(camera: Array, k: np.uint64, x: float, y: float, z: float, frame: L.FrameArrays) -> None:
    """Store vertex ``k``; without a branch, so that loops over vertices compile to vector instructions."""
    ahead = x >= peek(camera, np.uint64(L.NEAR))
    inverse = 1.0 / (x if ahead else 1.0)
    u = peek(camera, np.uint64(L.CX)) - peek(camera, np.uint64(L.FX)) * y * inverse
    v = peek(camera, np.uint64(L.CY)) - peek(camera, np.uint64(L.FY)) * z * inverse
    near = (abs(u) < L.GUARD) & (abs(v) < L.GUARD)
    poke(frame.points, np.uint64(3) * k, x)
    poke(frame.points, np.uint64(3) * k + np.uint64(1), y)
    poke(frame.points, np.uint64(3) * k + np.uint64(2), z)
    poke(frame.screen, np.uint64(2) * k, _fixed(u if near else 0.0))
    poke(frame.screen, np.uint64(2) * k + np.uint64(1), _fixed(v if near else 0.0))
    poke(frame.flags, k, np.uint8(0 if near else OUTSIDE) if ahead else np.uint8(BEHIND))


@inlined
def move_chunk(camera: Array, row: Array, static: L.StaticArrays, lit: Array, frame: L.FrameArrays) -> None:
    """The vertices of one static chunk; ``lit`` (V, 2): the sun's and the sky's share, known before the frame."""
    chunk, vertices = static.chunks[row[L.SOURCE]], static.vertices
    first, begin = np.uint64(row[L.FIRST_VERTEX]), np.uint64(chunk[L.CHUNK_VERTEX])
    ex, ey, ez = camera[L.EYE], camera[L.EYE + 1], camera[L.EYE + 2]
    ax, ay, az = camera[L.TURN], camera[L.TURN + 1], camera[L.TURN + 2]
    bx, by, bz = camera[L.TURN + 3], camera[L.TURN + 4], camera[L.TURN + 5]
    cx, cy, cz = camera[L.TURN + 6], camera[L.TURN + 7], camera[L.TURN + 8]
    for n in range(np.uint64(chunk[L.CHUNK_VERTEX_END] - chunk[L.CHUNK_VERTEX])):
        index = np.uint64(3) * (begin + n)
        dx = np.float64(peek(vertices, index)) - ex
        dy = np.float64(peek(vertices, index + np.uint64(1))) - ey
        dz = np.float64(peek(vertices, index + np.uint64(2))) - ez
        x, y, z = ax * dx + ay * dy + az * dz, bx * dx + by * dy + bz * dz, cx * dx + cy * dy + cz * dz
        _project(camera, first + n, x, y, z, frame)
        target, source = np.uint64(2) * (first + n), np.uint64(2) * (begin + n)
        poke(frame.lights, target, peek(lit, source))
        poke(frame.lights, target + np.uint64(1), peek(lit, source + np.uint64(1)))


@kernel
def move_bones(camera: Array, light: Array, bones: Array, count: int, scratch: Array) -> None:
    """Each bone in the camera's frame, and the sun and the zenith in the bone's."""
    for b in range(count):
        for i in range(3):
            for j in range(4):
                total = 0.0
                for axis in range(3):
                    value = np.float64(bones[b, axis, j])
                    if j == 3:
                        value -= camera[L.EYE + axis]
                    total += camera[L.TURN + 3 * i + axis] * value
                scratch[b, 4 * i + j] = total
        for j in range(3):
            sun = light[L.SUN_X] * bones[b, 0, j] + light[L.SUN_Y] * bones[b, 1, j] + light[L.SUN_Z] * bones[b, 2, j]
            scratch[b, 12 + j] = sun
            scratch[b, 15 + j] = bones[b, 2, j]


@inlined
def move_instance(
    camera: Array,
    light: Array,
    row: Array,
    models: L.ModelArrays,
    instances: L.InstanceArrays,
    scratch: Array,
    frame: L.FrameArrays,
) -> None:
    """The vertices of one instance, blended between the two bones of each."""
    vertices, normals, lights = models.vertices, models.normals, frame.lights
    instance, level = row[L.INSTANCE], models.levels[row[L.SOURCE]]
    count = models.models[instances.model[instance], L.MODEL_BONES]
    move_bones(camera, light, instances.bones[instance], count, scratch)
    k = row[L.FIRST_VERTEX]
    for v in range(level[L.LEVEL_VERTEX], level[L.LEVEL_VERTEX_END]):
        px, py, pz = np.float64(vertices[v, 0]), np.float64(vertices[v, 1]), np.float64(vertices[v, 2])
        nx, ny, nz = np.float64(normals[v, 0]), np.float64(normals[v, 1]), np.float64(normals[v, 2])
        x, y, z, sun, up = 0.0, 0.0, 0.0, 0.0, 0.0
        for end in range(2):
            weight = np.float64(models.weights[v, end])
            if weight != 0.0:
                b = models.bone_indices[v, end]
                x += weight * (scratch[b, 0] * px + scratch[b, 1] * py + scratch[b, 2] * pz + scratch[b, 3])
                y += weight * (scratch[b, 4] * px + scratch[b, 5] * py + scratch[b, 6] * pz + scratch[b, 7])
                z += weight * (scratch[b, 8] * px + scratch[b, 9] * py + scratch[b, 10] * pz + scratch[b, 11])
                sun += weight * (scratch[b, 12] * nx + scratch[b, 13] * ny + scratch[b, 14] * nz)
                up += weight * (scratch[b, 15] * nx + scratch[b, 16] * ny + scratch[b, 17] * nz)
        _project(camera, np.uint64(k), x, y, z, frame)
        lights[k, 0], lights[k, 1] = sun, 0.5 + 0.5 * up
        k += 1


PLANES = 5


@inlined
def _inside(camera: Array, plane: int, x: float, y: float, z: float) -> Any:
    """Signed distance, of any scale, from the near plane or from one of the four guards."""
    if plane == 0:
        return x - camera[L.NEAR]
    if plane == 1:
        return L.GUARD * x + (camera[L.CX] * x - camera[L.FX] * y)
    if plane == 2:
        return L.GUARD * x - (camera[L.CX] * x - camera[L.FX] * y)
    if plane == 3:
        return L.GUARD * x + (camera[L.CY] * x - camera[L.FY] * z)
    return L.GUARD * x - (camera[L.CY] * x - camera[L.FY] * z)


@kernel
def clip_triangle(
    camera: Array, points: Array, a: int, b: int, c: int, corners: Array, polygon: Array
) -> tuple[int, float, float]:
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
        inside = 0
        for k in range(count):
            following = k + 1 if k + 1 < count else 0
            x0, y0, z0 = corners[now, k, 0], corners[now, k, 1], corners[now, k, 2]
            x1, y1, z1 = corners[now, following, 0], corners[now, following, 1], corners[now, following, 2]
            d0, d1 = _inside(camera, plane, x0, y0, z0), _inside(camera, plane, x1, y1, z1)
            if d0 >= 0.0:
                corners[1 - now, inside, 0], corners[1 - now, inside, 1], corners[1 - now, inside, 2] = x0, y0, z0
                inside += 1
            if (d0 >= 0.0) != (d1 >= 0.0):
                if d0 < 0.0:  # from the end that stays
                    x0, y0, z0, x1, y1, z1, d0, d1 = x1, y1, z1, x0, y0, z0, d1, d0
                t = d0 / (d0 - d1)
                corners[1 - now, inside, 0] = x0 + t * (x1 - x0) if plane != 0 else camera[L.NEAR]
                corners[1 - now, inside, 1] = y0 + t * (y1 - y0)
                corners[1 - now, inside, 2] = z0 + t * (z1 - z0)
                inside += 1
        count, now = inside, 1 - now
        if count < 3:
            return 0, 0.0, 0.0
    least, most = math.inf, 0.0
    polygon[0] = count
    for k in range(min(count, L.POLYGON_CORNERS)):
        inverse = 1.0 / corners[now, k, 0]
        least, most = min(least, inverse), max(most, inverse)
        u = camera[L.CX] - camera[L.FX] * corners[now, k, 1] * inverse
        v = camera[L.CY] - camera[L.FY] * corners[now, k, 2] * inverse
        polygon[1 + 2 * k] = math.floor(u * L.FIXED_ONE + 0.5)
        polygon[2 + 2 * k] = math.floor(v * L.FIXED_ONE + 0.5)
    return count, least, most


@inlined
def first_centre(coordinate: Any) -> Any:
    """The first pixel whose centre is not before a fixed-point coordinate."""
    return (coordinate - L.FIXED_HALF + L.FIXED_ONE - 1) >> L.SHIFT


@kernel
def scan_edge(xa: int, ya: int, xb: int, yb: int, row: int, row_end: int, out: Array) -> None:
    """For each row between ``row`` and ``row_end`` that the edge from (xa, ya) down to (xb, yb) crosses: the first
    pixel whose centre is not left of the edge, stepped in whole numbers without rounding."""
    first, last = max(first_centre(ya), row), min(first_centre(yb), row_end)
    if first >= last:
        return
    dx, dy = xb - xa, yb - ya
    whole = dy << L.SHIFT
    above = (xa - L.FIXED_HALF) * dy + ((first << L.SHIFT) + L.FIXED_HALF - ya) * dx
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
    rest <<= L.SHIFT
    for r in range(first + 1, last):
        pixel += step
        spare -= rest
        if spare < 0:
            spare += whole
            pixel += 1
        out[np.uint64(r)] = pixel


@inlined
def _edge(start: Corner, end: Corner, flipped: bool, row: int, row_end: int, left: Array, right: Array) -> None:
    """Downward edges are on the left of a polygon that runs counter-clockwise on the picture, upward ones right."""
    (xa, ya), (xb, yb) = start, end
    if ya < yb:
        scan_edge(xa, ya, xb, yb, row, row_end, right if flipped else left)
    elif ya > yb:
        scan_edge(xb, yb, xa, ya, row, row_end, left if flipped else right)


@inlined
def _corner(table: Array, index: int, column: int) -> Any:
    return np.int64(table[index, column]), np.int64(table[index, column + 1])


@inlined
def scan_face(ints: Array, polygons: Array, face: int, row: int, row_end: int, left: Array, right: Array) -> None:
    """Fill ``left`` and ``right`` (one past the last pixel) for the rows of one face."""
    flipped = ints[face, L.FLIPPED] != 0
    polygon = ints[face, L.POLYGON]
    if polygon < 0:
        a, b, c = _corner(ints, face, L.X0), _corner(ints, face, L.X0 + 2), _corner(ints, face, L.X0 + 4)
        _edge(a, b, flipped, row, row_end, left, right)
        _edge(b, c, flipped, row, row_end, left, right)
        _edge(c, a, flipped, row, row_end, left, right)
        return
    count = polygons[polygon, 0]
    for k in range(count):
        j = k + 1 if k + 1 < count else 0
        start, end = _corner(polygons, polygon, 1 + 2 * k), _corner(polygons, polygon, 1 + 2 * j)
        _edge(start, end, flipped, row, row_end, left, right)


@inlined
def _fill_row(
    seen: Array, begin: np.uint64, count: int, value: np.float32, step: np.float32, limits: Limits, face: np.uint64
) -> None:
    least, most = limits
    for k in range(np.uint64(count)):
        inverse = value + step * np.float32(np.int32(k))
        inverse = inverse if inverse > least else least
        inverse = inverse if inverse < most else most
        key = (np.uint64(to_bits(inverse)) << np.uint64(32)) | face
        index = begin + k
        old = seen[index]
        seen[index] = key if key > old else old


@inlined
def draw_face(frame: L.FrameArrays, face: int, width: int, band: int, band_end: int, left: Array, right: Array) -> None:
    """Put one face into the rows ``band`` … ``band_end`` of the visibility buffer (rows × width, flat)."""
    ints, planes = frame.ints, frame.depths
    row, row_end = max(ints[face, L.FACE_ROW], band), min(ints[face, L.FACE_ROW_END], band_end)
    if row >= row_end:
        return
    scan_face(ints, frame.polygons, face, row, row_end, left, right)
    limits = frame.floats[face, L.LEAST], frame.floats[face, L.MOST]
    origin, per_column, per_row = planes[face, 0], planes[face, 1], planes[face, 2]
    step, number = np.float32(per_column), np.uint64(face)
    for r in range(row, row_end):
        begin, end = max(left[np.uint64(r)], 0), min(right[np.uint64(r)], width)
        if begin < end:
            value = np.float32(origin + per_row * r + per_column * begin)
            _fill_row(frame.seen, np.uint64(r * width + begin), end - begin, value, step, limits, number)
