"""Posts: street lamps, traffic signals, signs, bollards, hydrants. The base fills the footprint."""

from __future__ import annotations

from sidestep.render.mesh import Semantic
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.furniture.thing import Thing


def add_lamp_post(builder: MeshBuilder, thing: Thing) -> None:
    """A footing, a shaft and a lantern."""
    metal = str(thing.rng.choice(["metal_dark", "metal_green"]))
    top = max(thing.height, 3.2)
    frame, radius = thing.frame, thing.frame.width / 2
    thing.body(builder, -0.1, 0.9, metal, semantic=Semantic.POLE)
    frame.post(builder, (0, 0), (0.7 * radius, 0.45 * radius), (0.9, top - 0.45), metal, Semantic.POLE)
    frame.post(builder, (0, 0), (0.09, 0.17), (top - 0.45, top - 0.12), "lamp", Semantic.POLE, bottom=True)
    frame.post(builder, (0, 0), (0.21, 0.05), (top - 0.12, top), metal, Semantic.POLE, bottom=True)


def add_signal(builder: MeshBuilder, thing: Thing) -> None:
    """A post with the head of a traffic light above it."""
    top = max(thing.height, 2.9)
    frame, radius = thing.frame, thing.frame.width / 2
    thing.body(builder, -0.15, 0.5, "metal_dark", semantic=Semantic.POLE)
    frame.post(builder, (0, 0), (0.75 * radius, 0.6 * radius), (0.5, top - 0.95), "metal_dark", Semantic.POLE)
    frame.box(builder, (-0.15, 0.15), (-0.15, 0.15), (top - 0.95, top), "black", Semantic.SIGN, bottom=True)
    for step, lens in enumerate(("signal_off", "signal_off", "signal_red")):
        foot = top - 0.86 + 0.29 * step
        for x, y in (((0.15, 0.165), (-0.09, 0.09)), ((-0.165, -0.15), (-0.09, 0.09))):
            frame.box(builder, x, y, (foot, foot + 0.2), lens, Semantic.SIGN, bottom=True)
        for x, y in (((-0.09, 0.09), (0.15, 0.165)), ((-0.09, 0.09), (-0.165, -0.15))):
            frame.box(builder, x, y, (foot, foot + 0.2), lens, Semantic.SIGN, bottom=True)


def add_sign(builder: MeshBuilder, thing: Thing) -> None:
    """A post with a plate above head height."""
    top = max(thing.height, 2.7)
    frame, radius = thing.frame, thing.frame.width / 2
    thing.body(builder, -0.1, 0.15, "metal", semantic=Semantic.POLE)
    frame.post(builder, (0, 0), (0.6 * radius, 0.6 * radius), (0.15, top - 0.55), "metal", Semantic.POLE, 6)
    frame.box(builder, (-0.35, 0.35), (-0.025, 0.025), (top - 0.55, top), "sign_blue", Semantic.SIGN, bottom=True)


def add_bollard(builder: MeshBuilder, thing: Thing) -> None:
    """A stone or metal post up to about a metre, with a pale ring."""
    top = min(max(thing.height, 0.7), 2.6)
    stone = "granite" if thing.frame.length > 0.4 else "metal_dark"
    thing.body(builder, -0.1, 0.8 * top, stone, semantic=Semantic.POLE)
    thing.body(builder, 0.8 * top, 0.88 * top, "white", semantic=Semantic.POLE, inset=0.01)
    thing.body(builder, 0.88 * top, top, stone, semantic=Semantic.POLE, bottom=True)


def add_hydrant(builder: MeshBuilder, thing: Thing) -> None:
    """A red hydrant with a bonnet."""
    top = min(max(thing.height, 0.7), 1.0)
    radius = thing.frame.width / 2
    thing.body(builder, -0.1, 0.1, "red")
    thing.frame.post(builder, (0, 0), (0.75 * radius, 0.7 * radius), (0.1, 0.72 * top), "red")
    thing.body(builder, 0.72 * top, 0.8 * top, "red", bottom=True)
    thing.frame.post(builder, (0, 0), (0.7 * radius, 0.25 * radius), (0.8 * top, top), "red")
