"""A smooth motion by iterative linear-quadratic control (iLQR) of a triple integrator whose input is jerk.

State (p, v, a), input u = jerk, constant over interval k of length h_k; the cost is

    J = Σ h_k (w_j |u|² + w_a |a|² + w_p |v - v*(p)|² + w_v (|v| - v_max)₊² + walls(p) + people(p, t)) + w_e D(p_N)

with v*(p) top speed down the distance left D. The motion is linear, so that only the cost is approximated: hinges by
Gauss-Newton, v* as if it did not depend on p. (Li and Todorov, ICINCO 2004; Tassa, Erez and Todorov, IROS 2012.)
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.crowd_forecast import CrowdPaths
from sidestep.policies.grid import bilinear
from sidestep.policies.mpc import field as rows
from sidestep.policies.mpc.field import GoalFields, preferred_velocity
from sidestep.types.base import FloatArray

TIGHT_M = 0.1
"""Nearer to a wall than this its weight is ten times as large, m."""
SHORTENINGS, SHORTER = 4, 0.4
"""Line search: number of tries, and the factor by which each is shorter."""
ENOUGH = 1e-3
"""An iteration that gains a smaller share of the cost than this is the last."""


TIMES = np.concatenate([[0.0], np.cumsum([0.1] * 10 + [0.2] * 10 + [0.3] * 9)])
"""Knots of a motion, s: fine where it matters soon, 5.7 s in all."""
INTERVALS = len(TIMES) - 1


class Motion(NamedTuple):
    """A motion over the N intervals between the knots."""

    states: FloatArray  # (N+1, 6) x, y, vx, vy, ax, ay at the knots
    inputs: FloatArray  # (N, 2) jerk between them, m/s³


class Scratch(NamedTuple):
    """Working memory of :func:`smooth` and :func:`follow`: the feedback of each interval, the value's gradient and
    Hessian, and a motion to try."""

    gains: FloatArray  # (N, 2, 6)
    offsets: FloatArray  # (N, 2)
    value: FloatArray  # (9, 6): a row for the gradient, six for the Hessian, two for :func:`_riccati`
    trial: Motion


def make_motion() -> Motion:
    """A motion that stays at the origin."""
    return Motion(np.zeros((INTERVALS + 1, 6)), np.zeros((INTERVALS, 2)))


def make_scratch() -> Scratch:
    """Working memory of the smoothing."""
    return Scratch(np.zeros((INTERVALS, 2, 6)), np.zeros((INTERVALS, 2)), np.zeros((9, 6)), make_motion())


@inlined
def _step(x: FloatArray, u: FloatArray, h: float, out: FloatArray) -> None:
    """out = state after ``h`` seconds of jerk u."""
    for c in range(2):
        p, v, a, j = x[c], x[2 + c], x[4 + c], u[c]
        out[c] = p + h * (v + h * (0.5 * a + h * j / 6.0))
        out[2 + c] = v + h * (a + 0.5 * h * j)
        out[4 + c] = a + h * j


@inlined
def _add_spring(grad: FloatArray, hess: FloatArray, c: int, push: float, stiff: float, nx: float, ny: float) -> None:
    """Add a force ``push`` along (nx, ny), and its stiffness, to the two numbers of a state from number c on."""
    grad[c] += push * nx
    grad[c + 1] += push * ny
    hess[c, c] += stiff * nx * nx
    hess[c, c + 1] += stiff * nx * ny
    hess[c + 1, c] += stiff * nx * ny
    hess[c + 1, c + 1] += stiff * ny * ny


@kernel  # not inlined: it is large and called from two places
def _state_cost(
    x: FloatArray, t: float, knot: int, people: CrowdPaths, ground: GoalFields, weights: FloatArray, grad: FloatArray,
    hess: FloatArray, derive: bool,
) -> float:  # fmt: skip
    """Cost rate at a state; with ``derive`` also its gradient (6,) and Gauss-Newton Hessian (6, 6), added."""
    px, py, vx, vy, ax, ay = x[0], x[1], x[2], x[3], x[4], x[5]
    wx, wy, _, _, _ = preferred_velocity(px, py, ground, weights)
    w = weights[rows.W_PROGRESS]
    ex, ey = vx - wx, vy - wy
    cost: float = weights[rows.W_ACCELERATION] * (ax * ax + ay * ay) + w * (ex * ex + ey * ey)
    if derive:
        grad[2] += 2.0 * w * ex
        grad[3] += 2.0 * w * ey
        grad[4] += 2.0 * weights[rows.W_ACCELERATION] * ax
        grad[5] += 2.0 * weights[rows.W_ACCELERATION] * ay
        hess[2, 2] += 2.0 * w
        hess[3, 3] += 2.0 * w
        hess[4, 4] += 2.0 * weights[rows.W_ACCELERATION]
        hess[5, 5] += 2.0 * weights[rows.W_ACCELERATION]
    speed = math.sqrt(vx * vx + vy * vy)
    over = speed - weights[rows.MAX_SPEED]
    if over > 0.0:
        w = weights[rows.W_SPEED]
        cost += w * over * over
        if derive:
            _add_spring(grad, hess, 2, 2.0 * w * over, 2.0 * w, vx / speed, vy / speed)
    if weights[rows.W_TURN] > 0.0 and t < weights[rows.TURN_S]:
        hx, hy = weights[rows.HEADING_X], weights[rows.HEADING_Y]
        w = weights[rows.W_TURN] * (1.0 - t / weights[rows.TURN_S])
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
    gap = bilinear(ground.clearance, ground, px, py) - weights[rows.ROBOT_RADIUS]
    short = weights[rows.WALL_GAP] - gap
    if short > 0.0:
        w = weights[rows.W_WALL] * (1.0 if gap > TIGHT_M else 10.0)
        cost += w * short * short
        if derive:
            e, field = 0.5 * ground.cell, ground.clearance
            nx = (bilinear(field, ground, px + e, py) - bilinear(field, ground, px - e, py)) / (2.0 * e)
            ny = (bilinear(field, ground, px, py + e) - bilinear(field, ground, px, py - e)) / (2.0 * e)
            _add_spring(grad, hess, 0, -2.0 * w * short, 2.0 * w, nx, ny)
    widening = weights[rows.GROWTH] * min(t, weights[rows.GROWTH_S])
    fade = 1.0 / (1.0 + (t / weights[rows.FADE_S]) ** 2)
    bent = people.bends.shape[0] > 0
    for k in range(people.lines.shape[0]):
        line = people.lines[k]
        dx, dy = px - line[0] - line[2] * t, py - line[1] - line[3] * t
        if bent:
            dx, dy = dx - people.bends[k, knot, 0], dy - people.bends[k, knot, 1]
        touch = weights[rows.ROBOT_RADIUS] + line[4]
        hard, soft = touch + weights[rows.HARD_GAP] + widening, touch + weights[rows.SOFT_GAP] + widening
        reach = max(max(hard, soft), touch + weights[rows.TOUCH_GAP])
        square = dx * dx + dy * dy
        if square >= reach * reach:
            continue
        d = max(math.sqrt(square), 1e-6)
        push, stiff = 0.0, 0.0
        if d < hard:
            w = weights[rows.W_HARD] * fade
            cost += w * (hard - d) * (hard - d)
            push += 2.0 * w * (hard - d)
            stiff += 2.0 * w
        if t < weights[rows.TOUCH_S] and d < touch + weights[rows.TOUCH_GAP]:
            w, short = weights[rows.W_TOUCH], touch + weights[rows.TOUCH_GAP] - d
            cost += w * short * short
            push += 2.0 * w * short
            stiff += 2.0 * w
        if d < soft:
            w = weights[rows.W_SOFT] * fade
            cost += w * (soft - d) * (soft - d)
            push += 2.0 * w * (soft - d)
            stiff += 2.0 * w
        if derive:
            _add_spring(grad, hess, 0, -push, stiff, dx / d, dy / d)
    return cost


@kernel
def motion_cost(motion: Motion, people: CrowdPaths, ground: GoalFields, weights: FloatArray, scratch: Scratch) -> float:
    """J of a motion; ``scratch`` stays as it is."""
    states, inputs = motion
    n = INTERVALS
    total = 0.0
    for k in range(n):
        h = TIMES[k + 1] - TIMES[k]
        rate = _state_cost(
            states[k + 1], TIMES[k + 1], k + 1, people, ground, weights, scratch.value[0], scratch.value[1:7], False
        )
        total += h * (rate + weights[rows.W_JERK] * (inputs[k, 0] ** 2 + inputs[k, 1] ** 2))
    _, _, _, _, d = preferred_velocity(states[n, 0], states[n, 1], ground, weights)
    whole: float = total + weights[rows.W_END] * d
    return whole


@inlined
def _riccati(h: float, w_j: float, u: FloatArray, scratch: Scratch, k: int) -> None:
    """One step backward: the value's gradient ``v`` and Hessian ``vv`` from after interval k to before it, in place,
    and its feedback du = gain (2, 6) dx + offset (2,).

    A = [[1, h, h²/2], [0, 1, h], [0, 0, 1]] and B = [h³/6, h²/2, h] on each axis, so products are sums of columns.
    """
    v, vv, mixed, gain, offset = (
        scratch.value[0],
        scratch.value[1:7],
        scratch.value[7:],
        scratch.gains[k],
        scratch.offsets[k],
    )
    b0, b1, b2 = h * h * h / 6.0, 0.5 * h * h, h
    q00, q01, q11 = 2.0 * w_j * h, 0.0, 2.0 * w_j * h
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
def roll_out(motion: Motion) -> None:
    """States from states[0] under the inputs, in place."""
    for k in range(INTERVALS):
        _step(motion.states[k], motion.inputs[k], TIMES[k + 1] - TIMES[k], motion.states[k + 1])


@kernel
def follow(
    motion: Motion, targets: FloatArray, w_position: float, w_jerk: float, w_acceleration: float, scratch: Scratch
) -> None:
    """The motion from states[0] that least-squares follows ``targets (N+1, 2)``: linear-quadratic, exact."""
    states, inputs = motion
    v, vv = scratch.value[0], scratch.value[1:7]
    inputs[:, :] = 0.0
    roll_out(motion)
    scratch.value[:7] = 0.0
    for k in range(INTERVALS - 1, -1, -1):
        h = TIMES[k + 1] - TIMES[k]
        for c in range(2):
            v[c] += 2.0 * h * w_position * (states[k + 1, c] - targets[k + 1, c])
            vv[c, c] += 2.0 * h * w_position
            v[4 + c] += 2.0 * h * w_acceleration * states[k + 1, 4 + c]
            vv[4 + c, 4 + c] += 2.0 * h * w_acceleration
        _riccati(h, w_jerk, inputs[k], scratch, k)
    _apply(motion, scratch, 1.0, motion)


@inlined
def _apply(motion: Motion, scratch: Scratch, scale: float, new: Motion) -> None:
    """Roll out with feedback round ``motion`` into ``new``, which may be the same."""
    states, inputs = motion
    gains, offsets = scratch.gains, scratch.offsets
    s = states[0]
    ox, oy, ovx, ovy, oax, oay = s[0], s[1], s[2], s[3], s[4], s[5]
    for c in range(6):
        new.states[0, c] = s[c]
    for k in range(INTERVALS):
        d0, d1, d2 = new.states[k, 0] - ox, new.states[k, 1] - oy, new.states[k, 2] - ovx
        d3, d4, d5 = new.states[k, 3] - ovy, new.states[k, 4] - oax, new.states[k, 5] - oay
        for c in range(2):
            g = gains[k, c]
            first = inputs[k, c] + scale * offsets[k, c] + g[0] * d0 + g[1] * d1 + g[2] * d2
            new.inputs[k, c] = first + g[3] * d3 + g[4] * d4 + g[5] * d5
        s = states[k + 1]
        ox, oy, ovx, ovy, oax, oay = s[0], s[1], s[2], s[3], s[4], s[5]
        _step(new.states[k], new.inputs[k], TIMES[k + 1] - TIMES[k], new.states[k + 1])


@inlined
def _feedback(motion: Motion, people: CrowdPaths, ground: GoalFields, weights: FloatArray, scratch: Scratch) -> None:
    """Feedback of all intervals by dynamic programming backward along ``motion``."""
    states, inputs = motion
    v, vv, n = scratch.value[0], scratch.value[1:7], INTERVALS
    scratch.value[:7] = 0.0
    _, _, gx, gy, _ = preferred_velocity(states[n, 0], states[n, 1], ground, weights)
    v[0], v[1] = weights[rows.W_END] * gx, weights[rows.W_END] * gy
    for k in range(n - 1, -1, -1):
        h = TIMES[k + 1] - TIMES[k]
        # the cost is a rate: scale value by 1/h around the addition to add h * (gradient, Hessian)
        for r in range(7):
            for c in range(6):
                scratch.value[r, c] /= h
        _state_cost(states[k + 1], TIMES[k + 1], k + 1, people, ground, weights, v, vv, True)
        for r in range(7):
            for c in range(6):
                scratch.value[r, c] *= h
        _riccati(h, weights[rows.W_JERK], inputs[k], scratch, k)


@kernel
def smooth(
    motion: Motion, people: CrowdPaths, ground: GoalFields, weights: FloatArray, iterations: int, scratch: Scratch
) -> Any:
    """Improve a motion in place by at most ``iterations`` of iLQR; returns its cost."""
    trial = scratch.trial
    best = motion_cost(motion, people, ground, weights, scratch)
    for _ in range(iterations):
        _feedback(motion, people, ground, weights, scratch)
        scale, found, cost = 1.0, False, best
        for _ in range(SHORTENINGS):
            _apply(motion, scratch, scale, trial)
            cost = motion_cost(trial, people, ground, weights, scratch)
            if cost < best:
                found = True
                break
            scale *= SHORTER
        if not found:
            break
        gained = best - cost
        best = cost
        for k in range(INTERVALS):
            for c in range(6):
                motion.states[k + 1, c] = trial.states[k + 1, c]
            for c in range(2):
                motion.inputs[k, c] = trial.inputs[k, c]
        if gained < ENOUGH * best + 1e-6:
            break
    return best


@kernel
def shift_inputs(inputs: FloatArray, shift: float, out: FloatArray) -> None:
    """``out`` = the inputs as they are ``shift`` seconds later, averaged over each interval; zero beyond the end."""
    for k in range(INTERVALS):
        start, end = TIMES[k] + shift, TIMES[k + 1] + shift
        for c in range(2):
            total = 0.0
            for q in range(INTERVALS):
                overlap = min(end, TIMES[q + 1]) - max(start, TIMES[q])
                if overlap > 0.0:
                    total += overlap * inputs[q, c]
            out[k, c] = total / (end - start)


@kernel
def least_gap(motion: Motion, until: float, people: CrowdPaths, radius: float) -> Any:
    """Smallest distance between surfaces to people on their paths during the first ``until`` seconds, m; knots are
    joined by straight lines."""
    states, least = motion.states, 1e9
    for k in range(INTERVALS):
        if TIMES[k] >= until:
            break
        h = TIMES[k + 1] - TIMES[k]
        for q in range(people.lines.shape[0]):
            line = people.lines[q]
            dx, dy = states[k, 0] - line[0] - line[2] * TIMES[k], states[k, 1] - line[1] - line[3] * TIMES[k]
            ex, ey = states[k + 1, 0] - states[k, 0] - line[2] * h, states[k + 1, 1] - states[k, 1] - line[3] * h
            if q < people.bends.shape[0]:
                now, then = people.bends[q, k], people.bends[q, k + 1]
                dx, dy, ex, ey = dx - now[0], dy - now[1], ex - (then[0] - now[0]), ey - (then[1] - now[1])
            length = ex * ex + ey * ey
            s = 0.0 if length < 1e-12 else min(max(-(dx * ex + dy * ey) / length, 0.0), 1.0)
            dx, dy = dx + s * ex, dy + s * ey
            least = min(least, math.sqrt(dx * dx + dy * dy) - line[4] - radius)
    return least


@kernel
def replan(
    motion: Motion, elapsed: float, start: FloatArray, people: CrowdPaths, ground: GoalFields, weights: FloatArray,
    iterations: int, alarm_s: float, scratch: Scratch,
) -> Any:  # fmt: skip
    """The motion planned ``elapsed`` seconds ago, restarted at ``start (6,)`` and smoothed; its cost, and the least
    gap during the first ``alarm_s`` seconds. ``elapsed`` below 0: there was none."""
    if elapsed >= 0.0:
        shift_inputs(motion.inputs, elapsed, scratch.trial.inputs)
        for k in range(INTERVALS):
            motion.inputs[k, 0], motion.inputs[k, 1] = scratch.trial.inputs[k, 0], scratch.trial.inputs[k, 1]
    for c in range(6):
        motion.states[0, c] = start[c]
    roll_out(motion)
    cost = smooth(motion, people, ground, weights, iterations, scratch)
    return cost, least_gap(motion, alarm_s, people, weights[rows.ROBOT_RADIUS])
