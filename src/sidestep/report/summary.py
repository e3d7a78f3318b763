"""The numbers that a report shows: per policy and metric a mean with its interval, the best marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import floor, log10, nan
from typing import Any

from sidestep import registry
from sidestep.benchmark.episode import EpisodeScores
from sidestep.interfaces import Direction, Metric
from sidestep.metrics.aggregate import EpisodeScores as MetricScores
from sidestep.metrics.aggregate import ResultTable, aggregate
from sidestep.metrics.answers import INDICATOR_UNIT
from sidestep.metrics.score import directions
from sidestep.types.observation import PRIVILEGED
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult

KEY_METRICS: tuple[str, ...] = (
    "success",
    "pedestrian_collisions",
    "closest_pedestrian_distance",
    "time_to_collision_min",
    "personal_space_intrusion",
    "time_to_goal",
    "path_length_ratio",
    "jerk_avg",
    "planning_time_avg",
)
"""Columns of the summary, where the results have them."""

TITLES: dict[str, str] = {
    "success": "Success rate",
    "spl": "Success weighted by path length",
    "closest_pedestrian_distance": "Closest person",
    "time_to_collision_min": "Shortest time to collision",
    "planning_time_avg": "Planning time",
    "planning_time_max": "Longest planning time",
    "jerk_avg": "Mean jerk",
    "speed_avg": "Mean speed",
    "time_to_goal": "Time to goal",
    "pedestrian_collisions": "Contacts with people",
    "contact_free": "Free of contact",
}
"""Short names for people, where the metric's own would be clumsy."""

CONTACT_FREE = "contact_free"
ARROWS = {"higher": "↑", "lower": "↓", "none": ""}
BETTER = {"higher": "higher is better", "lower": "lower is better", "none": ""}


@dataclass(frozen=True)
class Cell:
    """One policy's aggregate of one metric. ``of`` counts all episodes, ``n`` those that have a value."""

    n: int
    of: int
    mean_value: float = nan
    low: float | None = None
    high: float | None = None
    """Interval of the mean; None where there are too few values for one."""
    factor: float = 1.0
    """From the metric's unit to the one that is shown."""
    percent: bool = False
    best: bool = False
    reason: str = ""

    @property
    def mean(self) -> str:
        """For people."""
        return self._format(self.mean_value)

    @property
    def interval(self) -> str:
        """For people: the 95 % interval, if there is one."""
        if self.low is None or self.high is None:
            return ""
        return f"{self._format(self.low)} … {self._format(self.high)}"

    @property
    def reach(self) -> tuple[float, float]:
        """The interval, or the mean alone."""
        low = self.mean_value if self.low is None else self.low
        return low, self.mean_value if self.high is None else self.high

    def _format(self, value: float) -> str:
        text = f"{100 * value:.0f} %" if self.percent else format_number(value * self.factor)
        return text.replace("-", "−")


@dataclass(frozen=True)
class MetricColumn:
    """A metric and what every policy reached in it."""

    name: str
    unit: str
    direction: Direction = "none"
    definition: str = ""
    source: str = ""
    validity: str = ""
    cells: dict[str, Cell] = field(default_factory=dict)

    @property
    def title(self) -> str:
        """For people."""
        return TITLES.get(self.name, self.name.replace("_", " ").capitalize())

    @property
    def short_unit(self) -> str:
        """``m ↓``."""
        return f"{self.shown_unit} {ARROWS[self.direction]}".strip()

    @property
    def shown_unit(self) -> str:
        """The unit of the numbers that people see; empty for shares, ratios and counts."""
        shortened = any(cell.factor != 1 for cell in self.cells.values())
        return "ms" if shortened else {"0/1": "", "ratio": "", "count": ""}.get(self.unit, self.unit)

    @property
    def unit_and_direction(self) -> str:
        """``m, lower is better``."""
        unit = {"0/1": "share of episodes", "ratio": "", "count": "number"}.get(self.unit, self.unit)
        return ", ".join(part for part in (unit, BETTER[self.direction]) if part)


@dataclass(frozen=True)
class Summary:
    """Everything that tables and plots are made from. ``columns`` are in the order of the metric table."""

    policies: tuple[str, ...]
    scenarios: tuple[str, ...]
    episodes: tuple[EpisodeScores, ...]
    columns: tuple[MetricColumn, ...]

    def column(self, name: str) -> MetricColumn | None:
        """The column of a metric, if any policy has a value in it."""
        found = next((column for column in self.columns if column.name == name), None)
        return found if found and any(cell.n for cell in found.cells.values()) else None

    @property
    def key_columns(self) -> list[MetricColumn]:
        """The columns to show first; all, where the results have none of them."""
        key = [column for name in KEY_METRICS if (column := self.column(name)) is not None]
        return key or list(self.columns[: len(KEY_METRICS)])

    def outcomes(self, policy: str) -> Counter[str]:
        """How often each outcome came up, in the order of ``Outcome``."""
        counted = Counter(episode.outcome for episode in self.episodes if episode.policy == policy)
        return Counter({outcome.value: counted[outcome.value] for outcome in Outcome if counted[outcome.value]})

    def values(self, policy: str, metric: str) -> list[float]:
        """The valid values of a metric, one per episode."""
        results = [e.metrics[metric] for e in self.episodes if e.policy == policy and metric in e.metrics]
        return [result.value for result in results if result.valid]


def summarise(episodes: Sequence[EpisodeScores]) -> Summary:
    """Aggregate episodes over scenarios and seeds, per policy."""
    policies = tuple(dict.fromkeys(episode.policy for episode in episodes))
    scenarios = tuple(dict.fromkeys(episode.scenario for episode in episodes))
    units = {name: result.unit for episode in episodes for name, result in episode.metrics.items()}
    table = aggregate(
        [MetricScores(e.policy, e.scenario, e.seed, Outcome(e.outcome), e.metrics) for e in episodes],
        directions=directions(),
    )
    reasons = _reasons(episodes)
    columns = tuple(_column(name, units[name], table, reasons) for name in _ordered(units))
    return Summary(policies, scenarios, tuple(episodes), columns)


def _ordered(names: dict[str, str]) -> list[str]:
    table = registry.names("metrics")
    return sorted(names, key=lambda name: (table.index(name) if name in table else len(table), name))


def _reasons(episodes: Sequence[EpisodeScores]) -> dict[tuple[str, str], str]:
    """(policy, metric) → why the first episode without a value has none."""
    reasons: dict[tuple[str, str], str] = {}
    for episode in episodes:
        for name, result in episode.metrics.items():
            if not result.valid:
                reasons.setdefault((episode.policy, name), result.reason)
    return reasons


def _column(name: str, unit: str, table: ResultTable, reasons: dict[tuple[str, str], str]) -> MetricColumn:
    metric: Metric | None = registry.load("metrics", name) if name in registry.names("metrics") else None
    direction: Direction = metric.direction if metric else "none"
    cells = {}
    for policy, entry in table.policies.items():
        figures = entry.metrics.get(name)
        if figures is None or figures.mean is None:
            cells[policy] = Cell(0, entry.episodes, reason=reasons.get((policy, name), "not scored"))
        else:
            cells[policy] = Cell(figures.n, entry.episodes, figures.mean, figures.low, figures.high)
    cells = {policy: replace(cell, **_style(unit, cells)) for policy, cell in cells.items()}
    return MetricColumn(
        name=name,
        unit=unit,
        direction=direction,
        definition=metric.definition if metric else "",
        source=metric.source if metric else "",
        validity=metric.validity if metric else "",
        cells=_mark_best(cells, direction, contenders(table)),
    )


def _style(unit: str, cells: dict[str, Cell]) -> dict[str, Any]:
    """How a column is printed: shares in percent, times in milliseconds if all are below 0.1 s."""
    largest = max((abs(cell.mean_value) for cell in cells.values() if cell.n), default=0.0)
    return {"percent": unit == INDICATOR_UNIT, "factor": 1000.0 if unit == "s" and 0 < largest < 0.1 else 1.0}


def contenders(table: ResultTable) -> set[str]:
    """Policies whose success rate is not clearly below the best one's (their intervals meet): a robot that stands still
    is nobody's model of a smooth ride. Everybody where success was not scored or has no interval. Bundled policies that
    are privileged are the limit, not contenders."""
    fair = {policy: entry for policy, entry in table.policies.items() if not is_privileged(policy)}
    rates = {policy: entry.metrics.get("success") for policy, entry in (fair or table.policies).items()}
    known = {policy: rate for policy, rate in rates.items() if rate is not None and rate.mean is not None}
    if not known:
        return set(rates)
    best = max(known.values(), key=lambda rate: rate.mean or 0.0)
    if best.low is None:
        return set(rates)
    floor = best.low
    return {policy for policy, rate in known.items() if rate.high is None or rate.high >= floor}


def is_privileged(label: str) -> bool:
    """Whether a row's policy, bundled under that name, needs what no robot can know."""
    name = label.partition(" (")[0].partition("@")[0]
    return name in registry.POLICIES and not PRIVILEGED.isdisjoint(registry.load("policies", name).needs)


def _mark_best(cells: dict[str, Cell], direction: Direction, candidates: set[str]) -> dict[str, Cell]:
    """The best mean of a contender and all that are printed alike; nobody when all are alike or nothing is better."""
    means = {policy: cell.mean_value for policy, cell in cells.items() if cell.n and policy in candidates}
    if direction == "none" or len({cells[policy].mean for policy in means}) < 2:
        return cells
    winner = (max if direction == "higher" else min)(means, key=lambda policy: means[policy])
    shown = cells[winner].mean
    return {policy: replace(cell, best=policy in means and cell.mean == shown) for policy, cell in cells.items()}


def format_number(value: float) -> str:
    """Three significant digits, no exponent between 0.001 and 100 000."""
    if value == 0:
        return "0"
    size = abs(value)
    if not 1e-3 <= size < 1e5:
        return f"{value:.2g}"
    digits = max(0, 2 - floor(log10(size)))
    return f"{value:.{digits}f}"


def contact_free(summary: Summary) -> MetricColumn:
    """The share of all episodes in which the robot touched nobody and nothing, with Wilson intervals."""
    table = aggregate(
        [
            MetricScores(e.policy, e.scenario, e.seed, Outcome(e.outcome), {CONTACT_FREE: _touched_nothing(e)})
            for e in summary.episodes
        ]
    )
    column = _column(CONTACT_FREE, INDICATOR_UNIT, table, {})
    return replace(column, direction="higher")


def _touched_nothing(episode: EpisodeScores) -> MetricResult:
    """By the count of collisions; by the outcome where they were not counted."""
    counted = episode.metrics.get("collisions")
    free = counted.value == 0 if counted and counted.valid else not episode.outcome.endswith("collision")
    return MetricResult(float(free), INDICATOR_UNIT)


def pareto_front(across: MetricColumn, up: MetricColumn) -> list[str]:
    """Policies whose means no other policy beats in both metrics."""

    def rank(policy: str) -> tuple[float, float]:
        x, y = across.cells[policy].mean_value, up.cells[policy].mean_value
        return (x if across.direction == "higher" else -x), (y if up.direction == "higher" else -y)

    points = {policy: rank(policy) for policy in across.cells if across.cells[policy].n and up.cells[policy].n}
    return [
        policy
        for policy, (x, y) in points.items()
        if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points.values())
    ]
