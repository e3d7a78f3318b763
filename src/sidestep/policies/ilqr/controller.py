"""Iterative LQR for a unicycle with limits on its controls, compiled.

State (x, y, θ, v, ω), where v and ω are the controls of the interval before; control u = (v, ω), constant over each of
``INTERVALS`` intervals. One iteration is a pass backward, which finds the best linear feedback for the quadratic
approximation of the cost (Gauss-Newton: Hessians are positive), and a line search forward. Controls stay in a box at
every knot: top speed, no driving backward, turn rate, and accelerations (control-limited differential dynamic
programming: Tassa, Mansard and Todorov, ICRA 2014; iLQR: Li and Todorov, ICINCO 2004).
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sidestep.kernels.approx import cos64, sincos64
from sidestep.kernels.dynamics import turn_to
from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.crowd_forecast import CrowdPaths
from sidestep.policies.grid import bilinear
from sidestep.policies.mpc.field import GoalFields
from sidestep.types.base import FloatArray

TIMES = np.array([0.1 * k for k in range(10)] + [1.0 + 0.2 * k for k in range(16)])
"""Times of the knots, s."""
INTERVALS = len(TIMES) - 1
STATES, CONTROLS = 5, 2
SHORTENINGS, SHORTER = 5, 0.4
"""Steps that the line search tries, and the factor between them."""
ENOUGH = 1e-3
"""An iteration that gains a smaller share of the cost is the last."""
AHEAD, TURN_GAIN = 6, 3.0
"""First guesses head for the reference so many knots ahead, rad/s per rad."""


class Weights(NamedTuple):
    """Weights of cost rates (per second), and the distances that belong to them, m."""

    track: float  # of the distance to the reference: squared up to about ``track_m``, linear beyond
    track_m: float
    heading: float  # of 1 - cos(heading - direction of the reference)
    turn: float  # of ω²
    acceleration: float  # of (dv/dt)²
    turn_acceleration: float  # of (dω/dt)²
    touch: float  # of (touch_gap - gap)², for people
    touch_gap: float
    comfort: float  # of (comfort_gap + widening - gap)², for people
    comfort_gap: float
    growth: float  # widening per second ahead, m/s
    growth_s: float  # no further widening after, s
    fade_s: float  # weights of people are divided by 1 + (t / fade_s)²
    wall: float  # of (wall_gap - gap)²
    wall_gap: float
    radius: float  # of the robot, m


class Limits(NamedTuple):
    """The box of controls: 0 … ``speed``, ± ``turn``, and how fast they change."""

    speed: float  # m/s
    turn: float  # rad/s
    acceleration: float  # m/s²
    deceleration: float  # m/s²
    turn_acceleration: float  # rad/s²


class Reference(NamedTuple):
    """Where the robot should be at the knots, and in which direction it then moves."""

    points: FloatArray  # (N + 1, 2) m
    directions: FloatArray  # (N + 1, 2) unit vectors; zero where the reference stands


class Plan(NamedTuple):
    """A motion."""

    states: FloatArray  # (N + 1, 5)
    controls: FloatArray  # (N, 2)


class Problem(NamedTuple):
    """All that the cost depends on."""

    people: CrowdPaths
    ground: GoalFields
    reference: Reference
    weights: Weights
    limits: Limits


class Scratch(NamedTuple):
    """Memory of the optimiser."""

    gains: FloatArray  # (N, 2, 5)
    offsets: FloatArray  # (N, 2)
    grad: FloatArray  # (5,) of the value
    hess: FloatArray  # (5, 5) of the value
    mixed: FloatArray  # (4, 5)
    trial: Plan


def make_plan() -> Plan:
    """A plan of zeros."""
    return Plan(np.zeros((INTERVALS + 1, STATES)), np.zeros((INTERVALS, CONTROLS)))


def make_reference() -> Reference:
    """A reference of zeros."""
    return Reference(np.zeros((INTERVALS + 1, 2)), np.zeros((INTERVALS + 1, 2)))


def make_scratch() -> Scratch:
    """Memory for :func:`improve`."""
    n = INTERVALS
    return Scratch(
        np.zeros((n, CONTROLS, STATES)), np.zeros((n, CONTROLS)), np.zeros(STATES), np.zeros((STATES, STATES)),
        np.zeros((4, STATES)), make_plan(),
    )  # fmt: skip


@inlined
def _copy(source: FloatArray, target: FloatArray) -> None:
    """``target`` = ``source``, two rows of equal length."""
    for r in range(len(source)):
        target[r] = source[r]


@inlined
def _advance(x: FloatArray, v: float, omega: float, h: float, out: FloatArray) -> None:
    """State after ``h`` seconds: along the heading of the interval's middle."""
    s, c = sincos64(x[2] + 0.5 * h * omega)
    out[0], out[1], out[2] = x[0] + h * v * c, x[1] + h * v * s, x[2] + h * omega
    out[3], out[4] = v, omega


@inlined
def _box(v_before: float, omega_before: float, h: float, limits: Limits) -> Any:
    """Lowest and highest v, lowest and highest ω after an interval with these controls."""
    before = min(max(v_before, 0.0), limits.speed)
    low = max(before - h * limits.deceleration, 0.0)
    high = min(before + h * limits.acceleration, limits.speed)
    turn = min(max(omega_before, -limits.turn), limits.turn)
    change = h * limits.turn_acceleration
    return low, high, max(turn - change, -limits.turn), min(turn + change, limits.turn)


@kernel
def state_cost(x: FloatArray, knot: int, problem: Problem, grad: FloatArray, hess: FloatArray, derive: bool) -> float:
    """Cost rate of a state at a knot; with ``derive`` its gradient (5,) and Gauss-Newton Hessian (5, 5) are added."""
    w, people, t = problem.weights, problem.people, TIMES[knot]
    ex, ey = x[0] - problem.reference.points[knot, 0], x[1] - problem.reference.points[knot, 1]
    m2 = w.track_m * w.track_m
    root = math.sqrt(1.0 + (ex * ex + ey * ey) / m2)
    dx, dy = problem.reference.directions[knot, 0], problem.reference.directions[knot, 1]
    s, c = sincos64(x[2])
    cost: float = w.track * m2 * (root - 1.0) + w.heading * (dx * dx + dy * dy - c * dx - s * dy)
    if derive:
        grad[0] += w.track * ex / root
        grad[1] += w.track * ey / root
        bend = w.track / (m2 * root * root * root)
        hess[0, 0] += w.track / root - bend * ex * ex
        hess[0, 1] -= bend * ex * ey
        hess[1, 0] -= bend * ex * ey
        hess[1, 1] += w.track / root - bend * ey * ey
        grad[2] += w.heading * (s * dx - c * dy)
        hess[2, 2] += w.heading * (dx * dx + dy * dy)
    short = w.wall_gap + w.radius - bilinear(problem.ground.clearance, problem.ground, x[0], x[1])
    if short > 0.0:
        cost += w.wall * short * short
        if derive:
            e, ground = 0.5 * problem.ground.cell, problem.ground
            nx = bilinear(ground.clearance, ground, x[0] + e, x[1]) - bilinear(ground.clearance, ground, x[0] - e, x[1])
            ny = bilinear(ground.clearance, ground, x[0], x[1] + e) - bilinear(ground.clearance, ground, x[0], x[1] - e)
            _add_spring(grad, hess, -2.0 * w.wall * short, 2.0 * w.wall, nx / (2.0 * e), ny / (2.0 * e))
    fade = 1.0 / (1.0 + (t / w.fade_s) * (t / w.fade_s))
    comfort_gap = w.comfort_gap + w.growth * min(t, w.growth_s)
    reach = max(comfort_gap, w.touch_gap)
    for k in range(people.lines.shape[0]):
        line = people.lines[k]
        ox, oy = x[0] - line[0] - line[2] * t, x[1] - line[1] - line[3] * t
        if people.bends.shape[0] > 0:
            ox, oy = ox - people.bends[k, knot, 0], oy - people.bends[k, knot, 1]
        bodies = w.radius + line[4]
        square = ox * ox + oy * oy
        if square >= (bodies + reach) * (bodies + reach):
            continue
        d = max(math.sqrt(square), 1e-6)
        touch, comfort = max(w.touch_gap + bodies - d, 0.0), max(comfort_gap + bodies - d, 0.0)
        cost += fade * (w.touch * touch * touch + w.comfort * comfort * comfort)
        if derive:
            push = 2.0 * fade * (w.touch * touch + w.comfort * comfort)
            stiff = 2.0 * fade * ((w.touch if touch > 0.0 else 0.0) + (w.comfort if comfort > 0.0 else 0.0))
            _add_spring(grad, hess, -push, stiff, ox / d, oy / d)
    return cost


@inlined
def _add_spring(grad: FloatArray, hess: FloatArray, push: float, stiff: float, nx: float, ny: float) -> None:
    """Add a force along (nx, ny) on the position, and its stiffness."""
    grad[0] += push * nx
    grad[1] += push * ny
    hess[0, 0] += stiff * nx * nx
    hess[0, 1] += stiff * nx * ny
    hess[1, 0] += stiff * nx * ny
    hess[1, 1] += stiff * ny * ny


@kernel
def plan_cost(plan: Plan, problem: Problem, scratch: Scratch) -> float:
    """Cost of a motion: that of its states, of turning and of changes of the controls."""
    w, total = problem.weights, 0.0
    for k in range(INTERVALS):
        h = TIMES[k + 1] - TIMES[k]
        rate = state_cost(plan.states[k + 1], k + 1, problem, scratch.grad, scratch.hess, False)
        dv, domega = plan.controls[k, 0] - plan.states[k, 3], plan.controls[k, 1] - plan.states[k, 4]
        total += h * (rate + w.turn * plan.controls[k, 1] * plan.controls[k, 1])
        total += (w.acceleration * dv * dv + w.turn_acceleration * domega * domega) / h
    return total


@inlined
def _solve_box(
    qvv: float, qvw: float, qww: float, gv: float, gw: float, low_v: float, high_v: float, low_w: float, high_w: float
) -> Any:
    """The step (v, ω) in the box with the least ½ q'Qq + g'q, and which of the two are free."""
    determinant = qvv * qww - qvw * qvw
    v, w = (qvw * gw - qww * gv) / determinant, (qvw * gv - qvv * gw) / determinant
    if low_v <= v <= high_v and low_w <= w <= high_w:
        return v, w, True, True
    best, best_v, best_w, free_v, free_w = math.inf, 0.0, 0.0, False, False
    for side in range(4):  # the least value lies on one of the box's sides
        if side < 2:
            v = low_v if side == 0 else high_v
            wish = -(gw + qvw * v) / qww
            w = min(max(wish, low_w), high_w)
        else:
            w = low_w if side == 2 else high_w
            wish = -(gv + qvw * w) / qvv
            v = min(max(wish, low_v), high_v)
        value = 0.5 * (qvv * v * v + 2.0 * qvw * v * w + qww * w * w) + gv * v + gw * w
        if value < best:
            best, best_v, best_w = value, v, w
            free_v, free_w = side >= 2 and v == wish, side < 2 and w == wish
    return best_v, best_w, free_v, free_w


@inlined
def _step_back(plan: Plan, k: int, problem: Problem, scratch: Scratch) -> None:
    """The value's gradient and Hessian from after interval k to before it, in place, and the interval's feedback.

    Next state = f(x, u) with ∂(x, y)/∂θ = (ax, ay) and ∂(x, y, θ)/∂ω = (h ax / 2, h ay / 2, h).
    """
    w, h = problem.weights, TIMES[k + 1] - TIMES[k]
    g, hess, mixed, gain = scratch.grad, scratch.hess, scratch.mixed, scratch.gains[k]
    v, omega = plan.controls[k, 0], plan.controls[k, 1]
    v_before, omega_before = plan.states[k, 3], plan.states[k, 4]
    s, c = sincos64(plan.states[k, 2] + 0.5 * h * omega)
    ax, ay, hc, hs = -h * v * s, h * v * c, h * c, h * s
    bx, by = 0.5 * h * ax, 0.5 * h * ay
    stiff_v, stiff_w = 2.0 * w.acceleration / h, 2.0 * w.turn_acceleration / h
    for r in range(STATES):
        mixed[0, r] = hess[r, 0] * hc + hess[r, 1] * hs + hess[r, 3]
        mixed[1, r] = hess[r, 0] * bx + hess[r, 1] * by + hess[r, 2] * h + hess[r, 4]
    qvv = hc * mixed[0, 0] + hs * mixed[0, 1] + mixed[0, 3] + stiff_v
    qvw = hc * mixed[1, 0] + hs * mixed[1, 1] + mixed[1, 3]
    qww = bx * mixed[1, 0] + by * mixed[1, 1] + h * mixed[1, 2] + mixed[1, 4] + stiff_w + 2.0 * w.turn * h
    pull_v, pull_w = stiff_v * (v - v_before), stiff_w * (omega - omega_before)
    gv = hc * g[0] + hs * g[1] + g[3] + pull_v
    gw = bx * g[0] + by * g[1] + h * g[2] + g[4] + pull_w + 2.0 * w.turn * h * omega
    for r in range(2):  # ∂²/∂u ∂x
        mixed[r, 2] += mixed[r, 0] * ax + mixed[r, 1] * ay
        mixed[r, 3], mixed[r, 4] = (-stiff_v, 0.0) if r == 0 else (0.0, -stiff_w)
    low_v, high_v, low_w, high_w = _box(v_before, omega_before, h, problem.limits)
    dv, dw, free_v, free_w = _solve_box(qvv, qvw, qww, gv, gw, low_v - v, high_v - v, low_w - omega, high_w - omega)
    determinant = qvv * qww - qvw * qvw
    for r in range(STATES):
        if free_v and free_w:
            gain[0, r] = (qvw * mixed[1, r] - qww * mixed[0, r]) / determinant
            gain[1, r] = (qvw * mixed[0, r] - qvv * mixed[1, r]) / determinant
        else:
            gain[0, r] = -mixed[0, r] / qvv if free_v else 0.0
            gain[1, r] = -mixed[1, r] / qww if free_w else 0.0
    scratch.offsets[k, 0], scratch.offsets[k, 1] = dv, dw
    g2 = g[0] * ax + g[1] * ay + g[2]
    q02 = hess[0, 0] * ax + hess[0, 1] * ay + hess[0, 2]
    q12 = hess[1, 0] * ax + hess[1, 1] * ay + hess[1, 2]
    q22 = q02 * ax + q12 * ay + hess[2, 0] * ax + hess[2, 1] * ay + hess[2, 2]
    g[2], g[3], g[4] = g2, -pull_v, -pull_w
    hess[0, 2], hess[2, 0], hess[1, 2], hess[2, 1], hess[2, 2] = q02, q02, q12, q12, q22
    for r in range(STATES):
        for q in range(3, STATES):
            hess[r, q], hess[q, r] = 0.0, 0.0
    hess[3, 3], hess[4, 4] = stiff_v, stiff_w
    ev, ew = gv + qvv * dv + qvw * dw, gw + qvw * dv + qww * dw
    for r in range(STATES):
        g[r] += gain[0, r] * ev + gain[1, r] * ew + mixed[0, r] * dv + mixed[1, r] * dw
        mixed[2, r] = qvv * gain[0, r] + qvw * gain[1, r] + mixed[0, r]
        mixed[3, r] = qvw * gain[0, r] + qww * gain[1, r] + mixed[1, r]
    for r in range(STATES):
        for q in range(STATES):
            hess[r, q] += gain[0, r] * mixed[2, q] + gain[1, r] * mixed[3, q]
            hess[r, q] += mixed[0, r] * gain[0, q] + mixed[1, r] * gain[1, q]


@inlined
def _scale(scratch: Scratch, factor: float) -> None:
    """Multiply the value's gradient and Hessian."""
    for r in range(STATES):
        scratch.grad[r] *= factor
        for q in range(STATES):
            scratch.hess[r, q] *= factor


@kernel
def find_feedback(plan: Plan, problem: Problem, scratch: Scratch) -> None:
    """Gains and offsets of all intervals, and the gradient and Hessian of the cost with respect to the first state,
    by dynamic programming backward along ``plan``."""
    scratch.grad[:] = 0.0
    scratch.hess[:, :] = 0.0
    for k in range(INTERVALS - 1, -1, -1):
        h = TIMES[k + 1] - TIMES[k]
        _scale(scratch, 1.0 / h)  # state_cost adds rates
        state_cost(plan.states[k + 1], k + 1, problem, scratch.grad, scratch.hess, True)
        _scale(scratch, h)
        _step_back(plan, k, problem, scratch)


@kernel
def roll_out(plan: Plan, limits: Limits) -> None:
    """States from the first one under the controls, which are brought into the box, in place."""
    for k in range(INTERVALS):
        h, x = TIMES[k + 1] - TIMES[k], plan.states[k]
        low_v, high_v, low_w, high_w = _box(x[3], x[4], h, limits)
        plan.controls[k, 0] = min(max(plan.controls[k, 0], low_v), high_v)
        plan.controls[k, 1] = min(max(plan.controls[k, 1], low_w), high_w)
        _advance(x, plan.controls[k, 0], plan.controls[k, 1], h, plan.states[k + 1])


@inlined
def _apply(plan: Plan, limits: Limits, scale: float, scratch: Scratch) -> None:
    """The motion with feedback round ``plan``, into ``scratch.trial``."""
    trial = scratch.trial
    _copy(plan.states[0], trial.states[0])
    for k in range(INTERVALS):
        h, x, old = TIMES[k + 1] - TIMES[k], trial.states[k], plan.states[k]
        low_v, high_v, low_w, high_w = _box(x[3], x[4], h, limits)
        v = plan.controls[k, 0] + scale * scratch.offsets[k, 0]
        omega = plan.controls[k, 1] + scale * scratch.offsets[k, 1]
        for r in range(STATES):
            v += scratch.gains[k, 0, r] * (x[r] - old[r])
            omega += scratch.gains[k, 1, r] * (x[r] - old[r])
        trial.controls[k, 0], trial.controls[k, 1] = min(max(v, low_v), high_v), min(max(omega, low_w), high_w)
        _advance(x, trial.controls[k, 0], trial.controls[k, 1], h, trial.states[k + 1])


@kernel
def improve(plan: Plan, problem: Problem, iterations: int, scratch: Scratch) -> float:
    """Improve a motion in place by at most ``iterations`` of iLQR; its cost."""
    best = plan_cost(plan, problem, scratch)
    for _ in range(iterations):
        find_feedback(plan, problem, scratch)
        scale, cost, found = 1.0, best, False
        for _ in range(SHORTENINGS):
            _apply(plan, problem.limits, scale, scratch)
            cost = plan_cost(scratch.trial, problem, scratch)
            if cost < best:
                found = True
                break
            scale *= SHORTER
        if not found:
            break
        gained, best = best - cost, cost
        for k in range(INTERVALS):
            _copy(scratch.trial.controls[k], plan.controls[k])
            _copy(scratch.trial.states[k + 1], plan.states[k + 1])
        if gained < ENOUGH * best:
            break
    return best


@kernel
def begin_again(plan: Plan, elapsed: float, start: FloatArray, limits: Limits, scratch: Scratch) -> None:
    """The plan of ``elapsed`` seconds ago as it goes on from the state ``start (5,)``; the last controls are held."""
    for k in range(INTERVALS):
        middle, source = 0.5 * (TIMES[k] + TIMES[k + 1]) + elapsed, k
        while source + 1 < INTERVALS and TIMES[source + 1] <= middle:
            source += 1
        _copy(plan.controls[source], scratch.trial.controls[k])
    for k in range(INTERVALS):
        _copy(scratch.trial.controls[k], plan.controls[k])
    _copy(start, plan.states[0])
    roll_out(plan, limits)


@kernel
def head_for(plan: Plan, start: FloatArray, reference: Reference, aside: float, limits: Limits) -> None:
    """A first guess: from the state ``start (5,)`` toward the reference, ``aside`` m to its left (negative: right)."""
    _copy(start, plan.states[0])
    for k in range(INTERVALS):
        h, x, goal = TIMES[k + 1] - TIMES[k], plan.states[k], min(k + AHEAD, INTERVALS)
        dx = reference.points[goal, 0] - aside * reference.directions[goal, 1] - x[0]
        dy = reference.points[goal, 1] + aside * reference.directions[goal, 0] - x[1]
        away = math.sqrt(dx * dx + dy * dy)
        turn = turn_to(dx, dy, x[2]) if away > 1e-6 else 0.0
        c = cos64(turn)
        low_v, high_v, low_w, high_w = _box(x[3], x[4], h, limits)
        v = max(c, 0.0) * away / max(TIMES[goal] - TIMES[k], 0.2)
        plan.controls[k, 0] = min(max(v, low_v), high_v)
        plan.controls[k, 1] = min(max(TURN_GAIN * turn, low_w), high_w)
        _advance(x, plan.controls[k, 0], plan.controls[k, 1], h, plan.states[k + 1])
