"""A smooth motion by iterative linear-quadratic control (iLQR) of a triple integrator whose input is jerk.

State (p, v, a), input u = jerk, constant over interval k of length h_k; the cost is

    J = Σ h_k (w_j |u|² + w_a |a|² + w_p |v - v*(p)|² + w_v (|v| - v_max)₊² + walls(p) + people(p, t)) + w_e D(p_N)

with v*(p) top speed down the way left D. The motion is linear, so that only the cost is approximated: hinges by
Gauss-Newton, v* as if it did not depend on p. (Li and Todorov, ICINCO 2004; Tassa, Erez and Todorov, IROS 2012.)
"""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.mpc.field import (
    FADE_S,
    GROWTH,
    GROWTH_S,
    HARD_GAP,
    HEADING_X,
    HEADING_Y,
    MAX_SPEED,
    ROBOT_RADIUS,
    SOFT_GAP,
    TOUCH_GAP,
    TOUCH_S,
    TURN_S,
    W_ACCELERATION,
    W_END,
    W_HARD,
    W_JERK,
    W_PROGRESS,
    W_SOFT,
    W_SPEED,
    W_TOUCH,
    W_TURN,
    W_WALL,
    WALL_GAP,
    bilinear,
    wished_velocity,
)

TIGHT_M = 0.1
"""Nearer to a wall than this its weight is ten times as large, m."""
SHORTENINGS, SHORTER = 4, 0.4
"""Line search: so often, each time to this share."""
ENOUGH = 1e-3
"""An iteration that gains a smaller share of the cost than this is the last."""


@inlined
def _step(x, u, h, out):
    """out = state after ``h`` seconds of jerk u."""
    for c in range(2):
        p, v, a, j = x[c], x[2 + c], x[4 + c], u[c]
        out[c] = p + h * (v + h * (0.5 * a + h * j / 6.0))
        out[2 + c] = v + h * (a + 0.5 * h * j)
        out[4 + c] = a + h * j


@kernel  # not inlined: it is large and called from two places
def _state_cost(x, t, people, count, room, way, way_x, way_y, x0, y0, grid_cell, weights, grad, hess, derive):
    """Cost rate at a state; with ``derive`` also its gradient (6,) and Gauss-Newton Hessian (6, 6), added."""
    px, py, vx, vy, ax, ay = x[0], x[1], x[2], x[3], x[4], x[5]
    wx, wy, _, _, _ = wished_velocity(px, py, way, way_x, way_y, x0, y0, grid_cell, weights)
    w = weights[W_PROGRESS]
    ex, ey = vx - wx, vy - wy
    cost = weights[W_ACCELERATION] * (ax * ax + ay * ay) + w * (ex * ex + ey * ey)
    if derive:
        grad[2] += 2.0 * w * ex
        grad[3] += 2.0 * w * ey
        grad[4] += 2.0 * weights[W_ACCELERATION] * ax
        grad[5] += 2.0 * weights[W_ACCELERATION] * ay
        hess[2, 2] += 2.0 * w
        hess[3, 3] += 2.0 * w
        hess[4, 4] += 2.0 * weights[W_ACCELERATION]
        hess[5, 5] += 2.0 * weights[W_ACCELERATION]
    speed = math.sqrt(vx * vx + vy * vy)
    over = speed - weights[MAX_SPEED]
    if over > 0.0:
        w = weights[W_SPEED]
        cost += w * over * over
        if derive:
            nx, ny = vx / speed, vy / speed
            grad[2] += 2.0 * w * over * nx
            grad[3] += 2.0 * w * over * ny
            hess[2, 2] += 2.0 * w * nx * nx
            hess[2, 3] += 2.0 * w * nx * ny
            hess[3, 2] += 2.0 * w * nx * ny
            hess[3, 3] += 2.0 * w * ny * ny
    if weights[W_TURN] > 0.0 and t < weights[TURN_S]:
        hx, hy = weights[HEADING_X], weights[HEADING_Y]
        w = weights[W_TURN] * (1.0 - t / weights[TURN_S])
        across, against = vy * hx - vx * hy, min(vx * hx + vy * hy, 0.0)
        cost += w * (across * across + against * against)
        if derive:
            back = 1.0 if against < 0.0 else 0.0
            grad[2] += 2.0 * w * (against * hx - across * hy)
            grad[3] += 2.0 * w * (against * hy + across * hx)
            hess[2, 2] += 2.0 * w * (hy * hy + back * hx * hx)
            hess[2, 3] += 2.0 * w * (back - 1.0) * hx * hy
            hess[3, 2] += 2.0 * w * (back - 1.0) * hx * hy
            hess[3, 3] += 2.0 * w * (hx * hx + back * hy * hy)
    gap = bilinear(room, x0, y0, grid_cell, px, py) - weights[ROBOT_RADIUS]
    short = weights[WALL_GAP] - gap
    if short > 0.0:
        w = weights[W_WALL] * (1.0 if gap > TIGHT_M else 10.0)
        cost += w * short * short
        if derive:
            e = 0.5 * grid_cell
            nx = (bilinear(room, x0, y0, grid_cell, px + e, py) - bilinear(room, x0, y0, grid_cell, px - e, py)) / (
                2.0 * e
            )
            ny = (bilinear(room, x0, y0, grid_cell, px, py + e) - bilinear(room, x0, y0, grid_cell, px, py - e)) / (
                2.0 * e
            )
            grad[0] -= 2.0 * w * short * nx
            grad[1] -= 2.0 * w * short * ny
            hess[0, 0] += 2.0 * w * nx * nx
            hess[0, 1] += 2.0 * w * nx * ny
            hess[1, 0] += 2.0 * w * nx * ny
            hess[1, 1] += 2.0 * w * ny * ny
    widening = weights[GROWTH] * min(t, weights[GROWTH_S])
    fade = 1.0 / (1.0 + (t / weights[FADE_S]) ** 2)
    for k in range(count):
        dx, dy = px - people[k, 0] - people[k, 2] * t, py - people[k, 1] - people[k, 3] * t
        touch = weights[ROBOT_RADIUS] + people[k, 4]
        hard, soft = touch + weights[HARD_GAP] + widening, touch + weights[SOFT_GAP] + widening
        reach = max(max(hard, soft), touch + weights[TOUCH_GAP])
        square = dx * dx + dy * dy
        if square >= reach * reach:
            continue
        d = max(math.sqrt(square), 1e-6)
        nx, ny = dx / d, dy / d
        push, stiff = 0.0, 0.0
        if d < hard:
            w = weights[W_HARD] * fade
            cost += w * (hard - d) * (hard - d)
            push += 2.0 * w * (hard - d)
            stiff += 2.0 * w
        if t < weights[TOUCH_S] and d < touch + weights[TOUCH_GAP]:
            w, short = weights[W_TOUCH], touch + weights[TOUCH_GAP] - d
            cost += w * short * short
            push += 2.0 * w * short
            stiff += 2.0 * w
        if d < soft:
            w = weights[W_SOFT] * fade
            cost += w * (soft - d) * (soft - d)
            push += 2.0 * w * (soft - d)
            stiff += 2.0 * w
        if derive:
            grad[0] -= push * nx
            grad[1] -= push * ny
            hess[0, 0] += stiff * nx * nx
            hess[0, 1] += stiff * nx * ny
            hess[1, 0] += stiff * nx * ny
            hess[1, 1] += stiff * ny * ny
    return cost


@kernel
def motion_cost(states, inputs, times, people, count, room, way, way_x, way_y, x0, y0, grid_cell, weights, grad, hess):
    """J of a motion (states (N+1, 6), inputs (N, 2), times (N+1,))."""
    n = inputs.shape[0]
    total = 0.0
    for k in range(n):
        h = times[k + 1] - times[k]
        rate = _state_cost(
            states[k + 1],
            times[k + 1],
            people,
            count,
            room,
            way,
            way_x,
            way_y,
            x0,
            y0,
            grid_cell,
            weights,
            grad,
            hess,
            False,
        )
        total += h * (rate + weights[W_JERK] * (inputs[k, 0] ** 2 + inputs[k, 1] ** 2))
    _, _, _, _, d = wished_velocity(states[n, 0], states[n, 1], way, way_x, way_y, x0, y0, grid_cell, weights)
    return total + weights[W_END] * d


@inlined
def _riccati(h, w_j, u, v, vv, mixed, gain, offset, damping):
    """One step backward: the value's gradient ``v (6,)`` and Hessian ``vv (6, 6)`` from after an interval to before it,
    in place, and the feedback du = gain (2, 6) dx + offset (2,). ``mixed (2, 6)`` is scratch.

    A = [[1, h, h²/2], [0, 1, h], [0, 0, 1]] and B = [h³/6, h²/2, h] on each axis, so products are sums of columns.
    """
    b0, b1, b2 = h * h * h / 6.0, 0.5 * h * h, h
    q00, q01, q11 = 2.0 * w_j * h + damping, 0.0, 2.0 * w_j * h + damping
    for c in range(6):  # B' V, to be turned into B' V A below
        mixed[0, c] = b0 * vv[0, c] + b1 * vv[2, c] + b2 * vv[4, c]
        mixed[1, c] = b0 * vv[1, c] + b1 * vv[3, c] + b2 * vv[5, c]
    q00 += b0 * mixed[0, 0] + b1 * mixed[0, 2] + b2 * mixed[0, 4]
    q01 += b0 * mixed[0, 1] + b1 * mixed[0, 3] + b2 * mixed[0, 5]
    q11 += b0 * mixed[1, 1] + b1 * mixed[1, 3] + b2 * mixed[1, 5]
    g0 = 2.0 * w_j * h * u[0] + b0 * v[0] + b1 * v[2] + b2 * v[4]
    g1 = 2.0 * w_j * h * u[1] + b0 * v[1] + b1 * v[3] + b2 * v[5]
    for c in range(2):
        for r in range(2):
            mixed[r, 4 + c] += h * mixed[r, 2 + c] + b1 * mixed[r, c]
            mixed[r, 2 + c] += h * mixed[r, c]
        for r in range(6):
            vv[r, 4 + c] += h * vv[r, 2 + c] + b1 * vv[r, c]
            vv[r, 2 + c] += h * vv[r, c]
    for r in range(2):
        for c in range(6):
            vv[4 + r, c] += h * vv[2 + r, c] + b1 * vv[r, c]
            vv[2 + r, c] += h * vv[r, c]
        v[4 + r] += h * v[2 + r] + b1 * v[r]
        v[2 + r] += h * v[r]
    determinant = q00 * q11 - q01 * q01
    i00, i01, i11 = q11 / determinant, -q01 / determinant, q00 / determinant
    offset[0] = -(i00 * g0 + i01 * g1)
    offset[1] = -(i01 * g0 + i11 * g1)
    for c in range(6):
        gain[0, c] = -(i00 * mixed[0, c] + i01 * mixed[1, c])
        gain[1, c] = -(i01 * mixed[0, c] + i11 * mixed[1, c])
    for r in range(6):
        v[r] += mixed[0, r] * offset[0] + mixed[1, r] * offset[1]
        for c in range(6):
            vv[r, c] += mixed[0, r] * gain[0, c] + mixed[1, r] * gain[1, c]


@kernel
def roll_out(states, inputs, times):
    """States from states[0] under the inputs, in place."""
    for k in range(inputs.shape[0]):
        _step(states[k], inputs[k], times[k + 1] - times[k], states[k + 1])


@kernel
def follow(states, inputs, times, targets, w_position, w_jerk, w_acceleration, gains, offsets, v, vv, mixed):
    """The motion from states[0] that least-squares follows ``targets (N+1, 2)``: linear-quadratic, exact."""
    n = inputs.shape[0]
    inputs[:, :] = 0.0
    roll_out(states, inputs, times)
    v[:] = 0.0
    vv[:, :] = 0.0
    for k in range(n - 1, -1, -1):
        h = times[k + 1] - times[k]
        for c in range(2):
            v[c] += 2.0 * h * w_position * (states[k + 1, c] - targets[k + 1, c])
            vv[c, c] += 2.0 * h * w_position
            v[4 + c] += 2.0 * h * w_acceleration * states[k + 1, 4 + c]
            vv[4 + c, 4 + c] += 2.0 * h * w_acceleration
        _riccati(h, w_jerk, inputs[k], v, vv, mixed, gains[k], offsets[k], 0.0)
    _apply(states, inputs, times, gains, offsets, 1.0, states, inputs)


@inlined
def _apply(states, inputs, times, gains, offsets, scale, new_states, new_inputs):
    """Roll out with feedback round ``states``; the new arrays may be the old ones."""
    n = inputs.shape[0]
    ox, oy, ovx, ovy, oax, oay = (states[0, 0], states[0, 1], states[0, 2], states[0, 3], states[0, 4], states[0, 5])
    for c in range(6):
        new_states[0, c] = states[0, c]
    for k in range(n):
        d0, d1, d2 = new_states[k, 0] - ox, new_states[k, 1] - oy, new_states[k, 2] - ovx
        d3, d4, d5 = new_states[k, 3] - ovy, new_states[k, 4] - oax, new_states[k, 5] - oay
        for c in range(2):
            g = gains[k, c]
            new_inputs[k, c] = (
                inputs[k, c]
                + scale * offsets[k, c]
                + g[0] * d0
                + g[1] * d1
                + g[2] * d2
                + g[3] * d3
                + g[4] * d4
                + g[5] * d5
            )
        ox, oy, ovx, ovy, oax, oay = (
            states[k + 1, 0],
            states[k + 1, 1],
            states[k + 1, 2],
            states[k + 1, 3],
            states[k + 1, 4],
            states[k + 1, 5],
        )
        _step(new_states[k], new_inputs[k], times[k + 1] - times[k], new_states[k + 1])


@kernel
def smooth(
    states,
    inputs,
    times,
    people,
    count,
    room,
    way,
    way_x,
    way_y,
    x0,
    y0,
    grid_cell,
    weights,
    iterations,
    gains,
    offsets,
    v,
    vv,
    mixed,
    new_states,
    new_inputs,
):
    """Improve a motion in place by at most ``iterations`` of iLQR; returns its cost."""
    n = inputs.shape[0]
    best = motion_cost(states, inputs, times, people, count, room, way, way_x, way_y, x0, y0, grid_cell, weights, v, vv)
    damping = 0.0
    for _ in range(iterations):
        v[:] = 0.0
        vv[:, :] = 0.0
        _, _, gx, gy, _ = wished_velocity(states[n, 0], states[n, 1], way, way_x, way_y, x0, y0, grid_cell, weights)
        v[0], v[1] = weights[W_END] * gx, weights[W_END] * gy
        for k in range(n - 1, -1, -1):
            h = times[k + 1] - times[k]
            # the cost is a rate: scale value by 1/h around the addition to add h * (gradient, Hessian)
            for r in range(6):
                v[r] /= h
                for c in range(6):
                    vv[r, c] /= h
            _state_cost(
                states[k + 1],
                times[k + 1],
                people,
                count,
                room,
                way,
                way_x,
                way_y,
                x0,
                y0,
                grid_cell,
                weights,
                v,
                vv,
                True,
            )
            for r in range(6):
                v[r] *= h
                for c in range(6):
                    vv[r, c] *= h
            _riccati(h, weights[W_JERK], inputs[k], v, vv, mixed, gains[k], offsets[k], damping)
        scale, found = 1.0, False
        for _ in range(SHORTENINGS):
            _apply(states, inputs, times, gains, offsets, scale, new_states, new_inputs)
            cost = motion_cost(
                new_states, new_inputs, times, people, count, room, way, way_x, way_y, x0, y0, grid_cell, weights, v, vv
            )
            if cost < best:
                found = True
                break
            scale *= SHORTER
        if not found:
            break
        gained = best - cost
        best = cost
        for k in range(n):
            for c in range(6):
                states[k + 1, c] = new_states[k + 1, c]
            for c in range(2):
                inputs[k, c] = new_inputs[k, c]
        if gained < ENOUGH * best + 1e-6:
            break
    return best


@kernel
def shift_inputs(inputs, times, shift, out):
    """``out`` = the inputs as they are ``shift`` seconds later, averaged over each interval; zero beyond the end."""
    n = inputs.shape[0]
    for k in range(n):
        start, end = times[k] + shift, times[k + 1] + shift
        for c in range(2):
            total = 0.0
            for q in range(n):
                overlap = min(end, times[q + 1]) - max(start, times[q])
                if overlap > 0.0:
                    total += overlap * inputs[q, c]
            out[k, c] = total / (end - start)


@kernel
def least_gap(states, times, until, people, count, radius):
    """Smallest distance between surfaces to people who go on as they do, during the first ``until`` seconds, m; knots
    are joined by straight lines."""
    least = 1e9
    for k in range(states.shape[0] - 1):
        if times[k] >= until:
            break
        h = times[k + 1] - times[k]
        for q in range(count):
            dx = states[k, 0] - people[q, 0] - people[q, 2] * times[k]
            dy = states[k, 1] - people[q, 1] - people[q, 3] * times[k]
            ex = states[k + 1, 0] - states[k, 0] - people[q, 2] * h
            ey = states[k + 1, 1] - states[k, 1] - people[q, 3] * h
            length = ex * ex + ey * ey
            s = 0.0 if length < 1e-12 else min(max(-(dx * ex + dy * ey) / length, 0.0), 1.0)
            dx, dy = dx + s * ex, dy + s * ey
            gap = math.sqrt(dx * dx + dy * dy) - people[q, 4] - radius
            if gap < least:
                least = gap
    return least
