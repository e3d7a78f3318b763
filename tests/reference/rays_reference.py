"""Ray casting by brute force: every ray against every primitive, float64, no windows, no inverse ranges.

``slack`` (m) widens every primitive when positive and narrows it when negative. An exact method lies between
the two answers, which differ only for rays that pass within ``slack`` of an end, a tangent, or along a wall.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ALONG = 1e-6  # sine of the angle below which a ray counts as running along a wall


def segment_ranges(origin: Floats, directions: Floats, segments: Floats, slack: float = 0.0) -> Floats:
    """Ranges ``(n, S)`` along unit ``directions (n, 2)`` to ``segments (S, 4)``; inf where a ray misses.

    Solves ``o + t d = a + s (b - a)`` by Cramer's rule, with a hit where ``t >= 0`` and ``0 <= s <= 1``.
    """
    a, b = segments[None, :, :2] - origin, segments[None, :, 2:] - origin
    e, d = b - a, directions[:, None, :]
    length = np.hypot(e[..., 0], e[..., 1])
    determinant = _cross(d, e)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        t, s = _cross(a, e) / determinant, _cross(a, d) / determinant
        hit = (t >= -slack) & (s * length >= -slack) & (s * length <= length + slack)
        along = np.abs(determinant) <= ALONG * length
    ranges = np.where(hit & ~along & (length > 0.0), np.maximum(t, 0.0), np.inf)
    if slack > 0.0:  # doubtful: along the wall, or from a point on it
        near = np.minimum(np.sum(a * d, axis=2), np.sum(b * d, axis=2))
        beside = np.minimum(np.abs(_cross(a, d)), np.abs(_cross(b, d))) <= slack + ALONG * length
        ranges = np.where(along & beside & (near + length >= 0.0), np.maximum(near - slack, 0.0), ranges)
        ranges = np.where(_distance(a, e, length) <= slack, 0.0, ranges)
    return ranges


def disc_ranges(origin: Floats, directions: Floats, centres: Floats, radii: Floats, slack: float = 0.0) -> Floats:
    """Ranges ``(n, C)`` to discs, 0 from inside; inf where a ray misses. Roots of ``|o + t d - c|² = r²``."""
    c = centres[None, :, :] - origin
    r = np.maximum(radii + slack, 0.0)
    along = np.sum(c * directions[:, None, :], axis=2)
    power = np.sum(c * c, axis=2) - r**2
    discriminant = r**2 - _cross(c, directions[:, None, :]) ** 2
    t = along - np.sqrt(np.maximum(discriminant, 0.0))
    return np.where(power <= 0.0, 0.0, np.where((discriminant >= 0.0) & (along > 0.0), t, np.inf))


def _cross(u: Floats, v: Floats) -> Floats:
    return u[..., 0] * v[..., 1] - u[..., 1] * v[..., 0]


def _distance(a: Floats, e: Floats, length: Floats) -> Floats:
    """Distance from the origin to segments from ``a`` along ``e``; inf for those of no length."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        s = np.clip(-np.sum(a * e, axis=2) / length**2, 0.0, 1.0)
    nearest = a + s[..., None] * e
    return np.where(length > 0.0, np.hypot(nearest[..., 0], nearest[..., 1]), np.inf)
