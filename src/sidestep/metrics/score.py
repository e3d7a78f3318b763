"""Score a record: any metrics, in any dialect, without simulating. ``EpisodeScores`` is an episode's line in the
results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import floor

from sidestep import registry
from sidestep.errors import UnknownName
from sidestep.interfaces import Direction, Metric
from sidestep.metrics.observed import observed_in
from sidestep.metrics.sources import DEFAULT_DIALECT, DIALECTS
from sidestep.metrics.staged_events import event_state
from sidestep.metrics.unknown import why_unknown
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult
from sidestep.types.scenario import ReplayPlacement, Scenario, SyntheticPlacement

HEADLINES: tuple[str, ...] = (
    "success", "collisions", "spl", "route_completion", "time_to_goal", "path_length_ratio",
    "closest_pedestrian_distance", "time_within_1_2m", "jerk_avg", "planning_time_avg",
)  # fmt: skip
"""The ten metrics that tables and comparisons show by default."""
MINUTE_S = 60.0
"""Windows of a recording that begin within the same minute share people."""


@dataclass(frozen=True)
class EpisodeScores:
    """One episode's line in the results: how it ended and the value of every metric."""

    suite: str
    scenario: str
    policy: str
    seed: int
    outcome: str
    digest: str
    metrics: Mapping[str, MetricResult]
    error: str = ""
    privileged: bool = False
    """Whether the policy sees what others do not; it is then never ranked with them."""
    observes: str = ""
    """What the policy was given (``sidestep.metrics.observed``); empty if unknown."""
    source: str = "generated"
    """Whether the people were recorded, generated or mixed."""
    cluster: str = ""
    """Episodes with the same non-empty cluster share a crowd window or a town and are not independent."""
    event: str = ""
    """``happened`` or ``missed`` where the scenario stages an event, else empty."""
    sandbox: str = ""
    """``held``, or which walls of the sandbox did not hold; empty for a policy that was no guest."""
    traceback: str = ""
    """The innermost calls of a policy that raised an exception."""


def score_episode(
    record: EpisodeRecord, dialect: str = DEFAULT_DIALECT, metrics: Iterable[str] | None = None
) -> EpisodeScores:
    """The record's line in the results."""
    return EpisodeScores(
        suite=record.scenario.suite,
        scenario=record.scenario.name,
        policy=record.policy.name,
        seed=record.seed,
        outcome=record.outcome.value,
        digest=record.digest,
        metrics=score(record, metrics, dialect),
        error=record.error,
        traceback=record.traceback,
        privileged=record.policy.privileged,
        observes=observed_in(record),
        source=record.source,
        cluster=cluster_of(record.scenario),
        event=event_state(record),
        sandbox=record.policy.sandbox_state,
    )


def cluster_of(scenario: Scenario) -> str:
    """Name of the cluster of episodes that are not independent: their town or place; the minute of the recording in
    which their window begins, or the window whose statistics their people are drawn from; else the scenario itself,
    under several seeds."""
    scene = scenario.scene if isinstance(scenario.scene, str) else ""
    if scene.startswith(("town:", "place:")):
        return scene.partition("/")[0].partition("@")[0]
    windows = []
    for part in scenario.crowd:
        if isinstance(placement := part.placement, ReplayPlacement):
            windows.append(f"{placement.dataset or placement.path}@{floor(placement.start_s / MINUTE_S)}min")
        elif isinstance(placement, SyntheticPlacement):
            windows.append(f"synthetic:{placement.statistics}")
    return " & ".join(windows) or f"scenario:{scenario.name}"


def by_policy(episodes: Iterable[EpisodeScores]) -> dict[str, list[EpisodeScores]]:
    """The episodes of every policy, in the order in which they first occur."""
    found: dict[str, list[EpisodeScores]] = {}
    for episode in episodes:
        found.setdefault(episode.policy, []).append(episode)
    return found


def common_source(sources: Iterable[str]) -> str:
    """Where the people of many episodes come from; ``mixed`` if the episodes differ."""
    different = set(sources)
    return different.pop() if len(different) == 1 else "mixed"


def load_metrics(names: Iterable[str] | None = None) -> list[Metric]:
    """The metrics called ``names`` in that order, or all. An unknown name raises an error that suggests the nearest."""
    return [registry.load("metrics", name) for name in (registry.names("metrics") if names is None else names)]


def directions() -> dict[str, Direction]:
    """Metric → whether higher or lower is better."""
    return {metric.name: metric.direction for metric in load_metrics()}


def score(
    record: EpisodeRecord, metrics: Iterable[str] | None = None, dialect: str = DEFAULT_DIALECT
) -> dict[str, MetricResult]:
    """The record's metrics by name. Metrics that ``dialect`` does not redefine keep their default definition.

    An error inside a metric is raised, not turned into a missing value. Metrics that need information which is missing
    from a log have no value (``sidestep.metrics.unknown``).
    """
    chosen = load_metrics(metrics)
    known = set(DIALECTS).union(*(metric.dialects for metric in chosen))
    if dialect not in known:
        raise UnknownName("dialect", dialect, known)
    missing = {metric.name: why_unknown(record, metric.name) for metric in chosen}
    return {
        metric.name: MetricResult.invalid(metric.unit, reason)
        if (reason := missing[metric.name])
        else metric(record, dialect)
        for metric in chosen
    }
