"""From metres to pixels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray

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
