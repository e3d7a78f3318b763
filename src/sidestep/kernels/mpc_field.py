"""Static fields of a map on a square grid: room to the nearest wall, and the way left to the goal.

The way left D solves the eikonal equation |∇D| = s with D = 0 at the goal, where the slowness s is 1 in the open and
grows near walls (fast sweeping: Zhao, Mathematics of Computation 74, 2005). Cells that see the goal over open ground
have the straight distance, so that the way there is exactly straight.
"""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined, kernel

FAR = 1e9
"""Way left from a cell that nothing has reached, m."""
MOST_ROUNDS = 100
SETTLED_M = 1e-6


@kernel
def fill_slowness(room, radius, spare, slowness):
    """Slowness of every cell: 1 beyond ``radius`` + ``spare``, up to 3 at ``radius``, 20 nearer than a body allows."""
    for i in range(room.shape[0]):
        for j in range(room.shape[1]):
            gap = room[i, j] - radius
            slowness[i, j] = 20.0 if gap < 0.0 else (1.0 if gap >= spare else 3.0 - 2.0 * gap / spare)


@inlined
def _sees(room, x0, y0, cell, xa, ya, xb, yb, least):
    """Whether the room along a segment is at least ``least`` everywhere, marching by the room there is."""
    dx, dy = xb - xa, yb - ya
    length = math.sqrt(dx * dx + dy * dy)
    if length < 1e-9:
        return True
    dx, dy = dx / length, dy / length
    along = 0.0
    while along < length:
        i = int((ya + along * dy - y0) / cell + 0.5)
        j = int((xa + along * dx - x0) / cell + 0.5)
        free = room[i, j]
        if free < least:
            return False
        along += max(free - least, 0.5 * cell)
    return True


@kernel
def way_left(room, slowness, x0, y0, cell, goal_x, goal_y, least, way, seen):
    """Fill ``way (ny, nx)`` with D, m; ``seen`` marks the cells that see the goal. The goal lies inside the grid."""
    ny, nx = room.shape
    for i in range(ny):
        for j in range(nx):
            x, y = x0 + j * cell, y0 + i * cell
            away = math.sqrt((x - goal_x) ** 2 + (y - goal_y) ** 2)
            near = away < 1.5 * cell
            seen[i, j] = 1 if near or _sees(room, x0, y0, cell, x, y, goal_x, goal_y, least) else 0
            way[i, j] = away if seen[i, j] else FAR
    for _ in range(MOST_ROUNDS):
        change = 0.0
        for direction in range(4):
            change = max(change, _sweep(way, slowness, seen, cell, direction))
        if change < SETTLED_M:
            break


@inlined
def _sweep(way, slowness, seen, cell, direction):
    """One Gauss-Seidel pass over the grid; returns the largest change."""
    ny, nx = way.shape
    change = 0.0
    for a in range(ny):
        i = a if direction < 2 else ny - 1 - a
        for b in range(nx):
            j = b if direction % 2 == 0 else nx - 1 - b
            if seen[i, j]:
                continue
            u = min(way[i - 1, j] if i > 0 else FAR, way[i + 1, j] if i < ny - 1 else FAR)
            v = min(way[i, j - 1] if j > 0 else FAR, way[i, j + 1] if j < nx - 1 else FAR)
            step = slowness[i, j] * cell
            low = min(u, v)
            if low >= FAR:
                continue
            d = low + step
            if abs(u - v) < step:
                d = 0.5 * (u + v + math.sqrt(2.0 * step * step - (u - v) * (u - v)))
            if d < way[i, j]:
                change = max(change, min(way[i, j] - d, 1.0))
                way[i, j] = d
    return change


@kernel
def fill_gradients(values, cell, along_x, along_y, unit):
    """Central differences of ``values`` (one-sided at the border); of length 1 where ``unit``."""
    ny, nx = values.shape
    for i in range(ny):
        for j in range(nx):
            left, right = max(j - 1, 0), min(j + 1, nx - 1)
            low, high = max(i - 1, 0), min(i + 1, ny - 1)
            gx = (values[i, right] - values[i, left]) / ((right - left) * cell)
            gy = (values[high, j] - values[low, j]) / ((high - low) * cell)
            length = math.sqrt(gx * gx + gy * gy)
            if unit and length > 1e-9:
                gx, gy = gx / length, gy / length
            along_x[i, j], along_y[i, j] = gx, gy


@inlined
def bilinear(values, x0, y0, cell, x, y):
    """Value at (x, y), bilinear; outside the grid the border's."""
    ny, nx = values.shape
    u = min(max((x - x0) / cell, 0.0), nx - 1.0)
    v = min(max((y - y0) / cell, 0.0), ny - 1.0)
    j, i = min(int(u), nx - 2), min(int(v), ny - 2)
    fu, fv = u - j, v - i
    low = values[i, j] * (1.0 - fu) + values[i, j + 1] * fu
    high = values[i + 1, j] * (1.0 - fu) + values[i + 1, j + 1] * fu
    return low * (1.0 - fv) + high * fv
