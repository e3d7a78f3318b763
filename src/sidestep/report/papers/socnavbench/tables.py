"""Tables 2, 3 and 4 of the SocNavBench paper for our runs beside the published values, and the distance of every
policy to the privileged oracle.
"""

from __future__ import annotations

from collections.abc import Sequence

from sidestep.interfaces import Direction
from sidestep.metrics.aggregate import aggregate
from sidestep.metrics.estimates import Estimate, mean_with_spread
from sidestep.metrics.score import EpisodeScores
from sidestep.report.papers.socnavbench.episodes import (
    DIALECTS,
    FAILURES,
    ORACLE,
    Algorithm,
    Key,
    SocnavEpisode,
    SocnavRun,
    published,
)
from sidestep.report.summary import contenders
from sidestep.report.table_model import (
    HERE,
    LEAST_FOR_A_STAR,
    PLAIN,
    PUBLISHED,
    Cell,
    Column,
    NumberFormat,
    Row,
    Section,
    Table,
    csv_form,
    mark_best,
)
from sidestep.types.outcome import Outcome

COMPLETED, INCOMPLETE = "⁺", "⁻"
"""Symbols of columns: over episodes completed by all, over incomplete ones; none: over all episodes."""
SOCNAV_CSV = csv_form("policy privileged people definitions metric title n of mean sd text best", mean="value")


def _column(name: str, title: str, unit: str = "", symbol: str = "", better: Direction = "none") -> Column:
    return Column(name, title, unit=unit, symbol=symbol, better=better)


TABLE_2 = (
    _column("success", "Overall success rate", better="higher"),
    _column("failures", "Failure cases (T/PC/EC)"),
    _column("pedestrian_collisions", "Total pedestrian collisions", symbol=COMPLETED, better="lower"),
    _column("pedestrian_collisions_all", "Total pedestrian collisions, all episodes"),
    _column("planning_time_avg", "Planning wall time per step", symbol=COMPLETED, better="lower"),
)
TABLE_3 = (
    _column("path_length", "Path length", "m", COMPLETED, "lower"),
    _column("path_length_ratio", "Path length ratio", "", COMPLETED, "lower"),
    _column("goal_traversal_ratio", "Goal traversal ratio", "", INCOMPLETE),
    _column("path_irregularity", "Path irregularity", "rad", COMPLETED, "lower"),
    _column("path_traversal_time", "Path traversal time", "s", COMPLETED, "lower"),
)
TABLE_4 = (
    _column("speed_avg", "Average speed", "m/s", COMPLETED),
    _column("energy", "Energy expenditure", "J·s; socnavbench-code and published: J", COMPLETED, "lower"),
    _column("acceleration_avg", "Average acceleration", "m/s²", COMPLETED, "lower"),
    _column("jerk_avg", "Average jerk", "m/s³", COMPLETED, "lower"),
)


def socnav_tables(run: SocnavRun) -> list[Table]:
    """Tables 2, 3 and 4."""
    return [
        _paper_table(run, "table2", "Meta statistics (Table 2 of the SocNavBench paper)", TABLE_2),
        _paper_table(run, "table3", "Path quality (Table 3 of the SocNavBench paper)", TABLE_3),
        _paper_table(run, "table4", "Motion quality (Table 4 of the SocNavBench paper)", TABLE_4),
    ]


def _paper_table(run: SocnavRun, name: str, title: str, columns: tuple[Column, ...]) -> Table:
    rows = []
    for label, episodes in run.by_label.items():
        for dialect in DIALECTS:
            cells = tuple(_cell(run, label, column, dialect) for column in columns)
            kind = run.classes[label]
            rows.append(Row(label, (dialect,), HERE, cells, episodes[0].privileged, observation=kind))
        algorithm = published().algorithms.get(episodes[0].policy)
        if algorithm is not None:
            cells = tuple(_published(algorithm, column) for column in columns)
            rows.append(Row(label, (PUBLISHED,), PUBLISHED, cells, episodes[0].privileged, observation=kind))
    return _table(run, name, title, columns, rows, _notes(run, columns))


def _table(
    run: SocnavRun, name: str, title: str, columns: tuple[Column, ...], rows: Sequence[Row], notes: Sequence[str]
) -> Table:
    return Table(
        name=name,
        title=title,
        columns=columns,
        sections=(Section("", "", tuple(_mark_best(run, rows, columns))),),
        csv=SOCNAV_CSV,
        keys=("Definitions",),
        notes=tuple(notes),
        grouped=True,
        people=run.people,
    )


def _cell(run: SocnavRun, label: str, column: Column, dialect: str) -> Cell:
    episodes = run.by_label[label]
    if column.name == "success":
        good = total_of(episodes, "success", dialect)
        return counted(f"{good}/{len(episodes)}", good / len(episodes), len(episodes))
    if column.name == "failures":
        counts = [total_of(episodes, kind, dialect) for kind in FAILURES]
        errors = f" + {counts[3]} policy errors" if counts[3] else ""
        return counted(f"({'/'.join(map(str, counts[:3]))}){errors}", None, len(episodes))
    if column.name == "pedestrian_collisions_all":
        return _sum(episodes, len(episodes), dialect)
    if column.name == "pedestrian_collisions":
        return _sum(run.compared(label), len(run.common), dialect)
    if column.symbol == INCOMPLETE:
        unfinished = [each for each in episodes if not each.completed]
        return mean_of([each.value(column.name, dialect) for each in unfinished], len(unfinished), column.name)
    return mean_of([each.value(column.name, dialect) for each in run.compared(label)], len(run.common), column.name)


def counted(text: str, value: float | None, n: int, of: int | None = None) -> Cell:
    """A count over ``n`` of ``of`` episodes (default: all of them), as the paper writes it."""
    return Cell(Estimate(value, n=n, of=n if of is None else of), written=text)


def total_of(episodes: Sequence[SocnavEpisode], metric: str, dialect: str) -> int:
    """The sum of a count over episodes."""
    return round(sum(each.value(metric, dialect) or 0.0 for each in episodes))


def _sum(episodes: Sequence[SocnavEpisode], of: int, dialect: str) -> Cell:
    if not episodes:
        return Cell(Estimate(of=of))
    total = total_of(episodes, "pedestrian_collisions", dialect)
    return counted(str(total), float(total), len(episodes), of)


def mean_of(values: Sequence[float | None], of: int, metric: str = "") -> Cell:
    """Mean and sample standard deviation of the values that exist."""
    found = mean_with_spread(values, of)
    return Cell(found) if found.value is None else Cell(found, format_of(metric, found.value))


def format_of(metric: str, mean: float) -> NumberFormat:
    """Two decimals; planning times have their unit with them, since ours and the published ones lie far apart."""
    if metric != "planning_time_avg":
        return PLAIN
    if mean >= 0.1:
        return NumberFormat(unit="s")
    return NumberFormat(factor=1e3, unit="ms") if mean * 1e3 >= 0.1 else NumberFormat(factor=1e6, unit="µs")


def _published(algorithm: Algorithm, column: Column) -> Cell:
    of, compared = published().episodes, published().completed_by_all
    if column.name == "success":
        return counted(f"{algorithm.success}/{of}", algorithm.success / of, of)
    if column.name == "failures":
        counts = [str(algorithm.failures[kind]) for kind in FAILURES[:3]]
        return counted(f"({'/'.join(counts)})", None, of)
    if column.name == "pedestrian_collisions":
        return counted(str(algorithm.pedestrian_collisions), float(algorithm.pedestrian_collisions), compared)
    spread = algorithm.spreads.get(column.name)
    if spread is None:
        return Cell()
    n = 0 if column.symbol == INCOMPLETE else compared
    return Cell(Estimate(spread[0], n=n, of=n, sd=spread[1]), format_of(column.name, spread[0]))


def _mark_best(run: SocnavRun, rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """The best of our means in each column, dialect by dialect; clearly less successful policies do not compete, and a
    total only if it is over all episodes."""
    scores = [
        EpisodeScores("socnav", scenario, each.label, seed, Outcome.SUCCESS, "", {"success": success})
        for each in run.episodes
        for (scenario, seed), success in [(each.key, each.scores[DIALECTS[0]]["success"])]
        if not each.privileged
    ]
    candidates = contenders(aggregate(scores)) if scores else set()

    def competes(row: Row, column: Column, cell: Cell) -> bool:
        whole = column.name != "pedestrian_collisions" or cell.estimate.n == cell.estimate.of
        return row.origin == HERE and row.policy in candidates and whole

    return mark_best(rows, columns, competes, among=lambda row: row.keys[0])


def _notes(run: SocnavRun, columns: Sequence[Column]) -> list[str]:
    symbols = {column.symbol for column in columns}
    names = {column.name for column in columns}
    notes = [f"People: {run.people}; {run.conditions}."]
    if "success" in names:
        notes.append("Success rate and failure cases (timeout/pedestrian/environment collision) are over all episodes.")
    if COMPLETED in symbols:
        notes.append(compared_episodes(run))
    if INCOMPLETE in symbols:
        notes.append("⁻ over each policy's own incomplete episodes.")
    notes.append(
        "± is the standard deviation over episodes; the paper does not say what its own is over. paper: definitions of "
        "the SocNavBench paper; socnavbench-code: what its program computes; published: the paper's own numbers, over "
        f"the {published().completed_by_all} of {published().episodes} episodes that its four algorithms completed. "
        f"Bold (on a page: ★): best of a column under the same definitions over at least {LEAST_FOR_A_STAR} episodes, "
        "among policies whose success rate is not clearly below the best one's."
    )
    return [*notes, *_warnings(run)]


def _warnings(run: SocnavRun) -> list[str]:
    found = []
    if any(each.privileged for each in run.episodes):
        found.append("Policies called privileged stand last: they know what no other policy does, such as the future.")
    if run.missing:
        found.append(f"{run.missing} records could not be read or are not the ones scored; they are left out.")
    return found


def compared_episodes(run: SocnavRun) -> str:
    """Which episodes the columns marked ⁺ and the plots are over."""
    total = len({each.key for each in run.episodes})
    deciding = ", ".join(run.deciding_policies)
    return (
        f"⁺ over the {len(run.common)} of {total} episodes that every one of {deciding} completed; any other policy: "
        "those of them that it completed itself."
    )


ORACLE_COLUMNS = (
    _column("success", "Successes (oracle's)"),
    _column("both", "Episodes both complete"),
    _column("time_ratio", "Traversal time ÷ oracle's", "", better="lower"),
    _column("time_more", "Traversal time − oracle's", "s", better="lower"),
    _column("path_ratio", "Path length ÷ oracle's", "", better="lower"),
    _column("path_more", "Path length − oracle's", "m", better="lower"),
)


def oracle_table(run: SocnavRun) -> Table | None:
    """Every other policy against the oracle, episode by episode, where both reach the goal."""
    label = next((label for label, episodes in run.by_label.items() if episodes[0].policy == ORACLE), None)
    if label is None or len(run.by_label) < 2:
        return None
    oracle = {each.key: each for each in run.by_label[label]}
    rows = [
        Row(name, (DIALECTS[0],), HERE, _against(episodes, oracle), episodes[0].privileged)
        for name, episodes in run.by_label.items()
        if name != label
    ]
    notes = (
        f"People: {run.people}; {run.conditions}.",
        "Successes: over the episodes that both ran. The rest is over the episodes that both complete, with or without "
        "touching people, each paired with the oracle's own; mean ± standard deviation. The oracle knows the people's "
        "future: it is the limit, not a competitor.",
    )
    return _table(run, "oracle", "Distance to the oracle", ORACLE_COLUMNS, rows, notes)


def _against(episodes: Sequence[SocnavEpisode], oracle: dict[Key, SocnavEpisode]) -> tuple[Cell, ...]:
    pairs = [(each, oracle[each.key]) for each in episodes if each.key in oracle]
    good, limit = (total_of(side, "success", DIALECTS[0]) for side in zip(*pairs, strict=True)) if pairs else (0, 0)
    both = [(one, other) for one, other in pairs if one.completed and other.completed]
    counts = (
        counted(f"{good} ({limit})", float(good), len(pairs)),
        counted(f"{len(both)} of {len(pairs)}", float(len(both)), len(both), len(pairs)),
    )
    found = []
    for metric in ("path_traversal_time", "path_length"):
        values = [(one.value(metric) or 0.0, other.value(metric) or 0.0) for one, other in both]
        ratios = [own / best for own, best in values if best > 0]
        found += [mean_of(ratios, len(both)), mean_of([own - best for own, best in values], len(both))]
    return (*counts, *found)
