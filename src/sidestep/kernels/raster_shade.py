"""The colour of every pixel, once, from the visibility buffer, row by row.

Runs of pixels of one face are laid out as plain rows (depth, sun, sky, colour of the surface); light falls on the whole
row at once (``raster_light``), then lamps and water; what glows or mirrors the sky is picked out (``raster_surface``).
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import kernel
from sidestep.kernels.raster_bits import peek, poke, to_float
from sidestep.kernels.raster_layout import (
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
from sidestep.kernels.raster_light import (
    FACE_BITS,
    finish_row,
    lay_row,
    light_row,
    mark_red,
    shade_sun,
    shade_sun_softly,
    unpack_row,
)
from sidestep.kernels.raster_sky import sky_colour
from sidestep.kernels.raster_surface import glow_and_mirror, light_by_lamps
from sidestep.kernels.raster_texture import choose_picture_level, lay_texels
from sidestep.kernels.raster_wet import wet_row

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
