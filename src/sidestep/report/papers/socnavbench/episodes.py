"""What the SocNavBench tables and plots need: the numbers that the paper prints, and the scores of our episodes in both
dialects with their series.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np

from sidestep._util.reading import read_mapping
from sidestep.metrics import socnavbench_code
from sidestep.metrics.observed import ObservationClass, classes_of, observed_in
from sidestep.metrics.score import common_source, score
from sidestep.metrics.series import (
    MAX_DISTANCE_M,
    MAX_TIME_TO_COLLISION_S,
    closest_pedestrian_distance,
    time_to_collision,
)
from sidestep.metrics.sources import DEFAULT_DIALECT
from sidestep.report.selection import LabelledEpisode
from sidestep.types.base import Finite, FloatArray, Model, NonNegative
from sidestep.types.record import EpisodeRecord
from sidestep.types.result import MetricResult

DATA = Path(__file__).parent / "data" / "socnavbench_published.yaml"

Spread = tuple[Finite, NonNegative | None]
"""Mean, and what the paper prints after ±; None where it prints nothing."""


class Algorithm(Model):
    """One algorithm's rows in Tables 2 to 4."""

    name: str
    success: int
    failures: dict[str, int]
    pedestrian_collisions: int
    spreads: dict[str, Spread]
    """Mean and spread by our name of the metric."""


class Published(Model):
    """The file as a whole. ``algorithms`` go by the names of our policies."""

    citation: str
    episodes: int
    completed_by_all: int
    notes: tuple[str, ...]
    algorithms: dict[str, Algorithm]


@cache
def published() -> Published:
    """The paper's numbers."""
    return Published.parse(read_mapping(DATA), str(DATA))


SUITE = "socnav"
DIALECTS = (DEFAULT_DIALECT, socnavbench_code.NAME)
ORACLE = "oracle"
FAILURES = ("timeout", "pedestrian_collision", "environment_collision", "policy_error")
METRICS = (
    "success", *FAILURES, "completed", "pedestrian_collisions", "planning_time_avg", "path_length",
    "path_length_ratio", "goal_traversal_ratio", "path_irregularity", "path_traversal_time", "speed_avg", "energy",
    "acceleration_avg", "jerk_avg",
)  # fmt: skip

Key = tuple[str, int]
"""Scenario and seed."""


@dataclass(frozen=True, eq=False)
class SocnavEpisode:
    """One episode of one policy. ``label`` is the policy's name in the report, ``policy`` its own."""

    label: str
    policy: str
    privileged: bool
    scenario: str
    seed: int
    source: str
    mode: str
    options: dict[str, Any]
    scores: Mapping[str, Mapping[str, MetricResult]]
    """Metrics by dialect and name."""
    closest_distance: FloatArray
    """Distance in every state with people, m, capped."""
    time_to_collision: FloatArray
    """Time to collision in every state with people, s, capped."""
    planning_time: FloatArray
    """Duration of every call of the policy, s."""
    observes: str = ""
    """What the policy was given; empty: not known."""

    @property
    def key(self) -> Key:
        """What pairs it with other policies' episodes."""
        return self.scenario, self.seed

    @property
    def completed(self) -> bool:
        """Whether the goal was reached, with or without collisions with people."""
        return self.scores[DEFAULT_DIALECT]["completed"].value == 1

    def value(self, metric: str, dialect: str = DEFAULT_DIALECT) -> float | None:
        """The metric's value, None where it has none."""
        result = self.scores[dialect][metric]
        return result.value if result.valid else None


@dataclass(frozen=True, eq=False)
class SocnavRun:
    """All episodes of the suite in a report. ``missing`` counts records that could not be read."""

    episodes: tuple[SocnavEpisode, ...]
    missing: int = 0

    @cached_property
    def classes(self) -> dict[str, ObservationClass]:
        """Label → with whom the policy can be compared."""
        return classes_of((each.label, each.observes) for each in self.episodes)

    @cached_property
    def by_label(self) -> dict[str, list[SocnavEpisode]]:
        """Policies in the order of the tables: the paper's, then others, then privileged ones."""
        order = list(published().algorithms)
        found: dict[str, list[SocnavEpisode]] = {}
        for episode in sorted(
            self.episodes,
            key=lambda each: (each.privileged, order.index(each.policy) if each.policy in order else len(order)),
        ):
            found.setdefault(episode.label, []).append(episode)
        return found

    @cached_property
    def deciding_policies(self) -> list[str]:
        """The policies whose completion decides which episodes are compared: the paper's four as far as they ran;
        without any of them all that are not privileged, or simply all."""
        first = {label: episodes[0] for label, episodes in self.by_label.items()}
        paper = [label for label, episode in first.items() if episode.policy in published().algorithms]
        fair = [label for label, episode in first.items() if not episode.privileged]
        return paper or fair or list(first)

    @cached_property
    def common(self) -> frozenset[Key]:
        """Episodes that every one of ``deciding_policies`` completed."""
        completed = [{each.key for each in self.by_label[label] if each.completed} for label in self.deciding_policies]
        return frozenset(set.intersection(*completed)) if completed else frozenset()

    def compared(self, label: str) -> list[SocnavEpisode]:
        """The policy's episodes in ``common`` that it completed itself."""
        return [each for each in self.by_label[label] if each.key in self.common and each.completed]

    @property
    def people(self) -> str:
        """``recorded``, ``generated`` or ``mixed``."""
        return common_source(each.source for each in self.episodes)

    @property
    def conditions(self) -> str:
        """Mode and options of the suite that differ from one run to another, for people."""
        facts = {"mode": {each.mode for each in self.episodes}}
        for name in ("time", "reactivity", "dynamics"):
            facts[name] = {str(each.options[name]) for each in self.episodes if name in each.options}
        return ", ".join(f"{name} {' and '.join(sorted(values))}" for name, values in facts.items() if values)


def read_socnav(episodes: Sequence[LabelledEpisode]) -> SocnavRun | None:
    """Episodes of the suite from their records; None if none can be read."""
    read = []
    for item in episodes:
        if (record := item.record) is not None:
            stated = {dialect: item.run.metrics_of(item.scores, METRICS, dialect) for dialect in DIALECTS}
            scores = {dialect: metrics for dialect, metrics in stated.items() if metrics is not None}
            read.append(read_episode(item.label, record, scores))
    return SocnavRun(tuple(read), len(episodes) - len(read)) if read else None


def read_episode(
    label: str, record: EpisodeRecord, scores: Mapping[str, Mapping[str, MetricResult]] | None = None
) -> SocnavEpisode:
    """What tables and plots need of an episode. ``scores``: its metrics by dialect; None: computed from the record."""
    options = record.scenario.notes.get("options")
    return SocnavEpisode(
        label=label,
        policy=record.policy.name,
        privileged=record.policy.privileged,
        observes=observed_in(record),
        scenario=record.scenario.name,
        seed=record.seed,
        source=record.source,
        mode=record.mode,
        options=options if isinstance(options, dict) else {},
        scores=scores or {dialect: score(record, METRICS, dialect) for dialect in DIALECTS},
        closest_distance=_known(closest_pedestrian_distance(record), MAX_DISTANCE_M),
        time_to_collision=_known(time_to_collision(record), MAX_TIME_TO_COLLISION_S),
        planning_time=_known(record.planning_time, np.inf),
    )


def _known(values: FloatArray, cap: float) -> FloatArray:
    return np.minimum(values[np.isfinite(values)], cap)
