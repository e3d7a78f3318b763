"""Robots by name or by file, and a robot spec as the numbers that kernels and action spaces take."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

import numpy as np

from sidestep.errors import BadInput, UnknownName
from sidestep.kernels import dynamics
from sidestep.reading import parse_mapping, read_mapping
from sidestep.types.base import FloatArray
from sidestep.types.robot import DynamicsName, RobotSpec

_YAML = (".yaml", ".yml")


@cache
def robot_names() -> tuple[str, ...]:
    """Names of the bundled robots, in alphabetical order."""
    folder = resources.files("sidestep.robots") / "specs"
    return tuple(sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml")))


@cache
def _bundled(name: str) -> RobotSpec:
    text = (resources.files("sidestep.robots") / "specs" / f"{name}.yaml").read_text(encoding="utf-8")
    return RobotSpec.parse(parse_mapping(text, f"robot {name}"), where=f"robot {name}")


def _read_yaml(path: Path) -> RobotSpec:
    data = read_mapping(path, "robot file", "keys such as name, dynamics, footprint and limits")
    return RobotSpec.parse({"name": path.stem, **data}, where=str(path))


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
        from sidestep.robots.urdf import robot_from_urdf  # brings scipy, which nothing else here needs

        return robot_from_urdf(folder / reference, dynamics=dynamics or "unicycle")
    elif reference.lower().endswith(_YAML):
        spec = _read_yaml(folder / reference)
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
