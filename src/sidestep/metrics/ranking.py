"""Ranks with ties. A policy's rank is one more than the number of policies that are significantly better in the paired
comparison, corrected by Holm over all pairs of that metric. Policies that the episodes cannot tell apart share a rank.

The ranks from the number of significantly better to the number of not significantly worse policies are a simultaneous
95 % confidence set for the true rank (Mogstad, Romano, Shaikh and Wilhelm, Review of Economic Studies 91, 2024).
Overlapping intervals would be a weaker rule: they ignore the pairing, and two intervals can overlap although the
difference is certain (``docs/statistics.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sidestep.metrics.statistics import holm

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Ranked:
    """A policy's place in one metric: ``rank`` to ``last`` are the ranks that the episodes allow."""

    label: str
    rank: int
    last: int
    mean: float | None
    tied_with: tuple[str, ...]
    """Policies that are neither better nor worse."""


def rank(pairs: Sequence[Mapping[str, Any]], metric: str) -> list[Ranked]:
    """The ranking in ``metric`` by the comparisons of all pairs (``sidestep.runs.compare.compare_pair``), best first;
    empty if the metric has no better direction."""
    entries = [(pair, pair["metrics"][metric]) for pair in pairs if metric in pair["metrics"]]
    if not entries or entries[0][1]["direction"] == "none":
        return []
    labels = list(dict.fromkeys(label for pair, _ in entries for label in (pair["a"], pair["b"])))
    better: dict[str, set[str]] = {label: set() for label in labels}
    worse: dict[str, set[str]] = {label: set() for label in labels}
    means: dict[str, float | None] = {}
    for (pair, entry), p in zip(entries, holm([entry["p"] for _, entry in entries]), strict=True):
        side = better_side(p, entry["low"], entry["high"], entry["direction"])
        if side is not None:
            winner, loser = (pair["a"], pair["b"]) if side == "a" else (pair["b"], pair["a"])
            better[loser].add(winner)
            worse[winner].add(loser)
        means.setdefault(pair["a"], entry["mean_a"])
        means.setdefault(pair["b"], entry["mean_b"])
    sign = -1.0 if entries[0][1]["direction"] == "higher" else 1.0
    found = [
        Ranked(
            label,
            1 + len(better[label]),
            len(labels) - len(worse[label]),
            means[label],
            tuple(other for other in labels if other != label and other not in better[label] | worse[label]),
        )
        for label in labels
    ]
    return sorted(found, key=lambda each: (each.rank, each.last, each.mean is None, sign * (each.mean or 0.0)))


def better_side(p: float | None, low: float | None, high: float | None, direction: str) -> str | None:
    """The better side, ``a`` or ``b``, if the interval of b − a excludes zero, the corrected p is below 0.05 and the
    metric has a better direction; else None."""
    if low is None or high is None or p is None or direction == "none":
        return None
    if low <= 0 <= high or p >= SIGNIFICANT:
        return None
    return "b" if (low > 0) == (direction == "higher") else "a"


def as_json(ranking: Sequence[Ranked]) -> list[dict[str, Any]]:
    """The ranking as in ``compare --json``."""
    return [asdict(each) | {"tied_with": list(each.tied_with)} for each in ranking]


def same_episodes(ran: Mapping[str, frozenset[Any]]) -> set[str]:
    """The labels of the largest group that ran exactly the same episodes; among equally large groups, of the one with
    the most episodes."""
    groups: dict[frozenset[Any], set[str]] = {}
    for label, keys in ran.items():
        groups.setdefault(keys, set()).add(label)
    if not groups:
        return set()
    return groups[max(groups, key=lambda keys: (len(groups[keys]), len(keys)))]
