"""Grey images as ROS maps keep them: PGM, plain (P2) or raw (P5); others through Pillow where installed."""

from __future__ import annotations

import re
import struct
from pathlib import Path

import numpy as np

from sidestep.errors import BadInput
from sidestep.reading import read_bytes
from sidestep.types.base import FloatArray, IntArray

MOST_PIXELS = 64_000_000
MOST_PLAIN_PIXELS = 8_000_000  # of images written out in decimal numbers
MOST_BYTES = 140_000_000
_PILLOW_RAISES = (OSError, SyntaxError, ValueError, TypeError, LookupError, ArithmeticError, EOFError, struct.error)
"""What Pillow's decoders raise on damaged files."""
TOKEN = re.compile(rb"(?:\s|#[^\r\n]*[\r\n])*([^\s#]+)")  # white space and comments before a word


def read_grey_image(path: Path) -> FloatArray:
    """Brightness in [0, 1], ``(rows, columns)`` float32 with the top row first."""
    data = read_bytes(path, "map image", MOST_BYTES)
    if data[:2] in (b"P2", b"P5"):
        return parse_pgm(data, str(path))
    return _read_with_pillow(path)


def parse_pgm(data: bytes, where: str) -> FloatArray:
    """A PGM file (https://netpbm.sourceforge.net/doc/pgm.html) as brightness in [0, 1], top row first."""
    fields, end = [], 2
    for name in ("width", "height", "greatest value"):
        token = TOKEN.match(data, end)
        if token is None or not token[1].isdigit() or len(token[1]) > 9:
            raise BadInput(f"{where}: the PGM header has no {name}; the file is damaged, export the map again")
        fields.append(int(token[1]))
        end = token.end()
    width, height, greatest = fields
    most = MOST_PIXELS if data[:2] == b"P5" else MOST_PLAIN_PIXELS
    if not (0 < width * height <= most and 0 < greatest < 65536):
        raise BadInput(
            f"{where}: a PGM of {width} x {height} pixels up to {greatest} cannot be read (at most {most:,} pixels up "
            "to 65535); export it again"
        )
    if data[:2] == b"P5":
        pixels = _raw_pixels(data[end + 1 :], width * height, greatest, where)
    else:
        pixels = _plain_pixels(data[end:], width * height, where)
    if pixels.max() > greatest:
        raise BadInput(f"{where}: a pixel is {pixels.max()}, above the {greatest} of its header; export it again")
    if pixels.min() < 0:
        raise BadInput(f"{where}: a pixel is {pixels.min()}, below 0; export it again")
    return pixels.reshape(height, width).astype(np.float32) / np.float32(greatest)


def _raw_pixels(body: bytes, count: int, greatest: int, where: str) -> IntArray:
    depth = np.dtype("u1") if greatest < 256 else np.dtype(">u2")
    expected = count * depth.itemsize
    if len(body) < expected:
        raise BadInput(f"{where}: the PGM is cut off: {expected} bytes expected, {len(body)} found; copy it again")
    return np.frombuffer(body, depth, count)


def _plain_pixels(body: bytes, count: int, where: str) -> IntArray:
    words = re.sub(rb"#[^\r\n]*", b"", body).split()
    if len(words) < count:
        raise BadInput(f"{where}: the PGM is cut off: {count} pixels expected, {len(words)} found; copy it again")
    try:
        if max(map(len, words[:count])) > 9:
            raise ValueError
        return np.array(words[:count]).astype(np.int64)
    except ValueError:
        raise BadInput(f"{where}: the PGM holds something other than numbers; export the map again") from None


def write_pgm(path: Path, grey: IntArray) -> None:
    """Write ``grey (rows, columns)`` uint8, top row first, as raw PGM."""
    rows, columns = grey.shape
    path.write_bytes(f"P5\n{columns} {rows}\n255\n".encode() + np.ascontiguousarray(grey, np.uint8).tobytes())


def _read_with_pillow(path: Path) -> FloatArray:
    try:
        from PIL import Image, UnidentifiedImageError
    except ImportError:
        raise BadInput(
            f"{path}: only PGM images can be read without Pillow; convert it to PGM or install Pillow"
        ) from None
    try:
        with Image.open(path) as image:
            if image.width * image.height > MOST_PIXELS:
                raise BadInput(
                    f"{path}: {image.width} x {image.height} pixels, at most {MOST_PIXELS:,} are read; cut a part out"
                )
            if image.mode.startswith("I"):  # 16 bits per pixel
                return np.asarray(image, np.float32) / np.float32(65535)
            return np.asarray(image.convert("L"), np.float32) / np.float32(255)
    except (UnidentifiedImageError, Image.DecompressionBombError, *_PILLOW_RAISES) as error:
        raise BadInput(f"{path}: not a readable image ({error}); ROS maps are PGM or PNG") from None
