"""Town names in scenario files: ``town:NAME`` and ``town:NAME@x0,y0,x1,y1``."""

from __future__ import annotations

import re

from sidestep.errors import BadInput
from sidestep.scenes.towns.make import make_town
from sidestep.types.scene import SceneSpec

PREFIX = "town:"


def resolve_town(reference: str) -> SceneSpec:
    """The window of a town that ``reference`` names; without a box the whole town."""
    name, at, box = reference.removeprefix(PREFIX).partition("@")
    seed = re.fullmatch(r"town-(\d+)", name)
    town = make_town(int(seed[1]) if seed else name)
    if not at:
        return town.window()
    try:
        x0, y0, x1, y1 = (float(value) for value in box.split(","))
    except ValueError:
        raise BadInput(f"scene {reference}: a window is town:NAME@x0,y0,x1,y1 in metres, got {box!r}") from None
    return town.window((x0, y0, x1, y1))
