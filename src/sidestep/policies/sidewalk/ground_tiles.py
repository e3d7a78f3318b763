"""How far it is to the edge of the sidewalk and to the next solid thing, near the robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from PIL import Image, ImageDraw
from scipy.ndimage import distance_transform_edt

from sidestep.types.base import BoolArray, FloatArray
from sidestep.types.scene import OPEN, SOLID, Region, SceneSpec

LANES = frozenset({"sidewalk", "crosswalk", "ramp", "walkable"})
"""Ground that a sidewalk robot drives on."""
CELL_M = 0.1
TILE_M = 30.0
REACH_M = 9.0
"""A tile is used while the robot is so far from its border."""
FAR_M = 5.0


@dataclass(frozen=True, eq=False)
class Tile:
    """Two distance fields about one place, first value at ``origin``."""

    origin: FloatArray  # (2,) m
    ground: FloatArray  # (n, n) distance to the edge of the ground, negative off it, m
    free: FloatArray  # (n, n) distance to the next solid, 0 inside, m

    def holds(self, x: float, y: float) -> bool:
        """Whether (x, y) is far enough from the border."""
        low = min(x - self.origin[0], y - self.origin[1])
        high = max(x - self.origin[0], y - self.origin[1])
        return bool(low >= REACH_M and high <= TILE_M - REACH_M)


class GroundTiles:
    """Draws tiles of one scene where the robot goes."""

    def __init__(self, scene: SceneSpec) -> None:
        self._scene = scene
        lanes = [region for region in scene.regions if region.kind in LANES]
        self._everywhere = not lanes
        solids = [region for region in scene.regions if region.kind in SOLID]
        ground = [region for region in scene.regions if region.kind in OPEN] if scene.enclosed else []
        self._lanes, self._solids, self._inside = (_Drawn(part) for part in (lanes, solids, ground))
        self._tile: Tile | None = None

    def at(self, x: float, y: float) -> Tile:
        """The tile to use at (x, y)."""
        if self._tile is None or not self._tile.holds(x, y):
            self._tile = self._draw(x, y)
        return self._tile

    def _draw(self, x: float, y: float) -> Tile:
        origin = np.array([x - TILE_M / 2, y - TILE_M / 2])
        solid = self._solids.mask(origin)
        if self._scene.enclosed:
            solid |= ~self._inside.mask(origin)
        lane = ~solid if self._everywhere else self._lanes.mask(origin) & ~solid
        return Tile(origin, _inside_distance(lane) - _inside_distance(~lane), _inside_distance(~solid))


def _inside_distance(mask: BoolArray) -> FloatArray:
    """(n, n) distance of the cells of ``mask`` to its edge, m; 0 outside, and ``FAR_M`` where there is no edge."""
    if mask.all():
        return np.full(mask.shape, FAR_M)
    distance: FloatArray = np.maximum(distance_transform_edt(mask) - 0.5, 0.0) * CELL_M
    return distance


class _Drawn:
    """Regions that can be drawn into a tile."""

    def __init__(self, regions: list[Region]) -> None:
        self._regions = regions
        self._tree = shapely.STRtree([shapely.Polygon(region.polygon) for region in regions])

    def mask(self, origin: FloatArray) -> BoolArray:
        size = round(TILE_M / CELL_M) + 1
        image = Image.new("1", (size, size))
        draw = ImageDraw.Draw(image)
        near = self._tree.query(shapely.box(*origin, *(origin + TILE_M)))
        holes = []
        for index in sorted(near.tolist()):
            region = self._regions[index]
            draw.polygon(_pixels(region.polygon, origin), fill=1)
            holes += [_pixels(hole, origin) for hole in region.holes]
        if not holes:
            return np.array(image, bool)
        return self._with_holes(origin, size, sorted(near.tolist()))

    def _with_holes(self, origin: FloatArray, size: int, near: list[int]) -> BoolArray:
        """Each region by itself, so that a hole of one does not cut another."""
        whole = np.zeros((size, size), bool)
        for index in near:
            image = Image.new("1", (size, size))
            draw = ImageDraw.Draw(image)
            draw.polygon(_pixels(self._regions[index].polygon, origin), fill=1)
            for hole in self._regions[index].holes:
                draw.polygon(_pixels(hole, origin), fill=0)
            whole |= np.array(image, bool)
        return whole


def _pixels(ring: tuple[tuple[float, float], ...], origin: FloatArray) -> list[tuple[float, float]]:
    return [((x - float(origin[0])) / CELL_M, (y - float(origin[1])) / CELL_M) for x, y in ring]
