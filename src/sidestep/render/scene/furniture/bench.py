"""Benches: boards on supports, with a back where the height asks for one."""

from __future__ import annotations

import numpy as np

from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing


def add_bench(builder: MeshBuilder, thing: Thing) -> None:
    seat = min(thing.height, 0.46)
    wood = str(thing.rng.choice(["wood", "wood_dark", "wood_pale"]))
    support = str(thing.rng.choice(["metal_dark", "stone_dark"]))
    if not thing.rectangular:
        thing.body(builder, -0.1, seat - 0.06, support, inset=0.06)
        thing.body(builder, seat - 0.06, seat, wood, bottom=True)
        return
    frame = thing.frame
    half, wide = frame.length / 2, frame.width / 2
    boards = max(round(frame.width / 0.12), 2)
    edges = np.linspace(-wide, wide, boards + 1)
    gap = 0.008
    for k in range(boards):
        low = edges[k] + (gap if k else 0.0)
        high = edges[k + 1] - (gap if k < boards - 1 else 0.0)
        frame.box(builder, (-half, half), (low, high), (seat - 0.045, seat), wood, bottom=True)
    places = np.linspace(-half + 0.25, half - 0.25, max(int(frame.length / 1.6) + 1, 2))
    for x in places:
        frame.box(builder, (x - 0.05, x + 0.05), (-wide + 0.03, wide - 0.03), (-0.1, seat - 0.045), support)
    if thing.height > 0.6:
        for foot in np.arange(seat + 0.08, thing.height - 0.09, 0.14):
            frame.box(builder, (-half, half), (wide - 0.05, wide - 0.01), (foot, foot + 0.1), wood, bottom=True)
        for x in places:
            frame.box(builder, (x - 0.03, x + 0.03), (wide - 0.01, wide), (seat, thing.height), support)
