"""Pictures made smaller or larger, and depth read between pixels."""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined, kernel

SAME_SURFACE = 1.01  # depths of a block of four that differ by no more are taken for one curved surface
PLANE = 3e-4  # how far 1/depth may bend, as a share of it, on what is taken for a plane


@kernel
def average_areas(source, line, scaled):
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
def _bend(before, here, after):
    return abs(1.0 / before - 2.0 / here + 1.0 / after)


@kernel
def read_depth(depth, u, v, found, nearest):
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
