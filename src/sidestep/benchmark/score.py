"""Scores from saved records: nothing is simulated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from sidestep.benchmark.episode import EpisodeScores, score_episode
from sidestep.benchmark.folder import EPISODES, RESULTS_FILE, RUN_FILE, load_run
from sidestep.benchmark.results import load_results, pack, save_results
from sidestep.errors import BadInput, RecordError
from sidestep.metrics.aggregate import cluster_of
from sidestep.records import load_record
from sidestep.records.migrate import PRIVILEGED_IN_1
from sidestep.types.scenario import Scenario


@dataclass(frozen=True)
class ScoredRun:
    """A run's scores, read or computed."""

    folder: Path
    suite: str
    source: str
    dialect: str
    episodes: tuple[EpisodeScores, ...]
    unreadable: tuple[str, ...] = ()
    """Messages about records that could not be read."""


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


def score_run(folder: Path, dialect: str = "paper", metrics: Sequence[str] | None = None) -> ScoredRun:
    """Score every record anew, in the order of the plan. All metrics at once are also saved beside the
    records: ``results.parquet``, or ``results.<dialect>.parquet`` for another dialect."""
    episodes: list[EpisodeScores] = []
    unreadable: list[str] = []
    sources: set[str] = set()
    for path in record_paths(folder):
        try:
            record = load_record(path)
        except RecordError as error:
            unreadable.append(str(error))
            continue
        sources.add(record.source)
        episodes.append(pack(score_episode(record, dialect, list(metrics) if metrics else None)))
    if not episodes:
        raise RecordError(unreadable[0])
    episodes = _in_plan_order(folder, episodes)
    if metrics is None and folder.is_dir() and (folder / RUN_FILE).is_file():
        save_results(episodes, results_path(folder, dialect), dialect)
    source = sources.pop() if len(sources) == 1 else "mixed"
    suites = list(dict.fromkeys(episode.suite for episode in episodes))
    return ScoredRun(folder, "+".join(suites), source, dialect, tuple(episodes), tuple(unreadable))


def results_path(folder: Path, dialect: str) -> Path:
    """Where the table of a dialect lies."""
    return folder / (RESULTS_FILE if dialect == "paper" else f"results.{dialect}.parquet")


def read_run(folder: Path) -> ScoredRun:
    """The scores that a run saved; computed when it has saved none."""
    if not (folder / RUN_FILE).is_file() or not (folder / RESULTS_FILE).is_file():
        return score_run(folder)
    plan = load_run(folder).plan
    episodes, dialect = load_results(folder / RESULTS_FILE)
    if not episodes:
        raise BadInput(f"{folder}: the run has no episodes")
    known = {scenario.name: scenario for scenario in plan.scenarios}
    episodes = [each if each.cluster else _completed(each, known.get(each.scenario)) for each in episodes]
    sources = {scenario.source for scenario in plan.scenarios}
    return ScoredRun(folder, plan.suite, sources.pop() if len(sources) == 1 else "mixed", dialect, tuple(episodes))


def _completed(episode: EpisodeScores, scenario: Scenario | None) -> EpisodeScores:
    """An episode of an older table, which did not hold these three."""
    if scenario is None:
        return episode
    privileged = episode.privileged or episode.policy in PRIVILEGED_IN_1
    return replace(episode, cluster=cluster_of(scenario), source=scenario.source, privileged=privileged)


def _in_plan_order(folder: Path, episodes: list[EpisodeScores]) -> list[EpisodeScores]:
    if not (folder / RUN_FILE).is_file():
        return episodes
    plan = load_run(folder).plan
    policies = {policy.name: place for place, policy in enumerate(plan.policies)}
    scenarios = {scenario.name: place for place, scenario in enumerate(plan.scenarios)}
    return sorted(
        episodes,
        key=lambda each: (
            policies.get(each.policy, len(policies)),
            scenarios.get(each.scenario, len(scenarios)),
            each.seed,
        ),
    )
