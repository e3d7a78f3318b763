"""Texels: packed RGBA of 8 bits, square roots of linear colour, so that dark ones keep their steps."""

from __future__ import annotations

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_bits import peek, poke, to_bits
from sidestep.kernels.raster_layout import PICTURE_LEVELS
from sidestep.kernels.raster_light import floor32

TO_LINEAR = np.float32(1.0 / (255.0 * 256.0))
PAIR, SINGLE = np.uint32(0x00FF00FF), np.uint32(0xFF)
FOUR = np.uint32(4)
HALF, QUARTER = np.float32(0.5), np.float32(0.25)
FINER, BIAS = np.float32(1.5), np.float32(0.35)  # mip levels
PER_OCTAVE = np.float32(1.0 / (1 << 23))


@inlined
def _green(texel):
    return np.uint32(texel >> np.uint32(8)) & SINGLE


@inlined
def _mix(a, b, c, d, wx, wy):
    """256 times the blend of four packed texels with weights of sixteenths: a + (b - a) w is right for every byte of
    the word at once, whatever is borrowed between. Each step is made 32 bits again: else the compiler widens it."""
    top = np.uint32(np.uint32(a << FOUR) + np.uint32(np.uint32(b - a) * wx))
    low = np.uint32(np.uint32(c << FOUR) + np.uint32(np.uint32(d - c) * wx))
    return np.uint32(np.uint32(top << FOUR) + np.uint32(np.uint32(low - top) * wy))


@inlined
def _log2(x):
    """Logarithm of a positive float32 from its bits, within 0.09."""
    return np.float32(np.int32(to_bits(x))) * PER_OCTAVE - np.float32(127.0)


@inlined
def choose_picture_level(pictures, material, ux, vx, uy, vy):
    """The mip level for a pixel over which (u, v) change by (ux, vx) along the row and (uy, vy) along the column.

    The level is that of the mean of the longer and the shorter side, but no more than two levels finer than the longer
    side asks for: sharp on ground seen at a grazing angle, without much flicker.
    """
    size = pictures[material, 0]
    first, second = ux * ux + vx * vx + np.float32(1e-20), uy * uy + vy * vy + np.float32(1e-20)
    longer, shorter = _log2(first if first > second else second), _log2(second if first > second else first)
    mean, least = QUARTER * (longer + shorter), HALF * longer - FINER
    level = floor32(np.float32(size) + (mean if mean > least else least) + BIAS)
    return min(max(level, np.int32(0)), np.int32(min(size, PICTURE_LEVELS - 1)))


@kernel(forceinline=True)
def lay_texels(texels, offset, edge, u0, u1, v0, v1, far, begin, count, red, green, blue):
    """Bilinear linear RGB along a stretch of a row from the level that begins at ``offset`` and is 2^edge texels wide;
    u and v, divided by depth, are linear along it."""
    size, mask, shift = np.float32(np.int32(1) << edge), np.uint32((np.int32(1) << edge) - np.int32(1)), np.uint32(edge)
    start = np.uint32(offset)
    for k in range(np.uint64(count)):
        place = begin + k
        step = np.float32(np.int32(k))
        depth = peek(far, place) * size
        x, y = (u0 + u1 * step) * depth - HALF, (v0 + v1 * step) * depth - HALF
        i, j = floor32(x), floor32(y)
        wx = np.uint32(np.int32((x - np.float32(i)) * np.float32(16.0)))
        wy = np.uint32(np.int32((y - np.float32(j)) * np.float32(16.0)))
        left, right = np.uint32(i) & mask, np.uint32(i + np.int32(1)) & mask
        top = np.uint32(start + np.uint32((np.uint32(j) & mask) << shift))
        low = np.uint32(start + np.uint32((np.uint32(j + np.int32(1)) & mask) << shift))
        a, b = peek(texels, np.uint64(np.uint32(top + left))), peek(texels, np.uint64(np.uint32(top + right)))
        c, d = peek(texels, np.uint64(np.uint32(low + left))), peek(texels, np.uint64(np.uint32(low + right)))
        rb = _mix(a & PAIR, b & PAIR, c & PAIR, d & PAIR, wx, wy)
        g = _mix(_green(a), _green(b), _green(c), _green(d), wx, wy)
        r1 = np.float32(np.int32(rb & np.uint32(0xFFFF))) * TO_LINEAR
        g1 = np.float32(np.int32(g)) * TO_LINEAR
        b1 = np.float32(np.int32(rb >> np.uint32(16))) * TO_LINEAR
        poke(red, place, r1 * r1)
        poke(green, place, g1 * g1)
        poke(blue, place, b1 * b1)
