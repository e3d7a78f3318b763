"""Recorded people: one file per format, all returning :class:`sidestep.types.Tracks`. Nothing is simulated here.

``catalogue`` knows recordings by name and SHA-256, ``find`` where they are installed, ``install`` and ``download`` put
them there; ``sanity`` says what is in a recording and what is odd about it; ``linking`` joins tracklets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidestep import registry
from sidestep.datasets.find import find_dataset, locate
from sidestep.datasets.linking import link_tracklets
from sidestep.datasets.text import data_lines, explain_line, numbers, read_bytes, read_text
from sidestep.errors import BadInput
from sidestep.types.tracks import Tracks

__all__ = ["detect_format", "find_dataset", "load_dataset", "load_tracks"]


def load_tracks(path: Path, format_name: str | None = None, **options: Any) -> Tracks:
    """The people recorded in ``path``. The format is detected unless named.

    Options go to the format's loader: ``rate_hz`` (how many frame numbers pass in a second) for most, ``homography``
    and ``pixels`` for ``ucy_vsp``. ``link`` joins tracklets, see :mod:`~sidestep.datasets.linking`.
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
        lines, places = data_lines(read_text(path))
    except BadInput as error:  # in another encoding, or binary
        return f"; {str(error).removeprefix(f'{path}: ')}"
    for place, line in zip(places[:1000], lines, strict=False):
        if not numbers(line.replace(",", " ")) or (len(line.split()) > 1 and explain_line(line)):
            why = explain_line(line)
            return f"; line {place} is {line.strip()[:60]!r}" + (f": {why}" if why else "")
    return ""


def load_dataset(name: str) -> Tracks:
    """The people of an installed recording, by name. An error says how to install it if it is absent."""
    path, format_name, options = locate(name)
    return load_tracks(path, format_name, **options)
