"""Tables for people, on stdout."""

from __future__ import annotations

from typing import Any


def _console() -> Any:
    from rich.console import Console

    return Console()


SUCCESS_MEANS = {
    "stop": "success here: the robot stops for the person who asks it to",
    "goal or stop": "success here: the goal is reached, or where a person raises a hand, the robot stops for them",
}


def print_summary(summary: dict[str, Any]) -> None:
    """One table per suite."""
    for suite, part in (summary.get("suites") or {summary["suite"]: summary}).items():
        _print_suite({**summary, **part, "suite": suite})


def _print_suite(summary: dict[str, Any]) -> None:
    """One column per policy: how its episodes ended, and the headline metrics with their intervals."""
    from rich.table import Table

    policies = summary["policies"]
    title = f"{summary['suite']} ({summary['source']} people, dialect {summary['dialect']})"
    caption = [f"run {summary['run']}; mean [95 % interval] over valid episodes"]
    caption += [SUCCESS_MEANS[summary["success"]]] if summary["success"] in SUCCESS_MEANS else []
    if any(entry["privileged"] for entry in policies.values()):
        caption.append("(privileged): sees what the others do not, and is compared with nobody")
    table = Table(title=title, caption="\n".join(caption))
    table.add_column("")
    for policy, entry in policies.items():
        table.add_column(policy + (" (privileged)" if entry["privileged"] else ""), justify="right", overflow="fold")
    table.add_row("episodes", *(str(entry["episodes"]) for entry in policies.values()))
    for outcome in dict.fromkeys(name for entry in policies.values() for name in entry["outcomes"]):
        counts = [entry["outcomes"][outcome] for entry in policies.values()]
        if any(counts):
            table.add_row(f"  {outcome.replace('_', ' ')}", *(str(count) for count in counts))
    if any(entry["events"] for entry in policies.values()):
        table.add_row("event never happened", *(_missed(entry["events"]) for entry in policies.values()))
    for name in _shown_metrics(policies):
        table.add_row(
            _spoken(name),
            *(_cell(entry["metrics"].get(name)) for entry in policies.values()),
        )
    _console().print(table)


def _spoken(name: str) -> str:
    return name.replace("1_2m", "1.2 m").replace("_", " ")


def _missed(events: dict[str, int] | None) -> str:
    return f"{events['missed']} of {sum(events.values())}" if events else "–"


def _shown_metrics(policies: dict[str, Any]) -> list[str]:
    """The headline metrics, and failures per 100 m where an episode can have several; where none of them was scored,
    all that were."""
    from sidestep.metrics.score import HEADLINES

    scored = list(dict.fromkeys(name for entry in policies.values() for name in entry["metrics"]))
    failures = [entry["metrics"].get("failures") for entry in policies.values()]
    often = any(figures and figures["mean"] is not None and figures["mean"] > 1 for figures in failures)
    wanted = (*HEADLINES, *(("failures_per_100m",) if often else ()))
    return [name for name in wanted if name in scored] or scored


def _cell(metric: dict[str, Any] | None) -> str:
    if metric is not None and metric.get("bound"):
        return str(metric["bound"])
    if metric is None or metric["mean"] is None:
        return "–"
    unit = "" if metric["unit"] in ("0/1", "count", "ratio") else f" {metric['unit']}"
    interval = "" if metric["low"] is None else f" [{metric['low']:.3g}, {metric['high']:.3g}]"
    return f"{metric['mean']:.3g}{unit}{interval}"


TABLE_COLUMNS: dict[str, tuple[str, ...]] = {
    "scenarios": ("name", "suite", "summary", "source", "time_limit_s"),
    "robots": ("name", "dynamics", "radius_m", "max_speed_mps", "summary"),
    "metrics": ("name", "unit", "direction", "definition"),
}
"""Columns that fit a screen, of lists that have more."""


def print_rows(kind: str, rows: list[dict[str, Any]]) -> None:
    """A table of what ``sidestep list`` found."""
    from rich.markup import escape
    from rich.table import Table

    if not rows:
        _console().print(f"no {kind}")
        return
    shown = TABLE_COLUMNS.get(kind, tuple(rows[0]))
    table = Table(title=kind)
    for key in shown:
        table.add_column(key.replace("_", " "), overflow="fold", no_wrap=key == "name")
    for row in rows:
        cells = (row[key] for key in shown)
        table.add_row(*(escape(", ".join(map(str, cell)) if isinstance(cell, list) else str(cell)) for cell in cells))
    _console().print(table)


def print_comparison(document: dict[str, Any]) -> None:
    """One table per pair: differences with intervals. Metrics that are equal throughout are only counted."""
    from rich.table import Table

    privileged = {entry["label"] for entry in document["entries"] if entry["privileged"]}
    for pair in document["pairs"]:
        title = f"{pair['b']} − {pair['a']} over {pair['episodes']} common episodes of {pair['suite']}"
        table = Table(title=title, caption=_failures(pair))
        for name in ("metric", pair["a"], pair["b"], "difference [95 %]", "p", "n", "better"):
            is_text = name in ("metric", "better")
            table.add_column(name, justify="left" if is_text else "right", overflow="fold")
        different = {name: entry for name, entry in pair["metrics"].items() if entry["difference"]}
        for name, entry in different.items():
            unit = "" if entry["unit"] in ("0/1", "count", "ratio") else f" ({entry['unit']})"
            interval = "" if entry["low"] is None else f" [{entry['low']:+.2g}, {entry['high']:+.2g}]"
            table.add_row(
                _spoken(name) + unit,
                f"{entry['mean_a']:.3g}",
                f"{entry['mean_b']:.3g}",
                f"{entry['difference']:+.2g}{interval}",
                f"{entry['p_holm']:.2g}",
                _pairs(entry),
                pair[entry["better"]] if entry["better"] else "",
            )
        _console().print(table)
        rest = len(pair["metrics"]) - len(different)
        if rest:
            _console().print(f"{rest} more metrics do not differ or have no common value")
        if told := [pair[side] for side in ("a", "b") if pair[side] in privileged]:
            _console().print(f"privileged, sees what the others do not: {', '.join(told)}")
    _console().print(
        f"p: corrected by Holm for {document['comparisons']} comparisons; better: p < 0.05 and an interval without 0. "
        "n/c: n pairs in c clusters that share a scenario, town or crowd window. * paths and times: only where both "
        "succeed. --all shows all metrics, --metric M others, --baseline POLICY fewer pairs"
    )


def _pairs(entry: dict[str, Any]) -> str:
    """``40``, ``40/10`` clusters, ``33*``."""
    inside = f"/{entry['clusters']}" if entry["clusters"] < entry["n"] else ""
    return f"{entry['n']}{inside}{'*' if entry['where'] != 'all' else ''}"


def _failures(pair: dict[str, Any]) -> str:
    parts = []
    for side in ("a", "b"):
        failed = {name: count for name, count in pair[f"outcomes_{side}"].items() if name != "success"}
        listed = ", ".join(f"{count} {name}" for name, count in failed.items()) or "no failures"
        parts.append(f"{pair[side]}: {listed}")
    return "; ".join(parts)
