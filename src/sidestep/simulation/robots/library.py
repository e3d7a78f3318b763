"""Robots by name or by file, and a robot spec as the numbers that kernels and action spaces take."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from sidestep._util.reading import bundled_names, read_bundled, read_mapping
from sidestep.errors import BadInput, UnknownName
from sidestep.kernels import dynamics
from sidestep.simulation.robots.urdf import robot_from_urdf
from sidestep.types.base import FloatArray
from sidestep.types.robot import DynamicsName, RobotSpec

SPECS = "sidestep.simulation.robots/specs"


@cache
def robot_names() -> tuple[str, ...]:
    """Names of the bundled robots, in alphabetical order."""
    return tuple(bundled_names(SPECS))


@cache
def _bundled(name: str) -> RobotSpec:
    return RobotSpec.parse(read_bundled(SPECS, name), where=f"robot {name}")


def load_robot(reference: str | RobotSpec, dynamics: DynamicsName | None = None, base: Path | None = None) -> RobotSpec:
    """The robot called ``reference``: a bundled name, a path to a YAML or URDF file, or a spec itself.

    ``dynamics`` replaces the spec's own, as in a holonomic Pioneer that is moved by positions. A URDF file
    says nothing about limits: it becomes a robot of 1 m/s and 1 rad/s, unicycle unless ``dynamics`` says
    otherwise. Relative paths start from ``base``.
    """
    folder = base or Path()
    if isinstance(reference, RobotSpec):
        spec = reference
    elif reference.lower().endswith(".urdf"):
        return robot_from_urdf(folder / reference, dynamics=dynamics or "unicycle")
    elif reference.lower().endswith((".yaml", ".yml")):
        path = folder / reference
        data = read_mapping(path, "robot file", "keys such as name, dynamics, footprint and limits")
        spec = RobotSpec.parse({"name": path.stem, **data}, where=str(path))
    elif reference in robot_names():
        spec = _bundled(reference)
    elif "/" in reference or "\\" in reference:
        raise BadInput(f"{reference!r:.200}: a robot file ends in .yaml or .urdf")
    else:
        raise UnknownName("robot", reference, robot_names())
    if dynamics is None or dynamics == spec.dynamics:
        return spec
    return RobotSpec.parse({**spec.model_dump(), "dynamics": dynamics}, where=f"robot {spec.name} as {dynamics}")


DYNAMICS_CODES: dict[DynamicsName, int] = {
    "holonomic": dynamics.HOLONOMIC,
    "unicycle": dynamics.UNICYCLE,
    "bicycle": dynamics.BICYCLE,
}

UNLIMITED_TURN_RATE = float(np.pi)
"""Bound of an action space where a spec has no ``max_turn_rate``, rad/s."""


def pack_limits(spec: RobotSpec) -> FloatArray:
    """The limits of ``spec``, (LIMIT_ROWS,) float64 in the order of ``sidestep.kernels.dynamics``; infinite
    where none."""
    limits = spec.limits
    if spec.dynamics == "bicycle" and (limits.max_steer or 0.0) > dynamics.STEEPEST_STEER:
        raise BadInput(
            f"robot {spec.name!r}: limits.max_steer is {limits.max_steer} rad; "
            f"a front wheel turns by {dynamics.STEEPEST_STEER} rad at most (are these degrees?)"
        )
    packed = np.full(dynamics.LIMIT_ROWS, np.inf)
    for row, value in (
        (dynamics.LIMIT_MAX_SPEED, limits.max_speed),
        (dynamics.LIMIT_MIN_SPEED, limits.min_speed),
        (dynamics.LIMIT_MAX_TURN_RATE, limits.max_turn_rate),
        (dynamics.LIMIT_MAX_ACCELERATION, limits.max_acceleration),
        (dynamics.LIMIT_MAX_DECELERATION, limits.max_deceleration),
        (dynamics.LIMIT_MAX_TURN_ACCELERATION, limits.max_turn_acceleration),
        (dynamics.LIMIT_MAX_STEER, limits.max_steer),
        (dynamics.LIMIT_MAX_STEER_RATE, limits.max_steer_rate),
        (dynamics.LIMIT_WHEELBASE, spec.wheelbase),
    ):
        packed[row] = np.inf if value is None else value
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


def action_scale(robots: Sequence[RobotSpec]) -> tuple[FloatArray, FloatArray]:
    """Middle and half of the range of each robot's native command, (R, 2) float64: an action in [-1, 1] means the
    command ``middle + half * action``."""
    bounds = np.array([native_bounds(robot) for robot in robots])  # (R, 2, 2)
    return bounds.mean(axis=1), (bounds[:, 1] - bounds[:, 0]) / 2
