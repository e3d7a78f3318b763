"""How far it is to the edge of the sidewalk and to the next solid thing, near the robot."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from scipy.ndimage import distance_transform_edt

from sidestep.kernels.lane_plan import fill_polygon
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
        """(n, n) which cells of the tile at ``origin`` are in a region; a hole of one does not cut another."""
        size = round(TILE_M / CELL_M) + 1
        whole = np.zeros((size, size), bool)
        near = self._tree.query(shapely.box(*origin, *(origin + TILE_M)))
        for index in sorted(near.tolist()):
            region = self._regions[index]
            own = whole if not region.holes else np.zeros((size, size), bool)
            _fill(own, region.polygon, origin)
            if region.holes:
                holes = np.zeros((size, size), bool)
                for hole in region.holes:
                    _fill(holes, hole, origin)
                whole |= own & ~holes
        return whole


def _fill(mask: BoolArray, ring: tuple[tuple[float, float], ...], origin: FloatArray) -> None:
    cells = np.trunc((np.array(ring) - origin) / CELL_M).astype(np.int64)
    fill_polygon(mask, cells, np.empty(2 * len(cells)))
