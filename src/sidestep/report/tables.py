"""The summary as CSV (long form, all metrics) and as a LaTeX or Markdown table (key metrics)."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from sidestep.records import atomic
from sidestep.report.summary import Cell, MetricColumn, Summary

CSV_COLUMNS = (
    "suite",
    "policy",
    "metric",
    "unit",
    "direction",
    "episodes",
    "n",
    "mean",
    "low",
    "high",
    "bound",
    "privileged",
)

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
}  # fmt: skip


def write_tables(summaries: Sequence[Summary], stem: Path) -> tuple[Path, Path]:
    """Write ``stem.csv`` and ``stem.tex``, suite by suite; returns the two paths."""
    table, latex = stem.with_suffix(".csv"), stem.with_suffix(".tex")
    with atomic(table) as temporary, temporary.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(CSV_COLUMNS)
        for summary in summaries:
            rows = [(policy, column) for policy in summary.policies for column in summary.columns]
            writer.writerows(_csv_row(summary, policy, column) for policy, column in rows)
    with atomic(latex) as temporary:
        temporary.write_text("\n".join(latex_table(summary) for summary in summaries), encoding="utf-8")
    return table, latex


def _csv_row(summary: Summary, policy: str, column: MetricColumn) -> list[str | int | float]:
    cell = column.cells[policy]
    figures = (cell.mean_value if cell.n and not cell.bound else None, cell.low, cell.high)
    numbers = ["" if figure is None else figure for figure in figures]
    about = [summary.suite, policy, column.name, column.unit, column.direction]
    return [*about, cell.of, cell.n, *numbers, cell.bound, int(policy in summary.privileged)]


def latex_table(summary: Summary) -> str:
    """A booktabs table: policies × key metrics, mean with the 95 % interval, best in bold."""
    columns = summary.key_columns
    arrows = {"higher": r" $\uparrow$", "lower": r" $\downarrow$", "none": ""}
    heads = [escape_latex(column.title) + arrows[column.direction] for column in columns]
    below = [r"\%" if column.unit == "0/1" else escape_latex(column.shown_unit) for column in columns]
    lines = [
        f"% Suite {summary.suite}. Needs the package booktabs. Mean and 95 % interval, the best of a column in bold.",
        *(f"% {note}" for note in summary.notes),
        rf"\begin{{tabular}}{{l{'r' * len(columns)}}}",
        r"\toprule",
        " & ".join(["Policy", *heads]) + r" \\",
        " & ".join(["", *below]) + r" \\",
        r"\midrule",
        *(
            " & ".join(
                [escape_latex(summary.title(policy)), *(_latex_cell(column.cells[policy]) for column in columns)]
            )
            + r" \\"
            for policy in summary.policies
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join(lines) + "\n"


def markdown_tables(summaries: Sequence[Summary], people: str) -> str:
    """A table per suite. ``people``: recorded, generated or mixed."""
    return "\n".join(markdown_table(summary, people) for summary in summaries)


def markdown_table(summary: Summary, people: str) -> str:
    """Policies × key metrics, mean with the 95 % interval, best in bold; what to know below."""
    columns = summary.key_columns
    heads = ["Policy", *(f"{column.title} ({column.short_unit})".replace(" ()", "") for column in columns)]
    rows = [
        [summary.title(policy), *(_markdown_cell(column.cells[policy]) for column in columns)]
        for policy in summary.policies
    ]
    lines = [heads, ["---", *["---:"] * len(columns)], *rows]
    table = "\n".join(f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |" for line in lines)
    told = [f"Suite {summary.suite}. People: {people}. Mean [95 % interval] over the episodes that have a value."]
    return f"{table}\n\n{' '.join([*told, *summary.notes])}\n"


def _markdown_cell(cell: Cell) -> str:
    if not cell.n:
        return "–"
    shown = f"**{cell.mean}** ★" if cell.best else cell.mean
    shown += f" [{cell.interval}]" if cell.interval else ""
    return f"{shown} ({cell.n} of {cell.of})" if cell.n < cell.of else shown


def _latex_cell(cell: Cell) -> str:
    if not cell.n:
        return "--"
    shown = rf"\textbf{{{cell.mean}}}" if cell.best else cell.mean
    shown += rf" {{\scriptsize [{cell.interval.replace(' … ', ', ')}]}}" if cell.interval else ""
    for sign, latex in (("−", "$-$"), ("≥", r"$\geq$"), ("≤", r"$\leq$")):
        shown = shown.replace(sign, latex)
    return shown.replace(" %", "")


def escape_latex(text: str) -> str:
    """``text`` as LaTeX prints it."""
    return "".join(_LATEX.get(letter, letter) for letter in text)
