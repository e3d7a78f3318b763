"""Record → file."""

from __future__ import annotations

import base64
import hashlib
import json
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sidestep._util.writing import write_whole
from sidestep.records.format import (
    CHECKSUM,
    CHECKSUM_ZEROS,
    COLUMNS,
    EVENT,
    OPTIONAL_COLUMNS,
    OTHER_COLUMNS,
    PEOPLE_COLUMNS,
    PLAN_COLUMNS,
    PREFIX,
    STATE_COLUMNS,
    STEP_COLUMNS,
)
from sidestep.types.base import IntArray
from sidestep.types.record import FORMAT_VERSION, EpisodeRecord, Plans
from sidestep.version import __version__


def save_record(record: EpisodeRecord, path: Path | str) -> None:
    """Write ``record`` to ``path``: the file is whole or not there. Reading it back gives the same digest.

    A record that was read from an older format is written in the present one, with the digest of that.
    """
    write_whole(Path(path), encode_record(record))


def encode_record(record: EpisodeRecord) -> bytes:
    """The bytes of the file, in the present format."""
    if record.format_version != FORMAT_VERSION:
        record = replace(record, format_version=FORMAT_VERSION)
    arrays = _columns(record)
    names = [*COLUMNS, *(name for name in (*OPTIONAL_COLUMNS, *PLAN_COLUMNS) if name in arrays)]
    table = pa.table([arrays[name] for name in names], names=names)
    table = table.replace_schema_metadata({PREFIX + key: text for key, text in _metadata(record).items()})
    return seal(table)


def seal(table: pa.Table) -> bytes:
    """A table of a record as the bytes of a Parquet file, its checksum in place."""
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        table.schema,
        compression="zstd",
        use_dictionary=False,
        use_byte_stream_split=_float_leaves(table.schema),
        store_schema=False,  # Arrow's own copy of it would hold the metadata once more, a third larger
    ) as writer:
        writer.write_table(table, row_group_size=max(len(table), 1))
        writer.add_key_value_metadata({**(table.schema.metadata or {}), "sidestep.checksum": CHECKSUM_ZEROS.decode()})
    data = bytearray(sink.getvalue())
    place = data.rfind(CHECKSUM + CHECKSUM_ZEROS) + len(CHECKSUM)
    data[place : place + len(CHECKSUM_ZEROS)] = hashlib.sha256(data).hexdigest().encode()
    return bytes(data)


def _float_leaves(schema: pa.Schema) -> list[str]:
    """Columns and elements of lists that are floats. They are stored byte by byte (all first bytes, then all second
    ones, …): files are almost half as large."""
    lists = [f.name for f in schema if pa.types.is_list(f.type) and pa.types.is_floating(f.type.value_type)]
    return [f.name for f in schema if pa.types.is_floating(f.type)] + [f"{name}.list.element" for name in lists]


def _columns(record: EpisodeRecord) -> dict[str, pa.Array]:
    columns: dict[str, pa.Array] = {"time": pa.array(record.time)}
    for name, (field, component) in STATE_COLUMNS.items():
        columns[name] = pa.array(np.ascontiguousarray(getattr(record, field)[:, component]))
    for name, (field, component) in STEP_COLUMNS.items():
        columns[name] = _per_step(getattr(record, field)[:, component])
    columns["limited"] = _per_step(record.limited)
    columns["planning_time"] = _per_step(record.planning_time)
    for name, (field, part) in (PEOPLE_COLUMNS | OTHER_COLUMNS).items():
        values = getattr(record, field)
        columns[name] = _lists(values if part is None else values[:, :, part])
    for name, field in OPTIONAL_COLUMNS.items():
        if getattr(record, field).size:
            columns[name] = _lists(getattr(record, field))
    columns["events"] = _events(record)
    return columns | _plans(record.plans, len(record.time))


def _plans(plans: Plans, rows: int) -> dict[str, pa.Array]:
    """Plans and forecasts in the rows of their steps, null in all others; no columns where there are none."""
    if not len(plans):
        return {}
    ends = np.searchsorted(plans.forecast_step, plans.step, side="right")
    begins = np.searchsorted(plans.forecast_step, plans.step, side="left")
    points: list[Any] = [None] * rows
    people: list[Any] = [None] * rows
    expected: list[Any] = [None] * rows
    for k, step in enumerate(plans.step.tolist()):
        points[step] = plans.robot[k].ravel()
        people[step] = plans.forecast_person[begins[k] : ends[k]]
        expected[step] = plans.people[begins[k] : ends[k]].ravel()
    columns = {"plan": pa.array(points, pa.list_(pa.float32()))}
    if len(plans.forecast_step):
        columns["forecast_people"] = pa.array(people, pa.list_(pa.int32()))
        columns["forecast"] = pa.array(expected, pa.list_(pa.float32()))
    return columns


def _per_step(values: Any) -> pa.Array:
    """T values and a null for the last state, after which there is no step."""
    return pa.concat_arrays([pa.array(np.ascontiguousarray(values)), pa.nulls(1, pa.from_numpy_dtype(values.dtype))])


def _lists(values: Any) -> pa.Array:
    rows, width = values.shape
    offsets = np.arange(rows + 1, dtype=np.int32) * width
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(np.ascontiguousarray(values).ravel()))


def _events(record: EpisodeRecord) -> pa.Array:
    rows: list[list[dict[str, Any]]] = [[] for _ in record.time]
    steps = step_of(record.time, np.array([event.time for event in record.events], dtype=np.float64))
    for order, (event, step) in enumerate(zip(record.events, steps, strict=True)):
        rows[step].append(
            {
                "order": order,
                "time": float(event.time),
                "kind": event.kind,
                "subject": event.subject,
                "value": float(event.value),
                "text": event.text,
            }
        )
    return pa.array(rows, type=pa.list_(EVENT))


def step_of(state_times: Any, times: Any) -> IntArray:
    """The step k in which each time lies, time[k] < t ≤ time[k + 1]; the first for t ≤ 0, the last for later
    ones."""
    last = max(len(state_times) - 2, 0)
    steps: IntArray = np.clip(np.searchsorted(state_times, times, side="left") - 1, 0, last)
    return steps


def _metadata(record: EpisodeRecord) -> dict[str, str]:
    policy = record.policy
    people = {
        "id": record.person_id.tolist(),
        "radius": record.person_radius.tolist(),
        "model": list(record.person_model),
    }
    settings = {
        "name": policy.name,
        "settings": policy.settings,
        "needs": list(policy.needs),
        "version": policy.version,
        "privileged": policy.privileged,
        **({} if policy.sandbox is None else {"sandbox": list(policy.sandbox)}),
    }
    optional = {"plan_step_s": repr(record.plans.step_s)} if len(record.plans) else {}
    optional |= {"traceback": record.traceback} if record.traceback else {}
    return optional | {
        "format": str(record.format_version),
        "scenario": record.scenario.model_dump_json(),
        "robot": record.robot.model_dump_json(),
        "policy": json.dumps(settings, default=_plain),
        "seed": str(record.seed),
        "source": record.source,
        "mode": record.mode,
        "outcome": record.outcome.value,
        "shortest_path_m": repr(record.shortest_path_m),
        "error": record.error,
        "package_version": record.package_version or __version__,
        "walls": base64.b64encode(zlib.compress(record.walls.astype("<f4").tobytes())).decode(),
        "wall_count": str(len(record.walls)),
        "people": json.dumps(people),
        "other_radius": json.dumps(record.other_radius.tolist()),
        "digest": record.digest,
    }


def _plain(value: Any) -> Any:
    """A policy's setting that JSON does not know: arrays as lists, numpy scalars as numbers, anything else as
    text."""
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, set | frozenset):
        return sorted(value)
    return str(value)
