"""Colours as people write them, as the renderer needs them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sidestep.types.base import FloatArray


def linear_rgb(hex_colour: str) -> FloatArray:
    """Linear RGB of a colour like ``"27344d"`` (sRGB, IEC 61966-2-1)."""
    value = np.asarray([int(hex_colour[i : i + 2], 16) for i in (0, 2, 4)]) / 255.0
    return np.where(value <= 0.04045, value / 12.92, ((value + 0.055) / 1.055) ** 2.4)


def palette(hex_colours: Sequence[str]) -> FloatArray:
    """(slots, 3) float32 of several colours."""
    return np.stack([linear_rgb(colour) for colour in hex_colours]).astype(np.float32)
