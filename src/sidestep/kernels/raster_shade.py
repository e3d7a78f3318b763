"""The colour of every pixel, once, from the visibility buffer: pixels of one face in a row are done together."""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_bits import to_float
from sidestep.kernels.raster_layout import (
    AMBIENT,
    BLUE,
    BOUNCE_RGB,
    CONTACT,
    CX,
    CY,
    EYE,
    FACE_COLUMN,
    FACE_ROW,
    FOG,
    FOG_RGB,
    FX,
    FY,
    GLOSS,
    GLOW,
    GLOWING,
    GREEN,
    IDENTITY,
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
    MATERIAL,
    PLAIN,
    RED,
    SEMANTIC,
    SHADE,
    SKY_RGB,
    SUN,
    SUN_RGB,
    TAPS,
    TURN,
    U,
    V,
    WET,
)
from sidestep.kernels.raster_shadow import lit_share
from sidestep.kernels.raster_sky import noise_at, sky_colour
from sidestep.kernels.raster_texture import choose_picture_level, texel_colour

WANT_RGB, WANT_DEPTH, WANT_SEMANTIC, WANT_INSTANCE = 1, 2, 4, 8
SKY = np.uint8(1)  # Semantic.SKY
SEGMENT = 16  # pixels that share a mip level
ZERO, UNIT, HALF, TWO = np.float32(0.0), np.float32(1.0), np.float32(0.5), np.float32(2.0)
TONES = 16384
TONE_RANGE = 4.0  # linear light above this is white
TO_TONE = np.float32(TONES / TONE_RANGE)
LAST_TONE = np.int32(TONES - 1)
FROM_ROOT = np.float32(TONE_RANGE / 255.0**2)
FOOT = np.float32(1.0 / 0.7)  # 1 / m: walls are darker below this height
MIRROR_OF_DRY = np.float32(0.04)
PUDDLE = np.float32(1.0 / 0.45)  # noise cells per metre
RIPPLE = np.float32(3.0)


@inlined
def _put_tone(tones, rgb, place, r, g, b):
    rgb[place] = tones[np.uint64(min(np.int32(r * TO_TONE), LAST_TONE))]
    rgb[place + np.uint64(1)] = tones[np.uint64(min(np.int32(g * TO_TONE), LAST_TONE))]
    rgb[place + np.uint64(2)] = tones[np.uint64(min(np.int32(b * TO_TONE), LAST_TONE))]


@inlined
def _unpack(mirror, spot):
    """Linear light from the mirrored picture, whose tones are square roots."""
    root = np.float32(mirror[spot])
    return root * root * FROM_ROOT


@kernel
def _lamp_light(lamps, count, px, py, pz, nx, ny, nz):
    """Light of the lamps at a point with unit normal n: Lambert, square law, cone, nothing beyond the reach."""
    r, g, b = ZERO, ZERO, ZERO
    for k in range(count):
        dx, dy, dz = lamps[k, LAMP_X] - px, lamps[k, LAMP_Y] - py, lamps[k, LAMP_Z] - pz
        d2 = dx * dx + dy * dy + dz * dz
        reach = lamps[k, LAMP_REACH]
        if d2 >= reach * reach:
            continue
        inverse = UNIT / math.sqrt(d2 + np.float32(1e-4))
        facing = (nx * dx + ny * dy + nz * dz) * inverse
        facing = facing * np.float32(0.85) + np.float32(0.15)
        if facing <= ZERO:
            continue
        along = -(lamps[k, LAMP_DX] * dx + lamps[k, LAMP_DY] * dy + lamps[k, LAMP_DZ] * dz) * inverse
        cone = (along - lamps[k, LAMP_COS]) / (UNIT - lamps[k, LAMP_COS]) * TWO
        if cone <= ZERO:
            continue
        cone = cone if cone < UNIT else UNIT
        window = UNIT - d2 / (reach * reach)
        power = facing * cone * cone * window * window / (UNIT + d2)
        r += power * lamps[k, LAMP_R]
        g += power * lamps[k, LAMP_G]
        b += power * lamps[k, LAMP_B]
    return r, g, b


@kernel
def shade_sky(camera, light, noise, tones, width, row, begin, end, want, rgb, depth, semantic, instance):
    """Pixels of one row that show no face."""
    ry0, step = np.float32((camera[CX] - begin - 0.5) / camera[FX]), np.float32(-1.0 / camera[FX])
    rz = np.float32((camera[CY] - row - 0.5) / camera[FY])
    ax = np.float32(camera[TURN]) + np.float32(camera[TURN + 6]) * rz
    ay = np.float32(camera[TURN + 1]) + np.float32(camera[TURN + 7]) * rz
    az = np.float32(camera[TURN + 2]) + np.float32(camera[TURN + 8]) * rz
    bx, by, bz = np.float32(camera[TURN + 3]), np.float32(camera[TURN + 4]), np.float32(camera[TURN + 5])
    for x in range(begin, end):
        place = np.uint64(row * width + x)
        if want & WANT_RGB:
            ry = ry0 + step * np.float32(x - begin)
            dx, dy, dz = ax + bx * ry, ay + by * ry, az + bz * ry
            scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
            r, g, b = sky_colour(light, noise, dx * scale, dy * scale, dz * scale)
            _put_tone(tones, rgb, np.uint64(3) * place, r, g, b)
        if want & WANT_DEPTH:
            depth[place] = np.inf
        if want & WANT_SEMANTIC:
            semantic[place] = SKY
        if want & WANT_INSTANCE:
            instance[place] = 0


@kernel
def shade_ids(ints, face, width, row, begin, end, want, seen, depth, semantic, instance):
    """Depth, class and number of the pixels of one face in one row."""
    if want & WANT_DEPTH:
        for x in range(begin, end):
            place = np.uint64(row * width + x)
            depth[place] = UNIT / to_float(np.uint32(seen[place] >> np.uint64(32)))
    if want & WANT_SEMANTIC:
        value = np.uint8(ints[face, SEMANTIC])
        for x in range(begin, end):
            semantic[np.uint64(row * width + x)] = value
    if want & WANT_INSTANCE:
        number = ints[face, IDENTITY]
        for x in range(begin, end):
            instance[np.uint64(row * width + x)] = number


@kernel
def face_normal(camera, planes, face):
    """Unit normal of a face in the world, toward the camera. On the face ``c · p = 1`` in the camera's frame, where c is
    the gradient of the inverse depth over the ray."""
    gy, gz = -planes[face, 1] * camera[FX], -planes[face, 2] * camera[FY]
    gx = planes[face, 0] - gy * (camera[CX] - 0.5) / camera[FX] - gz * (camera[CY] - 0.5) / camera[FY]
    scale = -1.0 / math.sqrt(gx * gx + gy * gy + gz * gz + 1e-30)
    nx = (camera[TURN] * gx + camera[TURN + 3] * gy + camera[TURN + 6] * gz) * scale
    ny = (camera[TURN + 1] * gx + camera[TURN + 4] * gy + camera[TURN + 7] * gz) * scale
    nz = (camera[TURN + 2] * gx + camera[TURN + 5] * gy + camera[TURN + 8] * gz) * scale
    return np.float32(nx), np.float32(ny), np.float32(nz)


@kernel
def shade_face(
    camera, light, lamps, noise, tones, shadow_rays, shadow_eye, shadow, shadow_size, soak, mirror, mirror_width,
    materials, pictures, texels, ints, floats, planes, face, width, row, begin, end, seen, rgb,
):  # fmt: skip
    """Colours of the pixels ``begin`` … ``end`` of one row, all of one face."""
    material = ints[face, MATERIAL]
    plain = material < 0 or materials[material, PLAIN] != 0
    down = np.float32(row - ints[face, FACE_ROW])
    across = np.float32(begin - ints[face, FACE_COLUMN])
    sun0, sun1 = floats[face, SUN] + floats[face, SUN + 2] * down, floats[face, SUN + 1]
    sky0, sky1 = floats[face, AMBIENT] + floats[face, AMBIENT + 2] * down, floats[face, AMBIENT + 1]
    sun0, sky0 = sun0 + sun1 * across, sky0 + sky1 * across
    gloss, glow = ZERO, ZERO
    if material >= 0:
        gloss, glow = materials[material, GLOSS], materials[material, GLOW] * light[GLOWING]
    wet = light[WET] * soak[np.uint64(ints[face, SEMANTIC])]
    lamp_count = np.int32(light[LAMPS])
    with_normal = lamp_count > 0 or gloss > ZERO or wet > ZERO
    nx, ny, nz = ZERO, ZERO, UNIT
    if with_normal:
        nx, ny, nz = face_normal(camera, planes, face)
        if nz < np.float32(0.8):
            wet *= np.float32(0.25)
    with_shadow = light[SHADE] > ZERO
    shade, taps = light[SHADE], np.int32(light[TAPS])
    fog, contact = light[FOG], light[CONTACT]
    sun_r, sun_g, sun_b = light[SUN_RGB], light[SUN_RGB + 1], light[SUN_RGB + 2]
    low_r, low_g, low_b = light[BOUNCE_RGB], light[BOUNCE_RGB + 1], light[BOUNCE_RGB + 2]
    high_r, high_g, high_b = light[SKY_RGB] - low_r, light[SKY_RGB + 1] - low_g, light[SKY_RGB + 2] - low_b
    fog_r, fog_g, fog_b = light[FOG_RGB], light[FOG_RGB + 1], light[FOG_RGB + 2]

    rz = np.float32((camera[CY] - row - 0.5) / camera[FY])
    ry0, ry1 = np.float32((camera[CX] - begin - 0.5) / camera[FX]), np.float32(-1.0 / camera[FX])
    up0 = np.float32(camera[TURN + 2]) + np.float32(camera[TURN + 8]) * rz + np.float32(camera[TURN + 5]) * ry0
    up1 = np.float32(camera[TURN + 5]) * ry1
    eye_z = np.float32(camera[EYE + 2])
    sx0 = shadow_rays[0] + shadow_rays[1] * ry0 + shadow_rays[2] * rz
    sy0 = shadow_rays[3] + shadow_rays[4] * ry0 + shadow_rays[5] * rz
    sh0 = shadow_rays[6] + shadow_rays[7] * ry0 + shadow_rays[8] * rz
    sx1, sy1, sh1 = shadow_rays[1] * ry1, shadow_rays[4] * ry1, shadow_rays[7] * ry1

    red, green, blue = floats[face, RED], floats[face, GREEN], floats[face, BLUE]
    u0 = v0 = u1 = v1 = ZERO
    offset, mask, shift, size = np.uint64(0), np.int32(0), np.uint64(0), UNIT
    if not plain:
        u0 = floats[face, U] + floats[face, U + 2] * down + floats[face, U + 1] * across
        v0 = floats[face, V] + floats[face, V + 2] * down + floats[face, V + 1] * across
        u1, v1 = floats[face, U + 1], floats[face, V + 1]

    for segment in range(begin, end, SEGMENT):
        last = min(segment + SEGMENT, end)
        if not plain:
            middle = (segment + last) >> 1
            far = UNIT / to_float(np.uint32(seen[np.uint64(row * width + middle)] >> np.uint64(32)))
            k = np.float32(middle - begin)
            u, v = (u0 + u1 * k) * far, (v0 + v1 * k) * far
            wx, wy = np.float32(planes[face, 1]), np.float32(planes[face, 2])
            level = choose_picture_level(
                pictures, material, (u1 - u * wx) * far, (v1 - v * wx) * far,
                (floats[face, U + 2] - u * wy) * far, (floats[face, V + 2] - v * wy) * far,
            )  # fmt: skip
            edge = pictures[material, 0] - level
            offset, shift = np.uint64(pictures[material, 1 + level]), np.uint64(edge)
            size, mask = np.float32(np.int32(1) << edge), np.int32((np.int32(1) << edge) - np.int32(1))
        for x in range(segment, last):
            place = np.uint64(row * width + x)
            far = UNIT / to_float(np.uint32(seen[place] >> np.uint64(32)))
            k = np.float32(x - begin)
            if not plain:
                u, v = (u0 + u1 * k) * far * size - HALF, (v0 + v1 * k) * far * size - HALF
                red, green, blue = texel_colour(texels, offset, mask, shift, u, v)
            sun = (sun0 + sun1 * k) * far
            sky = (sky0 + sky1 * k) * far
            sky = ZERO if sky < ZERO else (UNIT if sky > UNIT else sky)
            if sun > ZERO:
                sun = sun if sun < UNIT else UNIT
                if with_shadow:
                    share = lit_share(
                        shadow, shadow_size, shadow_eye[0] + far * (sx0 + sx1 * k),
                        shadow_eye[1] + far * (sy0 + sy1 * k), shadow_eye[2] + far * (sh0 + sh1 * k), taps,
                    )  # fmt: skip
                    sun *= UNIT - shade * (UNIT - share)
            else:
                sun = ZERO
            height = UNIT - (eye_z + far * (up0 + up1 * k)) * FOOT
            dark = UNIT
            if height > ZERO:
                height = height if height < UNIT else UNIT
                dark = UNIT - contact * height * height * (UNIT - sky)
            r = dark * (low_r + high_r * sky) + sun * sun_r
            g = dark * (low_g + high_g * sky) + sun * sun_g
            b = dark * (low_b + high_b * sky) + sun * sun_b
            if with_normal:
                ry = ry0 + ry1 * k
                dx = np.float32(camera[TURN]) + np.float32(camera[TURN + 3]) * ry + np.float32(camera[TURN + 6]) * rz
                dy = np.float32(camera[TURN + 1]) + np.float32(camera[TURN + 4]) * ry + np.float32(camera[TURN + 7]) * rz
                dz = up0 + up1 * k
                px, py, pz = np.float32(camera[EYE]) + far * dx, np.float32(camera[EYE + 1]) + far * dy, eye_z + far * dz
                if lamp_count > 0:
                    lr, lg, lb = _lamp_light(lamps, lamp_count, px, py, pz, nx, ny, nz)
                    r, g, b = r + lr, g + lg, b + lb
                here = wet
                puddle = ZERO
                if wet > ZERO:
                    puddle = noise_at(noise, px * PUDDLE, py * PUDDLE)
                    film = (puddle - np.float32(0.42)) * np.float32(6.0)
                    film = ZERO if film < ZERO else (UNIT if film > UNIT else film)
                    here = wet * (np.float32(0.35) + np.float32(0.65) * film)
                    darker = UNIT - np.float32(0.5) * wet
                    r, g, b = r * darker, g * darker, b * darker
                r, g, b = (r + glow) * red, (g + glow) * green, (b + glow) * blue
                if here > ZERO or gloss > ZERO:
                    scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
                    facing = -(dx * nx + dy * ny + dz * nz) * scale
                    facing = facing if facing > ZERO else ZERO
                    rest = UNIT - facing
                    rest2 = rest * rest
                    fresnel = MIRROR_OF_DRY + (UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest
                    if here > ZERO and mirror_width > 0:
                        fresnel = (fresnel + np.float32(0.06)) * here
                        wobble = (puddle - HALF) * RIPPLE
                        column = min(max(np.int32(np.float32(x) * HALF + wobble), np.int32(0)), mirror_width - 1)
                        spot = np.uint64(3 * ((row >> 1) * mirror_width + column))
                        mr, mg, mb = _unpack(mirror, spot), _unpack(mirror, spot + np.uint64(1)), _unpack(
                            mirror, spot + np.uint64(2)
                        )
                    else:
                        fresnel *= here if here > gloss else gloss
                        twice = TWO * facing
                        mr, mg, mb = sky_colour(
                            light, noise, dx * scale + twice * nx, dy * scale + twice * ny, dz * scale + twice * nz
                        )
                    r, g, b = r + (mr - r) * fresnel, g + (mg - g) * fresnel, b + (mb - b) * fresnel
            else:
                r, g, b = (r + glow) * red, (g + glow) * green, (b + glow) * blue
            thin = far * fog
            thin = UNIT / (UNIT + thin * (UNIT + HALF * thin))
            r, g, b = fog_r + (r - fog_r) * thin, fog_g + (g - fog_g) * thin, fog_b + (b - fog_b) * thin
            _put_tone(tones, rgb, np.uint64(3) * place, r, g, b)
