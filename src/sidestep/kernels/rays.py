"""Planar lidar: ranges along a fan of rays to the nearest wall segment or disc.

Instead of testing every ray against every primitive, each primitive is projected onto the window of rays that can
meet it, and every ray keeps the nearest. What is kept is the *inverse* range, because along a unit direction
``d`` the inverse range of the line through ``a`` and ``b`` is linear in ``d`` (``e = b - a``)::

    1 / t = (d × e) / (a × b)

so that a wall costs two products per ray, and the one division per ray comes last. For a disc at ``c`` with
``k = |c|² - r²`` it is ``1 / t = (c · d + sqrt(r² - (c × d)²)) / k``.

Primitives are moved into the sensor's frame in float64; the rays are a float32 table made once per sensor by
:func:`fill_ray_table`. Window ends are guessed from a polynomial angle, widened by its error, and then settled by the
exact sign of cross products, so that no ray slips through the vertex that two walls share. Discs, and walls seen at
a grazing angle, are evaluated in float64; the other walls in float32. A range is within 2e-6 of its value, relative,
for the direction that the table holds.

What a ray met is told by a number: ``NOTHING`` (-1), a disc's index (0, 1, …), or ``-2 - k`` for wall segment ``k``
(:func:`wall_of`). Rays start at 0: a sensor inside a disc, or on a wall, has range 0 in every direction.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.jit import inlined, kernel

NOTHING = -1
FIRST_WALL = -2

TURN = 2.0 * math.pi
TOUCHING = 1e-9  # metres: a sensor this close to a wall is on it
ANGLE_ERROR = 1e-6  # radians: above the error of _angle (2.5e-7)
GRAZING = 8.0  # farthest point / distance to the line, above which float32 is not enough


@inlined
def sin_cos(angle):
    q = round(angle * (2 / math.pi))
    x = angle - q * 1.5707963267341256 - q * 6.077100506506192e-11
    s = x * x
    sn = x * (1 + s * (-1/6 + s * (1/120 + s * (-1/5040 + s * (1/362880 + s * (-1/39916800 + s * (1/6227020800 - s / 1307674368000)))))))
    cs = 1 + s * (-1/2 + s * (1/24 + s * (-1/720 + s * (1/40320 + s * (-1/3628800 + s * (1/479001600 - s / 87178291200 + s*s/20922789888000))))))
    m = int(q) & 3
    if m == 0:
        return sn, cs
    if m == 1:
        return cs, -sn
    if m == 2:
        return -sn, -cs
    return -cs, sn


@inlined
def wall_of(hit):
    """Index of the wall segment that a negative hit number below ``NOTHING`` stands for."""
    return FIRST_WALL - hit


@kernel
def fill_ray_table(angle_min, angle_increment, directions):
    """Unit vectors, ``directions (2, n)`` float32, of rays at ``angle_min + i * angle_increment`` in the sensor's frame."""
    for i in range(directions.shape[1]):
        sine, cosine = sin_cos(angle_min + i * angle_increment)
        directions[0, i] = cosine
        directions[1, i] = sine


@inlined
def _angle(y, x):
    """Direction of ``(x, y)`` in [-π, π] within 2.5e-7: odd polynomial fitted to atan on [0, 1], and symmetries."""
    ax, ay = abs(x), abs(y)
    q = min(ax, ay) / max(ax, ay)
    s = q * q
    s2 = s * s
    low = (0.9999961115483313 - 0.3331736799184517 * s) + s2 * (0.19807814764945156 - 0.13233338565435612 * s)
    high = (0.0796236023373562 - 0.03360415648934366 * s) + s2 * 0.006811771276081962
    angle = q * (low + s2 * s2 * high)
    angle = 0.5 * math.pi - angle if ay > ax else angle
    angle = math.pi - angle if x < 0.0 else angle
    return -angle if y < 0.0 else angle


@inlined
def _first_window(x0, y0, x1, y1, angle_min, angle_increment):
    """Fractional ray numbers ``(first, last)`` of the window from direction 0 counter-clockwise to direction 1.

    Widened by the error of the angles and shifted by whole turns so that ``0 <= last < one turn``.
    """
    angle = _angle(y0, x0)
    width = _angle(y1, x1) - angle
    if width < -0.5 * math.pi:  # a window is narrower than π, so this one passes the cut at ±π
        width += TURN
    last = (angle + width + ANGLE_ERROR - angle_min) / angle_increment
    turn = TURN / angle_increment
    while last < 0.0:
        last += turn
    while last >= turn:
        last -= turn
    return last - (width + 2.0 * ANGLE_ERROR) / angle_increment, last


@inlined
def _between(x0, y0, x1, y1, dx, dy):
    """Whether direction d lies in the closed wedge, narrower than π, from direction 0 to direction 1."""
    return x0 * dy - y0 * dx >= 0.0 and dx * y1 - dy * x1 >= 0.0


@inlined
def _keep_wall(a, b, lowest, highest, first, stop, hit, directions, inverse, hits):
    """Keep, for rays ``first … stop - 1``, the inverse range ``a dx + b dy`` where it is the largest so far.

    Runs in the precision of ``a`` and ``b``; written without branches and with unsigned indices so that it vectorises.
    """
    dx, dy = directions[0], directions[1]
    for i in range(np.uint64(first), np.uint64(stop)):
        value = a * dx[i] + b * dy[i]
        value = min(max(value, lowest), highest)
        nearer = value > inverse[i]
        inverse[i] = value if nearer else inverse[i]
        hits[i] = hit if nearer else hits[i]


@inlined
def _keep_disc(cx, cy, r, first, stop, hit, directions, inverse, hits):
    """Keep, for rays ``first … stop - 1``, the inverse range of a disc where it is the largest so far."""
    dx, dy = directions[0], directions[1]
    scale = 1.0 / (cx * cx + cy * cy - r * r)
    for i in range(np.uint64(first), np.uint64(stop)):
        across = cx * dy[i] - cy * dx[i]
        value = (cx * dx[i] + cy * dy[i] + math.sqrt(max(r * r - across * across, 0.0))) * scale
        nearer = value > inverse[i]
        inverse[i] = value if nearer else inverse[i]
        hits[i] = hit if nearer else hits[i]


@inlined
def _nearest_square(ax, ay, bx, by):
    """Squared distance from the origin to segment ab."""
    ex, ey = bx - ax, by - ay
    along = -(ax * ex + ay * ey)
    length2 = ex * ex + ey * ey
    if along <= 0.0:
        return ax * ax + ay * ay
    if along >= length2:
        return bx * bx + by * by
    twice_area = ax * by - ay * bx
    return twice_area * twice_area / length2


@inlined
def _cover(inverse, hits, hit):
    """Range 0 everywhere, where nothing gave range 0 before."""
    for i in range(inverse.shape[0]):
        if inverse[i] < np.inf:
            inverse[i] = np.inf
            hits[i] = hit


@kernel
def _project_wall(ax, ay, bx, by, hit, angle_min, angle_increment, max_range, directions, inverse, hits):
    """Project wall ab, in the sensor's frame, onto its window of rays."""
    near2 = _nearest_square(ax, ay, bx, by)
    if near2 >= max_range * max_range:
        return
    if near2 <= TOUCHING * TOUCHING:
        _cover(inverse, hits, hit)
        return
    area = ax * by - ay * bx
    if area < 0.0:
        ax, ay, bx, by, area = bx, by, ax, ay, -area
    if area == 0.0:  # seen end on: no width
        return
    ex, ey = bx - ax, by - ay
    far2 = max(ax * ax + ay * ay, bx * bx + by * by)
    grazing = far2 * (ex * ex + ey * ey) > GRAZING * GRAZING * area * area
    lowest, highest = 1.0 / math.sqrt(far2), 1.0 / math.sqrt(near2)
    start, end = _first_window(ax, ay, bx, by, angle_min, angle_increment)
    n = inverse.shape[0]
    while start <= n - 1:
        first = int(start) + 1 if start >= 0.0 else 0
        last = min(int(end), n - 1)
        while first <= last and not _between(ax, ay, bx, by, directions[0, first], directions[1, first]):
            first += 1
        while first <= last and not _between(ax, ay, bx, by, directions[0, last], directions[1, last]):
            last -= 1
        if grazing:
            _keep_wall(ey / area, -ex / area, lowest, highest, first, last + 1, hit, directions, inverse, hits)
        else:
            a, b = np.float32(ey / area), np.float32(-ex / area)
            low, high = np.float32(lowest), np.float32(highest)
            _keep_wall(a, b, low, high, first, last + 1, hit, directions, inverse, hits)
        start += TURN / angle_increment
        end += TURN / angle_increment


@inlined
def _meets_disc(cx, cy, r, dx, dy):
    """Whether the ray along d meets the disc at c, with the origin outside."""
    return abs(cx * dy - cy * dx) <= r and cx * dx + cy * dy > 0.0


@kernel
def _project_disc(cx, cy, r, hit, angle_min, angle_increment, max_range, directions, inverse, hits):
    """Project the disc of radius r at c, in the sensor's frame, onto its window of rays."""
    distance2 = cx * cx + cy * cy
    if distance2 >= (max_range + r) * (max_range + r):
        return
    power = distance2 - r * r
    if power <= 0.0:
        _cover(inverse, hits, hit)
        return
    tangent = math.sqrt(power)
    start, end = _first_window(
        cx * tangent + cy * r, cy * tangent - cx * r, cx * tangent - cy * r, cy * tangent + cx * r, angle_min, angle_increment
    )
    n = inverse.shape[0]
    while start <= n - 1:
        first = int(start) + 1 if start >= 0.0 else 0
        last = min(int(end), n - 1)
        while first <= last and not _meets_disc(cx, cy, r, directions[0, first], directions[1, first]):
            first += 1
        while first <= last and not _meets_disc(cx, cy, r, directions[0, last], directions[1, last]):
            last -= 1
        _keep_disc(cx, cy, r, first, last + 1, hit, directions, inverse, hits)
        start += TURN / angle_increment
        end += TURN / angle_increment


@kernel
def cast_lidar(
    origin_x, origin_y, heading, angle_min, angle_increment, directions, max_range,
    segments, circles_x, circles_y, circles_r, circle_active, out_ranges, out_ids,
):
    sine, cosine = sin_cos(heading)
    for i in range(out_ranges.shape[0]):
        out_ranges[i] = 1.0 / max_range
        out_ids[i] = NOTHING
    for k in range(segments.shape[0]):
        ax, ay = segments[k, 0] - origin_x, segments[k, 1] - origin_y
        bx, by = segments[k, 2] - origin_x, segments[k, 3] - origin_y
        _project_wall(
            cosine * ax + sine * ay, cosine * ay - sine * ax, cosine * bx + sine * by, cosine * by - sine * bx,
            np.int32(FIRST_WALL - k), angle_min, angle_increment, max_range, directions, out_ranges, out_ids)
    for k in range(circles_x.shape[0]):
        if circle_active[k] != 0:
            x, y = circles_x[k] - origin_x, circles_y[k] - origin_y
            _project_disc(
                cosine * x + sine * y, cosine * y - sine * x, np.float64(circles_r[k]),
                np.int32(k), angle_min, angle_increment, max_range, directions, out_ranges, out_ids)
    for i in range(out_ranges.shape[0]):
        out_ranges[i] = np.float32(1.0)/out_ranges[i]
