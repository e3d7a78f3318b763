"""Which thing a solid footprint is: by its name, then by its shape."""

from __future__ import annotations

from collections.abc import Callable

from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture import (
    Thing,
    add_barrier,
    add_bench,
    add_bin,
    add_block,
    add_bookcase,
    add_chair,
    add_column,
    add_counter,
    add_cupboard,
    add_gate,
    add_glass_screen,
    add_partition,
    add_sofa,
    add_table,
)
from sidestep.render.scene.layout import Footprint
from sidestep.render.scene.street_furniture import (
    add_basin,
    add_bollard,
    add_hydrant,
    add_lamp_post,
    add_parked_car,
    add_planter,
    add_pot_plant,
    add_sign,
    add_signal,
    add_tree,
)

Maker = Callable[[MeshBuilder, Thing], None]

MAKERS: dict[str, tuple[Maker, float]] = {
    "tree": (add_tree, 5.0),
    "lamp_post": (add_lamp_post, 4.0),
    "signal": (add_signal, 3.2),
    "sign": (add_sign, 2.7),
    "bollard": (add_bollard, 0.9),
    "hydrant": (add_hydrant, 0.8),
    "bench": (add_bench, 0.45),
    "bin": (add_bin, 1.0),
    "planter": (add_planter, 0.6),
    "pot_plant": (add_pot_plant, 1.4),
    "basin": (add_basin, 0.5),
    "table": (add_table, 0.75),
    "counter": (add_counter, 1.1),
    "chair": (add_chair, 0.9),
    "sofa": (add_sofa, 0.8),
    "bookcase": (add_bookcase, 2.0),
    "cupboard": (add_cupboard, 0.9),
    "column": (add_column, 3.0),
    "partition": (add_partition, 1.1),
    "gate": (add_gate, 1.1),
    "barrier": (add_barrier, 1.1),
    "screen": (add_glass_screen, 2.4),
    "parked_car": (add_parked_car, 1.45),
    "block": (add_block, 1.0),
}
"""Every thing: its maker and its height if the scene gives none, m."""

NAMES: tuple[tuple[str, str], ...] = (
    ("signal", "signal"),
    ("traffic", "signal"),
    ("tree", "tree"),
    ("lamp", "lamp_post"),
    ("lantern", "lamp_post"),
    ("light", "lamp_post"),
    ("hydrant", "hydrant"),
    ("bollard", "bollard"),
    ("sign", "sign"),
    ("bench", "bench"),
    ("bin", "bin"),
    ("planter", "planter"),
    ("hedge", "planter"),
    ("plant", "pot_plant"),
    ("pot", "pot_plant"),
    ("basin", "basin"),
    ("fountain", "basin"),
    ("pool", "basin"),
    ("reception", "counter"),
    ("counter", "counter"),
    ("kiosk", "counter"),
    ("armchair", "sofa"),
    ("sofa", "sofa"),
    ("couch", "sofa"),
    ("chair", "chair"),
    ("stool", "chair"),
    ("table", "table"),
    ("desk", "table"),
    ("bookcase", "bookcase"),
    ("shelf", "bookcase"),
    ("cupboard", "cupboard"),
    ("sideboard", "cupboard"),
    ("cabinet", "cupboard"),
    ("wardrobe", "cupboard"),
    ("column", "column"),
    ("pillar", "column"),
    ("wall", "partition"),
    ("fence", "partition"),
    ("gate", "gate"),
    ("barrier", "barrier"),
    ("turnstile", "gate"),
    ("shelter", "screen"),
    ("screen", "screen"),
    ("car", "parked_car"),
    ("van", "parked_car"),
    ("vehicle", "parked_car"),
    ("post", "bollard"),
    ("pole", "lamp_post"),
)
"""First match wins."""


def furniture_kind(footprint: Footprint, thing: Thing) -> str:
    """A key of ``MAKERS``."""
    for word, made in NAMES:
        if word in thing.words and _fits(made, thing):
            return made
    return _by_shape(thing, footprint.region.kind)


def _fits(made: str, thing: Thing) -> bool:
    """A name that the shape contradicts is not believed."""
    length, width = thing.frame.length, thing.frame.width
    if made in ("tree", "lamp_post", "signal", "sign", "hydrant"):
        return length < 1.2 and length < 2.5 * width
    if made == "bollard":
        return length < 2.2 * width
    if made == "parked_car":
        return thing.rectangular and 2.5 < length < 7.5
    if made in ("chair", "bookcase", "screen"):
        return thing.rectangular
    return True


def _by_shape(thing: Thing, kind: str) -> str:
    length, width = thing.frame.length, thing.frame.width
    if not thing.indoor and thing.rectangular and 3.5 <= length <= 5.6 and 1.5 <= width <= 2.3:
        return "parked_car"
    if width < 0.5 and length > 3.5 * width:
        return "bench" if kind == "furniture" and 1.1 < length < 3.2 and width > 0.3 else "partition"
    if length <= 0.35:
        return "bollard" if thing.indoor or thing.height < 2.0 else "lamp_post"
    if length <= 0.8 and width > 0.6 * length:
        if thing.indoor:
            return "column" if kind == "obstacle" else "pot_plant"
        return "tree" if thing.height > 2.5 else ("bin" if length < 0.6 else "planter")
    if thing.rectangular and 1.1 <= length <= 2.6 and 0.35 <= width <= 0.75:
        return "bench" if thing.height < 0.6 or not thing.indoor else "cupboard"
    if thing.indoor:
        return ("table" if thing.height < 1.0 else "cupboard") if kind == "furniture" else "column"
    return "planter" if thing.height < 1.5 else "block"
