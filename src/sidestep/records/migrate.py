"""Older record files, brought up to the present format one version at a time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa

from sidestep.errors import RecordError
from sidestep.types.record import FORMAT_VERSION

Metadata = dict[str, str]
Migration = Callable[[pa.Table, Metadata], tuple[pa.Table, Metadata]]

MIGRATIONS: dict[int, Migration] = {}
"""Version v → the function that turns a file of version v into version v + 1. A function that changes what
the digest covers puts the new digest into the metadata, too. Version 1 is the first, so there are none
yet."""


def migrate(table: pa.Table, metadata: Metadata, path: Path) -> tuple[pa.Table, Metadata]:
    """The table and metadata in the present format, or a RecordError that says why not."""
    text = metadata["format"]
    if not text.isdigit():
        raise RecordError(
            f"{path}: its format version {text!r} is not a number; the file is damaged, run the episode again"
        )
    version = int(text)
    if version > FORMAT_VERSION:
        raise RecordError(
            f"{path}: written by a newer Sidestep (format {version}, this one reads up to {FORMAT_VERSION}); "
            "upgrade with: pip install --upgrade sidestep"
        )
    for step in range(version, FORMAT_VERSION):
        if step not in MIGRATIONS:
            raise RecordError(
                f"{path}: format {version} is no longer readable; run the episode again, or read it with "
                f"Sidestep {metadata.get('package_version', 'of that time')}"
            )
        table, metadata = MIGRATIONS[step](table, metadata)
    return table, metadata
