"""Opening HDF5 files whose writer was killed, without changing them.

A program that writes an HDF5 file marks it as open in its first block (the *superblock*), and the HDF5 library refuses
a file that still has the mark. If the file was written in the single-writer, multiple-reader mode of HDF5, everything
that its first block leads to is sound at any moment; only the mark and the stored length are out of date. Here both
are corrected in memory while the file is read. The mode of the library for such files (``swmr=True``) would do as
well, but waits for minutes on damaged ones.

Layout: HDF5 File Format Specification 3.0, "Disk Format: Level 0A", superblock version 3: signature (8 bytes), version,
size of offsets, size of lengths, marks (1 byte each), base address, extension address, end of file, root group (8 bytes
each), checksum (4 bytes; Jenkins' lookup3, https://burtleburtle.net/bob/c/lookup3.c, public domain).
"""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import h5py

from sidestep._util.reading import is_file
from sidestep.errors import BadInput

SIGNATURE = b"\x89HDF\r\n\x1a\n"
SUPERBLOCK = struct.Struct("<8s4B4QI")
_VERSION, _MARKS, _END, _CHECKSUM = 1, 4, 7, 9
_READING = (OSError, RuntimeError, KeyError, ValueError, TypeError)
"""Errors that h5py raises for damaged files."""


def open_hdf5(path: Path) -> tuple[Any, bool]:
    """The file, opened for reading, and whether a writer has it open or was killed while it had."""
    if not is_file(path):
        raise BadInput(f"{path}: no such file; give the path of an HDF5 file")
    try:
        head = read_superblock(path)
        if head is None:
            return h5py.File(_ReadFile(path), "r"), False
        return h5py.File(_ReadFile(path, head), "r"), True
    except _READING as error:
        raise BadInput(f"{path}: not an HDF5 file, or a damaged one ({first_line(error)}); write it again") from None


def read_superblock(path: Path) -> bytes | None:
    """The corrected first block of a file that is marked as open for writing; None for any other file."""
    with path.open("rb") as file:
        head = file.read(SUPERBLOCK.size)
        size = file.seek(0, io.SEEK_END)
    if not head.startswith(SIGNATURE):
        raise ValueError("it does not begin with the signature of HDF5")
    if len(head) < SUPERBLOCK.size:
        raise ValueError("it ends within its first block")
    values = list(SUPERBLOCK.unpack(head))
    if values[_VERSION] != 3 or values[_MARKS] == 0:
        return None
    values[_MARKS], values[_END] = 0, size
    values[_CHECKSUM] = lookup3(SUPERBLOCK.pack(*values)[:-4])
    return SUPERBLOCK.pack(*values)


def first_line(error: BaseException) -> str:
    """The first line of an error of h5py, shortened."""
    return (str(error).strip("'\"").splitlines() or [type(error).__name__])[0][:160]


class _ReadFile(io.FileIO):
    """A file whose first bytes read as ``head``. The HDF5 library neither locks it nor notices that the same process
    has it open for writing, both of which would stop the writer."""

    def __init__(self, path: Path, head: bytes = b"") -> None:
        super().__init__(path, "rb")
        self._head = head

    def readinto(self, buffer: Any, /) -> int:
        at = self.tell()
        view = memoryview(buffer).cast("B")
        count = super().readinto(view)
        inside = self._head[at : at + count]
        view[: len(inside)] = inside
        return count


def lookup3(data: bytes) -> int:
    """Jenkins' ``hashlittle`` with initial value 0: the checksum of HDF5's metadata."""
    a = b = c = (0xDEADBEEF + len(data)) & _WORD
    blocks = max(0, (len(data) - 1) // 12)
    for block in range(blocks):
        a, b, c = _added((a, b, c), data[12 * block : 12 * block + 12])
        for turn in (4, 6, 8, 16, 19, 4):
            a = ((a - c) & _WORD) ^ _rotated(c, turn)
            c = (c + b) & _WORD
            a, b, c = b, c, a
    a, b, c = _added((a, b, c), data[12 * blocks :].ljust(12, b"\0"))
    for turn in (14, 11, 25, 16, 4, 14, 24):
        c = ((c ^ b) - _rotated(b, turn)) & _WORD
        a, b, c = b, c, a
    return b


_WORD = 0xFFFFFFFF


def _added(words: tuple[int, int, int], data: bytes) -> tuple[int, int, int]:
    a, b, c = (int.from_bytes(data[at : at + 4], "little") for at in (0, 4, 8))
    return (words[0] + a) & _WORD, (words[1] + b) & _WORD, (words[2] + c) & _WORD


def _rotated(word: int, by: int) -> int:
    return ((word << by) | (word >> (32 - by))) & _WORD
