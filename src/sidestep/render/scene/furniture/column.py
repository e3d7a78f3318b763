"""Columns, free-standing walls, gates and shelters."""

from __future__ import annotations

from sidestep.render.mesh import Semantic
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing


def add_column(builder: MeshBuilder, thing: Thing) -> None:
    """A shaft with a base and, below a ceiling, no gap: it reaches the height given."""
    stone = str(thing.rng.choice(["stone_pale", "concrete"])) if thing.indoor else "sandstone"
    thing.body(builder, -0.1, 0.25, "stone_dark", semantic=Semantic.WALL)
    thing.body(builder, 0.25, max(thing.height, 2.2), stone, semantic=Semantic.WALL, inset=0.012)


def add_partition(builder: MeshBuilder, thing: Thing) -> None:
    """A wall with skirting and a cap."""
    top = max(thing.height, 0.5)
    wall, cap = ("room_white", "frame_grey") if thing.indoor else ("rubble", "stone_pale")
    thing.body(builder, -0.15, 0.1, "skirting" if thing.indoor else "granite", semantic=Semantic.WALL)
    thing.body(builder, 0.1, top - 0.06, wall, semantic=Semantic.WALL, inset=0.006)
    thing.body(builder, top - 0.06, top, cap, semantic=Semantic.WALL, bottom=True)


def add_gate(builder: MeshBuilder, thing: Thing) -> None:
    """The cabinet of an access gate: metal, with a dark reader and a lit strip."""
    top = min(max(thing.height, 0.9), 1.3)
    thing.body(builder, -0.1, 0.06, "black", inset=0.012)
    thing.body(builder, 0.06, top - 0.12, "metal", bottom=True)
    thing.body(builder, top - 0.12, top - 0.09, "lamp", inset=0.01)
    thing.body(builder, top - 0.09, top, "metal_dark", bottom=True)


def add_barrier(builder: MeshBuilder, thing: Thing) -> None:
    """A construction barrier: a dark foot and boards in white and red."""
    top = max(thing.height, 0.8)
    boards = [(0.0, 0.3, "white"), (0.3, 0.6, "red"), (0.6, 0.75, "white"), (0.75, 1.0, "red")]
    thing.body(builder, -0.15, 0.12, "black")
    for low, high, colour in boards:
        foot, head = (0.12 + share * (top - 0.12) for share in (low, high))
        thing.body(builder, foot, head, colour, inset=0.008)


def add_glass_screen(builder: MeshBuilder, thing: Thing) -> None:
    """The glazed back of a shelter, with a roof as wide as the back."""
    top = max(thing.height, 2.0)
    thing.body(builder, -0.15, 0.25, "metal_dark")
    thing.body(builder, top - 0.1, top, "metal_dark", bottom=True)
    half, wide = thing.frame.length / 2, thing.frame.width / 2
    inner, thin = half - 0.06, max(wide - 0.015, 0.01)
    thing.frame.box(builder, (-inner, inner), (-thin, thin), (0.25, top - 0.1), "glass_pale")
    for x in (-half, half - 0.06):
        thing.frame.box(builder, (x, x + 0.06), (-wide, wide), (0.25, top - 0.1), "metal_dark")


def add_block(builder: MeshBuilder, thing: Thing) -> None:
    """Anything else: a crate indoors, a stone outdoors."""
    top = max(thing.height, 0.3)
    thing.body(builder, -0.1, top, "wood_pale" if thing.indoor else "granite")
