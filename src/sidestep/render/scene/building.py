"""Buildings: walls with openings, storeys, rows of windows set back in their reveals, doors, plinth, and a parapet or
a hipped roof.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep.render.materials import material as surface
from sidestep.render.mesh import Semantic
from sidestep.render.scene.solids import (
    FLUSH,
    HEAD_ROOM,
    MeshBuilder,
    OrientedRectangle,
    band,
    flat,
    polygon_parts,
    shrunk,
    triangulate,
)
from sidestep.types.base import FloatArray


@dataclass(frozen=True)
class Opening:
    """A rectangle in a wall, m along it and above z = 0, filled with one picture set back by ``depth``, below head
    height by ``FLUSH`` at most."""

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
    for part_of_wall in bands:
        strip: Any = shapely.box(0.0, foot, wall.length, part_of_wall.head)
        cut = [hole for o, hole in zip(openings, holes, strict=True) if o.head > foot and o.foot < part_of_wall.head]
        if cut:
            strip = shapely.difference(strip, shapely.union_all(cut))
        for part in shapely.get_parts(strip):
            if part.geom_type == "Polygon" and part.area > 1e-6:
                _add_strip(builder, wall, part, part_of_wall.material, semantic, shift)
        foot = part_of_wall.head
    for opening in openings:
        _add_opening(builder, wall, opening, semantic)


def _add_strip(
    builder: MeshBuilder, wall: Wall, part: shapely.Polygon, material: str, semantic: Semantic, shift: float
) -> None:
    points, triangles = triangulate(part)
    vertices = wall.points(points[:, 0], points[:, 1])
    builder.triangles(vertices, triangles, wall.normal, np.add(points, (shift, 0.0)), material, semantic)


def _add_opening(builder: MeshBuilder, wall: Wall, opening: Opening, semantic: Semantic) -> None:
    depth = opening.depth if opening.foot >= HEAD_ROOM else min(opening.depth, FLUSH)
    u = np.array([opening.left, opening.right, opening.right, opening.left])
    v = np.array([opening.foot, opening.foot, opening.head, opening.head])
    front, back = wall.points(u, v), wall.points(u, v, depth)
    size = surface(opening.material).size_m
    fill = np.array([[0.0, 0.0], [size, 0.0], [size, size], [0.0, size]])
    fill = np.clip(fill, 0.004 * size, 0.996 * size)  # half a texel: the picture must not wrap at its border
    builder.quads(back[None], fill[None], opening.material, opening.semantic)
    reveal = np.stack([[front[i], front[(i + 1) % 4], back[(i + 1) % 4], back[i]] for i in range(4)])
    uv = np.stack([[(0, 0), (np.hypot(*(front[(i + 1) % 4] - front[i])[:2]), 0), (1, 0.1), (0, 0.1)] for i in range(4)])
    builder.quads(reveal, np.asarray(uv, float), opening.frame, semantic)


STOREY = 3.1  # m
PARAPET, PARAPET_WIDTH = 0.5, 0.25  # m
FOOT = -0.15  # m: walls start below the lowest ground, so that no crack opens at their foot
DOOR_WIDTH, DOOR_HEIGHT = 1.1, 2.2  # m
LANTERN_GAP = 0.16  # m between a door and the lamp above it
WALLS = [
    "brick_red", "brick_brown", "brick_yellow", "plaster_white", "plaster_ochre", "plaster_rose", "plaster_grey",
    "plaster_sage", "sandstone", "concrete",
]  # fmt: skip


@dataclass(frozen=True)
class Style:
    """What one building has in common on all sides."""

    wall: str
    plinth: str
    trim: str
    windows: tuple[str, ...]
    door: str
    shop: str | None
    bay: float  # m from window to window
    width: float  # m of a window
    storey: float  # m
    storeys: int

    @classmethod
    def draw(cls, height: float, shop: bool, rng: np.random.Generator) -> Style:
        wall = str(rng.choice(WALLS))
        storeys = max(round((height - 0.3) / STOREY), 1)
        dark = wall in ("concrete", "plaster_grey") or rng.random() < 0.3
        plain, lit = ("window_dark", "window_lit_dark") if dark else ("window_cream", "window_lit")
        return cls(
            wall,
            "granite" if rng.random() < 0.5 else "stone_dark",
            "stone_pale" if wall.startswith(("brick", "concrete")) else "plaster_white",
            (plain, plain, plain, "window_curtain", lit),
            str(rng.choice(["door_oak", "door_green", "door_blue"])),
            f"shop_window_{rng.integers(1, 3)}" if shop else None,
            float(rng.uniform(2.3, 3.1)),
            float(rng.uniform(1.05, 1.35)),
            (height - 0.45) / storeys,
            storeys,
        )


def draw_height(rng: np.random.Generator, most: int = 6) -> float:
    """2 to ``most`` storeys, for buildings that say nothing."""
    return float(rng.integers(2, most + 1) * STOREY + 0.45)


def add_building(
    builder: MeshBuilder,
    polygon: Any,
    height: float,
    rng: np.random.Generator,
    *,
    shop: bool = False,
    seen: Any | None = None,
    blind: Any | None = None,
    foot: float = FOOT,
) -> None:
    """One building on a footprint. Openings are cut into walls along ``seen`` (default: all) and not along ``blind``
    (walls shared with a neighbour)."""
    style = Style.draw(height, shop, rng)
    for part in polygon_parts(polygon):
        for ring in (part.exterior, *part.interiors):
            corners = np.asarray(ring.coords)
            for start, end in itertools.pairwise(corners):
                wall = Wall((start[0], start[1]), (end[0], end[1]))
                if wall.length > 1e-6:
                    openings = _openings(wall, style, rng) if _is_open(wall, seen, blind) else []
                    add_wall(builder, wall, foot, _bands(style, height), openings, Semantic.BUILDING)
                    for opening in openings:
                        if opening.semantic == Semantic.DOOR and opening.head + LANTERN_GAP >= HEAD_ROOM:
                            _add_lantern(builder, wall, (opening.left + opening.right) / 2, opening.head)
        _add_roof(builder, part, height, rng)


def _add_lantern(builder: MeshBuilder, wall: Wall, along: float, head: float) -> None:
    """A lamp on the wall above a door."""
    half, out, low, high = 0.09, 0.13, head + LANTERN_GAP, head + LANTERN_GAP + 0.2
    left, right = along - half, along + half
    u = np.array([[left, right, right, left], [left, left, left, left], [right, right, right, right]])
    v = np.array([[low, low, high, high]] * 3)
    front, back = wall.points(u, v, -out), wall.points(u, v)
    faces = [
        front[0],
        np.stack([back[1, 0], front[1, 0], front[1, 3], back[1, 3]]),
        np.stack([front[2, 0], back[2, 0], back[2, 3], front[2, 3]]),
        np.stack([back[1, 0], back[2, 0], front[2, 0], front[1, 0]]),
        back[0, ::-1],
    ]
    lid = np.stack([front[1, 3], front[2, 3], back[2, 3], back[1, 3]])
    uv = np.array([[0.0, 0.0], [0.2, 0.0], [0.2, 0.2], [0.0, 0.2]])
    builder.quads(np.stack(faces), np.repeat(uv[None], len(faces), axis=0), "lamp", Semantic.BUILDING)
    builder.quads(lid[None], uv[None], "metal_dark", Semantic.BUILDING)


def _is_open(wall: Wall, seen: Any | None, blind: Any | None) -> bool:
    """Judged at the wall's middle, 5 cm outside and inside."""
    middle = wall.points(np.array([wall.length / 2]), np.zeros(1))[0, :2]
    point = shapely.Point(middle + 0.05 * wall.normal[:2])
    if blind is not None and blind.distance(point) < 0.02:
        return False
    return seen is None or bool(seen.distance(point) < 0.1)


def _bands(style: Style, height: float) -> list[Band]:
    bands = [Band(0.45, style.plinth)]
    if style.storeys > 1:
        line = style.storey + 0.12
        bands += [Band(line, style.wall), Band(line + 0.18, style.trim)]
    return [*bands, Band(height - 0.32, style.wall), Band(height, style.trim)]


def _openings(wall: Wall, style: Style, rng: np.random.Generator) -> list[Opening]:
    bays = int((wall.length - 0.7) / style.bay)
    if bays < 1:
        return []
    pitch = wall.length / bays
    door = int(rng.integers(0, bays)) if wall.length > 4.0 else -1
    openings = []
    for storey in range(style.storeys):
        for bay in range(bays):
            middle = (bay + 0.5) * pitch
            if storey == 0 and (bay == door or (bays > 9 and bay % 6 == door % 6)):
                openings.append(_door(middle, style, rng))
            elif storey == 0 and style.shop:
                half = 0.5 * pitch - 0.25
                head = min(2.6, style.storey - 0.3)
                openings.append(
                    Opening(middle - half, middle + half, 0.5, head, style.shop, Semantic.WINDOW, 0.08, "metal_dark")
                )
            else:
                openings.append(_window(middle, storey, style, rng))
    return openings


def _door(middle: float, style: Style, rng: np.random.Generator) -> Opening:
    material, half = ("door_glass", 0.9) if style.shop else (style.door, DOOR_WIDTH / 2)
    head = min(DOOR_HEIGHT, style.storey - 0.2)
    return Opening(middle - half, middle + half, 0.02, head, material, Semantic.DOOR, 0.12, "stone_pale")


def _window(middle: float, storey: int, style: Style, rng: np.random.Generator) -> Opening:
    foot = storey * style.storey + min(0.95, 0.32 * style.storey) + 0.06
    head = foot + min(1.55, style.storey - 1.25)
    half = style.width / 2
    material = style.windows[int(rng.integers(0, len(style.windows)))]
    return Opening(middle - half, middle + half, foot, head, material, Semantic.WINDOW, 0.13, style.trim)


def _add_roof(builder: MeshBuilder, part: Any, height: float, rng: np.random.Generator) -> None:
    frame = OrientedRectangle.about(part)
    corners = np.asarray(part.exterior.coords)[:-1]
    rectangular = len(corners) == 4 and not part.interiors and part.area > 0.995 * frame.length * frame.width
    if rectangular and frame.width < 13.0 and height < 12.0 and rng.random() < 0.6:
        _add_hip(builder, frame, height, str(rng.choice(["roof_red", "roof_slate"])))
        return
    inner = shrunk(part, PARAPET_WIDTH)
    if inner.geom_type != "Polygon" or inner.area < 3.0 or len(inner.interiors) != len(part.interiors):
        flat(builder, part, height, "gravel", Semantic.BUILDING)
        return
    for ring in polygon_parts(shapely.difference(part, inner)):
        flat(builder, ring, height, "stone_pale", Semantic.BUILDING)
    inner = polygon_parts(inner)[0]
    low = height - PARAPET
    for ring in (inner.exterior, *inner.interiors):
        inward = np.asarray(ring.coords)[:-1][::-1]
        band(builder, inward, inward, low, height, "concrete", Semantic.BUILDING)
    flat(builder, inner, low, "gravel", Semantic.BUILDING)


def _add_hip(builder: MeshBuilder, frame: OrientedRectangle, eaves: float, material: str) -> None:
    """A roof of four slopes at 32° over a rectangle."""
    half, wide = frame.length / 2, frame.width / 2
    ridge = max(half - wide, 0.05)
    rise = wide * np.tan(np.radians(32))
    flat_corners = frame.to_world([(-half, -wide), (half, -wide), (half, wide), (-half, wide), (-ridge, 0), (ridge, 0)])
    heights = np.array([eaves] * 4 + [eaves + rise] * 2)
    points = np.column_stack([flat_corners, heights])
    slope = float(np.hypot(wide, rise))
    for index in ([0, 1, 5, 4], [2, 3, 4, 5], [1, 2, 5], [3, 0, 4]):
        corners = points[index]
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        edge = (corners[1] - corners[0]) / np.linalg.norm(corners[1] - corners[0])
        uv: FloatArray = np.column_stack([(corners - corners[0]) @ edge, (corners[:, 2] - eaves) / rise * slope])
        faces = np.array([[0, 1, 2], [0, 2, 3]] if len(index) == 4 else [[0, 1, 2]])
        builder.triangles(corners, faces, normal / np.linalg.norm(normal), uv, material, Semantic.BUILDING)
