"""``groups.txt``: who walked together, as an annotator stated it. One group per line, the people's numbers."""

from __future__ import annotations

from pathlib import Path

from sidestep.datasets.text import data_lines, is_whole, numbers, read_text
from sidestep.errors import BadInput


def read_groups(path: Path) -> dict[int, int]:
    """Person → group, groups counted from 0. Lines that share a person are one group; a line with one number (some
    files begin with a count) is no group."""
    group: dict[int, int] = {}
    for number, line in zip(*reversed(data_lines(read_text(path))), strict=True):
        members = numbers(line)
        if not members or not all(map(is_whole, members)):
            raise BadInput(f"{path}:{number}: expected the numbers of people who walk together, got {line!r:.60}")
        if len(members) > 1:
            _join(group, [int(member) for member in members])
    order = {old: new for new, old in enumerate(dict.fromkeys(group.values()))}
    return {person: order[old] for person, old in group.items()}


def _join(group: dict[int, int], members: list[int]) -> None:
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
