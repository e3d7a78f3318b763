"""A robot spec as the numbers that kernels and action spaces take."""

from __future__ import annotations

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels import dynamics
from sidestep.types.base import FloatArray
from sidestep.types.robot import DynamicsName, RobotSpec

DYNAMICS_CODES: dict[DynamicsName, int] = {
    "holonomic": dynamics.HOLONOMIC,
    "unicycle": dynamics.UNICYCLE,
    "bicycle": dynamics.BICYCLE,
}

UNLIMITED_TURN_RATE = float(np.pi)
"""Bound of an action space where a spec has no ``max_turn_rate``, rad/s."""


def _or_infinite(limit: float | None) -> float:
    return float("inf") if limit is None else limit


def pack_limits(spec: RobotSpec) -> FloatArray:
    """The limits of ``spec``, (LIMIT_ROWS,) float64 in the order of ``sidestep.kernels.dynamics``; infinite
    where none."""
    limits = spec.limits
    if spec.dynamics == "bicycle" and (limits.max_steer or 0.0) > dynamics.STEEPEST_STEER:
        raise BadInput(
            f"robot {spec.name!r}: limits.max_steer is {limits.max_steer} rad; "
            f"a front wheel turns by {dynamics.STEEPEST_STEER} rad at most (are these degrees?)"
        )
    packed = np.empty(dynamics.LIMIT_ROWS)
    packed[dynamics.LIMIT_MAX_SPEED] = limits.max_speed
    packed[dynamics.LIMIT_MIN_SPEED] = limits.min_speed
    packed[dynamics.LIMIT_MAX_TURN_RATE] = _or_infinite(limits.max_turn_rate)
    packed[dynamics.LIMIT_MAX_ACCELERATION] = _or_infinite(limits.max_acceleration)
    packed[dynamics.LIMIT_MAX_DECELERATION] = _or_infinite(limits.max_deceleration)
    packed[dynamics.LIMIT_MAX_TURN_ACCELERATION] = _or_infinite(limits.max_turn_acceleration)
    packed[dynamics.LIMIT_MAX_STEER] = _or_infinite(limits.max_steer)
    packed[dynamics.LIMIT_MAX_STEER_RATE] = _or_infinite(limits.max_steer_rate)
    packed[dynamics.LIMIT_WHEELBASE] = _or_infinite(spec.wheelbase)
    return packed


def native_bounds(spec: RobotSpec) -> tuple[FloatArray, FloatArray]:
    """(low, high), each (2,) float64, of the native command: (vx, vy), (v, ω) or (v, steer). Always
    finite."""
    limits = spec.limits
    if spec.dynamics == "holonomic":
        high = np.array([limits.max_speed, limits.max_speed])
        return -high, high
    if spec.dynamics == "unicycle":
        turn = UNLIMITED_TURN_RATE if limits.max_turn_rate is None else limits.max_turn_rate
    else:
        assert limits.max_steer is not None
        turn = limits.max_steer
    slowest = max(limits.min_speed, -limits.max_speed)
    return np.array([slowest, -turn]), np.array([limits.max_speed, turn])
