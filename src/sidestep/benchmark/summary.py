"""The JSON document of ``sidestep run`` and ``sidestep score``. Its shape is a contract: other programs parse
it."""

from __future__ import annotations

from typing import Any

from sidestep.benchmark.runner import RunResult
from sidestep.benchmark.score import ScoredRun
from sidestep.metrics.aggregate import EpisodeScores as MetricScores
from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.score import directions
from sidestep.types.outcome import Outcome

METRIC_KEYS = ("n", "mean", "sd", "low", "high", "unit", "direction")


def summarise(run: ScoredRun) -> dict[str, Any]:
    """``metrics`` are over valid episodes, ``episodes`` counts all; a figure that does not exist is null."""
    rows = [
        MetricScores(each.policy, each.scenario, each.seed, Outcome(each.outcome), each.metrics)
        for each in run.episodes
    ]
    table = aggregate(rows, directions=directions()).as_dict()
    policies = {
        policy: {
            "episodes": entry["episodes"],
            "outcomes": entry["outcomes"],
            "metrics": {
                metric: {key: figures[key] for key in METRIC_KEYS} for metric, figures in entry["metrics"].items()
            },
        }
        for policy, entry in table.items()
    }
    return {
        "run": str(run.folder),
        "suite": run.suite,
        "source": run.source,
        "dialect": run.dialect,
        "policies": policies,
    }


def summarise_run(result: RunResult) -> dict[str, Any]:
    """The summary of a run that has just ended. A policy all of whose episodes were skipped is there with
    none."""
    sources = {scenario.source for scenario in result.plan.scenarios}
    source = sources.pop() if len(sources) == 1 else "mixed"
    document = summarise(ScoredRun(result.folder, result.plan.suite, source, result.dialect, result.episodes))
    nothing = {"episodes": 0, "outcomes": {outcome.value: 0 for outcome in Outcome}, "metrics": {}}
    document["policies"] = {
        policy.name: document["policies"].get(policy.name, nothing) for policy in result.plan.policies
    }
    return document
