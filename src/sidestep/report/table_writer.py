"""Writes tables as Markdown, LaTeX (booktabs), CSV in long form, HTML and for the terminal.

A line of a CSV file is about one section, row and column. Its fields: ``table``, ``section``, ``policy``,
``privileged`` (yes, no), ``privileged_number`` (1, 0), ``origin``, the table's keys in lower case, ``metric``,
``title``, ``unit``, ``direction``, ``n``, ``of``, ``value``, ``sd``, ``low``, ``high``, ``bound``, ``text``, ``best``
(yes, no), ``people`` and the table's ``facts``. ``Table.csv`` says which of them a file has.
"""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup

from sidestep._util.writing import whole_file
from sidestep.report.table_model import HERE, Cell, Column, Row, Section, Table

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table as TerminalTable

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "–": "--", "…": r"\ldots{}", "†": r"$^\dagger$",
    "↑": r"$\uparrow$", "↓": r"$\downarrow$", "·": r"$\cdot$", "−": "$-$", "≥": r"$\geq$", "≤": r"$\leq$",
    "±": r"$\pm$", "÷": r"$\div$", "⁺": "$^{+}$", "⁻": "$^{-}$", "²": "$^{2}$", "³": "$^{3}$", "µ": r"$\mu$",
}  # fmt: skip


def write_tables(tables: Sequence[Table], stem: Path, forms: Sequence[str] = (".csv", ".tex")) -> list[Path]:
    """Write all tables into one file for each form; returns the paths. ``comma_separated`` takes tables of one kind."""
    paths = []
    for form in forms:
        if form == ".csv":
            text = comma_separated(*tables)
        else:
            text = "\n".join((markdown if form == ".md" else latex)(table) for table in tables)
        paths.append(stem.with_suffix(form))
        with whole_file(paths[-1]) as temporary:
            temporary.write_text(text, encoding="utf-8")
    return paths


def markdown(table: Table) -> str:
    """Title, a table for each section with the best in bold, notes."""
    heads = [table.head, *table.keys, *(column.heading for column in table.columns)]
    rule = ["---"] * (1 + len(table.keys)) + ["---:"] * len(table.columns)
    lines = [f"### {table.title}", ""]
    for section in table.sections:
        if len(table.sections) > 1:
            lines += [f"**{section.title}**", ""]
        rows = [[row.title, *row.keys, *map(_markdown_cell, row.cells)] for row in section.rows]
        for cells in (heads, rule, *rows):
            escaped = [cell.replace("|", r"\|") for cell in cells]
            lines.append(f"| {' | '.join(escaped)} |")
        lines.append("")
    return "\n".join([*lines, *(f"- {note}" for note in table.notes)]) + "\n"


def _markdown_cell(cell: Cell) -> str:
    text = f"**{cell.text}**" if cell.best else cell.text
    text += f" [{cell.interval}]" if cell.interval else ""
    return f"{text} ({cell.counted})" if cell.counted else text


def latex(table: Table) -> str:
    """A booktabs table in the paper's arrangement: the best in bold, intervals small below the numbers, notes as
    comments."""
    lines = [f"% {line}" for line in (table.title + ". Needs the package booktabs.", *table.notes)]
    columns = table.columns * (len(table.sections) if table.side_by_side else 1)
    heads = 1 + len(table.keys)
    lines += [rf"\begin{{tabular}}{{{'l' * heads}{'r' * len(columns)}}}", r"\toprule"]
    if table.side_by_side:
        lines += _group_line(heads, [(section.title, len(table.columns)) for section in table.sections])
    if any(column.group for column in columns):
        groups = groupby(columns, key=lambda each: each.group)
        lines += _group_line(heads, [(name, len(list(same))) for name, same in groups])
    titles = [column.heading.removeprefix(column.group).lstrip() for column in columns]
    lines.append(" & ".join(map(tex, [table.head, *table.keys, *titles])) + r" \\")
    for section in [_joined(table)] if table.side_by_side else table.sections:
        lines.append(r"\midrule")
        if not table.side_by_side and len(table.sections) > 1:
            lines.append(rf"\multicolumn{{{heads + len(columns)}}}{{l}}{{\emph{{{tex(section.title)}}}}} \\")
        for k, row in enumerate(section.rows):
            above = table.line_above(section, k)
            lines += [r"\midrule" if above == "parted" else r"\addlinespace"] if above else []
            lines += _latex_row(row)
    if table.people:
        people = rf"\footnotesize People: {tex(table.people)}."
        lines += [r"\midrule", rf"\multicolumn{{{heads + len(columns)}}}{{l}}{{{people}}} \\"]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _group_line(first: int, groups: Sequence[tuple[str, int]]) -> list[str]:
    heads, rules, at = [""] * first, [], first + 1
    for title, width in groups:
        heads.append(rf"\multicolumn{{{width}}}{{c}}{{{tex(title)}}}")
        rules.append(rf"\cmidrule(lr){{{at}-{at + width - 1}}}")
        at += width
    return [" & ".join(heads) + r" \\", " ".join(rules)]


def _joined(table: Table) -> Section:
    """The sections beside each other: a policy that one of them lacks has dashes there."""
    order = {(row.origin, row.policy): row for row in table.rows}
    rows = []
    for key in sorted(order, key=lambda key: key[0] != HERE):
        cells: list[Cell] = []
        for section in table.sections:
            row = next((row for row in section.rows if (row.origin, row.policy) == key), None)
            cells += row.cells if row else [Cell()] * len(table.columns)
        first = order[key]
        rows.append(Row(first.policy, first.keys, first.origin, tuple(cells), first.privileged, first.symbol))
    return Section("", "", tuple(rows))


def _latex_row(row: Row) -> Iterator[str]:
    texts = [tex(f"{cell.text} ({cell.counted})" if cell.counted else cell.text) for cell in row.cells]
    cells = [rf"\textbf{{{text}}}" if cell.best else text for text, cell in zip(texts, row.cells, strict=True)]
    yield " & ".join([tex(row.title), *map(tex, row.keys), *cells]) + r" \\"
    if any(cell.interval for cell in row.cells):
        below = [rf"{{\tiny {tex(cell.interval)}}}" if cell.interval else "" for cell in row.cells]
        yield " & ".join(["", *("" for _ in row.keys), *below]) + r" \\"


def tex(text: str) -> str:
    """``text`` as LaTeX prints it."""
    return "".join(_LATEX.get(letter, letter) for letter in text)


def comma_separated(*tables: Table) -> str:
    """One line per section, row and column, in SI units; all tables have the form of the first."""
    form = tables[0].csv
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(form.fields)
    for table in tables:
        for section in table.sections:
            for row in section.rows:
                for column, cell in zip(table.columns, row.cells, strict=True):
                    if form.keep_empty or cell.estimate.value is not None or cell.estimate.of:
                        line = _csv_line(table, section, row, column, cell)
                        writer.writerow([line[name] for name in form.fields.values()])
    return buffer.getvalue()


def _csv_line(table: Table, section: Section, row: Row, column: Column, cell: Cell) -> dict[str, Any]:
    found = cell.estimate
    numbers = {"value": found.value, "sd": found.sd, "low": found.low, "high": found.high}
    return {
        "observes": "",
        **table.facts,
        **{heading.lower(): key for heading, key in zip(table.keys, row.keys, strict=True)},
        **{name: "" if number is None else number for name, number in numbers.items()},
        "table": table.name,
        "section": section.name,
        "people": table.people,
        "policy": row.policy,
        "privileged": "yes" if row.privileged else "no",
        "privileged_number": int(row.privileged),
        "origin": row.origin,
        "metric": column.name,
        "title": column.heading,
        "unit": column.unit if column.csv_unit is None else column.csv_unit,
        "direction": column.better,
        "n": found.n,
        "of": found.of,
        "bound": found.bound,
        "text": cell.text,
        "best": "yes" if cell.best else "no",
    }


def html(table: Table, anchor: str = "") -> Markup:
    """The table for a page with ``report.css``; ``anchor``: its id."""
    from sidestep.report.viewer.page import templates

    macros: Any = templates().get_template("table.html.j2").module
    return Markup(macros.table(table, anchor))


FOLD_AT = 24
"""Longer names of rows take several lines of a terminal."""


def print_table(table: Table, console: Console, head: str = "Policy") -> None:
    """Print the table in as many blocks of columns as the console's width asks for; no cell is wrapped or cropped."""
    from rich.measure import Measurement

    unbounded = console.options.update(max_width=100_000)
    rest = list(table.columns)
    while rest:
        count = 1
        while count < len(rest):
            block = _terminal_block(table, rest[: count + 1], head)
            if Measurement.get(console, unbounded, block).maximum > console.width:
                break
            count += 1
        console.print(_terminal_block(table, rest[:count], head), "")
        rest = rest[count:]


def _terminal_block(table: Table, columns: Sequence[Column], head: str) -> TerminalTable:
    from rich import box
    from rich.table import Table as TerminalTable
    from rich.text import Text

    block = TerminalTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    block.add_column(Text(head), no_wrap=True)
    indices = [table.columns.index(column) for column in columns]
    for index, column in zip(indices, columns, strict=True):
        width = max((len(line) for row in table.rows for line in _terminal_lines(row.cells[index])), default=0)
        words = column.title.split()
        lines = textwrap.wrap(column.title, max(width, 8, *map(len, words)))
        unit = " ".join(part for part in (column.unit, column.symbol) if part)
        heading = Text("\n".join([*lines, unit] if unit else lines))
        block.add_column(heading, justify="right", no_wrap=True, vertical="top")
    for row in table.rows:
        cells = []
        for index in indices:
            first, *below = _terminal_lines(row.cells[index])
            cells.append(Text(first) + Text("".join(f"\n{line}" for line in below), style="dim"))
        block.add_row(Text("\n".join(textwrap.wrap(row.title, FOLD_AT))), *cells)
    return block


def _terminal_lines(cell: Cell) -> list[str]:
    return [line for line in (f"★ {cell.text}" if cell.best else cell.text, cell.interval, cell.counted) if line]
