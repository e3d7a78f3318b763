"""Shading of one row of the picture: runs of samples of one face get their texels, their light, and what else their
material asks for; the other pictures are written from the same visibility buffer.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster.intrinsics import peek, poke, to_bits, to_float
from sidestep.render.raster.layout import (
    CX,
    CY,
    FACE_COLUMN,
    FACE_ROW,
    FX,
    FY,
    IDENTITY,
    INT_COLUMNS,
    LAMPS,
    MATERIAL,
    PICTURE_LEVELS,
    RED,
    SEMANTIC,
    SHADE,
    SPECIAL,
    TAPS,
    TURN,
    WET,
    U,
    V,
)
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
from sidestep.render.raster.sky import sky_colour
from sidestep.render.raster.surface import glow_and_mirror, light_by_lamps, wet_row

TO_LINEAR = np.float32(1.0 / (255.0 * 256.0))
PAIR, SINGLE = np.uint32(0x00FF00FF), np.uint32(0xFF)
FOUR = np.uint32(4)
HALF, QUARTER = np.float32(0.5), np.float32(0.25)
FINER, BIAS = np.float32(1.5), np.float32(0.35)  # mip levels
PER_OCTAVE = np.float32(1.0 / (1 << 23))


@inlined
def _green(texel):
    return np.uint32(texel >> np.uint32(8)) & SINGLE


@inlined
def _mix(a, b, c, d, wx, wy):
    """256 times the blend of four packed texels with weights of sixteenths: a + (b - a) w is right for every byte of
    the word at once, whatever is borrowed between. Each step is made 32 bits again: else the compiler widens it."""
    top = np.uint32(np.uint32(a << FOUR) + np.uint32(np.uint32(b - a) * wx))
    low = np.uint32(np.uint32(c << FOUR) + np.uint32(np.uint32(d - c) * wx))
    return np.uint32(np.uint32(top << FOUR) + np.uint32(np.uint32(low - top) * wy))


@inlined
def _log2(x):
    """Logarithm of a positive float32 from its bits, within 0.09."""
    return np.float32(np.int32(to_bits(x))) * PER_OCTAVE - np.float32(127.0)


@inlined
def choose_picture_level(pictures, material, ux, vx, uy, vy):
    """The mip level for a pixel over which (u, v) change by (ux, vx) along the row and (uy, vy) along the column.

    The level is that of the mean of the longer and the shorter side, but no more than two levels finer than the longer
    side asks for: sharp on ground seen at a grazing angle, without much flicker.
    """
    size = pictures[material, 0]
    first, second = ux * ux + vx * vx + np.float32(1e-20), uy * uy + vy * vy + np.float32(1e-20)
    longer, shorter = _log2(first if first > second else second), _log2(second if first > second else first)
    mean, least = QUARTER * (longer + shorter), HALF * longer - FINER
    level = floor32(np.float32(size) + (mean if mean > least else least) + BIAS)
    return min(max(level, np.int32(0)), np.int32(min(size, PICTURE_LEVELS - 1)))


@kernel(forceinline=True)
def lay_texels(texels, offset, edge, u0, u1, v0, v1, far, begin, count, red, green, blue):
    """Bilinear linear RGB along a stretch of a row from the level that begins at ``offset`` and is 2^edge texels wide;
    u and v, divided by depth, are linear along it."""
    size, mask, shift = np.float32(np.int32(1) << edge), np.uint32((np.int32(1) << edge) - np.int32(1)), np.uint32(edge)
    start = np.uint32(offset)
    for k in range(np.uint64(count)):
        place = begin + k
        step = np.float32(np.int32(k))
        depth = peek(far, place) * size
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
        poke(red, place, r1 * r1)
        poke(green, place, g1 * g1)
        poke(blue, place, b1 * b1)


WANT_RGB, WANT_DEPTH, WANT_SEMANTIC, WANT_INSTANCE = 1, 2, 4, 8
SKY = 1  # Semantic.SKY
SEGMENT = 64  # pixels that share a mip level
ZERO, UNIT = np.float32(0.0), np.float32(1.0)


@kernel
def prepare_sky_face(ints, floats):
    """The 0th face stands for the sky."""
    floats[0] = 0.0
    floats[0, RED] = mark_red(ZERO)
    ints[0, MATERIAL] = -1
    ints[0, IDENTITY] = 0
    ints[0, SPECIAL] = 0
    ints[0, SEMANTIC] = SKY


@kernel
def write_ids(seen, ints, begin, width, want, depth, semantic, instance):
    """Depth, class and number of a row that starts at ``begin``, straight from the visibility buffer."""
    columns = np.uint64(INT_COLUMNS)
    if want & WANT_DEPTH:
        for x in range(np.uint64(width)):
            value = peek(seen, begin + x)
            far = UNIT / to_float(np.uint32(value >> np.uint64(32)))
            poke(depth, begin + x, far if value & FACE_BITS else np.float32(np.inf))
    if want & WANT_SEMANTIC:
        for x in range(np.uint64(width)):
            face = peek(seen, begin + x) & FACE_BITS
            poke(semantic, begin + x, np.uint8(peek(ints, face * columns + np.uint64(SEMANTIC))))
    if want & WANT_INSTANCE:
        for x in range(np.uint64(width)):
            face = peek(seen, begin + x) & FACE_BITS
            poke(instance, begin + x, peek(ints, face * columns + np.uint64(IDENTITY)))


@kernel
def fill_sky(camera, light, noise, row, begin, end, far, red, green, blue):
    """Pixels of one row that show no face; depth 0, so that there is no fog before them."""
    rz = np.float32((camera[CY] - row - 0.5) / camera[FY])
    ax = np.float32(camera[TURN]) + np.float32(camera[TURN + 6]) * rz
    ay = np.float32(camera[TURN + 1]) + np.float32(camera[TURN + 7]) * rz
    az = np.float32(camera[TURN + 2]) + np.float32(camera[TURN + 8]) * rz
    bx, by, bz = np.float32(camera[TURN + 3]), np.float32(camera[TURN + 4]), np.float32(camera[TURN + 5])
    ry0, ry1 = np.float32((camera[CX] - 0.5) / camera[FX]), np.float32(-1.0 / camera[FX])
    for x in range(np.uint64(begin), np.uint64(end)):
        ry = ry0 + ry1 * np.float32(np.int32(x))
        dx, dy, dz = ax + bx * ry, ay + by * ry, az + bz * ry
        scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        r, g, b = sky_colour(light, noise, dx * scale, dy * scale, dz * scale)
        poke(red, x, r)
        poke(green, x, g)
        poke(blue, x, b)
        poke(far, x, ZERO)


@kernel(forceinline=True)
def lay_picture(pictures, texels, ints, floats, planes, face, row, begin, end, far, red, green, blue):
    """Colours of the pixels ``begin`` … ``end`` of a row, all of one face with a picture on it."""
    material = ints[face, MATERIAL]
    down = np.float32(row - ints[face, FACE_ROW])
    across = np.float32(begin - ints[face, FACE_COLUMN])
    u1, v1, uy, vy = floats[face, U + 1], floats[face, V + 1], floats[face, U + 2], floats[face, V + 2]
    u0, v0 = floats[face, U] + uy * down + u1 * across, floats[face, V] + vy * down + v1 * across
    wx, wy = np.float32(planes[face, 1]), np.float32(planes[face, 2])
    for segment in range(begin, end, SEGMENT):
        last = min(segment + SEGMENT, end)
        middle = (segment + last) >> 1
        depth = far[middle]
        k = np.float32(middle - begin)
        u, v = (u0 + u1 * k) * depth, (v0 + v1 * k) * depth
        level = choose_picture_level(
            pictures,
            material,
            (u1 - u * wx) * depth,
            (v1 - v * wx) * depth,
            (uy - u * wy) * depth,
            (vy - v * wy) * depth,
        )
        k = np.float32(segment - begin)
        lay_texels(
            texels, pictures[material, 1 + level], np.int32(pictures[material, 0] - level),
            u0 + u1 * k, u1, v0 + v1 * k, v1, far, np.uint64(segment), last - segment, red, green, blue,
        )  # fmt: skip


@kernel
def shade_row(
    camera, width, row, shadow_rays, shadow_eye, shadow_size, mirror_width, surfaces, lights, frame, thread, rgb
):
    """Colours of one row of the picture."""
    seen, ints, light = frame.seen, frame.ints, lights.light
    far, sun, sky = thread.far, thread.sun, thread.sky
    red, green, blue = thread.red, thread.green, thread.blue
    out_r, out_g, out_b, runs = thread.out_r, thread.out_g, thread.out_b, thread.runs
    place = np.uint64(row * width)
    owner = thread.owner
    unpack_row(seen, place, width, thread.packed, far)
    lay_row(thread.packed, frame.floats, row, width, far, sun, sky, red, green, blue, owner)
    begin, open_sky, special = 0, 0, 0
    while begin < width:
        face = owner[np.uint64(begin)]
        end = begin + 1
        while end < width and owner[np.uint64(end)] == face:
            end += 1
        if face < 0:
            begin = end
            continue
        if ints[face, MATERIAL] >= 0:
            lay_picture(
                surfaces.pictures, surfaces.texels, ints, frame.floats, frame.depths, face, row,
                begin, end, far, red, green, blue,
            )  # fmt: skip
        if ints[face, SPECIAL] != 0:
            for x in range(begin, end):
                thread.spots[special] = x
                special += 1
        if face == 0:
            runs[open_sky, 0], runs[open_sky, 1] = begin, end
            open_sky += 1
        begin = end
    if light[SHADE] > ZERO:
        left = thread.left_of_sun
        if light[TAPS] <= UNIT:
            shade_sun(camera, light, row, width, shadow_rays, shadow_eye, lights.shadow, shadow_size, far, sun, left)
        else:
            shade_sun_softly(
                camera, light, row, width, shadow_rays, shadow_eye, lights.shadow, shadow_size, far, sun, left
            )
        sun = left
    light_row(camera, light, lights.shelter, row, width, far, sun, sky, red, green, blue, out_r, out_g, out_b)
    if light[LAMPS] > ZERO:
        light_by_lamps(camera, light, lights.lamps, seen, frame.floats, place, row, width, thread)
    if light[WET] > ZERO:
        out_r, out_g, out_b = thread.lamp_r, thread.lamp_g, thread.lamp_b
        wet_row(
            camera, light, lights.noise, lights.mirror, lights.mirror_far, mirror_width, seen, frame.floats, place,
            row, width, far, thread.out_r, thread.out_g, thread.out_b, out_r, out_g, out_b,
        )  # fmt: skip
    if special > 0:
        glow_and_mirror(
            camera, light, lights.noise, seen, frame.floats, place, row, thread.spots, special, red, green, blue,
            out_r, out_g, out_b, thread.more_r, thread.more_g, thread.more_b, thread.through, thread.normal_x,
        )  # fmt: skip
    for k in range(open_sky):
        fill_sky(camera, light, lights.noise, row, runs[k, 0], runs[k, 1], far, out_r, out_g, out_b)
    finish_row(light, width, far, out_r, out_g, out_b, lights.tones, thread.packed, place, rgb)
