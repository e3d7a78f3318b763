"""Pictures of grounds and floors. Each returns linear RGB ``(S, S, 3)``."""

from __future__ import annotations

import numpy as np

from sidestep.render.materials.noise import Colour, cells, courses, fractal, mix, picture
from sidestep.types.base import FloatArray


def asphalt(tint: Colour = (0.33, 0.33, 0.34), seed: int = 1) -> FloatArray:
    """Dark binder with light and dark aggregate, patches, and a few cracks."""
    size = 256
    near, _, value = cells(size, 52, seed, 1.0)
    stone = np.clip(1.0 - near / 0.42, 0, 1) * (value - 0.42)
    patches = fractal(size, seed + 1, 1.6, 2)
    wander = fractal(size, seed + 2, 1.9)
    crack = np.clip(1 - np.abs(wander) / 0.028, 0, 1) * (fractal(size, seed + 3, 1.5) > 0.9)
    return picture(tint, 1.0 + 0.55 * stone + 0.045 * patches + 0.05 * fractal(size, seed + 4, 0.2) - 0.4 * crack)


def slabs(tint: Colour, columns: int, rows: int, shift: float, seed: int, contrast: float = 0.12) -> FloatArray:
    """Concrete slabs with joints; every slab a little lighter or darker, with stains."""
    size = 256
    joint, value = courses(size, columns, rows, (0.022, 0.022), shift, seed)
    grain = 0.035 * fractal(size, seed + 1, 0.3) + 0.05 * fractal(size, seed + 2, 1.4, 2)
    spots = np.clip(fractal(size, seed + 3, 0.9) - 2.2, 0, 1) * 0.25
    return picture(tint, (1 + contrast * (value - 0.5) + grain - spots) * (1 - 0.42 * joint))


def cobbles(tint: Colour = (0.5, 0.48, 0.46), seed: int = 11) -> FloatArray:
    """Rounded setts with dark joints."""
    size = 256
    near, second, value = cells(size, 14, seed, 0.55)
    edge = np.clip((second - near) / 0.2, 0, 1)
    dome = 0.78 + 0.3 * edge - 0.18 * near
    return picture(tint, dome * (0.62 + 0.38 * edge) * (0.85 + 0.3 * value) + 0.03 * fractal(size, seed, 0.3))


def grass(tint: Colour = (0.33, 0.44, 0.2), seed: int = 21) -> FloatArray:
    """Blades, tufts and drier patches."""
    size = 256
    blades = fractal(size, seed, 0.25)
    tufts, dry = fractal(size, seed + 1, 1.0, 4), np.clip(0.5 + 0.28 * fractal(size, seed + 2, 1.7, 2), 0, 1)
    return picture(mix(tint, (0.5, 0.48, 0.25), 0.55 * dry), 1 + 0.16 * blades + 0.1 * tufts)


def stone(tint: Colour, seed: int, speckle: float = 0.1, size: int = 128) -> FloatArray:
    """Granite-like: kerbs, basins, columns."""
    return picture(tint, 1 + speckle * fractal(size, seed, 0.15) + 0.02 * fractal(size, seed + 1, 1.0, 3))


def soil(seed: int = 31) -> FloatArray:
    size = 64
    return picture((0.3, 0.23, 0.17), 1 + 0.22 * fractal(size, seed, 0.5))


def carpet(tint: Colour, seed: int = 41) -> FloatArray:
    """Carpet tiles of 0.5 m, each laid a quarter turn from its neighbour."""
    size = 128
    weave = fractal(size, seed, 0.1)
    turned = np.add.outer(np.arange(size) * 4 // size, np.arange(size) * 4 // size) % 2
    stripes = np.where(
        turned == 0, np.sin(np.arange(size) * np.pi * 0.5)[None, :], np.sin(np.arange(size) * 0.5 * np.pi)[:, None]
    )
    return picture(tint, 1 + 0.07 * weave + 0.045 * stripes + 0.06 * turned + 0.03 * fractal(size, seed + 1, 1.5, 2))


def tiles(tint: Colour, across: int, seed: int = 51) -> FloatArray:
    """Polished floor tiles with thin joints."""
    size = 256
    joint, value = courses(size, across, across, (0.014, 0.014), 0.0, seed)
    veins = np.clip(1 - np.abs(fractal(size, seed + 1, 1.7, 2)) / 0.06, 0, 1)
    tone = 1 + 0.06 * (value - 0.5) + 0.018 * fractal(size, seed + 2, 0.8) - 0.05 * veins
    return picture(tint, tone * (1 - 0.28 * joint))


def boards(tint: Colour, rows: int, seed: int, columns: int = 1) -> FloatArray:
    """Wood boards along u with grain and joints."""
    size = 256
    joint, value = courses(size, columns, rows, (0.004, 0.05), 0.37, seed)
    v = np.arange(size)[:, None] * np.ones((1, size))
    warp = fractal(size, seed + 1, 1.8)
    rings = np.sin(0.9 * v + 2.4 * warp + 40 * value)
    streak = np.repeat(np.random.default_rng(seed + 2).standard_normal((size, 1)), size, 1)
    tone = 1 + 0.05 * rings + 0.04 * streak + 0.28 * (value - 0.5) + 0.02 * fractal(size, seed + 3, 0.4)
    return picture(tint, tone * (1 - 0.45 * joint))


def paint(seed: int = 61) -> FloatArray:
    """Road paint, worn: the asphalt shows through."""
    size = 128
    worn = np.clip(0.35 * fractal(size, seed, 0.6) - 0.15, 0, 1) ** 1.5
    return picture(mix((0.84, 0.84, 0.82), (0.4, 0.4, 0.4), worn), 1 + 0.03 * fractal(size, seed + 1, 0.2))


def gravel(seed: int = 71) -> FloatArray:
    size = 128
    near, second, value = cells(size, 24, seed, 1.0)
    return picture((0.5, 0.49, 0.47), 0.65 + 0.45 * value + 0.25 * np.clip(second - near, 0, 1))
