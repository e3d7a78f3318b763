"""Which pixels a convex polygon covers, exactly, and the visibility buffer that they go into.

Corners are whole numbers of 1/16384 pixel. In a row, an edge begins or ends the polygon at the first pixel whose
centre is not left of it; both polygons of a shared edge reckon this from the same two corners, so every pixel between
them belongs to one and to one only (the top-left rule).

The visibility buffer holds one uint64 per pixel: the bits of the inverse depth (float32, positive, so that its bits are
in order) above the number of the face. The greater wins; on equal depth, the later face.
"""

from __future__ import annotations

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.raster_bits import to_bits
from sidestep.kernels.raster_layout import (
    FACE_ROW,
    FACE_ROW_END,
    FLIPPED,
    HALF,
    LEAST,
    MOST,
    ONE,
    POLYGON,
    SHIFT,
    X0,
    Y0,
)


@inlined
def first_centre(coordinate):
    """The first pixel whose centre is not before a fixed-point coordinate."""
    return (coordinate - HALF + ONE - 1) >> SHIFT


@kernel
def scan_edge(xa, ya, xb, yb, row, row_end, out):
    """For each row between ``row`` and ``row_end`` that the edge from (xa, ya) down to (xb, yb) crosses: the first
    pixel whose centre is not left of the edge, stepped in whole numbers without rounding."""
    first, last = max(first_centre(ya), row), min(first_centre(yb), row_end)
    if first >= last:
        return
    dx, dy = xb - xa, yb - ya
    whole = dy << SHIFT
    above = (xa - HALF) * dy + ((first << SHIFT) + HALF - ya) * dx
    pixel = np.int64(np.float64(above) / np.float64(whole))  # near enough: whole numbers divide more slowly
    spare = pixel * whole - above
    while spare < 0:
        pixel += 1
        spare += whole
    while spare >= whole:
        pixel -= 1
        spare -= whole
    out[np.uint64(first)] = pixel
    if last - first == 1:
        return
    step = np.int64(np.float64(dx) / np.float64(dy))
    rest = dx - step * dy
    if rest < 0:
        step -= 1
        rest += dy
    rest <<= SHIFT
    for r in range(first + 1, last):
        pixel += step
        spare -= rest
        if spare < 0:
            spare += whole
            pixel += 1
        out[np.uint64(r)] = pixel


@inlined
def _edge(xa, ya, xb, yb, flipped, row, row_end, left, right):
    """Downward edges are on the left of a polygon that runs counter-clockwise on the picture, upward ones right."""
    if ya < yb:
        scan_edge(xa, ya, xb, yb, row, row_end, right if flipped else left)
    elif ya > yb:
        scan_edge(xb, yb, xa, ya, row, row_end, left if flipped else right)


@kernel(forceinline=True)
def scan_face(ints, polygons, face, row, row_end, left, right):
    """Fill ``left`` and ``right`` (one past the last pixel) for the rows of one face."""
    flipped = ints[face, FLIPPED] != 0
    polygon = ints[face, POLYGON]
    if polygon < 0:
        xa, ya = np.int64(ints[face, X0]), np.int64(ints[face, Y0])
        xb, yb = np.int64(ints[face, X0 + 2]), np.int64(ints[face, Y0 + 2])
        xc, yc = np.int64(ints[face, X0 + 4]), np.int64(ints[face, Y0 + 4])
        _edge(xa, ya, xb, yb, flipped, row, row_end, left, right)
        _edge(xb, yb, xc, yc, flipped, row, row_end, left, right)
        _edge(xc, yc, xa, ya, flipped, row, row_end, left, right)
        return
    count = polygons[polygon, 0]
    for k in range(count):
        j = k + 1 if k + 1 < count else 0
        _edge(
            np.int64(polygons[polygon, 1 + 2 * k]), np.int64(polygons[polygon, 2 + 2 * k]),
            np.int64(polygons[polygon, 1 + 2 * j]), np.int64(polygons[polygon, 2 + 2 * j]),
            flipped, row, row_end, left, right,
        )  # fmt: skip


@inlined
def _fill_row(seen, begin, count, value, step, least, most, face):
    for k in range(np.uint64(count)):
        inverse = value + step * np.float32(np.int32(k))
        inverse = inverse if inverse > least else least
        inverse = inverse if inverse < most else most
        key = (np.uint64(to_bits(inverse)) << np.uint64(32)) | face
        place = begin + k
        old = seen[place]
        seen[place] = key if key > old else old


@kernel(forceinline=True)
def draw_face(ints, floats, planes, polygons, face, width, band, band_end, left, right, seen):
    """Put one face into the rows ``band`` … ``band_end`` of the visibility buffer (rows × width, flat)."""
    row, row_end = max(ints[face, FACE_ROW], band), min(ints[face, FACE_ROW_END], band_end)
    if row >= row_end:
        return
    scan_face(ints, polygons, face, row, row_end, left, right)
    least, most = floats[face, LEAST], floats[face, MOST]
    origin, per_column, per_row = planes[face, 0], planes[face, 1], planes[face, 2]
    step = np.float32(per_column)
    number = np.uint64(face)
    for r in range(row, row_end):
        begin, end = max(left[np.uint64(r)], 0), min(right[np.uint64(r)], width)
        if begin < end:
            value = np.float32(origin + per_row * r + per_column * begin)
            _fill_row(seen, np.uint64(r * width + begin), end - begin, value, step, least, most, number)
