"""Plain text tracks: one annotation per line, ``frame person x y``, separated by white space or commas.

Comment lines at the top may state ``# rate_hz: 25`` (frames per second), ``# source: …``, ``# licence: …``,
``# coordinates: …`` and, once per walking group, ``# group: 3 4 7``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep.datasets.annotations import (
    check_rate,
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
from sidestep.datasets.sources import known_file
from sidestep.errors import BadInput
from sidestep.types.tracks import Tracks
from sidestep.writing import whole_file

_STATED = re.compile(r"^#[ \t]*(rate_hz|source|licence|coordinates|group)[ \t]*[:=][ \t]*(.*?)[ \t\r]*$", re.MULTILINE)


@dataclass(frozen=True)
class PlainLoader:
    """Reads ``frame person x y``."""

    name: str = "plain"
    summary: str = "text, one annotation per line: frame person x y"

    def matches(self, path: Path) -> bool:
        """Whether the first lines are four numbers."""
        return mostly_columns(head_lines(path), 4)

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file; time is frame ÷ frames per second, from ``rate_hz``, else from the file's comment,
        else of the known recording."""
        text = read_text(path)
        stated = _STATED.findall(text)
        words = {key: value for key, value in stated if key != "group"}
        _check_rates(path, text)
        known = known_file(path)
        if rate_hz is None and "rate_hz" in words:
            rate_hz = (numbers(words["rate_hz"]) or [float("nan")])[0]
        if rate_hz is None and known is not None:
            rate_hz = known.fps
        lines, places = data_lines(text)
        for place, line in zip(places, lines, strict=True):
            if "," in line and len(numbers(line.replace(",", " "))) != 4 and (why := explain_line(line)):
                raise BadInput(f"{path}:{place}: expected `frame person x y`, got {line.strip()[:60]!r}: {why}")
        lines = [line.replace(",", " ") for line in lines]
        table = number_table(path, lines, places, 4, "frame person x y")
        if rate_hz is None:
            raise BadInput(
                f"{path}: frames per second unknown; put `# rate_hz: 25` in the first line or give --rate-hz "
                "(option rate_hz)"
            )
        return tracks_from_frames(
            path,
            table[:, 0],
            table[:, 1],
            table[:, 2:],
            check_rate(path, rate_hz),
            places=places,
            source=words.get("source") or (known.source if known else ""),
            licence=words.get("licence") or (known.licence if known else ""),
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
        with whole_file(path) as temporary:
            temporary.write_text("\n".join([*header, *rows]) + "\n", encoding="utf-8")
        return []


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
