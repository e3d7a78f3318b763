"""The geometry and the speed laws of following points: pure functions on plain numbers.

Square roots only, no library trigonometry: the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

Point = tuple[float, float]


def clip(value: float, low: float, high: float) -> float:
    """``value`` brought into [low, high]."""
    return low if value < low else high if value > high else value


def stopping_speed(distance: float, deceleration: float, dt: float) -> float:
    """The highest speed from which a robot still stops within ``distance`` after driving one step at it, m/s.

    The root of ``v dt + v² / (2 a) = d``: ``v = a (sqrt(dt² + 2 d / a) - dt)``, and ``d / dt`` without a
    limit on braking.
    """
    if deceleration == inf:
        return distance / dt
    return deceleration * (sqrt(dt * dt + 2.0 * distance / deceleration) - dt)


def look_ahead(path: Sequence[Point], x: float, y: float, ahead: float) -> tuple[float, float, float]:
    """The point of a polyline that lies ``ahead`` (m, along it) of the point nearest to (x, y): (its x, its
    y, metres left).

    Metres left are those to the path and along it to its end; past the end the look-ahead point is the end.
    """
    nearest = inf
    segment, along = 0, 0.0
    lengths = []
    for i in range(len(path) - 1):
        (ax, ay), (bx, by) = path[i], path[i + 1]
        ex, ey = bx - ax, by - ay
        square = ex * ex + ey * ey
        lengths.append(sqrt(square))
        t = clip(((x - ax) * ex + (y - ay) * ey) / square, 0.0, 1.0) if square > 0.0 else 0.0
        off_x, off_y = ax + t * ex - x, ay + t * ey - y
        off = off_x * off_x + off_y * off_y
        if off < nearest:
            nearest, segment, along = off, i, t
    left = sqrt(nearest) + lengths[segment] * (1.0 - along) + sum(lengths[segment + 1 :])
    ahead += lengths[segment] * along
    while segment < len(lengths) - 1 and ahead > lengths[segment]:
        ahead -= lengths[segment]
        segment += 1
    (ax, ay), (bx, by) = path[segment], path[segment + 1]
    if ahead >= lengths[segment]:
        return bx, by, left
    share = ahead / lengths[segment]
    return ax + share * (bx - ax), ay + share * (by - ay), left
