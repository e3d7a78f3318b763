"""Town names in scenario files: ``town:NAME``, ``town:NAME@x0,y0,x1,y1`` and ``town:NAME/long/NUMBER``."""

from __future__ import annotations

import re

from sidestep.errors import BadInput
from sidestep.scenes.towns.kept import keep, read_kept
from sidestep.scenes.towns.long_routes import long_scene
from sidestep.scenes.towns.make import make_town
from sidestep.types.scene import SceneSpec

PREFIX = "town:"


def resolve_town(reference: str) -> SceneSpec:
    """The window of a town that ``reference`` names; without a box the whole town."""
    kept = read_kept(reference)
    return keep(reference, _make(reference)) if kept is None else kept


def _make(reference: str) -> SceneSpec:
    name, at, box = reference.removeprefix(PREFIX).partition("@")
    name, long, number = name.partition("/long/")
    seed = re.fullmatch(r"town-([0-9]{1,9})", name)
    town = make_town(int(seed[1]) if seed else name)
    if long:
        if not re.fullmatch(r"[0-9]{1,9}", number):
            raise BadInput(f"scene {reference:.80}: a long route is town:NAME/long/NUMBER, got {number!r:.40}")
        return long_scene(town, int(number))
    if not at:
        return town.window()
    try:
        x0, y0, x1, y1 = (float(value) for value in box.split(","))
    except ValueError:
        raise BadInput(f"scene {reference:.80}: a window is town:NAME@x0,y0,x1,y1 in metres, got {box!r:.80}") from None
    return town.window((x0, y0, x1, y1))
