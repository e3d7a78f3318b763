"""Static worlds: polygons with meaning, and the arrays that kernels read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from pydantic import Field, model_validator

from sidestep.types.base import FarPoint, FloatArray, IntArray, Model, NonNegative, read_only
from sidestep.types.road import Roads

RegionKind = Literal[
    "obstacle",
    "building",
    "furniture",
    "walkable",
    "sidewalk",
    "crosswalk",
    "road",
    "kerb",
    "verge",
    "frontage",
    "grass",
    "ramp",
    "island",
]

SOLID: frozenset[str] = frozenset({"obstacle", "building", "furniture"})
"""Kinds that nobody can enter."""
OPEN: frozenset[str] = frozenset(
    {"walkable", "sidewalk", "crosswalk", "road", "kerb", "verge", "frontage", "grass", "ramp", "island"}
)
"""Kinds that are ground to stand on."""


class Region(Model):
    """A polygon with a meaning. ``height`` is its top above the ground, for cameras."""

    kind: RegionKind
    polygon: tuple[FarPoint, ...]
    holes: tuple[tuple[FarPoint, ...], ...] = ()
    height: NonNegative | None = None
    name: str = ""

    @model_validator(mode="after")
    def _check(self) -> Region:
        for ring in (self.polygon, *self.holes):
            if len(ring) < 3:
                raise ValueError(f"a polygon needs at least 3 corners, got {len(ring)}")
        return self


class SceneSpec(Model):
    """A static world as a person writes it.

    ``enclosed``: everything outside the open regions is solid, as in a floor plan. Otherwise only solid regions block.
    ``mesh``: what cameras see instead of the drawn regions, a ``.glb`` file: in a scene file a path beside or below it,
    or ``bundled:FILE`` of a place that comes with Sidestep.
    """

    name: str = "open"
    regions: tuple[Region, ...] = ()
    enclosed: bool = False
    source: str = ""
    mesh: str | None = None
    roads: Roads | None = Field(default=None, exclude_if=lambda roads: roads is None)
    """Lanes, markings, crossings, signals and parking bays; None: nothing is known of them."""

    @model_validator(mode="after")
    def _check(self) -> SceneSpec:
        if self.mesh is not None:
            parts = self.mesh.replace("\\", "/").split("/")
            if not self.mesh.endswith(".glb") or "://" in self.mesh or ".." in parts:
                raise ValueError(f"mesh must be the path of a .glb file without '..' in it, got {self.mesh!r}")
        if self.enclosed and not any(region.kind in OPEN for region in self.regions):
            raise ValueError("an enclosed scene needs at least one open region (walkable, sidewalk, road, …)")
        return self


@dataclass(frozen=True, eq=False)
class CompiledScene:
    """A scene as arrays. Edge i of the solid polygons runs from ``wall_points[i]`` to ``wall_points[wall_next[i]]``
    with the solid on its left. ``cell_*`` and ``grid*`` list the edges near each cell (see ``kernels.layout``)."""

    spec: SceneSpec
    bounds: tuple[float, float, float, float]
    """x_min, y_min, x_max, y_max of everything drawn, m."""
    wall_points: FloatArray  # (W, 2) float32, m
    wall_dirs: FloatArray  # (W, 2) float32, unit
    wall_next: IntArray  # (W,) int32
    wall_prev: IntArray  # (W,) int32
    wall_convex: IntArray  # (W,) uint8
    cell_start: IntArray  # (cells + 1,) int32
    cell_items: IntArray  # int32
    grid: FloatArray  # (4,) float32: x0, y0, cell size, 0
    grid_shape: IntArray  # (2,) int32: nx, ny
    make_distance: Callable[[], FloatArray]  # see ``distance``; called on first use
    distance_origin: tuple[float, float]  # centre of distance[0, 0]
    distance_cell: float  # m

    @cached_property
    def distance(self) -> FloatArray:
        """(ny, nx) float32: distance to the nearest solid from the cell's centre, negative inside, m."""
        return self.make_distance()

    @property
    def distance_is_known(self) -> bool:
        """Whether ``distance`` was computed already: in large scenes it takes a while."""
        return "distance" in vars(self)

    @property
    def segments(self) -> FloatArray:
        """(W, 4) float32 x0, y0, x1, y1 of every wall edge, m."""
        return np.concatenate([self.wall_points, self.wall_points[self.wall_next]], axis=1)

    def clearance(self, x: float, y: float) -> float:
        """Distance to the nearest solid, m, bilinear in the distance field; outside it the border's value."""
        ny, nx = self.distance.shape
        column = min(max((x - self.distance_origin[0]) / self.distance_cell, 0.0), nx - 1.0)
        row = min(max((y - self.distance_origin[1]) / self.distance_cell, 0.0), ny - 1.0)
        i, j = min(int(row), max(ny - 2, 0)), min(int(column), max(nx - 2, 0))
        fi, fj = row - i, column - j
        i1, j1 = min(i + 1, ny - 1), min(j + 1, nx - 1)
        d = self.distance
        low = d[i, j] * (1 - fj) + d[i, j1] * fj
        high = d[i1, j] * (1 - fj) + d[i1, j1] * fj
        return float(low * (1 - fi) + high * fi)

    def for_policies(self) -> CompiledScene:
        """The same scene in arrays that nobody can write to: it is shared by all episodes of a process."""
        arrays = {item.name: getattr(self, item.name) for item in fields(self)}
        views: dict[str, Any] = {
            name: read_only(value) for name, value in arrays.items() if isinstance(value, np.ndarray)
        }
        scene = replace(self, **views, make_distance=lambda: read_only(self.distance))
        if self.distance_is_known:
            _ = scene.distance
        return scene
