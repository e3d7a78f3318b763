"""The colour of the sky in a direction: gradient, glow and disc of the sun, a layer of clouds."""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_layout import (
    CLOUD_RGB,
    CLOUD_SHIFT,
    CLOUDS,
    DISC,
    HORIZON_RGB,
    SUN_RGB,
    SUN_X,
    SUN_Y,
    SUN_Z,
    ZENITH_RGB,
)

ZERO, HALF_, UNIT, TWO, THREE = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0), np.float32(3.0)
DISC_COS = np.float32(math.cos(math.radians(0.9)))  # the disc, drawn larger than life as lenses do
RIM_COS = np.float32(math.cos(math.radians(1.4)))
LOWEST_CLOUD = np.float32(0.015)
CLOUD_SIZE = np.float32(26.0)  # noise cells per unit of tan(zenith angle)
HAZE = np.float32(0.12)
GLOW, CORONA, HORIZON_GLOW = np.float32(0.10), np.float32(0.30), np.float32(0.22)
SOFT = np.float32(0.28)


@inlined
def noise_at(noise, x, y):
    """Bilinear value of a square table that repeats; its edge is a power of two."""
    size = noise.shape[0]
    fx, fy = np.float32(math.floor(x)), np.float32(math.floor(y))
    i, j = np.int32(fx) & (size - 1), np.int32(fy) & (size - 1)
    ii, jj = (i + 1) & (size - 1), (j + 1) & (size - 1)
    fx, fy = x - fx, y - fy
    top = noise[np.uint64(j), np.uint64(i)] * (UNIT - fx) + noise[np.uint64(j), np.uint64(ii)] * fx
    low = noise[np.uint64(jj), np.uint64(i)] * (UNIT - fx) + noise[np.uint64(jj), np.uint64(ii)] * fx
    return top * (UNIT - fy) + low * fy


@kernel(forceinline=True)
def sky_colour(light, noise, dx, dy, dz):
    """Linear RGB in the unit direction (dx, dy, dz). Below the horizon it is the haze on the horizon."""
    up = dz if dz > ZERO else ZERO
    low = UNIT - up
    low2 = low * low
    share = low2 * low2 * (HALF_ + HALF_ * low)
    r = light[ZENITH_RGB] + (light[HORIZON_RGB] - light[ZENITH_RGB]) * share
    g = light[ZENITH_RGB + 1] + (light[HORIZON_RGB + 1] - light[ZENITH_RGB + 1]) * share
    b = light[ZENITH_RGB + 2] + (light[HORIZON_RGB + 2] - light[ZENITH_RGB + 2]) * share
    toward = dx * light[SUN_X] + dy * light[SUN_Y] + dz * light[SUN_Z]
    sun = ZERO
    if toward > ZERO:
        p2 = toward * toward
        p4 = p2 * p2
        p8 = p4 * p4
        p64 = p8 * p8 * p8 * p8 * p8 * p8 * p8 * p8
        sun = (GLOW * p8 + HORIZON_GLOW * p4 * share + CORONA * p64) * light[DISC]
        r += sun * light[SUN_RGB]
        g += sun * light[SUN_RGB + 1]
        b += sun * light[SUN_RGB + 2]
    cover = light[CLOUDS]
    if cover > ZERO and dz > LOWEST_CLOUD:
        scale = CLOUD_SIZE / (dz + HAZE)
        x, y = dx * scale + light[CLOUD_SHIFT], dy * scale
        value = noise_at(noise, x, y)
        dense = (value - (UNIT - cover)) / SOFT
        dense = ZERO if dense < ZERO else (UNIT if dense > UNIT else dense)
        dense = dense * dense * (THREE - TWO * dense)
        fade = (dz - LOWEST_CLOUD) * np.float32(7.0)
        dense *= fade if fade < UNIT else UNIT
        bright = np.float32(1.15) - np.float32(0.45) * value + sun
        r += (light[CLOUD_RGB] * bright - r) * dense
        g += (light[CLOUD_RGB + 1] * bright - g) * dense
        b += (light[CLOUD_RGB + 2] * bright - b) * dense
        toward -= dense * np.float32(0.01)
    if toward > RIM_COS and light[DISC] > ZERO:
        t = (toward - RIM_COS) / (DISC_COS - RIM_COS)
        t = t if t < UNIT else UNIT
        t = t * t * light[DISC] * np.float32(3.0)
        r += t * light[SUN_RGB]
        g += t * light[SUN_RGB + 1]
        b += t * light[SUN_RGB + 2]
    return r, g, b
