"""From where people are, step after step, to where they are in their gait. Causal: looks at no later step.

phase += moved / stride(speed): the gait advances with the metres walked, so a standing foot moves against the body
exactly as the body moves. Speed, turn rate and body heading are first-order filters, x += k (input - x) with
k = dt / (τ + dt). A foot that lands is planted: it stays there until its next swing, however the speed changes. Who
stops with the feet apart takes a step to bring them together.
"""

import numpy as np

from sidestep.kernels.approx import atan2_64, sincos64, wrap_angle
from sidestep.kernels.gait_steps import (
    STANCE_AHEAD,
    STAND_WIDTH,
    gait_shape,
    gait_speed,
    smooth,
    stance_point,
    stride_length,
)
from sidestep.kernels.jit import inlined, kernel

X, Y, HEADING, SPEED, TRAVEL, TURN_RATE, PHASE, HEAD_YAW, VX, VY, PRESENT, FEET = range(12)
COLUMNS = FEET + 6  # FEET: x, y, yaw of the left foot, then of the right one, in the world
SPEED_TIME = 0.20  # s, of the filters
TURN_TIME = 0.20
HEADING_TIME, HEADING_TIME_STILL = 0.12, 0.45
HEAD_TIME = 0.10
MAX_TURN = 4.0  # rad/s
MAX_CADENCE = 2.2  # cycles/s: a jump in the record is no dance
SETTLE_CADENCE = 0.8  # cycles/s of a step that only closes the feet
SETTLE_FROM = 0.06  # m that a foot may be from where it belongs
MAX_DRIFT = 0.50  # m, at 1.75 m tall: a body that jumps drags its feet along
MAX_LEAD = 1.0  # rad, that the head looks ahead of a turning body


@inlined
def due_foot(row, k, scale):
    """(x, y, yaw) in the world where steady motion would have foot k now, or where it would have left the ground."""
    _, period, _, _, duty, width = gait_shape(row[SPEED] / scale, row[TURN_RATE])
    share = row[PHASE] + 0.5 * k
    share -= np.floor(share)
    side = 1.0 - 2.0 * k
    tau = (share - STANCE_AHEAD * duty) * period
    x, y, yaw = stance_point(tau, side, width, row[SPEED] / scale, row[TRAVEL], row[TURN_RATE])
    s, c = sincos64(row[HEADING])
    return row[X] + scale * (c * x - s * y), row[Y] + scale * (s * x + c * y), row[HEADING] + yaw


@inlined
def plant_feet(row, before, scale):
    """Plant each foot that has landed since the phase was ``before``; drag along one that is left too far behind."""
    for k in range(2):
        x, y, yaw = due_foot(row, k, scale)
        at = FEET + 3 * k
        if np.floor(row[PHASE] + 0.5 * k) > np.floor(before + 0.5 * k):
            row[at], row[at + 1], row[at + 2] = x, y, yaw
            continue
        dx, dy = row[at] - x, row[at + 1] - y
        drift = np.sqrt(dx * dx + dy * dy)
        if drift > MAX_DRIFT * scale:
            row[at] = x + dx * MAX_DRIFT * scale / drift
            row[at + 1] = y + dy * MAX_DRIFT * scale / drift


@inlined
def settling(row, pace, scale):
    """Cadence in cycles/s of the step that closes the feet of somebody who moves no more; 0 if they are together."""
    still = 1.0 - smooth((pace - 0.05) / 0.15)
    s, c = sincos64(row[HEADING])
    worst = 0.0
    for k in range(2):
        out = scale * STAND_WIDTH * (1.0 - 2.0 * k)
        dx, dy = row[FEET + 3 * k] - row[X] + s * out, row[FEET + 3 * k + 1] - row[Y] - c * out
        worst = max(worst, np.sqrt(dx * dx + dy * dy))
    return SETTLE_CADENCE * still if worst > SETTLE_FROM * scale else 0.0


@kernel
def advance_gait(state, position, velocity, heading, present, dt, scale, start_phase):
    """One step of ``state`` (N, COLUMNS) to the positions, velocities and headings of the next moment."""
    for n in range(len(state)):
        row = state[n]
        if not present[n]:
            row[PRESENT] = 0.0
            continue
        x, y, vx, vy = float(position[n, 0]), float(position[n, 1]), float(velocity[n, 0]), float(velocity[n, 1])
        wished = float(heading[n])
        appears = row[PRESENT] == 0.0
        before = row[PHASE]
        if appears:
            row[VX], row[VY], row[HEADING], row[TURN_RATE] = vx, vy, wished, 0.0
            row[PHASE], row[HEAD_YAW], row[PRESENT] = start_phase[n], 0.0, 1.0
            row[X], row[Y], before = x, y, start_phase[n] - 1.0  # both feet are planted
        speed, turn_step, s = np.sqrt(row[VX] * row[VX] + row[VY] * row[VY]), 0.0, scale[n]
        if dt > 0.0 and not appears:
            k = dt / (SPEED_TIME + dt)
            half = 2.0 * row[PHASE] - np.floor(2.0 * row[PHASE])
            if half > 0.70 and vx * vx + vy * vy < speed * speed:
                k *= 0.15  # a foot is about to land: where it lands does not move any more
            row[VX] += k * (vx - row[VX])
            row[VY] += k * (vy - row[VY])
            speed = np.sqrt(row[VX] * row[VX] + row[VY] * row[VY])
            ahead = wrap_angle(wished - row[HEADING])
            slow = HEADING_TIME_STILL + smooth(speed / 0.5) * (HEADING_TIME - HEADING_TIME_STILL)
            turn_step = min(max(ahead * dt / (slow + dt), -MAX_TURN * dt), MAX_TURN * dt)
            row[HEADING] = wrap_angle(row[HEADING] + turn_step)
            row[TURN_RATE] += dt / (TURN_TIME + dt) * (turn_step / dt - row[TURN_RATE])
            lead = min(max(ahead, -MAX_LEAD), MAX_LEAD)
            row[HEAD_YAW] += dt / (HEAD_TIME + dt) * (lead - row[HEAD_YAW])
            moved = gait_speed(np.sqrt((x - row[X]) ** 2 + (y - row[Y]) ** 2) / s, turn_step)
            stride = stride_length(gait_speed(speed / s, row[TURN_RATE]))
            row[PHASE] += min(max(moved / stride, settling(row, moved / dt, s) * dt), MAX_CADENCE * dt)
        row[X], row[Y], row[SPEED] = x, y, speed
        row[TRAVEL] = wrap_angle(atan2_64(row[VY], row[VX]) - row[HEADING]) if speed > 1e-6 else 0.0
        plant_feet(row, before, s)


@kernel
def track_gait(track, state, time, position, velocity, heading, present, scale, start_phase):
    """``advance_gait`` over a whole episode; ``track`` (T, N, COLUMNS) gets the state of every moment."""
    for t in range(len(track)):
        dt = time[t] - time[t - 1] if t > 0 else 0.0
        advance_gait(state, position[t], velocity[t], heading[t], present[t], dt, scale, start_phase)
        for n in range(len(state)):
            for k in range(COLUMNS):
                track[t, n, k] = state[n, k]
