"""``results.parquet``: the long table, one row per episode and metric."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from sidestep.benchmark.episode import EpisodeScores
from sidestep.errors import BadInput
from sidestep.records.atomic import atomic
from sidestep.records.migrate import PRIVILEGED_IN_1
from sidestep.types.result import MetricResult

SCHEMA = pa.schema(
    [
        ("suite", pa.string()),
        ("scenario", pa.string()),
        ("policy", pa.string()),
        ("seed", pa.int64()),
        ("outcome", pa.string()),
        ("digest", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("valid", pa.bool_()),
        ("reason", pa.string()),
        ("unit", pa.string()),
    ]
)
LATER_COLUMNS = {"privileged": pa.bool_(), "source": pa.string(), "cluster": pa.string(), "event": pa.string()}
"""Of the episode too; tables written before they were known lack them."""
EPISODE_COLUMNS = ("suite", "scenario", "policy", "seed", "outcome", "digest")


def save_results(episodes: Iterable[EpisodeScores], path: Path, dialect: str) -> None:
    """Write the table; a value that is not valid is null. The metadata names the dialect."""
    rows = [
        {name: getattr(episode, name) for name in (*EPISODE_COLUMNS, *LATER_COLUMNS)}
        | {
            "metric": metric,
            "value": result.value if result.valid else None,
            "valid": result.valid,
            "reason": result.reason,
            "unit": result.unit,
        }
        for episode in episodes
        for metric, result in episode.metrics.items()
    ]
    schema = pa.schema([*SCHEMA, *LATER_COLUMNS.items()], metadata={"sidestep.dialect": dialect})
    table = pa.Table.from_pylist(rows, schema=schema)
    try:
        with atomic(path) as temporary:
            pq.write_table(table, temporary, compression="zstd")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror or error}") from error


def load_results(path: Path) -> tuple[list[EpisodeScores], str]:
    """The episodes of a table in its order, and its dialect."""
    try:
        table = pq.ParquetFile(path).read()
    except FileNotFoundError:
        raise BadInput(
            f"{path}: no results yet; `sidestep run` or `sidestep score {path.parent}` writes them"
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); `sidestep score {path.parent}` writes it anew") from error
    missing = [name for name in SCHEMA.names if name not in table.column_names]
    if missing:
        raise BadInput(f"{path}: not a table of results, it has no column {missing[0]!r}")
    dialect = (table.schema.metadata or {}).get(b"sidestep.dialect", b"paper").decode()
    if "privileged" not in table.column_names:  # before records said so
        privileged = [name in PRIVILEGED_IN_1 for name in table["policy"].to_pylist()]
        table = table.append_column("privileged", pa.array(privileged, pa.bool_()))
    columns = [*EPISODE_COLUMNS, *(name for name in LATER_COLUMNS if name in table.column_names)]
    episodes: dict[tuple[str, ...], EpisodeScores] = {}
    for row in table.to_pylist():
        key = (row["policy"], row["scenario"], str(row["seed"]))
        episode = episodes.setdefault(key, EpisodeScores(**{name: row[name] for name in columns}, metrics={}))
        if row["valid"]:
            result = MetricResult(row["value"], row["unit"])
        else:
            result = MetricResult.invalid(row["unit"], row["reason"])
        episode.metrics[row["metric"]] = result
    return list(episodes.values()), dialect
