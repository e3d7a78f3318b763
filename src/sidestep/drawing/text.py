"""Words in a picture: cached glyph masks, blended by numpy."""

from __future__ import annotations

from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from sidestep.drawing.palette import Colour
from sidestep.drawing.shapes import Picture
from sidestep.types.base import FloatArray


@lru_cache(maxsize=64)
def _font(size: int, plain: bool) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """Pillow's own font knows ASCII only; other letters take DejaVu Sans, which matplotlib brings along."""
    if not plain:
        matplotlib = find_spec("matplotlib")
        for folder in (matplotlib.submodule_search_locations or []) if matplotlib else []:
            path = Path(folder) / "mpl-data" / "fonts" / "ttf" / "DejaVuSans.ttf"
            if path.is_file():
                return ImageFont.truetype(str(path), size)
    return ImageFont.load_default(size)


@lru_cache(maxsize=1024)
def text_mask(text: str, size: int) -> FloatArray:
    """Coverage (h, w) in 0 … 1 of one line of text, ``size`` px high, on a common baseline."""
    font = _font(size, text.replace("·", "").isascii())
    left, _, right, _ = ImageDraw.Draw(Image.new("L", (1, 1))).textbbox((0, 0), text, font=font)
    mask = Image.new("L", (max(1, int(right - left) + 2), round(size * 1.4)))
    ImageDraw.Draw(mask).text((1 - left, size * 1.1), text, fill=255, font=font, anchor="ls")
    return np.asarray(mask, dtype=np.float32) / 255


@lru_cache(maxsize=64)
def fit_text(text: str, size: int, room: int) -> str:
    """``text``, cut and ended with dots where it is wider than ``room`` px."""
    width = text_mask(text, size).shape[1]
    if width <= room:
        return text
    keep = min(len(text) - 1, int(len(text) * room / width) + 2)
    while keep > 0 and text_mask(text[:keep].rstrip() + "...", size).shape[1] > room:
        keep -= 1
    return text[:keep].rstrip() + "..." if keep > 0 else ""


def write(image: Picture, text: str, x: int, y: int, size: int, colour: Colour, alpha: float = 1.0) -> int:
    """Write ``text`` with its upper left corner at (x, y) px, cut at the edges; returns its width, px."""
    mask = text_mask(text, size)
    patch = image[max(0, y) : y + mask.shape[0], max(0, x) : x + mask.shape[1]]
    part = mask[max(0, -y) :, max(0, -x) :][: patch.shape[0], : patch.shape[1], None] * alpha
    patch[:] = (patch * (1 - part) + np.array(colour, dtype=np.float32) * part + 0.5).astype(np.uint8)
    return int(mask.shape[1])
