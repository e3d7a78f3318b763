"""Robots by name or by file."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path

from sidestep.errors import BadInput, UnknownName
from sidestep.reading import parse_mapping, read_mapping
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
