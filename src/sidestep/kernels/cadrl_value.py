"""SA-CADRL's value network on the states of many candidates at once, and the choice among them.

The same small network encodes each of the nearest others together with the robot's own numbers; the largest of each
code over the others (max-pooling, so that their order does not matter) and the own numbers go through two more layers:

    code_j = relu(W2 · relu(W1 · own + P1 · other_j + b1) + b2)
    loss   = w5 · relu(W4 · relu(W3 · own + P3 · max_j code_j + b3) + b4) + b5
    V      = γ^distance · (1 - loss),   loss = 0 where nobody is near or the goal is reached

γ^distance is the value of a free straight run, so that the network has to know only what the others cost.

Activations are (units, candidates): the innermost loops run over candidates, vectorise without reordering any sum, and
so give the same bits on every machine.
"""

from __future__ import annotations

import numpy as np

from sidestep.kernels.approx import exp32
from sidestep.kernels.cadrl_look import ARRIVED, FEATURES, LOG_GAMMA, OTHER, OWN, look_ahead
from sidestep.kernels.cadrl_walls import lowest_clearance
from sidestep.kernels.jit import kernel

INPUT_SCALE = np.array(
    [0.1, 1.0, 1.0, 1.0, 2.0] + 3 * [0.3, 0.3, 1.0, 1.0, 2.0, 0.3, 1.0, 1.0], np.float32
)  # what the inputs are multiplied with, to be about 1

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_BANNED = np.float32(1.0e3)
BESIDE_WALL = np.float32(0.02)  # what coming nearer to a wall than the margin costs
AT_WALL = 0.03  # m between body and wall: nearer is out of the question


@kernel(forceinline=True)
def _add_product(weights, inputs, first, out):
    """out += weights · inputs[first : first + columns of weights], four inputs at a time."""
    units, columns = weights.shape
    batch = out.shape[1]
    for u in range(units):
        i = 0
        while i + 4 <= columns:
            w0, w1, w2, w3 = weights[u, i], weights[u, i + 1], weights[u, i + 2], weights[u, i + 3]
            for c in range(batch):
                out[u, c] += (w0 * inputs[first + i, c] + w1 * inputs[first + i + 1, c]) + (
                    w2 * inputs[first + i + 2, c] + w3 * inputs[first + i + 3, c]
                )
            i += 4
        while i < columns:
            w = weights[u, i]
            for c in range(batch):
                out[u, c] += w * inputs[first + i, c]
            i += 1


@kernel(forceinline=True)
def _fill(bias, out):
    for u in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[u, c] = bias[u]


@kernel(forceinline=True)
def _rectify(out):
    for u in range(out.shape[0]):
        for c in range(out.shape[1]):
            out[u, c] = max(out[u, c], _ZERO)


@kernel
def state_values(states, found, weights, work, values):
    """V of each column of ``states (FEATURES, A)``, whose first ``found`` places of others are taken, in ``values``.

    ``weights``: W1, P1, b1, W2, b2, W3, P3, b3, W4, b4, w5, b5. ``work``: scaled inputs (FEATURES, A), the own part of
    the first layer, first layer, second layer, pooled (H, A), third (T, A), fourth (U, A).
    """
    w1, p1, b1, w2, b2, w3, p3, b3, w4, b4, w5, b5 = weights
    inputs, shared, first, second, pooled, third, fourth = work
    batch = states.shape[1]
    if found == 0:
        for c in range(batch):
            values[c] = exp32(LOG_GAMMA * states[0, c])
        return
    for i in range(FEATURES):
        for c in range(batch):
            inputs[i, c] = states[i, c] * INPUT_SCALE[i]
    _fill(b1, shared)
    _add_product(w1, inputs, 0, shared)
    for k in range(found):
        for u in range(first.shape[0]):
            for c in range(batch):
                first[u, c] = shared[u, c]
        _add_product(p1, inputs, OWN + k * OTHER, first)
        _rectify(first)
        _fill(b2, second)
        _add_product(w2, first, 0, second)
        _rectify(second)
        for u in range(pooled.shape[0]):
            for c in range(batch):
                pooled[u, c] = second[u, c] if k == 0 else max(pooled[u, c], second[u, c])
    _fill(b3, third)
    _add_product(w3, inputs, 0, third)
    _add_product(p3, pooled, 0, third)
    _rectify(third)
    _fill(b4, fourth)
    _add_product(w4, third, 0, fourth)
    _rectify(fourth)
    for c in range(batch):
        values[c] = b5[0]
    for u in range(fourth.shape[0]):
        for c in range(batch):
            values[c] += w5[u] * fourth[u, c]
    for c in range(batch):
        loss = values[c] if states[0, c] >= ARRIVED else _ZERO
        values[c] = exp32(LOG_GAMMA * states[0, c]) * (_ONE - loss)


@kernel
def choose(
    own, others, count, table, horizon, norm, x, y, wall_time, wall_margin, field, field_x, field_y, cell, nearest,
    states, gain, factor, weights, work, values, velocity,
):  # fmt: skip
    """The candidate of most reward and value: its velocity goes to ``velocity (2,)``, its number is returned.

    Candidates whose body comes within ``AT_WALL`` of a solid in ``wall_time`` seconds are out, and those that come
    within ``wall_margin`` cost ``BESIDE_WALL``. Standing, the last candidate, is for the sake of others only: it is out
    where nobody is in reach, or a wall in the way could hold the robot for good. ``values (A,)`` holds what each
    candidate is worth.
    """
    found = look_ahead(own, others, count, table, horizon, norm, nearest, states, gain, factor)
    state_values(states, found, weights, work, values)
    distance = np.sqrt(own[0] * own[0] + own[1] * own[1])
    ux, uy = _ONE, _ZERO
    if distance > np.float32(1e-4):
        ux, uy = own[0] / distance, own[1] / distance
    best, most = 0, np.float32(-1.0e9)
    for c in range(table.shape[0]):
        speed = table[c, 0] * own[4]
        vx = speed * (table[c, 1] * ux - table[c, 2] * uy)
        vy = speed * (table[c, 1] * uy + table[c, 2] * ux)
        values[c] = gain[c] + factor[c] * values[c]
        if wall_time > 0.0 and speed > _ZERO:
            time = min(wall_time, 1.0 * distance / speed)
            clear = lowest_clearance(x, y, vx, vy, time, field, field_x, field_y, cell) - own[5]
            if clear < wall_margin:
                values[c] -= BESIDE_WALL if clear >= AT_WALL else _BANNED
        if speed == _ZERO and found == 0 and most > -_BANNED / np.float32(2.0):
            continue
        if values[c] > most:
            best, most = c, values[c]
            velocity[0], velocity[1] = vx, vy
    return best
