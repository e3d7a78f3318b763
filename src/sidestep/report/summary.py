"""The numbers that a report shows, suite by suite: per policy and metric a mean with its interval, the best marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import floor, log10, nan
from typing import Any

from sidestep import registry
from sidestep.interfaces import Direction, Metric
from sidestep.metrics.aggregate import ResultTable, aggregate
from sidestep.metrics.rates import RATES
from sidestep.metrics.score import HEADLINES, EpisodeScores, directions
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.runs.score import success_means
from sidestep.types.outcome import Outcome
from sidestep.types.result import MetricResult

LEAST_FOR_A_STAR = 10
"""Values below which a mean is marked as the best of nothing."""

TITLES: dict[str, str] = {
    "success": "Success rate",
    "spl": "Success weighted by path length",
    "closest_pedestrian_distance": "Closest person",
    "time_to_collision_min": "Shortest time to collision",
    "time_within_1_2m": "Time within 1.2 m of a person",
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
SUCCESS_MEANS = {
    "stop": "Success here is to stop for the person who asks for it, not to reach the goal.",
    "goal or stop": "Success is to reach the goal, and in scenarios in which a person asks for it to stop there: these "
    "have no path, time to goal and SPL.",
}
ARROWS = {"higher": "↑", "lower": "↓", "none": ""}
BETTER = {"higher": "higher is better", "lower": "lower is better", "none": ""}


@dataclass(frozen=True)
class SummaryCell:
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
    bound: str = ""
    """Of a rate over too few metres: the bound and the count, in place of a mean."""

    @property
    def mean(self) -> str:
        """For people."""
        return self.bound or self._format(self.mean_value)

    @property
    def interval(self) -> str:
        """For people: the 95 % interval, if there is one."""
        if self.bound or self.low is None or self.high is None:
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
    cells: dict[str, SummaryCell] = field(default_factory=dict)

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
    """One suite: everything that its tables and plots are made from. ``columns`` are in the order of the metric
    table."""

    suite: str
    policies: tuple[str, ...]
    scenarios: tuple[str, ...]
    episodes: tuple[EpisodeScores, ...]
    columns: tuple[MetricColumn, ...]
    privileged: frozenset[str] = frozenset()
    """Policies that see what the others do not: they are ranked with nobody."""
    events: dict[str, dict[str, int]] = field(default_factory=dict)
    """Policy → episodes whose staged event ``happened`` or was ``missed``; only those that stage one."""
    success: str = ""
    """What success is: ``goal``, ``stop``, ``goal or stop``; empty where nothing says so."""

    def column(self, name: str) -> MetricColumn | None:
        """The column of a metric, if any policy has a value in it."""
        found = next((column for column in self.columns if column.name == name), None)
        return found if found and any(cell.n for cell in found.cells.values()) else None

    @property
    def key_columns(self) -> list[MetricColumn]:
        """The columns to show first; failures per 100 m where an episode can have several; all, where the results have
        none of them."""
        counted = [each.metrics.get("failures") for each in self.episodes]
        often = any(result is not None and result.valid and result.value > 1 for result in counted)
        names = (*HEADLINES, *(("failures_per_100m",) if often else ()))
        key = [column for name in names if (column := self.column(name)) is not None]
        return key or list(self.columns[: len(HEADLINES)])

    def outcomes(self, policy: str) -> Counter[str]:
        """How often each outcome came up, in the order of ``Outcome``."""
        counted = Counter(episode.outcome for episode in self.episodes if episode.policy == policy)
        return Counter({outcome.value: counted[outcome.value] for outcome in Outcome if counted[outcome.value]})

    def values(self, policy: str, metric: str) -> list[float]:
        """The valid values of a metric, one per episode."""
        results = [e.metrics[metric] for e in self.episodes if e.policy == policy and metric in e.metrics]
        return [result.value for result in results if result.valid]

    def title(self, policy: str) -> str:
        """The policy's name in a table."""
        return f"{policy} (privileged)" if policy in self.privileged else policy

    @property
    def notes(self) -> list[str]:
        """What a reader of the tables has to know, in sentences."""
        told = [SUCCESS_MEANS[self.success]] if self.success in SUCCESS_MEANS else []
        missed = [
            f"{policy} {counts['missed']} of {sum(counts.values())}"
            for policy, counts in self.events.items()
            if counts["missed"]
        ]
        if missed:
            told.append(f"Episodes that ended before the event that they stage: {', '.join(missed)}.")
        if self.privileged:
            told.append(
                f"Privileged, because they see what the others do not: {', '.join(sorted(self.privileged))}. They have "
                "no star, and no part in fronts and averages."
            )
        left_out = [policy for policy in self.policies if policy not in comparable(self.episodes) | self.privileged]
        if left_out:
            told.append(f"Not compared, because they ran other episodes or other people: {', '.join(left_out)}.")
        return told


def summarise_suites(episodes: Sequence[EpisodeScores]) -> list[Summary]:
    """One summary per suite, in the order of the episodes: numbers of two suites do not belong into one table."""
    suites = dict.fromkeys(episode.suite for episode in episodes)
    return [summarise([episode for episode in episodes if episode.suite == suite]) for suite in suites]


def summarise(episodes: Sequence[EpisodeScores]) -> Summary:
    """Aggregate the episodes of one suite over scenarios and seeds, per policy."""
    suites = dict.fromkeys(episode.suite for episode in episodes)
    policies = tuple(dict.fromkeys(episode.policy for episode in episodes))
    scenarios = tuple(dict.fromkeys(episode.scenario for episode in episodes))
    units = {name: result.unit for episode in episodes for name, result in episode.metrics.items()}
    table = aggregate(episodes, directions=directions())
    reasons = _reasons(episodes)
    candidates = contenders(table) & comparable(episodes) if len(suites) == 1 else set()
    columns = tuple(_column(name, units[name], table, reasons, candidates) for name in _ordered(units))
    return Summary(
        suite=" + ".join(suites),
        policies=policies,
        scenarios=scenarios,
        episodes=tuple(episodes),
        columns=columns,
        privileged=frozenset(policy for policy, entry in table.policies.items() if entry.privileged),
        events={policy: entry.events for policy, entry in table.policies.items() if entry.events},
        success=success_means(episodes),
    )


def comparable(episodes: Sequence[EpisodeScores]) -> set[str]:
    """Policies that ran the same scenarios and seeds with the same people, and are not privileged: the largest such
    group."""
    ran: dict[str, set[tuple[str, int, str]]] = {}
    for episode in episodes:
        if not episode.privileged:
            ran.setdefault(episode.policy, set()).add((episode.scenario, episode.seed, episode.source))
    groups = Counter(frozenset(keys) for keys in ran.values())
    if not groups:
        return set()
    largest = max(groups, key=lambda keys: (groups[keys], len(keys)))
    return {policy for policy, keys in ran.items() if keys == largest}


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


def _column(
    name: str, unit: str, table: ResultTable, reasons: dict[tuple[str, str], str], candidates: set[str]
) -> MetricColumn:
    metric: Metric | None = registry.load("metrics", name) if name in registry.names("metrics") else None
    direction: Direction = metric.direction if metric else "none"
    if name in RATES:  # metres of driving in circles are no way, and nothing happens on them
        candidates = candidates & contenders(table, "route_completion")
    cells = {}
    for policy, entry in table.policies.items():
        figures = entry.metrics.get(name)
        if figures is not None and figures.bound:
            cells[policy] = SummaryCell(
                figures.n, entry.episodes, low=figures.low, high=figures.high, bound=figures.bound
            )
        elif figures is None or figures.mean is None:
            cells[policy] = SummaryCell(0, entry.episodes, reason=reasons.get((policy, name), "not scored"))
        else:
            cells[policy] = SummaryCell(figures.n, entry.episodes, figures.mean, figures.low, figures.high)
    cells = {policy: replace(cell, **_style(unit, cells)) for policy, cell in cells.items()}
    return MetricColumn(
        name=name,
        unit=unit,
        direction=direction,
        definition=metric.definition if metric else "",
        source=metric.source if metric else "",
        validity=metric.validity if metric else "",
        cells=_mark_best(cells, direction, candidates),
    )


def _style(unit: str, cells: dict[str, SummaryCell]) -> dict[str, Any]:
    """How a column is printed: shares in percent, times in milliseconds if all are below 0.1 s."""
    largest = max((abs(cell.mean_value) for cell in cells.values() if cell.n and not cell.bound), default=0.0)
    return {"percent": unit == INDICATOR_UNIT, "factor": 1000.0 if unit == "s" and 0 < largest < 0.1 else 1.0}


def contenders(table: ResultTable, by: str = "success") -> set[str]:
    """Policies whose success rate is not clearly below the best one's (their intervals meet): a robot that stands still
    is nobody's model of a smooth ride. Everybody where success was not scored or has no interval. Privileged policies
    are the limit, not contenders. ``by``: another metric of which more is better."""
    rates = {policy: entry.metrics.get(by) for policy, entry in table.policies.items() if not entry.privileged}
    known = {policy: rate for policy, rate in rates.items() if rate is not None and rate.mean is not None}
    if not known:
        return set(rates)
    best = max(known.values(), key=lambda rate: rate.mean or 0.0)
    if best.low is None:
        return set(rates)
    floor = best.low
    return {policy for policy, rate in known.items() if rate.high is None or rate.high >= floor}


def _mark_best(cells: dict[str, SummaryCell], direction: Direction, candidates: set[str]) -> dict[str, SummaryCell]:
    """The best mean of a contender and all that are printed alike; nobody when all are alike or nothing is better.
    Means of fewer than ``LEAST_FOR_A_STAR`` values, and bounds, are no contenders."""
    means = {
        policy: cell.mean_value
        for policy, cell in cells.items()
        if policy in candidates and cell.n >= LEAST_FOR_A_STAR and not cell.bound
    }
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
    touched = [replace(each, metrics={CONTACT_FREE: _touched_nothing(each)}) for each in summary.episodes]
    column = _column(CONTACT_FREE, INDICATOR_UNIT, aggregate(touched), {}, set())
    return replace(column, direction="higher")


def _touched_nothing(episode: EpisodeScores) -> MetricResult:
    """By the count of collisions; by the outcome where they were not counted."""
    counted = episode.metrics.get("collisions")
    free = counted.value == 0 if counted and counted.valid else not episode.outcome.endswith("collision")
    return MetricResult(float(free), INDICATOR_UNIT)


def pareto_front(across: MetricColumn, up: MetricColumn, candidates: set[str] | None = None) -> list[str]:
    """Policies whose means no other policy beats in both metrics, among ``candidates`` if there are some given."""

    def rank(policy: str) -> tuple[float, float]:
        x, y = across.cells[policy].mean_value, up.cells[policy].mean_value
        return (x if across.direction == "higher" else -x), (y if up.direction == "higher" else -y)

    points = {
        policy: rank(policy)
        for policy in across.cells
        if across.cells[policy].n and up.cells[policy].n and (candidates is None or policy in candidates)
    }
    return [
        policy
        for policy, (x, y) in points.items()
        if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points.values())
    ]
