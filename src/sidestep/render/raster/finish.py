"""Work on finished pictures: four samples a pixel averaged into one, rain drawn over it, pictures scaled to another
size, and depth read between pixels.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.render.raster.layout import Array

STREAKS = 900  # of heavy rain on any picture


@kernel
def halve_rgb(fine: Array, coarse: Array) -> None:
    """Samples about each pixel's centre, weighted 1 : 2 : 1 both ways. Sample (2 i, 2 j) lies on the centre."""
    height, width = coarse.shape[0], coarse.shape[1]
    for j in range(height):
        above, below = max(2 * j - 1, 0), 2 * j + 1
        for i in range(width):
            left, right = max(2 * i - 1, 0), 2 * i + 1
            for c in range(3):
                total = 4 * np.int32(fine[2 * j, 2 * i, c]) + 8
                total += 2 * (np.int32(fine[above, 2 * i, c]) + np.int32(fine[below, 2 * i, c]))
                total += 2 * (np.int32(fine[2 * j, left, c]) + np.int32(fine[2 * j, right, c]))
                total += np.int32(fine[above, left, c]) + np.int32(fine[above, right, c])
                total += np.int32(fine[below, left, c]) + np.int32(fine[below, right, c])
                coarse[j, i, c] = total >> 4


@inlined
def _scatter(number: int, salt: int) -> float:
    """A number in 0 … 1 from two whole numbers, as good as random."""
    h = np.uint32(np.uint32(number) * np.uint32(0x9E3779B1) + np.uint32(salt) * np.uint32(0x85EBCA77))
    h = np.uint32(np.uint32(h ^ (h >> np.uint32(15))) * np.uint32(0x2C1B3C6D))
    h = np.uint32(np.uint32(h ^ (h >> np.uint32(12))) * np.uint32(0x297A2D39))
    h = np.uint32(h ^ (h >> np.uint32(15)))
    return np.float64(h) / 4294967296.0


@kernel
def draw_rain(rgb: Array, time_s: float, strength: float, colour: Array, focal: float) -> None:
    """Streaks of falling drops over a picture (H, W, 3): each falls at 7 m/s at its own distance, and comes again
    elsewhere. The same time gives the same streaks."""
    height, width = rgb.shape[0], rgb.shape[1]
    for k in range(int(STREAKS * strength)):
        distance = 1.5 + 10.0 * _scatter(k, 1)
        speed = 7.0 / distance * focal  # pixels per second
        length = min(max(0.022 * speed, 2.0), 0.3 * height)
        cycle = height + length
        fallen = _scatter(k, 2) + time_s * speed / cycle
        turn = math.floor(fallen)
        x = _scatter(k, 3 + int(turn)) * width
        y = (fallen - turn) * cycle - length
        alpha = 0.30 / (0.6 + 0.22 * distance)
        first, last = max(int(y), 0), min(int(y + length), height)
        for row in range(first, last):
            column = int(x + 0.06 * (row - y))
            if column < 0 or column >= width:
                continue
            along = (row - y) / length
            a = np.float32(alpha * 4.0 * along * (1.0 - along))
            for c in range(3):
                value = np.float32(rgb[row, column, c])
                rgb[row, column, c] = np.uint8(value + (colour[c] - value) * a)


SAME_SURFACE = 1.01  # depths of a block of four that differ by no more are taken for one curved surface
PLANE = 3e-4  # how far 1/depth may bend, as a share of it, on what is taken for a plane


@kernel
def average_areas(source: Array, line: Array, scaled: Array) -> None:
    """Scale (H, W, 3) uint8 to (h, w, 3): each new pixel is the mean over its area of the old ones, rounded.

    Weights are whole numbers: new row i covers [i H, (i + 1) H), old row j [j h, (j + 1) h). ``line`` (W, 3) int64.
    """
    old_rows, old_columns = source.shape[0], source.shape[1]
    rows, columns = scaled.shape[0], scaled.shape[1]
    whole = old_rows * old_columns
    for i in range(rows):
        top, bottom = i * old_rows, (i + 1) * old_rows
        line[:, :] = 0
        for j in range(top // rows, (bottom + rows - 1) // rows):
            weight = min(bottom, (j + 1) * rows) - max(top, j * rows)
            for k in range(old_columns):
                line[k, 0] += weight * source[j, k, 0]
                line[k, 1] += weight * source[j, k, 1]
                line[k, 2] += weight * source[j, k, 2]
        for k in range(columns):
            left, right = k * old_columns, (k + 1) * old_columns
            red, green, blue = 0, 0, 0
            for j in range(left // columns, (right + columns - 1) // columns):
                weight = min(right, (j + 1) * columns) - max(left, j * columns)
                red += weight * line[j, 0]
                green += weight * line[j, 1]
                blue += weight * line[j, 2]
            scaled[i, k, 0] = (2 * red + whole) // (2 * whole)
            scaled[i, k, 1] = (2 * green + whole) // (2 * whole)
            scaled[i, k, 2] = (2 * blue + whole) // (2 * whole)


@inlined
def _bend(before: float, here: float, after: float) -> float:
    return abs(1.0 / before - 2.0 / here + 1.0 / after)


@kernel
def read_depth(depth: Array, u: Array, v: Array, found: Array, nearest: Array) -> None:
    """Depth at the points (u, v), (N,) pixels with centres at ½, at least two pixels inside (H, W) float32.

    On a plane 1/depth is linear over the picture, so it is interpolated between four centres that lie on one plane, or
    on one gently curved surface; elsewhere, at outlines and edges, the nearest centre counts. ``nearest`` (N,) int64 is
    the flat index of that one.
    """
    width = depth.shape[1]
    for n in range(len(u)):
        i, j = math.floor(u[n] - 0.5), math.floor(v[n] - 0.5)
        s, t = u[n] - 0.5 - i, v[n] - 0.5 - j
        near_i, near_j = i + (1 if s > 0.5 else 0), j + (1 if t > 0.5 else 0)
        nearest[n] = near_j * width + near_i
        a, b, c, d = depth[j, i], depth[j, i + 1], depth[j + 1, i], depth[j + 1, i + 1]
        low, high = min(min(a, b), min(c, d)), max(max(a, b), max(c, d))
        found[n] = depth[near_j, near_i]
        if not math.isfinite(high):
            continue
        smooth = high <= SAME_SURFACE * low
        if not smooth:  # one of the two bends next to the block is straight in each direction, and it does not twist
            most = PLANE / low
            smooth = (
                abs(1.0 / a + 1.0 / d - 1.0 / b - 1.0 / c) <= most
                and min(_bend(depth[j, i - 1], a, b), _bend(a, b, depth[j, i + 2])) <= most
                and min(_bend(depth[j - 1, i], a, c), _bend(a, c, depth[j + 2, i])) <= most
            )
        if smooth:
            upper = (1.0 - s) / a + s / b
            lower = (1.0 - s) / c + s / d
            found[n] = 1.0 / ((1.0 - t) * upper + t * lower)
