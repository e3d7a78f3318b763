"""Stills and films of a record in 3D: colour, depth and classes side by side."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

from sidestep.drawing.shapes import Picture
from sidestep.errors import BadInput, did_you_mean
from sidestep.render.mesh import Semantic
from sidestep.render.record_view import Angle, RecordView
from sidestep.render.renderer import Images
from sidestep.report.film import film_steps, write_film
from sidestep.types.base import IntArray
from sidestep.types.record import EpisodeRecord
from sidestep.types.sensors import CameraSettings

PANELS = ("rgb", "depth", "semantic", "instance")
FAR_M = 20.0
"""Depth pictures run from near (light) to this (dark), m."""


def draw_still(
    record: EpisodeRecord,
    path: Path,
    *,
    time_s: float = 0.0,
    angle: Angle = "first",
    settings: CameraSettings | None = None,
    panels: Sequence[str] = ("rgb",),
) -> None:
    """One moment into a PNG file."""
    view = RecordView(record, settings or record.scenario.sensors.camera, angle)
    step = int(np.argmin(np.abs(record.time - time_s)))
    Image.fromarray(_beside(view.images(step, _checked(panels)), panels)).save(path)


def draw_film(
    record: EpisodeRecord,
    path: Path,
    *,
    angle: Angle = "first",
    settings: CameraSettings | None = None,
    panels: Sequence[str] = ("rgb",),
    fps: int = 20,
) -> None:
    """The whole episode into an MP4 (extra ``video``) or GIF file."""
    settings = settings or record.scenario.sensors.camera
    view = RecordView(record, settings, angle)
    wanted = _checked(panels)
    steps = film_steps(record, fps, 1.0)

    def frames() -> Iterator[Picture]:
        for step in steps:
            yield _beside(view.images(step, wanted), panels)

    width, height = settings.picture_size
    write_film(frames(), path, fps, (width * len(panels), height))


def _checked(panels: Sequence[str]) -> Sequence[str]:
    for panel in panels:
        if panel not in PANELS:
            raise BadInput(f"no picture is called {panel!r}{did_you_mean(panel, PANELS)}")
    return panels


def _beside(images: Images, panels: Sequence[str]) -> Picture:
    return np.concatenate([_coloured(images, panel) for panel in panels], axis=1)


def _coloured(images: Images, panel: str) -> Picture:
    """A picture that people can look at, (H, W, 3) uint8."""
    if panel == "rgb":
        assert images.rgb is not None
        return np.asarray(images.rgb, np.uint8)
    if panel == "depth":
        assert images.depth is not None
        near = np.sqrt(np.clip(1.0 - images.depth / FAR_M, 0.0, 1.0))
        return np.repeat((255 * near).astype(np.uint8)[:, :, None], 3, axis=2)
    numbers = images.semantic if panel == "semantic" else images.instance
    assert numbers is not None
    return _SEMANTIC_COLOURS[numbers] if panel == "semantic" else _instance_colours(numbers)


def _instance_colours(numbers: IntArray) -> Picture:
    """A colour per number, black for none."""
    mixed = numbers.astype(np.uint32) * np.uint32(2654435761)
    channels = np.stack([mixed >> 24, (mixed >> 16) & 255, (mixed >> 8) & 255], axis=2) | 64
    colours: Picture = channels.astype(np.uint8)
    colours[numbers == 0] = 0
    return colours


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


_SEMANTIC_COLOURS = _semantic_table()
