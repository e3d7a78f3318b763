"""File → record, or a RecordError that says which file, what is wrong and what to do."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sidestep.errors import BadInput, RecordError
from sidestep.records.layout import (
    COLUMNS,
    OPTIONAL_COLUMNS,
    OTHER_COLUMNS,
    PEOPLE_COLUMNS,
    PREFIX,
    STATE_COLUMNS,
    STEP_COLUMNS,
)
from sidestep.records.migrate import Metadata, migrate
from sidestep.types.outcome import Outcome
from sidestep.types.plans import Plans
from sidestep.types.record import EpisodeRecord, Event, PolicyInfo
from sidestep.types.robot import RobotSpec
from sidestep.types.scenario import Scenario

REMEDY = "run the episode again (re-running into the same folder replaces a damaged record)"


def load_record(path: Path | str) -> EpisodeRecord:
    """The record in ``path``, its digest checked."""
    path = Path(path)
    table, metadata = migrate(*_read(path), path)
    try:
        record = _assemble(table, metadata)
    except (KeyError, ValueError, TypeError, BadInput, zlib.error, pa.ArrowException) as error:
        raise RecordError(f"{path}: damaged or incomplete: {error}; {REMEDY}") from error
    if record.digest != metadata.get("digest"):
        raise RecordError(
            f"{path}: its contents do not match the stored digest: the file was changed or damaged "
            f"after it was written; {REMEDY}"
        )
    return record


def _read(path: Path) -> tuple[pa.Table, Metadata]:
    if not path.exists():
        raise RecordError(f"{path}: no such file; a record is a .parquet file in a run's episodes folder")
    if path.is_dir():
        raise RecordError(f"{path}: is a folder; name one record in it (*.parquet)")
    try:
        with pq.ParquetFile(path) as file:
            table = file.read()
    except PermissionError as error:
        raise RecordError(f"{path}: cannot be read: permission denied") from error
    except (pa.ArrowException, OSError) as error:
        raise RecordError(
            f"{path}: truncated, or not a Parquet file at all ({_first_line(error)}); {REMEDY}"
        ) from error
    raw = table.schema.metadata or {}
    metadata = {
        key.decode().removeprefix(PREFIX): text.decode() for key, text in raw.items() if key.startswith(PREFIX.encode())
    }
    if "format" not in metadata:
        raise RecordError(
            f"{path}: a Parquet file, but not a Sidestep episode record; name one from a run's episodes folder"
        )
    return table, metadata


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")


def _assemble(table: pa.Table, metadata: Metadata) -> EpisodeRecord:
    missing = [name for name in COLUMNS if name not in table.column_names]
    if missing:
        raise KeyError(f"no column {missing[0]!r}")
    people = json.loads(metadata["people"])
    other_radius = np.array(json.loads(metadata["other_radius"]), dtype=np.float64)
    policy = json.loads(metadata["policy"])
    walls = np.frombuffer(zlib.decompress(base64.b64decode(metadata["walls"])), dtype="<f4")
    return EpisodeRecord(
        scenario=Scenario.model_validate_json(metadata["scenario"]),
        robot=RobotSpec.model_validate_json(metadata["robot"]),
        policy=PolicyInfo(policy["name"], policy["settings"], tuple(policy["needs"]), policy["version"]),
        seed=int(metadata["seed"]),
        outcome=Outcome(metadata["outcome"]),
        source=metadata["source"],  # type: ignore[arg-type]
        mode=metadata["mode"],  # type: ignore[arg-type]
        person_id=np.array(people["id"], dtype=np.int64),
        person_radius=np.array(people["radius"], dtype=np.float32),
        person_group=np.array(people["group"], dtype=np.int32),
        person_model=tuple(people["model"]),
        walls=walls.reshape(-1, 4),
        other_radius=other_radius,
        shortest_path_m=float(metadata["shortest_path_m"]),
        error=metadata["error"],
        package_version=metadata["package_version"],
        format_version=int(metadata["format"]),
        plans=_plans(table, metadata),
        **_arrays(table, len(people["id"]), len(other_radius)),
    )


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
    values = lists.flatten().to_numpy(zero_copy_only=False)
    if len(values) != len(lists) * width:
        raise ValueError(f"{len(values)} list values in {len(lists)} rows of {width}")
    return values.reshape(len(lists), width)


def _events(column: pa.ChunkedArray) -> tuple[Event, ...]:
    rows = sorted((event for row in column.to_pylist() for event in row), key=lambda event: event["order"])
    return tuple(Event(e["time"], e["kind"], e["subject"], e["value"], e["text"]) for e in rows)
