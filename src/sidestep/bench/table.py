"""Figures as plain text, next to their peers and targets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sidestep.bench.targets import COST_GROWTH, TARGETS, Target, orca_cost_growth

HEADER = ("id", "value", "unit", "spread", "peer", "its value", "ratio", "target", "met")
RIGHT = (1, 3, 5, 6)
PREFIXES = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def bench_table(result: Mapping[str, Any]) -> str:
    """The document of ``run_bench`` as aligned text: one line per figure, the machine above."""
    machine = result["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    lines = [f"{machine['cpu']}, {machine['cores']} cores", versions, ""]
    lines += align([HEADER, *(_row(entry) for entry in result["results"])])
    growth = orca_cost_growth({entry["id"]: entry for entry in result["results"]})
    if growth is not None:
        lines.append("")
        lines.append(
            f"an ORCA agent-step among 5000 people costs {growth:.2f} times one among 200; "
            f"target ≤ {COST_GROWTH}: {_yes_no(growth <= COST_GROWTH)}"
        )
    return "\n".join(lines)


def align(rows: Sequence[Sequence[str]]) -> list[str]:
    """Columns of equal width, two spaces apart."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if k in RIGHT else cell.ljust(width)
            for k, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def short(value: float) -> str:
    """Three digits and a prefix: 1234567 is ``1.23 M``."""
    for size, prefix in PREFIXES:
        if abs(value) >= size:
            return f"{value / size:.3g} {prefix}"
    return f"{value:.3g}"


def _row(entry: Mapping[str, Any]) -> tuple[str, ...]:
    peer, target = entry["peer"], TARGETS.get(entry["id"])
    theirs = ("", "", "") if peer is None else (peer["name"], short(peer["value"]), f"{peer['ratio']:.3g}×")
    goal = ("", "") if target is None else (_target(target), _yes_no(target.is_met(entry)))
    return (entry["id"], short(entry["value"]), entry["unit"], f"{entry['spread']:.0%}", *theirs, *goal)


def _target(target: Target) -> str:
    bounds = []
    if target.at_least is not None:
        bounds.append(f"≥ {short(target.at_least)}")
    if target.at_most is not None:
        bounds.append(f"≤ {short(target.at_most)}")
    if target.times_peer is not None:
        bounds.append(f"≥ {target.times_peer:g}× peer")
    return ", ".join(bounds)


def _yes_no(met: bool | None) -> str:
    return "?" if met is None else ("yes" if met else "no")
