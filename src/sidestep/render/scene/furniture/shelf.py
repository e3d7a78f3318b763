"""Bookcases, cupboards and sideboards against a wall."""

from __future__ import annotations

from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing


def add_bookcase(builder: MeshBuilder, thing: Thing) -> None:
    top = max(thing.height, 1.0)
    thing.body(builder, -0.1, 0.06, "wood_dark", inset=0.01)
    thing.body(builder, 0.06, top - 0.04, "books", inset=0.004)
    thing.body(builder, top - 0.04, top, "wood_dark", bottom=True)


def add_cupboard(builder: MeshBuilder, thing: Thing) -> None:
    """Plinth, doors with dark gaps, top board."""
    top, frame = max(thing.height, 0.5), thing.frame
    wood = str(thing.rng.choice(["wood_pale", "wood", "white"]))
    thing.body(builder, -0.1, 0.08, "wood_dark", inset=0.02)
    if thing.rectangular:
        half, wide = frame.length / 2, frame.width / 2
        doors = max(round(frame.length / 0.55), 1)
        pitch = frame.length / doors
        thing.body(builder, 0.08, top - 0.03, "black", inset=0.012, bottom=True)
        for k in range(doors):
            x = -half + k * pitch
            for y in ((-wide, -wide + 0.011), (wide - 0.011, wide)):
                frame.box(builder, (x + 0.004, x + pitch - 0.004), y, (0.09, top - 0.035), wood, bottom=True)
    else:
        thing.body(builder, 0.08, top - 0.03, wood, bottom=True, inset=0.01)
    thing.body(builder, top - 0.03, top, wood, bottom=True)
