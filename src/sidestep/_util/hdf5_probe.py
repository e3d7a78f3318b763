"""Trying an HDF5 file in a process of its own: the library may take minutes over a damaged file, take all memory, or
end the process. What the probe has read in time, this process can read, too."""

from __future__ import annotations

import json
import os
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
REFUSED = 3
LONGEST = 200
"""Characters of what the library says."""
START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from sidestep._util.hdf5_probe import main; main()"


def probe_hdf5(path: Path, names: Sequence[str]) -> None:
    """BadInput unless the attributes of a file, its datasets and groups of these names, can be read in time. Wrong
    shapes and sizes are left to be told where the file is read."""
    seconds = CPU_S + path.stat().st_size // BYTES_PER_S
    command = [sys.executable, "-I", "-c", START, json.dumps(sys.path), str(seconds), str(path), *names]
    alone = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # threads reserve address space
    try:
        done = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, timeout=WALL_S + seconds, env=alone, check=False
        )
    except subprocess.TimeoutExpired:
        raise BadInput(
            f"{path}: the HDF5 library cannot read it within {WALL_S + seconds:g} s; write it again"
        ) from None
    if done.returncode == REFUSED:
        told = done.stdout.decode("utf-8", "replace").strip()
        raise BadInput(f"{path}: cannot be read as HDF5: {told[:LONGEST]}; write it again")
    if done.returncode:
        code = done.returncode
        why = f"ended with code {code}" if code > 0 else f"was ended by signal {-code}"
        raise BadInput(f"{path}: the HDF5 library cannot read it (it {why} within {seconds} s); write it again")


def main() -> None:
    """The probe: 0 if the file can be read, or if it is refused by us; ``REFUSED`` and a line if the library fails."""
    seconds, path, *names = sys.argv[2:]
    _limit(int(seconds))
    try:
        _read(Path(path), names)
    except BadInput:
        return
    except Exception as error:  # h5py has a dozen ways to say it
        print((str(error) or type(error).__name__).splitlines()[0][:LONGEST])
        raise SystemExit(REFUSED) from None


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
            inside = [find_item(item, each) for each in item] if isinstance(item, h5py.Group) else [item]
            for dataset in inside:
                if isinstance(dataset, h5py.Dataset) and dataset.shape is not None:
                    room.take(dataset)
                    _read_through(dataset)


def _read_through(dataset: Any) -> None:
    if not dataset.shape:
        dataset[()]
        return
    rows = max(1, len(dataset) * PIECE_BYTES // max(1, dataset.size * dataset.dtype.itemsize))
    for start in range(0, len(dataset), rows):
        dataset[start : start + rows]
