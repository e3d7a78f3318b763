"""The SocNav tables as Markdown, LaTeX (booktabs) and CSV (long form)."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from pathlib import Path

from sidestep.records import atomic
from sidestep.report.socnav_tables import Figure, Row, Table
from sidestep.report.tables import escape_latex

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
