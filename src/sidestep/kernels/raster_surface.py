"""What some surfaces do besides: glow, mirror the sky, hold water, stand in the light of lamps. Pixel by pixel."""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_bits import poke
from sidestep.kernels.raster_layout import (
    CX,
    CY,
    EYE,
    FX,
    FY,
    GLOSS,
    GLOW,
    GLOWING,
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
    SEMANTIC,
    TURN,
    WET,
)
from sidestep.kernels.raster_light import TONE_RANGE
from sidestep.kernels.raster_sky import noise_at, sky_colour

ZERO, UNIT, HALF, TWO = np.float32(0.0), np.float32(1.0), np.float32(0.5), np.float32(2.0)
FROM_ROOT = np.float32(TONE_RANGE / 255.0**2)
MIRROR_OF_DRY = np.float32(0.04)  # share of light that any smooth surface mirrors straight on
WATER, ROUGH = np.float32(0.05), np.float32(0.8)
PUDDLE = np.float32(1.0 / 0.45)  # noise cells per metre
RIPPLE = np.float32(3.0)  # half-size pixels
UPRIGHT = np.float32(0.8)  # less of a normal's z than this: water runs off


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
def face_normal(camera, planes, face):
    """Unit normal of a face in the world, toward the camera. On the face ``c · p = 1`` in the camera's frame, where c
    is the gradient of the inverse depth over the ray."""
    gy, gz = -planes[face, 1] * camera[FX], -planes[face, 2] * camera[FY]
    gx = planes[face, 0] - gy * (camera[CX] - 0.5) / camera[FX] - gz * (camera[CY] - 0.5) / camera[FY]
    scale = -1.0 / math.sqrt(gx * gx + gy * gy + gz * gz + 1e-30)
    nx = (camera[TURN] * gx + camera[TURN + 3] * gy + camera[TURN + 6] * gz) * scale
    ny = (camera[TURN + 1] * gx + camera[TURN + 4] * gy + camera[TURN + 7] * gz) * scale
    nz = (camera[TURN + 2] * gx + camera[TURN + 5] * gy + camera[TURN + 8] * gz) * scale
    return np.float32(nx), np.float32(ny), np.float32(nz)


@inlined
def is_special(light, materials, soak, ints, face):
    """Whether :func:`finish_face` has anything to do."""
    material = ints[face, MATERIAL]
    if light[LAMPS] > ZERO or light[WET] * soak[np.uint64(ints[face, SEMANTIC])] > ZERO:
        return True
    return material >= 0 and (materials[material, GLOSS] > ZERO or materials[material, GLOW] * light[GLOWING] > ZERO)


@inlined
def _mirrored(light, noise, mirror, mirror_width, puddle, watery, row, x, dx, dy, dz, facing, nx, ny, nz):
    """What a surface mirrors: the picture of the mirrored world where there is one, else the sky."""
    if watery and mirror_width > 0:
        wobble = (puddle - HALF) * RIPPLE
        column = min(max(np.int32(np.float32(x) * HALF + wobble), np.int32(0)), np.int32(mirror_width - 1))
        spot = np.uint64(3 * ((row >> 1) * mirror_width + column))
        return _unpack(mirror, spot), _unpack(mirror, spot + np.uint64(1)), _unpack(mirror, spot + np.uint64(2))
    twice = TWO * facing
    return sky_colour(light, noise, dx + twice * nx, dy + twice * ny, dz + twice * nz)


@kernel
def mirror_sky(
    camera, light, noise, materials, ints, planes, face, row, begin, end, red, green, blue, out_r, out_g, out_b,
    mirror_r, mirror_g, mirror_b, through,
):  # fmt: skip
    """What :func:`finish_face` does by day in dry weather, in vector instructions: glow, and the sky in window panes.
    The last four rows are scratch."""
    material = ints[face, MATERIAL]
    gloss, glow = materials[material, GLOSS], materials[material, GLOW] * light[GLOWING]
    nx, ny, nz = face_normal(camera, planes, face)
    rz = np.float32((camera[CY] - row - 0.5) / camera[FY])
    ry0, ry1 = np.float32((camera[CX] - 0.5) / camera[FX]), np.float32(-1.0 / camera[FX])
    ax = np.float32(camera[TURN]) + np.float32(camera[TURN + 6]) * rz
    ay = np.float32(camera[TURN + 1]) + np.float32(camera[TURN + 7]) * rz
    az = np.float32(camera[TURN + 2]) + np.float32(camera[TURN + 8]) * rz
    bx, by, bz = np.float32(camera[TURN + 3]), np.float32(camera[TURN + 4]), np.float32(camera[TURN + 5])
    for x in range(np.uint64(begin), np.uint64(end)):
        ry = ry0 + ry1 * np.float32(np.int32(x))
        dx, dy, dz = ax + bx * ry, ay + by * ry, az + bz * ry
        scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
        dx, dy, dz = dx * scale, dy * scale, dz * scale
        facing = -(dx * nx + dy * ny + dz * nz)
        facing = facing if facing > ZERO else ZERO
        rest = UNIT - facing
        rest2 = rest * rest
        fresnel = gloss * (MIRROR_OF_DRY + (UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest)
        twice = TWO * facing
        r, g, b = sky_colour(light, noise, dx + twice * nx, dy + twice * ny, dz + twice * nz)
        poke(mirror_r, x, r * fresnel)
        poke(mirror_g, x, g * fresnel)
        poke(mirror_b, x, b * fresnel)
        poke(through, x, UNIT - fresnel)
    for x in range(np.uint64(begin), np.uint64(end)):
        out_r[x] = (out_r[x] + glow * red[x]) * through[x] + mirror_r[x]
        out_g[x] = (out_g[x] + glow * green[x]) * through[x] + mirror_g[x]
        out_b[x] = (out_b[x] + glow * blue[x]) * through[x] + mirror_b[x]


@kernel
def finish_face(
    camera, light, lamps, noise, soak, mirror, mirror_width, materials, ints, planes, face, row, begin, end,
    far, red, green, blue, out_r, out_g, out_b,
):  # fmt: skip
    """Add to the light that leaves pixels ``begin`` … ``end`` of a row, all of one face."""
    material = ints[face, MATERIAL]
    gloss, glow = ZERO, ZERO
    if material >= 0:
        gloss, glow = materials[material, GLOSS], materials[material, GLOW] * light[GLOWING]
    nx, ny, nz = face_normal(camera, planes, face)
    wet = light[WET] * soak[np.uint64(ints[face, SEMANTIC])]
    watery = wet > ZERO and nz > UPRIGHT
    lamp_count = np.int32(light[LAMPS])
    rz = np.float32((camera[CY] - row - 0.5) / camera[FY])
    darker = UNIT - HALF * wet
    for x in range(begin, end):
        ry = np.float32((camera[CX] - x - 0.5) / camera[FX])
        dx = np.float32(camera[TURN]) + np.float32(camera[TURN + 3]) * ry + np.float32(camera[TURN + 6]) * rz
        dy = np.float32(camera[TURN + 1]) + np.float32(camera[TURN + 4]) * ry + np.float32(camera[TURN + 7]) * rz
        dz = np.float32(camera[TURN + 2]) + np.float32(camera[TURN + 5]) * ry + np.float32(camera[TURN + 8]) * rz
        px, py = np.float32(camera[EYE]) + far[x] * dx, np.float32(camera[EYE + 1]) + far[x] * dy
        pz = np.float32(camera[EYE + 2]) + far[x] * dz
        r, g, b = out_r[x], out_g[x], out_b[x]
        if lamp_count > 0:
            lr, lg, lb = _lamp_light(lamps, lamp_count, px, py, pz, nx, ny, nz)
            r, g, b = r + lr * red[x], g + lg * green[x], b + lb * blue[x]
        r, g, b = r * darker + glow * red[x], g * darker + glow * green[x], b * darker + glow * blue[x]
        if watery or gloss > ZERO:
            scale = UNIT / math.sqrt(dx * dx + dy * dy + dz * dz)
            facing = -(dx * nx + dy * ny + dz * nz) * scale
            facing = facing if facing > ZERO else ZERO
            rest = UNIT - facing
            rest2 = rest * rest
            fresnel = MIRROR_OF_DRY + (UNIT - MIRROR_OF_DRY) * rest2 * rest2 * rest
            puddle = HALF
            if watery:
                puddle = noise_at(noise, px * PUDDLE, py * PUDDLE)
                film = (puddle - np.float32(0.42)) * np.float32(6.0)
                film = ZERO if film < ZERO else (UNIT if film > UNIT else film)
                fresnel = (ROUGH * fresnel + WATER) * wet * (np.float32(0.22) + np.float32(0.78) * film)
            else:
                fresnel *= gloss
            mr, mg, mb = _mirrored(
                light, noise, mirror, mirror_width, puddle, watery, row, x,
                dx * scale, dy * scale, dz * scale, facing, nx, ny, nz,
            )  # fmt: skip
            r, g, b = r + (mr - r) * fresnel, g + (mg - g) * fresnel, b + (mb - b) * fresnel
        out_r[x], out_g[x], out_b[x] = r, g, b
