"""BIWI ``obsmat.txt``: one annotation per line, ``frame person x z y vx vz vy`` in m and m/s; z is not used.
Beside it ``groups.txt`` states who walked together, one group per line; UCY's recordings have the same file.

Format of the ETH/BIWI Walking Pedestrians (Pellegrini et al. 2009), also used for conversions of UCY.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from sidestep import exact
from sidestep.datasets.annotations import (
    data_lines,
    head_lines,
    is_whole,
    number_table,
    numbers,
    read_text,
    tracks_from_frames,
)
from sidestep.datasets.sources import known_file
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray
from sidestep.types.tracks import Tracks


def read_groups(path: Path) -> dict[int, int]:
    """Person → group, groups counted from 0. Lines that share a person are one group; a line with one number (some
    files begin with a count) is no group."""
    group: dict[int, int] = {}
    for number, line in zip(*reversed(data_lines(read_text(path))), strict=True):
        members = numbers(line)
        if not members or not all(map(is_whole, members)):
            raise BadInput(f"{path}:{number}: expected the numbers of people who walk together, got {line!r:.60}")
        if len(members) > 1:
            _join_group(group, [int(member) for member in members])
    order = {old: new for new, old in enumerate(dict.fromkeys(group.values()))}
    return {person: order[old] for person, old in group.items()}


def _join_group(group: dict[int, int], members: list[int]) -> None:
    touched = {group[member] for member in members if member in group}
    target = min(touched, default=max(group.values(), default=-1) + 1)
    for person, old in group.items():
        if old in touched:
            group[person] = target
    group.update(dict.fromkeys(members, target))


def groups_beside(path: Path) -> dict[int, int]:
    """What a ``groups.txt`` in the same folder states; nothing if there is none."""
    beside = path.with_name("groups.txt")
    return read_groups(beside) if beside.is_file() and beside.stat().st_size else {}


CLOCK_TOLERANCE = 0.03
"""How far, in parts, the clock found in the velocity columns may be from a whole number of frames per second."""


@dataclass(frozen=True)
class BiwiLoader:
    """Reads ``obsmat.txt``, with the groups in ``groups.txt`` beside it."""

    name: str = "biwi"
    summary: str = "ETH/BIWI obsmat.txt: frame person x z y vx vz vy"
    companions: tuple[str, ...] = ("groups.txt",)

    def matches(self, path: Path) -> bool:
        """Whether the first lines are eight numbers apart by white space."""
        lines = head_lines(path)
        fitting = [
            len(line.split()) == 8 and "," not in line and line.lstrip()[:1] in "+-.0123456789" for line in lines
        ]
        return bool(fitting) and fitting[0] and 2 * sum(fitting) > len(fitting)

    def load(self, path: Path, rate_hz: float | None = None) -> Tracks:
        """The people in the file. Frames per second: ``rate_hz``, else those of the known recording, else those that
        its velocity columns state (:func:`clock_of_velocities`)."""
        lines, line_numbers = data_lines(read_text(path))
        table = number_table(path, lines, line_numbers, 8, "frame person x z y vx vz vy")
        source = ""
        if rate_hz is None and known_file(path) is None:
            rate_hz = clock_of_velocities(table)
            source = f"{path.name} (clock of {rate_hz:g} frames/s from its velocity columns)" if rate_hz else ""
        xy, group = table[:, [2, 4]], groups_beside(path)
        return tracks_from_frames(
            path, table[:, 0], table[:, 1], xy, rate_hz, numbers=line_numbers, source=source, group=group
        )


def clock_of_velocities(table: FloatArray) -> float | None:
    """Frames per second at which the velocity columns agree with the positions: the median over all pieces of
    |v| ÷ (|Δposition| ÷ Δframe), rounded, with v at the piece's beginning or end, whichever agrees with more pieces
    (files differ). None unless it is within 3 % of a whole number and most pieces are within 25 % of it."""
    table = table[np.isfinite(table).all(axis=1)]
    table = table[np.lexsort((table[:, 0], table[:, 1]))]
    frames = np.diff(table[:, 0])
    lengths = exact.hypot(*np.diff(table[:, [2, 4]], axis=0).T)
    usable = (np.diff(table[:, 1]) == 0) & (frames > 0) & (lengths > 0)
    if usable.sum() < 3:
        return None
    speeds = exact.hypot(table[:, 5], table[:, 7])
    found = []
    for speed in (speeds[:-1], speeds[1:]):
        ratios = speed[usable] * frames[usable] / lengths[usable]
        middle = float(np.median(ratios))
        found.append((float(np.mean(np.abs(ratios - middle) < 0.25 * middle)), middle))
    agreeing, middle = max(found)
    nearest = round(middle)
    if nearest < 1 or abs(middle - nearest) > CLOCK_TOLERANCE * nearest or agreeing < 0.5:
        return None
    return float(nearest)


BIWI = BiwiLoader()
