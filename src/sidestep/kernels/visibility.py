"""Which people a sensor sees: range, field of view and occlusion.

A person is a disc. It is *in view* when its centre is within the range and within half the field of view of
the heading; a disc that contains the sensor is always in view. With occlusion, a person in view is seen when
at least one of three lines of sight is free: to its centre and to the two points where the lines from the
sensor touch its silhouette. A line is blocked where it meets a wall, end points included, or passes through
the inside of the body of another person whose centre is nearer to the sensor. A body that contains the sensor
blocks nothing, so that a sensor in contact is not blind.
"""

from __future__ import annotations

import math

from sidestep.kernels.approx import cos64, sincos64
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray, float64
from sidestep.kernels.rays import Discs

ROUNDING = 1e-12  # of a cosine: a person exactly at the edge of the field of view is in it


@inlined
def _meets_wall(tx: float, ty: float, ax: float, ay: float, bx: float, by: float) -> bool:
    """Whether the line from the origin to t meets segment ab, touching included.

    Segments meet when the ends of each are not strictly on one side of the other; in one line, when their
    extents overlap.
    """
    a_side, b_side = tx * ay - ty * ax, tx * by - ty * bx
    ex, ey = bx - ax, by - ay
    origin_side, target_side = ey * ax - ex * ay, ex * (ty - ay) - ey * (tx - ax)
    if a_side * b_side > 0.0 or origin_side * target_side > 0.0:
        return False
    if a_side != 0.0 or b_side != 0.0:
        return True
    first, second = ax * tx + ay * ty, bx * tx + by * ty
    return max(first, second) >= 0.0 and min(first, second) <= tx * tx + ty * ty


@inlined
def _passes_through(tx: float, ty: float, cx: float, cy: float, r: float) -> bool:
    """Whether the line from the origin to t passes through the inside of the disc of radius r at c."""
    length2 = tx * tx + ty * ty
    along = cx * tx + cy * ty
    s = min(max(along / length2, 0.0), 1.0) if length2 > 0.0 else 0.0
    dx, dy = cx - s * tx, cy - s * ty
    return dx * dx + dy * dy < r * r


@kernel
def _is_free(
    x: float, y: float, tx: float, ty: float, target: int, distance2: float, segments: FloatArray, people: Discs,
    own: int,
) -> bool:  # fmt: skip
    """Whether the line from (x, y) by (tx, ty) is free of walls and of bodies nearer than ``target``."""
    for k in range(segments.shape[0]):
        ax, ay, bx, by = segments[k, 0] - x, segments[k, 1] - y, segments[k, 2] - x, segments[k, 3] - y
        if _meets_wall(tx, ty, ax, ay, bx, by):
            return False
    for j in range(people.x.shape[0]):
        if people.active[j] != 1 or j in (own, target):
            continue
        cx, cy, r = people.x[j] - x, people.y[j] - y, float64(people.radius[j])
        d2 = cx * cx + cy * cy
        if r * r < d2 < distance2 and _passes_through(tx, ty, cx, cy, r):
            return False
    return True


@kernel
def _is_seen(
    x: float, y: float, cx: float, cy: float, r: float, target: int, segments: FloatArray, people: Discs, own: int
) -> bool:
    """Whether a line to the centre or to the silhouette of the disc at c, relative to the sensor, is free."""
    d2 = cx * cx + cy * cy
    if d2 <= r * r or _is_free(x, y, cx, cy, target, d2, segments, people, own):
        return True
    tangent2 = d2 - r * r  # touching points: c turned by ∓asin(r / |c|) and shortened to sqrt(|c|² - r²)
    forward, aside = tangent2 / d2, r * math.sqrt(tangent2) / d2
    for side in (-1.0, 1.0):
        tx, ty = forward * cx - side * aside * cy, forward * cy + side * aside * cx
        if _is_free(x, y, tx, ty, target, d2, segments, people, own):
            return True
    return False


@kernel
def visible_people(
    x: float, y: float, heading: float, max_range: float, field_of_view: float, occlusion: bool, segments: FloatArray,
    people: Discs, own: int, out: IntArray,
) -> None:  # fmt: skip
    """Write 1 into ``out (N,)`` uint8 for each person that a sensor at (x, y, heading) sees, else 0.

    ``max_range`` in m; ``field_of_view`` in rad, the whole angle, 2π or more for all round. ``occlusion``
    false: walls and bodies are transparent. ``segments (S, 4)`` are walls x0, y0, x1, y1. Number
    ``own`` of the people (-1: none) is the body that carries the sensor, neither seen nor in the way.
    """
    x, y = float64(x), float64(y)
    sine, cosine = sincos64(float64(heading))
    edge = cos64(0.5 * field_of_view) - ROUNDING if field_of_view < 2.0 * math.pi else -2.0
    for i in range(people.x.shape[0]):
        out[i] = 0
        if people.active[i] != 1 or i == own:
            continue
        cx, cy, r = people.x[i] - x, people.y[i] - y, float64(people.radius[i])
        distance = math.sqrt(cx * cx + cy * cy)
        in_view = distance <= max_range and cosine * cx + sine * cy >= edge * distance
        if in_view or distance <= r:
            if not occlusion or _is_seen(x, y, cx, cy, r, i, segments, people, own):
                out[i] = 1
