"""Kernels of the gait: stride, step width and foot positions of a person who walks or runs at a speed, and the track
of phase, heading and planted feet over time from positions, velocities and headings up to now.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels.approx import atan2_64, sincos64, wrap_angle
from sidestep.kernels.jit import inlined, kernel

Array = NDArray[Any]
FootPoint = tuple[float, float, float]
"""x, y and yaw of a foot."""
ANKLE = 0.085
HEEL_X, BALL_X, TOE_X, TOE_LIFT = -0.075, 0.125, 0.180, 0.020
STRIDE = 1.184  # m at 1 m/s; stride = STRIDE · sqrt(speed): 1.35 m at 1.3 m/s, 2.05 m at 3 m/s
TURN_RADIUS = 0.22  # m; turning on the spot at ω steps like walking at ω · this
RUN_FROM = 2.2  # m/s of a body of 1.75 m
STAND_WIDTH = 0.100  # m from the middle to a foot
STANCE_AHEAD = 0.45  # share of the stance before the foot is under the body


@inlined
def smooth(x: float) -> float:
    """0 below 0, 1 above 1, x² (3 - 2 x) between."""
    t = 0.0 if x < 0.0 else (1.0 if x > 1.0 else x)
    return t * t * (3.0 - 2.0 * t)


@inlined
def gait_speed(speed: float, turn_rate: float) -> Any:
    """The speed that sets the gait, m/s: walking and turning together."""
    turning = TURN_RADIUS * turn_rate
    return np.sqrt(speed * speed + turning * turning) + 1e-9


@inlined
def stride_length(speed: float) -> Any:
    """Length of two steps in m of a body of 1.75 m."""
    return STRIDE * np.sqrt(speed)


@inlined
def roll(pitch: float) -> tuple[float, float]:
    """(x, z) of the ankle from where it is when the foot lies flat, as the sole rolls by ``pitch`` (toes down > 0)."""
    if pitch <= 0.0:
        s, c = sincos64(pitch)
        return HEEL_X - (HEEL_X * c - ANKLE * s), -ANKLE - (-HEEL_X * s - ANKLE * c)
    edge = 0.3488  # atan(TOE_LIFT / (TOE_X - BALL_X)): from here on the toe touches
    first = pitch if pitch < edge else edge
    s, c = sincos64(first)
    x = BALL_X - (BALL_X * c - ANKLE * s)
    z = -ANKLE - (-BALL_X * s - ANKLE * c)
    if pitch > edge:
        toe = TOE_LIFT - ANKLE
        s2, c2 = sincos64(pitch)
        x += (TOE_X * c + toe * s) - (TOE_X * c2 + toe * s2)
        z += (-TOE_X * s + toe * c) - (-TOE_X * s2 + toe * c2)
    return x, z


class Gait(NamedTuple):
    """Steady motion of a body of 1.75 m."""

    speed: float  # m/s
    travel: float  # rad: direction of motion from the heading
    turn_rate: float  # rad/s
    pace: float  # m/s: the speed that sets the gait
    period: float  # s
    active: float  # 0 … 1: how much of a gait there is
    run: float  # 0 … 1: how much of it is running
    duty: float  # share of the period that a foot stands
    width: float  # m from the middle to a foot


class FootRoll(NamedTuple):
    """How a foot rolls over and swings: angles at landing and at push-off (rad), and clearance in the swing (m)."""

    heel: float
    push: float
    clear: float


@inlined
def stance_point(tau: float, side: float, gait: Gait) -> FootPoint:
    """(x, y, yaw) of the flat foot in the body's frame, ``tau`` s after it was beside the body."""
    s, c = sincos64(-gait.turn_rate * tau)
    st, ct = sincos64(gait.travel - 0.5 * gait.turn_rate * tau)
    x = -s * side * gait.width - gait.speed * tau * ct
    y = c * side * gait.width - gait.speed * tau * st
    return x, y, -gait.turn_rate * tau + side * 0.10


@inlined
def make_gait(speed: float, travel: float, turn_rate: float) -> Gait:
    """The gait of a body of 1.75 m that moves so."""
    pace = gait_speed(speed, turn_rate)
    active = smooth((pace - 0.03) / 0.45)
    run = smooth((pace - RUN_FROM) / 0.4)
    duty = 0.64 - 0.03 * min(pace, RUN_FROM) - 0.19 * run
    width = STAND_WIDTH - 0.030 * active - 0.025 * run
    return Gait(speed, travel, turn_rate, pace, stride_length(pace) / pace, active, run, duty, width)


@inlined
def foot_position(
    phase: float, side: float, gait: Gait, rolling: FootRoll, planted: FootPoint
) -> tuple[float, float, float, float, float]:
    """(x, y, z of the ankle, yaw, pitch of the foot) in the body's frame. ``planted`` is where the foot stands, or left
    the ground, in that frame; if it is NaN, where steady motion would have it."""
    (px, py, pyaw), (heel, push, clear) = planted, rolling
    period, duty, run, known = gait.period, gait.duty, gait.run, px == px
    if phase < duty:
        share = phase / duty
        pitch = -heel * (1.0 - share / 0.14) if share < 0.14 else 0.0
        if share > 0.55:
            late = (share - 0.55) / 0.45
            pitch = push * late * np.sqrt(late)
        if not known:
            px, py, pyaw = stance_point((phase - STANCE_AHEAD * duty) * period, side, gait)
        dx, dz = roll(pitch)
        s, c = sincos64(pyaw)
        return px + c * dx, py + s * dx, ANKLE + dz, pyaw, pitch
    t = (phase - duty) / (1.0 - duty)
    early = 1.0 - t
    swing = period * (1.0 - duty)
    if not known:
        px, py, pyaw = stance_point((1.0 - STANCE_AHEAD) * duty * period + t * swing, side, gait)
    lx, ly, lyaw = stance_point(-STANCE_AHEAD * duty * period - early * swing, side, gait)
    step = np.sqrt((lx - px) ** 2 + (ly - py) ** 2) + 0.1 * abs(lyaw - pyaw)
    d0, _ = roll(push)
    d1, _ = roll(-heel)
    s, c = sincos64(pyaw)
    px, py = px + c * d0, py + s * d0
    s, c = sincos64(lyaw)
    lx, ly = lx + c * d1, ly + s * d1
    ease = t * t * (3.0 - 2.0 * t)  # leaves and lands at rest in the world
    pitch = push * (1.0 - smooth(t / 0.65)) - heel * smooth((t - 0.45) / 0.55)
    pitch += run * 0.55 * 16.0 * t * t * early * early * early
    _, dz = roll(pitch)
    clear = max(clear, 0.035 * smooth(step / 0.12))
    height = clear * 4.0 * t * early + run * 0.16 * 28.0 * t * t * early * early * early * early
    return px + (lx - px) * ease, py + (ly - py) * ease, ANKLE + dz + height, pyaw + (lyaw - pyaw) * ease, pitch


class Movement(NamedTuple):
    """Where N people are and how they move at one moment, or at T moments."""

    position: Array  # (…, N, 2) float32, m
    velocity: Array  # (…, N, 2) float32, m/s
    heading: Array  # (…, N) float32, rad
    present: Array  # (…, N) bool


X, Y, HEADING, SPEED, TRAVEL, TURN_RATE, PHASE, HEAD_YAW, VX, VY, PRESENT, FEET = range(12)
COLUMNS = FEET + 6  # FEET: x, y, yaw of the left foot, then of the right one, in the world
SPEED_TIME = 0.20  # s, of the filters
TURN_TIME = 0.20
HEADING_TIME, HEADING_TIME_STILL = 0.12, 0.45
HEAD_TIME = 0.10
MAX_TURN = 4.0  # rad/s
MAX_CADENCE = 2.2  # cycles/s: a jump in the record must not make the legs whirl
SETTLE_CADENCE = 0.8  # cycles/s of a step that only closes the feet
SETTLE_FROM = 0.06  # m that a foot may be from where it belongs
MAX_DRIFT = 0.50  # m, at 1.75 m tall: a body that jumps drags its feet along
MAX_LEAD = 1.0  # rad, that the head looks ahead of a turning body


@inlined
def due_foot(row: Array, k: int, scale: float) -> FootPoint:
    """(x, y, yaw) in the world where steady motion would have foot k now, or where it would have left the ground."""
    gait = make_gait(row[SPEED] / scale, row[TRAVEL], row[TURN_RATE])
    share = row[PHASE] + 0.5 * k
    share -= np.floor(share)
    side = 1.0 - 2.0 * k
    x, y, yaw = stance_point((share - STANCE_AHEAD * gait.duty) * gait.period, side, gait)
    s, c = sincos64(row[HEADING])
    return row[X] + scale * (c * x - s * y), row[Y] + scale * (s * x + c * y), row[HEADING] + yaw


@inlined
def plant_feet(row: Array, before: float, scale: float) -> None:
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
def settling(row: Array, pace: float, scale: float) -> float:
    """Cadence in cycles/s of the step that closes the feet of a person who has stopped; 0 if they are together."""
    still = 1.0 - smooth((pace - 0.05) / 0.15)
    s, c = sincos64(row[HEADING])
    worst = 0.0
    for k in range(2):
        out = scale * STAND_WIDTH * (1.0 - 2.0 * k)
        dx, dy = row[FEET + 3 * k] - row[X] + s * out, row[FEET + 3 * k + 1] - row[Y] - c * out
        worst = max(worst, np.sqrt(dx * dx + dy * dy))
    return SETTLE_CADENCE * still if worst > SETTLE_FROM * scale else 0.0


@kernel
def advance_gait(state: Array, now: Movement, dt: float, scale: Array, start_phase: Array) -> None:
    """One step of ``state`` (N, COLUMNS) to the positions, velocities and headings of the next moment."""
    position, velocity = now.position, now.velocity
    for n in range(len(state)):
        row = state[n]
        if not now.present[n]:
            row[PRESENT] = 0.0
            continue
        x, y, vx, vy = float(position[n, 0]), float(position[n, 1]), float(velocity[n, 0]), float(velocity[n, 1])
        wished = float(now.heading[n])
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
def track_gait(track: Array, state: Array, time: Array, moves: Movement, scale: Array, start_phase: Array) -> None:
    """``advance_gait`` over a whole episode; ``track`` (T, N, COLUMNS) gets the state of every moment."""
    for t in range(len(track)):
        dt = time[t] - time[t - 1] if t > 0 else 0.0
        now = Movement(moves.position[t], moves.velocity[t], moves.heading[t], moves.present[t])
        advance_gait(state, now, dt, scale, start_phase)
        for n in range(len(state)):
            for k in range(COLUMNS):
                track[t, n, k] = state[n, k]
