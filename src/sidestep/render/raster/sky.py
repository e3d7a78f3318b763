"""The colour of the sky in a direction: gradient, glow and disc of the sun, a layer of clouds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from sidestep.kernels.jit import inlined
from sidestep.render.raster import layout as L
from sidestep.render.raster.intrinsics import peek
from sidestep.render.raster.layout import Array
from sidestep.render.raster.light import clamp32, floor32

Rgb32 = tuple[np.float32, np.float32, np.float32]
ZERO, HALF, UNIT, TWO, THREE = np.float32(0.0), np.float32(0.5), np.float32(1.0), np.float32(2.0), np.float32(3.0)
DISC_COS = np.float32(math.cos(math.radians(0.9)))  # the disc, drawn larger than life as lenses do
RIM_COS = np.float32(math.cos(math.radians(1.4)))
LOWEST_CLOUD = np.float32(0.015)
CLOUD_SIZE = np.float32(26.0)  # noise cells per unit of tan(zenith angle)
HAZE = np.float32(0.12)
GLOW, CORONA, HORIZON_GLOW = np.float32(0.10), np.float32(0.30), np.float32(0.22)
SHARP = np.float32(1.0 / 0.28)  # of clouds' edges
BRIGHTEST, DARKER = np.float32(1.15), np.float32(0.45)
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
    bright = BRIGHTEST - DARKER * value + sun
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
