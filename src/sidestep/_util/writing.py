"""Writing files that are either whole or not there: a hidden file beside the target is written and renamed. The
counterpart of ``sidestep._util.reading``; every package that writes a file uses it.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sidestep.errors import BadInput

TEMPORARY = ".tmp"
"""Ends the names of files that are being written."""


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """A hidden name beside ``path`` to write to; renamed to ``path`` on success, removed on failure.

    A process that is killed in between leaves the old file (or none) and a ``.NAME.PID.tmp``, never half a
    file.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}{TEMPORARY}")
    try:
        yield temporary
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


@contextmanager
def whole_file(path: Path) -> Iterator[Path]:
    """Like ``atomic``, with a ``CannotWrite`` error that says why a file cannot be written and what to do."""
    try:
        with atomic(path) as temporary:
            yield temporary
    except OSError as error:
        raise CannotWrite(path, error) from error


def write_whole(path: Path, data: bytes) -> None:
    """Write ``data`` to ``path``; ``CannotWrite`` says why not and what to do."""
    with whole_file(path) as temporary:
        temporary.write_bytes(data)


class CannotWrite(BadInput):
    """A file cannot be written, and no other one in that folder will be: the run has to stop."""

    def __init__(self, path: Path | str, error: OSError | str) -> None:
        reason = error if isinstance(error, str) else f"{error.strerror or error}; {_remedy(error)}"
        super().__init__(f"{path}: cannot be written: {reason}")
        self.path, self.reason = path, reason

    def __reduce__(self) -> tuple[type[CannotWrite], tuple[Path | str, str]]:
        return CannotWrite, (self.path, self.reason)  # it crosses from worker processes


def _remedy(error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return "free some space on that disk and run the same command again: what is done is kept"
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return "make the folder writable, or choose another one"
    return "mend that and run the same command again, or choose another folder"


def sweep(folder: Path, names: str = "*", *, below: bool = True) -> None:
    """Remove what killed writers of files called ``names`` (a pattern) left in ``folder`` and, with ``below``, in all
    folders below it. Nobody may be writing there."""
    pattern = f".{names}.*{TEMPORARY}"
    for leftover in folder.rglob(pattern) if below else folder.glob(pattern):
        leftover.unlink(missing_ok=True)
