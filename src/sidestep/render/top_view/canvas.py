"""An 8-bit picture and what is painted on it: the viewport between metres and pixels, anti-aliased shapes and trails,
and text. Every shape is a polygon grown by a radius: one corner and a radius make a disc, two make a capsule.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from sidestep.errors import BadInput
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import float32
from sidestep.render.top_view.palette import Colour
from sidestep.types.base import FloatArray, IntArray

Bounds = tuple[float, float, float, float]
"""x_min, y_min, x_max, y_max, m."""


@dataclass(frozen=True)
class Viewport:
    """What a picture shows: ``bounds`` whole and centred, in ``size`` = (width, height) pixels."""

    bounds: Bounds
    size: tuple[int, int]

    def __post_init__(self) -> None:
        x0, y0, x1, y1 = self.bounds
        if not (x1 > x0 and y1 > y0):
            raise BadInput(f"a view needs an area, got bounds {self.bounds}")
        if min(self.size) < 16:
            raise BadInput(f"a picture needs at least 16 × 16 pixels, got {self.size[0]} × {self.size[1]}")

    @property
    def scale(self) -> float:
        """Pixels per metre."""
        x0, y0, x1, y1 = self.bounds
        return min(self.size[0] / (x1 - x0), self.size[1] / (y1 - y0))

    @property
    def shown(self) -> Bounds:
        """What can be seen: ``bounds`` widened to the picture's shape, m."""
        x0, y0, x1, y1 = self.bounds
        half_width, half_height = self.size[0] / self.scale / 2, self.size[1] / self.scale / 2
        x, y = (x0 + x1) / 2, (y0 + y1) / 2
        return x - half_width, y - half_height, x + half_width, y + half_height

    def pixels(self, points: FloatArray) -> FloatArray:
        """(…, 2) world points as picture points, y down; the centre of pixel (column, row) is at + 0.5."""
        left, _, _, top = self.shown
        points = np.asarray(points, dtype=np.float64)
        return np.stack([(points[..., 0] - left) * self.scale, (top - points[..., 1]) * self.scale], axis=-1)


def bounds_around(points: FloatArray, margin: float = 3.0, smallest: float = 8.0) -> Bounds:
    """A view of all finite ``points`` (K, 2) with ``margin`` m about them, at least ``smallest`` m across."""
    finite = points[np.isfinite(points).all(axis=-1)]
    if len(finite) == 0:
        return -smallest / 2, -smallest / 2, smallest / 2, smallest / 2
    low, high = finite.min(axis=0), finite.max(axis=0)
    centre = (low + high) / 2
    half = np.maximum((high - low) / 2 + margin, smallest / 2)
    (x0, y0), (x1, y1) = centre - half, centre + half
    return float(x0), float(y0), float(x1), float(y1)


Picture = npt.NDArray[np.uint8]

RADIUS, STROKE, SOFTNESS, RED, GREEN, BLUE, ALPHA = range(7)


@inlined
def _distance(px: float, py: float, points: FloatArray, first: int, last: int) -> float:
    """Signed distance to the polygon ``points[first:last]``: nearest edge, sign by crossings."""
    nearest = float32(1e18)
    inside = False
    jx, jy = points[last - 1, 0], points[last - 1, 1]
    for i in range(first, last):
        ix, iy = points[i, 0], points[i, 1]
        ex, ey = jx - ix, jy - iy
        wx, wy = px - ix, py - iy
        length2 = ex * ex + ey * ey
        t = (wx * ex + wy * ey) / length2 if length2 > 0 else float32(0.0)
        t = min(max(t, float32(0.0)), float32(1.0))
        bx, by = wx - ex * t, wy - ey * t
        nearest = min(nearest, bx * bx + by * by)
        if (iy > py) != (jy > py) and px < ex * (py - iy) / ey + ix:
            inside = not inside
        jx, jy = ix, iy
    distance = math.sqrt(nearest)
    return -distance if inside else distance


@inlined
def _blend(image: Picture, row: int, column: int, red: float, green: float, blue: float, alpha: float) -> None:
    keep = float32(1.0) - alpha
    image[row, column, 0] = np.uint8(image[row, column, 0] * keep + red * alpha + float32(0.5))
    image[row, column, 1] = np.uint8(image[row, column, 1] * keep + green * alpha + float32(0.5))
    image[row, column, 2] = np.uint8(image[row, column, 2] * keep + blue * alpha + float32(0.5))


@kernel
def paint_shapes(image: Picture, points: FloatArray, starts: IntArray, styles: FloatArray) -> None:
    """Paint shapes in order.

    Shape k has corners ``points[starts[k]:starts[k + 1]]`` (float32, px) and ``styles[k]``.
    """
    height, width = image.shape[0], image.shape[1]
    half = float32(0.5)
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
                d = _distance(float32(column) + half, float32(row) + half, points, first, last) - radius
                if stroke > 0:
                    d = abs(d) - stroke * half
                cover = min(max(half - d / soft, float32(0.0)), float32(1.0))
                if soft > 2:
                    cover = cover * cover * (3 - 2 * cover)
                if cover > 0:
                    style = styles[k]
                    _blend(image, row, column, style[RED], style[GREEN], style[BLUE], float32(cover * style[ALPHA]))


@inlined
def _box(ax: float, ay: float, bx: float, by: float, reach: float) -> tuple[float, float, float, float]:
    """Left, right, top and bottom of what lies within ``reach`` of the line from a to b."""
    return min(ax, bx) - reach, max(ax, bx) + reach, min(ay, by) - reach, max(ay, by) + reach


@kernel
def paint_trails(
    image: Picture, points: FloatArray, strength: FloatArray, colours: FloatArray, width: float, scratch: FloatArray
) -> None:
    """Paint N polylines ``points (K, N, 2)`` (float32, px; NaN breaks), of opacity ``strength (K,)``.

    ``colours`` is (K, N, 3). Where pieces of one polyline overlap the stronger one counts, so that joints do
    not show: ``scratch (H, W)``, zero before and after, remembers how much of the line a pixel has had.
    """
    height, columns = scratch.shape
    reach = width / 2 + 1
    for n in range(points.shape[1]):
        for k in range(1, points.shape[0]):
            ax, ay, bx, by = points[k - 1, n, 0], points[k - 1, n, 1], points[k, n, 0], points[k, n, 1]
            left, right, top, bottom = _box(ax, ay, bx, by, reach)
            if not (right > 0 and left < columns and bottom > 0 and top < height):
                continue
            ex, ey = bx - ax, by - ay
            length2 = max(ex * ex + ey * ey, float32(1e-9))
            for row in range(max(0, int(top)), min(height, int(bottom) + 1)):
                for column in range(max(0, int(left)), min(columns, int(right) + 1)):
                    wx, wy = float32(column + 0.5) - ax, float32(row + 0.5) - ay
                    t = min(max((wx * ex + wy * ey) / length2, float32(0.0)), float32(1.0))
                    dx, dy = wx - ex * t, wy - ey * t
                    cover = min(max(width / 2 + 0.5 - math.sqrt(dx * dx + dy * dy), 0.0), 1.0)
                    wanted = float32(cover * (strength[k - 1] * (1 - t) + strength[k] * t))
                    had = scratch[row, column]
                    if wanted > had:
                        scratch[row, column] = wanted
                        c = colours[k, n]
                        _blend(image, row, column, c[0], c[1], c[2], 1 - (1 - wanted) / (1 - had))
        _clear(scratch, points, n, reach)


@inlined
def _clear(scratch: FloatArray, points: FloatArray, n: int, reach: float) -> None:
    height, columns = scratch.shape
    for k in range(1, points.shape[0]):
        ax, ay, bx, by = points[k - 1, n, 0], points[k - 1, n, 1], points[k, n, 0], points[k, n, 1]
        left, right, top, bottom = _box(ax, ay, bx, by, reach)
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
        """Paint everything into ``image`` (H, W, 3) and empty the canvas."""
        if self._styles:
            points = np.array(self._points, dtype=np.float32)
            starts = np.array(self._starts, dtype=np.int32)
            paint_shapes(image, points, starts, np.array(self._styles, dtype=np.float32))
        self._points, self._starts, self._styles = [], [0], []


def paint_trail(
    image: Picture, points: FloatArray, strength: FloatArray, colours: FloatArray, width: float, scratch: FloatArray
) -> None:
    """:func:`paint_trails` with the types that the kernel was compiled for; colours may be broadcast."""
    shape = (*points.shape[:2], 3)
    paint_trails(
        image,
        np.ascontiguousarray(points, dtype=np.float32),
        np.ascontiguousarray(strength, dtype=np.float32),
        np.ascontiguousarray(np.broadcast_to(colours, shape), dtype=np.float32),
        float32(width),
        scratch,
    )


@lru_cache(maxsize=64)
def _font(size: int, plain: bool) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font knows ASCII only; other letters take DejaVu Sans, which matplotlib brings along."""
    if not plain:
        matplotlib = find_spec("matplotlib")
        for folder in (matplotlib.submodule_search_locations or []) if matplotlib else []:
            path = Path(folder) / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
            if path.is_file():
                return ImageFont.truetype(str(path), size)
    return ImageFont.load_default(size)


@lru_cache(maxsize=1024)
def text_mask(text: str, size: int) -> FloatArray:
    """Coverage (h, w) in 0 … 1 of one line of text, ``size`` px high, on a common baseline."""
    font = _font(size, text.replace("·", "").isascii())
    left, _, right, _ = ImageDraw.Draw(Image.new("L", (1, 1))).textbbox((0, 0), text, font=font)
    mask = Image.new("L", (max(1, int(right - left) + 2), round(size * 1.4)))
    ImageDraw.Draw(mask).text((1 - left, size * 1.1), text, fill=255, font=font, anchor="ls")
    return np.asarray(mask, dtype=np.float32) / 255


@lru_cache(maxsize=64)
def fit_text(text: str, size: int, room: int) -> str:
    """``text``, cut and ended with dots where it is wider than ``room`` px."""
    width = text_mask(text, size).shape[1]
    if width <= room:
        return text
    keep = min(len(text) - 1, int(len(text) * room / width) + 2)
    while keep > 0 and text_mask(text[:keep].rstrip() + "...", size).shape[1] > room:
        keep -= 1
    return text[:keep].rstrip() + "..." if keep > 0 else ""


def write(image: Picture, text: str, x: int, y: int, size: int, colour: Colour, alpha: float = 1.0) -> int:
    """Write ``text`` with its upper left corner at (x, y) px, cut at the edges; returns its width, px."""
    mask = text_mask(text, size)
    patch = image[max(0, y) : y + mask.shape[0], max(0, x) : x + mask.shape[1]]
    part = mask[max(0, -y) :, max(0, -x) :][: patch.shape[0], : patch.shape[1], None] * alpha
    patch[:] = (patch * (1 - part) + np.array(colour, dtype=np.float32) * part + 0.5).astype(np.uint8)
    return int(mask.shape[1])
