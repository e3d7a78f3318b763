"""Following a route of points: which one to head for now."""

from __future__ import annotations

from sidestep.exact import hypot
from sidestep.types.base import FloatArray

PASSED_M = 0.7
"""A point counts as passed within this distance."""


class RouteFollower:
    """Hands out the points of a route one after the other; the last one stays."""

    def __init__(self, points: FloatArray) -> None:
        self._points = [(float(x), float(y)) for x, y in points]
        self._next = 0

    def restart(self) -> None:
        """Begin at the first point again."""
        self._next = 0

    def target(self, x: float, y: float) -> tuple[float, float]:
        """The point to head for from (x, y)."""
        while self._next < len(self._points) - 1 and self._passed(x, y):
            self._next += 1
        return self._points[self._next]

    def _passed(self, x: float, y: float) -> bool:
        """Near the point, or beyond it in the direction of the next one."""
        (px, py), (qx, qy) = self._points[self._next], self._points[self._next + 1]
        if hypot(px - x, py - y) < PASSED_M:
            return True
        beyond = (x - px) * (qx - px) + (y - py) * (qy - py) > 0
        return beyond and hypot(px - x, py - y) < 2 * PASSED_M
