"""Planar lidar: ranges along a fan of rays to the nearest wall segment or disc.

Instead of testing every ray against every primitive, each primitive is projected onto the window of rays that
can meet it, and every ray keeps the nearest. What is kept is the *inverse* range, because along a unit vector
``d`` the inverse range of the line through ``a`` and ``b`` is linear in ``d`` (with ``e = b - a``)::

    1 / t = (d × e) / (a × b)

so that a wall costs two products per ray, and the one division per ray comes last. For a disc at ``c`` with
``k = |c|² - r²`` it is ``1 / t = (c · d + sqrt(r² - (c × d)²)) / k``.

Primitives are moved into the sensor's frame in float64; the rays are a float32 table, made once per sensor by
:func:`make_ray_table`. Window ends are guessed from an approximate angle, widened by its error, and then
settled by the exact sign of cross products, so that no ray slips through a vertex that two walls share.
Discs, and walls seen at a grazing angle, are evaluated in float64, the other walls in float32. A range is
within 1e-6 of the exact one, relative, for the direction that the table holds.

What a ray met is a number: ``NOTHING`` (-1), a disc's index (0, 1, …), or ``-2 - k`` for wall segment
``k`` (``FIRST_WALL - k``). A sensor inside a disc, or on a wall, has range 0 in every direction. A wall seen
exactly end on is met at its nearer end. A segment of no length is nothing.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sidestep.kernels.approx import atan2_32, sincos64
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import ACTIVE, PX, PY, RADIUS, FloatArray, IntArray, float32, float64, int32, uint64

NOTHING = -1
FIRST_WALL = -2

TURN = 2.0 * math.pi
TOUCHING = 1e-9  # metres: a sensor this close to a wall is on it
ANGLE_ERROR = 1e-6  # radians, above the error of atan2_32 with its arguments rounded
GRAZING = 8.0  # (farthest point) / (distance to the line) above which float32 is not enough

X0, Y0, X1, Y1, ANGLE, WIDTH, NEAR2, SLOPE_X, SLOPE_Y = range(9)  # rows of the scratch table, float64
SCRATCH_ROWS = 9


class Beams(NamedTuple):
    """A fan of rays: ray ``i`` points along the sensor's heading + ``angle_min + i * angle_increment`` (rad)."""

    angle_min: float
    angle_increment: float
    directions: FloatArray  # (2, rays) float32, of :func:`make_ray_table`
    max_range: float  # m


class Discs(NamedTuple):
    """Bodies of people and robots, float32 (N,), m."""

    x: FloatArray
    y: FloatArray
    radius: FloatArray
    active: IntArray  # (N,) int32: only those with 1 are there


def make_ray_table(angle_min: float, angle_increment: float, rays: int) -> FloatArray:
    """Unit vectors ``(2, rays)`` at ``angle_min + i * angle_increment`` (rad) in the sensor's frame."""
    directions = np.empty((2, rays), np.float32)
    _fill_ray_table(float(angle_min), float(angle_increment), directions)
    return directions


def make_scratch(segments: int, discs: int) -> FloatArray:
    """Working memory of :func:`cast_lidar` for up to this many primitives."""
    return np.empty((SCRATCH_ROWS, max(segments, discs, 1)), np.float64)


@kernel
def _fill_ray_table(angle_min: float, angle_increment: float, directions: FloatArray) -> None:
    for i in range(directions.shape[1]):
        sine, cosine = sincos64(angle_min + i * angle_increment)
        directions[0, i], directions[1, i] = cosine, sine


@inlined
def _angle(y: float, x: float) -> float:
    return float64(atan2_32(float32(y), float32(x)))


@inlined
def _width(angle0: float, angle1: float) -> float:
    """Counter-clockwise angle from 0 to 1 of a window narrower than π, which may pass the cut at ±π."""
    width = angle1 - angle0
    return width + TURN if width < -0.5 * math.pi else width


@kernel
def _place_walls(
    origin_x: float, origin_y: float, sine: float, cosine: float, segments: FloatArray, x0: FloatArray,
    y0: FloatArray, x1: FloatArray, y1: FloatArray,
) -> None:  # fmt: skip
    """End points of the walls in the sensor's frame, counter-clockwise as the sensor sees them.

    Placing is three loops because LLVM vectorises a loop only over a few arrays that might overlap.
    """
    for k in range(uint64(segments.shape[0])):
        ux, uy = segments[k, 0] - origin_x, segments[k, 1] - origin_y
        vx, vy = segments[k, 2] - origin_x, segments[k, 3] - origin_y
        px, py = cosine * ux + sine * uy, cosine * uy - sine * ux
        qx, qy = cosine * vx + sine * vy, cosine * vy - sine * vx
        ordered = px * qy - py * qx >= 0.0
        x0[k] = px if ordered else qx
        y0[k] = py if ordered else qy
        x1[k] = qx if ordered else px
        y1[k] = qy if ordered else py


@kernel
def _measure_windows(
    x0: FloatArray, y0: FloatArray, x1: FloatArray, y1: FloatArray, angle: FloatArray, width: FloatArray
) -> None:
    for k in range(uint64(x0.shape[0])):
        start = _angle(y0[k], x0[k])
        angle[k] = start
        width[k] = _width(start, _angle(y1[k], x1[k]))


@kernel
def _measure_walls(
    x0: FloatArray, y0: FloatArray, x1: FloatArray, y1: FloatArray, near2: FloatArray, slope_x: FloatArray,
    slope_y: FloatArray,
) -> None:  # fmt: skip
    """Squared distance of the nearest point, and the factors of the inverse range."""
    for k in range(uint64(x0.shape[0])):
        ax, ay, bx, by = x0[k], y0[k], x1[k], y1[k]
        ex, ey = bx - ax, by - ay
        area = ax * by - ay * bx
        length2 = ex * ex + ey * ey
        along = -(ax * ex + ay * ey)
        nearest = area * area / length2
        nearest = bx * bx + by * by if along >= length2 else nearest
        nearest = ax * ax + ay * ay if along <= 0.0 else nearest
        near2[k] = nearest if length2 > 0.0 else np.inf
        slope_x[k] = ey / area
        slope_y[k] = -ex / area


@kernel
def _place_discs(
    origin_x: float, origin_y: float, sine: float, cosine: float, discs: Discs, scratch: FloatArray
) -> None:
    """Centres in the sensor's frame, ``|c|² - r²`` as ``NEAR2``, and the windows between the two tangents."""
    x0, y0, near2 = scratch[X0], scratch[Y0], scratch[NEAR2]
    angle, width = scratch[ANGLE], scratch[WIDTH]
    for k in range(uint64(discs.x.shape[0])):
        ux, uy, r = discs.x[k] - origin_x, discs.y[k] - origin_y, float64(discs.radius[k])
        cx, cy = cosine * ux + sine * uy, cosine * uy - sine * ux
        power = cx * cx + cy * cy - r * r
        tangent = math.sqrt(max(power, 0.0))
        start = _angle(cy * tangent - cx * r, cx * tangent + cy * r)
        angle[k] = start
        width[k] = _width(start, _angle(cy * tangent + cx * r, cx * tangent - cy * r))
        x0[k], y0[k], near2[k] = cx, cy, power


@inlined
def _first_window(angle: float, width: float, angle_min: float, rays_per_radian: float) -> tuple[float, float]:
    """Fractional ray numbers ``(start, end)`` of a window, ``end`` shifted by whole turns into the first."""
    end = (angle + width + ANGLE_ERROR - angle_min) * rays_per_radian
    turn = TURN * rays_per_radian
    while end < 0.0:
        end += turn
    while end >= turn:
        end -= turn
    return end - (width + 2.0 * ANGLE_ERROR) * rays_per_radian, end


@inlined
def _in_wedge(x0: float, y0: float, x1: float, y1: float, dx: float, dy: float) -> bool:
    """Whether direction d lies in the closed wedge, narrower than π, from direction 0 to direction 1."""
    return x0 * dy - y0 * dx >= 0.0 and dx * y1 - dy * x1 >= 0.0


@inlined
def _meets_disc(cx: float, cy: float, r: float, dx: float, dy: float) -> bool:
    return abs(cx * dy - cy * dx) <= r and cx * dx + cy * dy > 0.0


@inlined
def _keep_wall(
    a: float, b: float, first: int, stop: int, hit: int, directions: FloatArray, inverse: FloatArray, hits: IntArray
) -> None:
    """Keep, for rays ``first … stop - 1``, the inverse range ``a dx + b dy`` where it is the largest so far.

    Without branches and with unsigned indices, so that it vectorises.
    """
    dx, dy = directions[0], directions[1]
    for i in range(uint64(first), uint64(stop)):
        value = a * dx[i] + b * dy[i]
        nearer = value > inverse[i]
        inverse[i] = value if nearer else inverse[i]
        hits[i] = hit if nearer else hits[i]


@inlined
def _keep_grazing(
    a: float, b: float, lowest: float, highest: float, first: int, stop: int, hit: int, directions: FloatArray,
    inverse: FloatArray, hits: IntArray,
) -> None:  # fmt: skip
    """As :func:`_keep_wall`, held between the inverse ranges of the wall's farthest and nearest points.

    Seen end on, ``a`` and ``b`` are infinite or not a number and the comparisons choose the nearest point.
    """
    dx, dy = directions[0], directions[1]
    for i in range(uint64(first), uint64(stop)):
        value = a * dx[i] + b * dy[i]
        value = value if value < highest else highest
        value = float32(value if value > lowest else lowest)
        nearer = value > inverse[i]
        inverse[i] = value if nearer else inverse[i]
        hits[i] = hit if nearer else hits[i]


@inlined
def _keep_disc(
    cx: float, cy: float, r: float, scale: float, first: int, stop: int, hit: int, directions: FloatArray,
    inverse: FloatArray, hits: IntArray,
) -> None:  # fmt: skip
    dx, dy = directions[0], directions[1]
    for i in range(uint64(first), uint64(stop)):
        across = cx * dy[i] - cy * dx[i]
        half_chord = math.sqrt(max(r * r - across * across, 0.0))
        value = float32((cx * dx[i] + cy * dy[i] + half_chord) * scale)
        nearer = value > inverse[i]
        inverse[i] = value if nearer else inverse[i]
        hits[i] = hit if nearer else hits[i]


@kernel
def _cover(inverse: FloatArray, hits: IntArray, hit: int) -> None:
    """Range 0 in every direction, unless something gave it before."""
    for i in range(inverse.shape[0]):
        if inverse[i] < np.inf:
            inverse[i], hits[i] = np.inf, hit


@kernel
def _project_wall(
    wall: FloatArray, hit: int, angle_min: float, rays_per_radian: float, directions: FloatArray, inverse: FloatArray,
    hits: IntArray,
) -> None:  # fmt: skip
    """Project one wall, a column of the scratch table, onto its window of rays."""
    x0, y0, x1, y1 = wall[X0], wall[Y0], wall[X1], wall[Y1]
    a, b = wall[SLOPE_X], wall[SLOPE_Y]
    far2 = max(x0 * x0 + y0 * y0, x1 * x1 + y1 * y1)
    harmless = far2 * (a * a + b * b) <= GRAZING * GRAZING
    start, end = _first_window(wall[ANGLE], wall[WIDTH], angle_min, rays_per_radian)
    n = inverse.shape[0]
    while start <= n - 1:
        first = int(start) + 1 if start >= 0.0 else 0
        last = min(int(end), n - 1)
        while first <= last and not _in_wedge(x0, y0, x1, y1, directions[0, first], directions[1, first]):
            first += 1
        while first <= last and not _in_wedge(x0, y0, x1, y1, directions[0, last], directions[1, last]):
            last -= 1
        if harmless:
            _keep_wall(float32(a), float32(b), first, last + 1, hit, directions, inverse, hits)
        else:
            lowest, highest = 1.0 / math.sqrt(far2), 1.0 / math.sqrt(wall[NEAR2])
            _keep_grazing(a, b, lowest, highest, first, last + 1, hit, directions, inverse, hits)
        start += TURN * rays_per_radian
        end += TURN * rays_per_radian


@kernel
def _project_disc(
    disc: FloatArray, r: float, hit: int, angle_min: float, rays_per_radian: float, directions: FloatArray,
    inverse: FloatArray, hits: IntArray,
) -> None:  # fmt: skip
    """Project one disc, a column of the scratch table, onto its window of rays."""
    cx, cy, scale = disc[X0], disc[Y0], 1.0 / disc[NEAR2]
    start, end = _first_window(disc[ANGLE], disc[WIDTH], angle_min, rays_per_radian)
    n = inverse.shape[0]
    while start <= n - 1:
        first = int(start) + 1 if start >= 0.0 else 0
        last = min(int(end), n - 1)
        while first <= last and not _meets_disc(cx, cy, r, directions[0, first], directions[1, first]):
            first += 1
        while first <= last and not _meets_disc(cx, cy, r, directions[0, last], directions[1, last]):
            last -= 1
        _keep_disc(cx, cy, r, scale, first, last + 1, hit, directions, inverse, hits)
        start += TURN * rays_per_radian
        end += TURN * rays_per_radian


@kernel
def _check_lidar(beams: Beams, primitives: int, scratch: FloatArray, out_ranges: FloatArray, out_ids: IntArray) -> None:
    angle_min, angle_increment, directions, max_range = beams
    if not (angle_increment > 0.0 and max_range > 0.0 and abs(angle_min) <= 2.0 * TURN):
        raise ValueError("a lidar needs angle_increment > 0, max_range > 0 and abs(angle_min) <= 4 pi")
    if directions.shape[1] != out_ranges.shape[0] or out_ids.shape[0] != out_ranges.shape[0]:
        raise ValueError("the ray table, out_ranges and out_ids differ in their number of rays")
    if scratch.shape[0] < SCRATCH_ROWS or scratch.shape[1] < primitives:
        raise ValueError("the lidar's scratch table is too small: use rays.make_scratch(segments, discs)")


@kernel
def cast_lidar(
    origin_x: float, origin_y: float, heading: float, beams: Beams, segments: FloatArray, discs: Discs, own: int,
    scratch: FloatArray, out_ranges: FloatArray, out_ids: IntArray,
) -> None:  # fmt: skip
    """Ranges (m, float32 ``(n,)``) and hit numbers (int32 ``(n,)``) of ``n`` rays from one sensor.

    ``segments (S, 4)`` are walls ``x0, y0, x1, y1``; ``own`` is the disc that carries the sensor, which it does not see
    (-1: none). ``max_range`` and ``NOTHING`` where a ray meets nothing nearer.
    """
    walls, bodies = segments.shape[0], discs.x.shape[0]
    _check_lidar(beams, max(walls, bodies), scratch, out_ranges, out_ids)
    angle_min, angle_increment, directions, max_range = beams
    origin_x, origin_y, rays_per_radian = float64(origin_x), float64(origin_y), 1.0 / angle_increment
    sine, cosine = sincos64(float64(heading))
    out_ranges[:] = 1.0 / max_range  # inverse ranges until the last line
    out_ids[:] = NOTHING
    x0, y0, x1, y1 = scratch[X0, :walls], scratch[Y0, :walls], scratch[X1, :walls], scratch[Y1, :walls]
    _place_walls(origin_x, origin_y, sine, cosine, segments, x0, y0, x1, y1)
    _measure_windows(x0, y0, x1, y1, scratch[ANGLE], scratch[WIDTH])
    _measure_walls(x0, y0, x1, y1, scratch[NEAR2], scratch[SLOPE_X], scratch[SLOPE_Y])
    for k in range(walls):
        hit = int32(FIRST_WALL - k)
        if scratch[NEAR2, k] <= TOUCHING * TOUCHING:
            _cover(out_ranges, out_ids, hit)
        elif scratch[NEAR2, k] < max_range * max_range:
            _project_wall(scratch[:, k], hit, angle_min, rays_per_radian, directions, out_ranges, out_ids)
    _place_discs(origin_x, origin_y, sine, cosine, discs, scratch)
    for k in range(bodies):
        r, hit = float64(discs.radius[k]), int32(k)
        if discs.active[k] != 1 or k == own:
            continue
        if scratch[NEAR2, k] <= 0.0:
            _cover(out_ranges, out_ids, hit)
        elif scratch[NEAR2, k] < max_range * (max_range + 2.0 * r):  # |c| < max_range + r
            _project_disc(scratch[:, k], r, hit, angle_min, rays_per_radian, directions, out_ranges, out_ids)
    for i in range(out_ranges.shape[0]):
        out_ranges[i] = float32(1.0) / out_ranges[i] if out_ids[i] != NOTHING else float32(max_range)


@kernel
def cast_lidars(
    poses: FloatArray, world: IntArray, own: IntArray, beams: Beams, segments: FloatArray, segment_range: IntArray,
    agents: FloatArray, flags: IntArray, scratch: FloatArray, out_ranges: FloatArray, out_ids: IntArray,
) -> None:  # fmt: skip
    """:func:`cast_lidar` for L equal sensors in B worlds, in one call.

    ``poses (L, 3)`` float64 x, y, heading; sensor ``l`` is in world ``world[l]`` on the body in column
    ``own[l]`` (-1: none) of ``agents (B, AGENT_ROWS, M)`` and ``flags (B, FLAG_ROWS, M)``. World ``b`` has
    the walls ``segments[segment_range[b, 0] : segment_range[b, 1]]``, so that worlds may share them. Outputs
    are ``(L, n)``.
    """
    for sensor in range(poses.shape[0]):
        b = world[sensor]
        first, stop = segment_range[b, 0], segment_range[b, 1]
        discs = Discs(agents[b, PX], agents[b, PY], agents[b, RADIUS], flags[b, ACTIVE])
        cast_lidar(
            poses[sensor, 0], poses[sensor, 1], poses[sensor, 2], beams, segments[first:stop], discs, own[sensor],
            scratch, out_ranges[sensor], out_ids[sensor],
        )  # fmt: skip
