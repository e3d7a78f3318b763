"""What a policy answered: is it a usable command, and how is it written down."""

from __future__ import annotations

from math import isfinite
from typing import Any

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.command import (
    COMMAND_KINDS,
    Command,
    Drive,
    HolonomicVelocity,
    Position,
    Velocity,
    Waypoints,
)

_ALLOWED = ", ".join(kind.__name__ for kind in COMMAND_KINDS)
_NUMBERS: dict[type, tuple[str, ...]] = {
    Velocity: ("v", "omega"),
    HolonomicVelocity: ("vx", "vy"),
    Position: ("x", "y"),
    Drive: ("steer", "throttle", "brake"),
}
_KIND: dict[type, int] = {kind: index for index, kind in enumerate(COMMAND_KINDS)}


def _check_number(kind: str, name: str, value: Any) -> None:
    try:
        finite = isfinite(value)
    except (TypeError, ValueError, OverflowError):
        raise BadInput(f"{kind}.{name} must be one number, got {type(value).__name__} {value!r:.60}") from None
    if not finite:
        raise BadInput(f"{kind}.{name} is {value}; commands must be finite")


def _check_points(points: Any) -> None:
    try:
        array = np.asarray(points, dtype=np.float64)
    except (TypeError, ValueError):
        raise BadInput(f"Waypoints.points must be numbers of shape (K, 2), got {points!r:.60}") from None
    if array.ndim != 2 or array.shape[1] != 2:
        raise BadInput(f"Waypoints.points must have shape (K, 2), got {array.shape}")
    if not len(array):
        raise BadInput("Waypoints.points is empty; to stand still answer Velocity(0.0, 0.0)")
    if not np.isfinite(array).all():
        raise BadInput(f"Waypoints.points has values that are not finite: {array.tolist()!r:.120}")


def check_command(command: object) -> None:
    """Raise ``BadInput`` unless ``command`` is a command with finite numbers of the right shape.

    Numbers beyond a robot's limits are fine: the dynamics limit them, and the record says so.
    """
    names = _NUMBERS.get(type(command))
    if names is not None:
        for name in names:
            _check_number(type(command).__name__, name, getattr(command, name))
    elif isinstance(command, Waypoints):
        _check_points(command.points)
    else:
        raise BadInput(f"a policy must answer one of {_ALLOWED}; got {type(command).__name__} {command!r:.60}")


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
