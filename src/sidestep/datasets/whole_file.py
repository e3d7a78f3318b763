"""Files that are either whole or not there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sidestep.errors import BadInput


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """A hidden name beside ``path`` to write to; renamed to ``path`` on success, removed on failure."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield temporary
        os.replace(temporary, path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error
    finally:
        if temporary.is_file():
            temporary.unlink()
