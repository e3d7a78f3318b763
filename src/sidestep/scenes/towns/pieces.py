"""What towns are made of: polygons of ground and of solids, with a tree to find those in a window."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import shapely

from sidestep.types.base import FloatArray, IntArray

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
