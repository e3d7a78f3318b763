"""What the SidewalkBench tables, figures and films need: the numbers that the paper prints, and our episodes of the
three sidewalk suites. Scores and tags come from the run's results and plan. Records are read only for what these do
not hold: distances and times of ``sidewalk-long``, and everything of folders that have no plan.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

from sidestep._util.reading import read_mapping
from sidestep.metrics.series import driven_m
from sidestep.metrics.sidewalk import COLLISIONS, FREEZES, LANES, count_failures
from sidestep.report.papers.episodes import PaperEpisode, PaperRun, policy_labels
from sidestep.report.selection import LabelledEpisode
from sidestep.suites.sidewalk.routes import UNIT_KINDS
from sidestep.suites.sidewalk.scenarios import BEHAVIOURS as REACTIVE_BEHAVIOURS
from sidestep.suites.sidewalk.scenarios import STATIC
from sidestep.types.base import Model, NonNegative
from sidestep.types.record import EpisodeRecord
from sidestep.types.scenario import Scenario

DATA = Path(__file__).parent / "data" / "sidewalkbench_published.yaml"

Printed = NonNegative | None
"""None where the paper prints a dash."""
Three = tuple[Printed, Printed, Printed]
Five = tuple[Printed, Printed, Printed, Printed, Printed]
Eight = tuple[Printed, Printed, Printed, Printed, Printed, Printed, Printed, Printed]
Nine = tuple[Printed, Printed, Printed, Printed, Printed, Printed, Printed, Printed, Printed]


class Averages(Model):
    """The rows called Avg, as printed."""

    success: Nine
    people: dict[str, Eight]
    """``pedestrian_collision_rate`` and ``minimum_pedestrian_distance``."""


class PublishedModel(Averages):
    """One model's rows in Tables 2, 5, 6 and 7."""

    name: str
    unit: dict[str, dict[str, Three]]
    """Setting → kind of sidewalk → SR, SPL, RC."""
    long: dict[str, Five]
    """Setting → FC, C, OL, F per 100 m and V in m/s."""


class Published(Model):
    """The file as a whole."""

    citation: str
    notes: tuple[str, ...]
    models: tuple[PublishedModel, ...]
    average: Averages


@cache
def published() -> Published:
    """The paper's numbers."""
    return Published.parse(read_mapping(DATA), str(DATA))


UNIT, REACTIVE, LONG = SUITES = ("sidewalk-unit", "sidewalk-reactive", "sidewalk-long")
BEHAVIOURS = (STATIC, *REACTIVE_BEHAVIOURS)
TAGS = {UNIT: UNIT_KINDS, REACTIVE: BEHAVIOURS, LONG: ("long",)}
SETTINGS = ("town", "real")
"""Generated towns and real places (of the paper: procedurally generated scenes, scanned places); tags of scenarios."""
METRICS = (
    "success", "spl", "route_completion", "pedestrian_contact", "success_pedestrian_distance", "social_compliance",
    "wait_obedience", "proceed_obedience",
)  # fmt: skip
INPUT_WORDS = {
    "rgb": "camera", "depth": "depth", "semantic": "classes", "lidar": "lidar", "points": "points", "map": "map",
    "route": "route", "pedestrians": "people", "future": "future",
}  # fmt: skip
"""What a policy needs → what the tables say that it sees."""


@dataclass(frozen=True)
class LongRoute:
    """What happened on a long route."""

    distance_m: float
    time_s: float
    collisions: int
    off_route: int
    freezes: int

    @property
    def failures(self) -> int:
        """All three together."""
        return self.collisions + self.off_route + self.freezes


@dataclass(frozen=True)
class SidewalkEpisode(PaperEpisode):
    """An episode with its kind of sidewalk or behaviour."""

    kind: str
    setting: str
    values: Mapping[str, float]
    """Values by metric."""
    drive: LongRoute | None = None
    """None for all but long routes."""


@dataclass(frozen=True)
class SidewalkRun(PaperRun):
    """All episodes of the sidewalk suites in a report. ``missing`` counts those that could not be used."""

    episodes: tuple[SidewalkEpisode, ...]
    sees: Mapping[str, str]
    """Label → what the policy sees."""
    missing: int = 0

    def has(self, suite: str) -> bool:
        """Whether any episode is of that suite."""
        return any(each.suite == suite for each in self.episodes)

    def choose(
        self, suite: str, label: str, kind: str | None = None, setting: str | None = None
    ) -> list[SidewalkEpisode]:
        """A policy's episodes of a suite, of a kind, in a setting."""
        return [
            each
            for each in self.episodes
            if (each.suite, each.label) == (suite, label)
            and kind in (None, each.kind)
            and setting in (None, each.setting)
        ]

    def labels_of(self, suite: str, setting: str | None = None) -> list[str]:
        """The policies that drove there."""
        return [label for label in self.labels if self.choose(suite, label, setting=setting)]


def read_sidewalk(episodes: Sequence[LabelledEpisode]) -> SidewalkRun | None:
    """The suites' episodes among ``episodes``; None if there are none."""
    chosen = [item for item in episodes if item.scores.suite in SUITES]
    if not chosen:
        return None
    labels = policy_labels([(item, item.scores.suite) for item in chosen])  # runs of the three suites belong together
    needs: dict[str, tuple[str, ...]] = {}
    read = []
    for item in chosen:
        label, scenario = labels[id(item)], item.scenario
        record = None
        if scenario is None or item.scores.suite == LONG or not set(METRICS) <= set(item.scores.metrics):
            record = item.record
            scenario = record.scenario if record else None
        if label not in needs and (record := record or item.record):
            needs[label] = record.policy.needs
        if scenario is not None and (episode := _episode(item, label, scenario, record)):
            read.append(episode)
    sees = {label: describe_inputs(names) for label, names in needs.items()}
    return SidewalkRun(tuple(read), sees, len(chosen) - len(read)) if read else None


def describe_inputs(needs: Sequence[str]) -> str:
    """``map, people``; a dash where the record does not say."""
    return ", ".join(word for need, word in INPUT_WORDS.items() if need in needs) or "–"


def _episode(
    item: LabelledEpisode, label: str, scenario: Scenario, record: EpisodeRecord | None
) -> SidewalkEpisode | None:
    suite = item.scores.suite
    kind = next((tag for tag in TAGS[suite] if tag in scenario.tags), None)
    if kind is None or (suite == LONG and record is None):
        return None
    scores = item.run.metrics_of(item.scores, METRICS, item.run.dialect)
    if scores is None:
        return None
    values = {name: scores[name].value for name in METRICS if scores[name].valid}
    setting = next((tag for tag in SETTINGS if tag in scenario.tags), SETTINGS[0])
    episode = SidewalkEpisode(item, label, kind, setting, values)
    if suite != LONG or record is None:
        return episode
    counts = (count_failures(record, kinds) for kinds in (COLLISIONS, LANES, FREEZES))
    return replace(episode, drive=LongRoute(driven_m(record), record.duration, *counts))
