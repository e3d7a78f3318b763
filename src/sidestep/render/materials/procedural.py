"""Pictures of grounds, walls, openings and objects made by code, from noise that repeats without a seam. Each returns
linear RGB ``(S, S, 3)``; row 0 is at v = 0 (the foot of a wall), column 0 at u = 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.types.base import BoolArray, FloatArray

Colour = tuple[float, float, float]


def linear(colour: FloatArray | Colour) -> FloatArray:
    """sRGB 0 … 1 → linear light, with the plain exponent 2.2."""
    return np.asarray(np.clip(np.asarray(colour, np.float64), 0.0, 1.0) ** 2.2)


def fractal(size: int, seed: int, slope: float = 1.0, low: float = 1.0) -> FloatArray:
    """Noise ``(size, size)`` of mean 0 and deviation 1 whose amplitude falls as 1 / frequency^slope.

    ``low`` is the lowest frequency kept, in waves per picture: without it a repeating picture shows its repeats.
    """
    white = np.random.default_rng(seed).standard_normal((size, size))
    f = np.fft.fftfreq(size) * size
    radius = np.hypot(f[:, None], np.abs(np.fft.rfftfreq(size) * size)[None, :])
    gain = np.where(radius >= low, np.maximum(radius, 1.0) ** -slope, 0.0)
    noise = np.fft.irfft2(np.fft.rfft2(white) * gain, s=(size, size))
    return np.asarray(noise / noise.std())


def cells(size: int, across: int, seed: int, jitter: float = 0.9) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Jittered cells on a torus: distance to the nearest and the second nearest seed (in cells), and a value 0 … 1
    per cell."""
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(seed)
    corner = np.stack(np.meshgrid(np.arange(across), np.arange(across), indexing="ij"), -1).reshape(-1, 2)
    points = (corner + 0.5 + jitter * (rng.random((across * across, 2)) - 0.5)) % across
    pixel = (np.arange(size) + 0.5) * across / size
    where = np.stack(np.meshgrid(pixel, pixel, indexing="ij"), -1).reshape(-1, 2)
    tree: Any = cKDTree(points, boxsize=np.full(2, across))
    distance, index = tree.query(where, k=2)
    value = rng.random(across * across)[index[:, 0]]
    shape = (size, size)
    return distance[:, 0].reshape(shape), distance[:, 1].reshape(shape), value.reshape(shape)


def courses(
    size: int, columns: int, rows: int, joint: tuple[float, float], shift: float = 0.5, seed: int = 0
) -> tuple[FloatArray, FloatArray]:
    """Bricks or slabs in rows: how much each pixel is joint (0 … 1, one pixel soft) and a value 0 … 1 per stone.

    ``joint`` is the joint's width as a part of the stone's width and height; ``shift`` moves every second row.
    """
    v, u = np.meshgrid((np.arange(size) + 0.5) / size, (np.arange(size) + 0.5) / size, indexing="ij")
    row = np.floor(v * rows).astype(int)
    x = u * columns + shift * (row % 2)
    y = v * rows
    column = np.floor(x).astype(int) % columns
    to_side = np.minimum(x % 1.0, 1.0 - x % 1.0) * size / columns
    to_bed = np.minimum(y % 1.0, 1.0 - y % 1.0) * size / rows
    half = joint[0] * size / columns / 2, joint[1] * size / rows / 2
    open_joint = np.maximum(np.clip(half[0] - to_side + 0.5, 0, 1), np.clip(half[1] - to_bed + 0.5, 0, 1))
    value = np.random.default_rng(seed).random((rows, columns))[row, column]
    return open_joint, value


def mix(a: FloatArray | Colour, b: FloatArray | Colour, t: FloatArray) -> FloatArray:
    """``a`` where t = 0, ``b`` where t = 1."""
    weight = t[..., None]
    return np.asarray(np.asarray(a) * (1 - weight) + np.asarray(b) * weight)


def picture(colour: FloatArray | Colour, brightness: FloatArray) -> FloatArray:
    """A colour (or a picture) in sRGB times a brightness per pixel, as float32 linear light."""
    return linear(np.asarray(colour) * brightness[..., None]).astype(np.float32)


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
