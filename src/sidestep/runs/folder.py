"""The run folder: ``run.json`` (plan and circumstances), ``episodes/``, the lock of the process that writes to it,
and ``results.parquet``, the long table with one row per episode and metric. Scores are packed in memory until
they are written.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import platform
import re
import shutil
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from itertools import islice
from math import isfinite
from pathlib import Path
from sys import intern
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from filelock import FileLock, Timeout

from sidestep._util.reading import is_file, parse_json, read_text
from sidestep._util.writing import CannotWrite, sweep, whole_file, write_whole
from sidestep.errors import BadInput
from sidestep.metrics.score import EpisodeScores
from sidestep.runs.plan import Plan, extend
from sidestep.runs.provenance import PACKAGE, describe_machine, source_commit
from sidestep.runs.results_table import ResultsFile
from sidestep.types.base import FloatArray
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult
from sidestep.version import __version__

RUN_FORMAT = 2
"""2 added the hashes of code and files to the plan."""
RUN_FILE = "run.json"
RESULTS_FILE = "results.parquet"
EPISODES = "episodes"
LOCK_FILE = ".lock"
OWNER_FILE = "running.json"
"""While a run is under way: process, host and start of it."""
IN_PACKAGE = "sidestep:"
"""Opens the base of a bundled suite in ``run.json``."""


@dataclass(frozen=True)
class Skipped:
    """An episode that could not be made, and why."""

    scenario: str
    policy: str
    seed: int
    reason: str


@dataclass(frozen=True)
class RunFile:
    """The contents of ``run.json``."""

    plan: Plan
    package_version: str = __version__
    commit: str | None = None
    machine: dict[str, Any] = field(default_factory=dict)
    """Where the run began."""
    resumed_on: tuple[dict[str, Any], ...] = ()
    """Further machines, and the same one with other versions of Python or of libraries that do not compute."""
    complete: bool = False
    skipped: tuple[Skipped, ...] = ()
    has_ledger: bool = False
    """Whether only records count that are in the run's ledger (``runs.ledger``). Older runs have none."""

    def save(self, folder: Path) -> None:
        """Write it, whole or not at all."""
        document = {
            "format": RUN_FORMAT,
            "complete": self.complete,
            "package_version": self.package_version,
            "commit": self.commit,
            "machine": self.machine,
            "resumed_on": list(self.resumed_on),
            "skipped": [vars(entry) for entry in self.skipped],
            "ledger": self.has_ledger,
            "base": _portable_base(self.plan.base, folder),
            "plan": _plan_document(self.plan),
        }
        write_whole(folder / RUN_FILE, (json.dumps(document, indent=1, ensure_ascii=False) + "\n").encode())


def _plan_document(plan: Plan) -> dict[str, Any]:
    """The plan in full; of cameras only what scenarios say, for the rest is the robot's and the policy's to say."""
    document = plan.model_dump(mode="json")
    for entry, scenario in zip(document["scenarios"], plan.scenarios, strict=True):
        entry["sensors"]["camera"] = scenario.sensors.camera.model_dump(mode="json", exclude_unset=True)
    return document


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Make the folder and keep other runs out of it; BadInput names the run that is in it.

    The operating system ends a dead process's claim, so what is left after a kill is taken over. A file system without
    locks does not keep other runs out.
    """
    try:
        (folder / EPISODES).mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / LOCK_FILE)
        with suppress(NotImplementedError):
            lock.acquire(timeout=0)
    except Timeout:
        raise BadInput(f"{folder}: {_who_runs(folder)}; wait for it to end, or choose another --out") from None
    except (OSError, ValueError) as error:
        raise BadInput(f"{folder}: cannot be written to: {_reason(error)}") from error
    owner = {"pid": os.getpid(), "host": platform.node(), "started": datetime.now(UTC).isoformat(timespec="seconds")}
    try:
        write_whole(folder / OWNER_FILE, json.dumps(owner).encode())
        yield
    finally:
        with suppress(OSError):
            (folder / OWNER_FILE).unlink(missing_ok=True)
        lock.release()


def _who_runs(folder: Path) -> str:
    try:
        owner = json.loads((folder / OWNER_FILE).read_bytes())
        age = time.time() - datetime.fromisoformat(owner["started"]).timestamp()
        whose = f"process {int(owner['pid'])} on {owner['host']!s:.80}, started {_duration(age)} ago"
    except (OSError, ValueError, KeyError, TypeError, OverflowError, RecursionError):
        whose = "it has just begun"
    return f"another run is under way in it ({whose})"


def _duration(seconds: float) -> str:
    minutes = int(max(seconds, 0.0)) // 60
    if minutes < 1:
        return f"{int(max(seconds, 0.0))} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h"


def open_folder(folder: Path, plan: Plan, replaced: Iterable[str] = ()) -> RunFile:
    """Begin a run in the folder, or continue the one in it: its plan extended by ``plan``. BadInput when they
    contradict, but for policies that are ``replaced``: their records are deleted. Needs ``only_run``."""
    try:
        if (folder / RUN_FILE).exists():
            before, machine = load_run(folder), describe_machine()
            extended, outdated = extend(before.plan, plan, replaced, _other_libraries(before.machine, machine))
            for policy in outdated:  # before the plan says that they are of the new code
                shutil.rmtree(folder / EPISODES / safe_name(policy), ignore_errors=True)
            skipped = tuple(entry for entry in before.skipped if entry.policy not in outdated)
            run = replace(before, plan=extended, complete=False, skipped=skipped)
            if outdated:
                run = replace(run, commit=source_commit(), machine=machine, package_version=__version__)
            elif machine not in (run.machine, *run.resumed_on):
                run = replace(run, resumed_on=(*run.resumed_on, machine))
        else:
            run = RunFile(plan, commit=source_commit(), machine=describe_machine(), has_ledger=True)
        run.save(folder)
        sweep(folder / EPISODES, "*.parquet")
        for name in (RUN_FILE, OWNER_FILE, "results*.parquet"):
            sweep(folder, name, below=False)
    except CannotWrite:
        raise
    except (OSError, UnicodeError) as error:
        raise BadInput(f"{folder}: cannot be written to: {_reason(error)}") from error
    except BadInput as error:
        raise BadInput(f"{folder}: {error}") from None
    return run


COMPUTING = ("numba", "numpy", "scipy", "shapely")
"""Libraries whose other versions may give other digits. Python, pyarrow and pydantic only carry them."""


def _other_libraries(was: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """Sentences about different versions of the libraries that compute on two machines."""
    before, after = was.get("versions", {}), now["versions"]
    return [
        f"library {name}: {before[name]} there, {after[name]} now (`pip install {name}=={before[name]}` brings it back)"
        for name in COMPUTING
        if before.get(name) and before[name] != after[name]
    ]


def _reason(error: Exception) -> str:
    """Why a folder cannot be written to, and what to do."""
    is_full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free some space on that disk, or choose another --out" if is_full else "choose another --out"
    return f"{(error.strerror if isinstance(error, OSError) else None) or error}; {remedy}"


def load_run(folder: Path) -> RunFile:
    """``run.json`` of a run folder."""
    path = folder / RUN_FILE
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such run folder")
    if not path.is_file():
        raise BadInput(f"{folder}: not a run folder, it has no {RUN_FILE}; `sidestep run … --out {folder}` makes one")
    try:
        document = parse_json(read_text(path, "run description"), f"{path}: not a run description", finite=False)
        version = document["format"]
        if version > RUN_FORMAT:
            raise BadInput(
                f"{path}: written by a newer Sidestep (format {version}); upgrade with: pip install --upgrade sidestep"
            )
        plan = Plan.parse(document["plan"], str(path))
        return RunFile(
            plan=plan.model_copy(update={"base": _resolve_base(document["base"], folder)}),
            package_version=document["package_version"],
            commit=document["commit"],
            machine=document["machine"],
            resumed_on=tuple(document.get("resumed_on", ())),
            complete=document["complete"],
            skipped=tuple(Skipped(**entry) for entry in document["skipped"]),
            has_ledger=document.get("ledger") is True,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise BadInput(f"{path}: not a run description ({type(error).__name__}: {error})") from error


def episode_path(folder: Path, policy: str, scenario: str, seed: int) -> Path:
    """The path of a record: ``episodes/<policy>/<scenario>__seed<k>.parquet``."""
    return folder / EPISODES / safe_name(policy) / f"{safe_name(scenario)}__seed{seed}.parquet"


def foreign_files(folder: Path, records: Collection[Path]) -> list[str]:
    """A line for each file among the episodes that is neither one of ``records`` nor the output of its policy."""
    found = [path for path in sorted((folder / EPISODES).rglob("*")) if path.is_file() and path not in records]
    return [
        f"{path}: does not belong to this run and is left alone"
        for path in found
        if path.suffix != ".log" or path.with_suffix(".parquet") not in records
    ]


def new_folder(suite: str) -> Path:
    """runs/<suite>-<date>-<n> below the working directory, the first n that is free."""
    stem, number = f"{safe_name(suite)}-{date.today().isoformat()}", 1
    while (Path("runs") / f"{stem}-{number}").exists():
        number += 1
    return Path("runs") / f"{stem}-{number}"


def safe_name(name: str) -> str:
    """A file name for any name: itself where that is safe and short, else cleaned, with a hash that keeps it
    unique."""
    clean = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip(".-")[:80]
    if clean == name:
        return name
    return f"{clean or 'x'}-{hashlib.sha256(name.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def _portable_base(base: Path | None, folder: Path) -> str | None:
    """``base`` as seen from the run folder, so that the two can move together and no machine's path is kept;
    inside this package (a bundled suite) as seen from there."""
    if base is None:
        return None
    base = base.resolve()
    if base.is_relative_to(PACKAGE):
        return IN_PACKAGE + base.relative_to(PACKAGE).as_posix()
    try:
        return Path(os.path.relpath(base, folder.resolve())).as_posix()
    except ValueError:  # on another drive, where nothing relative leads
        return str(base)


def _resolve_base(base: str | None, folder: Path) -> Path | None:
    if base is None:
        return None
    if base.startswith(IN_PACKAGE):
        return PACKAGE / base.removeprefix(IN_PACKAGE)
    return Path(os.path.normpath(folder / base))


EPISODE_COLUMNS: dict[str, pa.DataType] = {
    **dict.fromkeys(("suite", "scenario", "policy"), pa.string()),
    "seed": pa.int64(),
    **dict.fromkeys(("outcome", "digest"), pa.string()),
    "privileged": pa.bool_(),
    **dict.fromkeys(("observes", "source", "cluster", "event", "sandbox", "error", "traceback"), pa.string()),
}
"""Columns that are fields of ``EpisodeScores``."""
SCHEMA = pa.schema(
    {
        "run": pa.string(),
        **EPISODE_COLUMNS,
        "metric": pa.string(),
        "value": pa.float64(),
        "valid": pa.bool_(),
        "reason": pa.string(),
        "unit": pa.string(),
    }
)
"""``run`` is the name of the run folder when the table was written, to tell apart the rows of several tables."""
LATER_COLUMNS = {
    "run": "", "privileged": False, "observes": "", "source": "generated", "cluster": "", "event": "", "sandbox": "",
    "error": "", "traceback": "",
}  # fmt: skip
"""Columns that tables of older versions lack, and what stands for them."""
OUTCOMES = frozenset(each.value for each in Outcome)
EPISODES_AT_ONCE = 200
"""Number of episodes that are rows of Python objects together: these take a hundred times the space of the file."""
ROWS_AT_ONCE = 1 << 14


class PackedMetrics(Mapping[str, MetricResult]):
    """An episode's results as an array: a tenth of the memory of a dictionary, so that runs of many thousand episodes
    keep theirs. Names, units and reasons are shared by all episodes that have the same."""

    __slots__ = ("_index", "_kinds", "_values")

    def __init__(self, metrics: Mapping[str, MetricResult]) -> None:
        self._index = _index_of(tuple(metrics))
        self._values: FloatArray = np.array([result.value for result in metrics.values()], dtype=np.float64)
        self._kinds = _shared(tuple(_kind(each.unit, each.valid, each.reason) for each in metrics.values()))

    @classmethod
    def of(cls, metrics: Mapping[str, MetricResult]) -> PackedMetrics:
        """The same results; themselves if they are packed already."""
        return metrics if isinstance(metrics, cls) else cls(metrics)

    def __getitem__(self, name: str) -> MetricResult:
        index = self._index[name]
        unit, valid, reason = self._kinds[index]
        return MetricResult(float(self._values[index]), unit) if valid else MetricResult.invalid(unit, reason)

    def __iter__(self) -> Iterator[str]:
        return iter(self._index)

    def __len__(self) -> int:
        return len(self._index)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        return _unpickle_metrics, (tuple(self._index), self._values, self._kinds)


ResultKind = tuple[str, bool, str]
"""Unit, whether there is a value, and why not."""


def _unpickle_metrics(names: tuple[str, ...], values: Any, kinds: tuple[ResultKind, ...]) -> PackedMetrics:
    packed = PackedMetrics.__new__(PackedMetrics)
    packed._index, packed._values, packed._kinds = _index_of(names), values, _shared(kinds)
    return packed


@lru_cache(maxsize=64)
def _index_of(names: tuple[str, ...]) -> dict[str, int]:
    return {name: index for index, name in enumerate(names)}


@lru_cache(maxsize=4096)
def _kind(unit: str, valid: bool, reason: str) -> ResultKind:
    return unit, valid, reason


@lru_cache(maxsize=4096)
def _shared(kinds: tuple[ResultKind, ...]) -> tuple[ResultKind, ...]:
    return kinds


def pack(scores: EpisodeScores) -> EpisodeScores:
    """The same scores in little memory."""
    if isinstance(scores.metrics, PackedMetrics):
        return scores
    return replace(
        scores,
        metrics=PackedMetrics(scores.metrics),
        traceback=intern(scores.traceback),
        observes=intern(scores.observes),
    )


def save_results(episodes: Iterable[EpisodeScores], path: Path, dialect: str) -> None:
    """Write the table; a value that is not valid is null. The metadata names the dialect."""
    schema = SCHEMA.with_metadata({"sidestep.dialect": dialect})
    run = path.resolve().parent.name
    with whole_file(path) as temporary, pq.ParquetWriter(temporary, schema, compression="zstd") as writer:
        waiting = iter(episodes)
        while some := list(islice(waiting, EPISODES_AT_ONCE)):
            writer.write_table(_table(some, run, schema))


def _table(episodes: list[EpisodeScores], run: str, schema: pa.Schema) -> pa.Table:
    """Their rows, by columns: ten times as fast as row by row."""
    metrics = [PackedMetrics.of(each.metrics) for each in episodes]
    rows = pa.array(np.repeat(np.arange(len(episodes)), [len(each) for each in metrics]))
    columns: dict[str, Any] = {
        name: pa.array([getattr(each, name) for each in episodes], kind).take(rows)
        for name, kind in EPISODE_COLUMNS.items()
    }
    units, valid, reasons = zip(*(kind for each in metrics for kind in each._kinds), strict=True)
    values = np.concatenate([each._values for each in metrics])
    columns |= {
        "run": pa.array([run]).take(pa.array(np.zeros(len(rows), np.int64))),
        "metric": pa.array([name for each in metrics for name in each]),
        "value": pa.array(values, mask=~np.array(valid)),
        "valid": pa.array(valid),
        "reason": pa.array(reasons),
        "unit": pa.array(units),
    }
    return pa.table([columns[name] for name in schema.names], schema=schema)


def load_results(path: Path) -> tuple[list[EpisodeScores], str]:
    """The episodes of a table in its order, and its dialect."""
    with open_results(path) as table:
        return list(_read_episodes(table)), table.dialect("paper")


def open_results(path: Path) -> ResultsFile:
    """A table of results, its size and its columns checked."""
    if not is_file(path):
        raise BadInput(f"{path}: no results yet; `sidestep run` or `sidestep score {path.parent}` writes them")
    return ResultsFile(path, SCHEMA, LATER_COLUMNS)


def _read_episodes(table: ResultsFile) -> Iterator[EpisodeScores]:
    """The rows of one episode follow each other."""
    key: tuple[str, ...] = ()
    episode: EpisodeScores | None = None
    metrics: dict[str, MetricResult] = {}
    count = 0
    for columns in table.batches(ROWS_AT_ONCE):
        keys = zip(columns["policy"], columns["scenario"], columns["seed"], strict=True)
        results = zip(*(columns[name] for name in ("metric", "value", "valid", "reason", "unit")), strict=True)
        for row, (its, result) in enumerate(zip(keys, results, strict=True)):
            if its != key:
                if episode is not None:
                    yield replace(episode, metrics=PackedMetrics(metrics))
                count += 1
                if count > table.most_episodes:
                    raise BadInput(f"{table.path}: more than {count - 1:,} episodes, too many for the size of the file")
                key, episode, metrics = its, _episode_in(columns, row, table.path), {}
            metrics[result[0]] = _metric_in(result, table.path)
    if episode is not None:
        yield replace(episode, metrics=PackedMetrics(metrics))


def _episode_in(columns: Mapping[str, list[Any]], row: int, path: Path) -> EpisodeScores:
    fields: dict[str, Any] = {
        name: columns[name][row] if name in columns else LATER_COLUMNS[name] for name in EPISODE_COLUMNS
    }
    if fields["outcome"] not in OUTCOMES:
        raise BadInput(
            f"{path}: {fields['outcome'][:80]!r} is no outcome; `sidestep score {path.parent}` writes it again"
        )
    return EpisodeScores(**fields, metrics={})


def _metric_in(result: tuple[str, float | None, bool, str, str], path: Path) -> MetricResult:
    name, value, valid, reason, unit = result
    if (valid and (value is None or not isfinite(value))) or (not valid and not reason):
        raise BadInput(
            f"{path}: {name[:80]!r} has neither a value nor a reason; `sidestep score {path.parent}` writes it again"
        )
    return MetricResult(float(value or 0.0), unit) if valid else MetricResult.invalid(unit, reason)
