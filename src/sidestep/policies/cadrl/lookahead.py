"""One look ahead of SA-CADRL: the immediate reward of each candidate velocity, and the state it leads to.

Everything is relative to the robot. A *state* is a column of ``FEATURES`` numbers in the frame whose x axis points
from the robot to its goal: the robot's own ``OWN`` numbers (distance to the goal, preferred speed, velocity x, y,
radius), then ``OTHER`` numbers for each of the ``SLOTS`` nearest others (position x, y, velocity x, y, radius, distance
between centres, sum of the radii, 1 as a sign that the slot is taken). Empty slots are zero.

Rewards, with g the least surface distance to anybody over the look: contact ``CONTACT``; g below ``COMFORT``:
-0.1 + g / 2 per ``PER`` seconds; a breach of the right-hand rule: ``-norm`` per ``PER`` seconds; the goal: 1. Time is
discounted by ``GAMMA`` per metre at preferred speed, γ^(t · v_pref).

Source: Chen, Everett, Liu, How, "Socially aware motion planning with deep reinforcement learning" (IROS 2017). The
regions of the right-hand rule are written from its idea: see ``breaks_norm``.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.kernels.approx import exp32
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import ACTIVE, MAX_SPEED, PX, PY, RADIUS, VX, VY
from sidestep.types.base import FloatArray, IntArray

SLOTS, OWN, OTHER = 3, 5, 8
FEATURES = OWN + SLOTS * OTHER

GAMMA = 0.93
LOG_GAMMA = np.float32(exact.log(GAMMA))
CONTACT = np.float32(-0.25)
COMFORT = np.float32(0.2)  # m
PER = np.float32(0.5)  # s: period of the rewards for closeness and the norm
REACH = np.float32(10.0)  # m: people farther away are not seen
ARRIVED = np.float32(0.3)  # m: this near to the goal nobody else matters any more
MILDER = np.float32(0.02)  # per metre: of contacts that cannot be avoided the shallowest is the best

# numbers about the robot, float32
GOAL_DX, GOAL_DY, OWN_VX, OWN_VY, PREF_SPEED, OWN_RADIUS, ROBOT_FLOATS = range(7)
# numbers about one other, float32
DX, DY, OTHER_VX, OTHER_VY, OTHER_RADIUS, OTHER_FLOATS = range(6)

_ZERO, _ONE = np.float32(0.0), np.float32(1.0)
_FAR = np.float32(1.0e3)
_SLANT = np.float32(sqrt(0.5))
_SOON = np.float32(0.02)  # s: the shortest look, beside the goal
_THREE, _FOUR, _TWO = np.float32(3.0), np.float32(4.0), np.float32(2.0)
_SLOWEST = np.float32(0.1)  # m/s: below this a velocity has no direction


class Around(NamedTuple):
    """The robot and the others relative to it; the caller says how many rows of ``others`` count."""

    own: FloatArray  # (ROBOT_FLOATS,)
    others: FloatArray  # (M, OTHER_FLOATS)
    nearest: IntArray  # (SLOTS,) int64: rows of the nearest others, filled by the look ahead


class Fan(NamedTuple):
    """The candidate velocities and how they are judged."""

    table: FloatArray  # (A, 3) share of the preferred speed, cosine and sine of the angle to the goal's direction
    horizon: Any  # float32, s: length of the look ahead
    norm: Any  # float32: reward lost per ``PER`` seconds of breaking the right-hand rule


class Look(NamedTuple):
    """What the candidates lead to; for many robots at once with a leading axis."""

    states: FloatArray  # (FEATURES, A)
    gain: FloatArray  # (A,) reward
    factor: FloatArray  # (A,) factor of the value of the state: γ^(time · v_pref), or 0 after a contact


class Learners(NamedTuple):
    """Robots in many worlds: ``which (K, 2)`` lists world and robot."""

    which: IntArray
    agents: FloatArray  # (B, AGENT_ROWS, M)
    flags: IntArray  # (B, FLAG_ROWS, M)
    person_count: int  # the robots' columns follow those of the people
    goals: FloatArray  # (B, R, 2)


@inlined
def breaks_norm(goal_distance: Any, px: Any, py: Any, vx: Any, vy: Any, wx: Any, wy: Any) -> Any:
    """Whether a robot with velocity v breaks the right-hand rule toward an other at p with velocity w.

    Frame: x to the goal. Passing: somebody comes the other way, 1 to 4 m ahead and up to 2 m to the right. Overtaking:
    somebody slower goes the same way, up to 3 m ahead and 1 m to the left. Crossing: somebody within 2 m comes from
    the right and the robot goes through in front. Not within 3 m of the goal.
    """
    own, other = sqrt(vx * vx + vy * vy), sqrt(wx * wx + wy * wy)
    if goal_distance <= _THREE or own < _SLOWEST or other < _SLOWEST:
        return False
    cosine = (vx * wx + vy * wy) / (own * other)
    sine = (vx * wy - vy * wx) / (own * other)
    if cosine < -_SLANT:
        return _ONE < px < _FOUR and -_TWO < py < _ZERO
    if cosine > _SLANT:
        return _ZERO < px < _THREE and _ZERO < py < _ONE and own > other
    turns_right = px * (wy - vy) - py * (wx - vx) < _ZERO
    return sine > _SLANT and px * px + py * py < _FOUR and turns_right


@inlined
def nearest_others(around: Around, count: int) -> int:
    """Write the rows of the ``SLOTS`` others whose surfaces are nearest; returns how many there are."""
    others, nearest = around.others, around.nearest
    found = 0
    for _ in range(SLOTS):
        best, least = -1, REACH
        for j in range(count):
            taken = False
            for k in range(found):
                taken = taken or nearest[k] == j
            gap = sqrt(others[j, DX] * others[j, DX] + others[j, DY] * others[j, DY]) - others[j, OTHER_RADIUS]
            if not taken and gap < least:
                best, least = j, gap
        if best < 0:
            break
        nearest[found] = best
        found += 1
    return found


@inlined
def _write_state(around: Around, found: int, time: Any, vx: Any, vy: Any, column: int, out: FloatArray) -> None:
    """The state after ``time`` at velocity (vx, vy) while the others keep theirs."""
    own, others = around.own, around.others
    gx, gy = own[GOAL_DX] - vx * time, own[GOAL_DY] - vy * time
    distance = sqrt(gx * gx + gy * gy)
    ux, uy = _ONE, _ZERO
    if distance > np.float32(1e-4):
        ux, uy = gx / distance, gy / distance
    out[0, column], out[1, column] = distance, own[PREF_SPEED]
    out[2, column], out[3, column] = ux * vx + uy * vy, ux * vy - uy * vx
    out[4, column] = own[OWN_RADIUS]
    for k in range(SLOTS):
        row = OWN + k * OTHER
        if k >= found:
            for i in range(OTHER):
                out[row + i, column] = _ZERO
            continue
        j = around.nearest[k]
        wx, wy = others[j, OTHER_VX], others[j, OTHER_VY]
        px, py = others[j, DX] + (wx - vx) * time, others[j, DY] + (wy - vy) * time
        out[row, column], out[row + 1, column] = ux * px + uy * py, ux * py - uy * px
        out[row + 2, column], out[row + 3, column] = ux * wx + uy * wy, ux * wy - uy * wx
        out[row + 4, column] = others[j, OTHER_RADIUS]
        out[row + 5, column] = sqrt(px * px + py * py)
        out[row + 6, column] = own[OWN_RADIUS] + others[j, OTHER_RADIUS]
        out[row + 7, column] = _ONE


@inlined
def closest_approach(px: Any, py: Any, wx: Any, wy: Any, reach: Any, time: Any) -> Any:
    """Least surface distance within ``time`` of a disc at p that moves at w, and when contact begins (else FAR)."""
    a, b = wx * wx + wy * wy, px * wx + py * wy
    c = px * px + py * py - reach * reach
    at = _ZERO
    if b < _ZERO and a > _ZERO:
        at = min(-b / a, time)
    x, y = px + wx * at, py + wy * at
    gap = sqrt(x * x + y * y) - reach
    if gap >= _ZERO:
        return gap, _FAR
    if c <= _ZERO:
        return gap, _ZERO
    return gap, min(max((-b - sqrt(max(b * b - a * c, _ZERO))) / max(a, np.float32(1e-9)), _ZERO), time)


@inlined
def _reward(around: Around, count: int, found: int, norm: Any, time: Any, vx: Any, vy: Any, state: FloatArray) -> Any:
    """Reward of (vx, vy) over ``time``, and whether a contact ends it. ``state (FEATURES,)`` is what it leads to."""
    own, others = around.own, around.others
    least, when = _FAR, _FAR
    for j in range(count):
        wx, wy = others[j, OTHER_VX] - vx, others[j, OTHER_VY] - vy
        reach = own[OWN_RADIUS] + others[j, OTHER_RADIUS]
        gap, begins = closest_approach(others[j, DX], others[j, DY], wx, wy, reach, time)
        if begins < _FAR:  # deeper at the end is worse: leave somebody who is touched already
            ex, ey = others[j, DX] + wx * time, others[j, DY] + wy * time
            gap = sqrt(ex * ex + ey * ey) - reach
        when = min(when, begins)
        least = min(least, gap)
    if when < _FAR:
        return CONTACT * exp32(LOG_GAMMA * own[PREF_SPEED] * when) + MILDER * least, True
    reward = _ZERO
    if least < COMFORT:
        reward = (least - COMFORT) / _TWO * time / PER
    for k in range(found):
        row = OWN + k * OTHER
        if norm > _ZERO and breaks_norm(
            state[0], state[row], state[row + 1], state[2], state[3], state[row + 2], state[row + 3]
        ):
            return reward - norm * time / PER, False
    return reward, False


@kernel
def look_ahead(around: Around, count: int, fan: Fan, look: Look) -> int:
    """Fill ``look`` with what each candidate leads to among the first ``count`` others; returns the number of others in
    the states. The look is ``fan.horizon`` seconds long, shorter near the goal so that it is not overshot.
    """
    own, table = around.own, fan.table
    found: int = nearest_others(around, count)
    distance = sqrt(own[GOAL_DX] * own[GOAL_DX] + own[GOAL_DY] * own[GOAL_DY])
    ux, uy = _ONE, _ZERO
    if distance > np.float32(1e-4):
        ux, uy = own[GOAL_DX] / distance, own[GOAL_DY] / distance
    time = max(min(fan.horizon, distance / own[PREF_SPEED]), _SOON)
    later = exp32(LOG_GAMMA * own[PREF_SPEED] * time)
    for c in range(table.shape[0]):
        speed = table[c, 0] * own[PREF_SPEED]
        vx = speed * (table[c, 1] * ux - table[c, 2] * uy)
        vy = speed * (table[c, 1] * uy + table[c, 2] * ux)
        _write_state(around, found, time, vx, vy, c, look.states)
        reward, ended = _reward(around, count, found, fan.norm, time, vx, vy, look.states[:, c])
        look.gain[c] = reward
        look.factor[c] = _ZERO if ended else later
    return found


@inlined
def gather_others(agents: FloatArray, flags: IntArray, own_column: int, around: Around) -> int:
    """Fill ``own`` (but for the goal) and ``others`` from a world's arrays; returns the number of others in reach."""
    own, others = around.own, around.others
    x, y = agents[PX, own_column], agents[PY, own_column]
    own[OWN_VX], own[OWN_VY] = agents[VX, own_column], agents[VY, own_column]
    own[PREF_SPEED], own[OWN_RADIUS] = agents[MAX_SPEED, own_column], agents[RADIUS, own_column]
    count = 0
    for j in range(agents.shape[1]):
        if j == own_column or flags[ACTIVE, j] != 1:
            continue
        dx, dy = agents[PX, j] - x, agents[PY, j] - y
        if dx * dx + dy * dy > REACH * REACH:
            continue
        others[count, DX], others[count, DY] = dx, dy
        others[count, OTHER_VX], others[count, OTHER_VY] = agents[VX, j], agents[VY, j]
        others[count, OTHER_RADIUS] = agents[RADIUS, j]
        count += 1
    return count


@kernel
def look_ahead_all(learners: Learners, fan: Fan, around: Around, now: FloatArray, looks: Look) -> None:
    """:func:`look_ahead` for many robots; ``now (K, FEATURES)`` becomes their present states."""
    own, agents, goals = around.own, learners.agents, learners.goals
    for k in range(learners.which.shape[0]):
        b, r = learners.which[k, 0], learners.which[k, 1]
        me = learners.person_count + r
        count = gather_others(agents[b], learners.flags[b], me, around)
        own[GOAL_DX] = np.float32(goals[b, r, 0]) - agents[b, PX, me]
        own[GOAL_DY] = np.float32(goals[b, r, 1]) - agents[b, PY, me]
        found = nearest_others(around, count)
        _write_state(around, found, _ZERO, own[OWN_VX], own[OWN_VY], 0, now[k].reshape((FEATURES, 1)))
        look_ahead(around, count, fan, Look(looks.states[k], looks.gain[k], looks.factor[k]))


@kernel
def step_rewards(
    learners: Learners, before: FloatArray, norm: Any, dt: Any, around: Around, reward: FloatArray, ending: IntArray
) -> None:
    """Reward of the step from ``before (B, 2, M)`` to now for each robot, and how it ended: 0 goes on, 1 goal, 2
    contact. The goal earns γ^(distance left), so that the value is γ^distance there."""
    which, agents, flags, goals = learners.which, learners.agents, learners.flags, learners.goals
    own, others, nearest = around
    for k in range(which.shape[0]):
        b, me = which[k, 0], learners.person_count + which[k, 1]
        least, when = _FAR, _FAR
        x0, y0 = before[b, 0, me], before[b, 1, me]
        mx, my = agents[b, PX, me] - x0, agents[b, PY, me] - y0
        for j in range(agents.shape[2]):
            if j == me or flags[b, ACTIVE, j] != 1:
                continue
            qx, qy = before[b, 0, j], before[b, 1, j]
            wx, wy = agents[b, PX, j] - qx - mx, agents[b, PY, j] - qy - my
            reach = agents[b, RADIUS, me] + agents[b, RADIUS, j]
            gap, begins = closest_approach(qx - x0, qy - y0, wx, wy, reach, _ONE)
            least, when = min(least, gap), min(when, begins)
        count = gather_others(agents[b], flags[b], me, around)
        gx = np.float32(goals[b, which[k, 1], 0]) - agents[b, PX, me]
        gy = np.float32(goals[b, which[k, 1], 1]) - agents[b, PY, me]
        distance = sqrt(gx * gx + gy * gy)
        ending[k], reward[k] = 0, _ZERO
        if when < _FAR:
            ending[k], reward[k] = 2, CONTACT
            continue
        if distance < ARRIVED:
            ending[k] = 1
            reward[k] = exp32(LOG_GAMMA * (distance + own[PREF_SPEED] * dt))
        if least < COMFORT:
            reward[k] += (least - COMFORT) / _TWO * dt / PER
        ux, uy = gx / max(distance, np.float32(1e-4)), gy / max(distance, np.float32(1e-4))
        for i in range(nearest_others(around, count)):
            j = nearest[i]
            px, py = others[j, DX], others[j, DY]
            wx, wy = others[j, OTHER_VX], others[j, OTHER_VY]
            if breaks_norm(
                distance, ux * px + uy * py, ux * py - uy * px, ux * own[OWN_VX] + uy * own[OWN_VY],
                ux * own[OWN_VY] - uy * own[OWN_VX], ux * wx + uy * wy, ux * wy - uy * wx,
            ):  # fmt: skip
                reward[k] -= norm * dt / PER
                break
