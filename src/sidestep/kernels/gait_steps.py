"""Where a foot is in its step: stride, stance, roll and swing of one leg, in the frame of the body.

Lengths are those of a body of 1.75 m. A cycle begins when the left heel meets the ground; the right leg is half a cycle
later. A leg stands for the share ``duty`` of the cycle. While it does, its foot moves in the frame of the body exactly
against the motion of the body (along, sideways and turning), so it stays where it is in the world; it lands on the
heel, lies flat, and rolls over ball and toe, none of which slides.
"""

import numpy as np

from sidestep.kernels.approx import sincos64
from sidestep.kernels.jit import inlined

ANKLE = 0.085
HEEL_X, BALL_X, TOE_X, TOE_LIFT = -0.075, 0.125, 0.180, 0.020
STRIDE = 1.184  # m at 1 m/s; stride = STRIDE · sqrt(speed): 1.35 m at 1.3 m/s, 2.05 m at 3 m/s
TURN_RADIUS = 0.22  # m; turning on the spot at ω steps like walking at ω · this
RUN_FROM = 2.2  # m/s of a body of 1.75 m
STAND_WIDTH = 0.100  # m from the middle to a foot
STANCE_AHEAD = 0.45  # share of the stance before the foot is under the body


@inlined
def smooth(x):
    """0 below 0, 1 above 1, x² (3 - 2 x) between."""
    t = 0.0 if x < 0.0 else (1.0 if x > 1.0 else x)
    return t * t * (3.0 - 2.0 * t)


@inlined
def gait_speed(speed, turn_rate):
    """The speed that sets the gait, m/s: walking and turning together."""
    turning = TURN_RADIUS * turn_rate
    return np.sqrt(speed * speed + turning * turning) + 1e-9


@inlined
def stride_length(speed):
    """Length of two steps in m of a body of 1.75 m."""
    return STRIDE * np.sqrt(speed)


@inlined
def roll(pitch):
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


@inlined
def stance_point(tau, side, width, speed, travel, turn_rate):
    """(x, y, yaw) of the flat foot in the body's frame, ``tau`` s after it was beside the body."""
    s, c = sincos64(-turn_rate * tau)
    st, ct = sincos64(travel - 0.5 * turn_rate * tau)
    x = -s * side * width - speed * tau * ct
    y = c * side * width - speed * tau * st
    return x, y, -turn_rate * tau + side * 0.10


@inlined
def gait_shape(speed, turn_rate):
    """(pace, period in s, how much of a gait there is, how much of it is running, duty, foot to middle in m)."""
    pace = gait_speed(speed, turn_rate)
    active = smooth((pace - 0.03) / 0.45)
    run = smooth((pace - RUN_FROM) / 0.4)
    duty = 0.64 - 0.03 * min(pace, RUN_FROM) - 0.19 * run
    return pace, stride_length(pace) / pace, active, run, duty, STAND_WIDTH - 0.030 * active - 0.025 * run


@inlined
def foot_place(
    phase, side, speed, travel, turn_rate, period, duty, width, heel, push, clear, run, planted, px, py, pyaw
):
    """(x, y, z of the ankle, yaw, pitch of the foot) in the body's frame. ``planted``: the foot stands, or left the
    ground, at (px, py, pyaw) in that frame; otherwise where steady motion would have it."""
    if phase < duty:
        share = phase / duty
        pitch = -heel * (1.0 - share / 0.14) if share < 0.14 else 0.0
        if share > 0.55:
            late = (share - 0.55) / 0.45
            pitch = push * late * np.sqrt(late)
        if not planted:
            px, py, pyaw = stance_point((phase - STANCE_AHEAD * duty) * period, side, width, speed, travel, turn_rate)
        dx, dz = roll(pitch)
        s, c = sincos64(pyaw)
        return px + c * dx, py + s * dx, ANKLE + dz, pyaw, pitch
    t = (phase - duty) / (1.0 - duty)
    early = 1.0 - t
    swing = period * (1.0 - duty)
    if not planted:
        px, py, pyaw = stance_point(
            (1.0 - STANCE_AHEAD) * duty * period + t * swing, side, width, speed, travel, turn_rate
        )  # fmt: skip
    lx, ly, lyaw = stance_point(-STANCE_AHEAD * duty * period - early * swing, side, width, speed, travel, turn_rate)
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
