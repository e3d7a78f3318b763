"""Tables 2, 3 and 4 of the SocNavBench paper for our runs beside the published values, and the distance of every
policy to the privileged oracle.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from sidestep.metrics.aggregate import aggregate
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
from sidestep.report.summary import LEAST_FOR_A_STAR, contenders
from sidestep.report.table_writer import escape_latex
from sidestep.types.outcome import Outcome
from sidestep.writing import atomic

PUBLISHED = "published"
NONE = "–"


@dataclass(frozen=True)
class Figure:
    """A cell: what people read, and the numbers behind it. ``n`` of ``of`` episodes have a value."""

    text: str = NONE
    mean: float | None = None
    sd: float | None = None
    n: int = 0
    of: int = 0
    best: bool = False


@dataclass(frozen=True)
class Column:
    """``mark``: ``⁺`` over episodes completed by all, ``⁻`` over incomplete ones, nothing over all episodes."""

    name: str
    title: str
    unit: str = ""
    mark: str = ""
    better: str = ""
    """``higher``, ``lower`` or nothing: then no value is marked as the best."""

    @property
    def heading(self) -> str:
        """``Path length (m) ⁺``."""
        return " ".join(part for part in (self.title, f"({self.unit})" if self.unit else "", self.mark) if part)


@dataclass(frozen=True)
class Row:
    """One policy under one set of definitions: a dialect, ``published``, or nothing."""

    policy: str
    definitions: str
    privileged: bool
    cells: tuple[Figure, ...]


@dataclass(frozen=True)
class Table:
    """``name`` is also that of its files."""

    name: str
    title: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    people: str
    notes: tuple[str, ...]


ALL, COMPLETED, INCOMPLETE = "", "⁺", "⁻"
TABLE_2 = (
    Column("success", "Overall success rate", better="higher"),
    Column("failures", "Failure cases (T/PC/EC)"),
    Column("pedestrian_collisions", "Total pedestrian collisions", mark=COMPLETED, better="lower"),
    Column("pedestrian_collisions_all", "Total pedestrian collisions, all episodes"),
    Column("planning_time_avg", "Planning wall time per step", mark=COMPLETED, better="lower"),
)
TABLE_3 = (
    Column("path_length", "Path length", "m", COMPLETED, "lower"),
    Column("path_length_ratio", "Path length ratio", "", COMPLETED, "lower"),
    Column("goal_traversal_ratio", "Goal traversal ratio", "", INCOMPLETE),
    Column("path_irregularity", "Path irregularity", "rad", COMPLETED, "lower"),
    Column("path_traversal_time", "Path traversal time", "s", COMPLETED, "lower"),
)
TABLE_4 = (
    Column("speed_avg", "Average speed", "m/s", COMPLETED),
    Column("energy", "Energy expenditure", "J·s; socnavbench-code and published: J", COMPLETED, "lower"),
    Column("acceleration_avg", "Average acceleration", "m/s²", COMPLETED, "lower"),
    Column("jerk_avg", "Average jerk", "m/s³", COMPLETED, "lower"),
)


def socnav_tables(run: SocnavRun) -> list[Table]:
    """Tables 2, 3 and 4."""
    return [
        _table(run, "table2", "Meta statistics (Table 2 of the SocNavBench paper)", TABLE_2),
        _table(run, "table3", "Path quality (Table 3 of the SocNavBench paper)", TABLE_3),
        _table(run, "table4", "Motion quality (Table 4 of the SocNavBench paper)", TABLE_4),
    ]


def _table(run: SocnavRun, name: str, title: str, columns: tuple[Column, ...]) -> Table:
    rows = []
    for label, episodes in run.by_label.items():
        for dialect in DIALECTS:
            cells = tuple(_figure(run, label, column, dialect) for column in columns)
            rows.append(Row(label, dialect, episodes[0].privileged, cells))
        algorithm = published().algorithms.get(episodes[0].policy)
        if algorithm is not None:
            cells = tuple(_published(algorithm, column) for column in columns)
            rows.append(Row(label, PUBLISHED, episodes[0].privileged, cells))
    return Table(name, title, columns, mark_best(run, rows, columns), run.people, tuple(_notes(run, columns)))


def _figure(run: SocnavRun, label: str, column: Column, dialect: str) -> Figure:
    episodes = run.by_label[label]
    if column.name == "success":
        good = total_of(episodes, "success", dialect)
        return Figure(f"{good}/{len(episodes)}", good / len(episodes), None, len(episodes), len(episodes))
    if column.name == "failures":
        counts = [total_of(episodes, kind, dialect) for kind in FAILURES]
        errors = f" + {counts[3]} policy errors" if counts[3] else ""
        return Figure(f"({'/'.join(map(str, counts[:3]))}){errors}", None, None, len(episodes), len(episodes))
    if column.name == "pedestrian_collisions_all":
        return _sum(episodes, len(episodes), dialect)
    if column.name == "pedestrian_collisions":
        return _sum(run.compared(label), len(run.common), dialect)
    if column.mark == INCOMPLETE:
        unfinished = [each for each in episodes if not each.completed]
        return mean_of([each.value(column.name, dialect) for each in unfinished], len(unfinished), column.name)
    return mean_of([each.value(column.name, dialect) for each in run.compared(label)], len(run.common), column.name)


def total_of(episodes: Sequence[SocnavEpisode], metric: str, dialect: str) -> int:
    """The sum of a count over episodes."""
    return round(sum(each.value(metric, dialect) or 0.0 for each in episodes))


def _sum(episodes: Sequence[SocnavEpisode], of: int, dialect: str) -> Figure:
    if not episodes:
        return Figure(of=of)
    total = total_of(episodes, "pedestrian_collisions", dialect)
    return Figure(str(total), float(total), None, len(episodes), of)


def mean_of(values: Sequence[float | None], of: int, metric: str = "") -> Figure:
    """Mean and sample standard deviation of the values that there are."""
    known = np.array([value for value in values if value is not None])
    if not len(known):
        return Figure(of=of)
    mean, sd = float(known.mean()), float(known.std(ddof=1)) if len(known) > 1 else None
    return Figure(format_spread(mean, sd, metric), mean, sd, len(known), of)


def format_spread(mean: float, sd: float | None, metric: str = "") -> str:
    """``1.15 ± 0.23``; planning times with their unit, since ours and the published ones lie far apart."""
    unit, factor = "", 1.0
    if metric == "planning_time_avg":
        unit, factor = next((pair for pair in ((" s", 1.0), (" ms", 1e3)) if mean * pair[1] >= 0.1), (" µs", 1e6))
    text = f"{mean * factor:.2f}" if sd is None else f"{mean * factor:.2f} ± {sd * factor:.2f}"
    return (text + unit).replace("-", "−")


def _published(algorithm: Algorithm, column: Column) -> Figure:
    of, compared = published().episodes, published().completed_by_all
    if column.name == "success":
        return Figure(f"{algorithm.success}/{of}", algorithm.success / of, None, of, of)
    if column.name == "failures":
        counts = [str(algorithm.failures[kind]) for kind in FAILURES[:3]]
        return Figure(f"({'/'.join(counts)})", None, None, of, of)
    if column.name == "pedestrian_collisions":
        total = algorithm.pedestrian_collisions
        return Figure(str(total), float(total), None, compared, compared)
    spread = algorithm.spread(column.name)
    if spread is None:
        return Figure()
    n = 0 if column.mark == INCOMPLETE else compared
    return Figure(format_spread(*spread, column.name), *spread, n, n)


def mark_best(run: SocnavRun, rows: Sequence[Row], columns: Sequence[Column]) -> tuple[Row, ...]:
    """The best of our means in each column, dialect by dialect; privileged and clearly less successful policies do
    not compete."""
    fair = [each for each in run.episodes if not each.privileged]
    scores = [
        EpisodeScores("socnav", scenario, each.label, seed, Outcome.SUCCESS, "", {"success": success})
        for each in fair
        for (scenario, seed), success in [(each.key, each.scores[DIALECTS[0]]["success"])]
    ]
    candidates = contenders(aggregate(scores)) if scores else set()
    marked = [list(row.cells) for row in rows]
    for place, column in enumerate(columns):
        for definitions in DIALECTS if column.better else ():
            entries = {
                k: cells[place]
                for k, (row, cells) in enumerate(zip(rows, marked, strict=True))
                if row.definitions == definitions and row.policy in candidates and _counts(cells[place], column)
            }
            if len({figure.text for figure in entries.values()}) < 2:
                continue
            choose: Callable[..., Figure] = max if column.better == "higher" else min
            winner = choose(entries.values(), key=lambda figure: figure.mean)
            for k, figure in entries.items():
                marked[k][place] = replace(figure, best=figure.text == winner.text)
    return tuple(replace(row, cells=tuple(cells)) for row, cells in zip(rows, marked, strict=True))


def _counts(figure: Figure, column: Column) -> bool:
    """Whether the figure can be the best: not over too few episodes, and a total only if it is over all of them."""
    if figure.mean is None or figure.n < LEAST_FOR_A_STAR:
        return False
    return column.name != "pedestrian_collisions" or figure.n == figure.of


def _notes(run: SocnavRun, columns: Sequence[Column]) -> list[str]:
    marks = {column.mark for column in columns}
    names = {column.name for column in columns}
    notes = [f"People: {run.people}; {run.circumstances}."]
    if "success" in names:
        notes.append("Success rate and failure cases (timeout/pedestrian/environment collision) are over all episodes.")
    if COMPLETED in marks:
        notes.append(compared_episodes(run))
    if INCOMPLETE in marks:
        notes.append("⁻ over each policy's own incomplete episodes.")
    notes.append(
        "± is the standard deviation over episodes; the paper does not say what its own is over. paper: definitions of "
        "the SocNavBench paper; socnavbench-code: what its program computes; published: the paper's own numbers, over "
        f"the {published().completed_by_all} of {published().episodes} episodes that its four algorithms completed. "
        f"★ best of a column under the same definitions over at least {LEAST_FOR_A_STAR} episodes, among policies "
        "whose success rate is not clearly below the best one's."
    )
    return [*notes, *_warnings(run)]


def _warnings(run: SocnavRun) -> list[str]:
    found = []
    if any(each.privileged for each in run.episodes):
        found.append("Policies below the line are privileged: they know what no other policy does, such as the future.")
    if run.missing:
        found.append(f"{run.missing} records could not be read or are not the ones scored; they are left out.")
    return found


def compared_episodes(run: SocnavRun) -> str:
    """Which episodes the columns marked ⁺ and the plots are over."""
    total = len({each.key for each in run.episodes})
    who = ", ".join(run.setters)
    return (
        f"⁺ over the {len(run.common)} of {total} episodes that every one of {who} completed; any other policy: those "
        "of them that it completed itself."
    )


ORACLE_COLUMNS = (
    Column("success", "Successes (oracle's)"),
    Column("both", "Episodes both complete"),
    Column("time_ratio", "Traversal time ÷ oracle's", "", better="lower"),
    Column("time_more", "Traversal time − oracle's", "s", better="lower"),
    Column("path_ratio", "Path length ÷ oracle's", "", better="lower"),
    Column("path_more", "Path length − oracle's", "m", better="lower"),
)


def oracle_table(run: SocnavRun) -> Table | None:
    """Every other policy against the oracle, episode by episode, where both reach the goal."""
    label = next((label for label, episodes in run.by_label.items() if episodes[0].policy == ORACLE), None)
    if label is None or len(run.by_label) < 2:
        return None
    oracle = {each.key: each for each in run.by_label[label]}
    rows = [
        Row(name, DIALECTS[0], episodes[0].privileged, _against(episodes, oracle))
        for name, episodes in run.by_label.items()
        if name != label
    ]
    notes = (
        f"People: {run.people}; {run.circumstances}.",
        "Successes: over the episodes that both ran. The rest is over the episodes that both complete, with or without "
        "touching people, each paired with the oracle's own; mean ± standard deviation. The oracle knows the people's "
        "future: it is the limit, not a competitor.",
    )
    rows_marked = mark_best(run, rows, ORACLE_COLUMNS)
    return Table("oracle", "Distance to the oracle", ORACLE_COLUMNS, rows_marked, run.people, notes)


def _against(episodes: Sequence[SocnavEpisode], oracle: dict[Key, SocnavEpisode]) -> tuple[Figure, ...]:
    pairs = [(each, oracle[each.key]) for each in episodes if each.key in oracle]
    good, limit = (total_of(side, "success", DIALECTS[0]) for side in zip(*pairs, strict=True)) if pairs else (0, 0)
    both = [(one, other) for one, other in pairs if one.completed and other.completed]
    counts = (
        Figure(f"{good} ({limit})", float(good), None, len(pairs), len(pairs)),
        Figure(f"{len(both)} of {len(pairs)}", float(len(both)), None, len(both), len(pairs)),
    )
    found = []
    for metric in ("path_traversal_time", "path_length"):
        values = [(one.value(metric) or 0.0, other.value(metric) or 0.0) for one, other in both]
        ratios = [own / best for own, best in values if best > 0]
        found += [mean_of(ratios, len(both)), mean_of([own - best for own, best in values], len(both))]
    return (*counts, *found)


CSV_COLUMNS = (
    "policy", "privileged", "people", "definitions", "metric", "title", "n", "of", "mean", "sd", "text", "best",
)  # fmt: skip
PRIVILEGED_MARK = " (privileged)"
_LATEX_SIGNS = {
    "±": r"$\pm$", "÷": r"$\div$", "−": "$-$", "–": "--", "⁺": "$^{+}$", "⁻": "$^{-}$", "²": "$^{2}$", "³": "$^{3}$",
    "·": r"$\cdot$", "µ": r"$\mu$",
}  # fmt: skip


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write ``NAME.md``, ``NAME.tex`` and ``NAME.csv`` into ``folder``; returns the paths."""
    forms = {".md": markdown(table), ".tex": latex(table), ".csv": comma_separated(table)}
    paths = []
    for ending, text in forms.items():
        paths.append(folder / f"{table.name}{ending}")
        with atomic(paths[-1]) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return paths


def shown(figure: Figure) -> str:
    """What people read, with the count where some episodes have no value."""
    return f"{figure.text} ({figure.n} of {figure.of})" if 0 < figure.n < figure.of else figure.text


def line_before(table: Table) -> int | None:
    """The row before which a line parts privileged policies from others; None if there are not both."""
    return next((k + 1 for k, (a, b) in enumerate(pairwise(table.rows)) if b.privileged and not a.privileged), None)


def named(row: Row) -> str:
    """The policy, marked if privileged."""
    return row.policy + PRIVILEGED_MARK if row.privileged else row.policy


def markdown(table: Table) -> str:
    """Title, table, notes. The best are bold."""
    rows = []
    for k, row in enumerate(table.rows):
        if k == line_before(table):
            rows.append(["*privileged:*", *[""] * (len(table.columns) + 1)])
        cells = [f"**{shown(figure)}** ★" if figure.best else shown(figure) for figure in row.cells]
        rows.append([named(row), row.definitions, *cells])
    heads = ["Policy", "Definitions", *(column.heading for column in table.columns)]
    lines = [f"### {table.title}", "", _bars(heads), _bars(["---", "---", *["---:"] * len(table.columns)])]
    lines += [_bars([cell.replace("|", r"\|") for cell in row]) for row in rows]
    return "\n".join([*lines, "", *(f"- {note}" for note in table.notes)]) + "\n"


def _bars(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex(table: Table) -> str:
    """A booktabs table; the best are bold, the notes are comments."""
    lines = [f"% {line}" for line in (table.title + ". Needs the package booktabs.", *table.notes)]
    lines += [rf"\begin{{tabular}}{{ll{'r' * len(table.columns)}}}", r"\toprule"]
    heads = ["Policy", "Definitions", *(column.heading for column in table.columns)]
    lines += [_ampersands([_tex(head) for head in heads]), r"\midrule"]
    for k, row in enumerate(table.rows):
        if k == line_before(table):
            lines.append(r"\midrule")
        cells = [rf"\textbf{{{_tex(shown(cell))}}}" if cell.best else _tex(shown(cell)) for cell in row.cells]
        lines.append(_ampersands([_tex(named(row)), _tex(row.definitions), *cells]))
    people = rf"\multicolumn{{{len(table.columns) + 2}}}{{l}}{{\footnotesize People: {_tex(table.people)}.}} \\"
    return "\n".join([*lines, r"\midrule", people, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _ampersands(cells: list[str]) -> str:
    return " & ".join(cells) + r" \\"


def _tex(text: str) -> str:
    return "".join(_LATEX_SIGNS.get(letter, letter) for letter in escape_latex(text))


def comma_separated(table: Table) -> str:
    """One line per policy, definitions and column, in SI units."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for row in table.rows:
        for column, cell in zip(table.columns, row.cells, strict=True):
            numbers = ["" if number is None else number for number in (cell.mean, cell.sd)]
            head = [row.policy, "yes" if row.privileged else "no", table.people, row.definitions]
            best = "yes" if cell.best else "no"
            writer.writerow([*head, column.name, column.heading, cell.n, cell.of, *numbers, cell.text, best])
    return buffer.getvalue()
