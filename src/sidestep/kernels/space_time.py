"""The earliest arrival among people whose motion is known: a search over place and time.

Layers of one leg (several simulation steps) on a square grid; a leg goes straight, at constant speed, to any cell
within reach. Walls are kept off by the room along the leg, people by the exact distance of two points that move
linearly during every simulation step. All ways into a state of a layer take equally long, so that the first layer with
a goal cell is the earliest arrival, and dynamic programming leaves the shortest of the ways that arrive then.
"""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined, kernel

NEVER = 1e9


@inlined
def _touches(ax, ay, bx, by, px, py, qx, qy, keep):
    """Whether points moving a → b and p → q in the same time come nearer than ``keep``; NaN: absent at that end.

    Somebody who comes in is there for the whole step, as in the simulator.
    """
    if px != px:
        if qx != qx:
            return False
        px, py = qx, qy
    dx, dy = ax - px, ay - py
    if qx != qx:
        return dx * dx + dy * dy < keep * keep
    ex, ey = (bx - qx) - dx, (by - qy) - dy
    length = ex * ex + ey * ey
    s = 0.0 if length < 1e-12 else min(max(-(dx * ex + dy * ey) / length, 0.0), 1.0)
    dx, dy = dx + s * ex, dy + s * ey
    return dx * dx + dy * dy < keep * keep


@kernel
def meets_people(ax, ay, bx, by, first, steps, future, keep):
    """Whether a robot going straight from a to b during ``steps`` steps from step ``first`` on comes nearer than
    ``keep[n]`` to somebody. ``future (T+1, N, 2)``; after its end everybody is gone."""
    last = future.shape[0] - 1
    for n in range(future.shape[1]):
        for k in range(steps):
            t = first + k
            if t >= last:
                break
            px, py = future[t, n, 0], future[t, n, 1]
            u, w = k / steps, (k + 1) / steps
            if _touches(
                ax + (bx - ax) * u,
                ay + (by - ay) * u,
                ax + (bx - ax) * w,
                ay + (by - ay) * w,
                px,
                py,
                future[t + 1, n, 0],
                future[t + 1, n, 1],
                keep[n],
            ):
                return True
    return False


@kernel
def meets_wall(ax, ay, bx, by, room, x0, y0, cell, least):
    """Whether the room along a segment falls below ``least``, sampled every half cell or by the room there is."""
    dx, dy = bx - ax, by - ay
    length = math.sqrt(dx * dx + dy * dy)
    along = 0.0
    while True:
        u = along / length if length > 0.0 else 0.0
        i, j = int((ay + dy * u - y0) / cell + 0.5), int((ax + dx * u - x0) / cell + 0.5)
        if i < 0 or j < 0 or i >= room.shape[0] or j >= room.shape[1] or room[i, j] < least:
            return True
        if along >= length:
            return False
        along = min(along + max(room[i, j] - least, 0.5 * cell), length)


@inlined
def _mark_danger(danger, future, keep, first, steps, x0, y0, cell, reach_m):
    """Mark the cells from which a leg could come near somebody."""
    danger[:, :] = 0
    ny, nx = danger.shape
    for n in range(future.shape[1]):
        low_x, low_y, high_x, high_y = NEVER, NEVER, -NEVER, -NEVER
        for t in range(first, min(first + steps, future.shape[0] - 1) + 1):
            x, y = future[t, n, 0], future[t, n, 1]
            if x == x:
                low_x, high_x, low_y, high_y = min(low_x, x), max(high_x, x), min(low_y, y), max(high_y, y)
        if low_x > high_x:
            continue
        r = keep[n] + reach_m + cell
        for i in range(max(int((low_y - r - y0) / cell), 0), min(int((high_y + r - y0) / cell) + 1, ny - 1) + 1):
            for j in range(max(int((low_x - r - x0) / cell), 0), min(int((high_x + r - x0) / cell) + 1, nx - 1) + 1):
                danger[i, j] = 1


@kernel
def earliest_arrival(
    room,
    way,
    x0,
    y0,
    cell,
    least,
    start_i,
    start_j,
    goal_radius,
    speed,
    reach,
    future,
    keep,
    step_s,
    steps,
    latest,
    layers,
    length,
    parent,
    danger,
):
    """Search the layers 0 … ``layers``; returns (layer, row, column) of the arrival, or of the survivor nearest to the
    goal in the last layer that anybody reaches, and whether it arrived.

    ``way (ny, nx)``: way left to the goal, m. States that cannot arrive by ``latest`` (s) are left out.
    ``length (2, ny, nx)``, ``parent (layers + 1, ny, nx)`` int16 and ``danger (ny, nx)`` uint8 are scratch.
    """
    ny, nx = room.shape
    span = int(reach)
    width = 2 * span + 1
    length[0, :, :] = NEVER
    length[0, start_i, start_j] = 0.0
    low_i, high_i, low_j, high_j = start_i, start_i, start_j, start_j
    at_i, at_j = start_i, start_j
    for k in range(layers + 1):
        here, there = length[k % 2], length[(k + 1) % 2]
        best, found = NEVER, False
        near = NEVER
        for i in range(low_i, high_i + 1):
            for j in range(low_j, high_j + 1):
                if here[i, j] >= NEVER:
                    continue
                if way[i, j] < near:
                    near, at_i, at_j = way[i, j], i, j
        if near < goal_radius:
            for i in range(low_i, high_i + 1):
                for j in range(low_j, high_j + 1):
                    if way[i, j] < goal_radius and here[i, j] < best:
                        best, at_i, at_j, found = here[i, j], i, j, True
        if found or k == layers:
            return k, at_i, at_j, found
        there[:, :] = NEVER
        _mark_danger(danger, future, keep, k * steps, steps, x0, y0, cell, reach * cell)
        time_after = (k + 1) * steps * step_s
        reached = False
        for i in range(low_i, high_i + 1):
            for j in range(low_j, high_j + 1):
                base = here[i, j]
                if base >= NEVER:
                    continue
                open_ground = room[i, j] > least + reach * cell
                ax, ay = x0 + j * cell, y0 + i * cell
                for ti in range(max(i - span, 0), min(i + span, ny - 1) + 1):
                    for tj in range(max(j - span, 0), min(j + span, nx - 1) + 1):
                        square = (ti - i) ** 2 + (tj - j) ** 2
                        if square > reach * reach or room[ti, tj] < least:
                            continue
                        if time_after + max(way[ti, tj] - goal_radius, 0.0) / speed > latest:
                            continue
                        total = base + cell * math.sqrt(square)
                        if total >= there[ti, tj]:
                            continue
                        bx, by = x0 + tj * cell, y0 + ti * cell
                        if not open_ground and meets_wall(ax, ay, bx, by, room, x0, y0, cell, least):
                            continue
                        if danger[i, j] and meets_people(ax, ay, bx, by, k * steps, steps, future, keep):
                            continue
                        there[ti, tj] = total
                        parent[k + 1, ti, tj] = (ti - i + span) * width + (tj - j + span)
                        reached = True
        if not reached:
            return k, at_i, at_j, False
        low_i, high_i = max(low_i - span, 0), min(high_i + span, ny - 1)
        low_j, high_j = max(low_j - span, 0), min(high_j + span, nx - 1)
    return layers, at_i, at_j, False


@kernel
def trace_back(layer, i, j, reach, parent, cells):
    """Fill ``cells (layer + 1, 2)`` with the rows and columns of the way to a state."""
    span = int(reach)
    width = 2 * span + 1
    for k in range(layer, -1, -1):
        cells[k, 0], cells[k, 1] = i, j
        if k > 0:
            code = parent[k, i, j]
            i -= code // width - span
            j -= code % width - span


@kernel
def pull_straight(points, steps, future, keep, room, x0, y0, cell, least):
    """Replace pieces of a way by straight ones at constant speed where nobody and nothing is met, in place.

    Going slower along a straight line needs no more speed than the way it replaces.
    """
    n = points.shape[0]
    a = 0
    while a < n - 1:
        b = n - 1
        while b > a + 1:
            ax, ay, bx, by = points[a, 0], points[a, 1], points[b, 0], points[b, 1]
            if not meets_wall(ax, ay, bx, by, room, x0, y0, cell, least) and not meets_people(
                ax, ay, bx, by, a * steps, (b - a) * steps, future, keep
            ):
                for k in range(a + 1, b):
                    u = (k - a) / (b - a)
                    points[k, 0], points[k, 1] = ax + (bx - ax) * u, ay + (by - ay) * u
                break
            b -= 1
        a = b
