"""Tables 2, 5, 6 and 7 of the SidewalkBench paper for our runs, with intervals, and what it published beside them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from sidestep.interfaces import Direction
from sidestep.metrics.estimates import Estimate, count_rate, mean, metric_kind, ratio_of_sums
from sidestep.report.papers.sidewalkbench.episodes import (
    BEHAVIOURS,
    LONG,
    REACTIVE,
    SETTINGS,
    UNIT,
    LongRoute,
    SidewalkEpisode,
    SidewalkRun,
    published,
)
from sidestep.report.table_model import (
    ARROWS,
    HERE,
    LEAST_FOR_A_STAR,
    NONE,
    PUBLISHED,
    Cell,
    Column,
    NumberFormat,
    Row,
    Section,
    Table,
    average_row,
    csv_form,
    mark_best,
    within_reach,
)
from sidestep.suites.sidewalk.routes import UNIT_KINDS
from sidestep.suites.sidewalk.scenarios import BEHAVIOURS as REACTIVE_BEHAVIOURS

SETTING_TITLES = {
    "town": "Towns (published: procedurally generated scenes)",
    "real": "Hand-made places (published: scanned places)",
}
PUBLISHED_NOTE = (
    "† Published elsewhere: printed in the SidewalkBench paper, measured in another simulator on other scenes, and not "
    "by this project. All nine models see a camera's pictures only. Not comparable number by number."
)


SIDEWALK_CSV = csv_form(
    "table section policy sees origin metric title unit n of value low high best bound privileged", keep_empty=False
)


def _column(name: str, title: str, group: str = "", unit: str = "", better: Direction = "higher") -> Column:
    return Column(name, title, group, unit, better, ARROWS[better])


def _table(
    name: str, title: str, columns: tuple[Column, ...], sections: Sequence[Section], notes: tuple[str, ...],
    side_by_side: bool = False,
) -> Table:  # fmt: skip
    return Table(name, title, columns, tuple(sections), SIDEWALK_CSV, ("Sees",), notes, side_by_side)


def printed_row(name: str, numbers: Sequence[float | None], columns: Sequence[Column]) -> Row:
    """A row of the paper; columns of ours at the end are empty."""
    padded = [*numbers, *[None] * (len(columns) - len(numbers))]
    return Row(name, ("camera",), PUBLISHED, tuple(Cell(Estimate(number)) for number in padded), symbol=" †")


Estimator = Callable[[Sequence[SidewalkEpisode]], Estimate]


def _of(metric: str) -> Estimator:
    """The mean of a metric, in clusters of episodes in one town or place."""
    return lambda episodes: mean(
        [each.values.get(metric) for each in episodes], [each.cluster for each in episodes], metric_kind(metric)
    )


UNIT_METRICS: dict[str, Estimator] = {"SR": _of("success"), "SPL": _of("spl"), "RC": _of("route_completion")}


def sidewalk_tables(run: SidewalkRun) -> list[Table]:
    """Tables of the suites that ran, in the paper's order."""
    makers = ((REACTIVE, behaviour_table), (UNIT, unit_table), (REACTIVE, people_table), (LONG, long_table))
    made = [make(run) for suite, make in makers if run.has(suite)]
    missing = f"{run.missing} episodes could not be read or have no known kind; they are left out."
    warnings = [missing] if run.missing else []
    return [replace(table, notes=(*table.notes, *warnings, PUBLISHED_NOTE)) for table in made]


def behaviour_table(run: SidewalkRun) -> Table:
    """Table 2: success by behaviour."""
    columns = (*(_column(kind, kind.capitalize()) for kind in BEHAVIOURS), _column("all", "All eight"))
    rows = _judged_rows(run, columns, _of("success"))
    theirs = [printed_row(model.name, model.success, columns) for model in published().models]
    rows += [*mark_best(theirs, columns), printed_row("Average, as printed", published().average.success, columns)]
    notes = (
        "Share of episodes that succeeded, with Wilson's 95 % interval; static: the same straight routes without "
        "people. All eight: the episodes of the eight behaviours together, in clusters of those in one town. Success "
        "is to reach the goal, but in gesturing to stop for the person who raises a hand.",
        _counted(run, REACTIVE),
    )
    title = "Success rate by behaviour (Table 2 of the SidewalkBench paper)"
    sections = [Section("success", "Success rate", tuple(rows)), *_missed_events(run, columns)]
    return _table("sidewalk_table2", title, columns, sections, notes)


def _missed_events(run: SidewalkRun, columns: Sequence[Column]) -> list[Section]:
    """How many episodes ended before their event began; nothing where no episode says so."""

    def missed(episodes: Sequence[SidewalkEpisode]) -> Estimate:
        staged = [each.item.scores.event for each in episodes if each.item.scores.event]
        return Estimate(float(staged.count("missed")), n=len(staged), of=len(staged)) if staged else Estimate()

    rows = _behaviour_rows(run, [replace(column, format=NumberFormat(0)) for column in columns], missed)
    if not any(cell.estimate.n for row in rows for cell in row.cells):
        return []
    return [Section("event_missed", "Episodes that ended before their event (number)", tuple(rows))]


def unit_table(run: SidewalkRun) -> Table:
    """Table 5: success, SPL and route completion by kind of sidewalk and place."""
    columns = tuple(
        _column(f"{kind}_{name.lower()}", name, kind.capitalize()) for kind in UNIT_KINDS for name in UNIT_METRICS
    )
    sections = []
    for setting in SETTINGS:
        rows = []
        for label in run.labels_of(UNIT, setting):
            parts = [run.choose(UNIT, label, kind, setting) for kind in UNIT_KINDS]
            estimates = [estimate(part) for part in parts for estimate in UNIT_METRICS.values()]
            rows.append(_row(run, label, columns, estimates))
        rows = mark_best(rows, columns)
        theirs = [
            printed_row(model.name, [number for kind in UNIT_KINDS for number in model.unit[setting][kind]], columns)
            for model in published().models
        ]
        sections.append(Section(setting, SETTING_TITLES[setting], (*rows, *mark_best(theirs, columns))))
    notes = (
        "SR success rate (Wilson's 95 % interval), SPL success weighted by path length, RC route completion (means "
        "with bootstrap intervals, Wilson's where all are 0 or 1), in clusters of episodes in one town or place. The "
        "shortest path of SPL is the route up to the goal's circle, where a drive ends.",
        _counted(run, UNIT),
    )
    title = "Lane keeping by kind of sidewalk (Table 5 of the SidewalkBench paper)"
    return _table("sidewalk_table5", title, columns, sections, notes, side_by_side=True)


def people_table(run: SidewalkRun) -> Table:
    """Table 6: how people were treated, and what we measure beyond it."""
    columns = tuple(_column(kind, kind.capitalize(), better="none") for kind in REACTIVE_BEHAVIOURS)
    average = published().average.people
    parts: list[tuple[str, str, Direction, Estimator]] = [
        ("pedestrian_collision_rate", "Pedestrian collision rate ↓", "lower", _of("pedestrian_contact")),
        ("minimum_pedestrian_distance", "Minimum pedestrian distance, successful episodes (m) ↑", "higher",
         _of("success_pedestrian_distance")),
        ("social_compliance", "Social compliance ↑ (ours)", "higher", _of("social_compliance")),
        ("wait_obedience", "Obedience to stop gestures ↑ (ours)", "higher", _of("wait_obedience")),
        ("proceed_obedience", "Obedience to go-on gestures ↑ (ours)", "higher", _of("proceed_obedience")),
    ]  # fmt: skip
    sections = []
    for name, title, better, estimate in parts:
        judged = tuple(replace(column, better=better) for column in columns)
        rows = _judged_rows(run, judged, estimate)
        if name in average:
            rows += [*_printed_people(name, judged), printed_row("Average, as printed", average[name], judged)]
        elif not any(cell.estimate.n for row in rows for cell in row.cells):
            continue
        sections.append(Section(name, title, tuple(rows)))
    notes = (
        "Collision rate: share of episodes in which anybody was touched (Wilson). Distance: least distance between the "
        "centres of the robot and anybody, mean over the episodes that succeeded (bootstrap); the paper does not say "
        "between which points. Social compliance: success, and nobody's intimate space (0.45 m between bodies) "
        "entered. Obedience: share of the gestures made to the robot that it followed.",
        _counted(run, REACTIVE),
    )
    title = "How people were treated (Table 6 of the SidewalkBench paper, and more)"
    return _table("sidewalk_table6", title, columns, sections, notes)


LONG_COLUMNS = (
    _column("fc", "FC", unit="/100 m", better="lower"),
    _column("c", "C", unit="/100 m", better="lower"),
    _column("ol", "OL", unit="/100 m", better="lower"),
    _column("f", "F", unit="/100 m", better="lower"),
    _column("v", "V", unit="m/s"),
    _column("rc", "RC"),
    _column("km", "Driven", unit="km", better="none"),
)


def long_table(run: SidewalkRun) -> Table:
    """Table 7: failures per 100 m and mean velocity."""
    sections = []
    for setting in SETTINGS:
        labels = run.labels_of(LONG, setting)
        rows = [
            _row(run, label, LONG_COLUMNS, long_estimates(run.choose(LONG, label, setting=setting))) for label in labels
        ]
        theirs = [printed_row(model.name, model.long[setting], LONG_COLUMNS) for model in published().models]
        own = mark_arriving(rows)
        sections.append(Section(setting, SETTING_TITLES[setting], (*own, *mark_best(theirs, LONG_COLUMNS))))
    notes = (
        "FC failures per 100 m: C collisions, OL out of lane, F freezing; sums over all episodes, divided by the "
        "distance that the robot drove itself. Over less than 100 m in all there is no rate, but a bound (Poisson's "
        "97.5 % limit) with the count. V: that distance divided by the time. Intervals: episodes resampled "
        "(bootstrap); where nothing was counted the upper limit is Poisson's. RC: mean route completion, of which "
        "metres over which the robot was carried are no part; a policy whose route completion is clearly below the "
        "best one's (their intervals do not meet) is never the best of a column.",
        _counted(run, LONG),
    )
    title = "Long routes (Table 7 of the SidewalkBench paper)"
    return _table("sidewalk_table7", title, LONG_COLUMNS, sections, notes, side_by_side=True)


def mark_arriving(rows: Sequence[Row]) -> list[Row]:
    """The best of each column among policies whose route completion is not clearly below the best one's (the intervals
    meet): whoever drives in circles fails rarely per 100 m."""
    completion = [column.name for column in LONG_COLUMNS].index("rc")
    arriving = within_reach({row.policy: row.cells[completion].estimate for row in rows if not row.privileged})
    return mark_best(rows, LONG_COLUMNS, lambda row, *_: row.policy in arriving)


def long_estimates(episodes: Sequence[SidewalkEpisode]) -> list[Estimate]:
    """FC, C, OL, F, V, RC and the distance driven, of one policy."""
    drives: list[LongRoute] = [each.drive for each in episodes if each.drive is not None]
    distances_m = [drive.distance_m for drive in drives]
    clusters = [each.cluster for each in episodes if each.drive is not None]
    counts = (
        [drive.failures for drive in drives],
        [drive.collisions for drive in drives],
        [drive.off_route for drive in drives],
        [drive.freezes for drive in drives],
    )
    return [
        *(count_rate(count, distances_m, clusters) for count in counts),
        ratio_of_sums(distances_m, [drive.time_s for drive in drives], clusters=clusters),
        _of("route_completion")(episodes),
        Estimate(sum(distances_m) / 1000.0, n=len(drives), of=len(drives)),
    ]


def _printed_people(name: str, columns: Sequence[Column]) -> list[Row]:
    """The models' rows of Table 6. Those that never succeed do not compete, as in the paper."""
    never: list[Row] = []
    others: list[Row] = []
    for model in published().models:
        row = printed_row(model.name, model.people[name], columns)
        (others if any(model.success) else never).append(row)
    return [*never, *mark_best(others, columns)]


def _behaviour_rows(run: SidewalkRun, columns: Sequence[Column], estimator: Estimator) -> list[Row]:
    """A row per policy, a column per behaviour; the column ``all`` has the eight together."""
    rows = []
    for label in run.labels_of(REACTIVE):
        estimates = []
        for column in columns:
            kinds = REACTIVE_BEHAVIOURS if column.name == "all" else (column.name,)
            estimates.append(estimator([each for kind in kinds for each in run.choose(REACTIVE, label, kind)]))
        rows.append(_row(run, label, columns, estimates))
    return rows


def _judged_rows(run: SidewalkRun, columns: Sequence[Column], estimator: Estimator) -> list[Row]:
    """The rows with the best marked, and their average."""
    rows = _behaviour_rows(run, columns, estimator)
    return [*mark_best(rows, columns), *average_row(rows, columns)]


def _row(run: SidewalkRun, label: str, columns: Sequence[Column], estimates: Sequence[Estimate]) -> Row:
    cells = tuple(Cell(found, column.format) for column, found in zip(columns, estimates, strict=True))
    secret, kind = label in run.privileged, run.classes[label]
    return Row(label, (run.sees.get(label, NONE),), HERE, cells, secret, observation=kind)


def _counted(run: SidewalkRun, suite: str) -> str:
    """How many episodes the numbers are over."""
    counted = []
    for setting in SETTINGS:
        counts = sorted({len(run.choose(suite, label, setting=setting)) for label in run.labels_of(suite, setting)})
        if counts:
            where = {"town": "in generated towns", "real": "in hand-made places"}[setting]
            counted.append(f"{' or '.join(map(str, counts))} {where}")
    return (
        f"Episodes per policy: {', '.join(counted)}. The best of a column is bold (on a page: ★), among ours (over at "
        f"least {LEAST_FOR_A_STAR} episodes, not privileged) and among theirs. The average leaves out privileged ones."
    )
