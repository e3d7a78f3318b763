"""Scene files in Sidestep's own form, YAML whose keys are the fields of ``SceneSpec``, and the floor plans that come
with Sidestep: one such file each in this folder. A new file here is a new plan.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidestep._util.reading import bundled_names, read_bundled
from sidestep._util.reading import read_mapping as read_keys
from sidestep.errors import UnknownName
from sidestep.types.scene import SceneSpec

KEYS = "keys and values (name, enclosed, regions)"


def parse_scene(data: dict[str, Any], where: str, name: str) -> SceneSpec:
    """Plain data to a scene called ``name`` unless the data says otherwise; unknown keys are errors."""
    return SceneSpec.parse({"name": name, **data}, where)


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a scene's YAML file."""
    return read_keys(path, "scene file", KEYS)


def plan_names() -> list[str]:
    """Names of the bundled floor plans, sorted."""
    return bundled_names(__name__)


def load_plan(name: str) -> SceneSpec:
    """The bundled floor plan called ``name``; an unknown name is an error with the nearest known ones."""
    if name not in plan_names():
        raise UnknownName("floor plan", name, plan_names())
    return parse_scene(read_bundled(__name__, name, KEYS), f"floor plan {name}", name)
