"""Convex hulls of points on the ground, and polygons of few corners around them."""

from __future__ import annotations

from math import isfinite

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray

_SMALLEST_TURN = 1e-12  # m², cross product below which a corner counts as straight


def convex_hull(points: FloatArray, where: str = "points") -> FloatArray:
    """Corners (K, 2) of the convex hull of ``points (N, 2)``, counter-clockwise, without corners that are
    straight."""
    corners: FloatArray = np.array(_chain(points))
    while len(corners) >= 3:
        before, after = corners - np.roll(corners, 1, axis=0), np.roll(corners, -1, axis=0) - corners
        turning = before[:, 0] * after[:, 1] - before[:, 1] * after[:, 0] > _SMALLEST_TURN
        if turning.all():
            return corners
        corners = corners[turning]
    raise BadInput(f"{where}: the body has no area when seen from above")


def _chain(points: FloatArray) -> list[tuple[float, float]]:
    """Corners of the hull, counter-clockwise from the leftmost (A. M. Andrew, Inf. Process. Lett. 9(5), 1979)."""
    ordered = [(x, y) for x, y in np.unique(np.asarray(points, np.float64), axis=0).tolist() if isfinite(x + y)]
    corners: list[tuple[float, float]] = []
    for way in (ordered, ordered[::-1]):
        first = len(corners)
        for x, y in way:
            while len(corners) - first >= 2:
                (ax, ay), (bx, by) = corners[-2:]
                if (bx - ax) * (y - by) - (by - ay) * (x - bx) > 0.0:
                    break
                corners.pop()
            corners.append((x, y))
        corners.pop()
    return corners


def _meeting_point(a: FloatArray, b: FloatArray, c: FloatArray, d: FloatArray) -> tuple[FloatArray, float] | None:
    """Where edge a→b prolonged meets edge c→d prolonged backwards, and the area of the triangle with edge
    b→c; None: never."""
    first, second, gap = b - a, d - c, c - b
    sine = first[0] * second[1] - first[1] * second[0]
    if sine <= 1e-9 * float(np.sqrt((first * first).sum() * (second * second).sum())):
        return None
    share = (gap[0] * second[1] - gap[1] * second[0]) / sine
    corner = b + share * first
    reach = corner - b
    return corner, 0.5 * abs(float(reach[0] * gap[1] - reach[1] * gap[0]))


def enclose(corners: FloatArray, most: int = 8) -> FloatArray:
    """A convex polygon of at most ``most`` (>= 4) corners that contains the convex polygon ``corners``,
    counter-clockwise.

    Edges are taken away one by one, each time the one whose removal adds least area: its neighbours are
    prolonged until they meet. With five or more edges there is always one, because the outer angles at two
    neighbouring corners average less than π.
    """
    polygon: list[FloatArray] = [np.asarray(corner, dtype=np.float64) for corner in corners]
    while len(polygon) > most:
        n = len(polygon)
        choices = []
        for i in range(n):
            found = _meeting_point(polygon[i - 1], polygon[i], polygon[(i + 1) % n], polygon[(i + 2) % n])
            if found is not None:
                choices.append((found[1], i, found[0]))
        _, i, corner = min(choices, key=lambda choice: (choice[0], choice[1]))
        polygon[i] = corner
        del polygon[(i + 1) % n]
    return np.array(polygon)
