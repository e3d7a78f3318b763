"""Pictures for furniture, trees and metal. Each returns linear RGB ``(S, S, 3)``."""

from __future__ import annotations

import numpy as np

from sidestep.render.materials.noise import Colour, cells, fractal, linear, mix, picture
from sidestep.types.base import FloatArray


def plain(tint: Colour) -> FloatArray:
    """One colour, one pixel."""
    return linear(tint).astype(np.float32).reshape(1, 1, 3)


def leaves(tint: Colour, seed: int, across: int = 20) -> FloatArray:
    """Leaves over each other, some in the shade, some turned to the light."""
    size = 128
    near, _, value = cells(size, across, seed, 1.0)
    clumps = fractal(size, seed + 1, 1.2, 2)
    tone = 0.6 + 0.55 * value + 0.14 * clumps - 0.25 * np.clip(near - 0.3, 0, 1)
    return picture(mix(tint, (0.52, 0.55, 0.22), 0.35 * value), tone)


def bark(seed: int = 201) -> FloatArray:
    size = 64
    ridges = np.abs(fractal(size, seed, 1.3) + 1.5 * np.sin(np.arange(size) * 2 * np.pi * 9 / size)[None, :])
    return picture((0.36, 0.29, 0.23), 0.65 + 0.25 * ridges + 0.06 * fractal(size, seed + 1, 0.3))


def fabric(tint: Colour, seed: int) -> FloatArray:
    size = 64
    i = np.arange(size)
    weave = ((i[:, None] // 2 + i[None, :] // 2) % 2) * 0.06
    return picture(tint, 0.97 + weave + 0.03 * fractal(size, seed, 0.8))


def brushed(tint: Colour, seed: int) -> FloatArray:
    """Brushed metal, streaks along v."""
    size = 64
    streak = np.repeat(np.random.default_rng(seed).standard_normal((1, size)), size, 0)
    return picture(tint, 1 + 0.03 * streak + 0.02 * fractal(size, seed + 1, 1.2))


def water(seed: int = 211) -> FloatArray:
    size = 128
    ripple = fractal(size, seed, 1.4, 3)
    return linear(mix((0.16, 0.3, 0.36), (0.42, 0.55, 0.62), np.clip(0.4 + 0.25 * ripple, 0, 1))).astype(np.float32)


def books(seed: int = 221) -> FloatArray:
    """Four shelves of book spines."""
    size, shelves = 128, 4
    rng = np.random.default_rng(seed)
    out = np.full((size, size, 3), 0.12)
    high = size // shelves
    for shelf in range(shelves):
        x = 0
        while x < size:
            wide, tall = int(rng.integers(3, 7)), int(high * rng.uniform(0.6, 0.85))
            tint = rng.uniform(0.12, 0.62, 3) * np.array([1.05, 0.95, 0.85])
            foot = shelf * high + 3
            out[foot : foot + tall, x : x + wide - 1] = tint
            x += wide
        out[shelf * high : shelf * high + 3] = (0.45, 0.32, 0.2)
    return linear(out).astype(np.float32)


def tactile(seed: int = 231) -> FloatArray:
    """Blister paving at ramps, 0.4 m slabs with 6 by 6 domes."""
    size = 64
    t = (np.arange(size) + 0.5) / size * 6 % 1 - 0.5
    dome = np.hypot(t[:, None], t[None, :]) < 0.3
    rim = np.minimum(np.arange(size), size - 1 - np.arange(size)) < 1
    joint = rim[:, None] | rim[None, :]
    return picture((0.7, 0.64, 0.5), (0.92 + 0.12 * dome + 0.02 * fractal(size, seed, 0.3)) * (1 - 0.3 * joint))
