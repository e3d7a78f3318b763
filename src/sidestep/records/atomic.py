"""Files that are either whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A hidden name beside ``path`` to write to; renamed to ``path`` on success, removed on failure.

    A process that is killed in between leaves the old file (or none) and a ``.NAME.PID.tmp``, never half a
    file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove what killed writers of ``path`` left beside it."""
    for leftover in path.parent.glob(f".{path.name}.*.tmp"):
        leftover.unlink(missing_ok=True)
