"""Scenes in Sidestep's own form: a YAML file whose keys are the fields of ``SceneSpec``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidestep.reading import read_mapping as read_keys
from sidestep.types.scene import SceneSpec

KEYS = "keys and values (name, enclosed, regions)"


def read_scene(path: Path) -> SceneSpec:
    """Read a scene file; a scene without a name takes the file's."""
    return parse_scene(read_mapping(path), str(path), path.stem)


def parse_scene(data: dict[str, Any], where: str, name: str) -> SceneSpec:
    """Plain data to a scene called ``name`` unless the data says otherwise; unknown keys are errors."""
    return SceneSpec.parse({"name": name, **data}, where)


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a scene's YAML file."""
    return read_keys(path, "scene file", KEYS)
