"""Trying an HDF5 file in a process of its own: the library may take minutes over a damaged file, take all memory, or
end the process. What the probe has read in time, this process can read, too."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sidestep.errors import BadInput

CPU_S = 5
BYTES_PER_S = 20_000_000
"""Processor time for a file: ``CPU_S`` and its size by this."""
WALL_S = 60.0
MEMORY_BYTES = 2_500_000_000
"""Address space, most of which libraries only reserve."""
PIECE_BYTES = 1 << 24
START = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from sidestep._util.hdf5_probe import main; main()"
)


def probe_hdf5(path: Path, names: Sequence[str]) -> None:
    """BadInput unless the attributes of a file, and the datasets of these names, can be read in time. Errors of the
    library are left to be raised where the file is read."""
    seconds = CPU_S + path.stat().st_size // BYTES_PER_S
    command = [sys.executable, "-I", "-c", START, json.dumps(sys.path), str(seconds), str(path), *names]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WALL_S + seconds)
    except subprocess.TimeoutExpired:
        code: int | None = None
    else:
        code = done.returncode
    if code:
        why = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
        raise BadInput(f"{path}: the HDF5 library cannot read it (it {why} within {seconds} s); write it again")
    if code is None:
        raise BadInput(f"{path}: the HDF5 library cannot read it within {WALL_S + seconds:g} s; write it again")


def main() -> None:
    """The probe: the exit code is 0 even where the file is refused, for the reader says why."""
    seconds, path, *names = sys.argv[2:]
    _limit(int(seconds))
    with suppress(Exception):
        _read(Path(path), names)


def _limit(seconds: int) -> None:
    try:
        import resource
    except ImportError:  # not on this system
        return
    for what, most in ((resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, MEMORY_BYTES), (resource.RLIMIT_CORE, 0)):
        hard = resource.getrlimit(what)[1]
        with suppress(ValueError, OSError):
            resource.setrlimit(what, (most if hard < 0 else min(most, hard), hard))


def _read(path: Path, names: Sequence[str]) -> None:
    import h5py

    from sidestep._util.hdf5 import Hdf5Room, find_item, read_attribute

    with h5py.File(path, "r") as file:
        room = Hdf5Room(path)
        for name in list(file.attrs):
            read_attribute(file, name)
        for name in names:
            item = find_item(file, name)
            if isinstance(item, h5py.Dataset) and item.shape is not None:
                room.take(item)
                _read_through(item)


def _read_through(dataset: Any) -> None:
    if not dataset.shape:
        dataset[()]
        return
    rows = max(1, len(dataset) * PIECE_BYTES // max(1, dataset.size * dataset.dtype.itemsize))
    for start in range(0, len(dataset), rows):
        dataset[start : start + rows]
