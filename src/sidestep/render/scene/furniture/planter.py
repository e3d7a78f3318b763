"""Planters, pots and basins: a rim that follows the footprint, filled with shrubs, a plant or water."""

from __future__ import annotations

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing
from sidestep.render.scene.solids import band, blob, flat, polygon_parts, sides


def add_planter(builder: MeshBuilder, thing: Thing) -> None:
    """A stone trough with soil and shrubs."""
    rim = min(thing.height, 0.65)
    _trough(builder, thing, rim, 0.08, str(thing.rng.choice(["stone_pale", "granite", "terracotta"])), "soil")
    frame, rng = thing.frame, thing.rng
    count = max(int(frame.length / 0.7), 1)
    pitch = frame.length / count
    for k in range(count):
        x = -frame.length / 2 + (k + 0.5) * pitch
        wide = 0.42 * min(frame.width, 1.2)
        tall = max(thing.height - rim, 0.35 * frame.width + 0.1) * rng.uniform(0.6, 0.9)
        cx, cy = frame.to_world([(x, 0.0)])[0]
        if not shapely.contains_xy(thing.polygon, cx, cy):
            continue
        material = str(rng.choice(["leaves", "leaves_light", "hedge", "flowers"]))
        size = (min(0.48 * pitch, 0.46 * frame.width + 0.1, wide + 0.1), wide, tall)
        turned = (min(size[0], wide), min(size[0], wide), tall)
        blob(builder, (cx, cy, thing.z + rim + 0.25 * tall), turned, material, Semantic.FURNITURE, rng, 0.25)


def add_pot_plant(builder: MeshBuilder, thing: Thing) -> None:
    """A pot as wide as the footprint, with leaves on a short stem, as wide at most."""
    rng, frame = thing.rng, thing.frame
    rim = min(0.45, 0.4 * thing.height)
    _trough(builder, thing, rim, 0.04, str(rng.choice(["terracotta", "white", "stone_dark"])), "soil")
    radius = 0.48 * frame.width
    frame.post(builder, (0, 0), (0.03, 0.02), (rim - 0.06, rim + 0.3), "bark", corners=5)
    tall = (thing.height - rim) / 2
    leaves = str(rng.choice(["leaves", "leaves_light", "leaves_dark"]))
    middle = thing.z + rim + 0.08 + tall
    blob(builder, (frame.x, frame.y, middle), (radius, radius, tall), leaves, Semantic.FURNITURE, rng, 0.35)


def add_basin(builder: MeshBuilder, thing: Thing) -> None:
    """A basin of water with a low jet stone in the middle."""
    rim = min(max(thing.height, 0.35), 0.7)
    _trough(builder, thing, rim, 0.3, "stone_pale", "water", level=0.12)
    frame = thing.frame
    if frame.width > 2.5:
        frame.post(builder, (0, 0), (0.35, 0.25), (rim - 0.12, 1.0), "stone_pale", corners=10)
        frame.post(builder, (0, 0), (0.25, 0.6), (1.0, 1.25), "stone_pale", corners=10)
        frame.post(builder, (0, 0), (0.1, 0.04), (1.25, 1.7), "stone_pale", corners=8)


def _trough(
    builder: MeshBuilder, thing: Thing, rim: float, wall: float, shell: str, fill: str, level: float = 0.06
) -> None:
    """Outer faces, rim and inner faces down to what fills it."""
    z = thing.z
    inner = thing.polygon.buffer(-wall, join_style="mitre")
    parts = polygon_parts(inner, 0.01)
    sides(builder, thing.polygon, z - 0.1, z + rim, shell, Semantic.FURNITURE, smooth=thing.round)
    if len(parts) != 1:
        flat(builder, thing.polygon, z + rim, fill, Semantic.FURNITURE)
        return
    for ring in polygon_parts(shapely.difference(thing.polygon, parts[0])):
        flat(builder, ring, z + rim, shell, Semantic.FURNITURE)
    for ring in (parts[0].exterior, *parts[0].interiors):
        inward = np.asarray(ring.coords)[:-1][::-1]
        band(builder, inward, inward, z + rim - level, z + rim, shell, Semantic.FURNITURE)
    flat(builder, parts[0], z + rim - level, fill, Semantic.FURNITURE)
