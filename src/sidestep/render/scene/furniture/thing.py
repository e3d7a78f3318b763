"""What a maker of furniture is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sidestep.render.mesh import Semantic
from sidestep.render.scene.builder import MeshBuilder
from sidestep.render.scene.solids import Frame, polygon_parts, prism

HEAD_ROOM = 2.2  # m: above it branches and lamps may reach beyond the footprint


@dataclass(frozen=True)
class Thing:
    """A footprint on the ground, with its height above that ground."""

    polygon: Any
    frame: Frame
    height: float
    rng: np.random.Generator
    words: frozenset[str]
    indoor: bool
    z: float = 0.0

    @property
    def rectangular(self) -> bool:
        return bool(self.polygon.area > 0.97 * self.frame.length * self.frame.width)

    @property
    def round(self) -> bool:
        """About as wide as long, with six corners or more."""
        corners = len(self.polygon.exterior.coords) - 1
        return corners >= 6 and self.frame.width > 0.85 * self.frame.length

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
        shape = self.polygon.buffer(-inset, join_style="mitre") if inset else self.polygon
        smooth = self.round
        for part in polygon_parts(shape):
            prism(builder, part, self.z + z0, self.z + z1, material, semantic, top=top, bottom=bottom, smooth=smooth)
