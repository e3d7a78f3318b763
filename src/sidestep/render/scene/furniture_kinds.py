"""Which piece of furniture a solid footprint is: by its name, then by its shape."""

from __future__ import annotations

from collections.abc import Callable

from sidestep.render.scene import furniture, street_furniture
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture import FurniturePiece
from sidestep.render.scene.layout import Footprint

Maker = Callable[[MeshBuilder, FurniturePiece], None]

MAKERS: dict[str, tuple[Maker, float]] = {
    "tree": (street_furniture.add_tree, 5.0),
    "lamp_post": (street_furniture.add_lamp_post, 4.0),
    "signal": (street_furniture.add_signal, 3.2),
    "sign": (street_furniture.add_sign, 2.7),
    "bollard": (street_furniture.add_bollard, 0.9),
    "hydrant": (street_furniture.add_hydrant, 0.8),
    "bench": (furniture.add_bench, 0.45),
    "bin": (furniture.add_bin, 1.0),
    "planter": (street_furniture.add_planter, 0.6),
    "pot_plant": (street_furniture.add_pot_plant, 1.4),
    "basin": (street_furniture.add_basin, 0.5),
    "table": (furniture.add_table, 0.75),
    "counter": (furniture.add_counter, 1.1),
    "chair": (furniture.add_chair, 0.9),
    "sofa": (furniture.add_sofa, 0.8),
    "bookcase": (furniture.add_bookcase, 2.0),
    "cupboard": (furniture.add_cupboard, 0.9),
    "column": (furniture.add_column, 3.0),
    "partition": (furniture.add_partition, 1.1),
    "gate": (furniture.add_gate, 1.1),
    "barrier": (furniture.add_barrier, 1.1),
    "screen": (furniture.add_glass_screen, 2.4),
    "parked_car": (street_furniture.add_parked_car, 1.45),
    "block": (furniture.add_block, 1.0),
}
"""Every kind: its maker and its height if the scene gives none, m."""

NAMES: tuple[tuple[str, str], ...] = (
    ("signal", "signal traffic"),
    ("tree", "tree"),
    ("lamp_post", "lamp lantern light"),
    ("hydrant", "hydrant"),
    ("bollard", "bollard"),
    ("sign", "sign"),
    ("bench", "bench"),
    ("bin", "bin"),
    ("planter", "planter hedge"),
    ("pot_plant", "plant pot"),
    ("basin", "basin fountain pool"),
    ("counter", "reception counter kiosk"),
    ("sofa", "armchair sofa couch"),
    ("chair", "chair stool"),
    ("table", "table desk"),
    ("bookcase", "bookcase shelf"),
    ("cupboard", "cupboard sideboard cabinet wardrobe"),
    ("column", "column pillar"),
    ("partition", "wall fence"),
    ("gate", "gate"),
    ("barrier", "barrier"),
    ("gate", "turnstile"),
    ("screen", "shelter screen"),
    ("parked_car", "car van vehicle"),
    ("bollard", "post"),
    ("lamp_post", "pole"),
)
"""Kinds and the words that name them; the first match wins."""


def furniture_kind(footprint: Footprint, piece: FurniturePiece) -> str:
    """A key of ``MAKERS``."""
    for kind, words in NAMES:
        if not piece.words.isdisjoint(words.split()) and _fits(kind, piece):
            return kind
    return _by_shape(piece, footprint.region.kind)


def _fits(made: str, piece: FurniturePiece) -> bool:
    """A name that the shape contradicts is not believed."""
    length, width = piece.frame.length, piece.frame.width
    if made in ("tree", "lamp_post", "signal", "sign", "hydrant"):
        return length < 1.2 and length < 2.5 * width
    if made == "bollard":
        return length < 2.2 * width
    if made == "parked_car":
        return piece.rectangular and 2.5 < length < 7.5
    if made in ("chair", "bookcase", "screen"):
        return piece.rectangular
    return True


def _by_shape(piece: FurniturePiece, kind: str) -> str:
    length, width = piece.frame.length, piece.frame.width
    if not piece.indoor and piece.rectangular and 3.5 <= length <= 5.6 and 1.5 <= width <= 2.3:
        return "parked_car"
    if width < 0.5 and length > 3.5 * width:
        return "bench" if kind == "furniture" and 1.1 < length < 3.2 and width > 0.3 else "partition"
    if length <= 0.35:
        return "bollard" if piece.indoor or piece.height < 2.0 else "lamp_post"
    if length <= 0.8 and width > 0.6 * length:
        if piece.indoor:
            return "column" if kind == "obstacle" else "pot_plant"
        return "tree" if piece.height > 2.5 else ("bin" if length < 0.6 else "planter")
    if piece.rectangular and 1.1 <= length <= 2.6 and 0.35 <= width <= 0.75:
        return "bench" if piece.height < 0.6 or not piece.indoor else "cupboard"
    if piece.indoor:
        return ("table" if piece.height < 1.0 else "cupboard") if kind == "furniture" else "column"
    return "planter" if piece.height < 1.5 else "block"
