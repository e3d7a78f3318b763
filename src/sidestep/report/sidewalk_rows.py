"""Rows and cells of the sidewalk tables: ours with their intervals, and those that the paper prints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from sidestep.report.sidewalk_estimates import Estimate
from sidestep.report.summary import LEAST_FOR_A_STAR

HERE, PUBLISHED = "here", "published"
AVERAGE = "average"
NONE = "–"


@dataclass(frozen=True)
class Column:
    """``group`` stands above the titles of neighbouring columns."""

    name: str
    title: str
    group: str = ""
    unit: str = ""
    better: str = "higher"
    """``higher``, ``lower`` or nothing: then no value is marked as the best."""
    decimals: int = 2

    @property
    def heading(self) -> str:
        """``Straight SR ↑``."""
        arrow = {"higher": "↑", "lower": "↓"}.get(self.better, "")
        unit = f"({self.unit})" if self.unit else ""
        return " ".join(part for part in (self.group, self.title, unit, arrow) if part)


@dataclass(frozen=True)
class Cell:
    """A number and how it is printed."""

    estimate: Estimate = field(default_factory=Estimate)
    decimals: int = 2
    best: bool = False

    @property
    def text(self) -> str:
        """``0.87``, a bound with its count, or a dash."""
        if self.estimate.bound:
            return self.estimate.bound
        return NONE if self.estimate.value is None else f"{self.estimate.value:.{self.decimals}f}"

    @property
    def interval(self) -> str:
        """``0.81 … 0.91``, or nothing."""
        if self.estimate.bound or self.estimate.low is None or self.estimate.high is None:
            return ""
        return f"{self.estimate.low:.{self.decimals}f} … {self.estimate.high:.{self.decimals}f}"


@dataclass(frozen=True)
class Row:
    """A policy of ours (``here``), or a row that the paper prints (``published``)."""

    policy: str
    sees: str
    origin: str
    cells: tuple[Cell, ...]
    privileged: bool = False
    """Sees what the others do not: no part in averages, and never the best."""

    @property
    def title(self) -> str:
        """The policy; published and privileged ones bear a mark."""
        if self.privileged:
            return f"{self.policy} (privileged)"
        return f"{self.policy} †" if self.origin == PUBLISHED else self.policy


@dataclass(frozen=True)
class Section:
    """Rows that belong together: a place, or a metric."""

    name: str
    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Table:
    """``name`` is also that of its files. ``side_by_side``: the paper prints the sections beside each other."""

    name: str
    title: str
    columns: tuple[Column, ...]
    sections: tuple[Section, ...]
    notes: tuple[str, ...]
    side_by_side: bool = False


def average_row(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """The mean of the policies' numbers, as the paper has one, without the privileged; none of a single policy."""
    rows = [row for row in rows if not row.privileged]
    if len(rows) < 2:
        return []
    cells = []
    for place, column in enumerate(columns):
        values = [value for row in rows if (value := row.cells[place].estimate.value) is not None]
        found = Estimate(sum(values) / len(values), None, None, len(values), len(values)) if values else Estimate()
        cells.append(Cell(found, column.decimals))
    return [Row(AVERAGE, "", HERE, tuple(cells))]


def printed_row(name: str, numbers: Sequence[float | None], columns: Sequence[Column]) -> Row:
    """A row of the paper; columns of ours at the end are empty."""
    padded = [*numbers, *[None] * (len(columns) - len(numbers))]
    cells = tuple(Cell(Estimate(number), column.decimals) for number, column in zip(padded, columns, strict=True))
    return Row(name, "camera", PUBLISHED, cells)


def mark_best(rows: Sequence[Row], columns: Sequence[Column]) -> list[Row]:
    """The best of each column among these rows, and all that are printed alike; nobody where all are alike. Privileged
    policies and numbers of ours over fewer than ``LEAST_FOR_A_STAR`` episodes do not compete."""
    marked = [list(row.cells) for row in rows]
    for place, column in enumerate(columns):
        known = {k: row.cells[place] for k, row in enumerate(rows) if _competes(row, row.cells[place])}
        if not column.better or len({cell.text for cell in known.values()}) < 2:
            continue
        choose: Callable[..., Cell] = max if column.better == "higher" else min
        winner = choose(known.values(), key=lambda cell: cell.estimate.value)
        for k, cell in known.items():
            marked[k][place] = replace(cell, best=cell.text == winner.text)
    return [replace(row, cells=tuple(cells)) for row, cells in zip(rows, marked, strict=True)]


def _competes(row: Row, cell: Cell) -> bool:
    if cell.estimate.value is None or row.privileged:
        return False
    return row.origin == PUBLISHED or cell.estimate.n >= LEAST_FOR_A_STAR
