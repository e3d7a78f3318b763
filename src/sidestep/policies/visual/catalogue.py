"""Interfaces of published models by name, and a user's own by file."""

from __future__ import annotations

from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from sidestep.errors import UnknownName
from sidestep.policies.visual.spec import VisualSpec
from sidestep.reading import parse_mapping, read_mapping


@cache
def model_names() -> tuple[str, ...]:
    """Names of the bundled interfaces, in alphabetical order."""
    folder = resources.files(__package__) / "models"
    return tuple(sorted(item.name.removesuffix(".yaml") for item in folder.iterdir() if item.name.endswith(".yaml")))


@cache
def _bundled(name: str) -> VisualSpec:
    text = (resources.files(__package__) / "models" / f"{name}.yaml").read_text(encoding="utf-8")
    return VisualSpec.parse(parse_mapping(text, f"visual model {name}"), where=f"visual model {name}")


def load_spec(reference: str) -> VisualSpec:
    """The interface called ``reference``: a bundled name, or the path of a YAML file."""
    if not reference.lower().endswith((".yaml", ".yml")):
        if reference not in model_names():
            raise UnknownName("visual model", reference, model_names())
        return _bundled(reference)
    path = Path(reference)
    data = read_mapping(path, "model interface", "keys such as image, goal and output")
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
