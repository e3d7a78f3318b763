"""Scores of a run, read from its table or computed again from the saved records, and their summary: the JSON
document of ``sidestep run`` and ``sidestep score``. Nothing is simulated. The shape of the document is a
contract: other programs parse it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from sidestep.errors import BadInput, RecordError
from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.observed import observed_in, observes_json
from sidestep.metrics.outcome import EXIT_TASK, STOP_TASK
from sidestep.metrics.score import EpisodeScores, cluster_of, common_source, directions, score_episode
from sidestep.records import load_record
from sidestep.records.counterfactuals import with_counterfactual
from sidestep.records.format import PRIVILEGED_IN_1
from sidestep.runs.folder import (
    EPISODES,
    RESULTS_FILE,
    RUN_FILE,
    episode_path,
    load_results,
    load_run,
    pack,
    save_results,
)
from sidestep.runs.runner import RunResult
from sidestep.types.outcome import Outcome
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
    places = _places(folder)
    for path in record_paths(folder):
        try:
            record = with_counterfactual(load_record(path), path)
        except RecordError as error:
            unreadable.append(str(error))
            continue
        if places is not None and places.get(path) != (record.policy.name, record.scenario.name, record.seed):
            unreadable.append(f"{path}: is not the episode of this run that belongs there and is not counted")
            continue
        episodes.append(pack(score_episode(record, dialect, metrics or None)))
    if not episodes:
        raise RecordError(unreadable[0])
    episodes = _in_plan_order(folder, episodes)
    if metrics is None and folder.is_dir() and (folder / RUN_FILE).is_file():
        save_results(episodes, results_path(folder, dialect), dialect)
    source = common_source(episode.source for episode in episodes)
    suites = list(dict.fromkeys(episode.suite for episode in episodes))
    return ScoredRun(folder, "+".join(suites), source, dialect, tuple(episodes), tuple(unreadable))


def _places(folder: Path) -> dict[Path, tuple[str, str, int]] | None:
    """Which episode belongs into which file of a run folder; None for a plain folder of records."""
    if not (folder / RUN_FILE).is_file():
        return None
    plan = load_run(folder).plan
    episodes = product(plan.policies, plan.scenarios, plan.seeds)
    keys = [(policy.name, scenario.name, seed) for policy, scenario, seed in episodes]
    return {episode_path(folder, *key): key for key in keys}


def _check_table(folder: Path, episodes: Iterable[EpisodeScores]) -> None:
    """BadInput where the table and the records that lie beside it are not of the same episodes."""
    records = {path for path in (folder / EPISODES).rglob("*.parquet") if not path.name.startswith(".")}
    rows = {episode_path(folder, each.policy, each.scenario, each.seed) for each in episodes}
    expected = records & (_places(folder) or {}).keys()
    lost, new = sorted(rows - records), sorted(expected - rows)
    if records and (lost or new):
        counts = [f"{len(lost)} of its episodes have no record"] * bool(lost)
        counts += [f"{len(new)} records are not in it"] * bool(new)
        raise BadInput(
            f"{folder / RESULTS_FILE}: {' and '.join(counts)}, such as {(lost or new)[0].name}; "
            f"`sidestep score {folder}` writes the table anew"
        )


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
    _check_table(folder, episodes)
    known = {scenario.name: scenario for scenario in plan.scenarios}
    episodes = [each if each.cluster else _with_missing_columns(each, known.get(each.scenario)) for each in episodes]
    source = common_source(scenario.source for scenario in plan.scenarios)
    return ScoredRun(folder, plan.suite, source, dialect, tuple(_with_observed(folder, episodes)))


def _with_observed(folder: Path, episodes: list[EpisodeScores]) -> list[EpisodeScores]:
    """The episodes of an older table, which did not say what a policy observed: a record of each policy does."""
    found: dict[str, str] = {}
    for each in episodes:
        if not each.observes and each.policy not in found:
            path = episode_path(folder, each.policy, each.scenario, each.seed)
            try:
                found[each.policy] = observed_in(load_record(path)) if path.is_file() else ""
            except RecordError:
                found[each.policy] = ""
    return [each if each.observes else replace(each, observes=found[each.policy]) for each in episodes]


def _with_missing_columns(episode: EpisodeScores, scenario: Scenario | None) -> EpisodeScores:
    """An episode of an older table, which did not hold these three."""
    if scenario is None:
        return episode
    privileged = episode.privileged or episode.policy in PRIVILEGED_IN_1
    return replace(episode, cluster=cluster_of(scenario), source=scenario.source, privileged=privileged)


def _in_plan_order(folder: Path, episodes: list[EpisodeScores]) -> list[EpisodeScores]:
    if not (folder / RUN_FILE).is_file():
        return episodes
    plan = load_run(folder).plan
    policies = {policy.name: index for index, policy in enumerate(plan.policies)}
    scenarios = {scenario.name: index for index, scenario in enumerate(plan.scenarios)}
    return sorted(
        episodes,
        key=lambda each: (
            policies.get(each.policy, len(policies)),
            scenarios.get(each.scenario, len(scenarios)),
            each.seed,
        ),
    )


METRIC_KEYS = ("n", "mean", "sd", "low", "high", "unit", "direction")
RATE_KEYS = ("bound", "count", "metres")


def summarise(run: ScoredRun) -> dict[str, Any]:
    """``metrics`` are over valid episodes, ``episodes`` counts all; a figure that does not exist is null. Where a
    folder holds records of several suites, ``suites`` has the same of each: numbers of two suites do not belong
    together."""
    document = {
        "run": str(run.folder),
        "suite": run.suite,
        "source": run.source,
        "dialect": run.dialect,
        "policies": summarise_policies(run.episodes),
        "success": success_means(run.episodes),
    }
    suites = dict.fromkeys(each.suite for each in run.episodes)
    if len(suites) > 1:
        parts = {suite: [each for each in run.episodes if each.suite == suite] for suite in suites}
        document["suites"] = {
            suite: {"success": success_means(part), "policies": summarise_policies(part)}
            for suite, part in parts.items()
        }
    return document


def summarise_policies(episodes: Sequence[EpisodeScores]) -> dict[str, Any]:
    """Policy → its entry of the summary."""
    policies = {}
    for policy, found in aggregate(episodes, directions=directions()).policies.items():
        metrics = {}
        for metric, figures in found.metrics.items():
            keys = METRIC_KEYS if figures.count is None else (*METRIC_KEYS, *RATE_KEYS)
            metrics[metric] = {key: getattr(figures, key) for key in keys}
        policies[policy] = {
            "episodes": found.episodes,
            "outcomes": found.outcomes,
            "metrics": metrics,
            "privileged": found.privileged,
            **observes_json(found.observed),
            "events": found.events,
        }
    return policies


def success_means(episodes: Iterable[EpisodeScores]) -> str:
    """What success is in these episodes: ``goal``, ``stop``, ``exit`` or several of them, such as ``goal or stop``;
    empty where nothing says so."""
    tasks = {STOP_TASK: "stop", EXIT_TASK: "exit"}
    found = {tasks.get(each.metrics["spl"].reason, "goal") for each in episodes if "spl" in each.metrics}
    return " or ".join(word for word in ("goal", "stop", "exit") if word in found)


def summarise_run(result: RunResult) -> dict[str, Any]:
    """The summary of a run that has just ended. A policy all of whose episodes were skipped is there with
    none."""
    source = common_source(scenario.source for scenario in result.plan.scenarios)
    document = summarise(ScoredRun(result.folder, result.plan.suite, source, result.dialect, result.episodes))
    nothing = {
        "episodes": 0,
        "outcomes": {outcome.value: 0 for outcome in Outcome},
        "metrics": {},
        "privileged": False,
        **observes_json(None),
        "events": None,
    }
    document["policies"] = {
        policy.name: document["policies"].get(policy.name, nothing) for policy in result.plan.policies
    }
    return document
