"""What a surface shows besides sunlight and skylight: light of lamps, its own glow, the mirrored sky, and wet ground
that mirrors the scene.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster.intrinsics import peek, poke
from sidestep.render.raster.layout import (
    CX,
    CY,
    EMIT,
    EYE,
    FLOAT_COLUMNS,
    FX,
    FY,
    HORIZON_RGB,
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
    MIRROR_Z,
    NORMAL,
    SHINE,
    SOAKED,
    TURN,
    WET,
)
from sidestep.render.raster.light import FACE_BITS, TONE_RANGE
from sidestep.render.raster.sky import noise_at, sky_colour

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


_ZERO, _UNIT, HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
FROM_ROOT = np.float32(TONE_RANGE / 255.0**2)
WATER, ROUGH = np.float32(0.08), np.float32(0.8)
DARKER = np.float32(0.42)  # of what soaks
PUDDLE = np.float32(1.0 / 0.45)  # noise cells per metre
DRIEST, FILM = np.float32(0.42), np.float32(6.0)  # noise from which water stands, and how sharp its rim is
THIN = np.float32(0.22)  # share that a mere film mirrors
RIPPLE = np.float32(3.0)  # half-size pixels
BYTE = np.uint32(0xFF)


@inlined
def _linear(texel, shift):
    """Light from a byte of the mirrored picture, whose tones are square roots."""
    root = np.float32(np.int32(np.uint32(texel >> np.uint32(shift)) & BYTE))
    return root * root * FROM_ROOT


@inlined
def _held(value, most):
    value = value if value > _ZERO else _ZERO
    return value if value < most else most


@kernel
def wet_row(
    camera, light, noise, mirror, mirror_far, mirror_width, seen, floats, begin, row, width, far,
    in_r, in_g, in_b, out_r, out_g, out_b,
):  # fmt: skip
    """What leaves a row when the ground is wet. ``mirror`` holds two mirrored pictures: a blurred one for rough wet
    ground, a clear one for puddles. Without any (``mirror_width`` 0) water shows the horizon."""
    ax, ay, az, bx, by, bz = row_rays(camera, row)
    ex, ey = np.float32(camera[EYE]), np.float32(camera[EYE + 1])
    height = np.float32(camera[EYE + 2]) - light[MIRROR_Z]
    wetness, focal = light[WET], np.float32(camera[FY])
    has = mirror_width > 0
    line = np.int32(mirror_width if has else 1)
    size = np.int32(mirror_far.shape[0])
    rows = np.float32(size // line - np.int32(1))
    columns = np.float32(line - np.int32(1))
    middle = np.float32(row) * HALF
    flat_r, flat_g, flat_b = light[HORIZON_RGB] * HALF, light[HORIZON_RGB + 1] * HALF, light[HORIZON_RGB + 2] * HALF
    for x in range(np.uint64(width)):
        k, depth = np.float32(np.int32(x)), peek(far, x)
        soak = face_field(seen, floats, begin + x, SOAKED)
        dx, dy, dz = ax + bx * k, ay + by * k, az + bz * k
        scale = _UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        rest = _UNIT - _held(-dz * scale, _UNIT)
        rest2 = rest * rest
        fresnel = MIRROR_OF_DRY + (_UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest
        puddle = noise_at(noise, (ex + depth * dx) * PUDDLE, (ey + depth * dy) * PUDDLE)
        film = _held((puddle - DRIEST) * FILM, _UNIT)
        share = (ROUGH * fresnel + WATER) * wetness * soak * (THIN + (_UNIT - THIN) * film)
        share = share if share > _ZERO else _ZERO
        column = np.int32(_held(k * HALF + (puddle - HALF) * RIPPLE, columns))
        away = peek(mirror_far, np.uint64(np.int32(np.int32(_held(middle, rows)) * line + column)))
        lift = height + depth * dz
        lower = np.int32(_held(middle + lift * focal / away, rows))
        clear = size if film > HALF else np.int32(0)
        texel = peek(mirror, np.uint64(np.int32(np.int32(lower * line + column) + clear)))
        mr, mg, mb = _linear(texel, 0), _linear(texel, 8), _linear(texel, 16)
        mr, mg, mb = mr if has else flat_r, mg if has else flat_g, mb if has else flat_b
        dark = _UNIT - DARKER * wetness * (soak if soak > _ZERO else -soak)
        r, g, b = peek(in_r, x) * dark, peek(in_g, x) * dark, peek(in_b, x) * dark
        poke(out_r, x, r + (mr - r) * share)
        poke(out_g, x, g + (mg - g) * share)
        poke(out_b, x, b + (mb - b) * share)


@inlined
def _square(byte):
    return np.int32(byte) * np.int32(byte)


@kernel
def _blur_down(squares, width, height, radius, total, out):
    """Mean of 2 ``radius`` + 1 rows (H × 3 W values, flat), the edge repeated."""
    line = 3 * width
    count = np.int32(2 * radius + 1)
    for x in range(line):
        total[x] = squares[x] * np.int32(radius + 1)
    for r in range(1, radius + 1):
        for x in range(line):
            total[x] += squares[min(r, height - 1) * line + x]
    for r in range(height):
        come, go = min(r + radius + 1, height - 1) * line, max(r - radius, 0) * line
        for x in range(line):
            out[r * line + x] = total[x] // count
            total[x] += squares[come + x] - squares[go + x]


@kernel
def soften_mirror(picture, width, height, radius, first, second, total, mirror):
    """Fill ``mirror`` with the blurred and the clear form of ``picture`` (H × W × 3 bytes, roots of light, flat).
    ``first`` and ``second`` (as long) and ``total`` (3 W) are scratch, int32. Rough ground draws reflections out
    toward the viewer, so the blur runs down the picture; a little goes sideways."""
    line = 3 * width
    for k in range(height * line):
        first[k] = _square(picture[k])
    _blur_down(first, width, height, radius, total, second)
    _blur_down(second, width, height, radius, total, first)
    size = width * height
    for r in range(height):
        for x in range(width):
            place = r * line + 3 * x
            left, right = place - 3 if x > 0 else place, place + 3 if x < width - 1 else place
            soft, clear = np.uint32(0), np.uint32(0)
            for c in range(3):
                value = (first[left + c] + 2 * first[place + c] + first[right + c]) >> 2
                root = np.uint32(math.sqrt(np.float32(value)) + np.float32(0.5))
                soft |= np.uint32(root << np.uint32(8 * c))
                clear |= np.uint32(np.uint32(picture[place + c]) << np.uint32(8 * c))
            mirror[r * width + x] = soft
            mirror[size + r * width + x] = clear
