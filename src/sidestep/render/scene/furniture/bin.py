"""A litter bin: body, dark opening, lid."""

from __future__ import annotations

from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing


def add_bin(builder: MeshBuilder, thing: Thing) -> None:
    top = min(max(thing.height, 0.8), 1.3)
    shell = str(thing.rng.choice(["metal_green", "metal_dark", "metal"]))
    thing.body(builder, -0.1, 0.06, "metal_dark", inset=0.02)
    thing.body(builder, 0.06, top - 0.28, shell, bottom=True)
    thing.body(builder, top - 0.28, top - 0.1, "black", inset=0.04)
    thing.body(builder, top - 0.1, top, shell, bottom=True)
