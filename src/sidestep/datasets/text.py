"""Text files of numbers, read at once, with errors that name the line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray

HEAD_BYTES = 65536
"""How much of a file is looked at to recognise its format."""


def read_bytes(path: Path) -> bytes:
    """The whole file, or an error that says why not."""
    if path.is_dir():
        raise BadInput(f"{path}: is a folder; name a file with tracks in it")
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise BadInput(f"{path}: no such file with recorded tracks") from None
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror or error}") from error


def read_text(path: Path) -> str:
    """The whole file as text."""
    content = read_bytes(path)
    if not content.strip():
        raise BadInput(f"{path}: the file is empty")
    try:
        if b"\0" in content:
            raise ValueError
        return content.decode("utf-8-sig")
    except ValueError:
        raise BadInput(f"{path}: is not a text file; binary data cannot be read as tracks") from None


def head_lines(path: Path, count: int = 20) -> list[str]:
    """The first lines with data in them, without comments; none if the file is not text."""
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if b"\0" in head:
        return []
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    if len(head) == HEAD_BYTES and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:count]


def mostly_columns(lines: list[str], columns: int) -> bool:
    """Whether more than half of the lines, and the first, are so many numbers; commas count as white space."""
    fitting = [len(numbers(line.replace(",", " "))) == columns for line in lines]
    return bool(fitting) and fitting[0] and 2 * sum(fitting) > len(fitting)


def numbers(line: str) -> list[float]:
    """The numbers of a line; none if anything else is in it."""
    try:
        return [float(word) for word in line.split()]
    except ValueError:
        return []


def data_lines(text: str) -> tuple[list[str], IntArray]:
    """Lines that are neither empty nor comments, and their numbers from 1."""
    found = [
        (number, line)
        for number, line in enumerate(text.splitlines(), 1)
        if line and not line.isspace() and not line.lstrip().startswith("#")
    ]
    return [line for _, line in found], np.array([number for number, _ in found], dtype=np.int64)


def number_table(path: Path, lines: list[str], places: IntArray, columns: int, what: str) -> FloatArray:
    """(K, columns) the numbers of the lines; an error names the first line that is not as many numbers."""
    if not lines:
        raise BadInput(f"{path}: no annotations in it, so nobody was recorded")
    try:
        table = np.loadtxt(lines, ndmin=2, comments=None)
        if table.shape[1] == columns:
            return table
    except ValueError:
        pass
    for place, line in zip(places, lines, strict=True):
        if len(numbers(line)) != columns:
            raise BadInput(f"{path}:{place}: expected {columns} numbers `{what}`, got {line.strip()[:60]!r}")
    return np.array([numbers(line) for line in lines])
