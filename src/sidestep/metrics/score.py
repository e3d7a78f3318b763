"""Score a record: any metrics, in any dialect, without simulating."""

from __future__ import annotations

from collections.abc import Iterable

from sidestep import registry
from sidestep.errors import UnknownName
from sidestep.interfaces import Direction, Metric
from sidestep.metrics.sources import DEFAULT_DIALECT, DIALECTS
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

HEADLINES: tuple[str, ...] = (
    "success",
    "collisions",
    "spl",
    "route_completion",
    "time_to_goal",
    "path_length_ratio",
    "closest_pedestrian_distance",
    "time_within_1_2m",
    "jerk_avg",
    "planning_time_avg",
)
"""The ten metrics that tables and comparisons show unless told otherwise."""


def load_metrics(names: Iterable[str] | None = None) -> list[Metric]:
    """The metrics called ``names`` in that order, or all of them; an unknown name is an error with the
    nearest known."""
    return [registry.load("metrics", name) for name in (registry.names("metrics") if names is None else names)]


def directions() -> dict[str, Direction]:
    """Metric → whether higher or lower is better."""
    return {metric.name: metric.direction for metric in load_metrics()}


def score(
    record: EpisodeRecord, metrics: Iterable[str] | None = None, dialect: str = DEFAULT_DIALECT
) -> dict[str, MetricResult]:
    """The record's metrics by name. Metrics that ``dialect`` does not redefine keep their default definition.

    An error inside a metric is raised, not turned into a missing value.
    """
    chosen = load_metrics(metrics)
    known = set(DIALECTS).union(*(metric.dialects for metric in chosen))
    if dialect not in known:
        raise UnknownName("dialect", dialect, known)
    return {metric.name: metric(record, dialect) for metric in chosen}
