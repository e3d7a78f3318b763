"""Pictures of walls, windows and doors. Each returns linear RGB ``(S, S, 3)``; row 0 is the foot."""

from __future__ import annotations

import numpy as np

from sidestep.render.materials.noise import Colour, courses, fractal, linear, mix, picture
from sidestep.types.base import BoolArray, FloatArray


def brick(tint: Colour, seed: int, mortar: Colour = (0.62, 0.6, 0.56)) -> FloatArray:
    """Stretcher bond, 8 bricks by 24 courses."""
    size = 256
    joint, value = courses(size, 8, 24, (0.05, 0.15), 0.5, seed)
    odd = np.random.default_rng(seed + 1).random(64)[(value * 63).astype(int)]
    faces = np.asarray(tint) * (0.78 + 0.42 * value[..., None])
    faces[..., 2] *= 0.85 + 0.3 * odd
    return picture(
        mix(faces, mortar, joint), 1 + 0.04 * fractal(size, seed + 2, 0.4) + 0.03 * fractal(size, seed + 3, 1.5, 2)
    )


def plaster(tint: Colour, seed: int, rough: float = 1.0) -> FloatArray:
    """Render with fine grain and faint clouds."""
    size = 128
    tone = 1 + 0.018 * rough * fractal(size, seed, 0.3) + 0.02 * rough * fractal(size, seed + 1, 1.5, 2)
    return picture(tint, tone)


def concrete(tint: Colour = (0.6, 0.6, 0.58), seed: int = 101) -> FloatArray:
    """Cast concrete: formwork panels, tie holes, streaks that run down."""
    size = 128
    joint, value = courses(size, 2, 2, (0.012, 0.012), 0.0, seed)
    streaks = np.repeat(fractal(size, seed + 1, 0.9).mean(0, keepdims=True), size, 0)
    v, u = np.meshgrid((np.arange(size) + 0.5) / size * 2 % 1, (np.arange(size) + 0.5) / size * 2 % 1, indexing="ij")
    holes = (
        np.minimum(np.abs(u - 0.22), np.abs(u - 0.78)) ** 2 + np.minimum(np.abs(v - 0.22), np.abs(v - 0.78)) ** 2
        < 0.0005
    )
    tone = 1 + 0.05 * (value - 0.5) + 0.12 * streaks + 0.03 * fractal(size, seed + 2, 1.2) - 0.3 * holes
    return picture(tint, tone * (1 - 0.25 * joint))


def ashlar(tint: Colour, columns: int, rows: int, seed: int) -> FloatArray:
    """Dressed stone in courses."""
    size = 256
    joint, value = courses(size, columns, rows, (0.02, 0.04), 0.5, seed)
    tone = 0.88 + 0.24 * value + 0.05 * fractal(size, seed + 1, 0.5) + 0.03 * fractal(size, seed + 2, 1.4, 2)
    return picture(tint, tone * (1 - 0.38 * joint))


def _bars(size: int, across: int, up: int, rim: float, bar: float) -> FloatArray:
    """1 on the frame and the glazing bars of a window, 0 on glass."""
    t = (np.arange(size) + 0.5) / size
    outer = np.minimum(t, 1 - t) < rim

    def between(parts: int) -> BoolArray:
        cuts = np.arange(1, parts) / parts
        return np.asarray((np.abs(t[:, None] - cuts[None, :]) < bar / 2).any(axis=1))

    return np.asarray((outer | between(up))[:, None] | (outer | between(across))[None, :], np.float64)


def window(frame: Colour, across: int, up: int, seed: int, lit: bool = False, curtain: bool = False) -> FloatArray:
    """A whole window: frame, bars, and panes that mirror a brighter sky above than the street below."""
    size = 64
    v, u = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size, indexing="ij")
    sky = np.clip(v * 1.15 - 0.12 + 0.1 * np.sin(5 * u + 3 * v + seed) + 0.05 * fractal(size, seed, 1.8), 0, 1)
    glass = mix((0.12, 0.15, 0.18), (0.5, 0.6, 0.68), sky**1.4)
    if lit:
        glass = mix((0.42, 0.35, 0.25), (0.58, 0.52, 0.42), np.clip(v, 0, 1))  # dull by day; its glow is for the night
    if curtain:
        cloth = np.clip(np.abs(u - 0.5) * 7.0 - 1.9, 0, 1)
        folds = 0.85 + 0.12 * np.sin(u * 90)
        glass = mix(glass, np.stack([folds * 0.8, folds * 0.77, folds * 0.7], -1), cloth * 0.75)
    return linear(mix(glass, frame, _bars(size, across, up, 0.055, 0.035))).astype(np.float32)


def shop_window(frame: Colour, seed: int) -> FloatArray:
    """Display glass with shelves dimly seen behind it."""
    size = 128
    v, u = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size, indexing="ij")
    rng = np.random.default_rng(seed)
    goods = rng.random((5, 9, 3))[(v * 5).astype(int), (u * 9).astype(int)] * 0.35 + 0.25
    shown = ((v * 5) % 1 < 0.65) & ((u * 9) % 1 < 0.75) & (v < 0.8)
    inside = np.where(shown[..., None], goods, 0.16)
    mirror = mix((0.1, 0.12, 0.14), (0.55, 0.63, 0.7), np.clip(v + 0.15 * np.sin(4 * u + seed), 0, 1) ** 2)
    return linear(mix(0.55 * inside + 0.5 * mirror, frame, _bars(size, 2, 1, 0.03, 0.02))).astype(np.float32)


def door(tint: Colour, seed: int, panels: int = 3, glazed: bool = False, leaves: int = 1) -> FloatArray:
    """One door: leaf, panels or glass, handle."""
    size = 128
    v, u = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size, indexing="ij")
    leaf = (u * leaves) % 1.0
    tone = 1 + 0.04 * np.sin(70 * leaf + 3 * fractal(size, seed, 1.8)) + 0.015 * fractal(size, seed + 1, 0.4)
    base = np.asarray(tint) * tone[..., None]
    y = (v * 0.96 + 0.01) * panels % 1.0
    inside = (np.abs(leaf - 0.5) < 0.34) & (np.abs(y - 0.5) < 0.38)
    rim = (np.abs(leaf - 0.5) < 0.38) & (np.abs(y - 0.5) < 0.43) & ~inside
    base = base * np.where(rim, 0.72, 1.0)[..., None]
    if glazed:
        pane = mix((0.2, 0.24, 0.27), (0.62, 0.7, 0.75), np.clip(v + 0.1 * np.sin(6 * u), 0, 1) ** 1.3)
        glass = (np.abs(leaf - 0.5) < 0.4) & (v > 0.07) & (v < 0.95)
        base = np.where(glass[..., None], pane, base)
    handle = (np.abs(leaf - (0.9 if leaves == 1 else 0.92)) < 0.03) & (np.abs(v - 0.48) < (0.12 if glazed else 0.02))
    gap = np.minimum(leaf, 1 - leaf) < 0.012
    base = np.where(handle[..., None], (0.75, 0.75, 0.74), base) * np.where(gap, 0.4, 1.0)[..., None]
    return linear(base).astype(np.float32)


def distant_facade(tint: Colour, frame: Colour, seed: int) -> FloatArray:
    """Four bays by four storeys of a far house, with windows as part of the picture."""
    size, bays = 128, 4
    v, u = np.meshgrid((np.arange(size) + 0.5) / size * bays, (np.arange(size) + 0.5) / size * bays, indexing="ij")
    x, y = u % 1, v % 1
    glass = (np.abs(x - 0.5) < 0.2) & (np.abs(y - 0.55) < 0.26)
    rim = (np.abs(x - 0.5) < 0.25) & (np.abs(y - 0.55) < 0.31) & ~glass
    tone = np.random.default_rng(seed).random((bays, bays))[v.astype(int), u.astype(int)]
    pane = mix((0.14, 0.17, 0.2), (0.48, 0.56, 0.63), np.clip(y + 0.5 * tone - 0.4, 0, 1))
    wall = np.asarray(tint) * (1 + 0.02 * fractal(size, seed, 0.8) - 0.1 * (y < 0.05))[..., None]
    return linear(np.where(glass[..., None], pane, np.where(rim[..., None], frame, wall))).astype(np.float32)


def roof_tiles(tint: Colour, seed: int) -> FloatArray:
    size = 128
    joint, value = courses(size, 10, 8, (0.08, 0.02), 0.5, seed)
    shade = 0.72 + 0.4 * ((np.arange(size) + 0.5) / size * 8 % 1.0)[::-1, None]
    return picture(tint, shade * (0.85 + 0.3 * value) * (1 - 0.3 * joint))


def ceiling_tiles(seed: int = 131) -> FloatArray:
    size = 128
    joint, value = courses(size, 2, 2, (0.03, 0.03), 0.0, seed)
    return picture((0.9, 0.9, 0.88), (1 + 0.015 * fractal(size, seed, 0.1) + 0.02 * (value - 0.5)) * (1 - 0.15 * joint))
