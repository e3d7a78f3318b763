"""Materials as the rasteriser wants them: mip levels of packed texels, and a table of their other properties."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidestep.errors import BadInput
from sidestep.kernels.raster_frame import SurfaceArrays
from sidestep.kernels.raster_layout import (
    GLOSS,
    GLOW,
    MATERIAL_COLUMNS,
    PER_METRE,
    PICTURE_LEVELS,
    PLAIN,
    PLAIN_RED,
    TWO_SIDED,
)
from sidestep.render.mesh import Material, Semantic
from sidestep.types.base import FloatArray, IntArray

MOST_SIDE = 2 ** (PICTURE_LEVELS - 1)
SOAK = {
    Semantic.ROAD: 1.0,
    Semantic.LANE_MARKING: 0.9,
    Semantic.CROSSWALK: 0.9,
    Semantic.SIDEWALK: 0.85,
    Semantic.KERB: 0.6,
    Semantic.FLOOR: 1.0,
    Semantic.GRASS: 0.25,
}
"""How much water lies on each class in the rain."""


def mip_levels(texture: FloatArray) -> list[FloatArray]:
    """``texture`` (S, S, 3) and its halvings down to one texel; each texel is the mean of four."""
    levels = [np.asarray(texture, np.float32)]
    while len(levels[-1]) > 1:
        size = len(levels[-1]) // 2
        levels.append(levels[-1].reshape(size, 2, size, 2, 3).mean(axis=(1, 3)))
    return levels


def pack_texels(colours: FloatArray) -> IntArray:
    """Linear RGB (…, 3) 0 … 1 as uint32: square roots in 8 bits each, red lowest."""
    roots = np.sqrt(np.clip(colours, 0.0, 1.0)) * 255.0 + 0.5
    bytes_ = roots.astype(np.uint32)
    packed: IntArray = bytes_[..., 0] | bytes_[..., 1] << 8 | bytes_[..., 2] << 16
    return packed


def check_material(material: Material) -> None:
    """Raise unless it can be drawn."""
    shape = np.shape(material.texture)
    if len(shape) != 3 or shape[0] != shape[1] or shape[2] != 3 or shape[0] & (shape[0] - 1) or shape[0] < 1:
        raise BadInput(f"material {material.name!r}: texture must be (S, S, 3) with S a power of two, got {shape}")
    if shape[0] > MOST_SIDE:
        raise BadInput(f"material {material.name!r}: texture of {shape[0]} texels; at most {MOST_SIDE}")
    if not material.size_m > 0.0:
        raise BadInput(f"material {material.name!r}: size_m must be positive, got {material.size_m}")


def pack_materials(materials: Sequence[Material]) -> SurfaceArrays:
    """All materials in one table and all their texels in one row."""
    table = np.zeros((max(len(materials), 1), MATERIAL_COLUMNS), np.float32)
    pictures = np.zeros((max(len(materials), 1), 1 + PICTURE_LEVELS), np.int32)
    parts: list[IntArray] = []
    offset = 0
    for k, material in enumerate(materials):
        check_material(material)
        levels = mip_levels(material.texture)
        table[k, GLOSS], table[k, GLOW], table[k, TWO_SIDED] = material.gloss, material.glow, material.two_sided
        table[k, PER_METRE] = 1.0 / material.size_m
        table[k, PLAIN_RED : PLAIN_RED + 3] = levels[-1].reshape(3)
        table[k, PLAIN] = len(levels) == 1
        pictures[k, 0] = len(levels) - 1
        for number, level in enumerate(levels):
            pictures[k, 1 + number] = offset
            parts.append(pack_texels(level).ravel())
            offset += level.shape[0] ** 2
    texels = np.concatenate(parts) if parts else np.zeros(1, np.uint32)
    soak = np.zeros(256, np.float32)
    for semantic, share in SOAK.items():
        soak[semantic] = share
    return SurfaceArrays(table, pictures, texels.astype(np.uint32), soak)
