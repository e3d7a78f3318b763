"""From text files of numbers to tracks: reading lines with errors that name the line, and the checks and the clock
of numbered video frames that all formats share.
"""

from __future__ import annotations

import codecs
import re
from math import isfinite
from pathlib import Path

import numpy as np

from sidestep.datasets.sources import known_file, read_bytes
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks

HEAD_BYTES = 65536
"""How much of a file is looked at to recognise its format."""


def read_text(path: Path) -> str:
    """The whole file as text."""
    content = read_bytes(path)
    if not content.strip():
        raise BadInput(f"{path}: the file is empty")
    if content[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE) or _looks_like_utf16(content[:HEAD_BYTES]):
        raise BadInput(f"{path}: line 1: the file is in UTF-16; save it as UTF-8 (or plain ASCII)")
    if b"\0" in content:
        line = content.count(b"\n", 0, content.index(b"\0")) + 1
        raise BadInput(f"{path}: line {line}: is not a text file; binary data cannot be read as tracks")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise BadInput(
            f"{path}: line {line}: byte 0x{content[error.start]:02x} is not UTF-8 (Latin-1?); save it as UTF-8"
        ) from None


def _looks_like_utf16(head: bytes) -> bool:
    """Whether every second byte is 0, as in ASCII text written in two bytes a letter."""
    return len(head) > 8 and (not any(head[1:-1:2]) or not any(head[0:-1:2]))


def head_lines(path: Path, count: int = 20) -> list[str]:
    """The first lines with data in them, without comments; none if the file is not text."""
    head = read_head(path, HEAD_BYTES)
    if b"\0" in head:
        return []
    lines = head.decode("utf-8-sig", errors="replace").splitlines()
    if len(head) == HEAD_BYTES and len(lines) > 1:
        lines.pop()
    return [line for line in lines if line.strip() and not line.lstrip().startswith("#")][:count]


def read_head(path: Path, size: int) -> bytes:
    """The first bytes of a file; none if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError:
        return b""


def mostly_columns(lines: list[str], columns: int) -> bool:
    """Whether more than half of the lines, and the first, have this many numbers; commas count as white space."""
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


def number_table(path: Path, lines: list[str], line_numbers: IntArray, columns: int, what: str) -> FloatArray:
    """(K, columns) the numbers of the lines; an error names the first line that is not as many numbers."""
    if not lines:
        raise BadInput(f"{path}: no annotations in it, so nobody was recorded")
    try:
        table = np.loadtxt(lines, ndmin=2, comments=None)
        if table.shape == (len(lines), columns):
            return table
    except ValueError:
        pass
    for number, line in zip(line_numbers, lines, strict=True):
        if len(numbers(line)) != columns:
            why = explain_line(line)
            raise BadInput(
                f"{path}:{number}: expected {columns} numbers `{what}`, got {line.strip()[:60]!r}"
                + (f": {why}" if why else "")
            )
    return np.array([numbers(line) for line in lines])


def explain_line(line: str) -> str:
    """What is wrong with a line that should be numbers, and the remedy; empty where that is not known."""
    words = line.split()
    if "?" in line:
        return "'?' is not a number; remove rows with unknown values"
    if ";" in line:
        return "columns are apart by blanks or commas, not ';'" + (
            "; decimals have a point, not a comma" if re.search(r"\d,\d", line) else ""
        )
    if re.search(r"\d,\d", line) and len(words) > 1:
        return "decimals have a point, not a comma"
    if words and all(re.fullmatch(r"[A-Za-z_][\w.()/,-]*", word) for word in words):
        return "looks like a header, but its columns are not frame or time, id, x and y; rename them or remove it"
    return ""


def is_whole(value: float) -> bool:
    """Whether a number is finite and whole."""
    return isfinite(value) and value == int(value)


def check_rate(path: Path, rate_hz: float | None) -> float:
    """Frames per second, or an error that says how to give them."""
    if rate_hz is None:
        raise BadInput(
            f"{path}: frames per second unknown: the file does not state them and is no known recording; give "
            "--rate-hz, rate_hz in a scenario's placement, or a line `# rate_hz: 25` in a file of the format plain"
        )
    if not (np.isfinite(rate_hz) and rate_hz > 0):
        raise BadInput(f"{path}: {rate_hz} frames per second is not a rate; rate_hz must be positive")
    return float(rate_hz)


def whole_numbers(path: Path, values: FloatArray, numbers: IntArray, what: str, where: str = "line") -> IntArray:
    """The values as int64; an error names the first that is no whole number."""
    wrong = ~np.isfinite(values) | (np.abs(values) > 2**53)
    wrong[~wrong] = values[~wrong] != np.round(values[~wrong])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise BadInput(f"{path}: {where} {numbers[row]}: the {what} {values[row]:g} is not a whole number")
    return values.astype(np.int64)


def frame_step(frame: FloatArray, person: IntArray) -> float:
    """The commonest distance in frames between two annotations of one person; 1 if nobody has two."""
    order = np.lexsort((frame, person))
    steps = np.diff(frame[order])[np.diff(person[order]) == 0]
    steps = steps[steps > 0]
    if not len(steps):
        return 1.0
    values, counts = np.unique(steps, return_counts=True)
    return float(values[np.argmax(counts)])


def tracks_from_frames(
    path: Path,
    frame: FloatArray,
    person: FloatArray,
    position: FloatArray,
    rate_hz: float | None,
    *,
    numbers: IntArray,
    where: str = "line",
    source: str = "",
    licence: str = "",
    coordinates: str = "world, metres",
    group: dict[int, int] | None = None,
) -> Tracks:
    """Tracks with time = frame ÷ frames per second (s) and rate = frames per second ÷ the commonest frame step
    (annotations per second).

    Frames per second are ``rate_hz``, else those of the known recording that the file is; so are source and licence.
    ``numbers`` are the lines or columns (``where``) of the annotations in the file, for errors.
    """
    if not len(frame):
        raise BadInput(f"{path}: no annotations in it, so nobody was recorded")
    known = known_file(path)
    fps = check_rate(path, known.fps if rate_hz is None and known else rate_hz)
    bad = ~np.isfinite(frame) | ~np.isfinite(position).all(axis=1)
    if bad.any():
        row = int(np.argmax(bad))
        raise BadInput(f"{path}: {where} {numbers[row]}: NaN or infinite where a number of frame, x or y should be")
    people = whole_numbers(path, person, numbers, "person", where)
    order = np.lexsort((numbers, frame, people))
    again = (np.diff(people[order]) == 0) & (np.diff(frame[order]) == 0)
    if again.any():
        first, second = order[int(np.argmax(again))], order[int(np.argmax(again)) + 1]
        raise BadInput(
            f"{path}: {where} {numbers[second]}: person {people[second]} is annotated twice in frame "
            f"{frame[second]:g} (first in {where} {numbers[first]}); remove one of the two"
        )
    present = set(np.unique(people).tolist()) if group else set()
    return Tracks(
        people,
        frame / fps,
        position,
        fps / frame_step(frame, people),
        source=source or (known.source if known else path.name),
        licence=licence or (known.licence if known else ""),
        frame=coordinates,
        group={member: number for member, number in (group or {}).items() if member in present},
    )
