"""The linear programs of ORCA: a velocity inside a disc and on the permitted side of every line.

A line is a point and a unit direction; what lies to the left of the direction is permitted, so that
``violation(v) = det(direction, point - v)`` is positive where ``v`` is forbidden. Lines are kept in one flat
float32 array, attribute by attribute: ``lines[ATTRIBUTE + i]``; a program is about lines ``begin … end-1``.

Source: van den Berg, Guy, Lin, Manocha, "Reciprocal n-body collision avoidance" (2011), section 5; the
incremental algorithm is that of de Berg et al., "Computational Geometry", chapter 4. Lines are taken in the
order given (walls, then people, nearest first), not shuffled, so that a result is reproducible.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, float32, uint64

LINE_CAPACITY = 128
LINE_FLOATS = 4 * LINE_CAPACITY
# Numbers of lines are unsigned throughout: a signed index costs a test for Python's negative indices at every
# access, which keeps loops from being vectorised.
POINT_X, POINT_Y, DIR_X, DIR_Y = (uint64(row * LINE_CAPACITY) for row in range(4))
NEXT = uint64(1)

ZERO, HALF, ONE = float32(0.0), float32(0.5), float32(1.0)
INFINITY = float32(np.inf)
OVER_SPEED = float32(1.001)
PARALLEL = float32(1e-5)  # sine of the angle under which two lines count as parallel


@inlined
def _violation(lines: FloatArray, i: int, vx: float, vy: float) -> float:
    """How far (m/s) ``v`` lies on the forbidden side of line ``i``; negative where it is permitted."""
    depth: float = lines[DIR_X + i] * (lines[POINT_Y + i] - vy) - lines[DIR_Y + i] * (lines[POINT_X + i] - vx)
    return depth


@inlined
def _permitted_interval(lines: FloatArray, begin: int, i: int, radius: float) -> tuple[float, float]:
    """Where line ``i`` is in the disc and permitted by ``begin … i-1``: left … right; none: left > right."""
    px, py = lines[POINT_X + i], lines[POINT_Y + i]
    dx, dy = lines[DIR_X + i], lines[DIR_Y + i]
    along = px * dx + py * dy
    discriminant = along * along + radius * radius - (px * px + py * py)
    if discriminant < ZERO:
        return ONE, ZERO
    root = math.sqrt(discriminant)
    left, right = -along - root, -along + root
    for j in range(begin, i):
        jx, jy = lines[DIR_X + j], lines[DIR_Y + j]
        sine = dx * jy - dy * jx
        offset = jx * (py - lines[POINT_Y + j]) - jy * (px - lines[POINT_X + j])
        t = offset / sine
        upper = t if sine > PARALLEL else INFINITY
        lower = t if sine < -PARALLEL else -INFINITY
        right = upper if upper < right else right
        left = lower if lower > left else left
        if abs(sine) <= PARALLEL and offset < ZERO:
            return ONE, ZERO
    return left, right


@inlined
def nearest_velocity(
    lines: FloatArray, begin: int, end: int, radius: float, wish_x: float, wish_y: float
) -> tuple[int, float, float]:
    """The velocity nearest to the wish (linear program 2): ``(failed, vx, vy)``, found iff ``failed == end``.

    Otherwise ``failed`` is the first line that cannot be kept together with those before it, which ``v``
    keeps.
    """
    vx, vy = wish_x, wish_y
    square = wish_x * wish_x + wish_y * wish_y
    if square > radius * radius:
        length = ONE / math.sqrt(square)
        vx, vy = wish_x * length * radius, wish_y * length * radius
    for i in range(begin, end):
        if _violation(lines, i, vx, vy) > ZERO:
            left, right = _permitted_interval(lines, begin, i, radius)
            if left > right:
                return i, vx, vy
            px, py = lines[POINT_X + i], lines[POINT_Y + i]
            dx, dy = lines[DIR_X + i], lines[DIR_Y + i]
            t = dx * (wish_x - px) + dy * (wish_y - py)
            t = left if t < left else (right if t > right else t)
            vx, vy = px + t * dx, py + t * dy
    return end, vx, vy


@inlined
def _farthest_velocity(
    lines: FloatArray, begin: int, end: int, radius: float, toward_x: float, toward_y: float, old_x: float, old_y: float
) -> tuple[float, float]:
    """The permitted velocity farthest along a unit vector; the old one where rounding leaves none."""
    vx, vy = toward_x * radius, toward_y * radius
    for i in range(begin, end):
        if _violation(lines, i, vx, vy) > ZERO:
            left, right = _permitted_interval(lines, begin, i, radius)
            if left > right:
                return old_x, old_y
            dx, dy = lines[DIR_X + i], lines[DIR_Y + i]
            t = right if toward_x * dx + toward_y * dy > ZERO else left
            vx, vy = lines[POINT_X + i] + t * dx, lines[POINT_Y + i] + t * dy
    return vx, vy


@inlined
def _bisectors(lines: FloatArray, begin: int, fixed: int, i: int, bisectors: FloatArray) -> int:
    """Write lines ``begin … fixed-1``, then the bisectors of ``i`` with ``fixed … i-1``; returns the end.

    On the permitted side of a bisector line ``j`` is violated less than line ``i``.
    """
    for j in range(begin, fixed):
        bisectors[POINT_X + j], bisectors[POINT_Y + j] = lines[POINT_X + j], lines[POINT_Y + j]
        bisectors[DIR_X + j], bisectors[DIR_Y + j] = lines[DIR_X + j], lines[DIR_Y + j]
    px, py = lines[POINT_X + i], lines[POINT_Y + i]
    dx, dy = lines[DIR_X + i], lines[DIR_Y + i]
    n = fixed
    for j in range(fixed, i):
        qx, qy = lines[POINT_X + j], lines[POINT_Y + j]
        jx, jy = lines[DIR_X + j], lines[DIR_Y + j]
        sine = dx * jy - dy * jx
        t = (jx * (py - qy) - jy * (px - qx)) / sine
        parallel = abs(sine) <= PARALLEL
        bisectors[POINT_X + n] = HALF * (px + qx) if parallel else px + t * dx
        bisectors[POINT_Y + n] = HALF * (py + qy) if parallel else py + t * dy
        ex, ey = jx - dx, jy - dy
        length = ONE / math.sqrt(ex * ex + ey * ey)
        bisectors[DIR_X + n], bisectors[DIR_Y + n] = ex * length, ey * length
        same_direction = parallel and dx * jx + dy * jy > ZERO
        n += uint64(not same_direction)
    return n


@kernel
def least_violation(
    lines: FloatArray, begin: int, fixed: int, end: int, failed: int, radius: float, vx: float, vy: float,
    bisectors: FloatArray,
) -> tuple[float, float]:  # fmt: skip
    """The velocity whose largest violation of the lines ``fixed … end-1`` is least (linear program 3).

    The lines before ``fixed``, those of walls, are kept whatever the rest; ``failed`` is the line where
    ``nearest_velocity`` failed and ``v`` its result. ``bisectors`` is work space of LINE_FLOATS.
    """
    worst = ZERO
    for i in range(failed, end):
        if _violation(lines, i, vx, vy) > worst:
            last = _bisectors(lines, begin, fixed, i, bisectors)
            vx, vy = _farthest_velocity(bisectors, begin, last, radius, -lines[DIR_Y + i], lines[DIR_X + i], vx, vy)
            worst = _violation(lines, i, vx, vy)
    square, limit = vx * vx + vy * vy, radius * radius
    if square > limit * OVER_SPEED:  # nearly parallel lines cross so far away that float32 loses the disc
        scale = radius / math.sqrt(square)
        vx, vy = vx * scale, vy * scale
    return vx, vy
