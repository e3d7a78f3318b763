"""From where people are, step after step, to where they are in their gait. Causal: looks at no later step.

phase += moved / stride(speed): the gait advances with the metres walked, so a standing foot moves against the body
exactly as the body moves. Speed, turn rate and body heading are first-order filters, x += k (input - x) with
k = dt / (τ + dt).
"""

import numpy as np

from sidestep.kernels.approx import atan2_64, wrap_angle
from sidestep.kernels.jit import kernel
from sidestep.kernels.skeleton_pose import gait_speed, smooth, stride_length

X, Y, HEADING, SPEED, TRAVEL, TURN_RATE, PHASE, HEAD_YAW, VX, VY, PRESENT = range(11)
COLUMNS = 11
SPEED_TIME = 0.20  # s, of the filters
TURN_TIME = 0.20
HEADING_TIME, HEADING_TIME_STILL = 0.12, 0.45
HEAD_TIME = 0.10
MAX_TURN = 4.0  # rad/s
MAX_CADENCE = 2.2  # cycles/s: a jump in the record is no dance
MAX_LEAD = 1.0  # rad, that the head looks ahead of a turning body


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
        if row[PRESENT] == 0.0:
            row[VX], row[VY], row[HEADING], row[TURN_RATE] = vx, vy, wished, 0.0
            row[PHASE], row[HEAD_YAW], row[PRESENT] = start_phase[n], 0.0, 1.0
        elif dt > 0.0:
            k = dt / (SPEED_TIME + dt)
            row[VX] += k * (vx - row[VX])
            row[VY] += k * (vy - row[VY])
            speed = np.sqrt(row[VX] * row[VX] + row[VY] * row[VY])
            moving = smooth(speed / 0.5)
            ahead = wrap_angle(wished - row[HEADING])
            step = ahead * dt / (HEADING_TIME_STILL + moving * (HEADING_TIME - HEADING_TIME_STILL) + dt)
            step = min(max(step, -MAX_TURN * dt), MAX_TURN * dt)
            row[HEADING] = wrap_angle(row[HEADING] + step)
            row[TURN_RATE] += dt / (TURN_TIME + dt) * (step / dt - row[TURN_RATE])
            lead = min(max(ahead, -MAX_LEAD), MAX_LEAD)
            row[HEAD_YAW] += dt / (HEAD_TIME + dt) * (lead - row[HEAD_YAW])
            s = scale[n]
            moved = gait_speed(np.sqrt((x - row[X]) ** 2 + (y - row[Y]) ** 2) / s, step)
            stride = stride_length(gait_speed(speed / s, row[TURN_RATE]))
            row[PHASE] += min(moved / stride, MAX_CADENCE * dt)
        row[X], row[Y] = x, y
        row[SPEED] = np.sqrt(row[VX] * row[VX] + row[VY] * row[VY])
        row[TRAVEL] = wrap_angle(atan2_64(row[VY], row[VX]) - row[HEADING]) if row[SPEED] > 1e-6 else 0.0


@kernel
def track_gait(track, state, time, position, velocity, heading, present, scale, start_phase):
    """``advance_gait`` over a whole episode; ``track`` (T, N, COLUMNS) gets the state of every moment."""
    for t in range(len(track)):
        dt = time[t] - time[t - 1] if t > 0 else 0.0
        advance_gait(state, position[t], velocity[t], heading[t], present[t], dt, scale, start_phase)
        for n in range(len(state)):
            for k in range(COLUMNS):
                track[t, n, k] = state[n, k]
