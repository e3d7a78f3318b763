"""What a policy may answer. The robot spec limits each; limits applied are recorded."""

from __future__ import annotations

from dataclasses import dataclass

from sidestep.types.base import FloatArray


@dataclass(frozen=True, slots=True)
class Velocity:
    """Forward speed v (m/s) and turn rate ω (rad/s, counter-clockwise)."""

    v: float
    omega: float


@dataclass(frozen=True, slots=True)
class HolonomicVelocity:
    """Velocity in the world frame (m/s)."""

    vx: float
    vy: float


@dataclass(frozen=True, slots=True)
class Position:
    """Where to be after this step, world frame (m). A holonomic robot goes straight there within its speed limit."""

    x: float
    y: float


@dataclass(frozen=True, slots=True)
class Waypoints:
    """Points to pass, (K, 2) in the robot's frame (x ahead, y left, m), followed by the robot's PD controller."""

    points: FloatArray


@dataclass(frozen=True, slots=True)
class Drive:
    """Car controls: steer in [-1, 1] (positive left), throttle and brake in [0, 1]."""

    steer: float
    throttle: float
    brake: float


Command = Velocity | HolonomicVelocity | Position | Waypoints | Drive

COMMAND_KINDS: tuple[type, ...] = (Velocity, HolonomicVelocity, Position, Waypoints, Drive)
"""The index of a command's type here is its code in the episode record."""
