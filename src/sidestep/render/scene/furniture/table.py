"""Tables and desks: a top as large as the footprint; counters are closed to the floor."""

from __future__ import annotations

import numpy as np

from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing


def add_table(builder: MeshBuilder, thing: Thing) -> None:
    top = min(thing.height, 1.0)
    wood = str(thing.rng.choice(["wood", "wood_dark", "wood_pale"]))
    thing.body(builder, top - 0.04, top, wood, bottom=True)
    if thing.round or not thing.rectangular:
        radius = 0.06 if thing.frame.width < 1.2 else 0.12
        thing.frame.post(builder, (0, 0), (radius, radius), (0.04, top - 0.04), "metal_dark")
        spread = 0.3 * thing.frame.width
        thing.frame.post(builder, (0, 0), (spread, 0.9 * spread), (-0.1, 0.04), "metal_dark", corners=10)
        return
    x, y = thing.frame.length / 2 - 0.04, thing.frame.width / 2 - 0.04
    for sx in (-1, 1):
        for sy in (-1, 1):
            box_x, box_y = sorted((sx * x, sx * (x - 0.06))), sorted((sy * y, sy * (y - 0.06)))
            thing.frame.box(builder, (box_x[0], box_x[1]), (box_y[0], box_y[1]), (-0.1, top - 0.04), wood)


def add_counter(builder: MeshBuilder, thing: Thing) -> None:
    """A reception desk: recessed foot, panelled front, stone top."""
    top = min(max(thing.height, 0.8), 1.3)
    wood = str(thing.rng.choice(["wood", "wood_pale"]))
    thing.body(builder, -0.1, 0.1, "black", inset=0.05)
    thing.body(builder, 0.1, top - 0.05, wood, inset=0.015, bottom=True)
    thing.body(builder, top - 0.05, top, "stone_dark", bottom=True)


def add_chair(builder: MeshBuilder, thing: Thing) -> None:
    """Four legs, seat, back."""
    frame = thing.frame
    half, wide = frame.length / 2, frame.width / 2
    seat = min(0.46, 0.6 * max(thing.height, 0.7))
    wood = str(thing.rng.choice(["wood", "wood_dark", "black"]))
    thing.body(builder, seat - 0.04, seat, wood, bottom=True)
    side = 1.0 if thing.rng.random() < 0.5 else -1.0
    low, high = sorted((side * wide, side * (wide - 0.035)))
    frame.box(builder, (-half + 0.01, half - 0.01), (low, high), (seat, max(thing.height, 0.7)), wood)
    for x in (-half + 0.02, half - 0.06):
        for y in (-wide + 0.02, wide - 0.06):
            frame.box(builder, (x, x + 0.04), (y, y + 0.04), (-0.1, seat - 0.04), wood)


def add_sofa(builder: MeshBuilder, thing: Thing) -> None:
    """A base on the footprint; back and arms where the footprint is a rectangle."""
    fabric = str(thing.rng.choice(["fabric_blue", "fabric_grey", "fabric_rust"]))
    top = max(thing.height, 0.6)
    thing.body(builder, -0.1, 0.08, "wood_dark", inset=0.05)
    thing.body(builder, 0.08, 0.42, fabric, bottom=True)
    frame = thing.frame
    half, wide = frame.length / 2, frame.width / 2
    shape = frame.rectangle(-half, half, -wide, wide)
    missing = shape.difference(thing.polygon)
    back = 1.0
    if missing.area > 0.01:  # an inlet marks the front
        local = (np.asarray(missing.centroid.coords)[0] - (frame.x, frame.y)) @ np.array(
            [-np.sin(frame.angle), np.cos(frame.angle)]
        )
        back = -1.0 if local > 0 else 1.0
    low, high = sorted((back * wide, back * (wide - 0.22)))
    frame.box(builder, (-half, half), (low, high), (0.42, top), fabric)
    front, rear = sorted((-back * wide, back * (wide - 0.22)))
    for x in (-half, half - 0.18):
        frame.box(builder, (x, x + 0.18), (front, rear), (0.42, 0.6), fabric)
