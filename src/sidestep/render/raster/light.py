"""Light on one row of pixels at a time, in loops without branches that compile to vector instructions.

A row of the picture is first laid out as plain arrays (depth, share of sun and sky, colour of the surface); what falls
on it does not depend on which face a pixel belongs to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster import layout as L
from sidestep.render.raster.intrinsics import peek, poke, poke_word, to_float
from sidestep.render.raster.layout import Array

ZERO, UNIT, HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
TONES = 4096
TONE_RANGE = 4.0  # linear light above this is white
TO_TONE = np.float32(TONES / TONE_RANGE)
MOST_TONE = np.float32(TONES - 1)
FACE_BITS = np.uint64(0xFFFFFFFF)
FOOT = np.float32(1.0 / 0.7)  # 1 / m: walls are darker below this height
SHELTER_MOST = np.float32(L.SHELTER_SIZE - 1)
PER_BYTE = np.float32(1.0 / 255.0)
STEEPEST = np.float32(7.0)  # half texels that are allowed for on a surface along the sun's rays


@inlined
def floor32(x: np.float32) -> np.int32:
    """The whole number not above a float32, as int32."""
    whole = np.int32(x)
    return np.int32(whole - np.int32(np.float32(whole) > x))


@kernel
def unpack_row(line: L.Line, seen: Array, faces: Array, far: Array) -> None:
    """Face and depth of every pixel of the row, from the visibility buffer."""
    for x in range(np.uint64(line.width)):
        value = peek(seen, line.begin + x)
        poke(faces, x, np.int32(value & FACE_BITS))
        poke(far, x, UNIT / to_float(np.uint32(value >> np.uint64(32))))


@inlined
def lay_row(line: L.Line, faces: Array, floats: Array, thread: L.ThreadArrays) -> None:
    """Share of sun and sky, and plain colour of every pixel of a row. What is linear on the picture is divided by
    depth, so it is multiplied by it here. ``owner`` is the face of a pixel if there is more to do for that face (its
    red is marked, see ``mark_red``), else -1."""
    far, sun, sky, colour, owner = thread.far, thread.sun, thread.sky, thread.surface, thread.owner
    down = np.float32(line.row)
    for x in range(np.uint64(line.width)):
        across = np.float32(np.int32(x))
        face, depth = peek(faces, x), peek(far, x)
        first = np.int32(face * np.int32(L.FLOAT_COLUMNS))
        bright = _field(floats, first, L.SUN)
        bright += _field(floats, first, L.SUN + 1) * across + _field(floats, first, L.SUN + 2) * down
        poke(sun, x, bright * depth)
        open_ = _field(floats, first, L.AMBIENT)
        open_ += _field(floats, first, L.AMBIENT + 1) * across + _field(floats, first, L.AMBIENT + 2) * down
        poke(sky, x, open_ * depth)
        marked = _field(floats, first, L.RED)
        poke(colour.red, x, -marked - UNIT if marked < ZERO else marked)
        poke(colour.green, x, _field(floats, first, L.GREEN))
        poke(colour.blue, x, _field(floats, first, L.BLUE))
        poke(owner, x, face if marked < ZERO else np.int32(-1))


@inlined
def mark_red(red: np.float32) -> np.float32:
    """The red of a face for which there is more to do than to light it."""
    return -red - UNIT


@inlined
def _field(floats: Array, first: np.int32, column: int) -> Any:
    return peek(floats, np.uint64(np.int32(first + np.int32(column))))


@inlined
def _slope(facing: np.float32) -> np.float32:
    """About 1 / ``facing``, but never more than 1 + ``STEEPEST``."""
    away = UNIT - facing
    away = away if away < UNIT else UNIT
    return UNIT + STEEPEST * away * away


@inlined
def _shadow_rays(line: L.Line, shadow: L.ShadowArrays) -> Any:
    """Texel and height, per metre of depth, of a row's first pixel, and their change from pixel to pixel."""
    camera, rays = line.camera, shadow.rays
    ry0, ry1 = np.float32((camera[L.CX] - 0.5) / camera[L.FX]), np.float32(-1.0 / camera[L.FX])
    rz = np.float32((camera[L.CY] - line.row - 0.5) / camera[L.FY])
    sx0 = rays[0] + rays[1] * ry0 + rays[2] * rz
    sy0 = rays[3] + rays[4] * ry0 + rays[5] * rz
    sh0 = rays[6] + rays[7] * ry0 + rays[8] * rz
    return sx0, sy0, sh0, rays[1] * ry1, rays[4] * ry1, rays[7] * ry1


@inlined
def _shadow_texel(rays: Any, eye: Any, x: int, depth: np.float32, most: np.float32) -> Any:
    """Texel, share of the next one and height of pixel ``x`` at ``depth``; the first texel where it is not inside."""
    k = np.float32(np.int32(x))
    sx0, sy0, sh0, sx1, sy1, sh1 = rays
    tx, ty, h = eye[0] + depth * (sx0 + sx1 * k), eye[1] + depth * (sy0 + sy1 * k), eye[2] + depth * (sh0 + sh1 * k)
    inside = (tx >= ZERO) & (ty >= ZERO) & (tx < most) & (ty < most)
    tx, ty = tx if inside else ZERO, ty if inside else ZERO
    i, j = np.float32(np.int32(tx)), np.float32(np.int32(ty))
    return i, j, tx - i, ty - j, h, inside


@inlined
def _texel_size(rays: Array) -> np.float32:
    """Edge of a texel of the shadow map, m."""
    return np.float32(1.0 / np.sqrt(rays[0] * rays[0] + rays[1] * rays[1] + rays[2] * rays[2]))


@inlined
def shade_sun(line: L.Line, light: Array, shadow: L.ShadowArrays, far: Array, sun: Array, shaded: Array) -> None:
    """``shaded``: what is left of ``sun`` after taking away what the shadow map says does not arrive: four comparisons
    a pixel, blended. A pixel is lit where the map is not higher; outside the map everything is. The more a surface
    turns away from the sun, the more its height changes within a texel, and the higher the map must be to shade it."""
    rays, eye = _shadow_rays(line, shadow), (shadow.eye[0], shadow.eye[1], shadow.eye[2])
    shade, size, heights = light[L.SHADE], shadow.size, shadow.map
    most, columns, below = np.float32(size - 2), np.float32(size), np.uint64(size)
    half_texel = _texel_size(shadow.rays) * HALF
    for x in range(np.uint64(line.width)):
        i, j, fx, fy, h, inside = _shadow_texel(rays, eye, x, peek(far, x), most)
        h += half_texel * _slope(peek(sun, x))
        index = np.uint64(np.int32(j * columns + i))
        a = ZERO if peek(heights, index) > h else UNIT - fx
        b = ZERO if peek(heights, index + np.uint64(1)) > h else fx
        c = ZERO if peek(heights, index + below) > h else UNIT - fx
        d = ZERO if peek(heights, index + below + np.uint64(1)) > h else fx
        share = (a + b) * (UNIT - fy) + (c + d) * fy
        share = share if inside else UNIT
        poke(shaded, x, peek(sun, x) * (UNIT - shade * (UNIT - share)))


@inlined
def _higher(heights: Array, index: np.uint64, h: np.float32) -> np.float32:
    return UNIT if peek(heights, index) > h else ZERO


@inlined
def _three(heights: Array, index: np.uint64, h: np.float32, fx: np.float32) -> Any:
    """Share of three texels in a row, the outer ones weighted, that are higher than h."""
    one, two = np.uint64(1), np.uint64(2)
    first, last = _higher(heights, index, h), _higher(heights, index + two, h)
    return first + (last - first) * fx + _higher(heights, index + one, h)


@inlined
def _six(heights: Array, index: np.uint64, h: np.float32, fx: np.float32) -> Any:
    """The same of six."""
    first, last = _higher(heights, index, h), _higher(heights, index + np.uint64(5), h)
    middle = _higher(heights, index + np.uint64(1), h) + _higher(heights, index + np.uint64(2), h)
    middle += _higher(heights, index + np.uint64(3), h) + _higher(heights, index + np.uint64(4), h)
    return first + (last - first) * fx + middle


@kernel
def shade_sun_softly(line: L.Line, light: Array, shadow: L.ShadowArrays, far: Array, sun: Array, shaded: Array) -> None:
    """The same over more texels: 2 both ways (``TAPS`` up to 3) or 5, those at the rim weighted so that it changes
    smoothly."""
    rays, size, heights = _shadow_rays(line, shadow), shadow.size, shadow.map
    wide = light[L.TAPS] > np.float32(3.0)
    back = np.float32(2.0 if wide else 0.5)
    eye = shadow.eye[0] - back, shadow.eye[1] - back, shadow.eye[2]
    norm = light[L.SHADE] / np.float32(25.0 if wide else 4.0)
    most, columns, below = np.float32(size - 7), np.float32(size), np.uint64(size)
    half_texel = _texel_size(shadow.rays) * (back + HALF)
    if wide:
        for x in range(np.uint64(line.width)):
            i, j, fx, fy, h, inside = _shadow_texel(rays, eye, x, peek(far, x), most)
            h += half_texel * _slope(peek(sun, x))
            index = np.uint64(np.int32(j * columns + i))
            first, last = _six(heights, index, h, fx), _six(heights, index + np.uint64(5) * below, h, fx)
            total = first + (last - first) * fy
            total += _six(heights, index + below, h, fx) + _six(heights, index + np.uint64(2) * below, h, fx)
            total += _six(heights, index + np.uint64(3) * below, h, fx)
            total += _six(heights, index + np.uint64(4) * below, h, fx)
            poke(shaded, x, peek(sun, x) * (UNIT - norm * (total if inside else ZERO)))
    else:
        for x in range(np.uint64(line.width)):
            i, j, fx, fy, h, inside = _shadow_texel(rays, eye, x, peek(far, x), most)
            h += half_texel * _slope(peek(sun, x))
            index = np.uint64(np.int32(j * columns + i))
            first, last = _three(heights, index, h, fx), _three(heights, index + np.uint64(2) * below, h, fx)
            total = first + (last - first) * fy + _three(heights, index + below, h, fx)
            poke(shaded, x, peek(sun, x) * (UNIT - norm * (total if inside else ZERO)))


@inlined
def clamp32(value: np.float32) -> np.float32:
    """The value, limited to 0 … 1."""
    value = value if value > ZERO else ZERO
    return value if value < UNIT else UNIT


@inlined
def _byte(word: np.uint32, shift: int) -> np.float32:
    return np.float32(np.int32(np.uint32(word >> np.uint32(shift)) & np.uint32(0xFF)))


@inlined
def _sheltered(shelter: Array, tx: np.float32, ty: np.float32) -> np.float32:
    """Value 0 … 1 of the map of shelter, bilinear; 0 outside."""
    inside = (tx >= ZERO) & (ty >= ZERO) & (tx < SHELTER_MOST) & (ty < SHELTER_MOST)
    tx, ty = tx if inside else ZERO, ty if inside else ZERO
    i, j = np.int32(tx), np.int32(ty)
    fx, fy = tx - np.float32(i), ty - np.float32(j)
    word = peek(shelter, np.uint64(np.int32(np.int32(j * np.int32(L.SHELTER_SIZE)) + i)))
    top = _byte(word, 0) + (_byte(word, 8) - _byte(word, 0)) * fx
    low = _byte(word, 16) + (_byte(word, 24) - _byte(word, 16)) * fx
    value = (top + (low - top) * fy) * PER_BYTE
    return value if inside else ZERO


@inlined
def light_row(line: L.Line, light: Array, shelter: Array, sun: Array, thread: L.ThreadArrays) -> None:
    """Light that leaves a surface: its colour times sky and sun. Near the ground, what does not face up is darker, and
    so is what lies close to things that stand on it."""
    camera, width, far, sky, out = line.camera, line.width, thread.far, thread.sky, thread.out
    red, green, blue = thread.surface
    ry0, ry1 = (camera[L.CX] - 0.5) / camera[L.FX], -1.0 / camera[L.FX]
    rz = (camera[L.CY] - line.row - 0.5) / camera[L.FY]
    up0 = np.float32(camera[L.TURN + 2] + camera[L.TURN + 8] * rz + camera[L.TURN + 5] * ry0)
    up1 = np.float32(camera[L.TURN + 5] * ry1)
    per = L.SHELTER_PER_METRE
    tx0 = np.float32((camera[L.TURN] + camera[L.TURN + 6] * rz + camera[L.TURN + 3] * ry0) * per)
    ty0 = np.float32((camera[L.TURN + 1] + camera[L.TURN + 7] * rz + camera[L.TURN + 4] * ry0) * per)
    tx1, ty1 = np.float32(camera[L.TURN + 3] * ry1 * per), np.float32(camera[L.TURN + 4] * ry1 * per)
    ex = np.float32((camera[L.EYE] - light[L.SHELTER_X]) * per - 0.5)
    ey = np.float32((camera[L.EYE + 1] - light[L.SHELTER_Y]) * per - 0.5)
    eye_z, contact = np.float32(camera[L.EYE + 2]), light[L.CONTACT]
    sun_r, sun_g, sun_b = light[L.SUN_RGB], light[L.SUN_RGB + 1], light[L.SUN_RGB + 2]
    low_r, low_g, low_b = light[L.BOUNCE_RGB], light[L.BOUNCE_RGB + 1], light[L.BOUNCE_RGB + 2]
    high_r, high_g, high_b = light[L.SKY_RGB] - low_r, light[L.SKY_RGB + 1] - low_g, light[L.SKY_RGB + 2] - low_b
    if eye_z * FOOT >= UNIT and min(up0, up0 + up1 * np.float32(width)) >= ZERO:  # nothing here is low
        for x in range(np.uint64(width)):
            open_, bright = clamp32(peek(sky, x)), peek(sun, x)
            bright = bright if bright > ZERO else ZERO
            poke(out.red, x, peek(red, x) * (low_r + high_r * open_ + bright * sun_r))
            poke(out.green, x, peek(green, x) * (low_g + high_g * open_ + bright * sun_g))
            poke(out.blue, x, peek(blue, x) * (low_b + high_b * open_ + bright * sun_b))
        return
    for x in range(np.uint64(width)):
        k = np.float32(np.int32(x))
        open_ = clamp32(peek(sky, x))
        bright = peek(sun, x)
        bright = bright if bright > ZERO else ZERO
        depth = peek(far, x)
        low = clamp32(UNIT - (eye_z + depth * (up0 + up1 * k)) * FOOT)
        near = _sheltered(shelter, ex + depth * (tx0 + tx1 * k), ey + depth * (ty0 + ty1 * k))
        dark = UNIT - low * low * (contact * (UNIT - open_) + near * open_ * open_)
        poke(out.red, x, peek(red, x) * (dark * (low_r + high_r * open_) + bright * sun_r))
        poke(out.green, x, peek(green, x) * (dark * (low_g + high_g * open_) + bright * sun_g))
        poke(out.blue, x, peek(blue, x) * (dark * (low_b + high_b * open_) + bright * sun_b))


@inlined
def _tone(tones: Array, value: np.float32, fog: np.float32, thin: np.float32) -> Any:
    value = (fog + (value - fog) * thin) * TO_TONE
    value = value if value < MOST_TONE else MOST_TONE
    value = value if value > ZERO else ZERO
    return peek(tones, np.uint64(np.int32(value)))


@kernel
def finish_row(line: L.Line, light: Array, far: Array, colour: L.Rgb, tones: Array, packed: Array, rgb: Array) -> None:
    """Fog, exposure and film curve, 8 bits. Fog is exp(-k d) by 1 / (1 + x + x² / 2); the sky has depth 0 here."""
    red, green, blue = colour
    begin, width = line.begin, line.width
    fog, fog_r, fog_g, fog_b = light[L.FOG], light[L.FOG_RGB], light[L.FOG_RGB + 1], light[L.FOG_RGB + 2]
    for x in range(np.uint64(width)):
        thin = peek(far, x) * fog
        thin = UNIT / (UNIT + thin * (UNIT + HALF * thin))
        r = _tone(tones, peek(red, x), fog_r, thin)
        g = _tone(tones, peek(green, x), fog_g, thin)
        b = _tone(tones, peek(blue, x), fog_b, thin)
        poke(packed, x, np.int32(r | np.int32(g << np.int32(8)) | np.int32(b << np.int32(16))))
    for x in range(np.uint64(width - 1)):  # four bytes each; the fourth is the next pixel's first
        poke_word(rgb, np.uint64(3) * (begin + x), packed[x])
    value, index = packed[width - 1], np.uint64(3) * (begin + np.uint64(width - 1))
    rgb[index] = np.uint8(value)
    rgb[index + np.uint64(1)] = np.uint8(value >> np.int32(8))
    rgb[index + np.uint64(2)] = np.uint8(value >> np.int32(16))
