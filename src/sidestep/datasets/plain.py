"""Plain text tracks: one annotation per line, ``frame person x y``, separated by white space or commas.

The first line may be a header that names the columns, as in a CSV file: ``frame`` or ``time`` (s), ``id``, ``x`` and
``y`` (m) in any order, other columns beside them. Comment lines at the top may state ``# rate_hz: 25`` (frames per
second), ``# source: …``, ``# licence: …``, ``# coordinates: …`` and, once per walking group, ``# group: 3 4 7``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep._util.writing import write_whole
from sidestep.datasets.annotations import (
    data_lines,
    explain_line,
    head_lines,
    is_whole,
    mostly_columns,
    number_table,
    numbers,
    read_text,
    tracks_from_frames,
)
from sidestep.errors import BadInput
from sidestep.interfaces import Loader
from sidestep.types.tracks import Tracks

_STATED = re.compile(r"^#[ \t]*(rate_hz|source|licence|coordinates|group)[ \t]*[:=][ \t]*(.*?)[ \t\r]*$", re.MULTILINE)
COLUMNS = {
    "time": ("time", "t", "time_s", "timestamp", "seconds"),
    "frame": ("frame", "frame_id", "frame_number"),
    "person": ("person", "id", "person_id", "ped", "ped_id", "pedestrian", "pedestrian_id", "agent_id", "track_id"),
    "x": ("x", "x_m", "pos_x", "position_x"),
    "y": ("y", "y_m", "pos_y", "position_y"),
}
"""What a header may call the columns; time wins over frame."""
TICKS_HZ = 1e6
"""Times in seconds are read to the microsecond, so that the steps between them are equal."""


@dataclass(frozen=True)
class PlainLoader(Loader):
    """Reads ``frame person x y``."""

    name: str = "plain"
    summary: str = "text or CSV, one annotation per line: frame person x y, or columns that a header names"

    def matches(self, path: Path) -> bool:
        """Whether the first lines are four numbers, or the first is a header."""
        lines = head_lines(path)
        return mostly_columns(lines, 4) or bool(lines and header_columns(lines[0]))

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file. Time is a column of that name, else frame ÷ frames per second, from ``rate_hz``, else
        from the file's comment, else of the known recording."""
        text = read_text(path)
        stated = _STATED.findall(text)
        words = {key: value for key, value in stated if key != "group"}
        _check_rates(path, text)
        if rate_hz is None and "rate_hz" in words:
            rate_hz = (numbers(words["rate_hz"]) or [float("nan")])[0]
        lines, line_numbers = data_lines(text)
        columns = header_columns(lines[0]) if lines else {}
        if columns:
            lines, line_numbers = [_pick(line, columns) for line in lines[1:]], line_numbers[1:]
        for number, line in zip(line_numbers, lines, strict=True):
            if "," in line and len(numbers(line.replace(",", " "))) != 4 and (why := explain_line(line)):
                raise BadInput(f"{path}:{number}: expected `frame person x y`, got {line.strip()[:60]!r}: {why}")
        clock = "time" if "time" in columns else "frame"
        table = number_table(path, [line.replace(",", " ") for line in lines], line_numbers, 4, f"{clock} person x y")
        if clock == "time":
            if rate_hz is not None:
                raise BadInput(
                    f"{path}: has a column of times in seconds and needs no frames per second; leave out rate_hz"
                )
            with np.errstate(over="ignore"):
                table[:, 0] = np.round(table[:, 0] * TICKS_HZ)
            rate_hz = TICKS_HZ
        return tracks_from_frames(
            path,
            table[:, 0],
            table[:, 1],
            table[:, 2:],
            rate_hz,
            numbers=line_numbers,
            source=words.get("source", ""),
            licence=words.get("licence", ""),
            coordinates=words.get("coordinates") or "world, metres",
            group=_groups(path, [value for key, value in stated if key == "group"]),
        )

    def save(self, tracks: Tracks, path: Path) -> list[str]:
        """Write the tracks; frames count annotations. Returns what the format could not keep."""
        frames = tracks.time * tracks.rate_hz
        nearest = np.round(frames)
        whole = np.abs(frames - nearest) < 1e-6
        header = [f"# rate_hz: {tracks.rate_hz!r}", f"# source: {tracks.source}", f"# licence: {tracks.licence}"]
        header.append(f"# coordinates: {tracks.frame}")
        header += [f"# group: {' '.join(map(str, members))}" for members in tracks_groups(tracks)]
        rows = (
            f"{int(near) if is_whole else frame!r} {person} {x!r} {y!r}"
            for frame, near, is_whole, person, (x, y) in zip(
                frames.tolist(), nearest, whole, tracks.person, tracks.position.tolist(), strict=True
            )
        )
        write_whole(path, ("\n".join([*header, *rows]) + "\n").encode())
        return []


def header_columns(line: str) -> dict[str, int]:
    """Where time or frame, person, x and y stand in a table with this first line; nothing if it is no such header."""
    names = [name.strip().strip("\"'").lower() for name in (line.split(",") if "," in line else line.split())]
    found = {
        column: names.index(known)
        for column, spellings in COLUMNS.items()
        for known in spellings[::-1]
        if known in names
    }
    return found if {"person", "x", "y"} <= found.keys() and found.keys() & {"time", "frame"} else {}


def _pick(line: str, columns: dict[str, int]) -> str:
    """Time or frame, person, x and y of a line, separated by blanks; the line itself if it has not all of them."""
    fields = line.split(",") if "," in line else line.split()
    clock = columns.get("time", columns.get("frame", 0))
    wanted = [clock, *(columns[name] for name in ("person", "x", "y"))]
    return " ".join(fields[k].strip() for k in wanted) if max(wanted) < len(fields) else line


def _check_rates(path: Path, text: str) -> None:
    """An error if two comments state different rates."""
    found = [match for match in _STATED.finditer(text) if match[1] == "rate_hz"]
    for match in found[1:]:
        if numbers(match[2]) != numbers(found[0][2]):
            first, second = (text.count("\n", 0, each.start()) + 1 for each in (found[0], match))
            raise BadInput(
                f"{path}:{second}: `# rate_hz: {match[2]:.40}` contradicts `# rate_hz: {found[0][2]:.40}` in line "
                f"{first}; remove the wrong one"
            )


def tracks_groups(tracks: Tracks) -> list[list[int]]:
    """The people of each stated group, in the groups' order."""
    found: dict[int, list[int]] = {}
    for person, number in tracks.group.items():
        if number >= 0:
            found.setdefault(number, []).append(person)
    return [found[number] for number in sorted(found)]


def _groups(path: Path, lines: list[str]) -> dict[int, int]:
    group = {}
    for number, line in enumerate(lines):
        members = numbers(line)
        if not members or not all(map(is_whole, members)):
            raise BadInput(f"{path}: `# group: {line:.80}` should list the numbers of people")
        group.update({int(member): number for member in members})
    return group


PLAIN = PlainLoader()
