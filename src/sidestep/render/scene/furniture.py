"""A piece of furniture on its footprint, and the makers of furniture for rooms and squares: tables, chairs, counters,
sofas, shelves, benches, bins, columns and screens. Below head height nothing reaches beyond the footprint that one
collides with, and in the plane of the lidar everything fills it: there is nothing to look or drive under.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene.solids import FLUSH, MeshBuilder, OrientedRectangle, polygon_parts, prism, shrunk


@dataclass(frozen=True)
class FurniturePiece:
    """A footprint on the ground, with its height above that ground."""

    polygon: Any
    frame: OrientedRectangle
    height: float
    rng: np.random.Generator
    words: frozenset[str]
    indoor: bool
    z: float = 0.0

    @property
    def rectangular(self) -> bool:
        return self.is_frame_within(FLUSH)

    def is_frame_within(self, tolerance_m: float) -> bool:
        """Whether the footprint is the rectangle of its frame, but for corners that miss by less than this."""
        half, wide = self.frame.length / 2, self.frame.width / 2
        corners = shapely.points(self.frame.to_world([(-half, -wide), (half, -wide), (half, wide), (-half, wide)]))
        covers = self.polygon.area > 0.97 * self.frame.length * self.frame.width
        return bool(covers and shapely.distance(self.polygon, corners).max() < tolerance_m)

    @property
    def round(self) -> bool:
        """About as wide as long, with six corners or more."""
        corners = len(self.polygon.exterior.coords) - 1
        return corners >= 6 and self.frame.width > 0.85 * self.frame.length

    def box(
        self,
        builder: MeshBuilder,
        x: tuple[float, float],
        y: tuple[float, float],
        z: tuple[float, float],
        material: str,
        *,
        bottom: bool = False,
    ) -> None:
        """A box in the frame's axes, as much of it as stands on the footprint."""
        shape = shapely.intersection(self.frame.rectangle(*x, *y), shapely.set_precision(self.polygon, 0.0))
        for part in polygon_parts(shape, 1e-4):
            prism(builder, part, self.z + z[0], self.z + z[1], material, Semantic.FURNITURE, bottom=bottom)

    def body(
        self,
        builder: MeshBuilder,
        z0: float,
        z1: float,
        material: str,
        *,
        inset: float = 0.0,
        top: str | None = None,
        bottom: bool = False,
        semantic: Semantic = Semantic.FURNITURE,
    ) -> None:
        """The footprint, moved in by ``inset``, as a prism."""
        shape = shrunk(self.polygon, inset) if inset else self.polygon
        smooth = self.round
        for part in polygon_parts(shape):
            prism(builder, part, self.z + z0, self.z + z1, material, semantic, top=top, bottom=bottom, smooth=smooth)


def add_table(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A top on panels all round."""
    top = min(piece.height, 1.0)
    wood = str(piece.rng.choice(["wood", "wood_dark", "wood_pale"]))
    panel = str(piece.rng.choice(["wood_dark", "white", "metal_dark"]))
    piece.body(builder, -0.1, 0.08, "black", inset=0.05)
    piece.body(builder, 0.08, top - 0.04, panel, inset=0.012, bottom=True)
    piece.body(builder, top - 0.04, top, wood, bottom=True)


def add_counter(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A reception desk: recessed foot, panelled front, stone top."""
    top = min(max(piece.height, 0.8), 1.3)
    wood = str(piece.rng.choice(["wood", "wood_pale"]))
    piece.body(builder, -0.1, 0.1, "black", inset=0.05)
    piece.body(builder, 0.1, top - 0.05, wood, inset=0.015, bottom=True)
    piece.body(builder, top - 0.05, top, "stone_dark", bottom=True)


def add_chair(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A closed seat and a back."""
    frame = piece.frame
    half, wide = frame.length / 2, frame.width / 2
    seat = min(0.46, 0.6 * max(piece.height, 0.7))
    wood = str(piece.rng.choice(["wood", "wood_dark", "black"]))
    piece.body(builder, seat - 0.04, seat, wood, bottom=True)
    side = 1.0 if piece.rng.random() < 0.5 else -1.0
    low, high = sorted((side * wide, side * (wide - 0.035)))
    piece.box(builder, (-half + 0.01, half - 0.01), (low, high), (seat, max(piece.height, 0.7)), wood)
    piece.body(builder, -0.1, seat - 0.04, str(piece.rng.choice(["fabric_blue", "fabric_grey"])), inset=0.012)


def add_sofa(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A base on the footprint; back and arms where the footprint is a rectangle."""
    fabric = str(piece.rng.choice(["fabric_blue", "fabric_grey", "fabric_rust"]))
    top = max(piece.height, 0.6)
    piece.body(builder, -0.1, 0.08, "wood_dark", inset=0.05)
    piece.body(builder, 0.08, 0.42, fabric, bottom=True)
    frame = piece.frame
    half, wide = frame.length / 2, frame.width / 2
    shape = frame.rectangle(-half, half, -wide, wide)
    missing = shape.difference(piece.polygon)
    back = 1.0
    if missing.area > 0.01:  # an inlet marks the front
        local = (np.asarray(missing.centroid.coords)[0] - (frame.x, frame.y)) @ np.array(
            [-np.sin(frame.angle), np.cos(frame.angle)]
        )
        back = -1.0 if local > 0 else 1.0
    low, high = sorted((back * wide, back * (wide - 0.22)))
    piece.box(builder, (-half, half), (low, high), (0.42, top), fabric)
    front, rear = sorted((-back * wide, back * (wide - 0.22)))
    for x in (-half, half - 0.18):
        piece.box(builder, (x, x + 0.18), (front, rear), (0.42, 0.6), fabric)


def add_bookcase(builder: MeshBuilder, piece: FurniturePiece) -> None:
    top = max(piece.height, 1.0)
    piece.body(builder, -0.1, 0.06, "wood_dark", inset=0.01)
    piece.body(builder, 0.06, top - 0.04, "books", inset=0.004)
    piece.body(builder, top - 0.04, top, "wood_dark", bottom=True)


def add_cupboard(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """Plinth, doors with dark gaps, top board."""
    top, frame = max(piece.height, 0.5), piece.frame
    wood = str(piece.rng.choice(["wood_pale", "wood", "white"]))
    piece.body(builder, -0.1, 0.08, "wood_dark", inset=0.02)
    if piece.rectangular:
        half, wide = frame.length / 2, frame.width / 2
        doors = max(round(frame.length / 0.55), 1)
        pitch = frame.length / doors
        piece.body(builder, 0.08, top - 0.03, "black", inset=0.012, bottom=True)
        for k in range(doors):
            x = -half + k * pitch
            for y in ((-wide, -wide + 0.011), (wide - 0.011, wide)):
                frame.box(builder, (x + 0.004, x + pitch - 0.004), y, (0.09, top - 0.035), wood, bottom=True)
    else:
        piece.body(builder, 0.08, top - 0.03, wood, bottom=True, inset=0.01)
    piece.body(builder, top - 0.03, top, wood, bottom=True)


def add_bench(builder: MeshBuilder, piece: FurniturePiece) -> None:
    seat = min(piece.height, 0.46)
    wood = str(piece.rng.choice(["wood", "wood_dark", "wood_pale"]))
    support = str(piece.rng.choice(["metal_dark", "stone_dark"]))
    if not piece.rectangular:
        piece.body(builder, -0.1, seat - 0.06, support, inset=0.012)
        piece.body(builder, seat - 0.06, seat, wood, bottom=True)
        return
    frame = piece.frame
    half, wide = frame.length / 2, frame.width / 2
    boards = max(round(frame.width / 0.12), 2)
    edges = np.linspace(-wide, wide, boards + 1)
    gap = 0.008
    for k in range(boards):
        low = edges[k] + (gap if k else 0.0)
        high = edges[k + 1] - (gap if k < boards - 1 else 0.0)
        frame.box(builder, (-half, half), (low, high), (seat - 0.045, seat), wood, bottom=True)
    places = np.linspace(-half + 0.25, half - 0.25, max(int(frame.length / 1.6) + 1, 2))
    piece.body(builder, -0.1, seat - 0.045, support, inset=0.012)
    if piece.height > 0.6:
        for foot in np.arange(seat + 0.08, piece.height - 0.09, 0.14):
            frame.box(builder, (-half, half), (wide - 0.05, wide - 0.01), (foot, foot + 0.1), wood, bottom=True)
        for x in places:
            frame.box(builder, (x - 0.03, x + 0.03), (wide - 0.01, wide), (seat, piece.height), support)


def add_bin(builder: MeshBuilder, piece: FurniturePiece) -> None:
    top = min(max(piece.height, 0.8), 1.3)
    shell = str(piece.rng.choice(["metal_green", "metal_dark", "metal"]))
    piece.body(builder, -0.1, 0.06, "metal_dark", inset=0.02)
    piece.body(builder, 0.06, top - 0.28, shell, bottom=True)
    piece.body(builder, top - 0.28, top - 0.1, "black", inset=0.04)
    piece.body(builder, top - 0.1, top, shell, bottom=True)


def add_column(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A shaft with a base and, below a ceiling, no gap: it reaches the height given."""
    stone = str(piece.rng.choice(["stone_pale", "concrete"])) if piece.indoor else "sandstone"
    piece.body(builder, -0.1, 0.25, "stone_dark", semantic=Semantic.WALL)
    piece.body(builder, 0.25, max(piece.height, 2.2), stone, semantic=Semantic.WALL, inset=0.012)


def add_partition(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A wall with skirting and a cap."""
    top = max(piece.height, 0.5)
    wall, cap = ("room_white", "frame_grey") if piece.indoor else ("rubble", "stone_pale")
    piece.body(builder, -0.15, 0.1, "skirting" if piece.indoor else "granite", semantic=Semantic.WALL)
    piece.body(builder, 0.1, top - 0.06, wall, semantic=Semantic.WALL, inset=0.006)
    piece.body(builder, top - 0.06, top, cap, semantic=Semantic.WALL, bottom=True)


def add_gate(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """The cabinet of an access gate: metal, with a dark reader and a lit strip."""
    top = min(max(piece.height, 0.9), 1.3)
    piece.body(builder, -0.1, 0.06, "black", inset=0.012)
    piece.body(builder, 0.06, top - 0.12, "metal", bottom=True)
    piece.body(builder, top - 0.12, top - 0.09, "lamp", inset=0.01)
    piece.body(builder, top - 0.09, top, "metal_dark", bottom=True)


def add_barrier(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """A construction barrier: a dark foot and boards in white and red."""
    top = max(piece.height, 0.8)
    boards = [(0.0, 0.3, "white"), (0.3, 0.6, "red"), (0.6, 0.75, "white"), (0.75, 1.0, "red")]
    piece.body(builder, -0.15, 0.12, "black")
    for low, high, colour in boards:
        foot, head = (0.12 + share * (top - 0.12) for share in (low, high))
        piece.body(builder, foot, head, colour, inset=0.008)


def add_glass_screen(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """The glazed back of a shelter, with a roof as wide as the back."""
    top = max(piece.height, 2.0)
    piece.body(builder, -0.15, 0.45, "metal_dark")
    piece.body(builder, top - 0.1, top, "metal_dark", bottom=True)
    half, wide = piece.frame.length / 2, piece.frame.width / 2
    inner, thin = half - 0.06, max(wide - 0.015, 0.01)
    piece.frame.box(builder, (-inner, inner), (-thin, thin), (0.45, top - 0.1), "glass_pale")
    for x in (-half, half - 0.06):
        piece.frame.box(builder, (x, x + 0.06), (-wide, wide), (0.45, top - 0.1), "metal_dark")


def add_block(builder: MeshBuilder, piece: FurniturePiece) -> None:
    """Anything else: a crate indoors, a stone outdoors."""
    top = max(piece.height, 0.3)
    piece.body(builder, -0.1, top, "wood_pale" if piece.indoor else "granite")
