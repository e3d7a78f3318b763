"""Continuous collision: bodies are swept along their motion, so that nothing tunnels at any step size.

Contact times are fractions of the step: 0 when the bodies overlap at its start, ``NO_CONTACT`` (2.0) when
they do not meet. Float64 throughout; float32 arguments are widened.

* Discs against discs and against segments have closed forms (the path of a point against a disc or a
  capsule).
* A convex polygon that moves and turns evenly uses conservative advancement (B. Mirtich, *Impulse-based
  dynamic simulation of rigid body systems*, PhD thesis, Berkeley 1996, ch. 2): with the bodies ``gap`` apart
  along the unit vector ``n``, nothing can touch before ``gap / (u · n + |turn| ρ)``, where ``u`` is the
  relative motion and ``ρ`` the distance of the farthest corner from the turning centre. Touching means nearer
  than ``TOLERANCE``.
* :func:`move_with_walls` stops a disc ``SKIN`` before a wall and lets it slide along with the rest of its
  motion.

``walls`` is the tuple ``(points, dirs, next, prev, convex, cell_start, cell_items, grid, grid_shape)`` of
:mod:`sidestep.kernels.layout`. Outside the grid the nearest cell serves, which is right as long as the grid
covers all walls: going to that cell brings a body closer to every wall.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.kernels.approx import sincos64
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import WALL_REACH

NO_CONTACT = 2.0
TOLERANCE = 1e-4  # m: a polygon this near touches
COINCIDENT = 1e-9  # m: points this near have no direction between them
SKIN = 1e-4  # m: free space that a moved disc keeps between itself and a wall
MAX_SLIDES = 3
GRAZE = 1e-9  # m: how deep a path has to enter a wall's skin to be stopped, above rounding
DRIFT = 1e-11  # part of a motion that may be directed into a wall without counting, above rounding
SHORTEST_PIECE = 0.25  # m: into no smaller pieces is a motion cut


@inlined
def _nearest_point(px, py, ax, ay, bx, by):
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
def _distance2(px, py, ax, ay, bx, by):
    """Squared distance of point p from segment ab."""
    _, cx, cy = _nearest_point(px, py, ax, ay, bx, by)
    return (px - cx) * (px - cx) + (py - cy) * (py - cy)


@inlined
def _is_beyond(px, py, far, ax, ay, bx, by):
    """Whether segment ab is outside the square of half side ``far`` around p, and so out of reach."""
    right, left = min(ax, bx) > px + far, max(ax, bx) < px - far
    above, below = min(ay, by) > py + far, max(ay, by) < py - far
    return right | left | above | below


@inlined
def _cross_each_other(px, py, qx, qy, ax, ay, bx, by):
    """Whether segments pq and ab cross properly, each with its ends strictly on both sides of the other."""
    ux, uy, ex, ey = qx - px, qy - py, bx - ax, by - ay
    a_side, b_side = ux * (ay - py) - uy * (ax - px), ux * (by - py) - uy * (bx - px)
    p_side, q_side = ex * (py - ay) - ey * (px - ax), ex * (qy - ay) - ey * (qx - ax)
    return a_side * b_side < 0.0 and p_side * q_side < 0.0


@inlined
def _sweep_point(dx, dy, ux, uy, reach, graze):
    """When the point d, moving by u, enters the disc of radius ``reach`` at the origin, and its least
    distance to it.

    With ``c = |d|² - reach²`` the first root of ``|d + t u| = reach`` is ``c / (sqrt(|u|² reach² - (d × u)²)
    - d · u)``.
    """
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
def sweep_circles(px, py, vx, vy, r, qx, qy, wx, wy, s, dt):
    """First contact, as a fraction of ``dt``, and least surface distance (m) over the step of two moving
    discs.

    Disc p has radius r and velocity v, disc q radius s and velocity w. The distance is negative where they
    overlap.
    """
    dx, dy = np.float64(qx) - np.float64(px), np.float64(qy) - np.float64(py)
    ux, uy = (np.float64(wx) - np.float64(vx)) * dt, (np.float64(wy) - np.float64(vy)) * dt
    return _sweep_point(dx, dy, ux, uy, np.float64(r) + np.float64(s), 0.0)


@inlined
def _sweep_capsule(px, py, ux, uy, reach, ax, ay, bx, by, graze):
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


@kernel
def sweep_circle_segment(px, py, vx, vy, r, ax, ay, bx, by, dt):
    """First contact, as a fraction of ``dt``, of a moving disc with the still segment ab, and the least
    clearance (m).

    The clearance is that of the centre's path to the segment less the radius: ``-r`` where the centre passes
    through.
    """
    px, py, r = np.float64(px), np.float64(py), np.float64(r)
    ax, ay, bx, by = np.float64(ax), np.float64(ay), np.float64(bx), np.float64(by)
    ux, uy = np.float64(vx) * dt, np.float64(vy) * dt
    fraction = _sweep_capsule(px, py, ux, uy, r, ax, ay, bx, by, 0.0)
    qx, qy = px + ux, py + uy
    if _cross_each_other(px, py, qx, qy, ax, ay, bx, by):
        return fraction, -r
    ends = min(_distance2(px, py, ax, ay, bx, by), _distance2(qx, qy, ax, ay, bx, by))
    corners = min(_distance2(ax, ay, px, py, qx, qy), _distance2(bx, by, px, py, qx, qy))
    return fraction, sqrt(min(ends, corners)) - r


@inlined
def _corner_radius(corners):
    """Distance of the farthest corner from the origin of the body's frame."""
    largest = 0.0
    for i in range(corners.shape[0]):
        largest = max(largest, corners[i, 0] * corners[i, 0] + corners[i, 1] * corners[i, 1])
    return sqrt(largest)


@kernel
def polygon_to_point(corners, px, py):
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
def polygon_to_segment(corners, ax, ay, bx, by):
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
def _to_body(px, py, sine, cosine):
    return cosine * px + sine * py, cosine * py - sine * px


@kernel
def _sweep_polygon(x, y, heading, ux, uy, turn, corners, ax, ay, bx, by, radius):
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
def sweep_polygon_circle(x, y, heading, vx, vy, omega, corners, qx, qy, wx, wy, s, dt):
    """First contact, as a fraction of ``dt``, of a convex polygon with a disc of radius s at q with velocity
    w.

    ``corners (V, 2)`` float64 in the body's frame, 3 to 8 of them, in either sense. The origin of that frame
    starts at ``(x, y)`` and moves evenly with velocity v while the body turns evenly with ``omega`` (rad/s).
    """
    ux, uy = (np.float64(vx) - np.float64(wx)) * dt, (np.float64(vy) - np.float64(wy)) * dt
    qx, qy = np.float64(qx), np.float64(qy)
    return _sweep_polygon(x, y, heading, ux, uy, omega * dt, corners, qx, qy, qx, qy, np.float64(s))


@kernel
def sweep_polygon_segment(x, y, heading, vx, vy, omega, corners, ax, ay, bx, by, dt):
    """As :func:`sweep_polygon_circle` against the still segment ab; one inside the polygon is in contact."""
    ax, ay, bx, by = np.float64(ax), np.float64(ay), np.float64(bx), np.float64(by)
    return _sweep_polygon(x, y, heading, vx * dt, vy * dt, omega * dt, corners, ax, ay, bx, by, 0.0)


@kernel
def polygon_to_polygon(corners, others, px, py, sine, cosine):
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
def sweep_polygons(x, y, heading, vx, vy, omega, corners, qx, qy, other_heading, wx, wy, other_omega, others, dt):
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
def wall_cell(x, y, grid, grid_shape):
    """Number of the grid cell that serves position (x, y)."""
    column, row = (x - grid[0]) / grid[2], (y - grid[1]) / grid[2]
    i = int(min(column, grid_shape[0] - 1.0)) if column > 0.0 else 0
    j = int(min(row, grid_shape[1] - 1.0)) if row > 0.0 else 0
    return j * grid_shape[0] + i


@kernel
def sweep_polygon_walls(x, y, heading, dx, dy, turn, corners, walls):
    """First contact, as a fraction, of a convex polygon that moves by (dx, dy) and turns by ``turn`` (rad)
    with any wall.

    Long motions are cut so that the list of the cell where a piece starts holds every wall in reach; a body
    too large for the lists is swept against all walls.
    """
    points, following, cell_start, cell_items = walls[0], walls[2], walls[5], walls[6]
    reach = _corner_radius(corners) + TOLERANCE
    length = sqrt(dx * dx + dy * dy)
    listed = reach <= WALL_REACH - 2.0 * SHORTEST_PIECE
    pieces = int(length / (WALL_REACH - SHORTEST_PIECE - reach)) + 1 if listed and length < np.inf else 1
    ux, uy, part = dx / pieces, dy / pieces, turn / pieces
    for piece in range(pieces):
        ox, oy = x + piece * ux, y + piece * uy
        first, stop = 0, points.shape[0]
        if listed:
            cell = wall_cell(ox, oy, walls[7], walls[8])
            first, stop = cell_start[cell], cell_start[cell + 1]
        best = NO_CONTACT
        for item in range(first, stop):
            edge = cell_items[item] if listed else item
            ax, ay = np.float64(points[edge, 0]), np.float64(points[edge, 1])
            bx, by = np.float64(points[following[edge], 0]), np.float64(points[following[edge], 1])
            if not _is_beyond(ox, oy, reach + length / pieces, ax, ay, bx, by):
                t = _sweep_polygon(ox, oy, heading + piece * part, ux, uy, part, corners, ax, ay, bx, by, 0.0)
                best = min(best, t)
        if best <= 1.0:
            return (piece + best) / pieces
    return NO_CONTACT


@inlined
def _wall_normal(px, py, ax, ay, bx, by):
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
def _first_wall(px, py, ux, uy, reach, points, following, edges, start, stop):
    """Fraction of the motion u at which a wall stops it, and that wall; ``(NO_CONTACT, -1)`` if none does.

    From a wall nearer than ``reach`` the distance grows along a straight path that starts away from it,
    because the distance to a segment is convex: such a wall stops only a motion into it.
    """
    best, best_ax, best_ay, best_bx, best_by = NO_CONTACT, 0.0, 0.0, 0.0, 0.0
    length = sqrt(ux * ux + uy * uy)
    far = reach + length
    for item in range(start, stop):
        edge = edges[item]
        ax, ay = np.float64(points[edge, 0]), np.float64(points[edge, 1])
        bx, by = np.float64(points[following[edge], 0]), np.float64(points[following[edge], 1])
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
def _deflect(x, y, ux, uy, reach, t, ax, ay, bx, by):
    """Position where wall ab stops the motion u at fraction t, and the rest of the motion along the wall."""
    x, y, ux, uy = x + t * ux, y + t * uy, (1.0 - t) * ux, (1.0 - t) * uy
    distance, nx, ny = _wall_normal(x, y, ax, ay, bx, by)
    lost_skin = min(max(reach - distance, 0.0), SKIN)  # to rounding, such as to float32
    push = lost_skin - (ux * nx + uy * ny)
    return x, y, ux + push * nx, uy + push * ny


@kernel
def _slide(x, y, ux, uy, r, points, following, edges, start, stop):
    """Move by u, stopping at and sliding along ``edges``; the position, and the fraction at first contact."""
    first = NO_CONTACT
    for attempt in range(MAX_SLIDES + 1):
        t, ax, ay, bx, by = _first_wall(x, y, ux, uy, r + SKIN, points, following, edges, start, stop)
        if t > 1.0:
            return x + ux, y + uy, first
        if attempt == 0:
            first = t
        x, y, ux, uy = _deflect(x, y, ux, uy, r + SKIN, t, ax, ay, bx, by)
    return x, y, first


@kernel
def clear_of_walls(x, y, dx, dy, r, walls):
    """Whether no wall is near enough for :func:`move_with_walls` to change this motion; false when in doubt.

    For loops over many bodies: in the open it costs a tenth of the move, because numba counts no references
    in a function that hands no array on. There has to be at least one cell.
    """
    points, _, following, _, _, cell_start, cell_items, grid, grid_shape = walls
    far = abs(dx) + abs(dy) + r + SKIN
    cell = wall_cell(x, y, grid, grid_shape)
    clear = far < WALL_REACH
    for item in range(cell_start[cell], cell_start[cell + 1]):
        edge, end = cell_items[item], following[cell_items[item]]
        clear &= _is_beyond(x, y, far, points[edge, 0], points[edge, 1], points[end, 0], points[end, 1])
    return clear


@kernel
def move_with_walls(x, y, dx, dy, r, walls):
    """Move a disc of radius r by (dx, dy); returns ``(x, y, touched, fraction of the motion at first
    contact)``.

    It stops ``SKIN`` before a wall and slides along with the rest, at most ``MAX_SLIDES`` times per piece.
    Walls are barriers from both sides. A disc that overlaps a wall at the start may leave it and slide, but
    go no deeper. Long motions are cut so that the list of the cell where a piece starts holds every wall in
    reach, for radii up to 3.5 m.
    """
    x, y, dx, dy, r = np.float64(x), np.float64(y), np.float64(dx), np.float64(dy), np.float64(r)
    points, following, cell_start, cell_items = walls[0], walls[2], walls[5], walls[6]
    length = sqrt(dx * dx + dy * dy)
    if points.shape[0] == 0 or not length < np.inf:
        return x + dx, y + dy, False, NO_CONTACT
    pieces = int(length / max(0.5 * WALL_REACH - r, SHORTEST_PIECE)) + 1
    first = NO_CONTACT
    for piece in range(pieces):
        cell = wall_cell(x, y, walls[7], walls[8])
        x, y, t = _slide(
            x,
            y,
            dx / pieces,
            dy / pieces,
            r,
            points,
            following,
            cell_items,
            cell_start[cell],
            cell_start[cell + 1],
        )
        first = (piece + t) / pieces if t <= 1.0 and first > 1.0 else first
    return x, y, first <= 1.0, first
