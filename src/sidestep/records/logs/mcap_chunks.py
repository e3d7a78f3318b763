"""Sizes of the packed chunks of an MCAP file, before the MCAP library unpacks them: it takes whatever a chunk unpacks
to, and some kB can be many GB.

Layout: MCAP specification, "Records" (opcode of 1 byte, length of 8 bytes, contents) and "Chunk (op=0x06)".
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import Any, BinaryIO

from sidestep.errors import BadInput

MAGIC_BYTES = 8
RECORD = struct.Struct("<BQ")
CHUNK = 0x06
HEAD = struct.Struct("<QQQII")
"""Times of the first and last message, size unpacked, checksum, length of the name of the compression."""
MOST_NAME = 32
PIECE = 1 << 20


def check_chunks(path: Path, most_bytes: int) -> None:
    """BadInput if a chunk unpacks to more than it states, or to more than ``most_bytes``. Where the file is damaged,
    nothing further is checked: the library refuses it."""
    size = path.stat().st_size
    with path.open("rb") as file:
        file.seek(MAGIC_BYTES)
        while len(head := file.read(RECORD.size)) == RECORD.size:
            code, length = RECORD.unpack(head)
            end = file.tell() + length
            if end > size:
                return
            if code == CHUNK and length <= most_bytes:
                _check_chunk(file, path, length, most_bytes)
            file.seek(end)


def _check_chunk(file: BinaryIO, path: Path, length: int, most_bytes: int) -> None:
    head = file.read(HEAD.size)
    if len(head) < HEAD.size:
        return
    *_, stated, _, size = HEAD.unpack(head)
    name = file.read(min(size, MOST_NAME)).decode("ascii", "replace")
    if stated > most_bytes:
        raise BadInput(f"{path}: a chunk states {stated:,} bytes, at most {most_bytes:,} are read; is it damaged?")
    packed = file.read(length)[8:]  # after its own length
    if name and size <= MOST_NAME and not _fits(name, packed, stated):
        raise BadInput(f"{path}: a chunk unpacks to more than the {stated:,} bytes that it states; is it damaged?")


def _fits(compression: str, packed: bytes, stated: int) -> bool:
    """Whether data unpack to no more than ``stated`` bytes, as far as that can be told."""
    if compression == "zstd":
        import zstandard

        try:
            return int(zstandard.frame_content_size(packed)) <= stated  # -1: not known, and the library keeps to it
        except zstandard.ZstdError:
            return True
    if compression == "lz4":
        import lz4.frame

        return _count(lz4.frame.LZ4FrameDecompressor(), packed, stated) <= stated
    return True


def _count(unpack: Any, packed: bytes, most: int) -> int:
    """Bytes that data unpack to; counting ends when they are more than ``most``, or damaged."""
    count, part = 0, packed
    while count <= most and not unpack.eof:
        try:
            found = len(unpack.decompress(part, max_length=PIECE))
        except (RuntimeError, EOFError, ValueError):
            break
        if not found and unpack.needs_input:
            break
        count, part = count + found, b""
    return count
