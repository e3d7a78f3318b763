"""Light on one row of pixels at a time, in loops without branches that compile to vector instructions.

A row of the picture is first laid out as plain arrays (depth, share of sun and sky, colour of the surface); what falls
on it does not depend on which face a pixel belongs to.
"""

from __future__ import annotations

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster.intrinsics import peek, poke, poke_word, to_float
from sidestep.render.raster.layout import (
    AMBIENT,
    BLUE,
    BOUNCE_RGB,
    CONTACT,
    CX,
    CY,
    EYE,
    FLOAT_COLUMNS,
    FOG,
    FOG_RGB,
    FX,
    FY,
    GREEN,
    RED,
    SHADE,
    SHELTER_PER_METRE,
    SHELTER_SIZE,
    SHELTER_X,
    SHELTER_Y,
    SKY_RGB,
    SUN,
    SUN_RGB,
    TAPS,
    TURN,
)

ZERO, UNIT, HALF = np.float32(0.0), np.float32(1.0), np.float32(0.5)
TONES = 4096
TONE_RANGE = 4.0  # linear light above this is white
TO_TONE = np.float32(TONES / TONE_RANGE)
MOST_TONE = np.float32(TONES - 1)
FACE_BITS = np.uint64(0xFFFFFFFF)
FOOT = np.float32(1.0 / 0.7)  # 1 / m: walls are darker below this height
SHELTER_MOST = np.float32(SHELTER_SIZE - 1)
PER_BYTE = np.float32(1.0 / 255.0)
STEEPEST = np.float32(7.0)  # half texels that are allowed for on a surface along the sun's rays


@inlined
def floor32(x):
    """The whole number not above a float32, as int32."""
    whole = np.int32(x)
    return np.int32(whole - np.int32(np.float32(whole) > x))


@kernel
def unpack_row(seen, begin, width, faces, far):
    """Face and depth of every pixel of the row that starts at ``begin`` of the visibility buffer."""
    for x in range(np.uint64(width)):
        value = peek(seen, begin + x)
        poke(faces, x, np.int32(value & FACE_BITS))
        poke(far, x, UNIT / to_float(np.uint32(value >> np.uint64(32))))


@kernel
def lay_row(faces, floats, row, width, far, sun, sky, red, green, blue, owner):
    """Share of sun and sky, and plain colour of every pixel of a row. What is linear on the picture is divided by
    depth, so it is multiplied by it here. ``owner`` is the face of a pixel if there is more to do for that face (its
    red is marked, see ``mark_red``), else -1."""
    down = np.float32(row)
    for x in range(np.uint64(width)):
        across = np.float32(np.int32(x))
        face, depth = peek(faces, x), peek(far, x)
        place = np.int32(face * np.int32(FLOAT_COLUMNS))
        bright = _field(floats, place, SUN)
        bright += _field(floats, place, SUN + 1) * across + _field(floats, place, SUN + 2) * down
        poke(sun, x, bright * depth)
        open_ = _field(floats, place, AMBIENT)
        open_ += _field(floats, place, AMBIENT + 1) * across + _field(floats, place, AMBIENT + 2) * down
        poke(sky, x, open_ * depth)
        marked = _field(floats, place, RED)
        poke(red, x, -marked - UNIT if marked < ZERO else marked)
        poke(green, x, _field(floats, place, GREEN))
        poke(blue, x, _field(floats, place, BLUE))
        poke(owner, x, face if marked < ZERO else np.int32(-1))


@inlined
def mark_red(red):
    """The red of a face for which there is more to do than to light it."""
    return -red - UNIT


@inlined
def _field(floats, place, column):
    return peek(floats, np.uint64(np.int32(place + np.int32(column))))


@inlined
def _slope(facing):
    """About 1 / ``facing``, but never more than 1 + ``STEEPEST``."""
    away = UNIT - facing
    away = away if away < UNIT else UNIT
    return UNIT + STEEPEST * away * away


@kernel
def texel_size(rays):
    """Edge of a texel of the shadow map, m."""
    return np.float32(1.0 / np.sqrt(rays[0] * rays[0] + rays[1] * rays[1] + rays[2] * rays[2]))


@kernel
def shade_sun(camera, light, row, width, shadow_rays, shadow_eye, shadow, size, far, sun, left):
    """``left`` of ``sun`` (rows) after taking away what the shadow map says does not arrive: four comparisons a pixel,
    blended. A pixel is lit where the map is not higher; outside the map everything is. The more a surface turns away
    from the sun, the more its height changes within a texel, and the higher the map must be to shade it."""
    ry0, ry1 = np.float32((camera[CX] - 0.5) / camera[FX]), np.float32(-1.0 / camera[FX])
    rz = np.float32((camera[CY] - row - 0.5) / camera[FY])
    sx0 = shadow_rays[0] + shadow_rays[1] * ry0 + shadow_rays[2] * rz
    sy0 = shadow_rays[3] + shadow_rays[4] * ry0 + shadow_rays[5] * rz
    sh0 = shadow_rays[6] + shadow_rays[7] * ry0 + shadow_rays[8] * rz
    sx1, sy1, sh1 = shadow_rays[1] * ry1, shadow_rays[4] * ry1, shadow_rays[7] * ry1
    ex, ey, eh = shadow_eye[0], shadow_eye[1], shadow_eye[2]
    shade = light[SHADE]
    most = np.float32(size - 2)
    line, below = np.float32(size), np.uint64(size)
    half_texel = texel_size(shadow_rays) * HALF
    for x in range(np.uint64(width)):
        k = np.float32(np.int32(x))
        depth = peek(far, x)
        tx, ty, h = ex + depth * (sx0 + sx1 * k), ey + depth * (sy0 + sy1 * k), eh + depth * (sh0 + sh1 * k)
        inside = (tx >= ZERO) & (ty >= ZERO) & (tx < most) & (ty < most)
        h += half_texel * _slope(peek(sun, x))
        tx, ty = tx if inside else ZERO, ty if inside else ZERO
        i, j = np.float32(np.int32(tx)), np.float32(np.int32(ty))
        fx, fy = tx - i, ty - j
        place = np.uint64(np.int32(j * line + i))
        a = ZERO if peek(shadow, place) > h else UNIT - fx
        b = ZERO if peek(shadow, place + np.uint64(1)) > h else fx
        c = ZERO if peek(shadow, place + below) > h else UNIT - fx
        d = ZERO if peek(shadow, place + below + np.uint64(1)) > h else fx
        share = (a + b) * (UNIT - fy) + (c + d) * fy
        share = share if inside else UNIT
        poke(left, x, peek(sun, x) * (UNIT - shade * (UNIT - share)))


@inlined
def _higher(shadow, place, h):
    return UNIT if peek(shadow, place) > h else ZERO


@inlined
def _three(shadow, place, h, fx):
    """Share of three texels in a row, the outer ones weighted, that are higher than h."""
    one, two = np.uint64(1), np.uint64(2)
    first, last = _higher(shadow, place, h), _higher(shadow, place + two, h)
    return first + (last - first) * fx + _higher(shadow, place + one, h)


@inlined
def _six(shadow, place, h, fx):
    """The same of six."""
    first, last = _higher(shadow, place, h), _higher(shadow, place + np.uint64(5), h)
    middle = _higher(shadow, place + np.uint64(1), h) + _higher(shadow, place + np.uint64(2), h)
    middle += _higher(shadow, place + np.uint64(3), h) + _higher(shadow, place + np.uint64(4), h)
    return first + (last - first) * fx + middle


@kernel
def shade_sun_softly(camera, light, row, width, shadow_rays, shadow_eye, shadow, size, far, sun, left):
    """The same over more texels: 2 both ways (``TAPS`` up to 3) or 5, those at the rim weighted so that it changes
    smoothly."""
    ry0, ry1 = np.float32((camera[CX] - 0.5) / camera[FX]), np.float32(-1.0 / camera[FX])
    rz = np.float32((camera[CY] - row - 0.5) / camera[FY])
    sx0 = shadow_rays[0] + shadow_rays[1] * ry0 + shadow_rays[2] * rz
    sy0 = shadow_rays[3] + shadow_rays[4] * ry0 + shadow_rays[5] * rz
    sh0 = shadow_rays[6] + shadow_rays[7] * ry0 + shadow_rays[8] * rz
    sx1, sy1, sh1 = shadow_rays[1] * ry1, shadow_rays[4] * ry1, shadow_rays[7] * ry1
    wide = light[TAPS] > np.float32(3.0)
    back = np.float32(2.0 if wide else 0.5)
    ex, ey, eh = shadow_eye[0] - back, shadow_eye[1] - back, shadow_eye[2]
    norm = light[SHADE] / np.float32(25.0 if wide else 4.0)
    most, line = np.float32(size - 7), np.float32(size)
    half_texel = texel_size(shadow_rays) * (back + HALF)
    if wide:
        for x in range(np.uint64(width)):
            k, depth = np.float32(np.int32(x)), peek(far, x)
            tx, ty, h = ex + depth * (sx0 + sx1 * k), ey + depth * (sy0 + sy1 * k), eh + depth * (sh0 + sh1 * k)
            inside = (tx >= ZERO) & (ty >= ZERO) & (tx < most) & (ty < most)
            h += half_texel * _slope(peek(sun, x))
            tx, ty = tx if inside else ZERO, ty if inside else ZERO
            i, j = np.float32(np.int32(tx)), np.float32(np.int32(ty))
            fx, fy = tx - i, ty - j
            place, below = np.uint64(np.int32(j * line + i)), np.uint64(size)
            first, last = _six(shadow, place, h, fx), _six(shadow, place + np.uint64(5) * below, h, fx)
            total = first + (last - first) * fy
            total += _six(shadow, place + below, h, fx) + _six(shadow, place + np.uint64(2) * below, h, fx)
            total += _six(shadow, place + np.uint64(3) * below, h, fx)
            total += _six(shadow, place + np.uint64(4) * below, h, fx)
            poke(left, x, peek(sun, x) * (UNIT - norm * (total if inside else ZERO)))
    else:
        for x in range(np.uint64(width)):
            k, depth = np.float32(np.int32(x)), peek(far, x)
            tx, ty, h = ex + depth * (sx0 + sx1 * k), ey + depth * (sy0 + sy1 * k), eh + depth * (sh0 + sh1 * k)
            inside = (tx >= ZERO) & (ty >= ZERO) & (tx < most) & (ty < most)
            h += half_texel * _slope(peek(sun, x))
            tx, ty = tx if inside else ZERO, ty if inside else ZERO
            i, j = np.float32(np.int32(tx)), np.float32(np.int32(ty))
            fx, fy = tx - i, ty - j
            place, below = np.uint64(np.int32(j * line + i)), np.uint64(size)
            first, last = _three(shadow, place, h, fx), _three(shadow, place + np.uint64(2) * below, h, fx)
            total = first + (last - first) * fy + _three(shadow, place + below, h, fx)
            poke(left, x, peek(sun, x) * (UNIT - norm * (total if inside else ZERO)))


@inlined
def _clamped(value):
    """Within 0 … 1."""
    value = value if value > ZERO else ZERO
    return value if value < UNIT else UNIT


@inlined
def _byte(word, shift):
    return np.float32(np.int32(np.uint32(word >> np.uint32(shift)) & np.uint32(0xFF)))


@inlined
def _sheltered(shelter, tx, ty):
    """Value 0 … 1 of the map of shelter, bilinear; 0 outside."""
    inside = (tx >= ZERO) & (ty >= ZERO) & (tx < SHELTER_MOST) & (ty < SHELTER_MOST)
    tx, ty = tx if inside else ZERO, ty if inside else ZERO
    i, j = np.int32(tx), np.int32(ty)
    fx, fy = tx - np.float32(i), ty - np.float32(j)
    word = peek(shelter, np.uint64(np.int32(np.int32(j * np.int32(SHELTER_SIZE)) + i)))
    top = _byte(word, 0) + (_byte(word, 8) - _byte(word, 0)) * fx
    low = _byte(word, 16) + (_byte(word, 24) - _byte(word, 16)) * fx
    value = (top + (low - top) * fy) * PER_BYTE
    return value if inside else ZERO


@kernel
def light_row(camera, light, shelter, row, width, far, sun, sky, red, green, blue, out_r, out_g, out_b):
    """Light that leaves a surface: its colour times sky and sun. Near the ground, what does not face up is darker, and
    so is what lies close to things that stand on it."""
    ry0, ry1 = (camera[CX] - 0.5) / camera[FX], -1.0 / camera[FX]
    rz = (camera[CY] - row - 0.5) / camera[FY]
    up0 = np.float32(camera[TURN + 2] + camera[TURN + 8] * rz + camera[TURN + 5] * ry0)
    up1 = np.float32(camera[TURN + 5] * ry1)
    per = SHELTER_PER_METRE
    tx0 = np.float32((camera[TURN] + camera[TURN + 6] * rz + camera[TURN + 3] * ry0) * per)
    ty0 = np.float32((camera[TURN + 1] + camera[TURN + 7] * rz + camera[TURN + 4] * ry0) * per)
    tx1, ty1 = np.float32(camera[TURN + 3] * ry1 * per), np.float32(camera[TURN + 4] * ry1 * per)
    ex = np.float32((camera[EYE] - light[SHELTER_X]) * per - 0.5)
    ey = np.float32((camera[EYE + 1] - light[SHELTER_Y]) * per - 0.5)
    eye_z, contact = np.float32(camera[EYE + 2]), light[CONTACT]
    sun_r, sun_g, sun_b = light[SUN_RGB], light[SUN_RGB + 1], light[SUN_RGB + 2]
    low_r, low_g, low_b = light[BOUNCE_RGB], light[BOUNCE_RGB + 1], light[BOUNCE_RGB + 2]
    high_r, high_g, high_b = light[SKY_RGB] - low_r, light[SKY_RGB + 1] - low_g, light[SKY_RGB + 2] - low_b
    if eye_z * FOOT >= UNIT and min(up0, up0 + up1 * np.float32(width)) >= ZERO:  # nothing here is low
        for x in range(np.uint64(width)):
            open_, bright = _clamped(peek(sky, x)), peek(sun, x)
            bright = bright if bright > ZERO else ZERO
            poke(out_r, x, peek(red, x) * (low_r + high_r * open_ + bright * sun_r))
            poke(out_g, x, peek(green, x) * (low_g + high_g * open_ + bright * sun_g))
            poke(out_b, x, peek(blue, x) * (low_b + high_b * open_ + bright * sun_b))
        return
    for x in range(np.uint64(width)):
        k = np.float32(np.int32(x))
        open_ = _clamped(peek(sky, x))
        bright = peek(sun, x)
        bright = bright if bright > ZERO else ZERO
        depth = peek(far, x)
        low = _clamped(UNIT - (eye_z + depth * (up0 + up1 * k)) * FOOT)
        near = _sheltered(shelter, ex + depth * (tx0 + tx1 * k), ey + depth * (ty0 + ty1 * k))
        dark = UNIT - low * low * (contact * (UNIT - open_) + near * open_ * open_)
        poke(out_r, x, peek(red, x) * (dark * (low_r + high_r * open_) + bright * sun_r))
        poke(out_g, x, peek(green, x) * (dark * (low_g + high_g * open_) + bright * sun_g))
        poke(out_b, x, peek(blue, x) * (dark * (low_b + high_b * open_) + bright * sun_b))


@inlined
def _tone(tones, value, fog, thin):
    value = (fog + (value - fog) * thin) * TO_TONE
    value = value if value < MOST_TONE else MOST_TONE
    value = value if value > ZERO else ZERO
    return peek(tones, np.uint64(np.int32(value)))


@kernel
def finish_row(light, width, far, red, green, blue, tones, packed, begin, rgb):
    """Fog, exposure and film curve, 8 bits. Fog is exp(-k d) by 1 / (1 + x + x² / 2); the sky has depth 0 here."""
    fog, fog_r, fog_g, fog_b = light[FOG], light[FOG_RGB], light[FOG_RGB + 1], light[FOG_RGB + 2]
    for x in range(np.uint64(width)):
        thin = peek(far, x) * fog
        thin = UNIT / (UNIT + thin * (UNIT + HALF * thin))
        r = _tone(tones, peek(red, x), fog_r, thin)
        g = _tone(tones, peek(green, x), fog_g, thin)
        b = _tone(tones, peek(blue, x), fog_b, thin)
        poke(packed, x, np.int32(r | np.int32(g << np.int32(8)) | np.int32(b << np.int32(16))))
    for x in range(np.uint64(width - 1)):  # four bytes each; the fourth is the next pixel's first
        poke_word(rgb, np.uint64(3) * (begin + x), packed[x])
    value, place = packed[width - 1], np.uint64(3) * (begin + np.uint64(width - 1))
    rgb[place] = np.uint8(value)
    rgb[place + np.uint64(1)] = np.uint8(value >> np.int32(8))
    rgb[place + np.uint64(2)] = np.uint8(value >> np.int32(16))
