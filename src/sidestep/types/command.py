"""What a policy may answer. The robot spec limits each; limits applied are recorded."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray


@dataclass(frozen=True, slots=True)
class Velocity:
    """Forward speed v (m/s) and turn rate ω (rad/s, counter-clockwise)."""

    v: float  # forward speed, m/s
    omega: float  # turn rate, rad/s


@dataclass(frozen=True, slots=True)
class HolonomicVelocity:
    """Velocity in the world frame (m/s)."""

    vx: float  # velocity along x, m/s
    vy: float  # velocity along y, m/s


@dataclass(frozen=True, slots=True)
class Position:
    """Where to be after this step, world frame (m). A holonomic robot goes straight there within its speed limit."""

    x: float  # target, m
    y: float  # target, m


@dataclass(frozen=True, slots=True)
class Waypoints:
    """Points to pass, (K, 2) in the robot's frame (x ahead, y left, m), followed by the robot's PD controller."""

    points: FloatArray  # (K, 2) m in the frame of the robot


@dataclass(frozen=True, slots=True)
class Drive:
    """Car controls: steer in [-1, 1] (positive left), throttle and brake in [0, 1]."""

    steer: float  # −1 (right) to 1 (left)
    throttle: float  # 0 to 1
    brake: float  # 0 to 1


@dataclass(frozen=True, slots=True)
class Native:
    """The command of the robot's own dynamics, as it is: (vx, vy) in the world frame of a holonomic robot, (v, ω) of a
    unicycle, (v, steering angle) of a bicycle; m/s, rad/s, rad."""

    first: float  # vx or v, m/s
    second: float  # vy, m/s; ω, rad/s; or the steering angle, rad


Command = Velocity | HolonomicVelocity | Position | Waypoints | Drive | Native

COMMAND_KINDS: tuple[type, ...] = (Velocity, HolonomicVelocity, Position, Waypoints, Drive, Native)
"""The index of a command's type here is its code in the episode record."""

LARGEST = 1e6
"""Numbers of a command beyond this are an error: no robot means them, and their squares leave what floats can hold."""

MOST_WAYPOINTS = 10_000
_ALLOWED = ", ".join(kind.__name__ for kind in COMMAND_KINDS)
NUMBERS: dict[type, tuple[str, ...]] = {
    Velocity: ("v", "omega"),
    HolonomicVelocity: ("vx", "vy"),
    Position: ("x", "y"),
    Drive: ("steer", "throttle", "brake"),
    Native: ("first", "second"),
}
"""The fields of the commands that are plain numbers."""


def checked_command(command: Any) -> Command:
    """The command with plain floats; ``BadInput`` unless it is one with usable numbers of the right shape.

    Numbers beyond a robot's limits are fine: the dynamics limit them, and the record says so.
    """
    kind = type(command)
    names = NUMBERS.get(kind)
    if names is not None:
        values = [getattr(command, name) for name in names]
        numbers = [_number(kind.__name__, name, value) for name, value in zip(names, values, strict=True)]
        plain: Command = command if all(type(value) is float for value in values) else kind(*numbers)
        return plain
    if isinstance(command, Waypoints):
        return Waypoints(_points(command.points))
    raise BadInput(f"a policy must return one of {_ALLOWED}; got {_shown(command)}")


def _number(kind: str, name: str, value: Any) -> float:
    try:
        number = float(value)
    except Exception:  # whatever a number of somebody's own making raises
        raise BadInput(f"{kind}.{name} must be one number, got {_shown(value)}") from None
    if isinstance(value, str | bytes):
        raise BadInput(f"{kind}.{name} must be one number, got {_shown(value)}")
    if not isfinite(number):
        raise BadInput(f"{kind}.{name} is {number}; commands must be finite")
    if abs(number) > LARGEST:
        raise BadInput(f"{kind}.{name} is {number:g}; numbers of a command are at most {LARGEST:g}")
    return number


def _points(points: Any) -> FloatArray:
    try:
        array = np.array(points, dtype=np.float64)
    except Exception:  # whatever an array of somebody's own making raises
        raise BadInput(f"Waypoints.points must be numbers of shape (K, 2), got {_shown(points)}") from None
    if array.ndim != 2 or array.shape[1] != 2:
        raise BadInput(f"Waypoints.points must have shape (K, 2), got {array.shape}")
    if not len(array):
        raise BadInput("Waypoints.points is empty; to stand still return Velocity(0.0, 0.0)")
    if len(array) > MOST_WAYPOINTS:
        raise BadInput(f"Waypoints.points has {len(array)} points; at most {MOST_WAYPOINTS} are taken")
    if not np.isfinite(array).all():
        raise BadInput(f"Waypoints.points has values that are not finite: {array.tolist()!r:.120}")
    if np.abs(array).max() > LARGEST:
        raise BadInput(f"Waypoints.points has values beyond {LARGEST:g}: {array.tolist()!r:.120}")
    array.flags.writeable = False
    return array


def _shown(value: Any) -> str:
    """Type and value for a message; the type alone where the value cannot be shown."""
    try:
        return f"{type(value).__name__} {value!r:.60}"
    except Exception:
        return f"{type(value).__name__}"
