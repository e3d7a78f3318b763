"""Costs of many sampled trajectories over a clearance field and a distance-to-goal field, and the cheapest of them.

Everything is in seconds. A trajectory may end at some of its samples k; with t the time, c the clearance of the body's
surface, D the obstacle-aware distance to the goal and α the angle between the heading and the way downhill in D,

    J_k = t_k + w_o Σ_{i ≤ k} ((m - c_i) / m)²₊ (t_i - t_{i-1}) + w_g D_k / v_max + w_h (π / 2) (1 - cos α_k) / ω_max

which is the time to the goal if the rest is driven at full speed after turning on the spot, plus a quadratic penalty
inside the margin m around walls. A trajectory is followed no further than to where the body would touch a wall.
"""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined, kernel

RADIUS, HARD_GAP, MARGIN, W_OBSTACLE, PER_SPEED, PER_TURN, GOAL_X, GOAL_Y, GOAL_REACH, PARAMETERS = range(10)
END_EVERY = 3  # a trajectory may end at every third sample, counted from its last, and at any beside the goal
FAR = 1e3  # m: clearance beyond the grid


@inlined
def _bilinear(values, column, row):
    """Value between four samples; infinite where one of those that count is."""
    ny, nx = values.shape
    j, i = min(int(column), nx - 2), min(int(row), ny - 2)
    fj, fi = column - j, row - i
    low = values[i, j] * (1.0 - fj) + values[i, j + 1] * fj
    high = values[i + 1, j] * (1.0 - fj) + values[i + 1, j + 1] * fj
    return low * (1.0 - fi) + high * fi


@inlined
def _is_on(values, column, row):
    ny, nx = values.shape
    return nx >= 2 and ny >= 2 and 0.0 <= column <= nx - 1.0 and 0.0 <= row <= ny - 1.0


@kernel
def clearance_at(clearance, x0, y0, cell, x, y):
    """Distance to the nearest solid (m) from the field; ``FAR`` beyond it."""
    column, row = (x - x0) / cell, (y - y0) / cell
    return _bilinear(clearance, column, row) if _is_on(clearance, column, row) else FAR


@kernel
def downhill(goal_distance, x0, y0, cell, goal_x, goal_y, x, y):
    """D (m) at (x, y) and the unit vector in which it falls the most; straight to the goal beyond the grid.

    Infinite, with the straight direction, where the field has no value.
    """
    dx, dy = goal_x - x, goal_y - y
    straight = math.sqrt(dx * dx + dy * dy)
    if straight > 1e-9:
        dx, dy = dx / straight, dy / straight
    column, row = (x - x0) / cell, (y - y0) / cell
    if not _is_on(goal_distance, column, row):
        return straight, dx, dy
    d = _bilinear(goal_distance, column, row)
    if not d < math.inf:  # an infinite sample times a weight of zero is NaN
        return math.inf, dx, dy
    ny, nx = goal_distance.shape
    j, i = min(int(column), nx - 2), min(int(row), ny - 2)
    a, b = goal_distance[i, j], goal_distance[i, j + 1]
    c, e = goal_distance[i + 1, j], goal_distance[i + 1, j + 1]
    gx, gy = a + c - b - e, a + b - c - e
    norm = math.sqrt(gx * gx + gy * gy)
    if straight < 2.0 * cell or not 1e-12 < norm < math.inf:
        return d, dx, dy
    return d, gx / norm, gy / norm


@kernel
def spline_costs(
    xs, ys, cosines, sines, times, first, pose, clearance, goal_distance, x0, y0, cell, hard, parameters, costs, ends
):
    """Write the least J of each trajectory into ``costs (n,)``, infinite if none, and its sample into ``ends (n,)``.

    ``xs, ys, cosines, sines, times (n, K)`` float32 in the robot's frame; ``first (n,)`` the first sample at which one
    may end (before it only within ``GOAL_REACH`` of the goal); ``pose`` = x, y, cos, sin; ``hard`` the least clearance
    of the centre (m). Returns the number of the cheapest, -1 if all are infinite; the first of equals.
    """
    px, py, pc, ps = pose[0], pose[1], pose[2], pose[3]
    goal_x, goal_y = parameters[GOAL_X], parameters[GOAL_Y]
    margin, radius = parameters[MARGIN], parameters[RADIUS]
    reach2 = parameters[GOAL_REACH] * parameters[GOAL_REACH]
    last = xs.shape[1] - 1
    best = -1
    for n in range(xs.shape[0]):
        costs[n], ends[n] = math.inf, 0
        penalty = 0.0
        for k in range(1, xs.shape[1]):
            lx, ly = xs[n, k], ys[n, k]
            x, y = px + pc * lx - ps * ly, py + ps * lx + pc * ly
            c = clearance_at(clearance, x0, y0, cell, x, y)
            if c < hard:
                break
            short = (margin - (c - radius)) / margin
            if short > 0.0:
                penalty += parameters[W_OBSTACLE] * short * short * (times[n, k] - times[n, k - 1])
            if best >= 0 and times[n, k] + penalty >= costs[best]:
                break  # every later end costs more
            gx, gy = x - goal_x, y - goal_y
            beside = gx * gx + gy * gy < reach2
            if not beside and (k < first[n] or (last - k) % END_EVERY != 0):
                continue
            d, ux, uy = downhill(goal_distance, x0, y0, cell, goal_x, goal_y, x, y)
            if not d < math.inf:
                continue
            arrived = d < parameters[GOAL_REACH]
            if k < first[n] and not arrived:
                continue
            hx, hy = pc * cosines[n, k] - ps * sines[n, k], ps * cosines[n, k] + pc * sines[n, k]
            turn = 0.0 if arrived else 1.0 - (hx * ux + hy * uy)
            cost = times[n, k] + penalty + parameters[PER_SPEED] * d + parameters[PER_TURN] * turn
            if cost < costs[n]:
                costs[n], ends[n] = cost, k
        if costs[n] < math.inf and (best < 0 or costs[n] < costs[best]):
            best = n
    return best


@kernel
def farthest_in_sight(points, count, clearance, x0, y0, cell, hard, x, y):
    """The last of ``points[:count]`` to which a straight walk from (x, y) keeps ``hard`` m from solids; -1 if none."""
    for k in range(count - 1, -1, -1):
        dx, dy = points[k, 0] - x, points[k, 1] - y
        steps = int(math.sqrt(dx * dx + dy * dy) / cell) + 1
        free = True
        for s in range(1, steps + 1):
            f = s / steps
            if clearance_at(clearance, x0, y0, cell, x + f * dx, y + f * dy) < hard:
                free = False
                break
        if free:
            return k
    return -1
