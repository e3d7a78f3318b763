"""Noise that repeats without a seam, and the step from screen colours to linear light."""

from __future__ import annotations

import numpy as np

from sidestep.types.base import FloatArray

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
    distance, index = cKDTree(points, boxsize=across).query(where, k=2)
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
