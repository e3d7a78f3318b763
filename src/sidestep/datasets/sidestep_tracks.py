"""The project's own format of tracks: Parquet, with everything that ``Tracks`` holds, so that nothing is lost.

Columns ``person`` int64, ``time_s`` float64, ``x_m`` and ``y_m`` float64. The schema's metadata under
``sidestep.tracks`` are JSON: ``version``, ``rate_hz``, ``source``, ``licence``, ``coordinates``, ``groups`` (lists of
``[person, group]``).
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util.reading import parse_json
from sidestep._util.writing import write_whole
from sidestep.datasets.annotations import check_rate, read_head
from sidestep.datasets.sources import read_bytes
from sidestep.errors import BadInput
from sidestep.interfaces import Loader
from sidestep.types.tracks import Tracks

KEY = b"sidestep.tracks"
VERSION = 1
MOST_ROWS = 10_000_000
COLUMNS = ("person", "time_s", "x_m", "y_m")


@dataclass(frozen=True)
class SidestepTracks(Loader):
    """Reads and writes the project's own Parquet tracks."""

    name: str = "sidestep"
    summary: str = "Sidestep's own Parquet tracks, written by `sidestep data convert`"

    def matches(self, path: Path) -> bool:
        """Whether it is Parquet with our metadata."""
        if read_head(path, 4) != b"PAR1":
            return False
        try:
            return KEY in _open(path).schema_arrow.metadata
        except (BadInput, TypeError):
            return False

    def load(self, path: Path) -> Tracks:
        """The tracks, exactly as they were written."""
        if not read_bytes(path):
            raise BadInput(f"{path}: the file is empty")
        file = _open(path)
        about = _metadata(path, file.schema_arrow.metadata or {})
        missing = [name for name in COLUMNS if name not in file.schema_arrow.names]
        if missing:
            raise BadInput(f"{path}: no column {missing[0]!r}; a file of tracks has {', '.join(COLUMNS)}")
        if file.metadata.num_rows > MOST_ROWS:
            raise BadInput(f"{path}: {file.metadata.num_rows:,} annotations, at most {MOST_ROWS:,} are read; cut it")
        person, time, x, y = _columns(path, file)
        if not len(person):
            raise BadInput(f"{path}: no annotations in it, so nobody was recorded")
        try:
            return Tracks(
                person,
                time,
                np.stack([x, y], axis=1),
                check_rate(path, float(about["rate_hz"])),
                source=str(about["source"]),
                licence=str(about["licence"]),
                frame=str(about["coordinates"]),
                group={int(member): int(number) for member, number in about["groups"]},
            )
        except BadInput as error:
            raise BadInput(f"{path}: {error}") from None
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise BadInput(f"{path}: the metadata of the tracks is damaged: {error}") from None

    def save(self, tracks: Tracks, path: Path) -> list[str]:
        """Write the tracks. Nothing is lost."""
        import pyarrow
        import pyarrow.parquet

        about = {
            "version": VERSION,
            "rate_hz": tracks.rate_hz,
            "source": tracks.source,
            "licence": tracks.licence,
            "coordinates": tracks.frame,
            "groups": [[int(member), int(number)] for member, number in tracks.group.items()],
        }
        columns = (tracks.person, tracks.time, tracks.position[:, 0], tracks.position[:, 1])
        table = pyarrow.table(dict(zip(COLUMNS, map(pyarrow.array, columns), strict=True)))
        table = table.replace_schema_metadata({KEY: json.dumps(about)})
        sink = pyarrow.BufferOutputStream()
        pyarrow.parquet.write_table(table, sink, compression="zstd")
        write_whole(path, sink.getvalue().to_pybytes())
        return []


def _open(path: Path) -> Any:
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.ParquetFile(path, pre_buffer=False)
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{path}: is not a whole Parquet file: {error!s:.200}") from None


def _columns(path: Path, file: Any) -> list[Any]:
    import pyarrow

    try:
        table = file.read(columns=list(COLUMNS), use_threads=False)  # a thread may outlive an error elsewhere
        return [table.column(name).to_numpy() for name in COLUMNS]
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"{path}: is not a whole Parquet file: {error!s:.200}; copy it again") from None


def _metadata(path: Path, metadata: dict[bytes, bytes]) -> dict[str, Any]:
    if KEY not in metadata:
        raise BadInput(f"{path}: is Parquet, but holds no tracks of Sidestep")
    try:
        about = parse_json(metadata[KEY], f"{path}: metadata of tracks")
        version = about["version"]
    except (KeyError, TypeError):
        raise BadInput(f"{path}: the metadata of the tracks is damaged") from None
    if version != VERSION:
        raise BadInput(f"{path}: tracks of version {version!s:.20}; this program reads version {VERSION}")
    return dict(about)


SIDESTEP = SidestepTracks()
