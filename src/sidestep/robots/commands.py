"""What a policy answered: is it a usable command, and how is it written down."""

from __future__ import annotations

from sidestep.types.command import (
    COMMAND_KINDS,
    Command,
    Drive,
    HolonomicVelocity,
    Position,
    Velocity,
    Waypoints,
    checked_command,
)

_KIND: dict[type, int] = {kind: index for index, kind in enumerate(COMMAND_KINDS)}


def check_command(command: object) -> None:
    """Raise ``BadInput`` unless ``command`` is a command with usable numbers (``types.command.checked_command``)."""
    checked_command(command)


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
