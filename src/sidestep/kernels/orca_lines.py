"""The half-planes of velocities that ORCA permits an agent: one per neighbour, one per wall edge in view.

Source: van den Berg, Guy, Lin, Manocha, "Reciprocal n-body collision avoidance" (2011), sections 4 and 5.4.
Agents ``a`` and ``b`` collide within ``τ`` seconds iff ``v_a - v_b`` lies in a cone cut off by a disc. With
``u`` the smallest change of the relative velocity that leaves it, ``a`` must keep to the half-plane through
``v_a + share · u`` whose normal is along ``u``; ``share`` is 1/2 in the paper.
"""

from __future__ import annotations

import math
from typing import Any

from sidestep.kernels import linear_program as lp
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, int64, uint64

LANES = uint64(8)
PEOPLE = uint64(64)  # number of the first neighbour's line; those of walls come before it
# After the lines, numbered alike, what is known of each neighbour: relative position (m), relative velocity
# (m/s), sum of radii (m), the agent's own share, squared distance (m²). One array holds both, at constant
# distances, so that the compiler sees that they do not overlap and uses vector instructions.
REL_X, REL_Y, REL_VX, REL_VY, RADII, OWN_SHARE, SQUARE = (
    uint64(lp.LINE_FLOATS + row * lp.LINE_CAPACITY) for row in range(7)
)
WORK_FLOATS = lp.LINE_FLOATS + 7 * lp.LINE_CAPACITY

MAX_WALL_EDGES = 64  # the nearest edges that an agent considers
COVERED = float32(1e-5)
COINCIDENT = float32(1e-12)  # m²: below it two centres count as one point
APART = float32(1e-3)  # m: what is then taken for their distance
TINY = float32(1e-6)


@inlined
def set_neighbour(
    work: FloatArray, i: int, dx: float, dy: float, dvx: float, dvy: float, radii: float, share: float, side: float
) -> None:
    """Note neighbour ``i`` (from PEOPLE on); ``side`` ±1 says which way two coinciding agents part."""
    square = dx * dx + dy * dy
    if square < COINCIDENT:
        dx, dy = side * APART, lp.ZERO
        square = dx * dx
    work[REL_X + i], work[REL_Y + i] = dx, dy
    work[REL_VX + i], work[REL_VY + i] = dvx, dvy
    work[RADII + i] = radii
    work[OWN_SHARE + i] = share
    work[SQUARE + i] = square


@inlined
def people_lines(work: FloatArray, count: int, vx: float, vy: float, per_horizon: float, per_step: float) -> None:
    """Write the lines of ``count`` neighbours from PEOPLE on, as vectors: compute every case, choose one.

    ``per_horizon = 1/τ``; agents that overlap already have to part within one step: ``per_step = 1/Δt``.
    """
    for block in range(PEOPLE, PEOPLE + count, LANES):
        for lane in range(LANES):
            i = block + lane
            x, y = work[REL_X + i], work[REL_Y + i]
            rvx, rvy = work[REL_VX + i], work[REL_VY + i]
            radii, square = work[RADII + i], work[SQUARE + i]
            overlap = square <= radii * radii
            rate = per_step if overlap else per_horizon
            wx, wy = rvx - rate * x, rvy - rate * y  # from the centre of the cut-off disc
            stuck = overlap & (wx * wx + wy * wy == lp.ZERO)
            wx, wy = (-TINY * x if stuck else wx), (-TINY * y if stuck else wy)
            w_square = wx * wx + wy * wy
            along = wx * x + wy * y
            on_disc = overlap | ((along < lp.ZERO) & (along * along > radii * radii * w_square))

            w_length = math.sqrt(w_square)
            inverse = lp.ONE / w_length
            unit_x, unit_y = wx * inverse, wy * inverse
            excess = radii * rate - w_length

            side = lp.ONE if x * wy - y * wx > lp.ZERO else -lp.ONE  # left or right leg of the cone
            leg, half_width = math.sqrt(max(square - radii * radii, lp.ZERO)), side * radii
            inverse = lp.ONE / square
            leg_x = side * (x * leg - y * half_width) * inverse
            leg_y = side * (x * half_width + y * leg) * inverse
            on_leg = rvx * leg_x + rvy * leg_y

            ux = excess * unit_x if on_disc else on_leg * leg_x - rvx
            uy = excess * unit_y if on_disc else on_leg * leg_y - rvy
            share = work[OWN_SHARE + i]
            work[lp.POINT_X + i], work[lp.POINT_Y + i] = vx + share * ux, vy + share * uy
            work[lp.DIR_X + i] = unit_y if on_disc else leg_x
            work[lp.DIR_Y + i] = -unit_x if on_disc else leg_y


@inlined
def _push(lines: FloatArray, n: int, px: float, py: float, dx: float, dy: float) -> int:
    lines[lp.POINT_X + n], lines[lp.POINT_Y + n] = px, py
    lines[lp.DIR_X + n], lines[lp.DIR_Y + n] = dx, dy
    return n + lp.NEXT


@inlined
def _segment_square(ax: float, ay: float, bx: float, by: float) -> float:
    """Squared distance (m²) of the origin from the segment ``a b``."""
    ex, ey = bx - ax, by - ay
    s = -(ax * ex + ay * ey) / (ex * ex + ey * ey)
    if s < lp.ZERO:
        return ax * ax + ay * ay
    if s > lp.ONE:
        return bx * bx + by * by
    cx, cy = ax + s * ex, ay + s * ey
    return cx * cx + cy * cy


@kernel
def edges_in_view(x: float, y: float, reach: float, walls: Walls, edges: IntArray, squares: FloatArray) -> int:
    """List the edges that face the agent within ``reach`` (m), nearest first; returns how many.

    At most MAX_WALL_EDGES, and none beyond the grid's own reach (``layout.WALL_REACH``). Outside the grid the
    nearest cell serves, whose list holds every edge that near: going to it brings the agent closer to all of
    them. ``squares`` is work space.
    """
    points, following, grid = walls.points, walls.next, walls.grid
    nx, ny = walls.grid_shape[0], walls.grid_shape[1]
    cx = min(max((x - grid[0]) / grid[2], lp.ZERO), float32(nx - 1))
    cy = min(max((y - grid[1]) / grid[2], lp.ZERO), float32(ny - 1))
    cell = int64(cy) * nx + int64(cx)
    n = 0
    for item in range(walls.cell_start[cell], walls.cell_start[cell + 1]):
        edge = walls.cell_items[item]
        ax, ay = points[edge, 0] - x, points[edge, 1] - y
        bx, by = points[following[edge], 0] - x, points[following[edge], 1] - y
        if ax * (by - ay) - ay * (bx - ax) >= lp.ZERO:  # the agent is not on the edge's outer side
            continue
        square = _segment_square(ax, ay, bx, by)
        if square >= reach * reach or (n == MAX_WALL_EDGES and square >= squares[n - 1]):
            continue
        n = min(n + 1, MAX_WALL_EDGES)
        at = n - 1
        while at > 0 and (squares[at - 1] > square or (squares[at - 1] == square and edges[at - 1] > edge)):
            squares[at], edges[at] = squares[at - 1], edges[at - 1]
            at -= 1
        squares[at], edges[at] = square, edge
    return n


@inlined
def _is_covered(
    ax: float, ay: float, bx: float, by: float, radius: float, per_horizon: float, lines: FloatArray, n: int
) -> bool:
    """Whether some line drawn already keeps the agent off the whole edge ``a b``."""
    ax, ay, bx, by = ax * per_horizon, ay * per_horizon, bx * per_horizon, by * per_horizon
    margin = per_horizon * radius
    for j in range(n):
        px, py, dx, dy = lines[lp.POINT_X + j], lines[lp.POINT_Y + j], lines[lp.DIR_X + j], lines[lp.DIR_Y + j]
        if (ax - px) * dy - (ay - py) * dx - margin >= -COVERED:
            if (bx - px) * dy - (by - py) * dx - margin >= -COVERED:
                return True
    return False


@inlined
def _touch_line(
    ax: float, ay: float, bx: float, by: float, s: float, line_square: float, radius: float, edge: int, after: int,
    dirs: FloatArray, convex: IntArray, lines: FloatArray, n: int,
) -> tuple[bool, int]:  # fmt: skip
    """The line of an edge that the agent touches: ``(touches, lines so far)``.

    The agent stops: any velocity toward the edge is forbidden. A corner touched makes one line for its two
    edges.
    """
    a_square, b_square, r_square = ax * ax + ay * ay, bx * bx + by * by, radius * radius
    if s < lp.ZERO and a_square <= r_square:
        if convex[edge]:
            inverse = lp.ONE / math.sqrt(a_square)
            n = _push(lines, n, lp.ZERO, lp.ZERO, -ay * inverse, ax * inverse)
        return True, n
    if s > lp.ONE and b_square <= r_square:
        if convex[after] and bx * dirs[after, 1] - by * dirs[after, 0] >= lp.ZERO:
            inverse = lp.ONE / math.sqrt(b_square)
            n = _push(lines, n, lp.ZERO, lp.ZERO, -by * inverse, bx * inverse)
        return True, n
    if s >= lp.ZERO and s <= lp.ONE and line_square <= r_square:
        return True, _push(lines, n, lp.ZERO, lp.ZERO, -dirs[edge, 0], -dirs[edge, 1])
    return False, n


@inlined
def _tangent(x: float, y: float, radius: float, side: float) -> tuple[float, float]:
    """Unit vector from the origin along a tangent of the disc at ``(x, y)``; ``side`` +1 left, -1 right."""
    square = x * x + y * y
    leg, width = math.sqrt(square - radius * radius), side * radius
    inverse = lp.ONE / square
    return (x * leg - y * width) * inverse, (x * width + y * leg) * inverse


@inlined
def _legs(
    ax: float, ay: float, bx: float, by: float, left: int, right: int, edge: int, radius: float, dirs: FloatArray,
    convex: IntArray,
) -> tuple[float, float, float, float]:  # fmt: skip
    """The legs of the velocity obstacle of vertices ``left`` and ``right``, one vertex if seen obliquely.

    At a non-convex vertex the leg extends the edge.
    """
    left_x, left_y = -dirs[edge, 0], -dirs[edge, 1]
    right_x, right_y = dirs[edge, 0], dirs[edge, 1]
    if convex[left]:
        left_x, left_y = _tangent(ax, ay, radius, lp.ONE)
    if convex[right]:
        right_x, right_y = _tangent(bx, by, radius, -lp.ONE)
    return left_x, left_y, right_x, right_y


@inlined
def _project(
    vx: float, vy: float, ax: float, ay: float, bx: float, by: float, single: bool,
    legs: tuple[float, float, float, float], foreign: tuple[bool, bool], direction: tuple[float, float],
    margin: float, lines: FloatArray, n: int,
) -> int:  # fmt: skip
    """Push the line tangent to the obstacle, cut off along ``a b``, at the point nearest to ``v``."""
    left_x, left_y, right_x, right_y = legs
    foreign_left, foreign_right = foreign
    cx, cy = bx - ax, by - ay
    t = lp.HALF if single else ((vx - ax) * cx + (vy - ay) * cy) / (cx * cx + cy * cy)
    t_left = (vx - ax) * left_x + (vy - ay) * left_y
    t_right = (vx - bx) * right_x + (vy - by) * right_y
    if (t < lp.ZERO and t_left < lp.ZERO) or (single and t_left < lp.ZERO and t_right < lp.ZERO):
        return _push_disc(vx, vy, ax, ay, margin, lines, n)
    if t > lp.ONE and t_right < lp.ZERO:
        return _push_disc(vx, vy, bx, by, margin, lines, n)

    cut_square, left_square, right_square = lp.INFINITY, lp.INFINITY, lp.INFINITY
    if not (t < lp.ZERO or t > lp.ONE or single):
        ex, ey = vx - (ax + t * cx), vy - (ay + t * cy)
        cut_square = ex * ex + ey * ey
    if t_left >= lp.ZERO:
        ex, ey = vx - (ax + t_left * left_x), vy - (ay + t_left * left_y)
        left_square = ex * ex + ey * ey
    if t_right >= lp.ZERO:
        ex, ey = vx - (bx + t_right * right_x), vy - (by + t_right * right_y)
        right_square = ex * ex + ey * ey
    if cut_square <= left_square and cut_square <= right_square:
        dx, dy = -direction[0], -direction[1]
        return _push(lines, n, ax - margin * dy, ay + margin * dx, dx, dy)
    if left_square <= right_square:
        if foreign_left:
            return n
        return _push(lines, n, ax - margin * left_y, ay + margin * left_x, left_x, left_y)
    if foreign_right:
        return n
    return _push(lines, n, bx + margin * right_y, by - margin * right_x, -right_x, -right_y)


@inlined
def _push_disc(vx: float, vy: float, cx: float, cy: float, margin: float, lines: FloatArray, n: int) -> int:
    """Push the tangent, nearest to ``v``, of the cut-off disc around ``c``."""
    wx, wy = vx - cx, vy - cy
    if wx == lp.ZERO and wy == lp.ZERO:
        wx, wy = -cx, -cy  # straight away from the vertex
    inverse = lp.ONE / math.sqrt(wx * wx + wy * wy)
    wx, wy = wx * inverse, wy * inverse
    return _push(lines, n, cx + margin * wx, cy + margin * wy, wy, -wx)


@kernel
def wall_line(
    x: float, y: float, vx: float, vy: float, radius: float, per_horizon: float, edge: int, walls: Walls,
    lines: FloatArray, n: Any,
) -> Any:  # fmt: skip
    """Push the line of one edge, unless others cover it; returns the number of lines so far."""
    points, dirs, convex = walls.points, walls.dirs, walls.convex
    after = walls.next[edge]
    ax, ay = points[edge, 0] - x, points[edge, 1] - y
    bx, by = points[after, 0] - x, points[after, 1] - y
    if _is_covered(ax, ay, bx, by, radius, per_horizon, lines, n):
        return n
    ex, ey = points[after, 0] - points[edge, 0], points[after, 1] - points[edge, 1]
    s = (-ax * ex - ay * ey) / (ex * ex + ey * ey)
    gx, gy = -ax - s * ex, -ay - s * ey
    line_square = gx * gx + gy * gy
    touches, n = _touch_line(ax, ay, bx, by, s, line_square, radius, edge, after, dirs, convex, lines, n)
    if touches:
        return n

    left, right = edge, after
    if line_square <= radius * radius:  # seen obliquely, so that one vertex hides the rest
        if s < lp.ZERO:
            right, bx, by = left, ax, ay
        elif s > lp.ONE:
            left, ax, ay = right, bx, by
        if not convex[left]:
            return n
    single = left == right
    left_x, left_y, right_x, right_y = _legs(ax, ay, bx, by, left, right, edge, radius, dirs, convex)

    # A leg that points into the neighbouring edge is replaced by that edge, which makes its own line.
    lx, ly = -dirs[walls.prev[left], 0], -dirs[walls.prev[left], 1]
    foreign_left = convex[left] != 0 and left_x * ly - left_y * lx >= lp.ZERO
    if foreign_left:
        left_x, left_y = lx, ly
    rx, ry = dirs[right, 0], dirs[right, 1]
    foreign_right = convex[right] != 0 and right_x * ry - right_y * rx <= lp.ZERO
    if foreign_right:
        right_x, right_y = rx, ry

    ax, ay, bx, by = per_horizon * ax, per_horizon * ay, per_horizon * bx, per_horizon * by
    legs, foreign = (left_x, left_y, right_x, right_y), (foreign_left, foreign_right)
    direction = (dirs[left, 0], dirs[left, 1])
    return _project(vx, vy, ax, ay, bx, by, single, legs, foreign, direction, per_horizon * radius, lines, n)
