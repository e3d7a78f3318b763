"""Scores of a run, computed again from its records, and their summary: the JSON document of ``sidestep run`` and
``sidestep score``. Nothing is simulated. The shape of the document is a contract: other programs parse it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.observed import observes_json
from sidestep.metrics.outcome import EXIT_TASK, STOP_TASK
from sidestep.metrics.score import EpisodeScores, common_source, directions
from sidestep.metrics.sources import DEFAULT_DIALECT
from sidestep.runs.finished import FinishedRun, ScoredRun, as_finished
from sidestep.runs.runner import RunResult
from sidestep.types.outcome import Outcome


def score_run(
    run: FinishedRun | Path, dialect: str = DEFAULT_DIALECT, metrics: Sequence[str] | None = None
) -> ScoredRun:
    """Score every record of a run again (``FinishedRun.score``)."""
    return as_finished(run).score(dialect, metrics)


METRIC_KEYS = ("n", "mean", "sd", "low", "high", "unit", "direction")
RATE_KEYS = ("bound", "count", "metres")


def summary_document(run: ScoredRun) -> dict[str, Any]:
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
            "sandbox": found.sandbox,
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
    document = summary_document(ScoredRun(result.folder, result.plan.suite, source, result.dialect, result.episodes))
    nothing = {
        "episodes": 0,
        "outcomes": {outcome.value: 0 for outcome in Outcome},
        "metrics": {},
        "privileged": False,
        **observes_json(None),
        "events": None,
        "sandbox": "",
    }
    document["policies"] = {
        policy.name: document["policies"].get(policy.name, nothing) for policy in result.plan.policies
    }
    return document
