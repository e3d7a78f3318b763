"""Where the counterfactual of a record lies, the same episode without the robot:
``counterfactuals/<scenario>__seed<k>.parquet`` beside ``episodes/<policy>/<scenario>__seed<k>.parquet``. All policies
of a run share it."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from sidestep.errors import RecordError
from sidestep.records.read import load_record
from sidestep.types.record import EpisodeRecord

COUNTERFACTUALS = "counterfactuals"


def counterfactual_path(path: Path) -> Path:
    """File of the counterfactual of the record in ``path``, which is ``episodes/POLICY/FILE`` of a run."""
    return path.parent.parent.parent / COUNTERFACTUALS / path.name


def with_counterfactual(record: EpisodeRecord, path: Path) -> EpisodeRecord:
    """The record in ``path`` with its counterfactual; as it is where there is none, or none that can be read."""
    beside = counterfactual_path(path)
    try:
        changed = beside.stat().st_mtime_ns
    except OSError:
        return record
    counterfactual = _load(beside, changed)
    return record if counterfactual is None else replace(record, counterfactual=counterfactual)


@lru_cache(maxsize=8)
def _load(path: Path, changed: int) -> EpisodeRecord | None:
    """Remembered, as the episodes of several policies have the same; ``changed``: when the file was."""
    try:
        return load_record(path)
    except RecordError:
        return None
