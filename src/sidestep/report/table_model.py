"""A table as data: columns, sections, rows and cells, each cell an estimate with its 95 % interval
(``sidestep.metrics.estimates``), and the rules for the best of a column and for averages. ``table_writer`` writes it in
every form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, log10

from sidestep.interfaces import Direction
from sidestep.metrics.estimates import Estimate
from sidestep.metrics.observed import ObservationClass, races

LEAST_FOR_A_STAR = 10
"""A mean over fewer values is never marked as the best."""
HERE, PUBLISHED, AVERAGE = "here", "published", "average"
NONE = "–"
ARROWS: dict[str, str] = {"higher": "↑", "lower": "↓", "none": ""}


@dataclass(frozen=True)
class NumberFormat:
    """How a number is printed: ``decimals`` of value × ``factor``; None: three significant digits."""

    decimals: int | None = 2
    factor: float = 1.0
    unit: str = ""
    """Follows the number, where a column's numbers have different units."""
    sign: bool = False
    """Whether positive numbers have a plus sign."""

    def text(self, value: float, sd: float | None = None) -> str:
        """``1.15 ± 0.23 ms``; the sign of a negative number is a minus, not a hyphen."""
        shown = [number * self.factor for number in (value, sd) if number is not None]
        parts = [significant(number) if self.decimals is None else f"{number:.{self.decimals}f}" for number in shown]
        plus = "+" if self.sign and value > 0 else ""
        return f"{plus}{' ± '.join(parts)}{self.unit and f' {self.unit}'}".replace("-", "−")


def significant(value: float) -> str:
    """Three significant digits, no exponent between 0.001 and 100 000."""
    size = abs(value)
    if size == 0:
        return "0"
    if not 1e-3 <= size < 1e5:
        return f"{value:.2g}"
    return f"{value:.{max(0, 2 - floor(log10(size)))}f}"


PLAIN = NumberFormat()


@dataclass(frozen=True)
class Column:
    """``group`` stands above the titles of neighbouring columns. ``symbol`` follows the title: an arrow for what is
    better, or a sign that notes explain."""

    name: str
    title: str
    group: str = ""
    unit: str = ""
    better: Direction = "none"
    """``none``: no value is marked as the best."""
    symbol: str = ""
    format: NumberFormat = PLAIN
    definition: str = ""
    csv_unit: str | None = None
    """Unit of the numbers in a CSV file, where people see another one."""

    @property
    def heading(self) -> str:
        """``Straight SR (m) ↑``."""
        unit = f"({self.unit})" if self.unit else ""
        return " ".join(part for part in (self.group, self.title, unit, self.symbol) if part)


@dataclass(frozen=True)
class Cell:
    """A number and how it is printed."""

    estimate: Estimate = field(default_factory=Estimate)
    format: NumberFormat = PLAIN
    best: bool = False
    written: str = ""
    """Text in place of the number, such as ``24/33``."""

    @property
    def text(self) -> str:
        """``0.87``, ``1.15 ± 0.23``, a bound with its count, or a dash."""
        found = self.estimate
        if self.written or found.bound:
            return self.written or found.bound
        return NONE if found.value is None else self.format.text(found.value, found.sd)

    @property
    def interval(self) -> str:
        """``0.81 … 0.91``, or nothing."""
        found = self.estimate
        if found.bound or found.low is None or found.high is None:
            return ""
        bare = replace(self.format, unit="")
        return f"{bare.text(found.low)} … {bare.text(found.high)}"

    @property
    def counted(self) -> str:
        """``7 of 12`` where some episodes have no value."""
        text = f"{self.estimate.n} of {self.estimate.of}"
        return text if 0 < self.estimate.n < self.estimate.of and self.written != text else ""


@dataclass(frozen=True)
class Row:
    """A policy of ours (``here``), or a row that a paper prints (``published``)."""

    policy: str
    keys: tuple[str, ...]
    """Text of the columns between the policy and the numbers."""
    origin: str
    cells: tuple[Cell, ...]
    privileged: bool = False
    """Sees what the others do not: no part in averages, and never the best."""
    symbol: str = ""
    colour: str = ""
    observation: ObservationClass = "unknown"
    """The class of policies with which it can be compared; ``unknown``: with all."""

    @property
    def title(self) -> str:
        """The policy; published and privileged ones bear a symbol."""
        return self.policy + (" (privileged)" if self.privileged else self.symbol)


@dataclass(frozen=True)
class Section:
    """Rows that belong together: a place, or a metric."""

    name: str
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class CsvForm:
    """A CSV file in long form: its headers, each with the field of a line that it shows (``table_writer``)."""

    fields: Mapping[str, str]
    keep_empty: bool = True
    """Whether cells without a value and without episodes have a line, too."""


def csv_form(names: str, keep_empty: bool = True, **renamed: str) -> CsvForm:
    """Headers in order, separated by spaces; ``renamed``: header → field, where these differ."""
    return CsvForm({name: renamed.get(name, name) for name in names.split()}, keep_empty)


@dataclass(frozen=True)
class Table:
    """``name`` is also that of its files."""

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    csv: CsvForm
    keys: tuple[str, ...] = ()
    """Headings of ``Row.keys``."""
    notes: tuple[str, ...] = ()
    side_by_side: bool = False
    """Whether the paper prints the sections beside each other."""
    grouped: bool = False
    """Whether several rows of one policy follow each other under one head."""
    facts: Mapping[str, str] = field(default_factory=dict)
    """Fields that are the same in every line of the CSV file."""
    people: str = ""
    """Recorded, generated or mixed; empty: not said in the table itself."""
    head: str = "Policy"
    """Heading of the rows' names."""

    @property
    def rows(self) -> tuple[Row, ...]:
        """The rows of all sections."""
        return tuple(row for section in self.sections for row in section.rows)

    def line_above(self, section: Section, index: int) -> str:
        """What parts a row from the one above: ``parted``, ``first`` (of a policy's rows) or nothing."""
        if not index:
            return ""
        above, row = section.rows[index - 1], section.rows[index]
        if not self.grouped:
            return "parted" if row.origin != above.origin else ""
        if row.privileged and not above.privileged:
            return "parted"
        return "first" if row.policy != above.policy else ""

    def rows_under_head(self, section: Section, index: int) -> int:
        """Rows that share the head that begins at ``index``; 0 where none begins."""
        if not self.grouped:
            return 1
        policy = section.rows[index].policy
        if index and section.rows[index - 1].policy == policy:
            return 0
        return sum(row.policy == policy for row in section.rows)


def average_row(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """The mean of the policies' numbers, without the privileged; none of a single policy."""
    rows = [row for row in rows if not row.privileged]
    if len(rows) < 2:
        return []
    cells = []
    for index, column in enumerate(columns):
        values = [value for row in rows if (value := row.cells[index].estimate.value) is not None]
        found = Estimate(sum(values) / len(values), None, None, len(values), len(values)) if values else Estimate()
        cells.append(Cell(found, column.format))
    return [Row(AVERAGE, ("",) * len(rows[0].keys), HERE, tuple(cells))]


def mark_best(
    rows: Sequence[Row],
    columns: Sequence[Column],
    competes: Callable[[Row, Column, Cell], bool] = lambda row, column, cell: True,
    among: Callable[[Row], str] = lambda row: row.origin,
) -> list[Row]:
    """The best of each column in each group of rows (``among``), and all that are printed alike; none where all are
    alike. Privileged policies, bounds, and numbers of ours over fewer than ``LEAST_FOR_A_STAR`` episodes do not
    compete, nor what ``competes`` leaves out. Policies that do not observe the same are in races of their own."""
    inside = races({row.policy: row.observation for row in rows if not row.privileged})
    if len(inside) > 1:
        return _best_of_races(rows, columns, competes, among, inside)
    marked = [list(row.cells) for row in rows]
    for index, column in enumerate(columns):
        for group in dict.fromkeys(map(among, rows)) if column.better != "none" else ():
            known = {
                k: cell
                for k, row in enumerate(rows)
                if among(row) == group and _counts(row, cell := row.cells[index]) and competes(row, column, cell)
            }
            if len({cell.text for cell in known.values()}) < 2:
                continue
            choose: Callable[..., Cell] = max if column.better == "higher" else min
            winner = choose(known.values(), key=lambda cell: cell.estimate.value)
            for k, cell in known.items():
                marked[k][index] = replace(cell, best=cell.text == winner.text)
    return [replace(row, cells=tuple(cells)) for row, cells in zip(rows, marked, strict=True)]


def _best_of_races(
    rows: Sequence[Row],
    columns: Sequence[Column],
    competes: Callable[[Row, Column, Cell], bool],
    among: Callable[[Row], str],
    inside: Sequence[frozenset[str]],
) -> list[Row]:
    """A cell is the best if it is the best in all races of its policy. A policy that observes nothing is in all
    races."""
    marked = [replace(row, cells=tuple(replace(cell, best=True) for cell in row.cells)) for row in rows]
    everybody = frozenset().union(*inside)
    for k, row in enumerate(rows):
        marked[k] = marked[k] if row.policy in everybody else row
    for race in inside:
        runners = [k for k, row in enumerate(rows) if row.policy in race]
        same = [replace(rows[k], observation="unknown") for k in runners]
        for k, row in zip(runners, mark_best(same, columns, competes, among), strict=True):
            pairs = zip(marked[k].cells, row.cells, strict=True)
            marked[k] = replace(marked[k], cells=tuple(replace(old, best=old.best and new.best) for old, new in pairs))
    return marked


def _counts(row: Row, cell: Cell) -> bool:
    if cell.estimate.value is None or cell.estimate.bound or row.privileged:
        return False
    return row.origin == PUBLISHED or cell.estimate.n >= LEAST_FOR_A_STAR


def within_reach(estimates: Mapping[str, Estimate]) -> set[str]:
    """Policies whose value is not clearly below the best one's: their intervals meet. All if the best has no
    interval, or if none has a value."""
    known = {name: found for name, found in estimates.items() if found.value is not None}
    if not known:
        return set(estimates)
    best = max(known.values(), key=lambda found: found.value or 0.0)
    if best.low is None:
        return set(estimates)
    least = best.low
    return {name for name, found in known.items() if found.high is None or found.high >= least}
