"""Summaries, comparisons and lists as text for a terminal. The report's table model fits them to its width."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table as TerminalTable
from rich.text import Text

from sidestep.metrics.estimates import Estimate
from sidestep.metrics.observed import CLASS_WORDS, describe_observed
from sidestep.report.summary import (
    SUCCESS_MEANS,
    SUMMARY_CSV,
    MetricColumn,
    key_columns,
    metric_column,
    metric_rows,
    sandbox_note,
)
from sidestep.report.table_model import HERE, Cell, Column, Row, Section, Table
from sidestep.report.table_writer import print_table


def _stdout() -> Console:
    return Console(highlight=False)


def print_summary(summary: dict[str, Any], console: Console | None = None) -> None:
    """One table per suite, on stdout unless ``console`` says otherwise."""
    for suite, part in (summary.get("suites") or {summary["suite"]: summary}).items():
        _print_suite({**summary, **part, "suite": suite}, console or _stdout())


def _print_suite(summary: dict[str, Any], console: Console) -> None:
    """A row per policy: how its episodes ended, and the headline metrics with their intervals."""
    policies = summary["policies"]
    failures = [entry["metrics"].get("failures") for entry in policies.values()]
    often = any(found and found["mean"] is not None and found["mean"] > 1 for found in failures)
    columns = (*_count_columns(policies), *key_columns(_metric_columns(policies), often))
    privileged = [policy for policy, entry in policies.items() if entry["privileged"]]
    rows = metric_rows(columns, policies, privileged)
    console.print(f"{summary['suite']} ({summary['source']} people, dialect {summary['dialect']})\n", style="bold")
    print_table(Table("summary", "", columns, (Section("", "", rows),), SUMMARY_CSV), console)
    notes = [f"Run {summary['run']}. Mean and 95 % interval over the episodes that have a value."]
    notes += [SUCCESS_MEANS[summary["success"]]] if summary["success"] in SUCCESS_MEANS else []
    notes += ["Observes: " + "; ".join(f"{name}: {_observes(entry)}" for name, entry in policies.items()) + "."]
    walls = sandbox_note({name: entry.get("sandbox", "") for name, entry in policies.items()})
    notes += [walls] if walls else []
    notes += ["Privileged policies see what the others do not and are not compared with others."] if privileged else []
    console.print("\n".join(notes), style="dim", markup=False)


def _count_columns(policies: dict[str, Any]) -> list[MetricColumn]:
    """Number of episodes, and number of episodes per outcome."""

    def counts(title: str, texts: dict[str, str]) -> MetricColumn:
        return MetricColumn(title, title, cells={policy: Cell(written=text) for policy, text in texts.items()})

    columns = [counts("Episodes", {policy: str(entry["episodes"]) for policy, entry in policies.items()})]
    for outcome in dict.fromkeys(name for entry in policies.values() for name in entry["outcomes"]):
        found = {policy: entry["outcomes"][outcome] for policy, entry in policies.items()}
        if any(found.values()):
            title = outcome.replace("_", " ").capitalize()
            columns.append(counts(title, {policy: str(count) for policy, count in found.items()}))
    if any(entry["events"] for entry in policies.values()):
        missed = {
            policy: f"{entry['events']['missed']} of {sum(entry['events'].values())}" if entry["events"] else "–"
            for policy, entry in policies.items()
        }
        columns.append(counts("Event never happened", missed))
    return columns


def _metric_columns(policies: dict[str, Any]) -> list[MetricColumn]:
    units = {name: found["unit"] for entry in policies.values() for name, found in entry["metrics"].items()}
    columns = []
    for name, unit in units.items():
        estimates = {policy: Estimate() for policy in policies}
        for policy, entry in policies.items():
            if found := entry["metrics"].get(name):
                numbers = found["mean"], found["low"], found["high"], found["n"], entry["episodes"]
                estimates[policy] = Estimate(*numbers, found.get("bound", ""))
        columns.append(metric_column(name, unit, estimates))
    return columns


TABLE_COLUMNS: dict[str, tuple[str, ...]] = {
    "policies": ("name", "needs", "summary"),
    "scenarios": ("name", "suite", "summary"),
    "robots": ("name", "dynamics", "radius_m", "max_speed_mps", "summary"),
    "metrics": ("name", "unit", "direction", "definition"),
}
"""Columns shown on the terminal, for lists with more columns."""
UNIT_ENDINGS = {"_s": " (s)", "_mps": " (m/s)", "_m": " (m)"}
SHORT = 16
"""Columns whose longest cell has at most this many characters, and names, are never wrapped."""


def print_rows(kind: str, rows: list[dict[str, Any]]) -> None:
    """Print the rows of ``sidestep list`` as a table."""
    if not rows:
        _stdout().print(f"no {kind}")
        return
    table = TerminalTable(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    columns = []
    for key in TABLE_COLUMNS.get(kind, tuple(rows[0])):
        cells = [", ".join(map(str, row[key])) if isinstance(row[key], list) else str(row[key]) for row in rows]
        ending = next((ending for ending in UNIT_ENDINGS if key.endswith(ending)), "")
        heading = key.removesuffix(ending).replace("_", " ") + UNIT_ENDINGS.get(ending, "")
        table.add_column(heading, overflow="fold", no_wrap=key == "name" or max(map(len, cells)) <= SHORT)
        columns.append([Text(cell) for cell in cells])
    for line in zip(*columns, strict=True):
        table.add_row(*line)
    _stdout().print(table)


def print_comparison(document: dict[str, Any], console: Console | None = None) -> None:
    """Print one table per pair: differences with intervals. Metrics without a difference are only counted."""
    console = console or _stdout()
    privileged = {entry["label"] for entry in document["entries"] if entry["privileged"]}
    for pair in document["pairs"]:
        title = f"{pair['b']} − {pair['a']} over {pair['episodes']} common episodes of {pair['suite']}"
        console.print(f"{title}\n", style="bold", markup=False)
        different = {name: entry for name, entry in pair["metrics"].items() if entry["difference"]}
        headings = (pair["a"], pair["b"], "Difference", "p", "n")
        columns = tuple(Column(str(k), heading) for k, heading in enumerate(headings))
        rows = tuple(_compared_row(name, entry) for name, entry in different.items())
        print_table(Table("comparison", title, columns, (Section("", "", rows),), SUMMARY_CSV), console, "Metric")
        rest = len(pair["metrics"]) - len(different)
        notes = [f"{rest} more metrics do not differ or have no common value."] if rest else []
        notes += [_failures(pair)]
        if not pair["one_race"]:
            notes.append(f"Not one race, so no side is marked as better: {_who_observes(document, pair)}.")
        if shown := [pair[side] for side in ("a", "b") if pair[side] in privileged]:
            notes.append(f"Privileged, because they see what the others do not: {', '.join(shown)}.")
        console.print("\n".join(notes) + "\n", markup=False)
    observed = [f"{entry['label']}: {_observes(entry)}" for entry in document["entries"]]
    console.print("Observes\n" + "\n".join(observed) + "\n", markup=False)
    for suite, found in document["ranking"].items():
        for race in found["races"] or [found]:
            _print_ranking(suite, race, console)
    console.print(
        f"Difference with its 95 % interval. p: corrected by Holm for {document['comparisons']} comparisons. ★ better: "
        "p < 0.05 and an interval without 0. n/c: n pairs in c clusters that share a scenario, town or crowd window. "
        "* paths and times: only where both succeed. --all shows all metrics, --metric M others, --baseline POLICY "
        "fewer pairs.",
        style="dim",
    )


def _observes(entry: dict[str, Any]) -> str:
    if entry["observes"] is None:
        return describe_observed(None)
    return describe_observed({name: entry["observation_limits"].get(name, "") for name in entry["observes"]})


def _who_observes(document: dict[str, Any], pair: dict[str, Any]) -> str:
    classes = {entry["label"]: CLASS_WORDS[entry["observation_class"]] for entry in document["entries"]}
    return " and ".join(f"{pair[side]} has {classes[pair[side]]}" for side in ("a", "b"))


def _print_ranking(suite: str, found: dict[str, Any], console: Console) -> None:
    """One line per metric in which policies differ."""
    lines = []
    for name, ranking in found["metrics"].items():
        if any(each["rank"] > 1 for each in ranking):
            places = [f"{each['rank']} {each['label']}" for each in ranking]
            lines.append(f"{metric_column(name, '', {}).title}: {', '.join(places)}")
    if lines:
        where = f"{suite} among {', '.join(found['labels'])}" if "labels" in found else suite
        console.print(f"Ranks in {where}; policies that the episodes cannot tell apart share one\n", style="bold")
        console.print("\n".join(lines) + "\n", markup=False)


def _compared_row(name: str, entry: dict[str, Any]) -> Row:
    means = {side: Estimate(entry[f"mean_{side}"]) for side in ("a", "b")}
    column = metric_column(name, entry["unit"], means)
    unit = f" ({column.unit})" if column.unit else ""
    difference = Estimate(entry["difference"], entry["low"], entry["high"])
    cells = (
        *(Cell(found, column.format, best=entry["better"] == side) for side, found in means.items()),
        Cell(difference, replace(column.format, sign=True)),
        Cell(written=f"{entry['p_holm']:.2g}"),
        Cell(written=_pairs(entry)),
    )
    return Row(f"{column.title}{unit}", (), HERE, cells)


def _pairs(entry: dict[str, Any]) -> str:
    """``40``, ``40/10`` clusters, ``33*``."""
    inside = f"/{entry['clusters']}" if entry["clusters"] < entry["n"] else ""
    return f"{entry['n']}{inside}{'*' if entry['where'] != 'all' else ''}"


def _failures(pair: dict[str, Any]) -> str:
    parts = []
    for side in ("a", "b"):
        failed = {name: count for name, count in pair[f"outcomes_{side}"].items() if name != "success"}
        listed = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in failed.items()) or "no failures"
        parts.append(f"{pair[side]}: {listed}")
    return "; ".join(parts) + "."
