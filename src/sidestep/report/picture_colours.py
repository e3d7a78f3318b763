"""Depth, classes and instances as pictures that people can look at."""

from __future__ import annotations

import numpy as np

from sidestep.drawing.shapes import Picture
from sidestep.errors import BadInput, did_you_mean
from sidestep.render.mesh import Semantic
from sidestep.render.renderer import Images
from sidestep.types.base import FloatArray, IntArray

PANELS = ("rgb", "depth", "semantic", "instance")
FAR_M = 20.0
"""Depth pictures run from near (light) to this (dark), m."""


def check_panels(panels: tuple[str, ...]) -> tuple[str, ...]:
    """``panels``, each of them known."""
    for panel in panels:
        if panel not in PANELS:
            raise BadInput(f"no picture is called {panel!r}{did_you_mean(panel, PANELS)}")
    if not panels:
        raise BadInput(f"ask for at least one picture of {', '.join(PANELS)}")
    return panels


def coloured(images: Images, panel: str) -> Picture:
    """(H, W, 3) uint8."""
    if panel == "rgb":
        assert images.rgb is not None
        return np.asarray(images.rgb, np.uint8)
    if panel == "depth":
        assert images.depth is not None
        return depth_colours(images.depth)
    numbers = images.semantic if panel == "semantic" else images.instance
    assert numbers is not None
    return _SEMANTIC_COLOURS[numbers] if panel == "semantic" else instance_colours(numbers)


def depth_colours(depth: FloatArray) -> Picture:
    """Yellow near, blue and black far, by the root of the distance left up to ``FAR_M``."""
    near = np.clip(1.0 - depth / FAR_M, 0.0, 1.0)
    colours: Picture = _DEPTH_COLOURS[np.rint(255 * np.sqrt(near)).astype(np.uint8)]
    return colours


def instance_colours(numbers: IntArray) -> Picture:
    """A colour per number, black for none."""
    mixed = numbers.astype(np.uint32) * np.uint32(2654435761)
    channels = np.stack([mixed >> 24, (mixed >> 16) & 255, (mixed >> 8) & 255], axis=2) | 64
    colours: Picture = channels.astype(np.uint8)
    colours[numbers == 0] = 0
    return colours


def _depth_table() -> Picture:
    """256 colours of even steps in lightness."""
    stops = np.array([0, 48, 96, 144, 192, 224, 255])
    codes = ("0b0b1a", "23135c", "5d1f82", "a7377c", "e4625a", "fb9f45", "fcf6b0")
    points = np.array([tuple(bytes.fromhex(code)) for code in codes], np.float64)
    columns = [np.interp(np.arange(256), stops, points[:, channel]) for channel in range(3)]
    return np.rint(np.stack(columns, axis=1)).astype(np.uint8)


def _semantic_table() -> Picture:
    colours = {
        Semantic.SKY: "87b5e0", Semantic.FLOOR: "b9b2a6", Semantic.WALL: "8d8a94", Semantic.BUILDING: "6f7f95",
        Semantic.ROAD: "4b4b55", Semantic.LANE_MARKING: "f2f2f2", Semantic.SIDEWALK: "c8b6c9",
        Semantic.CROSSWALK: "e0d15a", Semantic.KERB: "a0a0a0", Semantic.GRASS: "7fb069", Semantic.TREE: "3f7d3b",
        Semantic.POLE: "d0a060", Semantic.SIGN: "e3c000", Semantic.FURNITURE: "a9714b", Semantic.DOOR: "8b5a2b",
        Semantic.WINDOW: "5fa8d3", Semantic.PERSON: "dc2f45", Semantic.VEHICLE: "2b59c3", Semantic.ROBOT: "1f4fe0",
        Semantic.CEILING: "e6e2da",
    }  # fmt: skip
    table = np.zeros((256, 3), np.uint8)
    for kind, code in colours.items():
        table[int(kind)] = tuple(bytes.fromhex(code))
    return table


_DEPTH_COLOURS, _SEMANTIC_COLOURS = _depth_table(), _semantic_table()
