"""Interfaces of published models by name, and a user's own by file."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import yaml

from sidestep.errors import BadInput, UnknownName
from sidestep.policies.visual.spec import VisualSpec


@cache
def model_names() -> tuple[str, ...]:
    """Names of the bundled interfaces, in alphabetical order."""
    folder = resources.files(__package__) / "models"
    return tuple(sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml")))


@cache
def _bundled(name: str) -> VisualSpec:
    text = (resources.files(__package__) / "models" / f"{name}.yaml").read_text(encoding="utf-8")
    return VisualSpec.parse(yaml.safe_load(text), where=f"visual model {name}")


def load_spec(reference: str) -> VisualSpec:
    """The interface called ``reference``: a bundled name, or the path of a YAML file."""
    if not reference.lower().endswith((".yaml", ".yml")):
        if reference not in model_names():
            raise UnknownName("visual model", reference, model_names())
        return _bundled(reference)
    path = Path(reference)
    try:
        data: Any = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise BadInput(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise BadInput(f"{path}: is not valid YAML: {error}") from error
    if not isinstance(data, dict):
        raise BadInput(f"{path}: an interface has keys such as image, goal and output")
    return VisualSpec.parse({"name": path.stem, **data}, where=str(path))


def model_rows() -> list[dict[str, Any]]:
    """Name, goal, picture, rate and number of pictures of each bundled interface, for tables."""
    return [
        {
            "name": spec.name,
            "goal": spec.goal.kind,
            "picture": f"{spec.image.width}x{spec.image.height}",
            "rate_hz": spec.image.rate_hz,
            "frames": spec.image.history.frames,
            "summary": spec.summary,
        }
        for spec in map(_bundled, model_names())
    ]
