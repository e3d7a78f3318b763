"""A run that is read: its description, its scores in every dialect and its records, each file at most once.

Everything that looks at a finished run takes a ``FinishedRun``: the summary, comparisons, the report, the board and
``sidestep.Run``. Nothing is simulated. Whether an episode of a run is done is decided in ``runs.episode``.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import product
from pathlib import Path

import numpy as np

from sidestep import registry
from sidestep.errors import BadInput, RecordError
from sidestep.metrics.observed import observed_in
from sidestep.metrics.score import EpisodeScores, cluster_of, common_source, score, score_episode
from sidestep.metrics.sources import DEFAULT_DIALECT
from sidestep.records import load_record
from sidestep.records.counterfactuals import counterfactual_path
from sidestep.records.format import PRIVILEGED_IN_1
from sidestep.runs.folder import (
    EPISODES,
    RESULTS_FILE,
    RUN_FILE,
    RunFile,
    episode_path,
    load_results,
    load_run,
    pack,
    save_results,
)
from sidestep.runs.ledger import Ledger
from sidestep.runs.plan import Plan
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult
from sidestep.types.scenario import Scenario

Key = tuple[str, str, int]
"""Policy, scenario and seed."""
MOST_BYTES = 1 << 29
"""Size of the records that a run keeps in memory. Records of a larger run that are needed again are read again."""


@dataclass(frozen=True)
class ScoredRun:
    """The scores of a run in one dialect, read or computed."""

    folder: Path
    suite: str
    source: str
    dialect: str
    episodes: tuple[EpisodeScores, ...]
    unreadable: tuple[str, ...] = ()
    """Messages about records that could not be read."""


class FinishedRun:
    """A run folder, a plain folder of records, or one record, as it is when it is first read.

    ``shown`` names the run in documents; the default is ``folder``, where the run is. They differ for an unpacked pack.
    """

    def __init__(self, folder: Path, shown: Path | None = None, table: ScoredRun | None = None) -> None:
        self.folder = folder
        self.shown = folder if shown is None else shown
        if table is not None:
            self.table = table
        self._records = _Records()
        self._paths: dict[str, Path] = {}
        self._tables: dict[str, ScoredRun] = {}
        self._saved: dict[str, dict[Key, EpisodeScores]] = {}

    @cached_property
    def file(self) -> RunFile | None:
        """The contents of ``run.json``; None for records without a run folder."""
        return load_run(self.folder) if (self.folder / RUN_FILE).is_file() else None

    @property
    def description(self) -> RunFile:
        """The contents of ``run.json``; BadInput if this is not a run folder."""
        return self.file or load_run(self.folder)

    @property
    def plan(self) -> Plan:
        """Scenarios, policies and seeds; BadInput if this is not a run folder."""
        return self.description.plan

    @cached_property
    def scenarios(self) -> dict[str, Scenario]:
        """Scenarios of the plan by name."""
        return {} if self.file is None else {scenario.name: scenario for scenario in self.file.plan.scenarios}

    @cached_property
    def rows(self) -> tuple[list[EpisodeScores], str]:
        """Episodes and dialect of ``results.parquet``, as they are in the file."""
        return load_results(self.folder / RESULTS_FILE)

    @cached_property
    def table(self) -> ScoredRun:
        """The scores that the run saved; computed if it has saved none."""
        if self.file is None or not (self.folder / RESULTS_FILE).is_file():
            return self.score()
        episodes, dialect = self.rows
        if not episodes:
            raise BadInput(f"{self.folder}: the run has no episodes")
        self._check_table(episodes)
        episodes = [
            each if each.cluster else _with_missing_columns(each, self.scenarios.get(each.scenario))
            for each in episodes
        ]
        source = common_source(scenario.source for scenario in self.plan.scenarios)
        return ScoredRun(self.folder, self.plan.suite, source, dialect, tuple(self._with_observed(episodes)))

    @property
    def suite(self) -> str:
        """Name of the suite; of several, joined by ``+``."""
        return self.table.suite

    @property
    def source(self) -> str:
        """Whether the people were recorded, generated or mixed."""
        return self.table.source

    @property
    def dialect(self) -> str:
        """The dialect of ``episodes``."""
        return self.table.dialect

    @property
    def episodes(self) -> tuple[EpisodeScores, ...]:
        """Scores of every episode, policy by policy."""
        return self.table.episodes

    def scores(self, dialect: str) -> ScoredRun:
        """The scores in a dialect: those that were saved, if they are of these records and have all metrics; otherwise
        computed and saved."""
        if dialect == self.table.dialect:
            return self.table
        if dialect not in self._tables:
            found = [(each, self._saved_row(each, dialect)) for each in self.episodes]
            rows = [replace(each, metrics=row.metrics) for each, row in found if row is not None]
            every = frozenset(registry.names("metrics"))
            if len(rows) == len(found) and all(every <= set(row.metrics) for row in rows):
                self._tables[dialect] = replace(self.table, dialect=dialect, episodes=tuple(rows))
            else:
                self.score(dialect, save=dialect != DEFAULT_DIALECT)  # results.parquet keeps its dialect
        return self._tables[dialect]

    def score(
        self, dialect: str = DEFAULT_DIALECT, metrics: Sequence[str] | None = None, save: bool = True
    ) -> ScoredRun:
        """Score every record again, in the order of the plan.

        If no metrics are named, all are computed, and with ``save`` those of a run folder are written beside the
        records: ``results.parquet``, or ``results.<dialect>.parquet`` for another dialect.
        """
        episodes: list[EpisodeScores] = []
        unreadable: list[str] = []
        places = self._places
        for path in record_paths(self.folder):
            try:
                record = self.with_counterfactual(self.load(path), path)
            except RecordError as error:
                unreadable.append(str(error))
                continue
            if why := self._not_scored(path, record.digest):
                unreadable.append(f"{path}: {why} and is not counted")
                continue
            if places is not None and places.get(path) != (record.policy.name, record.scenario.name, record.seed):
                unreadable.append(f"{path}: is not the episode of this run that belongs there and is not counted")
                continue
            episodes.append(pack(score_episode(record, dialect, metrics or None)))
            self._paths.setdefault(episodes[-1].digest, path)
        if not episodes:
            raise RecordError(unreadable[0])
        episodes = self._in_plan_order(episodes)
        source = common_source(episode.source for episode in episodes)
        suites = "+".join(dict.fromkeys(episode.suite for episode in episodes))
        scored = ScoredRun(self.folder, suites, source, dialect, tuple(episodes), tuple(unreadable))
        if metrics is None:
            self._tables[dialect] = scored
            if self.file is not None and save:
                save_results(episodes, results_path(self.folder, dialect), dialect)
        return scored

    def path_of(self, episode: EpisodeScores) -> Path | None:
        """The file of an episode's record; None if it is not known."""
        if self.file is None:
            return self._paths.get(episode.digest)
        return episode_path(self.folder, episode.policy, episode.scenario, episode.seed)

    def load(self, path: Path) -> EpisodeRecord:
        """The record in a file of this run; RecordError if it cannot be read."""
        return self._records.load(path)

    def record(self, episode: EpisodeScores, counterfactual: bool = False) -> EpisodeRecord | None:
        """The record of an episode, on request with its counterfactual; None if it cannot be read or is not the record
        that was scored."""
        path = self.path_of(episode)
        try:
            record = None if path is None else self.load(path)
        except RecordError:
            return None
        if path is None or record is None or record.digest != episode.digest:
            return None
        return self.with_counterfactual(record, path) if counterfactual else record

    def metrics_of(
        self, episode: EpisodeScores, names: Collection[str], dialect: str
    ) -> Mapping[str, MetricResult] | None:
        """Metrics of an episode in a dialect: from a table that has them, otherwise from its record; None if that
        cannot be read."""
        stated = episode if dialect == self.dialect else self._saved_row(episode, dialect)
        if stated is not None and set(names) <= set(stated.metrics):
            return stated.metrics
        record = self.record(episode)
        return None if record is None else score(record, names, dialect)

    def _saved_row(self, episode: EpisodeScores, dialect: str) -> EpisodeScores | None:
        """The row of an episode in the table of a dialect, if that is there and of the same record."""
        if dialect not in self._saved:
            path = results_path(self.folder, dialect)
            try:
                rows, its_dialect = load_results(path) if path.is_file() else ([], dialect)
            except BadInput:
                rows, its_dialect = [], dialect
            self._saved[dialect] = {_key_of(row): row for row in rows} if its_dialect == dialect else {}
        row = self._saved[dialect].get(_key_of(episode))
        return row if row is not None and row.digest == episode.digest else None

    def with_counterfactual(self, record: EpisodeRecord, path: Path) -> EpisodeRecord:
        """The record in ``path`` with the same episode without the robot, if that is there and can be read."""
        beside = counterfactual_path(path)
        try:
            return replace(record, counterfactual=self.load(beside)) if beside.is_file() else record
        except RecordError:
            return record

    @cached_property
    def ledger(self) -> Ledger | None:
        """The run's ledger; None if the run has none."""
        return Ledger.load(self.folder) if self.file is not None and self.file.has_ledger else None

    def _not_scored(self, path: Path, digest: str) -> str:
        """Why a record is not the one that the run has scored; empty if it is, or if there is no ledger."""
        return "" if self.ledger is None else self.ledger.differs(path, digest)

    @cached_property
    def _places(self) -> dict[Path, Key] | None:
        """The episode that belongs into each file of a run folder; None for a plain folder of records."""
        if self.file is None:
            return None
        plan = self.file.plan
        episodes = product(plan.policies, plan.scenarios, plan.seeds)
        keys = [(policy.name, scenario.name, seed) for policy, scenario, seed in episodes]
        return {episode_path(self.folder, *key): key for key in keys}

    def _check_table(self, episodes: Iterable[EpisodeScores]) -> None:
        """BadInput if the table and the records beside it are not of the same episodes."""
        for each in episodes:
            if why := self._not_scored(episode_path(self.folder, *_key_of(each)), each.digest):
                raise BadInput(
                    f"{self.folder / RESULTS_FILE}: the row of {each.policy}, {each.scenario}, seed {each.seed} "
                    f"{why}; `sidestep score {self.folder}` writes the table again, without changed records"
                )
        records = {path for path in (self.folder / EPISODES).rglob("*.parquet") if not path.name.startswith(".")}
        rows = {episode_path(self.folder, *_key_of(each)) for each in episodes}
        expected = records & (self._places or {}).keys()
        lost, new = sorted(rows - records), sorted(expected - rows)
        if records and (lost or new):
            counts = [f"{len(lost)} of its episodes have no record"] * bool(lost)
            counts += [f"{len(new)} records are not in it"] * bool(new)
            raise BadInput(
                f"{self.folder / RESULTS_FILE}: {' and '.join(counts)}, such as {(lost or new)[0].name}; "
                f"`sidestep score {self.folder}` writes the table again"
            )

    def _with_observed(self, episodes: list[EpisodeScores]) -> list[EpisodeScores]:
        """The episodes of an older table, which did not say what a policy observed: a record of each policy does."""
        found: dict[str, str] = {}
        for each in episodes:
            if not each.observes and each.policy not in found:
                path = episode_path(self.folder, *_key_of(each))
                try:
                    found[each.policy] = observed_in(self.load(path)) if path.is_file() else ""
                except RecordError:
                    found[each.policy] = ""
        return [each if each.observes else replace(each, observes=found[each.policy]) for each in episodes]

    def _in_plan_order(self, episodes: list[EpisodeScores]) -> list[EpisodeScores]:
        if self.file is None:
            return episodes
        policies = {policy.name: index for index, policy in enumerate(self.file.plan.policies)}
        scenarios = {name: index for index, name in enumerate(self.scenarios)}

        def place(each: EpisodeScores) -> tuple[int, int, int]:
            policy, scenario = policies.get(each.policy, len(policies)), scenarios.get(each.scenario, len(scenarios))
            return policy, scenario, each.seed

        return sorted(episodes, key=place)


class _Records:
    """Records that were read, up to ``MOST_BYTES``; those used longest ago are dropped first. Files that cannot be read
    are not tried again."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Path, tuple[EpisodeRecord, int]] = OrderedDict()
        self._damaged: dict[Path, str] = {}
        self._bytes = 0

    def load(self, path: Path) -> EpisodeRecord:
        """The record in a file; RecordError if it cannot be read."""
        if path in self._damaged:
            raise RecordError(self._damaged[path])
        if path in self._kept:
            self._kept.move_to_end(path)
            return self._kept[path][0]
        try:
            record = load_record(path)
        except RecordError as error:
            self._damaged[path] = str(error)
            raise
        self._kept[path] = record, _bytes_of(record)
        self._bytes += self._kept[path][1]
        while self._bytes > MOST_BYTES and len(self._kept) > 1:
            _, (_, size) = self._kept.popitem(last=False)
            self._bytes -= size
        return record


def _bytes_of(record: EpisodeRecord) -> int:
    values = (getattr(record, each.name) for each in fields(record))
    return sum(value.nbytes for value in values if isinstance(value, np.ndarray))


def _key_of(episode: EpisodeScores) -> Key:
    return episode.policy, episode.scenario, episode.seed


def as_finished(run: FinishedRun | Path) -> FinishedRun:
    """The run itself, or the run in a folder."""
    return run if isinstance(run, FinishedRun) else FinishedRun(Path(run))


def record_paths(folder: Path) -> list[Path]:
    """Every record of a run folder, or of a plain folder of records, or the one record that ``folder`` is."""
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        raise BadInput(f"{folder}: no such run folder")
    inside = folder / EPISODES if (folder / EPISODES).is_dir() else folder
    paths = sorted(path for path in inside.rglob("*.parquet") if not path.name.startswith((".", "results")))
    if not paths:
        raise BadInput(f"{folder}: no episode records in it")
    return paths


def results_path(folder: Path, dialect: str) -> Path:
    """The table of a dialect in a run folder."""
    return folder / (RESULTS_FILE if dialect == DEFAULT_DIALECT else f"results.{dialect}.parquet")


def _with_missing_columns(episode: EpisodeScores, scenario: Scenario | None) -> EpisodeScores:
    """An episode of an older table, which had no columns for cluster, source and privilege."""
    if scenario is None:
        return episode
    privileged = episode.privileged or episode.policy in PRIVILEGED_IN_1
    return replace(episode, cluster=cluster_of(scenario), source=scenario.source, privileged=privileged)
