"""IntersectNav's ratios of outcomes by task and by scene, and its six metrics in both dialects, for our runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from sidestep.interfaces import Direction
from sidestep.metrics.estimates import Estimate, mean, metric_kind, rate
from sidestep.report.papers.intersectnav.episodes import (
    DEFINITION,
    PLACES,
    PROGRAM,
    TURNS,
    IntersectionEpisode,
    IntersectionRun,
)
from sidestep.report.selection import COLLISIONS
from sidestep.report.table_model import (
    ARROWS,
    HERE,
    LEAST_FOR_A_STAR,
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
from sidestep.types.outcome import Outcome

TRAFFIC_TITLES = {
    "ped-only": "People only (Ped-Only)",
    "ped-veh": "People and vehicles (Ped-Veh)",
    "ped-only-continuous": "People only, continuous flow",
    "ped-veh-continuous": "People and vehicles, continuous flow",
}
TASK_TITLES = {"left": "left", "straight": "straight on", "right": "right"}
ALL = "all"
Part = tuple[str | None, str | None]
"""Task and place; None: any."""
TASK_PARTS: dict[str, Part] = {**{title: (task, None) for task, title in TASK_TITLES.items()}, ALL: (None, None)}
TIME_PARTS: dict[str, Part] = {TURNS: (TURNS, None), "straight on": ("straight", None), ALL: (None, None)}
PLACE_PARTS: dict[str, Part] = {place.removeprefix("scene"): (None, place) for place in PLACES}
OUTCOMES: dict[str, tuple[str, Direction, tuple[Outcome, ...]]] = {
    "success": ("Success", "higher", (Outcome.SUCCESS,)),
    "collision": ("Collision", "lower", COLLISIONS),
    "lane_invasion": ("Lane invasion", "lower", (Outcome.LANE_INVASION,)),
    "wrong_exit": ("Wrong exit", "lower", (Outcome.WRONG_EXIT,)),
    "timeout": ("Timeout", "lower", (Outcome.TIMEOUT,)),
    "off_route": ("Off the road", "lower", (Outcome.OFF_ROUTE,)),
    "policy_error": ("Policy error", "lower", (Outcome.POLICY_ERROR,)),
}
"""Columns of ratios: title, what is better, and the outcomes that count; together all outcomes of the suite."""
PERCENT = NumberFormat(1, 100.0)
OUTCOME_COLUMNS = tuple(
    Column(name, title, unit="%", better=better, symbol=ARROWS[better], format=PERCENT, csv_unit="")
    for name, (title, better, _) in OUTCOMES.items()
)


def _metric_column(name: str, title: str, unit: str, better: Direction = "lower") -> Column:
    return Column(name, title, unit=unit, better=better, symbol=ARROWS[better], format=NumberFormat(None))


METRIC_COLUMNS: dict[str, tuple[Column, ...]] = {
    DEFINITION: (
        _metric_column("ego_jerk", "Ego jerk", "m/s³"),
        _metric_column("other_jerk", "Other jerk", "m/s³"),
        _metric_column("waypoint_deviation", "Deviation from waypoint", "m"),
        _metric_column("destination_deviation", "Deviation from destination", "m"),
        _metric_column("heading_deviation", "Heading angle deviation", "°"),
        _metric_column("total_steps", "Total steps", ""),
        _metric_column("lane_invasions", "Lane invasions", ""),
    ),
    PROGRAM: (
        _metric_column("ego_jerk", "Ego jerk", "steps"),
        _metric_column("other_jerk", "Other jerk", "people × steps"),
        _metric_column("waypoint_deviation", "Deviation from waypoint", "m, sum"),
        _metric_column("destination_deviation", "Deviation from destination", "m"),
        _metric_column("heading_deviation", "Heading angle deviation", "°, signed", "none"),
        _metric_column("total_steps", "Total steps", ""),
        _metric_column("lane_invasions", "Lane invasions", ""),
    ),
}
"""Columns of metrics by dialect."""
TIME_COLUMNS = (
    OUTCOME_COLUMNS[0],
    Column(
        "time_weighted_success", "Time-weighted success", unit="%", better="higher", symbol=ARROWS["higher"],
        format=PERCENT, csv_unit="",
    ),
    _metric_column("free_flow_time", "Free-flow time", "s", "none"),
)  # fmt: skip

Estimates = Callable[[Sequence[IntersectionEpisode]], list[Estimate]]


def outcome_ratios(episodes: Sequence[IntersectionEpisode]) -> list[Estimate]:
    """The share of episodes that ended in each way of ``OUTCOMES``, in clusters of those on one route."""
    clusters = [each.cluster for each in episodes]
    return [rate([float(each.outcome in kinds) for each in episodes], clusters) for _, _, kinds in OUTCOMES.values()]


def metric_means(dialect: str) -> Estimates:
    """The mean of each metric of ``METRIC_COLUMNS`` in a dialect."""
    names = [column.name for column in METRIC_COLUMNS[dialect]]

    def estimates(episodes: Sequence[IntersectionEpisode]) -> list[Estimate]:
        return _means(episodes, names, dialect)

    return estimates


def _means(episodes: Sequence[IntersectionEpisode], names: Sequence[str], dialect: str) -> list[Estimate]:
    clusters = [each.cluster for each in episodes]
    return [mean([each.values[dialect].get(name) for each in episodes], clusters, metric_kind(name)) for name in names]


def intersection_tables(run: IntersectionRun) -> list[Table]:
    """Outcomes by task and by scene, success weighed by time, metrics by definition and as the program counts."""
    made = [
        task_table(run),
        place_table(run),
        time_table(run),
        metric_table(run, DEFINITION),
        metric_table(run, PROGRAM),
    ]
    warnings = []
    if run.missing:
        warnings.append(f"{run.missing} episodes could not be read or have no known task; they are left out.")
    if run.unread:
        warnings.append(f"The records of {run.unread} episodes could not be read; some of their values are missing.")
    return [replace(table, notes=(*table.notes, _counted(run), *warnings)) for table in made]


def task_table(run: IntersectionRun) -> Table:
    """Ratios of outcomes by task: left, straight on, right, and all of them."""
    notes = (
        "Share of all episodes, with Wilson's 95 % interval in clusters of episodes on one route; each row adds up to "
        "100 %. Collision: with a person, a vehicle or anything else. Off the road and policy error are not among the "
        "published outcomes; the published program counts a wrong exit apart, the readme not at all. The best of "
        "success only is marked: a collision prevents a timeout.",
    )
    title = "Outcomes by task (as IntersectNav's ratios)"
    return _table(run, "intersection_tasks", title, "Task", OUTCOME_COLUMNS, TASK_PARTS, outcome_ratios, notes)


def place_table(run: IntersectionRun) -> Table:
    """Ratios of outcomes by scene."""
    notes = ("As in the table of tasks. Scenes 0 to 3 are the development split, scenes 4 and 5 the test split.",)
    title = "Outcomes by scene"
    return _table(run, "intersection_scenes", title, "Scene", OUTCOME_COLUMNS, PLACE_PARTS, outcome_ratios, notes)


def time_table(run: IntersectionRun) -> Table:
    """Success and time-weighted success, turns apart from straight on."""

    def estimates(episodes: Sequence[IntersectionEpisode]) -> list[Estimate]:
        names = [column.name for column in TIME_COLUMNS[1:]]
        return [outcome_ratios(episodes)[0], *_means(episodes, names, DEFINITION)]

    notes = (
        "Time-weighted success: success · min(1, free-flow time / time), with bootstrap intervals; waiting until "
        "nobody comes any more costs. The free-flow time follows from the route and the limits of road and car.",
    )
    return _table(
        run, "intersection_time", "Success weighed by time", "Task", TIME_COLUMNS, TIME_PARTS, estimates, notes,
        marked=("success", "time_weighted_success"),
    )  # fmt: skip


def metric_table(run: IntersectionRun, dialect: str) -> Table:
    """The six metrics by task in one dialect. A policy whose success is clearly below the best one's does not compete:
    an early failure makes few steps and a short sum."""
    contenders = [label for label in run.labels if label not in run.privileged]
    arriving = {
        (traffic, title): within_reach(
            {label: outcome_ratios(run.choose(traffic, label, task))[0] for label in contenders}
        )
        for traffic in run.traffic
        for title, (task, _) in TASK_PARTS.items()
    }
    title, name, about = {
        DEFINITION: (
            "Control quality by definition",
            "intersection_metrics",
            "Means over the episodes that have a value, with bootstrap intervals. Jerks are magnitudes of the third "
            "derivative of position; deviations from destination and heading are of the episodes that left the area on "
            "the right side.",
        ),
        PROGRAM: (
            "Control quality as IntersectNav's program counts (dialect intersectnav-code)",
            "intersection_metrics_code",
            "Ego jerk: steps with a steer beyond ±0.4 plus steps with a throttle above 0.9. Other jerk: sum over steps "
            "of the people whom the program takes for disturbed. Deviation from waypoint: the sum over steps. "
            "Deviations of destination and heading: of every episode, wherever it ended.",
        ),
    }[dialect]
    notes = (about, "Policies whose success is clearly below the best one's (intervals do not meet) are never marked.")
    columns = METRIC_COLUMNS[dialect]
    return _table(run, name, title, "Task", columns, TASK_PARTS, metric_means(dialect), notes, arriving)


def _table(
    run: IntersectionRun,
    name: str,
    title: str,
    key: str,
    columns: tuple[Column, ...],
    parts: Mapping[str, Part],
    estimates: Estimates,
    notes: tuple[str, ...],
    arriving: Mapping[tuple[str, str], set[str]] | None = None,
    marked: Collection[str] = ("success",),
) -> Table:
    """A section for each kind of traffic; for each policy a row per part, (task, place), that it drove."""
    sections = []
    for traffic in run.traffic:
        rows = []
        for label in run.labels:
            for part, (task, place) in parts.items():
                if own := run.choose(traffic, label, task, place):
                    found = zip(columns, estimates(own), strict=True)
                    cells = tuple(Cell(estimate, column.format) for column, estimate in found)
                    secret, kind = label in run.privileged, run.classes[label]
                    rows.append(Row(label, (part,), HERE, cells, secret, observation=kind))

        def competes(row: Row, column: Column, cell: Cell, traffic: str = traffic) -> bool:
            return column.name in marked if arriving is None else row.policy in arriving[traffic, row.keys[0]]

        best = mark_best(rows, columns, competes, among=lambda row: row.keys[0])
        sections.append(Section(traffic, TRAFFIC_TITLES[traffic], tuple(best)))
    fields = f"table section policy {key.lower()} origin metric title unit n of value low high best privileged"
    form = csv_form(fields, keep_empty=False)
    return Table(name, title, columns, tuple(sections), form, (key,), notes, grouped=True)


def _counted(run: IntersectionRun) -> str:
    """How many episodes the numbers are over, and in which weathers."""
    counted = []
    for traffic in run.traffic:
        counts = sorted({len(own) for label in run.labels if (own := run.choose(traffic, label))})
        counted.append(f"{' or '.join(map(str, counts))} in {traffic}")
    weathers = ", ".join(sorted({each.weather for each in run.episodes if each.weather})) or "not known"
    return (
        f"Episodes per policy: {', '.join(counted)}. Weather: {weathers}. The best of a row's kind is bold (on a page: "
        f"★), among policies with at least {LEAST_FOR_A_STAR} episodes."
    )
