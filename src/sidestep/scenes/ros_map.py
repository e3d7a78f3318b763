"""Scenes from and to maps of the ROS ``map_server``: a YAML file and a grey image of occupied and free cells.

A pixel's occupancy is ``p = 1 - brightness`` (``p = brightness`` with ``negate``); it is occupied when
``p > occupied_thresh``, free when ``p < free_thresh`` and unknown between (mode ``trinary``,
http://wiki.ros.org/map_server). ``origin`` is the pose (x, y, yaw) of the lower left corner of the image.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, model_validator

from sidestep import exact
from sidestep.errors import BadInput
from sidestep.reading import file_beside
from sidestep.scenes.distance_field import solid_mask
from sidestep.scenes.pgm import MOST_PIXELS, read_grey_image, write_pgm
from sidestep.scenes.pixel_outline import outline_pixels
from sidestep.scenes.scene_file import read_mapping
from sidestep.types.base import BoolArray, FloatArray, Model, Pose, Positive
from sidestep.types.scene import CompiledScene, Region, SceneSpec

FREE, OCCUPIED = 254, 0  # brightness that map_server writes
BORDER = 0.5  # m of solid around an enclosed scene in a written map
FARTHEST = 16_000.0  # m from the origin, as of any scene
MOST_OUTLINES = 250_000  # edges between occupied and free pixels along the rows; noise has more

Share = Annotated[float, Field(ge=0, le=1)]


class RosMap(Model):
    """The YAML file of a map. ``unknown_is_solid`` is ours: whether nobody can enter unknown cells."""

    image: str
    resolution: Positive
    origin: Pose = (0.0, 0.0, 0.0)
    occupied_thresh: Share = 0.65
    free_thresh: Share = 0.196
    negate: bool = False
    mode: Literal["trinary"] = "trinary"
    unknown_is_solid: bool = False

    @model_validator(mode="after")
    def _check(self) -> RosMap:
        if self.free_thresh > self.occupied_thresh:
            raise ValueError(
                f"free_thresh {self.free_thresh} is above occupied_thresh {self.occupied_thresh}; swap them"
            )
        return self


def read_ros_map(path: Path, unknown_is_solid: bool | None = None) -> SceneSpec:
    """Read a map's YAML file: one walkable region with obstacles around its occupied cells.

    Outlines are straightened by at most three quarters of a cell (see :mod:`sidestep.scenes.pixel_outline`).
    ``unknown_is_solid`` overrides the key of that name in the file.
    """
    settings = RosMap.parse(read_mapping(path), str(path))
    brightness = read_grey_image(file_beside(path, settings.image, "image"))
    occupancy = brightness if settings.negate else 1 - brightness
    blocked = settings.unknown_is_solid if unknown_is_solid is None else unknown_is_solid
    solid = occupancy >= settings.free_thresh if blocked else occupancy > settings.occupied_thresh
    rows, columns = solid.shape
    _check_size(solid, settings, path)
    extent = np.array([[0.0, 0.0], [columns, 0.0], [columns, rows], [0.0, rows]])
    regions = [Region(kind="walkable", name="map", polygon=_corners(_place(extent, settings)))]
    for polygon in outline_pixels(solid[::-1], lambda pixels: _place(pixels, settings)):
        shell, *holes = (_corners(np.asarray(ring.coords)[:-1]) for ring in (polygon.exterior, *polygon.interiors))
        regions.append(Region(kind="obstacle", polygon=shell, holes=tuple(holes)))
    return SceneSpec(name=path.stem, regions=tuple(regions), source=f"ROS map {path.name}")


def save_ros_map(scene: CompiledScene, folder: Path, resolution: float = 0.05, name: str | None = None) -> Path:
    """Write ``name.pgm`` and ``name.yaml`` (by default the scene's name) with cells of ``resolution`` m;
    returns the YAML's path.

    A cell is occupied when its centre is in a solid.
    """
    if not 0 < resolution < math.inf:
        raise BadInput(f"resolution: must be a positive number of metres, got {resolution}")
    x0, y0, x1, y1 = scene.bounds
    border = math.ceil(BORDER / resolution) * resolution if scene.spec.enclosed else 0.0
    x0, y0 = x0 - border, y0 - border
    columns, rows = (
        math.ceil((x1 + border - x0) / resolution - 1e-6),
        math.ceil((y1 + border - y0) / resolution - 1e-6),
    )
    if columns * rows > MOST_PIXELS:
        raise BadInput(f"resolution: {resolution} m makes {columns} x {rows} cells; choose a coarser one")
    centre = (x0 + resolution / 2, y0 + resolution / 2)
    solid = solid_mask(scene.segments, scene.spec.enclosed, centre, resolution, (rows, columns))
    folder.mkdir(parents=True, exist_ok=True)
    stem = name or scene.spec.name
    write_pgm(folder / f"{stem}.pgm", np.where(solid[::-1], OCCUPIED, FREE).astype(np.uint8))
    path = folder / f"{stem}.yaml"
    path.write_text(
        f"image: {stem}.pgm\nmode: trinary\nresolution: {resolution:.9g}\norigin: [{x0:.9g}, {y0:.9g}, 0]\n"
        f"negate: 0\noccupied_thresh: 0.65\nfree_thresh: 0.196\n",
        encoding="utf-8",
    )
    return path


def _check_size(solid: BoolArray, settings: RosMap, path: Path) -> None:
    rows, columns = solid.shape
    reach = max(abs(value) for value in settings.origin[:2]) + settings.resolution * (rows + columns)
    if reach > FARTHEST:
        raise BadInput(
            f"{path}: reaches {reach / 1000:.3g} km from the origin, at most {FARTHEST / 1000:g} km are read; check "
            "resolution and origin"
        )
    changes = int(np.count_nonzero(solid[:, 1:] != solid[:, :-1]))
    if changes > MOST_OUTLINES:
        raise BadInput(
            f"{path}: {changes:,} edges between occupied and free cells, at most {MOST_OUTLINES:,} are outlined; "
            "is the image noise, or are the thresholds wrong?"
        )


def _place(pixels: FloatArray, settings: RosMap) -> FloatArray:
    """Pixel coordinates, y up from the lower left corner, to metres in the map's frame (to 1 µm)."""
    x, y, yaw = settings.origin
    u, v = (pixels * settings.resolution).T
    east = x + exact.cos(yaw) * u - exact.sin(yaw) * v
    north = y + exact.sin(yaw) * u + exact.cos(yaw) * v
    return np.stack([east, north], axis=1).round(6)


def _corners(ring: FloatArray) -> tuple[tuple[float, float], ...]:
    return tuple((float(x), float(y)) for x, y in ring)
