"""Floor plans that come with Sidestep, one YAML scene file each; a new file here is a new plan."""

from __future__ import annotations

from importlib.resources import files

from sidestep.errors import UnknownName
from sidestep.reading import parse_mapping
from sidestep.scenes.scene_file import KEYS, parse_scene
from sidestep.types.scene import SceneSpec

SUFFIX = ".yaml"


def plan_names() -> list[str]:
    """Names of the bundled floor plans, sorted."""
    return sorted(item.name.removesuffix(SUFFIX) for item in files(__name__).iterdir() if item.name.endswith(SUFFIX))


def load_plan(name: str) -> SceneSpec:
    """The bundled floor plan called ``name``; an unknown name is an error with the nearest known ones."""
    if name not in plan_names():
        raise UnknownName("floor plan", name, plan_names())
    text = files(__name__).joinpath(name + SUFFIX).read_text(encoding="utf-8")
    where = f"floor plan {name}"
    return parse_scene(parse_mapping(text, where, KEYS), where, name)
