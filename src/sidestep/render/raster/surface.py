"""The colour of the sky in a direction (gradient, glow and disc of the sun, a layer of clouds), and what a surface
shows besides sunlight and skylight: light of lamps, its own glow, the mirrored sky, and wet ground that mirrors the
scene.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.intrinsics import peek, poke
from sidestep.render.raster.layout import Array
from sidestep.render.raster.light import FACE_BITS, TONE_RANGE, clamp32, floor32

Rgb32 = tuple[np.float32, np.float32, np.float32]
ZERO, HALF, UNIT, TWO, THREE = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0), np.float32(3.0)
DISC_COS = np.float32(math.cos(math.radians(0.9)))  # the disc, drawn larger than life as lenses do
RIM_COS = np.float32(math.cos(math.radians(1.4)))
LOWEST_CLOUD = np.float32(0.015)
CLOUD_SIZE = np.float32(26.0)  # noise cells per unit of tan(zenith angle)
HAZE = np.float32(0.12)
GLOW, CORONA, HORIZON_GLOW = np.float32(0.10), np.float32(0.30), np.float32(0.22)
SHARP = np.float32(1.0 / 0.28)  # of clouds' edges
BRIGHTEST, CLOUD_SHADE = np.float32(1.15), np.float32(0.45)
CLOUD_FADE = np.float32(3.0)
VEIL = np.float32(0.01)
LEAST = np.float32(0.3)
RIM = np.float32(1.0 / (DISC_COS - RIM_COS))


@inlined
def noise_at(noise: Array, x: np.float32, y: np.float32) -> Any:
    """Bilinear value of a square table that repeats; its edge is a power of two."""
    mask = np.int32(noise.shape[0] - 1)
    line = np.int32(noise.shape[0])
    i, j = floor32(x), floor32(y)
    fx, fy = x - np.float32(i), y - np.float32(j)
    i, j = np.int32(i & mask), np.int32(np.int32(j & mask) * line)
    ii, jj = (
        np.int32(np.int32(i + np.int32(1)) & mask),
        np.int32(np.int32(j + line) & np.int32(line * line - np.int32(1))),
    )
    top = peek(noise, np.uint64(np.int32(j + i))) * (UNIT - fx) + peek(noise, np.uint64(np.int32(j + ii))) * fx
    low = peek(noise, np.uint64(np.int32(jj + i))) * (UNIT - fx) + peek(noise, np.uint64(np.int32(jj + ii))) * fx
    return top * (UNIT - fy) + low * fy


@inlined
def _field(light: Array, column: int) -> Any:
    return peek(light, np.uint64(column))


@inlined
def _gradient(light: Array, channel: int, share: np.float32, sun: np.float32) -> Any:
    """One colour of the sky between zenith and horizon, with the glow of the sun."""
    zenith = _field(light, L.ZENITH_RGB + channel)
    difference = _field(light, L.HORIZON_RGB + channel) - zenith
    return zenith + difference * share + sun * _field(light, L.SUN_RGB + channel)


@inlined
def sky_colour(light: Array, noise: Array, dx: np.float32, dy: np.float32, dz: np.float32) -> Rgb32:
    """Linear RGB in the unit direction (dx, dy, dz), without a branch. Below the horizon it is the haze on it."""
    up = dz if dz > ZERO else ZERO
    low = UNIT - up
    low2 = low * low
    share = low2 * low2 * (HALF + HALF * low)
    toward = dx * _field(light, L.SUN_X) + dy * _field(light, L.SUN_Y) + dz * _field(light, L.SUN_Z)
    p1 = toward if toward > LEAST else LEAST  # its powers stay ordinary numbers
    p2 = p1 * p1
    p4 = p2 * p2
    p8 = p4 * p4
    p16 = p8 * p8
    p32 = p16 * p16
    disc = _field(light, L.DISC)
    sun = (GLOW * p8 + HORIZON_GLOW * p4 * share + CORONA * p32 * p32) * disc
    r, g, b = _gradient(light, 0, share, sun), _gradient(light, 1, share, sun), _gradient(light, 2, share, sun)
    scale = CLOUD_SIZE / (up + HAZE)
    value = noise_at(noise, dx * scale + _field(light, L.CLOUD_SHIFT), dy * scale)
    dense = clamp32((value - (UNIT - _field(light, L.CLOUDS))) * SHARP)
    dense = dense * dense * (THREE - TWO * dense) * clamp32((dz - LOWEST_CLOUD) * CLOUD_FADE)
    bright = BRIGHTEST - CLOUD_SHADE * value + sun
    r += (_field(light, L.CLOUD_RGB) * bright - r) * dense
    g += (_field(light, L.CLOUD_RGB + 1) * bright - g) * dense
    b += (_field(light, L.CLOUD_RGB + 2) * bright - b) * dense
    round_ = clamp32((toward - dense * VEIL - RIM_COS) * RIM)
    round_ = round_ * round_ * disc * THREE
    return (
        r + round_ * _field(light, L.SUN_RGB),
        g + round_ * _field(light, L.SUN_RGB + 1),
        b + round_ * _field(light, L.SUN_RGB + 2),
    )


MIRROR_OF_DRY = np.float32(0.04)  # share of light that any smooth surface mirrors straight on
WRAP = np.float32(0.15)  # how far the light of a lamp reaches round
TINY = np.float32(1e-4)
FROM_ROOT = np.float32(TONE_RANGE / 255.0**2)
WATER, ROUGH = np.float32(0.08), np.float32(0.8)
DARKER = np.float32(0.42)  # of what soaks
PUDDLE = np.float32(1.0 / 0.45)  # noise cells per metre
DRIEST, FILM = np.float32(0.42), np.float32(6.0)  # noise from which water stands, and how sharp its rim is
THIN = np.float32(0.22)  # share that a mere film mirrors
RIPPLE = np.float32(3.0)  # half-size pixels
BYTE = np.uint32(0xFF)
Scratch = tuple[Array, Array, Array]


@inlined
def face_field(frame: L.FrameArrays, index: np.uint64, column: int) -> Any:
    """A column of the face that is seen at ``index`` of the visibility buffer."""
    face = np.int32(peek(frame.seen, index) & FACE_BITS)
    return peek(frame.floats, np.uint64(np.int32(face * np.int32(L.FLOAT_COLUMNS) + np.int32(column))))


@inlined
def row_rays(line: L.Line) -> Any:
    """Direction in the world of a row's first pixel (depth 1 along the axis), and its change from pixel to pixel."""
    camera = line.camera
    rz = (camera[L.CY] - line.row - 0.5) / camera[L.FY]
    ry0, ry1 = (camera[L.CX] - 0.5) / camera[L.FX], -1.0 / camera[L.FX]
    return (
        np.float32(camera[L.TURN] + camera[L.TURN + 6] * rz + camera[L.TURN + 3] * ry0),
        np.float32(camera[L.TURN + 1] + camera[L.TURN + 7] * rz + camera[L.TURN + 4] * ry0),
        np.float32(camera[L.TURN + 2] + camera[L.TURN + 8] * rz + camera[L.TURN + 5] * ry0),
        np.float32(camera[L.TURN + 3] * ry1),
        np.float32(camera[L.TURN + 4] * ry1),
        np.float32(camera[L.TURN + 5] * ry1),
    )


@kernel
def _lay_normals(line: L.Line, frame: L.FrameArrays, normal: L.Rgb) -> None:
    for x in range(np.uint64(line.width)):
        poke(normal.red, x, face_field(frame, line.begin + x, L.NORMAL))
        poke(normal.green, x, face_field(frame, line.begin + x, L.NORMAL + 1))
        poke(normal.blue, x, face_field(frame, line.begin + x, L.NORMAL + 2))


@kernel
def _misses_row(line: L.Line, lamp: Array) -> Any:
    """Whether a lamp cannot reach anything that the row shows: the plane of its rays, or all that is ahead."""
    camera, reach = line.camera, lamp[L.LAMP_REACH]
    dx, dy = lamp[L.LAMP_X] - camera[L.EYE], lamp[L.LAMP_Y] - camera[L.EYE + 1]
    dz = lamp[L.LAMP_Z] - camera[L.EYE + 2]
    ahead = camera[L.TURN] * dx + camera[L.TURN + 1] * dy + camera[L.TURN + 2] * dz
    up = camera[L.TURN + 6] * dx + camera[L.TURN + 7] * dy + camera[L.TURN + 8] * dz
    rz = (camera[L.CY] - line.row - 0.5) / camera[L.FY]
    return ahead < -reach or abs(up - rz * ahead) > reach * math.sqrt(1.0 + rz * rz)


@kernel
def _add_lamp(line: L.Line, lamp: Array, far: Array, normal: L.Rgb, old: L.Rgb, new: L.Rgb) -> None:
    """Light of one lamp on a row, added to what others gave: Lambert, square law, cone, nothing beyond the reach."""
    ax, ay, az, bx, by, bz = row_rays(line)
    eye_x, eye_y, eye_z = line.camera[L.EYE], line.camera[L.EYE + 1], line.camera[L.EYE + 2]
    lx = np.float32(lamp[L.LAMP_X]) - np.float32(eye_x)
    ly = np.float32(lamp[L.LAMP_Y]) - np.float32(eye_y)
    lz = np.float32(lamp[L.LAMP_Z]) - np.float32(eye_z)
    axis_x, axis_y, axis_z, edge = lamp[L.LAMP_DX], lamp[L.LAMP_DY], lamp[L.LAMP_DZ], lamp[L.LAMP_COS]
    per_cone, per_reach = TWO / (UNIT - edge), UNIT / (lamp[L.LAMP_REACH] * lamp[L.LAMP_REACH])
    red, green, blue = lamp[L.LAMP_R], lamp[L.LAMP_G], lamp[L.LAMP_B]
    for x in range(np.uint64(line.width)):
        k, depth = np.float32(np.int32(x)), peek(far, x)
        dx, dy, dz = lx - depth * (ax + bx * k), ly - depth * (ay + by * k), lz - depth * (az + bz * k)
        d2 = dx * dx + dy * dy + dz * dz + TINY
        inverse = UNIT / math.sqrt(d2)
        facing = (peek(normal.red, x) * dx + peek(normal.green, x) * dy + peek(normal.blue, x) * dz) * inverse
        facing = facing * (UNIT - WRAP) + WRAP
        cone = (-(axis_x * dx + axis_y * dy + axis_z * dz) * inverse - edge) * per_cone
        window = UNIT - d2 * per_reach
        facing, cone = facing if facing > ZERO else ZERO, cone if cone > ZERO else ZERO
        cone, window = cone if cone < UNIT else UNIT, window if window > ZERO else ZERO
        power = facing * cone * cone * window * window / (UNIT + d2)
        poke(new.red, x, peek(old.red, x) + power * red)
        poke(new.green, x, peek(old.green, x) + power * green)
        poke(new.blue, x, peek(old.blue, x) + power * blue)


@inlined
def light_by_lamps(line: L.Line, lights: L.LightArrays, frame: L.FrameArrays, thread: L.ThreadArrays) -> None:
    """Add the light of lamps to the light that leaves a row."""
    old, new, lit = thread.lamp, thread.spare, False
    for k in range(np.int32(lights.light[L.LAMPS])):
        lamp = lights.lamps[k]
        if _misses_row(line, lamp):
            continue
        if not lit:
            _lay_normals(line, frame, thread.normal)
            for x in range(np.uint64(line.width)):
                old.red[x], old.green[x], old.blue[x] = ZERO, ZERO, ZERO
            lit = True
        _add_lamp(line, lamp, thread.far, thread.normal, old, new)
        old, new = new, old
    if lit:
        _add_product(line.width, old.red, thread.surface.red, thread.out.red)
        _add_product(line.width, old.green, thread.surface.green, thread.out.green)
        _add_product(line.width, old.blue, thread.surface.blue, thread.out.blue)


@kernel
def _add_product(width: int, first: Array, second: Array, total: Array) -> None:
    for x in range(np.uint64(width)):
        total[x] += first[x] * second[x]


@inlined
def glow_and_mirror(
    line: L.Line, lights: L.LightArrays, frame: L.FrameArrays, thread: L.ThreadArrays, count: int, out: L.Rgb
) -> None:
    """The first ``count`` pixels of ``thread.special``: light of their own, and the sky in what is glossy."""
    ax, ay, az, bx, by, bz = row_rays(line)
    special, mirror, through, emit = thread.special, thread.spare, thread.through, thread.normal.red
    for n in range(np.uint64(count)):
        x = peek(special, n)
        k, index = np.float32(x), line.begin + np.uint64(x)
        dx, dy, dz = ax + bx * k, ay + by * k, az + bz * k
        nx, ny = face_field(frame, index, L.NORMAL), face_field(frame, index, L.NORMAL + 1)
        nz = face_field(frame, index, L.NORMAL + 2)
        scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        dx, dy, dz = dx * scale, dy * scale, dz * scale
        facing = -(dx * nx + dy * ny + dz * nz)
        facing = facing if facing > ZERO else ZERO
        rest = UNIT - facing
        rest2 = rest * rest
        share = face_field(frame, index, L.SHINE)
        share *= MIRROR_OF_DRY + (UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest
        twice = TWO * facing
        r, g, b = sky_colour(lights.light, lights.noise, dx + twice * nx, dy + twice * ny, dz + twice * nz)
        poke(mirror.red, n, r * share)
        poke(mirror.green, n, g * share)
        poke(mirror.blue, n, b * share)
        poke(through, n, UNIT - share)
        poke(emit, n, face_field(frame, index, L.EMIT))
    red, green, blue = thread.surface
    for n in range(np.uint64(count)):
        pixel, glow, rest = np.uint64(special[n]), emit[n], through[n]
        out.red[pixel] = (out.red[pixel] + glow * red[pixel]) * rest + mirror.red[n]
        out.green[pixel] = (out.green[pixel] + glow * green[pixel]) * rest + mirror.green[n]
        out.blue[pixel] = (out.blue[pixel] + glow * blue[pixel]) * rest + mirror.blue[n]


@inlined
def _linear(texel: np.uint32, shift: int) -> np.float32:
    """Light from a byte of the mirrored picture, whose tones are square roots."""
    root = np.float32(np.int32(np.uint32(texel >> np.uint32(shift)) & BYTE))
    return root * root * FROM_ROOT


@inlined
def _limited(value: np.float32, most: np.float32) -> np.float32:
    value = value if value > ZERO else ZERO
    return value if value < most else most


@inlined
def wet_row(line: L.Line, lights: L.LightArrays, frame: L.FrameArrays, far: Array, colour: L.Rgb, out: L.Rgb) -> None:
    """What leaves a row when the ground is wet. The mirror holds two mirrored pictures: a blurred one for rough wet
    ground, a clear one for puddles. Without any (width 0) water shows the horizon."""
    light, mirror, camera = lights.light, lights.mirror, line.camera
    ax, ay, az, bx, by, bz = row_rays(line)
    ex, ey = np.float32(camera[L.EYE]), np.float32(camera[L.EYE + 1])
    height = np.float32(camera[L.EYE + 2]) - light[L.MIRROR_Z]
    wetness, focal = light[L.WET], np.float32(camera[L.FY])
    has = mirror.width > 0
    width = np.int32(mirror.width if has else 1)
    size = np.int32(mirror.far.shape[0])
    rows = np.float32(size // width - np.int32(1))
    columns = np.float32(width - np.int32(1))
    middle = np.float32(line.row) * HALF
    flat_r, flat_g = light[L.HORIZON_RGB] * HALF, light[L.HORIZON_RGB + 1] * HALF
    flat_b = light[L.HORIZON_RGB + 2] * HALF
    for x in range(np.uint64(line.width)):
        k, depth = np.float32(np.int32(x)), peek(far, x)
        soak = face_field(frame, line.begin + x, L.SOAKED)
        dx, dy, dz = ax + bx * k, ay + by * k, az + bz * k
        scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        rest = UNIT - _limited(-dz * scale, UNIT)
        rest2 = rest * rest
        fresnel = MIRROR_OF_DRY + (UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest
        puddle = noise_at(lights.noise, (ex + depth * dx) * PUDDLE, (ey + depth * dy) * PUDDLE)
        film = _limited((puddle - DRIEST) * FILM, UNIT)
        share = (ROUGH * fresnel + WATER) * wetness * soak * (THIN + (UNIT - THIN) * film)
        share = share if share > ZERO else ZERO
        column = np.int32(_limited(k * HALF + (puddle - HALF) * RIPPLE, columns))
        away = peek(mirror.far, np.uint64(np.int32(np.int32(_limited(middle, rows)) * width + column)))
        lift = height + depth * dz
        lower = np.int32(_limited(middle + lift * focal / away, rows))
        clear = size if film > HALF else np.int32(0)
        texel = peek(mirror.picture, np.uint64(np.int32(np.int32(lower * width + column) + clear)))
        mr, mg, mb = _linear(texel, 0), _linear(texel, 8), _linear(texel, 16)
        mr, mg, mb = mr if has else flat_r, mg if has else flat_g, mb if has else flat_b
        dark = UNIT - DARKER * wetness * (soak if soak > ZERO else -soak)
        r, g, b = peek(colour.red, x) * dark, peek(colour.green, x) * dark, peek(colour.blue, x) * dark
        poke(out.red, x, r + (mr - r) * share)
        poke(out.green, x, g + (mg - g) * share)
        poke(out.blue, x, b + (mb - b) * share)


@inlined
def _square(byte: int) -> np.int32:
    return np.int32(byte) * np.int32(byte)


@kernel
def _blur_down(squares: Array, width: int, height: int, radius: int, total: Array, out: Array) -> None:
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
def soften_mirror(picture: Array, width: int, height: int, radius: int, scratch: Scratch, mirror: Array) -> None:
    """Fill ``mirror`` with the blurred and the clear form of ``picture`` (H × W × 3 bytes, roots of light, flat).
    ``scratch`` is two rows as long and one of 3 W, int32. Rough ground draws reflections out toward the viewer, so
    the blur runs down the picture; a little goes sideways."""
    first, second, total = scratch
    line = 3 * width
    for k in range(height * line):
        first[k] = _square(picture[k])
    _blur_down(first, width, height, radius, total, second)
    _blur_down(second, width, height, radius, total, first)
    size = width * height
    for r in range(height):
        for x in range(width):
            index = r * line + 3 * x
            left, right = index - 3 if x > 0 else index, index + 3 if x < width - 1 else index
            soft, clear = np.uint32(0), np.uint32(0)
            for c in range(3):
                value = (first[left + c] + 2 * first[index + c] + first[right + c]) >> 2
                root = np.uint32(math.sqrt(np.float32(value)) + np.float32(0.5))
                soft |= np.uint32(root << np.uint32(8 * c))
                clear |= np.uint32(np.uint32(picture[index + c]) << np.uint32(8 * c))
            mirror[r * width + x] = soft
            mirror[size + r * width + x] = clear
