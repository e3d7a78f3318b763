"""What a report has to cite: the policies that ran, and the publications that define its metrics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from sidestep import registry
from sidestep.errors import SidestepError
from sidestep.metrics.sources import REFERENCES, SIDESTEP
from sidestep.report.summary import MetricColumn


@dataclass(frozen=True)
class Reference:
    """``what`` the report uses, and where it comes from."""

    what: str
    text: str


def policy_references(names: Iterable[str]) -> list[Reference]:
    """One per policy that says what to cite; policies from files that are not here any more are left out."""
    found = []
    for name in dict.fromkeys(names):
        try:
            citation = getattr(registry.load("policies", name), "citation", "")
        except SidestepError:
            continue
        if citation:
            found.append(Reference(name, citation))
    return found


def metric_references(columns: Sequence[MetricColumn]) -> list[Reference]:
    """One per publication that defines any of the metrics."""
    used = " ".join(column.source for column in columns)
    return [Reference(name, text) for name, text in REFERENCES.items() if name in used and name != SIDESTEP]
