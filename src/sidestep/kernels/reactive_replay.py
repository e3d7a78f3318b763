"""Replayed people who mind the robot: they keep to their recording until it interferes, then wait or walk round it.

Everybody replayed has a clock of their own, ``step - LAG``: the place of the recording that they have got to. With
``LAG = 0`` they are where the recording has them, to the bit. The robot interferes when somebody who went on as
recorded would, within the horizon, come nearer than both radii and a margin to where the robot will be at its present
velocity (or, within half of the horizon, to where it is now), and it is in front of them: nobody looks back.

* pause: the own clock slows down to a stand and starts again when the way is free.
* reroute: the person leaves the recording and walks by ORCA after the recorded place, which goes on meanwhile, until it
  can be reached in one step again, is up to date, and the robot is not in the way of it.

Who would run into somebody that was stopped or led astray in this way reacts in the same way: delays are passed on.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels.bodies import CHANGED, WAS_X, WAS_Y
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, float32, float64, int64

MARGIN = float32(0.1)  # m: what people leave between the robot's body and their own
PAUSE_HORIZON = float32(1.0)  # s: how far ahead people who pause look
REROUTE_HORIZON = float32(2.0)  # s: the same of people who walk round
SAMPLE = float32(0.1)  # s between the moments that are looked at
STANDS = float32(0.05)  # m: who moves less within the horizon stands
SLOW_DOWN = float32(0.4)  # s from walking to standing and back
FASTEST = float32(3.0)  # m/s: recorded people are not expected to be faster, when far ones are left out
LEASH = float32(2.0)  # s at the person's mean speed: the recorded place gets no farther ahead than that
RETURN = float32(0.5)  # s in which the gap to the recorded place is to close
CATCH_UP = float32(0.25)  # how much faster the own clock of somebody beside the recording runs while it lags
KEEPS_UP = float32(0.3)  # m: and who is nearer than this to the recorded place keeps up with it
LEAVES = float32(0.3)  # m: who is as near to the last recorded place has come to the end
SKIN = float32(0.01)  # m between two bodies when one returns to its recording
SIDE_BIAS = float32(0.01)  # rad to the right, as of everybody who walks by ORCA
STUCK_BELOW = float32(0.3)

ZERO, ONE = float32(0.0), float32(1.0)


@kernel
def recorded_state(replay: FloatArray, i: int, clock: float) -> tuple[float, float, float, float]:
    """x, y, vx, vy of person i at ``clock`` (steps), on the straight line between two samples; NaN when absent."""
    clock = max(clock, 0.0)
    k = min(int64(clock), replay.shape[0] - 1)
    x, y, vx, vy = replay[k, i, 0], replay[k, i, 1], replay[k, i, 2], replay[k, i, 3]
    part = float32(clock - k)
    if part > ZERO and k + 1 < replay.shape[0]:
        x += part * (replay[k + 1, i, 0] - x)
        y += part * (replay[k + 1, i, 1] - y)
        vx += part * (replay[k + 1, i, 2] - vx)
        vy += part * (replay[k + 1, i, 3] - vy)
    return x, y, vx, vy


@kernel(forceinline=True)
def _distance(dx: float, dy: float) -> float:
    return float32(sqrt(dx * dx + dy * dy))


@kernel(forceinline=True)
def _own_clock(agents: FloatArray, i: int, step: int) -> float:
    return float64(step) - float64(agents[at.LAG, i])


@kernel(forceinline=True)
def _reacts(flags: IntArray, i: int) -> bool:
    reacts: bool = flags[at.REACTIVITY, i] != at.REACT_NONE and flags[at.ACTIVE, i] == 1
    return reacts and flags[at.SEES_ROBOT, i] != 0


@kernel(forceinline=True)
def _is_off(flags: IntArray, i: int) -> bool:
    """Whether person i is beside the recording."""
    reroutes: bool = flags[at.REACTIVITY, i] == at.REACT_REROUTE
    return reroutes and flags[at.MODEL, i] == at.MODEL_ORCA and flags[at.ACTIVE, i] == 1


@kernel
def _meets(
    agents: FloatArray, flags: IntArray, replay: FloatArray, i: int, x: float, y: float, clock: float, j: int,
    margin: float, dt: float,
) -> bool:  # fmt: skip
    """Whether person i, now at (x, y) of the recording, would come too near to agent j, who is in front, by going on.

    Nearer than now: who is too near already may walk away.
    """
    reroutes = flags[at.REACTIVITY, i] == at.REACT_REROUTE
    horizon = REROUTE_HORIZON if reroutes else PAUSE_HORIZON
    vx, vy = agents[at.VX, j], agents[at.VY, j]
    dx, dy = agents[at.PX, j] - x, agents[at.PY, j] - y
    square = dx * dx + dy * dy
    reach = agents[at.RADIUS, i] + agents[at.RADIUS, j] + margin
    far = reach + horizon * (FASTEST + float32(sqrt(vx * vx + vy * vy)))
    if square > far * far:
        return False
    limit = min(reach * reach, square)
    stride = max(1, int(np.rint(SAMPLE / dt)))
    samples = max(1, int(np.rint(horizon / (stride * dt))))
    first = int64(clock)
    meets = False
    ahead_x, ahead_y = ZERO, ZERO
    for m in range(1, samples + 1):
        k = first + m * stride
        if k >= replay.shape[0] or replay[k, i, 0] != replay[k, i, 0]:
            break
        ahead_x, ahead_y = replay[k, i, 0] - x, replay[k, i, 1] - y
        t = float32(m * stride) * dt
        ex, ey = dx + vx * t - ahead_x, dy + vy * t - ahead_y
        meets |= ex * ex + ey * ey < limit
        if 2 * m <= samples:
            ex, ey = dx - ahead_x, dy - ahead_y
            meets |= ex * ex + ey * ey < limit
    if ahead_x * ahead_x + ahead_y * ahead_y < STANDS * STANDS:
        return meets and reroutes
    return meets and ahead_x * dx + ahead_y * dy > ZERO


@kernel
def _next_overlaps(agents: FloatArray, i: int, x: float, y: float, j: int, other_x: float, other_y: float) -> bool:
    """Whether a step to (x, y) brings person i nearer to person j, at the other place, than their bodies allow."""
    ex, ey = other_x - x, other_y - y
    square = ex * ex + ey * ey
    reach = agents[at.RADIUS, i] + agents[at.RADIUS, j] + SKIN
    if square >= reach * reach:
        return False
    dx, dy = agents[at.PX, j] - agents[at.PX, i], agents[at.PY, j] - agents[at.PY, i]
    return bool(square < dx * dx + dy * dy)


@kernel
def _find_disturbed(agents: FloatArray, flags: IntArray, people: int, replay: FloatArray, step: int, dt: float) -> None:
    """Set IN_THE_WAY of everybody whose way a robot crosses, or somebody who was stopped or led astray by one.

    The set is the smallest that is closed under "would meet one of the set", so the order of people leaves no trace,
    and nobody waits for others after the robot has gone.
    """
    changed = False
    for i in range(people):
        flags[at.DISTURBED, i] = 0
        if not _reacts(flags, i):
            continue
        clock = _own_clock(agents, i, step)
        x, y = agents[at.PX, i], agents[at.PY, i]
        if _is_off(flags, i):
            x, y, _, _ = recorded_state(replay, i, clock)
            flags[at.DISTURBED, i] = at.OFF_RECORDING
            changed = True
        for j in range(people, agents.shape[1]):
            if flags[at.ACTIVE, j] == 1 and _meets(agents, flags, replay, i, x, y, clock, j, MARGIN, dt):
                flags[at.DISTURBED, i] |= at.IN_THE_WAY
                changed = True
                break
    while changed:
        changed = False
        for i in range(people):
            if flags[at.DISTURBED, i] != 0 or not _reacts(flags, i):
                continue
            clock = _own_clock(agents, i, step)
            next_x, next_y, _, _ = recorded_state(replay, i, clock + 1.0)
            for j in range(people):
                if flags[at.DISTURBED, j] == 0 or j == i:
                    continue
                near = _meets(agents, flags, replay, i, agents[at.PX, i], agents[at.PY, i], clock, j, ZERO, dt)
                if flags[at.REACTIVITY, i] == at.REACT_REROUTE and not near:
                    near = _next_overlaps(agents, i, next_x, next_y, j, agents[at.PX, j], agents[at.PY, j])
                if near:
                    flags[at.DISTURBED, i] = at.IN_THE_WAY
                    changed = True
                    break


@kernel
def _is_free(
    agents: FloatArray, flags: IntArray, people: int, replay: FloatArray, step: int, i: int, x: float, y: float,
    dt: float,
) -> bool:  # fmt: skip
    """Whether person i may step to (x, y), from then on unable to give way, without touching anybody.

    Replayed people are known where they will be. The others go on as they do now, and keep off in any case.
    """
    for j in range(people):
        if j == i or flags[at.ACTIVE, j] != 1:
            continue
        if flags[at.MODEL, j] == at.MODEL_REPLAY:
            other_x, other_y, _, _ = recorded_state(replay, j, _own_clock(agents, j, step + 1))
            if _next_overlaps(agents, i, x, y, j, other_x, other_y):
                return False
            continue
        reach = agents[at.RADIUS, i] + agents[at.RADIUS, j] + SKIN
        dx, dy = agents[at.PX, j] - x, agents[at.PY, j] - y
        if min(_distance(dx, dy), _distance(dx + agents[at.VX, j] * dt, dy + agents[at.VY, j] * dt)) < reach:
            return False
    return True


@kernel
def _walk_beside(
    agents: FloatArray, flags: IntArray, people: int, replay: FloatArray, step: int, i: int, dt: float
) -> None:
    """One step of the clock of person i, who is beside the recording: back on it if possible, else a new wish."""
    clock = _own_clock(agents, i, step)
    x, y, _, _ = recorded_state(replay, i, clock)
    behind = _distance(x - agents[at.PX, i], y - agents[at.PY, i])
    gain = min(CATCH_UP, agents[at.LAG, i]) if behind < KEEPS_UP else ZERO
    agents[at.PACE, i] = ONE + gain
    target_x, target_y, target_vx, target_vy = recorded_state(replay, i, clock + 1.0 + float64(gain))
    ends = target_x != target_x
    if ends and behind <= LEAVES:
        flags[at.MODEL, i] = at.MODEL_REPLAY  # whose next place is nowhere
        agents[at.LAG, i] -= gain
        return
    if ends or behind > LEASH * agents[at.PREF_SPEED, i]:
        agents[at.PACE, i] = ZERO
        agents[at.LAG, i] += ONE
        target_x, target_y, target_vx, target_vy = x, y, ZERO, ZERO
    else:
        agents[at.LAG, i] -= gain
    dx, dy = target_x - agents[at.PX, i], target_y - agents[at.PY, i]
    step_length = agents[at.MAX_SPEED, i] * dt
    if (
        flags[at.DISTURBED, i] & at.IN_THE_WAY == 0
        and agents[at.LAG, i] == ZERO
        and dx * dx + dy * dy <= step_length * step_length
        and _is_free(agents, flags, people, replay, step, i, target_x, target_y, dt)
    ):
        flags[at.MODEL, i] = at.MODEL_REPLAY
        agents[at.SHARE, i] = ZERO
        return
    wx, wy = target_vx * agents[at.PACE, i] + dx / RETURN, target_vy * agents[at.PACE, i] + dy / RETURN
    speed = float32(sqrt(wx * wx + wy * wy))
    if speed > agents[at.MAX_SPEED, i]:
        wx, wy = wx * agents[at.MAX_SPEED, i] / speed, wy * agents[at.MAX_SPEED, i] / speed
        speed = agents[at.MAX_SPEED, i]
    bias = SIDE_BIAS
    if speed > STUCK_BELOW * agents[at.PREF_SPEED, i]:
        stuck = ONE - (agents[at.VX, i] * wx + agents[at.VY, i] * wy) / (STUCK_BELOW * speed * speed)
        bias += min(max(stuck, ZERO), ONE)
    agents[at.WISH_X, i], agents[at.WISH_Y, i] = wx + bias * wy, wy - bias * wx


@kernel(is_part=True)
def react_people(agents: FloatArray, flags: IntArray, people: int, replay: FloatArray, step: int, dt: float) -> None:
    """Before a step: who is disturbed, how far everybody's own clock goes on, and who walks by ORCA in this step."""
    _find_disturbed(agents, flags, people, replay, step, dt)
    change = dt / SLOW_DOWN
    for i in range(people):
        if not _reacts(flags, i):
            continue
        in_the_way = flags[at.DISTURBED, i] & at.IN_THE_WAY != 0
        if flags[at.REACTIVITY, i] == at.REACT_REROUTE:
            if in_the_way and flags[at.MODEL, i] == at.MODEL_REPLAY:
                flags[at.MODEL, i] = at.MODEL_ORCA
                flags[at.DISTURBED, i] |= at.OFF_RECORDING
                agents[at.SHARE, i] = ONE
            if flags[at.MODEL, i] == at.MODEL_ORCA:
                _walk_beside(agents, flags, people, replay, step, i, dt)
        else:
            pace = agents[at.PACE, i] - change if in_the_way else agents[at.PACE, i] + change
            agents[at.PACE, i] = min(max(pace, ZERO), ONE)
            agents[at.LAG, i] += ONE - agents[at.PACE, i]


@kernel
def widen_robots(agents: FloatArray, people: int, before: FloatArray) -> None:
    """Let ORCA see the robots with the margin about them."""
    for j in range(people, agents.shape[1]):
        before[CHANGED, j] = agents[at.RADIUS, j]
        agents[at.RADIUS, j] += MARGIN


@kernel
def narrow_robots(agents: FloatArray, people: int, before: FloatArray) -> None:
    """Undo :func:`widen_robots`, to the bit."""
    for j in range(people, agents.shape[1]):
        agents[at.RADIUS, j] = before[CHANGED, j]


@kernel
def note_delays(
    agents: FloatArray, flags: IntArray, people: int, before: FloatArray, replay: FloatArray, step: int, dt: float
) -> None:
    """After a step: DELAY is the own clock's lag and the time to the recorded place at the mean speed; DETOUR, the way
    walked and the straight way back to the recorded place, less what was recorded up to there."""
    for i in range(people):
        if not _reacts(flags, i):
            continue
        agents[at.DELAY, i] = agents[at.LAG, i] * dt
        if flags[at.DISTURBED, i] & at.OFF_RECORDING == 0:
            continue
        clock = _own_clock(agents, i, step)
        x, y, _, _ = recorded_state(replay, i, clock)
        was_x, was_y, _, _ = recorded_state(replay, i, clock - float64(agents[at.PACE, i]))
        gap = _distance(x - agents[at.PX, i], y - agents[at.PY, i])
        walked = _distance(agents[at.PX, i] - before[WAS_X, i], agents[at.PY, i] - before[WAS_Y, i])
        gap_was = _distance(was_x - before[WAS_X, i], was_y - before[WAS_Y, i])
        agents[at.DELAY, i] += gap / agents[at.PREF_SPEED, i]
        agents[at.DETOUR, i] += walked + gap - gap_was - _distance(x - was_x, y - was_y)
