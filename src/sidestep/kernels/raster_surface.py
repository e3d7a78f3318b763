"""What some surfaces do besides: glow, mirror the sky, stand in the light of lamps. In loops without branches."""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_bits import peek, poke
from sidestep.kernels.raster_layout import (
    CX,
    CY,
    EMIT,
    EYE,
    FLOAT_COLUMNS,
    FX,
    FY,
    LAMP_B,
    LAMP_COS,
    LAMP_DX,
    LAMP_DY,
    LAMP_DZ,
    LAMP_G,
    LAMP_R,
    LAMP_REACH,
    LAMP_X,
    LAMP_Y,
    LAMP_Z,
    LAMPS,
    NORMAL,
    SHINE,
    TURN,
)
from sidestep.kernels.raster_light import FACE_BITS
from sidestep.kernels.raster_sky import sky_colour

ZERO, UNIT, TWO = np.float32(0.0), np.float32(1.0), np.float32(2.0)
MIRROR_OF_DRY = np.float32(0.04)  # share of light that any smooth surface mirrors straight on
WRAP = np.float32(0.15)  # how far the light of a lamp reaches round
TINY = np.float32(1e-4)


@inlined
def face_field(seen, floats, place, column):
    """A column of the face that is seen at a place of the visibility buffer."""
    face = np.int32(peek(seen, place) & FACE_BITS)
    return peek(floats, np.uint64(np.int32(face * np.int32(FLOAT_COLUMNS) + np.int32(column))))


@inlined
def row_rays(camera, row):
    """Direction in the world of a row's first pixel (depth 1 along the axis), and its change from pixel to pixel."""
    rz = (camera[CY] - row - 0.5) / camera[FY]
    ry0, ry1 = (camera[CX] - 0.5) / camera[FX], -1.0 / camera[FX]
    return (
        np.float32(camera[TURN] + camera[TURN + 6] * rz + camera[TURN + 3] * ry0),
        np.float32(camera[TURN + 1] + camera[TURN + 7] * rz + camera[TURN + 4] * ry0),
        np.float32(camera[TURN + 2] + camera[TURN + 8] * rz + camera[TURN + 5] * ry0),
        np.float32(camera[TURN + 3] * ry1),
        np.float32(camera[TURN + 4] * ry1),
        np.float32(camera[TURN + 5] * ry1),
    )


@kernel
def _lay_normals(seen, floats, begin, width, nx, ny, nz):
    for x in range(np.uint64(width)):
        poke(nx, x, face_field(seen, floats, begin + x, NORMAL))
        poke(ny, x, face_field(seen, floats, begin + x, NORMAL + 1))
        poke(nz, x, face_field(seen, floats, begin + x, NORMAL + 2))


@kernel
def _misses_row(camera, lamp, row):
    """Whether a lamp cannot reach anything that the row shows: the plane of its rays, or all that is ahead."""
    dx, dy, dz = lamp[LAMP_X] - camera[EYE], lamp[LAMP_Y] - camera[EYE + 1], lamp[LAMP_Z] - camera[EYE + 2]
    ahead = camera[TURN] * dx + camera[TURN + 1] * dy + camera[TURN + 2] * dz
    up = camera[TURN + 6] * dx + camera[TURN + 7] * dy + camera[TURN + 8] * dz
    rz = (camera[CY] - row - 0.5) / camera[FY]
    return ahead < -lamp[LAMP_REACH] or abs(up - rz * ahead) > lamp[LAMP_REACH] * math.sqrt(1.0 + rz * rz)


@kernel
def _add_lamp(camera, lamp, row, width, far, nx, ny, nz, old_r, old_g, old_b, new_r, new_g, new_b):
    """Light of one lamp on a row, added to what others gave: Lambert, square law, cone, nothing beyond the reach."""
    ax, ay, az, bx, by, bz = row_rays(camera, row)
    lx, ly, lz = np.float32(lamp[LAMP_X]), np.float32(lamp[LAMP_Y]), np.float32(lamp[LAMP_Z])
    lx, ly, lz = lx - np.float32(camera[EYE]), ly - np.float32(camera[EYE + 1]), lz - np.float32(camera[EYE + 2])
    axis_x, axis_y, axis_z, edge = lamp[LAMP_DX], lamp[LAMP_DY], lamp[LAMP_DZ], lamp[LAMP_COS]
    per_cone, per_reach = TWO / (UNIT - edge), UNIT / (lamp[LAMP_REACH] * lamp[LAMP_REACH])
    red, green, blue = lamp[LAMP_R], lamp[LAMP_G], lamp[LAMP_B]
    for x in range(np.uint64(width)):
        k, depth = np.float32(np.int32(x)), peek(far, x)
        dx, dy, dz = lx - depth * (ax + bx * k), ly - depth * (ay + by * k), lz - depth * (az + bz * k)
        d2 = dx * dx + dy * dy + dz * dz + TINY
        inverse = UNIT / math.sqrt(d2)
        facing = (peek(nx, x) * dx + peek(ny, x) * dy + peek(nz, x) * dz) * inverse
        facing = facing * (UNIT - WRAP) + WRAP
        cone = (-(axis_x * dx + axis_y * dy + axis_z * dz) * inverse - edge) * per_cone
        window = UNIT - d2 * per_reach
        facing, cone = facing if facing > ZERO else ZERO, cone if cone > ZERO else ZERO
        cone, window = cone if cone < UNIT else UNIT, window if window > ZERO else ZERO
        power = facing * cone * cone * window * window / (UNIT + d2)
        poke(new_r, x, peek(old_r, x) + power * red)
        poke(new_g, x, peek(old_g, x) + power * green)
        poke(new_b, x, peek(old_b, x) + power * blue)


@kernel
def light_by_lamps(camera, light, lamps, seen, floats, begin, row, width, thread):
    """Add the light of lamps to the light that leaves a row."""
    nx, ny, nz = thread.normal_x, thread.normal_y, thread.normal_z
    old_r, old_g, old_b = thread.lamp_r, thread.lamp_g, thread.lamp_b
    new_r, new_g, new_b = thread.more_r, thread.more_g, thread.more_b
    lit = False
    for k in range(np.int32(light[LAMPS])):
        if _misses_row(camera, lamps[k], row):
            continue
        if not lit:
            _lay_normals(seen, floats, begin, width, nx, ny, nz)
            for x in range(np.uint64(width)):
                old_r[x], old_g[x], old_b[x] = ZERO, ZERO, ZERO
            lit = True
        _add_lamp(camera, lamps[k], row, width, thread.far, nx, ny, nz, old_r, old_g, old_b, new_r, new_g, new_b)
        old_r, old_g, old_b, new_r, new_g, new_b = new_r, new_g, new_b, old_r, old_g, old_b
    if lit:
        _add_product(width, old_r, thread.red, thread.out_r)
        _add_product(width, old_g, thread.green, thread.out_g)
        _add_product(width, old_b, thread.blue, thread.out_b)


@kernel
def _add_product(width, first, second, total):
    for x in range(np.uint64(width)):
        total[x] += first[x] * second[x]


@kernel
def glow_and_mirror(
    camera, light, noise, seen, floats, begin, row, spots, count, red, green, blue, out_r, out_g, out_b,
    mirror_r, mirror_g, mirror_b, through, emit,
):  # fmt: skip
    """The pixels ``spots`` of a row: light of their own, and the sky in what is glossy. The last five rows are
    scratch, one number per spot."""
    ax, ay, az, bx, by, bz = row_rays(camera, row)
    for n in range(np.uint64(count)):
        spot = peek(spots, n)
        k, place = np.float32(spot), begin + np.uint64(spot)
        dx, dy, dz = ax + bx * k, ay + by * k, az + bz * k
        nx, ny = face_field(seen, floats, place, NORMAL), face_field(seen, floats, place, NORMAL + 1)
        nz = face_field(seen, floats, place, NORMAL + 2)
        scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        dx, dy, dz = dx * scale, dy * scale, dz * scale
        facing = -(dx * nx + dy * ny + dz * nz)
        facing = facing if facing > ZERO else ZERO
        rest = UNIT - facing
        rest2 = rest * rest
        share = face_field(seen, floats, place, SHINE)
        share *= MIRROR_OF_DRY + (UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest
        twice = TWO * facing
        r, g, b = sky_colour(light, noise, dx + twice * nx, dy + twice * ny, dz + twice * nz)
        poke(mirror_r, n, r * share)
        poke(mirror_g, n, g * share)
        poke(mirror_b, n, b * share)
        poke(through, n, UNIT - share)
        poke(emit, n, face_field(seen, floats, place, EMIT))
    for n in range(np.uint64(count)):
        x, glow, rest = np.uint64(spots[n]), emit[n], through[n]
        out_r[x] = (out_r[x] + glow * red[x]) * rest + mirror_r[n]
        out_g[x] = (out_g[x] + glow * green[x]) * rest + mirror_g[n]
        out_b[x] = (out_b[x] + glow * blue[x]) * rest + mirror_b[n]
