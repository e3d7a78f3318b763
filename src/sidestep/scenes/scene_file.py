"""Scenes in Sidestep's own form: a YAML file whose keys are the fields of ``SceneSpec``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidestep.errors import BadInput
from sidestep.types.scene import SceneSpec


def read_scene(path: Path) -> SceneSpec:
    """Read a scene file; a scene without a name takes the file's."""
    return parse_scene(read_mapping(path), str(path), path.stem)


def parse_scene(data: dict[str, Any], where: str, name: str) -> SceneSpec:
    """Plain data to a scene called ``name`` unless the data says otherwise; unknown keys are errors."""
    return SceneSpec.parse({"name": name, **data}, where)


def read_mapping(path: Path) -> dict[str, Any]:
    """The keys and values of a YAML file."""
    return parse_mapping(read_text(path), str(path))


def read_text(path: Path) -> str:
    """The text of a file, or a ``BadInput`` that says why it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise BadInput(f"{path}: not a text file in UTF-8 (byte {error.start}); save it as UTF-8") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read ({error.strerror}); check the path and its permissions") from None


def parse_mapping(text: str, where: str) -> dict[str, Any]:
    """The keys and values of a YAML text; ``where`` opens the error message."""
    import yaml

    try:
        data = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" line {mark.line + 1}, column {mark.column + 1}:" if mark else ""
        raise BadInput(f"{where}:{line} not valid YAML: {getattr(error, 'problem', None) or error}") from None
    if not isinstance(data, dict):
        raise BadInput(f"{where}: expected keys and values (name, enclosed, regions), got {type(data).__name__}")
    return data
