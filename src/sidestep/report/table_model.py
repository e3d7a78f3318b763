"""A table as data: columns, sections, rows and cells, each cell an estimate with its 95 % interval, and the rules for
the best of a column and for averages. Says nothing about how a table is written. ``clusters`` of an estimate: what
each episode shares with others (a town, a site); episodes that share it are resampled together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sidestep.metrics.rates import pooled_rate
from sidestep.metrics.statistics import bootstrap_means, number_clusters, proportion, resampled_sums
from sidestep.report.summary import LEAST_FOR_A_STAR
from sidestep.types.base import FloatArray, IntArray

CONFIDENCE = 0.95
RESAMPLES = 2000


@dataclass(frozen=True)
class Estimate:
    """``n`` of ``of`` episodes have a value. ``value`` None: none has; ``low`` and ``high`` None: too few have."""

    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    of: int = 0
    bound: str = ""
    """Of a rate over too few metres, which has no value: its bound and count."""


def _known(values: Sequence[float | None], clusters: Sequence[str] | None) -> tuple[FloatArray, IntArray | None]:
    """The values that there are, and their clusters where some repeat."""
    places = [k for k, value in enumerate(values) if value is not None]
    numbers = number_clusters([clusters[k] for k in places]) if clusters else None
    return np.array([values[k] for k in places], dtype=np.float64), numbers


def rate(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Share of episodes in which something holds (1, else 0), with Wilson's interval."""
    known, numbers = _known(values, clusters)
    if not len(known):
        return Estimate(of=len(values))
    return Estimate(float(known.mean()), *proportion(known, CONFIDENCE, numbers), len(known), len(values))


def mean(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Mean over the episodes that have a value, with the bootstrap's interval; no interval where all values are 0."""
    known, numbers = _known(values, clusters)
    if not len(known):
        return Estimate(of=len(values))
    if len(known) < 2 or not known.any():
        return Estimate(float(known[0]), None, None, len(known), len(values))
    low, high = bootstrap_means(known[None], CONFIDENCE, resamples=RESAMPLES, clusters=numbers)
    return Estimate(float(known.mean()), float(low[0]), float(high[0]), len(known), len(values))


def share(values: Sequence[float | None], clusters: Sequence[str] | None = None) -> Estimate:
    """Mean of shares, 0 to 1; where all are 0 or 1 they are a rate, of which the bootstrap would say too much."""
    if {value for value in values if value is not None} <= {0.0, 1.0}:
        return rate(values, clusters)
    found = mean(values, clusters)
    if found.low is None or found.high is None:
        return found
    return replace(found, low=max(found.low, 0.0), high=min(found.high, 1.0))


def ratio_of_sums(above: Sequence[float], below: Sequence[float], factor: float = 1.0) -> Estimate:
    """``factor`` · Σ above ÷ Σ below, so that long episodes count for more. Interval: episodes are resampled and both
    sums taken anew (percentiles)."""
    pair = np.array([above, below], dtype=np.float64)
    n = pair.shape[1]
    if not n or pair[1].sum() <= 0:
        return Estimate(of=n)
    value = float(factor * pair[0].sum() / pair[1].sum())
    if n < 2 or value == 0:
        return Estimate(value, None, None, n, n)
    sums = resampled_sums(pair, RESAMPLES, seed=0)
    ratios = factor * sums[0][sums[1] > 0] / sums[1][sums[1] > 0]
    low, high = np.quantile(ratios, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(value, float(low), float(high), n, n)


def count_rate(counts: Sequence[float], ways: Sequence[float], clusters: Sequence[str] | None = None) -> Estimate:
    """Counts per 100 m of all ways together; over less than 100 m a bound with the count."""
    names = list(clusters) if clusters else None
    found = pooled_rate(np.array(counts, float), np.array(ways, float), names, CONFIDENCE, RESAMPLES)
    if not len(counts):
        return Estimate()
    return Estimate(found.value, found.low, found.high, len(counts), len(counts), found.bound)


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
