"""What the IntersectNav tables need: our episodes of the suite ``intersection`` with their task, scene and traffic, and
the six metrics by the published definitions and as the published program counts. Tags come from the run's plan; values
that its results do not hold are computed from the records.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sidestep.metrics import intersectnav_code
from sidestep.metrics.sources import DEFAULT_DIALECT
from sidestep.report.papers.episodes import PaperEpisode, PaperRun, policy_labels
from sidestep.report.selection import LabelledEpisode
from sidestep.suites.intersection import BRANCH_NAMES, SCENES
from sidestep.types.scenario import Scenario

SUITE = "intersection"
DEFINITION, PROGRAM = DIALECTS = (DEFAULT_DIALECT, intersectnav_code.NAME)
METRICS = (
    "ego_jerk", "other_jerk", "waypoint_deviation", "destination_deviation", "heading_deviation", "total_steps",
    "lane_invasions", "free_flow_time", "time_weighted_success",
)  # fmt: skip
"""The six of the publication, the count behind the outcome ``lane_invasion``, and success weighed by time."""
TURNS = "turns"
"""Tasks other than straight on."""
TASKS = tuple(BRANCH_NAMES.values())
STRAIGHT = BRANCH_NAMES[0]
PLACES = tuple(f"scene{number}" for number in range(SCENES))
CONTINUOUS = "continuous"
TRAFFIC = ("ped-only", "ped-veh")
"""Tags of scenarios; with the tag ``continuous`` they have another flow."""
FLOWS = (*TRAFFIC, *(f"{kind}-{CONTINUOUS}" for kind in TRAFFIC))


@dataclass(frozen=True)
class IntersectionEpisode(PaperEpisode):
    """An episode with its task, scene and traffic."""

    task: str
    place: str
    traffic: str
    weather: str
    values: Mapping[str, Mapping[str, float]]
    """Values by dialect and metric."""


@dataclass(frozen=True)
class IntersectionRun(PaperRun):
    """All episodes of the suite in a report. ``missing`` counts those that could not be used, ``unread`` those whose
    record could not be read, so that the program's counts are not known."""

    episodes: tuple[IntersectionEpisode, ...]
    missing: int = 0
    unread: int = 0

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Policies in the order of the report, privileged ones last."""
        return tuple(sorted(super().labels, key=lambda label: label in self.privileged))

    @cached_property
    def traffic(self) -> tuple[str, ...]:
        """Which of ``FLOWS`` ran."""
        return tuple(kind for kind in FLOWS if any(each.traffic == kind for each in self.episodes))

    def choose(
        self, traffic: str, label: str, task: str | None = None, place: str | None = None
    ) -> list[IntersectionEpisode]:
        """A policy's episodes among people only or among vehicles, of a task, at a place."""
        return [
            each
            for each in self.episodes
            if (each.traffic, each.label) == (traffic, label)
            and (task in (None, each.task) or (task == TURNS and each.task != STRAIGHT))
            and place in (None, each.place)
        ]


def read_intersection(episodes: Sequence[LabelledEpisode]) -> IntersectionRun | None:
    """The suite's episodes among ``episodes``; None if none can be used."""
    chosen = [item for item in episodes if item.scores.suite == SUITE]
    read: list[tuple[LabelledEpisode, Scenario, dict[str, dict[str, float]]]] = []
    unread = 0
    for item in chosen:
        record = item.record
        scenario = record.scenario if record is not None else item.scenario
        if scenario is None or not set(scenario.tags) & set(TASKS):
            continue
        unread += record is None
        read.append((item, scenario, {dialect: _values(item, dialect) for dialect in DIALECTS}))
    if not read:
        return None
    # a run among people only and one among vehicles belong together
    labels = policy_labels([(item, _flow(scenario)) for item, scenario, _ in read])
    found = tuple(_episode(item, labels[id(item)], scenario, values) for item, scenario, values in read)
    return IntersectionRun(found, len(chosen) - len(read), unread)


def _values(item: LabelledEpisode, dialect: str) -> dict[str, float]:
    found = item.run.metrics_of(item.scores, METRICS, dialect) or {}
    return {name: found[name].value for name in METRICS if name in found and found[name].valid}


def _episode(
    item: LabelledEpisode, label: str, scenario: Scenario, values: Mapping[str, Mapping[str, float]]
) -> IntersectionEpisode:
    def tag(known: Sequence[str]) -> str:
        return next((each for each in known if each in scenario.tags), "")

    weather = scenario.notes.get("weather") or scenario.notes.get("options", {}).get("weather", "")
    return IntersectionEpisode(item, label, tag(TASKS), tag(PLACES), _flow(scenario), str(weather), values)


def _flow(scenario: Scenario) -> str:
    """Which of ``FLOWS`` a scenario has."""
    kind = next((each for each in TRAFFIC if each in scenario.tags), TRAFFIC[0])
    return f"{kind}-{CONTINUOUS}" if CONTINUOUS in scenario.tags else kind
