"""What a town is made of: polygons of ground and of solids with a tree to find those in a window, the things that
stand about (collected as rows and turned into footprints all at once), and the regions of a window.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely

from sidestep._util import exact
from sidestep.scenes.walkways import OBSTACLES, footprints
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.scene import SOLID, Region

KERB_HEIGHT = 0.12  # m above the road; ramps rise as much


@dataclass
class PieceList:
    """Polygons while a town is made. ``rings`` waits until all are known: making them at once is faster."""

    kinds: list[str] = field(default_factory=list)
    names: list[str] = field(default_factory=list)
    heights: list[float] = field(default_factory=list)  # NaN: none
    blocks: list[int] = field(default_factory=list)
    shapes: list[Any] = field(default_factory=list)  # a ring (K, 2), or a shapely polygon

    def add(self, kind: str, shape: Any, block: int, name: str = "", height: float = np.nan) -> None:
        """One polygon; ``shape`` is its outline or a shapely polygon."""
        self.kinds.append(kind)
        self.names.append(name)
        self.heights.append(height)
        self.blocks.append(block)
        self.shapes.append(shape)

    def strip(self, kind: str, one: FloatArray, other: FloatArray, block: int, name: str = "") -> None:
        """The ground between two lines ``(K, 2)`` of the same direction."""
        if len(one) > 1:
            height = KERB_HEIGHT if kind == "kerb" else np.nan
            self.add(kind, np.concatenate([one, other[::-1]]), block, name, height)

    def finish(self) -> Pieces:
        """All polygons, ready to search."""
        rings = [index for index, shape in enumerate(self.shapes) if isinstance(shape, np.ndarray)]
        polygons = np.empty(len(self.shapes), dtype=object)
        if rings:
            coordinates = np.concatenate([self.shapes[index] for index in rings])
            owner = np.repeat(np.arange(len(rings)), [len(self.shapes[index]) for index in rings])
            polygons[rings] = shapely.polygons(shapely.linearrings(coordinates, indices=owner))
        for index, shape in enumerate(self.shapes):
            if not isinstance(shape, np.ndarray):
                polygons[index] = shape
        return Pieces(
            tuple(self.kinds), tuple(self.names), np.array(self.heights), np.array(self.blocks, np.int64), polygons
        )


class Pieces:
    """Polygons with kind, name, height and block, by number."""

    def __init__(
        self, kinds: tuple[str, ...], names: tuple[str, ...], heights: FloatArray, blocks: IntArray, polygons: Any
    ) -> None:
        self.kinds, self.names, self.heights, self.blocks, self.polygons = kinds, names, heights, blocks, polygons
        self._tree: Any = None

    def __len__(self) -> int:
        return len(self.kinds)

    def near(self, area: Any) -> IntArray:
        """Numbers of the polygons that touch an area, ascending."""
        if self._tree is None:
            self._tree = shapely.STRtree(self.polygons)
        return np.sort(self._tree.query(area, predicate="intersects"))


@dataclass(frozen=True, eq=False)
class StandingPoint:
    """Where a person stands (m), and looks to (rad), who uses a thing of this kind."""

    kind: str
    xy: tuple[float, float]
    heading: float
    block: int


@dataclass
class ObjectRows:
    """Name, position, direction, size and height of things."""

    names: list[str] = field(default_factory=list)
    rows: list[tuple[float, float, float, float, float, float, float, int]] = field(default_factory=list)
    standing_points: list[StandingPoint] = field(default_factory=list)

    def add(
        self, name: str, xy: FloatArray, along: FloatArray, size: tuple[float, float], height: float, block: int
    ) -> None:
        """``along``: unit; ``size``: length along it and width, m; round things take the length as diameter."""
        self.names.append(name)
        self.rows.append((float(xy[0]), float(xy[1]), float(along[0]), float(along[1]), *size, height, block))

    def add_standing_point(self, kind: str, xy: FloatArray, facing: FloatArray, block: int) -> None:
        """Someone may stand at ``xy`` and look along ``facing``."""
        x, y = np.round(xy, 3).tolist()
        self.standing_points.append(
            StandingPoint(kind, (x, y), round(float(exact.arctan2(facing[1], facing[0])), 4), block)
        )

    def put_down(self, pieces: PieceList) -> None:
        """Rectangles and octagons of all things, into ``pieces``."""
        if not self.rows:
            return
        table = np.array([row[:7] for row in self.rows])
        outlines = footprints(self.names, table[:, :2], table[:, 2:4], table[:, 4:6])
        heights = np.round(table[:, 6], 2).tolist()
        for index, name in enumerate(self.names):
            kind = "obstacle" if name in OBSTACLES else "furniture"
            pieces.add(kind, outlines[index], self.rows[index][7], name, heights[index])


GRID = 1e-3  # m
SMALLEST_REGION = 1e-3  # m²: smaller bits of clipped ground are left out
SMALLEST_BUILDING = 3.0  # m²: what a window's border leaves of a house and is smaller would stand there like a chimney


def regions_within(pieces: Pieces, area: Any, solids_only: bool = False) -> tuple[Region, ...]:
    """Everything inside ``area``, clipped at its border."""
    shapely.prepare(area)
    found = pieces.near(area)
    if solids_only:
        found = found[[pieces.kinds[index] in SOLID for index in found]]
    polygons = pieces.polygons[found]
    whole = shapely.contains(area, polygons)
    clipped = np.array(polygons)
    clipped[~whole] = shapely.intersection(polygons[~whole], area, grid_size=GRID)
    regions = []
    for index, polygon, uncut in zip(found.tolist(), clipped.tolist(), whole.tolist(), strict=True):
        least = SMALLEST_REGION if uncut or pieces.kinds[index] != "building" else SMALLEST_BUILDING
        for part in shapely.get_parts(polygon) if polygon.geom_type != "Polygon" else (polygon,):
            if part.geom_type == "Polygon" and part.area > least:
                regions.append(_region(pieces, index, part))
    return tuple(regions)


def _region(pieces: Pieces, index: int, polygon: Any) -> Region:
    rings = [_corners(ring) for ring in (polygon.exterior, *polygon.interiors)]
    height = float(pieces.heights[index])
    return Region.model_construct(
        kind=pieces.kinds[index],
        polygon=rings[0],
        holes=tuple(rings[1:]),
        height=None if np.isnan(height) else height,
        name=pieces.names[index],
    )


def _corners(ring: Any) -> tuple[tuple[float, float], ...]:
    return tuple(map(tuple, shapely.get_coordinates(ring)[:-1].tolist()))
