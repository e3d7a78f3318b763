"""Continuous collision: bodies are swept along their motion, so that nothing tunnels at any step size.

Contact times are fractions of the step: 0 when the bodies overlap at its start, ``NO_CONTACT`` (2.0) when they do not
meet. Float64 throughout; float32 arguments are widened.

* Discs against discs and segments have closed forms (the path of a point against a disc or a capsule).
* Convex polygons that move and turn evenly use conservative advancement (B. Mirtich, *Impulse-based dynamic simulation
  of rigid body systems*, PhD thesis, Berkeley 1996, ch. 2): with the bodies ``gap`` apart along the unit vector ``n``,
  nothing can touch before ``gap / (u · n + |turn| ρ)``, where ``u`` is the relative motion and ``ρ`` the distance of
  the farthest corner from the turning centre. Touching means nearer than ``TOLERANCE``.
* :func:`move_with_walls` stops a disc ``SKIN`` before a wall and lets it slide along with the rest of its motion.

Outside the walls' grid the nearest cell serves: going to that cell brings a body closer to every wall.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.kernels.approx import sincos64
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import WALL_REACH, FloatArray, Walls, float64

NO_CONTACT = 2.0
TOLERANCE = 1e-4  # m: a polygon this near touches
COINCIDENT = 1e-9  # m: points this near have no direction between them
SKIN = 1e-4  # m: free space that a moved disc keeps between itself and a wall
MAX_SLIDES = 3
GRAZE = 1e-9  # m: how deep a path has to enter a wall's skin to be stopped, above rounding
DRIFT = 1e-11  # part of a motion that may be directed into a wall without counting, above rounding
SHORTEST_PIECE = 0.25  # m: into no smaller pieces is a motion cut


@inlined
def _nearest_point(px: float, py: float, ax: float, ay: float, bx: float, by: float) -> tuple[float, float, float]:
    """Parameter in [0, 1] and coordinates of the point of segment ab nearest to p."""
    ex, ey = bx - ax, by - ay
    along, length2 = (px - ax) * ex + (py - ay) * ey, ex * ex + ey * ey
    if along <= 0.0 or length2 == 0.0:
        return 0.0, ax, ay
    if along >= length2:
        return 1.0, bx, by
    s = along / length2
    return s, ax + s * ex, ay + s * ey


@inlined
def _distance2(px: float, py: float, ax: float, ay: float, bx: float, by: float) -> float:
    """Squared distance of point p from segment ab."""
    _, cx, cy = _nearest_point(px, py, ax, ay, bx, by)
    return (px - cx) * (px - cx) + (py - cy) * (py - cy)


@inlined
def _is_beyond(px: float, py: float, far: float, ax: float, ay: float, bx: float, by: float) -> bool:
    """Whether segment ab is outside the square of half side ``far`` around p, and so out of reach."""
    right, left = min(ax, bx) > px + far, max(ax, bx) < px - far
    above, below = min(ay, by) > py + far, max(ay, by) < py - far
    return right | left | above | below


@inlined
def _cross_each_other(px: float, py: float, qx: float, qy: float, ax: float, ay: float, bx: float, by: float) -> bool:
    """Whether segments pq and ab cross properly, each with its ends strictly on both sides of the other."""
    ux, uy, ex, ey = qx - px, qy - py, bx - ax, by - ay
    a_side, b_side = ux * (ay - py) - uy * (ax - px), ux * (by - py) - uy * (bx - px)
    p_side, q_side = ex * (py - ay) - ey * (px - ax), ex * (qy - ay) - ey * (qx - ax)
    return a_side * b_side < 0.0 and p_side * q_side < 0.0


@inlined
def _sweep_point(dx: float, dy: float, ux: float, uy: float, reach: float, graze: float) -> tuple[float, float]:
    """When the point d, moving by u, enters the disc of radius ``reach`` at the origin, and its least distance to it.
    With ``c = |d|² - reach²``, ``|d + t u| = reach`` first at ``c / (sqrt(|u|² reach² - (d × u)²) - d · u)``."""
    u2, b = ux * ux + uy * uy, dx * ux + dy * uy
    nearest = min(-b / u2, 1.0) if b < 0.0 else 0.0
    mx, my = dx + nearest * ux, dy + nearest * uy
    gap = sqrt(mx * mx + my * my) - reach
    c = dx * dx + dy * dy - reach * reach
    if c <= 0.0:
        return 0.0, gap
    if gap > -graze:
        return NO_CONTACT, gap
    across = dx * uy - dy * ux
    depth = sqrt(max(u2 * reach * reach - across * across, 0.0))
    return (min(c / (depth - b), nearest) if b < 0.0 else 0.0), gap


@kernel
def sweep_circles(
    px: float, py: float, vx: float, vy: float, r: float, qx: float, qy: float, wx: float, wy: float, s: float,
    dt: float,
) -> tuple[float, float]:  # fmt: skip
    """First contact, as a fraction of ``dt``, and least surface distance (m) over the step of two moving
    discs.

    Disc p has radius r and velocity v, disc q radius s and velocity w. The distance is negative where they
    overlap.
    """
    dx, dy = float64(qx) - float64(px), float64(qy) - float64(py)
    ux, uy = (float64(wx) - float64(vx)) * dt, (float64(wy) - float64(vy)) * dt
    return _sweep_point(dx, dy, ux, uy, float64(r) + float64(s), 0.0)


@inlined
def _sweep_capsule(
    px: float, py: float, ux: float, uy: float, reach: float, ax: float, ay: float, bx: float, by: float, graze: float
) -> float:
    """When the point p, moving by u, comes within ``reach`` of segment ab: long sides, then round ends."""
    if _distance2(px, py, ax, ay, bx, by) <= reach * reach:
        return 0.0
    ex, ey = bx - ax, by - ay
    length2 = ex * ex + ey * ey
    if length2 > 0.0:
        length = sqrt(length2)
        height = (ex * (py - ay) - ey * (px - ax)) / length
        rate = (ex * uy - ey * ux) / length
        if height < 0.0:
            height, rate = -height, -rate
        if rate < 0.0 and height + rate <= reach - graze:
            t = min(max((height - reach) / -rate, 0.0), 1.0)  # 0 when already beside an end, or by rounding
            along = (px + t * ux - ax) * ex + (py + t * uy - ay) * ey
            if 0.0 <= along <= length2:
                return t
    first, _ = _sweep_point(px - ax, py - ay, ux, uy, reach, graze)
    second, _ = _sweep_point(px - bx, py - by, ux, uy, reach, graze)
    return min(first, second)


@inlined
def _corner_radius(corners: FloatArray) -> float:
    """Distance of the farthest corner from the origin of the body's frame."""
    largest = 0.0
    for i in range(corners.shape[0]):
        largest = max(largest, corners[i, 0] * corners[i, 0] + corners[i, 1] * corners[i, 1])
    return sqrt(largest)


@kernel
def polygon_to_point(corners: FloatArray, px: float, py: float) -> tuple[float, float, float]:
    """Distance (m) from a convex polygon to p, 0 inside, and the polygon's point nearest to p; body frame."""
    best, best_x, best_y = np.inf, px, py
    left, right = False, False
    n = corners.shape[0]
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        ax, ay, bx, by = corners[i, 0], corners[i, 1], corners[j, 0], corners[j, 1]
        side = (bx - ax) * (py - ay) - (by - ay) * (px - ax)
        left, right = left or side > 0.0, right or side < 0.0
        _, cx, cy = _nearest_point(px, py, ax, ay, bx, by)
        d2 = (px - cx) * (px - cx) + (py - cy) * (py - cy)
        if d2 < best:
            best, best_x, best_y = d2, cx, cy
    if not (left and right):
        return 0.0, px, py
    return sqrt(best), best_x, best_y


@kernel
def polygon_to_segment(
    corners: FloatArray, ax: float, ay: float, bx: float, by: float
) -> tuple[float, float, float, float, float]:
    """Distance (m) from a convex polygon to segment ab, 0 where they overlap, and the nearest points of the
    two.

    Returns ``(distance, polygon x, polygon y, segment x, segment y)`` in the body's frame.
    """
    best, px, py = polygon_to_point(corners, ax, ay)
    sx, sy = ax, ay
    d, cx, cy = polygon_to_point(corners, bx, by)
    if d < best:
        best, px, py, sx, sy = d, cx, cy, bx, by
    n = corners.shape[0]
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        if _cross_each_other(corners[i, 0], corners[i, 1], corners[j, 0], corners[j, 1], ax, ay, bx, by):
            return 0.0, px, py, px, py
        _, cx, cy = _nearest_point(corners[i, 0], corners[i, 1], ax, ay, bx, by)
        d = sqrt((corners[i, 0] - cx) * (corners[i, 0] - cx) + (corners[i, 1] - cy) * (corners[i, 1] - cy))
        if d < best:
            best, px, py, sx, sy = d, corners[i, 0], corners[i, 1], cx, cy
    return best, px, py, sx, sy


@inlined
def _to_body(px: float, py: float, sine: float, cosine: float) -> tuple[float, float]:
    return cosine * px + sine * py, cosine * py - sine * px


@kernel
def _sweep_polygon(
    x: float, y: float, heading: float, ux: float, uy: float, turn: float, corners: FloatArray, ax: float, ay: float,
    bx: float, by: float, radius: float,
) -> float:  # fmt: skip
    """Conservative advancement of a polygon moving by u and ``turn`` to segment ab widened by ``radius``.

    It aims at half the tolerance, so that a body stopped at its contact is free to leave: within
    ``TOLERANCE`` and moving away is no contact, and the body goes on by at most half of it.
    """
    turning = abs(turn) * _corner_radius(corners)
    t = 0.0
    while t <= 1.0:
        sine, cosine = sincos64(heading + t * turn)
        ox, oy = x + t * ux, y + t * uy
        px, py = _to_body(ax - ox, ay - oy, sine, cosine)
        qx, qy = _to_body(bx - ox, by - oy, sine, cosine)
        distance, cx, cy, sx, sy = polygon_to_segment(corners, px, py, qx, qy)
        gap = distance - radius
        if gap <= 0.0 or distance <= COINCIDENT:
            return t
        nx, ny = (sx - cx) / distance, (sy - cy) / distance
        bx_u, by_u = _to_body(ux, uy, sine, cosine)
        fastest = bx_u * nx + by_u * ny + turning
        if fastest * (1.0 - t) < gap:
            return NO_CONTACT
        approach = (bx_u - turn * cy) * nx + (by_u + turn * cx) * ny
        if gap <= TOLERANCE and approach > 0.0:
            return t
        t += max(gap - 0.5 * TOLERANCE, 0.5 * TOLERANCE) / fastest
    return NO_CONTACT


@kernel
def sweep_polygon_circle(
    x: float, y: float, heading: float, vx: float, vy: float, omega: float, corners: FloatArray, qx: float, qy: float,
    wx: float, wy: float, s: float, dt: float,
) -> float:  # fmt: skip
    """First contact, as a fraction of ``dt``, of a convex polygon with a disc of radius s at q with velocity
    w.

    ``corners (V, 2)`` float64 in the body's frame, 3 to 8 of them, in either sense. The origin of that frame
    starts at ``(x, y)`` and moves evenly with velocity v while the body turns evenly with ``omega`` (rad/s).
    """
    ux, uy = (float64(vx) - float64(wx)) * dt, (float64(vy) - float64(wy)) * dt
    qx, qy = float64(qx), float64(qy)
    return _sweep_polygon(x, y, heading, ux, uy, omega * dt, corners, qx, qy, qx, qy, float64(s))


@kernel
def polygon_to_polygon(
    corners: FloatArray, others: FloatArray, px: float, py: float, sine: float, cosine: float
) -> tuple[float, float, float, float, float]:
    """Distance (m) between two convex polygons, 0 where they overlap, and the nearest points of the two.

    ``others`` is in the frame of a body at p, turned by the angle of ``sine`` and ``cosine``; results are in the frame
    of ``corners``, as of :func:`polygon_to_segment`.
    """
    inner_x, inner_y = _to_body(corners[0, 0] - px, corners[0, 1] - py, sine, cosine)
    inside, _, _ = polygon_to_point(others, inner_x, inner_y)
    if inside == 0.0:
        return 0.0, corners[0, 0], corners[0, 1], corners[0, 0], corners[0, 1]
    n = others.shape[0]
    ax = px + cosine * others[n - 1, 0] - sine * others[n - 1, 1]
    ay = py + sine * others[n - 1, 0] + cosine * others[n - 1, 1]
    best, cx, cy, sx, sy = np.inf, 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        bx, by = px + cosine * others[i, 0] - sine * others[i, 1], py + sine * others[i, 0] + cosine * others[i, 1]
        d, ex, ey, fx, fy = polygon_to_segment(corners, ax, ay, bx, by)
        if d < best:
            best, cx, cy, sx, sy = d, ex, ey, fx, fy
        ax, ay = bx, by
    return best, cx, cy, sx, sy


@kernel
def sweep_polygons(
    x: float, y: float, heading: float, vx: float, vy: float, omega: float, corners: FloatArray, qx: float, qy: float,
    other_heading: float, wx: float, wy: float, other_omega: float, others: FloatArray, dt: float,
) -> float:  # fmt: skip
    """First contact, as a fraction of ``dt``, of two convex polygons that move and turn evenly: the body at (x, y) as
    in :func:`sweep_polygon_circle`, the other one at q with velocity w. Conservative advancement as of
    ``_sweep_polygon``, in which both may turn."""
    turn, other_turn = omega * dt, other_omega * dt
    ux, uy = (vx - wx) * dt, (vy - wy) * dt
    turning = abs(turn) * _corner_radius(corners) + abs(other_turn) * _corner_radius(others)
    t = 0.0
    while t <= 1.0:
        sine, cosine = sincos64(heading + t * turn)
        px, py = _to_body(qx - x - t * ux, qy - y - t * uy, sine, cosine)
        between_sine, between_cosine = sincos64(other_heading - heading + t * (other_turn - turn))
        gap, cx, cy, sx, sy = polygon_to_polygon(corners, others, px, py, between_sine, between_cosine)
        if gap <= COINCIDENT:
            return t
        nx, ny = (sx - cx) / gap, (sy - cy) / gap
        bx_u, by_u = _to_body(ux, uy, sine, cosine)
        fastest = bx_u * nx + by_u * ny + turning
        if fastest * (1.0 - t) < gap:
            return NO_CONTACT
        approach_x = bx_u - turn * cy + other_turn * (sy - py)
        approach_y = by_u + turn * cx - other_turn * (sx - px)
        if gap <= TOLERANCE and approach_x * nx + approach_y * ny > 0.0:
            return t
        t += max(gap - 0.5 * TOLERANCE, 0.5 * TOLERANCE) / fastest
    return NO_CONTACT


@inlined
def wall_cell(x: float, y: float, walls: Walls) -> int:
    """Number of the grid cell that serves position (x, y)."""
    grid, grid_shape = walls.grid, walls.grid_shape
    column, row = (x - grid[0]) / grid[2], (y - grid[1]) / grid[2]
    i = int(min(column, grid_shape[0] - 1.0)) if column > 0.0 else 0
    j = int(min(row, grid_shape[1] - 1.0)) if row > 0.0 else 0
    cell: int = j * grid_shape[0] + i
    return cell


@kernel
def sweep_polygon_walls(
    x: float, y: float, heading: float, dx: float, dy: float, turn: float, corners: FloatArray, walls: Walls
) -> float:
    """First contact, as a fraction, of a convex polygon that moves by (dx, dy) and turns by ``turn`` (rad) with any
    wall. Long motions are cut so that the list of the cell where a piece starts holds every wall in reach; a body too
    large for the lists is swept against all walls."""
    points, following = walls.points, walls.next
    reach = _corner_radius(corners) + TOLERANCE
    length = sqrt(dx * dx + dy * dy)
    listed = reach <= WALL_REACH - 2.0 * SHORTEST_PIECE
    pieces = int(length / (WALL_REACH - SHORTEST_PIECE - reach)) + 1 if listed and length < np.inf else 1
    ux, uy, part = dx / pieces, dy / pieces, turn / pieces
    for piece in range(pieces):
        ox, oy = x + piece * ux, y + piece * uy
        first, stop = 0, points.shape[0]
        if listed:
            cell = wall_cell(ox, oy, walls)
            first, stop = walls.cell_start[cell], walls.cell_start[cell + 1]
        best = NO_CONTACT
        for item in range(first, stop):
            edge = walls.cell_items[item] if listed else item
            ax, ay = float64(points[edge, 0]), float64(points[edge, 1])
            bx, by = float64(points[following[edge], 0]), float64(points[following[edge], 1])
            if not _is_beyond(ox, oy, reach + length / pieces, ax, ay, bx, by):
                t = _sweep_polygon(ox, oy, heading + piece * part, ux, uy, part, corners, ax, ay, bx, by, 0.0)
                best = min(best, t)
        if best <= 1.0:
            return (piece + best) / pieces
    return NO_CONTACT


@inlined
def _wall_normal(px: float, py: float, ax: float, ay: float, bx: float, by: float) -> tuple[float, float, float]:
    """Distance from wall ab to p, and the unit vector from it to p; on the wall, to its open right."""
    s, cx, cy = _nearest_point(px, py, ax, ay, bx, by)
    ox, oy = px - cx, py - cy
    distance = sqrt(ox * ox + oy * oy)
    if distance > 0.0 and (s == 0.0 or s == 1.0):
        return distance, ox / distance, oy / distance
    ex, ey = bx - ax, by - ay
    length = sqrt(ex * ex + ey * ey)
    side = -1.0 if ex * (py - ay) - ey * (px - ax) > 0.0 else 1.0
    return distance, side * ey / length, -side * ex / length


@kernel
def _first_wall(
    px: float, py: float, ux: float, uy: float, reach: float, walls: Walls, cell: int
) -> tuple[float, float, float, float, float]:
    """Fraction of the motion u at which a wall of ``cell`` stops it, NO_CONTACT if none does, and that wall's ends.

    From a wall nearer than ``reach`` the distance grows along a straight path that starts away from it,
    because the distance to a segment is convex: such a wall stops only a motion into it.
    """
    best, best_ax, best_ay, best_bx, best_by = NO_CONTACT, 0.0, 0.0, 0.0, 0.0
    length = sqrt(ux * ux + uy * uy)
    far = reach + length
    points, following = walls.points, walls.next
    for item in range(walls.cell_start[cell], walls.cell_start[cell + 1]):
        edge = walls.cell_items[item]
        ax, ay = float64(points[edge, 0]), float64(points[edge, 1])
        bx, by = float64(points[following[edge], 0]), float64(points[following[edge], 1])
        if _is_beyond(px, py, far, ax, ay, bx, by) or (ax == bx and ay == by):
            continue
        if _distance2(px, py, ax, ay, bx, by) > reach * reach:
            t = _sweep_capsule(px, py, ux, uy, reach, ax, ay, bx, by, GRAZE)
        else:
            distance, nx, ny = _wall_normal(px, py, ax, ay, bx, by)
            into = ux * nx + uy * ny
            unmeant = -DRIFT * length if distance > 1e-6 else 0.0
            t = 0.0 if into < unmeant and distance + into < reach - GRAZE else NO_CONTACT
        if t < best:
            best, best_ax, best_ay, best_bx, best_by = t, ax, ay, bx, by
    return best, best_ax, best_ay, best_bx, best_by


@kernel
def _deflect(
    x: float, y: float, ux: float, uy: float, reach: float, t: float, ax: float, ay: float, bx: float, by: float
) -> tuple[float, float, float, float]:
    """Position where wall ab stops the motion u at fraction t, and the rest of the motion along the wall."""
    x, y, ux, uy = x + t * ux, y + t * uy, (1.0 - t) * ux, (1.0 - t) * uy
    distance, nx, ny = _wall_normal(x, y, ax, ay, bx, by)
    lost_skin = min(max(reach - distance, 0.0), SKIN)  # to rounding, such as to float32
    push = lost_skin - (ux * nx + uy * ny)
    return x, y, ux + push * nx, uy + push * ny


@kernel
def _slide(x: float, y: float, ux: float, uy: float, r: float, walls: Walls, cell: int) -> tuple[float, float, float]:
    """Move by u, stopping at and sliding along the walls of ``cell``; position and fraction at first contact."""
    first = NO_CONTACT
    for attempt in range(MAX_SLIDES + 1):
        t, ax, ay, bx, by = _first_wall(x, y, ux, uy, r + SKIN, walls, cell)
        if t > 1.0:
            return x + ux, y + uy, first
        if attempt == 0:
            first = t
        x, y, ux, uy = _deflect(x, y, ux, uy, r + SKIN, t, ax, ay, bx, by)
    return x, y, first


@kernel
def clear_of_walls(x: float, y: float, dx: float, dy: float, r: float, walls: Walls) -> bool:
    """Whether no wall is near enough for :func:`move_with_walls` to change this motion; false when in doubt.

    In the open it costs a tenth of the move. There has to be at least one cell."""
    points = walls.points
    far = abs(dx) + abs(dy) + r + SKIN
    cell = wall_cell(x, y, walls)
    clear = far < WALL_REACH
    for item in range(walls.cell_start[cell], walls.cell_start[cell + 1]):
        edge = walls.cell_items[item]
        end = walls.next[edge]
        clear &= _is_beyond(x, y, far, points[edge, 0], points[edge, 1], points[end, 0], points[end, 1])
    return clear


@kernel
def move_with_walls(
    x: float, y: float, dx: float, dy: float, r: float, walls: Walls
) -> tuple[float, float, bool, float]:
    """Move a disc of radius r by (dx, dy); returns ``(x, y, touched, fraction of the motion at first contact)``.

    It stops ``SKIN`` before a wall and slides along with the rest, at most ``MAX_SLIDES`` times per piece.
    Walls are barriers from both sides. A disc that overlaps a wall at the start may leave it and slide, but
    go no deeper. Long motions are cut so that the list of the cell where a piece starts holds every wall in
    reach, for radii up to 3.5 m.
    """
    x, y, dx, dy, r = float64(x), float64(y), float64(dx), float64(dy), float64(r)
    length = sqrt(dx * dx + dy * dy)
    if walls.points.shape[0] == 0 or not length < np.inf:
        return x + dx, y + dy, False, NO_CONTACT
    pieces = int(length / max(0.5 * WALL_REACH - r, SHORTEST_PIECE)) + 1
    first = NO_CONTACT
    for piece in range(pieces):
        x, y, t = _slide(x, y, dx / pieces, dy / pieces, r, walls, wall_cell(x, y, walls))
        first = (piece + t) / pieces if t <= 1.0 and first > 1.0 else first
    return x, y, first <= 1.0, first
