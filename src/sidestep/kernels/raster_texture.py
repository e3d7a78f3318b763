"""Texels: packed RGBA of 8 bits, square roots of linear colour, so that dark ones keep their steps."""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined
from sidestep.kernels.raster_layout import PICTURE_LEVELS

TO_LINEAR = np.float32(1.0 / (255.0 * 256.0))
PAIR, SINGLE = np.uint32(0x00FF00FF), np.uint32(0xFF)


@inlined
def choose_picture_level(pictures, material, ux, vx, uy, vy):
    """The mip level for a pixel over which (u, v) change by (ux, vx) along the row and (uy, vy) along the column.

    The level is that of the mean of the longer and the shorter side, but no more than two levels finer than the longer
    side asks for: sharp on ground seen at a grazing angle, without much flicker.
    """
    size = pictures[material, 0]
    first, second = ux * ux + vx * vx + np.float32(1e-20), uy * uy + vy * vy + np.float32(1e-20)
    longer, shorter = math.log2(max(first, second)), math.log2(min(first, second))
    level = np.int32(math.floor(size + max(0.25 * (longer + shorter), 0.5 * longer - 1.5) + 0.35))
    return min(max(level, np.int32(0)), np.int32(min(size, PICTURE_LEVELS - 1)))


@inlined
def texel_colour(texels, offset, mask, shift, x, y):
    """Bilinear linear RGB at texel coordinates (x, y) of the level that begins at ``offset``, 2^shift texels wide."""
    fx, fy = math.floor(x), math.floor(y)
    i, j = np.int32(fx), np.int32(fy)
    wx, wy = np.uint32((x - np.float32(fx)) * np.float32(16.0)), np.uint32((y - np.float32(fy)) * np.float32(16.0))
    left, right = np.uint64(i & mask), np.uint64((i + np.int32(1)) & mask)
    top, low = offset + (np.uint64(j & mask) << shift), offset + (np.uint64((j + np.int32(1)) & mask) << shift)
    a, b, c, d = texels[top + left], texels[top + right], texels[low + left], texels[low + right]
    sixteen = np.uint32(16)
    wa, wb = (sixteen - wx) * (sixteen - wy), wx * (sixteen - wy)
    wc, wd = (sixteen - wx) * wy, wx * wy
    rb = (a & PAIR) * wa + (b & PAIR) * wb + (c & PAIR) * wc + (d & PAIR) * wd
    g = (
        ((a >> np.uint32(8)) & SINGLE) * wa
        + ((b >> np.uint32(8)) & SINGLE) * wb
        + ((c >> np.uint32(8)) & SINGLE) * wc
        + ((d >> np.uint32(8)) & SINGLE) * wd
    )
    red = np.float32(np.int32(rb & np.uint32(0xFFFF))) * TO_LINEAR
    green = np.float32(np.int32(g)) * TO_LINEAR
    blue = np.float32(np.int32(rb >> np.uint32(16))) * TO_LINEAR
    return red * red, green * green, blue * blue
