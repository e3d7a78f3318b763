"""The numbers that a report shows, suite by suite: per policy and metric a mean with its interval, the best marked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from sidestep import registry
from sidestep.interfaces import Metric
from sidestep.metrics.aggregate import ResultTable, aggregate
from sidestep.metrics.estimates import Estimate
from sidestep.metrics.observed import (
    ObservationClass,
    Observed,
    describe_observed,
    observation_class,
    race_note,
    races,
)
from sidestep.metrics.rates import RATES
from sidestep.metrics.score import HEADLINES, EpisodeScores, directions
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.report.table_model import (
    ARROWS,
    HERE,
    Cell,
    Column,
    NumberFormat,
    Row,
    Section,
    Table,
    csv_form,
    mark_best,
    within_reach,
)
from sidestep.runs.score import success_means
from sidestep.types.outcome import Outcome
from sidestep.types.record import SANDBOX_HELD
from sidestep.types.result import MetricResult

TITLES: dict[str, str] = {
    "success": "Success rate",
    "spl": "SPL",
    "closest_pedestrian_distance": "Closest person",
    "delay_mean_s": "Mean delay",
    "delay_max_s": "Largest delay",
    "detour_mean_m": "Mean detour",
    "time_to_collision_min": "Shortest time to collision",
    "time_within_1_2m": "Time within 1.2 m of a person",
    "planning_time_avg": "Planning time",
    "planning_time_max": "Longest planning time",
    "jerk_avg": "Mean jerk",
    "speed_avg": "Mean speed",
    "time_to_goal": "Time to goal",
    "pedestrian_collisions": "Contacts with people",
    "failures_per_100m": "Failures per 100 m",
    "contact_free": "Free of contact",
}
"""Titles of metrics whose names would be clumsy titles."""
UNITS = {INDICATOR_UNIT: "%", "ratio": "", "count": "", "1/100 m": ""}
"""Units that tables show differently."""
CONTACT_FREE = "contact_free"
SUCCESS_MEANS = {
    "stop": "Success here is to stop for the person who asks for it, not to reach the goal.",
    "exit": "Success here is to leave an area on the right side, in the lane: there is no path, time to goal or SPL.",
    "goal or stop": "Success is to reach the goal, and in scenarios in which a person asks for it to stop there: these "
    "have no path, time to goal and SPL.",
}
OBSERVES = "Observes"
BETTER = {"higher": "higher is better", "lower": "lower is better", "none": ""}
SUMMARY_CSV = csv_form(
    "suite policy metric unit direction episodes n mean low high bound privileged observes",
    episodes="of", mean="value", privileged="privileged_number",
)  # fmt: skip


@dataclass(frozen=True)
class MetricColumn(Column):
    """A metric and what every policy reached in it."""

    source: str = ""
    validity: str = ""
    cells: Mapping[str, Cell] = field(default_factory=dict)

    @property
    def unit_and_direction(self) -> str:
        """``m, lower is better``."""
        unit = {"0/1": "share of episodes", "ratio": "", "count": "number"}.get(self.csv_unit or "", self.csv_unit)
        return ", ".join(part for part in (unit, BETTER[self.better]) if part)

    @property
    def has_values(self) -> bool:
        """Whether any policy has one."""
        return any(cell.estimate.n for cell in self.cells.values())


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
    """Policies that see what the others do not: they are not ranked."""
    events: dict[str, dict[str, int]] = field(default_factory=dict)
    """Policy → episodes whose staged event ``happened`` or was ``missed``; only those that stage one."""
    observed: Mapping[str, Observed | None] = field(default_factory=dict)
    """Policy → what it was given."""
    sandbox: Mapping[str, str] = field(default_factory=dict)
    """Policy → ``held``, or what of its sandbox did not hold; only policies in processes of their own."""
    success: str = ""
    """What success is: ``goal``, ``stop``, ``exit``, ``goal or stop``; empty where nothing says so."""

    @property
    def classes(self) -> dict[str, ObservationClass]:
        """Policy → the class of policies with which it can be compared. Privileged policies are not in it."""
        return {name: observation_class(found) for name, found in self.observed.items() if name not in self.privileged}

    def column(self, name: str) -> MetricColumn | None:
        """The column of a metric, if any policy has a value in it."""
        return next((column for column in self.columns if column.name == name and column.has_values), None)

    @property
    def key_columns(self) -> list[MetricColumn]:
        """The columns to show first."""
        counted = [each.metrics.get("failures") for each in self.episodes]
        often = any(result is not None and result.valid and result.value > 1 for result in counted)
        return key_columns(self.columns, often)

    def outcomes(self, policy: str) -> Counter[str]:
        """How often each outcome came up, in the order of ``Outcome``."""
        counted = Counter(episode.outcome for episode in self.episodes if episode.policy == policy)
        return Counter({outcome.value: counted[outcome.value] for outcome in Outcome if counted[outcome.value]})

    def values(self, policy: str, metric: str) -> list[float]:
        """The valid values of a metric, one per episode."""
        results = [e.metrics[metric] for e in self.episodes if e.policy == policy and metric in e.metrics]
        return [result.value for result in results if result.valid]

    def table(
        self, columns: Sequence[MetricColumn], colours: Mapping[str, str] | None = None, people: str = ""
    ) -> Table:
        """Policies × ``columns``; ``people``: recorded, generated or mixed, for the notes."""
        known = any(found is not None for found in self.observed.values())
        observed = {policy: describe_observed(found) for policy, found in self.observed.items()}
        rows = metric_rows(columns, self.policies, self.privileged, colours, observed if known else None)
        about = f"People: {people}. " if people else ""
        return Table(
            name="summary",
            title=f"Suite {self.suite}",
            columns=tuple(columns),
            sections=(Section("", "", rows),),
            csv=SUMMARY_CSV,
            keys=(OBSERVES,) if known else (),
            notes=(f"{about}Mean [95 % interval] over the episodes that have a value.", *self.notes),
            facts={"suite": self.suite},
        )

    @property
    def notes(self) -> list[str]:
        """Sentences that a reader of the tables needs."""
        notes = [SUCCESS_MEANS[self.success]] if self.success in SUCCESS_MEANS else []
        missed = [
            f"{policy} {counts['missed']} of {sum(counts.values())}"
            for policy, counts in self.events.items()
            if counts["missed"]
        ]
        if missed:
            notes.append(f"Episodes that ended before the event that they stage: {', '.join(missed)}.")
        if self.privileged:
            notes.append(
                f"Privileged, because they see what the others do not: {', '.join(sorted(self.privileged))}. They have "
                "no star, and no part in fronts and averages."
            )
        notes += [note] if (note := sandbox_note(self.sandbox)) else []
        notes += [note] if (note := race_note(self.classes)) else []
        left_out = [policy for policy in self.policies if policy not in comparable(self.episodes) | self.privileged]
        if left_out:
            notes.append(f"Not compared, because they ran other episodes or other people: {', '.join(left_out)}.")
        return notes


def sandbox_note(states: Mapping[str, str]) -> str:
    """What readers must know of policies whose process could reach more than their own files; empty if nothing."""
    open_ = [f"{name} ({state})" for name, state in states.items() if state and state != SANDBOX_HELD]
    return f"Not sandboxed: {', '.join(open_)}. Their code could reach what its user could." if open_ else ""


def key_columns(columns: Iterable[MetricColumn], often: bool) -> list[MetricColumn]:
    """The headline metrics that have a value; failures per 100 m where episodes ``often`` have several; all where the
    results have none of them."""
    known = {column.name: column for column in columns if column.has_values}
    names = (*HEADLINES, *(("failures_per_100m",) if often else ()))
    return [known[name] for name in names if name in known] or list(columns)[: len(HEADLINES)]


def metric_rows(
    columns: Sequence[MetricColumn],
    policies: Iterable[str],
    privileged: Collection[str],
    colours: Mapping[str, str] | None = None,
    observed: Mapping[str, str] | None = None,
) -> tuple[Row, ...]:
    """A row per policy; with ``observed`` also what it was given."""
    return tuple(
        Row(
            policy, () if observed is None else (observed.get(policy, ""),), HERE,
            tuple(column.cells[policy] for column in columns), policy in privileged,
            colour=(colours or {}).get(policy, ""),
        )
        for policy in policies
    )  # fmt: skip


def metric_column(name: str, unit: str, estimates: Mapping[str, Estimate]) -> MetricColumn:
    """A metric's column for people: shares in percent, short times in ms or µs."""
    metric: Metric | None = registry.load("metrics", name) if name in registry.names("metrics") else None
    style, shown = _style(unit, estimates.values())
    direction = metric.direction if metric else "none"
    return MetricColumn(
        name=name,
        title=TITLES.get(name, name.replace("_", " ").capitalize()),
        unit=shown,
        better=direction,
        symbol=ARROWS[direction],
        format=style,
        definition=metric.definition if metric else "",
        csv_unit=unit,
        source=metric.source if metric else "",
        validity=metric.validity if metric else "",
        cells={policy: Cell(found, style) for policy, found in estimates.items()},
    )


def _style(unit: str, estimates: Iterable[Estimate]) -> tuple[NumberFormat, str]:
    """How the numbers of a metric are printed, and their unit for people."""
    if unit == INDICATOR_UNIT:
        return NumberFormat(0, 100.0), "%"
    largest = max((abs(found.value) for found in estimates if found.value is not None), default=0.0)
    if unit == "s" and 0 < largest < 0.1:
        return (NumberFormat(None, 1e3), "ms") if largest >= 1e-4 else (NumberFormat(None, 1e6), "µs")
    return NumberFormat(None), UNITS.get(unit, unit)


def summarise_suites(episodes: Sequence[EpisodeScores]) -> list[Summary]:
    """One summary per suite, in the order of the episodes: numbers of two suites do not belong into one table."""
    suites = dict.fromkeys(episode.suite for episode in episodes)
    return [summarise_episodes([episode for episode in episodes if episode.suite == suite]) for suite in suites]


def summarise_episodes(episodes: Sequence[EpisodeScores]) -> Summary:
    """Aggregate the episodes of one suite over scenarios and seeds, per policy."""
    suites = dict.fromkeys(episode.suite for episode in episodes)
    units = {name: result.unit for episode in episodes for name, result in episode.metrics.items()}
    table = aggregate(episodes, directions=directions())
    alike = comparable(episodes) if len(suites) == 1 else set()
    classes = {policy: observation_class(entry.observed) for policy, entry in table.policies.items()}
    inside = races({policy: kind for policy, kind in classes.items() if not table.policies[policy].privileged})
    columns = []
    for name in _ordered(units):
        column = _column(name, units[name], table)
        marks: dict[str, bool] = {}
        for race in inside:
            able = alike & race & contenders(table, among=race)
            # metres driven in circles are no progress: of rates per metre only policies that arrive compete
            able &= contenders(table, "route_completion", race) if name in RATES else able
            best = _best_of(column, able)
            marks |= {policy: marks.get(policy, True) and policy in best for policy in race}
        cells = {policy: replace(cell, best=marks.get(policy, False)) for policy, cell in column.cells.items()}
        columns.append(replace(column, cells=cells))
    return Summary(
        suite=" + ".join(suites),
        policies=tuple(dict.fromkeys(episode.policy for episode in episodes)),
        scenarios=tuple(dict.fromkeys(episode.scenario for episode in episodes)),
        episodes=tuple(episodes),
        columns=tuple(columns),
        privileged=frozenset(policy for policy, entry in table.policies.items() if entry.privileged),
        observed={policy: entry.observed for policy, entry in table.policies.items()},
        events={policy: entry.events for policy, entry in table.policies.items() if entry.events},
        sandbox={policy: entry.sandbox for policy, entry in table.policies.items() if entry.sandbox},
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


def _ordered(names: Iterable[str]) -> list[str]:
    table = registry.names("metrics")
    return sorted(names, key=lambda name: (table.index(name) if name in table else len(table), name))


def _column(name: str, unit: str, table: ResultTable) -> MetricColumn:
    return metric_column(name, unit, {policy: entry.estimate(name) for policy, entry in table.policies.items()})


def _best_of(column: MetricColumn, candidates: Collection[str]) -> set[str]:
    rows = [Row(policy, (), HERE, (cell,)) for policy, cell in column.cells.items()]
    marked = mark_best(rows, [column], lambda row, *_: row.policy in candidates)
    return {row.policy for row in marked if row.cells[0].best}


def contenders(table: ResultTable, by: str = "success", among: Collection[str] | None = None) -> set[str]:
    """Policies whose success rate is not clearly below the best one's (their intervals meet): a robot that stands still
    is no model of a smooth ride. All policies where success was not scored or has no interval. Privileged policies
    are the limit, not contenders. ``by``: another metric of which more is better; ``among``: only these."""
    names = [policy for policy in table.policies if among is None or policy in among]
    fair = {policy: table.policies[policy] for policy in names if not table.policies[policy].privileged}
    return within_reach({policy: entry.estimate(by) for policy, entry in fair.items()})


def contact_free(summary: Summary) -> MetricColumn:
    """The share of all episodes in which the robot touched no person and no object, with Wilson intervals."""
    touched = [replace(each, metrics={CONTACT_FREE: _touched_nothing(each)}) for each in summary.episodes]
    column = _column(CONTACT_FREE, INDICATOR_UNIT, aggregate(touched))
    return replace(column, better="higher", symbol=ARROWS["higher"])


def _touched_nothing(episode: EpisodeScores) -> MetricResult:
    """1 if the count of collisions is 0; where they were not counted, if the outcome is not a collision."""
    counted = episode.metrics.get("collisions")
    free = counted.value == 0 if counted and counted.valid else not episode.outcome.endswith("collision")
    return MetricResult(float(free), INDICATOR_UNIT)


def pareto_front(across: MetricColumn, up: MetricColumn, candidates: Collection[str] | None = None) -> list[str]:
    """Policies whose means no other policy beats in both metrics, among ``candidates`` if there are some given."""
    points = {}
    for policy in across.cells:
        x, y = across.cells[policy].estimate.value, up.cells[policy].estimate.value
        if x is not None and y is not None and (candidates is None or policy in candidates):
            points[policy] = x if across.better == "higher" else -x, y if up.better == "higher" else -y
    return [
        policy
        for policy, (x, y) in points.items()
        if not any(a >= x and b >= y and (a, b) != (x, y) for a, b in points.values())
    ]
