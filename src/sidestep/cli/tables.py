"""Tables for people, on stdout."""

from __future__ import annotations

from typing import Any

COLUMNS = (
    "success",
    "collisions",
    "time_to_goal",
    "path_length_ratio",
    "closest_pedestrian_distance",
    "planning_time_avg",
)
"""Metrics shown by default where they exist; all are in the JSON and the report."""


def _console() -> Any:
    from rich.console import Console

    return Console()


def print_summary(summary: dict[str, Any]) -> None:
    """One line per policy: how its episodes ended, and the chief metrics with their intervals."""
    from rich.table import Table

    policies = summary["policies"]
    shown = [name for name in COLUMNS if any(name in entry["metrics"] for entry in policies.values())]
    title = f"{summary['suite']} ({summary['source']} people, dialect {summary['dialect']})"
    table = Table(title=title, caption=f"run {summary['run']}; mean [95 % interval] over valid episodes")
    for name in ("policy", "episodes", "outcomes", *shown):
        table.add_column(
            name.replace("_", " "),
            justify="left" if name in ("policy", "outcomes") else "right",
            overflow="fold",
        )
    for policy, entry in policies.items():
        outcomes = ", ".join(f"{count} {outcome}" for outcome, count in entry["outcomes"].items())
        cells = [_cell(entry["metrics"].get(name)) for name in shown]
        table.add_row(policy, str(entry["episodes"]), outcomes, *cells)
    _console().print(table)


def _cell(metric: dict[str, Any] | None) -> str:
    if metric is None or metric["mean"] is None:
        return "–"
    unit = "" if metric["unit"] in ("", "1", "0/1") else f" {metric['unit']}"
    interval = "" if metric["low"] is None else f"\n[{metric['low']:.3g}, {metric['high']:.3g}]"
    return f"{metric['mean']:.3g}{unit}{interval}"


def print_rows(title: str, rows: list[dict[str, Any]]) -> None:
    """A table with one column per key."""
    from rich.markup import escape
    from rich.table import Table

    if not rows:
        _console().print(f"no {title}")
        return
    table = Table(title=title)
    for key in rows[0]:
        table.add_column(key.replace("_", " "), overflow="fold")
    for row in rows:
        table.add_row(
            *(escape(", ".join(map(str, v)) if isinstance(v, list) else str(v)) for v in row.values())
        )
    _console().print(table)


def print_comparison(document: dict[str, Any]) -> None:
    """One table per pair: differences with intervals."""
    from rich.table import Table

    for pair in document["pairs"]:
        title = f"{pair['b']} − {pair['a']} over {pair['episodes']} common episodes"
        table = Table(title=title, caption=_failures(pair))
        for name in ("metric", pair["a"], pair["b"], "difference", "95 % interval", "p", "n", "better"):
            table.add_column(name, justify="left" if name in ("metric", "better") else "right")
        for metric, entry in pair["metrics"].items():
            if entry["n"] == 0:
                table.add_row(metric, "–", "–", "–", "–", "–", "0", "")
                continue
            table.add_row(
                f"{metric} ({entry['unit']})" if entry["unit"] not in ("", "1") else metric,
                f"{entry['mean_a']:.3g}",
                f"{entry['mean_b']:.3g}",
                f"{entry['difference']:+.3g}",
                "–" if entry["low"] is None else f"[{entry['low']:+.3g}, {entry['high']:+.3g}]",
                "–" if entry["p"] is None else f"{entry['p']:.3g}",
                str(entry["n"]),
                entry["better"] or "",
            )
        _console().print(table)


def _failures(pair: dict[str, Any]) -> str:
    parts = []
    for side in ("a", "b"):
        failed = {name: count for name, count in pair[f"outcomes_{side}"].items() if name != "success"}
        listed = ", ".join(f"{count} {name}" for name, count in failed.items()) or "no failures"
        parts.append(f"{pair[side]}: {listed}")
    return "; ".join(parts)


def print_bench(document: dict[str, Any]) -> None:
    """One line per figure."""
    from rich.table import Table

    machine = document["machine"]
    table = Table(title=f"{machine['cpu']}, {machine['cores']} cores")
    for name in ("id", "value", "unit", "spread", "peer"):
        table.add_column(name, justify="left" if name in ("id", "unit", "peer") else "right")
    for row in document["results"]:
        peer = row["peer"]
        told = "" if peer is None else f"{peer['name']}: {peer['value']:.4g} (×{peer['ratio']:.2f})"
        table.add_row(row["id"], f"{row['value']:.4g}", row["unit"], f"{row['spread']:.2g}", told)
    _console().print(table)
