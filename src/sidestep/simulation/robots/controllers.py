"""Any command on any robot: how it is written down, and the low-level controller that makes it native.

=================  =======================  ============================  ============================
command            holonomic → (vx, vy)     unicycle → (v, ω)             bicycle → (v, steer)
=================  =======================  ============================  ============================
Velocity           v along θ + ω dt         as it is                      atan(ω wheelbase / v)
HolonomicVelocity  as it is                 PD on the heading             pursuit of the direction
Position           straight there           PD on the heading             pure pursuit
Waypoints          to the look-ahead point  PD to the look-ahead point    pursuit of the look-ahead
Drive              as Velocity              ω = steer · max_turn_rate     steer · max_steer
Native             as it is                 as it is                      as it is
=================  =======================  ============================  ============================

* PD on the heading: ``ω = heading_p · e - heading_d · ω_now``, e the angle from the heading to the wished
  direction. The derivative is taken of the robot's own heading, so that a new target gives no kick. Forward
  speed is ``s cos e`` for a wished speed s, and zero beyond 90°: the robot turns on the spot.
* Pure pursuit (Coulter, CMU-RI-TR-92-01, 1992): ``steer = atan(2 wheelbase sin e / distance)``, at a speed
  that keeps the acceleration sideways below ``SIDEWAYS_ACCELERATION``. A target behind is turned to at full
  lock; one behind and inside the turning circle is given up: the vehicle stops, it does not shunt.
* Position: speed = distance / time until the policy is asked again. A position that is given twice in a row
  or held for longer is a set point: approached no faster than the robot can brake and turn to it.
* Waypoints: speed = ``speed_p`` · metres left, no faster than the robot can brake and turn; within
  ``ARRIVED_M`` of the end it stands.
* Drive: acceleration = throttle · max_acceleration - brake · max_deceleration; where a spec has no such
  limit, full throttle takes 1 s from rest to top speed and full brake 0.5 s back. Without either, speed is
  kept. A brake never makes it reverse.
* A holonomic robot faces where it goes, so it does not drive backwards on Velocity or Drive, and turns
  while it creeps.

Numbers that the *policy* chose go through unlimited, so that the dynamics note the limit they hit; what the
controllers add (turn rates, speeds towards waypoints) stays within the limits by itself. Square roots only, no
library trigonometry: the same bits on every machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, sqrt

from sidestep._util import exact
from sidestep.kernels.dynamics import MOVING_SPEED, heading_to, turn_to, unit_vector
from sidestep.types.command import (
    COMMAND_KINDS,
    Command,
    Drive,
    HolonomicVelocity,
    Native,
    Position,
    Velocity,
    Waypoints,
)
from sidestep.types.observation import RobotState
from sidestep.types.robot import RobotSpec

_KIND: dict[type, int] = {kind: index for index, kind in enumerate(COMMAND_KINDS)}


def encode_command(command: Command) -> tuple[int, float, float, float]:
    """(kind, a, b, c) for the episode record; of waypoints the first point and how many there are."""
    kind = _KIND[type(command)]
    match command:
        case Velocity(v, omega):
            return kind, float(v), float(omega), 0.0
        case HolonomicVelocity(vx, vy):
            return kind, float(vx), float(vy), 0.0
        case Position(x, y):
            return kind, float(x), float(y), 0.0
        case Waypoints(points):
            return kind, float(points[0][0]), float(points[0][1]), float(len(points))
        case Drive(steer, throttle, brake):
            return kind, float(steer), float(throttle), float(brake)
        case Native(first, second):
            return kind, float(first), float(second), 0.0


Point = tuple[float, float]


def clip(value: float, low: float, high: float) -> float:
    """``value`` brought into [low, high]."""
    return low if value < low else high if value > high else value


def stopping_speed(distance: float, deceleration: float, dt: float) -> float:
    """The highest speed from which a robot still stops within ``distance`` after driving one step at it, m/s.

    The root of ``v dt + v² / (2 a) = d``: ``v = a (sqrt(dt² + 2 d / a) - dt)``, and ``d / dt`` without a
    limit on braking.
    """
    if deceleration == inf:
        return distance / dt
    return deceleration * (sqrt(dt * dt + 2.0 * distance / deceleration) - dt)


def look_ahead(path: Sequence[Point], x: float, y: float, ahead: float) -> tuple[float, float, float]:
    """The point of a polyline that lies ``ahead`` (m, along it) of the point nearest to (x, y): (its x, its
    y, metres left).

    Metres left are those to the path and along it to its end; past the end the look-ahead point is the end.
    """
    nearest = inf
    segment, along = 0, 0.0
    lengths = []
    for i in range(len(path) - 1):
        (ax, ay), (bx, by) = path[i], path[i + 1]
        ex, ey = bx - ax, by - ay
        square = ex * ex + ey * ey
        lengths.append(sqrt(square))
        t = clip(((x - ax) * ex + (y - ay) * ey) / square, 0.0, 1.0) if square > 0.0 else 0.0
        off_x, off_y = ax + t * ex - x, ay + t * ey - y
        off = off_x * off_x + off_y * off_y
        if off < nearest:
            nearest, segment, along = off, i, t
    left = sqrt(nearest) + lengths[segment] * (1.0 - along) + float(exact.total(lengths[segment + 1 :]))
    ahead += lengths[segment] * along
    while segment < len(lengths) - 1 and ahead > lengths[segment]:
        ahead -= lengths[segment]
        segment += 1
    (ax, ay), (bx, by) = path[segment], path[segment + 1]
    if ahead >= lengths[segment]:
        return bx, by, left
    share = ahead / lengths[segment]
    return ax + share * (bx - ax), ay + share * (by - ay), left


ARRIVED_M = 0.05
"""Within this of the last waypoint a robot stands."""
SETTLED_M = 0.005
"""Within this of a set point a robot that has to turn to it leaves it at that."""
CREEP_SPEED = 1.05 * MOVING_SPEED
"""Speed at which a holonomic robot that is commanded to turn on the spot moves instead, m/s."""
SIDEWAYS_ACCELERATION = 3.0
"""What the controller of a bicycle allows in a turn, m/s²: brisk driving on a dry road."""
PREVIEW_S = 1.0
"""A bicycle looks at least so far ahead, s."""
SPEED_UP_S, BRAKE_S, STEER_RATE = 1.0, 0.5, 1.0
"""Drive on a spec without limits: seconds from rest to top speed and back, and rad/s at full steer."""

Pair = tuple[float, float]


def _or(limit: float | None, otherwise: float) -> float:
    return otherwise if limit is None else limit


def _speed(state: RobotState) -> float:
    return sqrt(state.vx * state.vx + state.vy * state.vy)


class CommandConverter:
    """Turns the commands of one policy into native pairs for one robot, one simulation step of ``dt`` at a
    time.

    ``hold_steps`` is the number of steps that a command is meant to hold: a Position is reached at their end.
    """

    def __init__(self, spec: RobotSpec, dt: float, hold_steps: int = 1) -> None:
        limits = spec.limits
        self._dynamics = spec.dynamics
        self._gains = spec.controller
        self._dt = dt
        self._hold_steps = hold_steps
        self._max_speed = limits.max_speed
        self._turn_limit = _or(limits.max_turn_rate, inf)
        self._braking = _or(limits.max_deceleration, inf)
        self._drive_up = _or(limits.max_acceleration, limits.max_speed / SPEED_UP_S)
        self._drive_down = _or(limits.max_deceleration, limits.max_speed / BRAKE_S)
        self._drive_turn = _or(limits.max_turn_rate, STEER_RATE)
        lags = (spec.actuators.steer_lag_s, spec.actuators.throttle_lag_s, spec.actuators.brake_lag_s)
        self._lag_shares = tuple(dt / (dt + lag) for lag in lags)
        self._rolling, self._drag = spec.actuators.rolling_mps2, spec.actuators.drag_per_m
        self._wheelbase = _or(spec.wheelbase, 0.0)
        self._lock = _or(limits.max_steer, 0.0)
        lock_x, lock_y = unit_vector(self._lock)
        self._turning_circle = 2.0 * self._wheelbase * lock_x / lock_y if self._lock else 0.0
        self.reset()

    def reset(self) -> None:
        """Forget the last command: a new episode begins."""
        self._command: Command | None = None
        self._target: Point | None = None
        self._is_set_point = False
        self._path: list[Point] = []
        self._steps_left = 0
        self._pedals = [0.0, 0.0, 0.0]  # steer, throttle, brake as they are at the wheels

    def to_native(self, command: Command, state: RobotState, fresh: bool | None = None) -> Pair:
        """The native pair of this step. ``command`` has passed ``checked_command``.

        ``fresh`` says whether the policy has just given the command or it is held from an earlier step:
        waypoints are in the frame of the robot where they were given. Left out, a command is fresh unless
        it is the same object as last time.
        """
        if command is not self._command if fresh is None else fresh:
            self._accept(command, state)
        self._steps_left -= 1
        match command:  # numbers may come as int or float32, for which numba would compile anew
            case Velocity(v, omega):
                return self._with_body_velocity(float(v), float(omega), state)
            case HolonomicVelocity(vx, vy):
                return self._with_velocity(float(vx), float(vy), state)
            case Position(x, y):
                return self._to_position(float(x), float(y), state)
            case Waypoints():
                return self._along_path(state)
            case Drive(steer, throttle, brake):
                return self._driven(float(steer), float(throttle), float(brake), state)
            case Native(first, second):
                return float(first), float(second)

    def _accept(self, command: Command, state: RobotState) -> None:
        self._command = command
        self._steps_left = self._hold_steps
        target = (command.x, command.y) if isinstance(command, Position) else None
        self._is_set_point = target is not None and target == self._target
        self._target = target
        if isinstance(command, Waypoints):
            cosine, sine = unit_vector(state.heading)
            x, y = state.x, state.y
            rows = command.points.tolist() if hasattr(command.points, "tolist") else command.points
            self._path = [(x, y)]
            self._path += [(x + cosine * px - sine * py, y + sine * px + cosine * py) for px, py in rows]

    def _with_body_velocity(self, v: float, omega: float, state: RobotState) -> Pair:
        """Drive at speed v along the heading while turning at ω."""
        if self._dynamics == "unicycle":
            return v, omega
        if self._dynamics == "bicycle":
            wanted = omega * self._wheelbase
            return v, heading_to(abs(v), wanted if v >= 0.0 else -wanted)
        omega = clip(omega, -self._turn_limit, self._turn_limit)
        speed = max(v, 0.0 if omega == 0.0 else CREEP_SPEED)
        cosine, sine = unit_vector(state.heading + omega * self._dt)
        return speed * cosine, speed * sine

    def _with_velocity(self, vx: float, vy: float, state: RobotState) -> Pair:
        """Move with a velocity over ground."""
        if self._dynamics == "holonomic":
            return vx, vy
        return self._towards(vx, vy, sqrt(vx * vx + vy * vy), inf, state)

    def _towards(self, dx: float, dy: float, speed: float, distance: float, state: RobotState) -> Pair:
        """Go in direction (dx, dy) at ``speed``; ``distance`` to the target, infinite for a mere
        direction."""
        length = sqrt(dx * dx + dy * dy)
        if length < 1e-9 or speed <= 0.0:
            return 0.0, 0.0
        if self._dynamics == "holonomic":
            return speed * dx / length, speed * dy / length
        cosine, sine = unit_vector(state.heading)
        ahead = (dx * cosine + dy * sine) / length
        left = (dy * cosine - dx * sine) / length
        if self._dynamics == "bicycle":
            return self._pursue(ahead, left, speed, distance, state)
        omega = self._gains.heading_p * turn_to(dx, dy, state.heading) - self._gains.heading_d * state.omega
        omega = clip(omega, -self._turn_limit, self._turn_limit)
        if ahead <= 0.0:
            return 0.0, omega
        on_arc = self._turn_limit * distance / (2.0 * abs(left)) if left else inf
        return min(speed * ahead, on_arc), omega

    def _pursue(self, ahead: float, left: float, speed: float, distance: float, state: RobotState) -> Pair:
        """Steer a bicycle to a target whose direction has cosine ``ahead`` and sine ``left``."""
        curvature = 2.0 / self._turning_circle
        if ahead < 0.0:
            if distance < self._turning_circle:
                return 0.0, 0.0
            steer = self._lock if left >= 0.0 else -self._lock
        else:
            if distance == inf:
                distance = max(self._gains.lookahead_m, PREVIEW_S * _speed(state))
            reach = max(distance, self._wheelbase)
            curvature = min(2.0 * abs(left) / reach, curvature)
            steer = clip(heading_to(reach, 2.0 * self._wheelbase * left), -self._lock, self._lock)
        in_turn = sqrt(SIDEWAYS_ACCELERATION / curvature) if curvature > 0.0 else inf
        return min(speed, in_turn), steer

    def _to_position(self, x: float, y: float, state: RobotState) -> Pair:
        dx, dy = x - state.x, y - state.y
        distance = sqrt(dx * dx + dy * dy)
        speed = distance / (max(self._steps_left + 1, 1) * self._dt)
        if not self._is_set_point and self._steps_left >= 0:
            return self._towards(dx, dy, speed, inf, state)
        if distance < SETTLED_M and self._dynamics != "holonomic":
            return 0.0, 0.0
        speed = min(speed, self._max_speed, stopping_speed(distance, self._braking, self._dt))
        return self._towards(dx, dy, speed, distance, state)

    def _along_path(self, state: RobotState) -> Pair:
        ahead = self._gains.lookahead_m
        if self._dynamics == "bicycle":
            ahead = max(ahead, PREVIEW_S * _speed(state))
        x, y, left = look_ahead(self._path, state.x, state.y, ahead)
        if left < ARRIVED_M:
            return 0.0, 0.0
        dx, dy = x - state.x, y - state.y
        speed = min(self._gains.speed_p * left, self._max_speed, stopping_speed(left, self._braking, self._dt))
        return self._towards(dx, dy, speed, sqrt(dx * dx + dy * dy), state)

    def _driven(self, steer: float, throttle: float, brake: float, state: RobotState) -> Pair:
        wanted = (clip(steer, -1.0, 1.0), clip(throttle, 0.0, 1.0), clip(brake, 0.0, 1.0))
        for k, share in enumerate(self._lag_shares):
            self._pedals[k] += (wanted[k] - self._pedals[k]) * share
        steer = self._pedals[0] if self._lag_shares[0] < 1.0 else steer  # beyond the limit: the dynamics note it
        cosine, sine = unit_vector(state.heading)
        speed = state.vx * cosine + state.vy * sine + self._pedals[1] * self._drive_up * self._dt
        slower = (self._pedals[2] * self._drive_down + self._rolling + self._drag * speed * speed) * self._dt
        speed = max(speed - slower, 0.0) if speed >= 0.0 else min(speed + slower, 0.0)
        speed = min(speed, self._max_speed)
        if self._dynamics == "bicycle":
            return speed, steer * self._lock
        return self._with_body_velocity(speed, steer * self._drive_turn, state)
