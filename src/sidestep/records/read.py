"""File → record, or a RecordError that says which file, what is wrong and what to do.

A file may be damaged or made to do harm: nothing larger than its size allows is unpacked, and whatever its parsers
raise becomes a RecordError.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import TypeAdapter

from sidestep.errors import RecordError
from sidestep.records.format import (
    CHECKSUM,
    CHECKSUM_ZEROS,
    COLUMNS,
    OPTIONAL_COLUMNS,
    OTHER_COLUMNS,
    PEOPLE_COLUMNS,
    PREFIX,
    STATE_COLUMNS,
    STEP_COLUMNS,
    Metadata,
    migrate,
    version_of,
)
from sidestep.types.base import FloatArray
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord, Event, EventKind, Mode, Plans, PolicyInfo, Source
from sidestep.types.robot import RobotSpec
from sidestep.types.scenario import Scenario

REMEDY = "run the episode again (re-running into the same folder replaces a damaged record)"
CHECKED_SINCE = 2
"""The first format whose files have a checksum."""
ROWS_PER_BYTE = 16
VALUES_PER_BYTE = 1024
LEAST_VALUES = 1 << 24
"""A file of b bytes has at most ``ROWS_PER_BYTE`` b rows and ``VALUES_PER_BYTE`` b values, or ``LEAST_VALUES`` if that
is more. Files of episodes have less than a tenth of that, since at least the times of their states differ."""
MOST_WALLS = 1 << 22
"""Edges of walls in a file of format 1, which does not count them."""


@dataclass(frozen=True)
class _People:
    """The columns of people, as the metadata names them."""

    id: list[int]
    radius: list[float]
    model: list[str]


_PEOPLE = TypeAdapter(_People)
_POLICY = TypeAdapter(PolicyInfo)


def load_record(path: Path | str) -> EpisodeRecord:
    """The record in ``path``, its checksum and its digest checked."""
    path = Path(path)
    return decode_record(_bytes_of(path), path)


def decode_record(data: bytes, path: Path | str) -> EpisodeRecord:
    """The record in the bytes of a file, its checksum and its digest checked. ``path`` is for messages."""
    has_checksum = _check_checksum(data, path)
    table, metadata = _read(data, path)
    version = version_of(metadata, path)
    if version >= CHECKED_SINCE and not has_checksum:
        raise RecordError(f"{path}: damaged, it has lost its checksum; {REMEDY}")
    try:
        record = _assemble(*migrate(table, metadata, version), version)
        digest = record.digest
    except Exception as error:  # whatever a parser makes of damaged contents
        raise RecordError(f"{path}: damaged or incomplete: {_first_line(error)}; {REMEDY}") from error
    if digest != metadata.get("digest"):
        raise RecordError(
            f"{path}: its contents do not match the stored digest: the file was changed or damaged "
            f"after it was written; {REMEDY}"
        )
    return record


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.exists():
            raise RecordError(f"{path}: no such file; a record is a .parquet file in a run's episodes folder")
        if path.is_dir():
            raise RecordError(f"{path}: is a folder; name one record in it (*.parquet)")
        if not path.is_file():
            raise RecordError(f"{path}: not a plain file; name a record (*.parquet)")
        return path.read_bytes()
    except OSError as error:
        raise RecordError(f"{path}: cannot be read: {(error.strerror or str(error)).lower()}") from error


def _check_checksum(data: bytes, path: Path | str) -> bool:
    """Whether the file has a checksum; RecordError if it is not that of its bytes."""
    found = data.count(CHECKSUM)
    if found == 0:
        return False
    place = data.find(CHECKSUM) + len(CHECKSUM)
    end = place + len(CHECKSUM_ZEROS)
    sha = hashlib.sha256(memoryview(data)[:place])
    sha.update(CHECKSUM_ZEROS)
    sha.update(memoryview(data)[end:])
    if found > 1 or data[place:end] != sha.hexdigest().encode():
        raise RecordError(
            f"{path}: truncated, damaged or changed after it was written: its checksum does not match; {REMEDY}"
        )
    return True


def _read(data: bytes, path: Path | str) -> tuple[pa.Table, Metadata]:
    try:
        with pq.ParquetFile(pa.BufferReader(data), pre_buffer=False) as file:
            _check_size(file.metadata, len(data))
            table = file.read(use_threads=False)  # a thread may outlive an error in another column
        raw = table.schema.metadata or {}
        metadata = {
            key.decode().removeprefix(PREFIX): text.decode()
            for key, text in raw.items()
            if key.startswith(PREFIX.encode())
        }
    except Exception as error:  # Arrow has many ways to say it
        raise RecordError(
            f"{path}: truncated, or not a Parquet file at all ({_first_line(error)}); {REMEDY}"
        ) from error
    if "format" not in metadata:
        raise RecordError(
            f"{path}: a Parquet file, but not a Sidestep episode record; name one from a run's episodes folder"
        )
    return table, metadata


def _check_size(described: Any, size: int) -> None:
    """Refuse a file that says to hold far more than its size allows."""
    groups = [described.row_group(k) for k in range(described.num_row_groups)]
    chunks = [group.column(k) for group in groups for k in range(group.num_columns)]
    values = sum(chunk.num_values for chunk in chunks)
    unpacked = sum(chunk.total_uncompressed_size for chunk in chunks)
    most = max(LEAST_VALUES, VALUES_PER_BYTE * size)
    if described.num_rows > ROWS_PER_BYTE * size or values > most or unpacked > 8 * most:
        raise ValueError(f"{described.num_rows} rows with {values} values cannot be in {size} bytes")


def _first_line(error: BaseException) -> str:
    text = str(error) or type(error).__name__
    return text.splitlines()[0].rstrip(".")[:300]


def _assemble(table: pa.Table, metadata: Metadata, version: int) -> EpisodeRecord:
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise ValueError(f"no column {missing[0]!r}")
    if not len(table):
        raise ValueError("no states")
    people = _PEOPLE.validate_json(metadata["people"])
    other_radius = np.array(json.loads(metadata["other_radius"]), dtype=np.float64)
    return EpisodeRecord(
        scenario=Scenario.model_validate_json(metadata["scenario"]),
        robot=RobotSpec.model_validate_json(metadata["robot"]),
        policy=_POLICY.validate_json(metadata["policy"]),
        seed=int(metadata["seed"]),
        outcome=Outcome(metadata["outcome"]),
        source=_one_of(get_args(Source), metadata["source"]),
        mode=_one_of(get_args(Mode), metadata["mode"]),
        person_id=np.array(people.id, dtype=np.int64),
        person_radius=np.array(people.radius, dtype=np.float32),
        person_model=tuple(people.model),
        walls=_walls(metadata, version),
        other_radius=other_radius,
        shortest_path_m=float(metadata["shortest_path_m"]),
        error=metadata["error"],
        traceback=metadata.get("traceback", ""),
        package_version=metadata["package_version"],
        format_version=version,
        plans=_plans(table, metadata),
        **_arrays(table, len(people.id), len(other_radius)),
    )


def _one_of(known: tuple[str, ...], text: str) -> Any:
    if text not in known:
        raise ValueError(f"{text[:40]!r} is none of {', '.join(known)}")
    return text


def _walls(metadata: Metadata, version: int) -> FloatArray:
    """(W, 4); no more is unpacked than the stated number of edges takes."""
    packed = base64.b64decode(metadata["walls"], validate=True)
    most = int(metadata["wall_count"]) if version > 1 else MOST_WALLS
    if not 0 <= most <= MOST_WALLS:
        raise ValueError(f"{most} wall edges")
    unpacking = zlib.decompressobj()
    raw = unpacking.decompress(packed, 16 * most + 1)  # a limit of 0 would be none
    if not unpacking.eof or len(raw) % 16 or len(raw) > 16 * most or (version > 1 and len(raw) < 16 * most):
        raise ValueError(f"walls of {len(raw)} bytes or more; the record states {most} edges of 16 bytes")
    return np.frombuffer(raw, dtype="<f4").reshape(-1, 4)


def _arrays(table: pa.Table, people: int, others: int) -> dict[str, Any]:
    flat = {name: table.column(name).to_numpy() for name in ("time", *STATE_COLUMNS)}
    steps = {
        name: table.column(name).slice(0, len(table) - 1).to_numpy()
        for name in (*STEP_COLUMNS, "limited", "planning_time")
    }
    lists = {name: _matrix(table.column(name), people) for name in PEOPLE_COLUMNS}
    lists |= {name: _matrix(table.column(name), others) for name in OTHER_COLUMNS}
    columns = flat | steps | lists
    arrays: dict[str, Any] = {name: columns[name] for name in ("time", "limited", "planning_time")}
    parts: dict[str, list[Any]] = {}
    for name, (field, component) in (STATE_COLUMNS | STEP_COLUMNS | PEOPLE_COLUMNS | OTHER_COLUMNS).items():
        if component is None:
            arrays[field] = columns[name]
        else:
            parts.setdefault(field, []).append(columns[name])
    arrays |= {field: np.stack(columns, axis=-1) for field, columns in parts.items()}
    for name, field in OPTIONAL_COLUMNS.items():
        if name in table.column_names:
            arrays[field] = _matrix(table.column(name), people)
    return arrays | {"events": _events(table.column("events"))}


def _plans(table: pa.Table, metadata: Metadata) -> Plans:
    if "plan" not in table.column_names:
        return Plans()
    plan = table.column("plan").combine_chunks()
    step = np.flatnonzero(plan.is_valid().to_numpy(zero_copy_only=False))
    robot = plan.flatten().to_numpy(zero_copy_only=False).reshape(len(step), -1, 2) if len(plan.flatten()) else None
    forecasts: dict[str, Any] = {}
    if "forecast" in table.column_names:
        who = table.column("forecast_people").combine_chunks()
        counts = [len(row) for row in who.drop_null()]
        people = who.flatten().to_numpy(zero_copy_only=False)
        expected = table.column("forecast").combine_chunks().flatten().to_numpy(zero_copy_only=False)
        forecasts = {
            "forecast_step": np.repeat(step, counts),
            "forecast_person": people,
            "people": expected.reshape(len(people), -1, 2),
        }
    points = np.zeros((len(step), 0, 2)) if robot is None else robot
    return Plans(float(metadata["plan_step_s"]), step, points, **forecasts)


def _matrix(column: pa.ChunkedArray, width: int) -> Any:
    """(rows, width) from a column of lists that are all ``width`` long."""
    lists = column.combine_chunks()
    lengths = lists.value_lengths()
    if lengths.null_count or (lengths.to_numpy() != width).any():
        raise ValueError(f"a row of a list column does not hold {width} values")
    return lists.flatten().to_numpy(zero_copy_only=False).reshape(len(lists), width)


def _events(column: pa.ChunkedArray) -> tuple[Event, ...]:
    rows = sorted((event for row in column.to_pylist() for event in row), key=lambda event: event["order"])
    kinds = get_args(EventKind)
    if not all(isinstance(event[name], str) for event in rows for name in ("kind", "subject", "text")):
        raise ValueError("an event without a name")
    return tuple(Event(e["time"], _one_of(kinds, e["kind"]), e["subject"], e["value"], e["text"]) for e in rows)
