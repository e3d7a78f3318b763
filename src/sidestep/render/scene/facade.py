"""An upright wall with openings: bands of material, and windows and doors set back into it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import shapely

from sidestep.render.materials import material as surface
from sidestep.render.mesh import Semantic
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.triangulate import triangulate
from sidestep.types.base import FloatArray


@dataclass(frozen=True)
class Opening:
    """A rectangle in a wall, m along it and above z = 0, filled with one picture set back by ``depth``."""

    left: float
    right: float
    foot: float
    head: float
    material: str
    semantic: Semantic
    depth: float = 0.14
    frame: str = "white"  # of the reveal


@dataclass(frozen=True)
class Band:
    """A strip of the wall from the height below up to ``head``."""

    head: float
    material: str


@dataclass(frozen=True)
class Wall:
    """A straight wall from ``start`` to ``end`` with its outside on the right of that direction."""

    start: tuple[float, float]
    end: tuple[float, float]

    @property
    def length(self) -> float:
        return float(np.hypot(self.end[0] - self.start[0], self.end[1] - self.start[1]))

    def points(self, along: FloatArray, height: FloatArray, inward: float = 0.0) -> FloatArray:
        """World points of wall coordinates, ``inward`` m behind the face."""
        dx, dy = (np.array(self.end) - np.array(self.start)) / self.length
        x = self.start[0] + along * dx - inward * dy
        y = self.start[1] + along * dy + inward * dx
        return np.stack([x, y, height], axis=-1)

    @property
    def normal(self) -> FloatArray:
        dx, dy = (np.array(self.end) - np.array(self.start)) / self.length
        return np.array([dy, -dx, 0.0])


def add_wall(
    builder: MeshBuilder,
    wall: Wall,
    foot: float,
    bands: Sequence[Band],
    openings: Sequence[Opening],
    semantic: Semantic,
    shift: float = 0.0,
) -> None:
    """The wall's face with the openings cut out, their reveals, and what fills them. ``shift`` moves the picture."""
    holes = [shapely.box(o.left, o.foot, o.right, o.head) for o in openings]
    for band in bands:
        strip = shapely.box(0.0, foot, wall.length, band.head)
        cut = [hole for o, hole in zip(openings, holes, strict=True) if o.head > foot and o.foot < band.head]
        if cut:
            strip = shapely.difference(strip, shapely.union_all(cut))
        for part in shapely.get_parts(strip):
            if part.geom_type == "Polygon" and part.area > 1e-6:
                _add_strip(builder, wall, part, band.material, semantic, shift)
        foot = band.head
    for opening in openings:
        _add_opening(builder, wall, opening, semantic)


def _add_strip(
    builder: MeshBuilder, wall: Wall, part: shapely.Polygon, material: str, semantic: Semantic, shift: float
) -> None:
    points, triangles = triangulate(part)
    vertices = wall.points(points[:, 0], points[:, 1])
    builder.triangles(vertices, triangles, wall.normal, np.add(points, (shift, 0.0)), material, semantic)


def _add_opening(builder: MeshBuilder, wall: Wall, opening: Opening, semantic: Semantic) -> None:
    u = np.array([opening.left, opening.right, opening.right, opening.left])
    v = np.array([opening.foot, opening.foot, opening.head, opening.head])
    front, back = wall.points(u, v), wall.points(u, v, opening.depth)
    size = surface(opening.material).size_m
    fill = np.array([[0.0, 0.0], [size, 0.0], [size, size], [0.0, size]])
    fill = np.clip(fill, 0.004 * size, 0.996 * size)  # half a texel: the picture must not wrap at its border
    builder.quads(back[None], fill[None], opening.material, opening.semantic)
    reveal = np.stack([[front[i], front[(i + 1) % 4], back[(i + 1) % 4], back[i]] for i in range(4)])
    uv = np.stack([[(0, 0), (np.hypot(*(front[(i + 1) % 4] - front[i])[:2]), 0), (1, 0.1), (0, 0.1)] for i in range(4)])
    builder.quads(reveal, np.asarray(uv, float), opening.frame, semantic)
