"""Recorded people: one module per format, all returning :class:`sidestep.types.Tracks`. Nothing is simulated here.

``sources`` knows recordings by name and SHA-256 and where they are installed, ``install`` puts them there;
``sanity`` says what is in a recording and what is odd about it. Some files cut everybody into tracklets with a
new number each; ``link_tracklets`` joins a piece to the one that begins one usual interval after its end, near
where the first was heading and at a similar velocity, nearest pairs first, so that every piece has at most one
successor and one predecessor.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sidestep import registry
from sidestep.datasets.annotations import data_lines, explain_line, numbers, read_text
from sidestep.datasets.sources import find_dataset, locate, read_bytes
from sidestep.errors import BadInput
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.tracks import Tracks

LINK_WITHIN_M = 0.5
LINK_VELOCITY_DIFFERENCE_MPS = 1.0
LINK_WITHIN_INTERVALS = 1.5
"""Usual intervals after the end within which a successor begins."""


def link_tracklets(tracks: Tracks) -> Tracks:
    """The same annotations; pieces that continue each other are one person, with the first piece's number."""
    people = tracks.people
    first = np.searchsorted(tracks.person, people, side="left")
    last = np.searchsorted(tracks.person, people, side="right") - 1
    moving = np.flatnonzero(last > first)
    if len(moving) < 2:
        return tracks
    leaving, arriving = _piece_velocity(tracks, last[moving] - 1), _piece_velocity(tracks, first[moving])
    a, b, apart = _candidates(tracks, first[moving], last[moving], leaving, arriving)
    successor = np.full(len(people), -1, dtype=np.int64)
    taken = np.zeros(len(people), dtype=bool)
    for k in np.argsort(apart, kind="stable"):
        one, other = moving[a[k]], moving[b[k]]
        if successor[one] < 0 and not taken[other]:
            successor[one], taken[other] = other, True
    number = people.copy()
    for start in np.flatnonzero(~taken):
        piece = successor[start]
        while piece >= 0:
            number[piece] = people[start]
            piece = successor[piece]
    renamed = dict(zip(people.tolist(), number.tolist(), strict=True))
    group = {renamed[person]: walking for person, walking in tracks.group.items() if person in renamed}
    return replace(tracks, person=number[np.searchsorted(people, tracks.person)], group=group)


def _piece_velocity(tracks: Tracks, row: IntArray) -> FloatArray:
    """(N, 2) of the straight pieces that begin at these rows, m/s."""
    step = tracks.position[row + 1] - tracks.position[row]
    return np.asarray(step / (tracks.time[row + 1] - tracks.time[row])[:, None])


def _candidates(
    tracks: Tracks, first: IntArray, last: IntArray, leaving: FloatArray, arriving: FloatArray
) -> tuple[IntArray, IntArray, FloatArray]:
    """Pairs (a, b) of pieces of which b may continue a, and how far b begins from where a was heading, m."""
    order = np.argsort(tracks.time[first], kind="stable")
    begins, ends = tracks.time[first][order], tracks.time[last]
    low = np.searchsorted(begins, ends + 1e-9, side="right")
    high = np.searchsorted(begins, ends + LINK_WITHIN_INTERVALS / tracks.rate_hz, side="right")
    count = np.maximum(high - low, 0)
    a = np.repeat(np.arange(len(first)), count)
    b = order[np.arange(len(a)) - np.repeat(np.cumsum(count) - count, count) + np.repeat(low, count)]
    wait = (tracks.time[first[b]] - ends[a])[:, None]
    off = tracks.position[last[a]] + leaving[a] * wait - tracks.position[first[b]]
    turn = leaving[a] - arriving[b]
    apart = np.sqrt((off * off).sum(axis=1))
    fits = (apart <= LINK_WITHIN_M) & (np.sqrt((turn * turn).sum(axis=1)) <= LINK_VELOCITY_DIFFERENCE_MPS)
    return a[fits], b[fits], apart[fits]


__all__ = ["detect_format", "find_dataset", "load_dataset", "load_tracks"]


def load_tracks(path: Path, format_name: str | None = None, **options: Any) -> Tracks:
    """The people recorded in ``path``. The format is detected unless named.

    Options go to the format's loader: ``rate_hz`` (how many frame numbers pass in a second) for most, ``homography``
    and ``pixels`` for ``ucy_vsp``. ``link`` joins tracklets, see :mod:`~sidestep.datasets`.
    """
    path = Path(path)
    link = options.pop("link", False)
    name = format_name or detect_format(path)
    loader = registry.load("datasets", name)
    read_bytes(path)
    try:
        tracks: Tracks = loader.load(path, **options)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise BadInput(f"{path}: the format {name!r} does not take these options {sorted(options)}: {error}") from None
    return link_tracklets(tracks) if link else tracks


def detect_format(path: Path) -> str:
    """Name of the one format that the file looks like; an error if it looks like none or several."""
    if not read_bytes(path).strip():
        raise BadInput(f"{path}: the file is empty")
    names = registry.names("datasets")
    found = [name for name in names if registry.load("datasets", name).matches(path)]
    if len(found) == 1:
        return found[0]
    if found:
        raise BadInput(f"{path}: could be {' or '.join(found)}; say which with --format (format_name)")
    raise BadInput(
        f"{path}: looks like none of the known formats ({', '.join(names)}); name one with --format "
        f"(format_name){_first_strange_line(path)}"
    )


def _first_strange_line(path: Path) -> str:
    """What the first line that is not only numbers may mean."""
    try:
        lines, line_numbers = data_lines(read_text(path))
    except BadInput as error:  # in another encoding, or binary
        return f"; {str(error).removeprefix(f'{path}: ')}"
    for number, line in zip(line_numbers[:1000], lines, strict=False):
        if not numbers(line.replace(",", " ")) or (len(line.split()) > 1 and explain_line(line)):
            why = explain_line(line)
            return f"; line {number} is {line.strip()[:60]!r}" + (f": {why}" if why else "")
    return ""


def load_dataset(name: str) -> Tracks:
    """The people of an installed recording, by name. An error says how to install it if it is absent."""
    path, format_name, options = locate(name)
    return load_tracks(path, format_name, **options)
