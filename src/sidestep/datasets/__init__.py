"""Recorded people: one file per format, all returning :class:`sidestep.types.Tracks`. Nothing is simulated here."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.types.tracks import Tracks


def load_tracks(path: Path, format_name: str | None = None, **options: Any) -> Tracks:
    """The people recorded in ``path``. The format is detected unless named."""
    if not path.is_file():
        raise BadInput(f"{path}: no such file with recorded tracks")
    if format_name is not None:
        tracks: Tracks = registry.load("datasets", format_name).load(path, **options)
        return tracks
    for name in registry.names("datasets"):
        loader = registry.load("datasets", name)
        if loader.matches(path):
            return loader.load(path, **options)  # type: ignore[no-any-return]
    known = ", ".join(registry.names("datasets"))
    raise BadInput(f"{path}: looks like none of the known formats ({known}); name one with format_name")
