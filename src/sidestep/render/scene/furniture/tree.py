"""A tree: a trunk on the footprint, boughs and leaves above head height."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import HEAD_ROOM, Thing
from sidestep.render.scene.solids import blob, sides, taper


def add_tree(builder: MeshBuilder, thing: Thing) -> None:
    rng, frame = thing.rng, thing.frame
    height = max(thing.height, 4.0) * rng.uniform(0.95, 1.2)
    fork = HEAD_ROOM + 0.1
    sides(builder, thing.polygon, thing.z - 0.1, thing.z + fork, "bark", Semantic.TREE, smooth=True)
    low = np.asarray(shapely.geometry.polygon.orient(thing.polygon, 1.0).exterior.coords)[:-1]
    middle = low.mean(axis=0)
    high = middle + 0.45 * (low - middle)
    taper(builder, low, high, thing.z + fork, thing.z + 0.75 * height, "bark", Semantic.TREE)
    leaves = str(rng.choice(["leaves", "leaves_light", "leaves_dark"]))
    room = height - fork
    spread = min(max(0.33 * height, 1.0), 2.2) * rng.uniform(0.85, 1.1)
    turn = rng.uniform(0, 2 * np.pi)
    for k in range(3):
        angle = turn + 2.1 * k
        radius = spread * rng.uniform(0.6, 0.75)
        tall = min(radius, 0.42 * room)
        x = frame.x + 0.45 * spread * np.cos(angle)
        y = frame.y + 0.45 * spread * np.sin(angle)
        z = thing.z + fork + tall + 0.1 * room * k
        blob(builder, (x, y, z), (radius, radius, tall), leaves, Semantic.TREE, rng, 0.3, 1)
    tall = 0.36 * room
    crown = (spread * 0.7, spread * 0.7, tall)
    blob(builder, (frame.x, frame.y, thing.z + height - 0.8 * tall), crown, leaves, Semantic.TREE, rng, 0.28, 1)
