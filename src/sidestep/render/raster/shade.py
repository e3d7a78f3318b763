"""Shading of one row of the picture: runs of samples of one face get their texels, their light, and what else their
material asks for; the other pictures are written from the same visibility buffer.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.intrinsics import peek, poke, to_bits, to_float
from sidestep.render.raster.layout import Array
from sidestep.render.raster.light import (
    FACE_BITS,
    finish_row,
    floor32,
    lay_row,
    light_row,
    mark_red,
    shade_sun,
    shade_sun_softly,
    unpack_row,
)
from sidestep.render.raster.surface import glow_and_mirror, light_by_lamps, sky_colour, wet_row

Along = tuple[np.float32, np.float32]
"""Value at the first pixel of a stretch, and its change from pixel to pixel."""
TO_LINEAR = np.float32(1.0 / (255.0 * 256.0))
PAIR, SINGLE = np.uint32(0x00FF00FF), np.uint32(0xFF)
FOUR = np.uint32(4)
HALF, QUARTER = np.float32(0.5), np.float32(0.25)
FINER, BIAS = np.float32(1.5), np.float32(0.35)  # mip levels
PER_OCTAVE = np.float32(1.0 / (1 << 23))


@inlined
def _green(texel: np.uint32) -> np.uint32:
    return np.uint32(texel >> np.uint32(8)) & SINGLE


@inlined
def _mix(a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32, wx: np.uint32, wy: np.uint32) -> np.uint32:
    """256 times the blend of four packed texels with weights of sixteenths: a + (b - a) w is right for every byte of
    the word at once, whatever is borrowed between. Each step is made 32 bits again: else the compiler widens it."""
    top = np.uint32(np.uint32(a << FOUR) + np.uint32(np.uint32(b - a) * wx))
    low = np.uint32(np.uint32(c << FOUR) + np.uint32(np.uint32(d - c) * wx))
    return np.uint32(np.uint32(top << FOUR) + np.uint32(np.uint32(low - top) * wy))


@inlined
def _log2(x: np.float32) -> np.float32:
    """Logarithm of a positive float32 from its bits, within 0.09."""
    return np.float32(np.int32(to_bits(x))) * PER_OCTAVE - np.float32(127.0)


@inlined
def choose_picture_level(picture: Array, ux: np.float32, vx: np.float32, uy: np.float32, vy: np.float32) -> Any:
    """The mip level for a pixel over which (u, v) change by (ux, vx) along the row and (uy, vy) along the column.

    The level is that of the mean of the longer and the shorter side, but no more than two levels finer than the longer
    side asks for: sharp on ground seen at a grazing angle, without much flicker.
    """
    size = picture[0]
    first, second = ux * ux + vx * vx + np.float32(1e-20), uy * uy + vy * vy + np.float32(1e-20)
    longer, shorter = _log2(first if first > second else second), _log2(second if first > second else first)
    mean, least = QUARTER * (longer + shorter), HALF * longer - FINER
    level = floor32(np.float32(size) + (mean if mean > least else least) + BIAS)
    return min(max(level, np.int32(0)), np.int32(min(size, L.PICTURE_LEVELS - 1)))


@inlined
def lay_texels(
    texels: Array, offset: int, edge: np.int32, u: Along, v: Along, far: Array, begin: Any, count: int, colour: L.Rgb
) -> None:
    """Bilinear linear RGB along a stretch of a row from the level that begins at ``offset`` and is 2^edge texels wide;
    u and v, divided by depth, are linear along it."""
    (u0, u1), (v0, v1) = u, v
    size, mask, shift = np.float32(np.int32(1) << edge), np.uint32((np.int32(1) << edge) - np.int32(1)), np.uint32(edge)
    start = np.uint32(offset)
    for k in range(np.uint64(count)):
        index = begin + k
        step = np.float32(np.int32(k))
        depth = peek(far, index) * size
        x, y = (u0 + u1 * step) * depth - HALF, (v0 + v1 * step) * depth - HALF
        i, j = floor32(x), floor32(y)
        wx = np.uint32(np.int32((x - np.float32(i)) * np.float32(16.0)))
        wy = np.uint32(np.int32((y - np.float32(j)) * np.float32(16.0)))
        left, right = np.uint32(i) & mask, np.uint32(i + np.int32(1)) & mask
        top = np.uint32(start + np.uint32((np.uint32(j) & mask) << shift))
        low = np.uint32(start + np.uint32((np.uint32(j + np.int32(1)) & mask) << shift))
        a, b = peek(texels, np.uint64(np.uint32(top + left))), peek(texels, np.uint64(np.uint32(top + right)))
        c, d = peek(texels, np.uint64(np.uint32(low + left))), peek(texels, np.uint64(np.uint32(low + right)))
        rb = _mix(a & PAIR, b & PAIR, c & PAIR, d & PAIR, wx, wy)
        g = _mix(_green(a), _green(b), _green(c), _green(d), wx, wy)
        r1 = np.float32(np.int32(rb & np.uint32(0xFFFF))) * TO_LINEAR
        g1 = np.float32(np.int32(g)) * TO_LINEAR
        b1 = np.float32(np.int32(rb >> np.uint32(16))) * TO_LINEAR
        poke(colour.red, index, r1 * r1)
        poke(colour.green, index, g1 * g1)
        poke(colour.blue, index, b1 * b1)


SKY = 1  # Semantic.SKY
SEGMENT = 64  # pixels that share a mip level
ZERO, UNIT = np.float32(0.0), np.float32(1.0)


@kernel
def prepare_sky_face(ints: Array, floats: Array) -> None:
    """The 0th face stands for the sky."""
    floats[0] = 0.0
    floats[0, L.RED] = mark_red(ZERO)
    ints[0, L.MATERIAL] = -1
    ints[0, L.IDENTITY] = 0
    ints[0, L.SPECIAL] = 0
    ints[0, L.SEMANTIC] = SKY


@kernel
def write_ids(begin: Any, width: int, want: int, seen: Array, ints: Array, pictures: L.Pictures) -> None:
    """Depth, class and number of a row that starts at ``begin``, straight from the visibility buffer.

    Faces of class sky are scenery (``MeshBuilder.backdrop``): nothing is there."""
    columns = np.uint64(L.INT_COLUMNS)
    if want & L.WANT_DEPTH:
        for x in range(np.uint64(width)):
            value = peek(seen, begin + x)
            far = UNIT / to_float(np.uint32(value >> np.uint64(32)))
            kind = peek(ints, (value & FACE_BITS) * columns + np.uint64(L.SEMANTIC))  # of face 0, too: the sky
            poke(pictures.depth, begin + x, far if kind != SKY else np.float32(np.inf))
    if want & L.WANT_SEMANTIC:
        for x in range(np.uint64(width)):
            face = peek(seen, begin + x) & FACE_BITS
            poke(pictures.semantic, begin + x, np.uint8(peek(ints, face * columns + np.uint64(L.SEMANTIC))))
    if want & L.WANT_INSTANCE:
        for x in range(np.uint64(width)):
            face = peek(seen, begin + x) & FACE_BITS
            poke(pictures.instance, begin + x, peek(ints, face * columns + np.uint64(L.IDENTITY)))


@kernel
def fill_sky(line: L.Line, light: Array, noise: Array, begin: int, end: int, far: Array, colour: L.Rgb) -> None:
    """Pixels of one row that show no face; depth 0, so that there is no fog before them."""
    camera = line.camera
    rz = np.float32((camera[L.CY] - line.row - 0.5) / camera[L.FY])
    ax = np.float32(camera[L.TURN]) + np.float32(camera[L.TURN + 6]) * rz
    ay = np.float32(camera[L.TURN + 1]) + np.float32(camera[L.TURN + 7]) * rz
    az = np.float32(camera[L.TURN + 2]) + np.float32(camera[L.TURN + 8]) * rz
    bx, by, bz = np.float32(camera[L.TURN + 3]), np.float32(camera[L.TURN + 4]), np.float32(camera[L.TURN + 5])
    ry0, ry1 = np.float32((camera[L.CX] - 0.5) / camera[L.FX]), np.float32(-1.0 / camera[L.FX])
    for x in range(np.uint64(begin), np.uint64(end)):
        ry = ry0 + ry1 * np.float32(np.int32(x))
        dx, dy, dz = ax + bx * ry, ay + by * ry, az + bz * ry
        scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        r, g, b = sky_colour(light, noise, dx * scale, dy * scale, dz * scale)
        poke(colour.red, x, r)
        poke(colour.green, x, g)
        poke(colour.blue, x, b)
        poke(far, x, ZERO)


@inlined
def lay_picture(
    surfaces: L.SurfaceArrays, frame: L.FrameArrays, face: int, row: int, begin: int, end: int, far: Array, out: L.Rgb
) -> None:
    """Colours of the pixels ``begin`` … ``end`` of a row, all of one face with a picture on it."""
    ints, floats, planes = frame.ints, frame.floats, frame.depths
    picture = surfaces.pictures[ints[face, L.MATERIAL]]
    down = np.float32(row - ints[face, L.FACE_ROW])
    across = np.float32(begin - ints[face, L.FACE_COLUMN])
    u1, v1, uy, vy = floats[face, L.U + 1], floats[face, L.V + 1], floats[face, L.U + 2], floats[face, L.V + 2]
    u0, v0 = floats[face, L.U] + uy * down + u1 * across, floats[face, L.V] + vy * down + v1 * across
    wx, wy = np.float32(planes[face, 1]), np.float32(planes[face, 2])
    for segment in range(begin, end, SEGMENT):
        last = min(segment + SEGMENT, end)
        middle = (segment + last) >> 1
        depth = far[middle]
        k = np.float32(middle - begin)
        u, v = (u0 + u1 * k) * depth, (v0 + v1 * k) * depth
        level = choose_picture_level(
            picture, (u1 - u * wx) * depth, (v1 - v * wx) * depth, (uy - u * wy) * depth, (vy - v * wy) * depth
        )
        k = np.float32(segment - begin)
        along_u, along_v = (u0 + u1 * k, u1), (v0 + v1 * k, v1)
        offset, edge = picture[1 + level], np.int32(picture[0] - level)
        lay_texels(surfaces.texels, offset, edge, along_u, along_v, far, np.uint64(segment), last - segment, out)


@kernel
def shade_row(
    line: L.Line,
    surfaces: L.SurfaceArrays,
    lights: L.LightArrays,
    frame: L.FrameArrays,
    thread: L.ThreadArrays,
    rgb: Array,
) -> None:
    """Colours of one row of the picture."""
    ints, light, far, owner, runs = frame.ints, lights.light, thread.far, thread.owner, thread.runs
    width, sun, out = line.width, thread.sun, thread.out
    unpack_row(line, frame.seen, thread.packed, far)
    lay_row(line, thread.packed, frame.floats, thread)
    begin, open_sky, special = 0, 0, 0
    while begin < width:
        face = owner[np.uint64(begin)]
        end = begin + 1
        while end < width and owner[np.uint64(end)] == face:
            end += 1
        if face < 0:
            begin = end
            continue
        if ints[face, L.MATERIAL] >= 0:
            lay_picture(surfaces, frame, face, line.row, begin, end, far, thread.surface)
        if ints[face, L.SPECIAL] != 0:
            for x in range(begin, end):
                thread.special[special] = x
                special += 1
        if face == 0:
            runs[open_sky, 0], runs[open_sky, 1] = begin, end
            open_sky += 1
        begin = end
    if light[L.SHADE] > ZERO:
        if light[L.TAPS] <= UNIT:
            shade_sun(line, light, lights.shadow, far, sun, thread.shaded_sun)
        else:
            shade_sun_softly(line, light, lights.shadow, far, sun, thread.shaded_sun)
        sun = thread.shaded_sun
    light_row(line, light, lights.shelter, sun, thread)
    if light[L.LAMPS] > ZERO:
        light_by_lamps(line, lights, frame, thread)
    if light[L.WET] > ZERO:
        out = thread.lamp
        wet_row(line, lights, frame, far, thread.out, out)
    if special > 0:
        glow_and_mirror(line, lights, frame, thread, special, out)
    for k in range(open_sky):
        fill_sky(line, light, lights.noise, runs[k, 0], runs[k, 1], far, out)
    finish_row(line, light, far, out, lights.tones, thread.packed, rgb)
