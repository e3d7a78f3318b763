"""Writes tables as Markdown, LaTeX (booktabs), and CSV in long form."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from sidestep.report.summary import MetricColumn, Summary, SummaryCell
from sidestep.report.table_model import HERE, Cell, Column, Row, Section, Table
from sidestep.writing import atomic

SUMMARY_CSV_COLUMNS = (
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
        writer.writerow(SUMMARY_CSV_COLUMNS)
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


def _markdown_cell(cell: SummaryCell) -> str:
    if not cell.n:
        return "–"
    shown = f"**{cell.mean}** ★" if cell.best else cell.mean
    shown += f" [{cell.interval}]" if cell.interval else ""
    return f"{shown} ({cell.n} of {cell.of})" if cell.n < cell.of else shown


def _latex_cell(cell: SummaryCell) -> str:
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


CSV_COLUMNS = (
    "table", "section", "policy", "sees", "origin", "metric", "title", "unit", "n", "of", "value", "low", "high",
    "best", "bound", "privileged",
)  # fmt: skip
_LATEX_SIGNS = {
    "–": "--", "…": r"\ldots{}", "†": r"$^\dagger$", "↑": r"$\uparrow$", "↓": r"$\downarrow$", "·": r"$\cdot$",
    "−": "$-$", "≥": r"$\geq$", "≤": r"$\leq$",
}  # fmt: skip


def write_table(table: Table, folder: Path) -> list[Path]:
    """Write ``NAME.md``, ``NAME.tex`` and ``NAME.csv`` into ``folder``; returns the paths."""
    paths = []
    for ending, text in {".md": markdown(table), ".tex": latex(table), ".csv": comma_separated(table)}.items():
        paths.append(folder / f"{table.name}{ending}")
        with atomic(paths[-1]) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return paths


def shown(cell: Cell) -> str:
    """The number with its interval, and of how many episodes where some have none."""
    text = f"**{cell.text}**" if cell.best else cell.text
    text += f" [{cell.interval}]" if cell.interval else ""
    estimate = cell.estimate
    return f"{text} ({estimate.n} of {estimate.of})" if 0 < estimate.n < estimate.of else text


def markdown(table: Table) -> str:
    """Title, a table for each section, notes."""
    heads = ["Policy", "Sees", *(column.heading for column in table.columns)]
    lines = [f"### {table.title}", ""]
    for section in table.sections:
        if len(table.sections) > 1:
            lines += [f"**{section.title}**", ""]
        lines += [_bars(heads), _bars(["---", "---", *["---:"] * len(table.columns)])]
        lines += [_bars([row.title, row.sees, *map(shown, row.cells)]) for row in section.rows]
        lines.append("")
    return "\n".join([*lines, *(f"- {note}" for note in table.notes)]) + "\n"


def _bars(cells: Sequence[str]) -> str:
    escaped = [cell.replace("|", r"\|") for cell in cells]
    return f"| {' | '.join(escaped)} |"


def latex(table: Table) -> str:
    """A booktabs table in the paper's arrangement; intervals stand small below our numbers, notes are comments."""
    lines = [f"% {line}" for line in (table.title + ". Needs the package booktabs.", *table.notes)]
    beside = table.side_by_side
    columns = table.columns * (len(table.sections) if beside else 1)
    lines += [rf"\begin{{tabular}}{{ll{'r' * len(columns)}}}", r"\toprule"]
    if beside:
        lines += _group_line([(section.title, len(table.columns)) for section in table.sections])
    if any(column.group for column in columns):
        lines += _group_line([(name, len(list(same))) for name, same in groupby(columns, key=lambda each: each.group)])
    lines.append(_ampersands(["Policy", "Sees", *(_tex(_titled(column)) for column in columns)]))
    for section in [_joined(table)] if beside else table.sections:
        lines.append(r"\midrule")
        if not beside and len(table.sections) > 1:
            lines.append(rf"\multicolumn{{{len(columns) + 2}}}{{l}}{{\emph{{{_tex(section.title)}}}}} \\")
        for k, row in enumerate(section.rows):
            if k and section.rows[k - 1].origin != row.origin:
                lines.append(r"\midrule")
            lines += _latex_row(row)
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _titled(column: Column) -> str:
    return column.heading.removeprefix(f"{column.group} ") if column.group else column.heading


def _group_line(groups: Sequence[tuple[str, int]]) -> list[str]:
    heads, rules, at = ["", ""], [], 3
    for title, width in groups:
        heads.append(rf"\multicolumn{{{width}}}{{c}}{{{_tex(title)}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [_ampersands(heads), " ".join(rules)]


def _joined(table: Table) -> Section:
    """The sections beside each other: a policy that one of them lacks has dashes there."""
    order = {(row.origin, row.policy): row for section in table.sections for row in section.rows}
    rows = []
    for key in sorted(order, key=lambda key: key[0] != HERE):
        cells: list[Cell] = []
        for section in table.sections:
            row = next((row for row in section.rows if (row.origin, row.policy) == key), None)
            cells += row.cells if row else [Cell()] * len(table.columns)
        rows.append(Row(order[key].policy, order[key].sees, order[key].origin, tuple(cells)))
    return Section("", "", tuple(rows))


def _latex_row(row: Row) -> list[str]:
    cells = [rf"\textbf{{{_tex(cell.text)}}}" if cell.best else _tex(cell.text) for cell in row.cells]
    lines = [_ampersands([_tex(row.title), _tex(row.sees), *cells])]
    if any(cell.interval for cell in row.cells):
        below = [rf"{{\tiny {_tex(cell.interval)}}}" if cell.interval else "" for cell in row.cells]
        lines.append(_ampersands(["", "", *below]))
    return lines


def _ampersands(cells: Sequence[str]) -> str:
    return " & ".join(cells) + r" \\"


def _tex(text: str) -> str:
    return "".join(_LATEX_SIGNS.get(letter, letter) for letter in escape_latex(text))


def comma_separated(table: Table) -> str:
    """One line per section, row and column that has a number."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for section in table.sections:
        for row in section.rows:
            for column, cell in zip(table.columns, row.cells, strict=True):
                found = cell.estimate
                if found.value is None and not found.of:
                    continue
                numbers = ["" if number is None else number for number in (found.value, found.low, found.high)]
                head = [table.name, section.name, row.policy, row.sees, row.origin, column.name, column.heading]
                best = "yes" if cell.best else "no"
                secret = "yes" if row.privileged else "no"
                writer.writerow([*head, column.unit, found.n, found.of, *numbers, best, found.bound, secret])
    return buffer.getvalue()
