"""The JSON document of ``sidestep run`` and ``sidestep score``. Its shape is a contract: other programs parse
it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sidestep.benchmark.episode import EpisodeScores
from sidestep.benchmark.runner import RunResult
from sidestep.benchmark.score import ScoredRun
from sidestep.metrics.aggregate import EpisodeScores as MetricScores
from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.outcome import STOP_TASK
from sidestep.metrics.score import directions
from sidestep.types.outcome import Outcome

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
    table = aggregate(metric_scores(episodes), directions=directions()).as_dict()
    policies = {}
    for policy, entry in table.items():
        metrics = {}
        for metric, figures in entry["metrics"].items():
            keys = METRIC_KEYS if figures["count"] is None else (*METRIC_KEYS, *RATE_KEYS)
            metrics[metric] = {key: figures[key] for key in keys}
        policies[policy] = {
            "episodes": entry["episodes"],
            "outcomes": entry["outcomes"],
            "metrics": metrics,
            "privileged": entry["privileged"],
            "events": entry["events"],
        }
    return policies


def metric_scores(episodes: Iterable[EpisodeScores]) -> list[MetricScores]:
    """Episodes as the metrics aggregate them."""
    return [
        MetricScores(
            each.policy, each.scenario, each.seed, Outcome(each.outcome), each.metrics, each.cluster, each.privileged,
            each.event,
        )
        for each in episodes
    ]  # fmt: skip


def success_means(episodes: Iterable[EpisodeScores]) -> str:
    """What success is in these episodes: ``goal``, ``stop`` or ``goal or stop``; empty where nothing says so."""
    told = [each.metrics["spl"].reason == STOP_TASK for each in episodes if "spl" in each.metrics]
    return " or ".join(word for word, stops in (("goal", False), ("stop", True)) if stops in told)


def summarise_run(result: RunResult) -> dict[str, Any]:
    """The summary of a run that has just ended. A policy all of whose episodes were skipped is there with
    none."""
    sources = {scenario.source for scenario in result.plan.scenarios}
    source = sources.pop() if len(sources) == 1 else "mixed"
    document = summarise(ScoredRun(result.folder, result.plan.suite, source, result.dialect, result.episodes))
    nothing = {
        "episodes": 0,
        "outcomes": {outcome.value: 0 for outcome in Outcome},
        "metrics": {},
        "privileged": False,
        "events": None,
    }
    document["policies"] = {
        policy.name: document["policies"].get(policy.name, nothing) for policy in result.plan.policies
    }
    return document
