"""Anti-aliased shapes, painted straight into an 8-bit picture.

Every shape is a polygon grown by a radius: one corner and a radius make a disc, two make a capsule. With
``d`` the signed distance from a pixel's centre to the shape's edge (negative inside), the pixel is covered to
``1/2 - d / s`` (cut to 0 … 1), where ``s`` is the softness: 1 px for a crisp edge, more for a shadow.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from sidestep.drawing.palette import Colour
from sidestep.kernels.jit import inlined, kernel
from sidestep.types.base import FloatArray

Picture = npt.NDArray[np.uint8]

RADIUS, STROKE, SOFTNESS, RED, GREEN, BLUE, ALPHA = range(7)


@inlined
def _distance(px, py, points, first, last):  # type: ignore[no-untyped-def]
    """Signed distance to the polygon ``points[first:last]``: nearest edge, sign by crossings."""
    nearest = np.float32(1e18)
    inside = False
    jx, jy = points[last - 1, 0], points[last - 1, 1]
    for i in range(first, last):
        ix, iy = points[i, 0], points[i, 1]
        ex, ey = jx - ix, jy - iy
        wx, wy = px - ix, py - iy
        length2 = ex * ex + ey * ey
        t = (wx * ex + wy * ey) / length2 if length2 > 0 else np.float32(0.0)
        t = min(max(t, np.float32(0.0)), np.float32(1.0))
        bx, by = wx - ex * t, wy - ey * t
        nearest = min(nearest, bx * bx + by * by)
        if (iy > py) != (jy > py) and px < ex * (py - iy) / ey + ix:
            inside = not inside
        jx, jy = ix, iy
    distance = math.sqrt(nearest)
    return -distance if inside else distance


@inlined
def _blend(image, row, column, red, green, blue, alpha):  # type: ignore[no-untyped-def]
    keep = np.float32(1.0) - alpha
    image[row, column, 0] = np.uint8(image[row, column, 0] * keep + red * alpha + np.float32(0.5))
    image[row, column, 1] = np.uint8(image[row, column, 1] * keep + green * alpha + np.float32(0.5))
    image[row, column, 2] = np.uint8(image[row, column, 2] * keep + blue * alpha + np.float32(0.5))


@kernel
def paint_shapes(image, points, starts, styles):  # type: ignore[no-untyped-def]
    """Paint shapes in order.

    Shape k has corners ``points[starts[k]:starts[k + 1]]`` (float32, px) and ``styles[k]``.
    """
    height, width = image.shape[0], image.shape[1]
    half = np.float32(0.5)
    for k in range(len(starts) - 1):
        first, last = starts[k], starts[k + 1]
        radius, stroke, soft = styles[k, RADIUS], styles[k, STROKE], styles[k, SOFTNESS]
        reach = radius + stroke * half + soft
        left, right, top, bottom = points[first, 0], points[first, 0], points[first, 1], points[first, 1]
        for i in range(first + 1, last):
            left, right = min(left, points[i, 0]), max(right, points[i, 0])
            top, bottom = min(top, points[i, 1]), max(bottom, points[i, 1])
        if not (right + reach > 0 and left - reach < width and bottom + reach > 0 and top - reach < height):
            continue  # out of the picture, or not a number
        for row in range(max(0, int(top - reach)), min(height, int(bottom + reach) + 1)):
            for column in range(max(0, int(left - reach)), min(width, int(right + reach) + 1)):
                d = _distance(np.float32(column) + half, np.float32(row) + half, points, first, last) - radius
                if stroke > 0:
                    d = abs(d) - stroke * half
                cover = min(max(half - d / soft, np.float32(0.0)), np.float32(1.0))
                if soft > 2:
                    cover = cover * cover * (3 - 2 * cover)
                if cover > 0:
                    style = styles[k]
                    _blend(
                        image,
                        row,
                        column,
                        style[RED],
                        style[GREEN],
                        style[BLUE],
                        np.float32(cover * style[ALPHA]),
                    )


@kernel
def paint_trails(image, points, strength, colours, width, scratch):  # type: ignore[no-untyped-def]
    """Paint N polylines ``points (K, N, 2)`` (float32, px; NaN breaks), of opacity ``strength (K,)``.

    ``colours`` is (K, N, 3). Where pieces of one polyline overlap the stronger one counts, so that joints do
    not show: ``scratch (H, W)``, zero before and after, remembers how much of the line a pixel has had.
    """
    height, columns = scratch.shape
    reach = width / 2 + 1
    for n in range(points.shape[1]):
        for k in range(1, points.shape[0]):
            ax, ay, bx, by = points[k - 1, n, 0], points[k - 1, n, 1], points[k, n, 0], points[k, n, 1]
            left, right, top, bottom = (
                min(ax, bx) - reach,
                max(ax, bx) + reach,
                min(ay, by) - reach,
                max(ay, by) + reach,
            )
            if not (right > 0 and left < columns and bottom > 0 and top < height):
                continue
            ex, ey = bx - ax, by - ay
            length2 = max(ex * ex + ey * ey, np.float32(1e-9))
            for row in range(max(0, int(top)), min(height, int(bottom) + 1)):
                for column in range(max(0, int(left)), min(columns, int(right) + 1)):
                    wx, wy = np.float32(column + 0.5) - ax, np.float32(row + 0.5) - ay
                    t = min(max((wx * ex + wy * ey) / length2, np.float32(0.0)), np.float32(1.0))
                    dx, dy = wx - ex * t, wy - ey * t
                    cover = min(max(width / 2 + 0.5 - math.sqrt(dx * dx + dy * dy), 0.0), 1.0)
                    wanted = np.float32(cover * (strength[k - 1] * (1 - t) + strength[k] * t))
                    had = scratch[row, column]
                    if wanted > had:
                        scratch[row, column] = wanted
                        c = colours[k, n]
                        _blend(image, row, column, c[0], c[1], c[2], 1 - (1 - wanted) / (1 - had))
        _clear(scratch, points, n, reach)


@inlined
def _clear(scratch, points, n, reach):  # type: ignore[no-untyped-def]
    height, columns = scratch.shape
    for k in range(1, points.shape[0]):
        ax, ay, bx, by = points[k - 1, n, 0], points[k - 1, n, 1], points[k, n, 0], points[k, n, 1]
        left, right, top, bottom = (
            min(ax, bx) - reach,
            max(ax, bx) + reach,
            min(ay, by) - reach,
            max(ay, by) + reach,
        )
        if right > 0 and left < columns and bottom > 0 and top < height:
            scratch[max(0, int(top)) : int(bottom) + 1, max(0, int(left)) : int(right) + 1] = 0


class Canvas:
    """Collects shapes in pixel coordinates and paints them in order with one call of the kernel."""

    def __init__(self) -> None:
        self._points: list[tuple[float, float]] = []
        self._starts: list[int] = [0]
        self._styles: list[tuple[float, ...]] = []

    def shape(
        self,
        corners: Sequence[tuple[float, float]],
        colour: Colour,
        alpha: float = 1.0,
        *,
        radius: float = 0.0,
        stroke: float = 0.0,
        softness: float = 1.0,
    ) -> None:
        """A polygon grown by ``radius`` px; with ``stroke`` only its outline, so many px wide."""
        self._points.extend(corners)
        self._starts.append(len(self._points))
        self._styles.append((radius, stroke, softness, *colour, alpha))

    def disc(
        self, x: float, y: float, radius: float, colour: Colour, alpha: float = 1.0, *, softness: float = 1.0
    ) -> None:
        """A filled circle."""
        self.shape([(x, y)], colour, alpha, radius=radius, softness=softness)

    def ring(
        self, x: float, y: float, radius: float, colour: Colour, alpha: float = 1.0, *, stroke: float = 1.5
    ) -> None:
        """A circle's outline."""
        self.shape([(x, y)], colour, alpha, radius=radius, stroke=stroke)

    def paint(self, image: Picture) -> None:
        """Paint everything into ``image`` (H, W, 3) and start anew."""
        if self._styles:
            points = np.array(self._points, dtype=np.float32)
            starts = np.array(self._starts, dtype=np.int32)
            paint_shapes(image, points, starts, np.array(self._styles, dtype=np.float32))
        self._points, self._starts, self._styles = [], [0], []


def paint_trail(
    image: Picture,
    points: FloatArray,
    strength: FloatArray,
    colours: FloatArray,
    width: float,
    scratch: FloatArray,
) -> None:
    """:func:`paint_trails` with the types that the kernel was compiled for; colours may be broadcast."""
    shape = (*points.shape[:2], 3)
    paint_trails(
        image,
        np.ascontiguousarray(points, dtype=np.float32),
        np.ascontiguousarray(strength, dtype=np.float32),
        np.ascontiguousarray(np.broadcast_to(colours, shape), dtype=np.float32),
        np.float32(width),
        scratch,
    )
