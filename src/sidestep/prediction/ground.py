"""Semantic maps of scenes, and the square windows of them that networks look at."""

from __future__ import annotations

from typing import Any

import numpy as np
from PIL import Image, ImageDraw

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.interactions import GROUND, GroundMap
from sidestep.types.scene import Region, SceneSpec

CLASS_OF_KIND: dict[str, str] = {
    "grass": "grass", "walkable": "sidewalk", "sidewalk": "sidewalk", "verge": "sidewalk", "frontage": "sidewalk",
    "ramp": "sidewalk", "kerb": "sidewalk", "road": "road", "crosswalk": "zebra", "island": "island",
    "building": "building", "obstacle": "building", "furniture": "building",
}  # fmt: skip
"""Kinds of regions → classes of ground, in the order in which they are painted: later ones cover earlier ones."""
MOST_CELLS = 100_000_000


def draw_ground(scene: SceneSpec, cell_m: float = 0.1, margin_m: float = 0.0) -> GroundMap:
    """The map of a scene's regions, from their lowest to their highest corner and ``margin_m`` beyond."""
    if not scene.regions:
        raise BadInput(f"scene {scene.name}: a semantic map needs regions")
    corners = np.concatenate([np.array(region.polygon) for region in scene.regions])
    low = np.floor((corners.min(axis=0) - margin_m) / cell_m) * cell_m
    nx, ny = np.ceil((corners.max(axis=0) + margin_m - low) / cell_m).astype(int).tolist()
    if nx * ny > MOST_CELLS:
        raise BadInput(f"scene {scene.name}: {nx} × {ny} cells are too many; take a larger cell_m than {cell_m:g}")
    canvas = Image.new("L", (nx, ny), 0)
    order = list(CLASS_OF_KIND)
    for region in sorted(scene.regions, key=lambda region: order.index(region.kind)):
        _paint(canvas, region, low, cell_m)
    return GroundMap(np.asarray(canvas), (float(low[0]), float(low[1])), cell_m)


def _paint(canvas: Image.Image, region: Region, low: FloatArray, cell_m: float) -> None:
    def pixels(ring: Any) -> list[tuple[float, float]]:
        return [(float(x), float(y)) for x, y in (np.array(ring) - low) / cell_m - 0.5]

    mask = Image.new("1", canvas.size, 0)
    draw = ImageDraw.Draw(mask)
    draw.polygon(pixels(region.polygon), fill=1)
    for hole in region.holes:
        draw.polygon(pixels(hole), fill=0)
    canvas.paste(GROUND.index(CLASS_OF_KIND[region.kind]), mask=mask)


def crop_ground(ground: GroundMap, centre: FloatArray, turn: FloatArray, cells: int, span_m: float) -> IntArray:
    """(S, cells, cells) uint8: square windows of ``span_m`` around ``centre (S, 2)``, turned by ``turn (S,)`` rad.

    Column j and row i of a window look along x and y of a frame that is turned counter-clockwise by ``turn`` from the
    world's. What lies beyond the map is unknown.
    """
    offsets = (np.arange(cells) + 0.5) * (span_m / cells) - span_m / 2
    cosine, sine = np.cos(turn)[:, None, None], np.sin(turn)[:, None, None]
    x, y = offsets[None, None, :], offsets[None, :, None]
    points = np.stack(
        [centre[:, 0, None, None] + cosine * x - sine * y, centre[:, 1, None, None] + sine * x + cosine * y], axis=-1
    )
    return ground.at(points)
