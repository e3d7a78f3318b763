"""``results.parquet``: the long table, one row per episode and metric; and how scores are kept in memory until then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from sidestep.benchmark.episode import EpisodeScores
from sidestep.errors import BadInput
from sidestep.records.atomic import CannotWrite, atomic
from sidestep.types.result import MetricResult

SCHEMA = pa.schema(
    [
        ("suite", pa.string()),
        ("scenario", pa.string()),
        ("policy", pa.string()),
        ("seed", pa.int64()),
        ("outcome", pa.string()),
        ("digest", pa.string()),
        ("privileged", pa.bool_()),
        ("source", pa.string()),
        ("cluster", pa.string()),
        ("event", pa.string()),
        ("metric", pa.string()),
        ("value", pa.float64()),
        ("valid", pa.bool_()),
        ("reason", pa.string()),
        ("unit", pa.string()),
    ]
)
EPISODE_COLUMNS = (
    "suite", "scenario", "policy", "seed", "outcome", "digest", "privileged", "source", "cluster", "event",
)  # fmt: skip
LATER_COLUMNS = {"privileged": False, "source": "generated", "cluster": "", "event": ""}
"""Columns that tables of older versions lack, and what stands for them."""
EPISODES_AT_ONCE = 200
"""As rows of Python objects, which take a hundred times the space of the file."""
ROWS_AT_ONCE = 1 << 14


class PackedMetrics(Mapping[str, MetricResult]):
    """An episode's results as an array: a tenth of the memory of a dictionary, so that runs of many thousand episodes
    keep theirs. Names, units and reasons are shared by all episodes that have the same."""

    __slots__ = ("_kinds", "_places", "_values")

    def __init__(self, metrics: Mapping[str, MetricResult]) -> None:
        self._places = _places(tuple(metrics))
        self._values = np.array([result.value for result in metrics.values()], dtype=np.float64)
        self._kinds = _shared(tuple(_kind(each.unit, each.valid, each.reason) for each in metrics.values()))

    def __getitem__(self, name: str) -> MetricResult:
        place = self._places[name]
        unit, valid, reason = self._kinds[place]
        return MetricResult(float(self._values[place]), unit) if valid else MetricResult.invalid(unit, reason)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> tuple[type[PackedMetrics], tuple[dict[str, MetricResult]]]:
        return PackedMetrics, (dict(self),)


Kind = tuple[str, bool, str]
"""Unit, whether there is a value, and why not."""


@lru_cache(maxsize=64)
def _places(names: tuple[str, ...]) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


@lru_cache(maxsize=4096)
def _kind(unit: str, valid: bool, reason: str) -> Kind:
    return unit, valid, reason


@lru_cache(maxsize=4096)
def _shared(kinds: tuple[Kind, ...]) -> tuple[Kind, ...]:
    return kinds


def pack(scores: EpisodeScores) -> EpisodeScores:
    """The same scores in little memory."""
    return replace(scores, metrics=PackedMetrics(scores.metrics))


def save_results(episodes: Iterable[EpisodeScores], path: Path, dialect: str) -> None:
    """Write the table; a value that is not valid is null. The metadata names the dialect."""
    schema = SCHEMA.with_metadata({"sidestep.dialect": dialect})
    try:
        with atomic(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
            waiting = iter(episodes)
            while some := list(islice(waiting, EPISODES_AT_ONCE)):
                writer.write_table(pa.Table.from_pylist([row for each in some for row in _rows(each)], schema=schema))
    except OSError as error:
        raise CannotWrite(path, error) from error


def _rows(episode: EpisodeScores) -> Iterator[dict[str, Any]]:
    shared = {name: getattr(episode, name) for name in EPISODE_COLUMNS}
    for metric, result in episode.metrics.items():
        yield shared | {
            "metric": metric,
            "value": result.value if result.valid else None,
            "valid": result.valid,
            "reason": result.reason,
            "unit": result.unit,
        }


def load_results(path: Path) -> tuple[list[EpisodeScores], str]:
    """The episodes of a table in its order, and its dialect."""
    try:
        file = pq.ParquetFile(path, pre_buffer=False)
    except FileNotFoundError:
        raise BadInput(
            f"{path}: no results yet; `sidestep run` or `sidestep score {path.parent}` writes them"
        ) from None
    except (pa.ArrowException, OSError) as error:
        raise BadInput(f"{path}: cannot be read ({error}); `sidestep score {path.parent}` writes it anew") from error
    with file:
        missing = [name for name in SCHEMA.names if name not in {*file.schema_arrow.names, *LATER_COLUMNS}]
        if missing:
            raise BadInput(f"{path}: not a table of results, it has no column {missing[0]!r}")
        dialect = (file.schema_arrow.metadata or {}).get(b"sidestep.dialect", b"paper").decode()
        try:
            return list(_episodes(file)), dialect
        except (pa.ArrowException, OSError, ValueError, TypeError) as error:
            raise BadInput(
                f"{path}: cannot be read ({error}); `sidestep score {path.parent}` writes it anew"
            ) from error


def _episodes(file: pq.ParquetFile) -> Iterator[EpisodeScores]:
    """The rows of one episode follow each other."""
    key: tuple[str, ...] = ()
    episode: EpisodeScores | None = None
    metrics: dict[str, MetricResult] = {}
    for batch in file.iter_batches(ROWS_AT_ONCE, use_threads=False):
        for row in batch.to_pylist():
            its = (row["policy"], row["scenario"], str(row["seed"]))
            if its != key:
                if episode is not None:
                    yield replace(episode, metrics=PackedMetrics(metrics))
                fields = {name: row.get(name, LATER_COLUMNS.get(name)) for name in EPISODE_COLUMNS}
                key, episode, metrics = its, EpisodeScores(**fields, metrics={}), {}
            if row["valid"]:
                metrics[row["metric"]] = MetricResult(row["value"], row["unit"])
            else:
                metrics[row["metric"]] = MetricResult.invalid(row["unit"], row["reason"])
    if episode is not None:
        yield replace(episode, metrics=PackedMetrics(metrics))
