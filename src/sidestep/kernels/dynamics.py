"""How a robot moves: one step of holonomic, unicycle and bicycle kinematics under limits.

A command is the pair that is native to the dynamics; it is limited first and then holds for the whole step,
so that the path inside a step is a straight line or one exact circular arc:

=========  =========================  =================================================================
dynamics   command (a, b)             equations
=========  =========================  =================================================================
holonomic  vx, vy (m/s, world frame)  x' = vx, y' = vy; the heading turns to the direction of motion
unicycle   v (m/s), ω (rad/s)         x' = v cos θ, y' = v sin θ, θ' = ω
bicycle    v (m/s), steer δ (rad)     as unicycle, ω = v tan δ / wheelbase; (x, y) is the rear axle
=========  =========================  =================================================================

Limits are a row of ``LIMIT_ROWS`` numbers, infinite where there is none. Speeds reach their wish within
``max_acceleration``, or ``max_deceleration`` while they fall. What each limit means where it is not obvious:

* ``max_speed`` bounds the norm of a holonomic velocity and the speed of the others in both directions, so
  that a robot never moves further than ``max_speed * dt`` in a step. ``min_speed`` (zero or negative)
  bounds driving backwards.
* Holonomic: the change of the velocity *vector* is limited, by ``max_deceleration`` where it has a part
  against the motion. ``max_turn_rate`` only slows the heading; the motion itself goes where it was
  commanded. Without it the heading jumps. Below ``MOVING_SPEED`` the heading stays.
  ``max_turn_acceleration`` has no meaning.
* Bicycle: ``max_turn_rate`` lets the vehicle understeer: ω is cut, the wheel angle stays. Its turn
  acceleration follows from ``max_steer_rate``.

Source: Siegwart, Nourbakhsh, Scaramuzza, "Introduction to Autonomous Mobile Robots", 2nd ed. (2011),
chapter 3; Rajamani, "Vehicle Dynamics and Control", 2nd ed. (2012), section 2.2 (kinematic bicycle).
"""

from __future__ import annotations

import math

from sidestep.kernels.approx import atan2_64, sincos64, tan64, wrap_angle
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray

# a robot's state, float64
ROBOT_X, ROBOT_Y, ROBOT_HEADING = 0, 1, 2  # m, m, rad in (-π, π]
ROBOT_VX, ROBOT_VY, ROBOT_OMEGA = 3, 4, 5  # velocity over ground at the end of the step, world frame; turn rate
ROBOT_V = 6  # signed speed along the heading
ROBOT_STEER = 7  # front wheel angle of a bicycle, rad, positive left; 0 for the others
ROBOT_ROWS = 8

# a robot's limits, float64
LIMIT_MAX_SPEED, LIMIT_MIN_SPEED = 0, 1
LIMIT_MAX_TURN_RATE = 2
LIMIT_MAX_ACCELERATION, LIMIT_MAX_DECELERATION = 3, 4
LIMIT_MAX_TURN_ACCELERATION = 5
LIMIT_MAX_STEER, LIMIT_MAX_STEER_RATE = 6, 7
LIMIT_WHEELBASE = 8
LIMIT_ROWS = 9

HOLONOMIC, UNICYCLE, BICYCLE = 0, 1, 2

# bits of what advance_robot returns, as in sidestep.types.record.LIMIT_NAMES
LIMITED_SPEED, LIMITED_TURN_RATE, LIMITED_ACCELERATION = 1, 2, 4
LIMITED_TURN_ACCELERATION, LIMITED_STEER = 8, 16

MOVING_SPEED = 0.01  # m/s, above which a holonomic robot faces where it goes
SLACK = 1e-9  # a limit counts as applied when it changes a command by more than this
LARGEST_COMMAND = 1e6  # commands are cut here first, so that no product overflows
STEEPEST_STEER = 1.5  # rad; the tangent stays finite whatever max_steer says
SERIES_ANGLE = 0.01  # rad, below which sin(h) / h is a series: its first term left out is 3e-22


@inlined
def _clip(value: float, low: float, high: float) -> float:
    return low if value < low else (high if value > high else value)


@inlined
def _sinc(h: float) -> float:
    """sin(h) / h."""
    if abs(h) < SERIES_ANGLE:
        square = h * h
        return 1.0 - square / 6.0 * (1.0 - square / 20.0 * (1.0 - square / 42.0))
    return sincos64(h)[0] / h


@inlined
def _approach_from_rest_or_ahead(v: float, wish: float, acceleration: float, deceleration: float, dt: float) -> float:
    """``approach_speed`` for v >= 0."""
    if wish >= v:
        fastest = v + acceleration * dt
        return wish if wish < fastest else fastest
    slowest = v - deceleration * dt
    if slowest >= 0.0:
        return wish if wish > slowest else slowest
    if wish >= 0.0:
        return wish
    backwards = -acceleration * (dt - v / deceleration)  # what is left of the step after stopping
    return wish if wish > backwards else backwards


@inlined
def approach_speed(v: float, wish: float, acceleration: float, deceleration: float, dt: float) -> float:
    """The speed nearest to ``wish`` that can be reached from ``v`` in ``dt``: brake first, then speed up."""
    if v < 0.0:
        return -_approach_from_rest_or_ahead(-v, -wish, acceleration, deceleration, dt)
    return _approach_from_rest_or_ahead(v, wish, acceleration, deceleration, dt)


@inlined
def _move_on_arc(state: FloatArray, v: float, omega: float, dt: float) -> None:
    """Drive the arc of speed v and turn rate ω: chord v dt sin(h)/h in direction θ + h, with h = ω dt / 2."""
    half = 0.5 * omega * dt
    chord = v * dt * _sinc(half)
    sine, cosine = sincos64(state[ROBOT_HEADING] + half)
    state[ROBOT_X] += chord * cosine
    state[ROBOT_Y] += chord * sine
    heading = wrap_angle(state[ROBOT_HEADING] + omega * dt)
    sine, cosine = sincos64(heading)
    state[ROBOT_HEADING] = heading
    state[ROBOT_VX] = v * cosine
    state[ROBOT_VY] = v * sine
    state[ROBOT_OMEGA] = omega
    state[ROBOT_V] = v


@inlined
def _limited_speed(v: float, wish: float, limits: FloatArray, dt: float) -> tuple[float, int]:
    """(speed of this step, bits) of a robot that drives along its heading."""
    fastest = limits[LIMIT_MAX_SPEED]
    slowest = limits[LIMIT_MIN_SPEED]
    slowest = -fastest if slowest < -fastest else slowest
    allowed = _clip(wish, slowest, fastest)
    speed = approach_speed(v, allowed, limits[LIMIT_MAX_ACCELERATION], limits[LIMIT_MAX_DECELERATION], dt)
    speed = _clip(speed, slowest, fastest)  # matters only where the state came in too fast
    bits = LIMITED_SPEED if abs(allowed - wish) > SLACK else 0
    if abs(speed - allowed) > SLACK:
        bits |= LIMITED_ACCELERATION
    return speed, bits


@inlined
def _advance_unicycle(
    state: FloatArray, v: float, omega: float, limits: FloatArray, dt: float, applied: FloatArray
) -> int:
    speed, bits = _limited_speed(state[ROBOT_V], v, limits, dt)
    fastest = limits[LIMIT_MAX_TURN_RATE]
    allowed = _clip(omega, -fastest, fastest)
    if abs(allowed - omega) > SLACK:
        bits |= LIMITED_TURN_RATE
    change = limits[LIMIT_MAX_TURN_ACCELERATION] * dt
    turn_rate = _clip(allowed, state[ROBOT_OMEGA] - change, state[ROBOT_OMEGA] + change)
    turn_rate = _clip(turn_rate, -fastest, fastest)
    if abs(turn_rate - allowed) > SLACK:
        bits |= LIMITED_TURN_ACCELERATION
    _move_on_arc(state, speed, turn_rate, dt)
    applied[0], applied[1] = speed, turn_rate
    return bits


@inlined
def _advance_bicycle(
    state: FloatArray, v: float, steer: float, limits: FloatArray, dt: float, applied: FloatArray
) -> int:
    speed, bits = _limited_speed(state[ROBOT_V], v, limits, dt)
    lock = limits[LIMIT_MAX_STEER]
    lock = STEEPEST_STEER if lock > STEEPEST_STEER else lock
    change = limits[LIMIT_MAX_STEER_RATE] * dt
    angle = _clip(_clip(steer, -lock, lock), state[ROBOT_STEER] - change, state[ROBOT_STEER] + change)
    angle = _clip(angle, -lock, lock)
    if abs(angle - steer) > SLACK:
        bits |= LIMITED_STEER
    omega = speed * tan64(angle) / limits[LIMIT_WHEELBASE]
    fastest = limits[LIMIT_MAX_TURN_RATE]
    turn_rate = _clip(omega, -fastest, fastest)
    if abs(turn_rate - omega) > SLACK:
        bits |= LIMITED_TURN_RATE
    _move_on_arc(state, speed, turn_rate, dt)
    state[ROBOT_STEER] = angle
    applied[0], applied[1] = speed, angle
    return bits


@inlined
def _shortened(x: float, y: float, longest: float) -> tuple[float, float, bool]:
    """(vector cut to the length ``longest``, whether that changed it)."""
    length = math.sqrt(x * x + y * y)
    if length <= longest:
        return x, y, False
    scale = longest / length
    return x * scale, y * scale, length - longest > SLACK


@inlined
def _face_motion(state: FloatArray, vx: float, vy: float, limits: FloatArray, dt: float) -> int:
    """Turn the heading of a holonomic robot towards its motion; returns bits."""
    bits = 0
    turn = 0.0
    if vx * vx + vy * vy > MOVING_SPEED * MOVING_SPEED:
        wish = wrap_angle(atan2_64(vy, vx) - state[ROBOT_HEADING])
        most = limits[LIMIT_MAX_TURN_RATE] * dt
        turn = _clip(wish, -most, most)
        bits = LIMITED_TURN_RATE if abs(turn - wish) > SLACK else 0
    heading = wrap_angle(state[ROBOT_HEADING] + turn)
    sine, cosine = sincos64(heading)
    state[ROBOT_HEADING] = heading
    state[ROBOT_OMEGA] = turn / dt
    state[ROBOT_V] = vx * cosine + vy * sine
    return bits


@inlined
def _advance_holonomic(
    state: FloatArray, vx: float, vy: float, limits: FloatArray, dt: float, applied: FloatArray
) -> int:
    old_x, old_y = state[ROBOT_VX], state[ROBOT_VY]
    vx, vy, cut = _shortened(vx, vy, limits[LIMIT_MAX_SPEED])
    bits = LIMITED_SPEED if cut else 0
    change_x, change_y = vx - old_x, vy - old_y
    braking = change_x * old_x + change_y * old_y < 0.0
    most = limits[LIMIT_MAX_DECELERATION] if braking else limits[LIMIT_MAX_ACCELERATION]
    short_x, short_y, cut = _shortened(change_x, change_y, most * dt)
    if cut:
        bits |= LIMITED_ACCELERATION
    if short_x != change_x or short_y != change_y:
        vx, vy, _ = _shortened(old_x + short_x, old_y + short_y, limits[LIMIT_MAX_SPEED])
    state[ROBOT_X] += vx * dt
    state[ROBOT_Y] += vy * dt
    state[ROBOT_VX], state[ROBOT_VY] = vx, vy
    applied[0], applied[1] = vx, vy
    return bits | _face_motion(state, vx, vy, limits, dt)


@kernel
def advance_robot(
    dynamics: int, state: FloatArray, a: float, b: float, limits: FloatArray, dt: float, applied: FloatArray
) -> int:
    """Move one robot by one step, in place; returns the limits that were applied as bits.

    ``state (ROBOT_ROWS,)``, ``limits (LIMIT_ROWS,)`` and ``applied (2,)`` (out: the command as executed)
    are float64. A step of no length changes nothing.
    """
    if dt <= 0.0:
        if dynamics == HOLONOMIC:
            applied[0], applied[1] = state[ROBOT_VX], state[ROBOT_VY]
        else:
            applied[0] = state[ROBOT_V]
            applied[1] = state[ROBOT_OMEGA] if dynamics == UNICYCLE else state[ROBOT_STEER]
        return 0
    a = _clip(a, -LARGEST_COMMAND, LARGEST_COMMAND)
    b = _clip(b, -LARGEST_COMMAND, LARGEST_COMMAND)
    if dynamics == HOLONOMIC:
        return _advance_holonomic(state, a, b, limits, dt, applied)
    if dynamics == UNICYCLE:
        return _advance_unicycle(state, a, b, limits, dt, applied)
    return _advance_bicycle(state, a, b, limits, dt, applied)


@kernel
def heading_to(dx: float, dy: float) -> float:
    """Direction of the vector (dx, dy), rad in (-π, π], the same bits on every machine."""
    return atan2_64(dy, dx)


@kernel
def turn_to(dx: float, dy: float, heading: float) -> float:
    """How far to turn (rad, counter-clockwise) to face along (dx, dy)."""
    return wrap_angle(atan2_64(dy, dx) - heading)


@kernel
def unit_vector(heading: float) -> tuple[float, float]:
    """(cos, sin) of a heading."""
    sine, cosine = sincos64(heading)
    return cosine, sine
