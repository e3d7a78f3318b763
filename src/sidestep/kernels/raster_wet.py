"""Water on the ground: darker where it soaks in, a mirror where it stands.

The mirrored picture is of the world turned over in one level plane, at half the size. Ground that lies higher by ``l``
shows what is seen in it ``2 l`` higher; on the picture that is so many pixels as the depth of what is mirrored says.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_bits import peek, poke
from sidestep.kernels.raster_layout import EYE, FY, HORIZON_RGB, MIRROR_Z, SOAKED, WET
from sidestep.kernels.raster_light import TONE_RANGE
from sidestep.kernels.raster_sky import noise_at
from sidestep.kernels.raster_surface import MIRROR_OF_DRY, face_field, row_rays

ZERO, UNIT, HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
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
    value = value if value > ZERO else ZERO
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
        scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        rest = UNIT - _held(-dz * scale, UNIT)
        rest2 = rest * rest
        fresnel = MIRROR_OF_DRY + (UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest
        puddle = noise_at(noise, (ex + depth * dx) * PUDDLE, (ey + depth * dy) * PUDDLE)
        film = _held((puddle - DRIEST) * FILM, UNIT)
        share = (ROUGH * fresnel + WATER) * wetness * soak * (THIN + (UNIT - THIN) * film)
        share = share if share > ZERO else ZERO
        column = np.int32(_held(k * HALF + (puddle - HALF) * RIPPLE, columns))
        away = peek(mirror_far, np.uint64(np.int32(np.int32(_held(middle, rows)) * line + column)))
        lift = height + depth * dz
        lower = np.int32(_held(middle + lift * focal / away, rows))
        clear = size if film > HALF else np.int32(0)
        texel = peek(mirror, np.uint64(np.int32(np.int32(lower * line + column) + clear)))
        mr, mg, mb = _linear(texel, 0), _linear(texel, 8), _linear(texel, 16)
        mr, mg, mb = mr if has else flat_r, mg if has else flat_g, mb if has else flat_b
        dark = UNIT - DARKER * wetness * (soak if soak > ZERO else -soak)
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
