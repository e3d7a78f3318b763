"""Paired differences: the same scenarios and seeds under two policies, or under one policy in two runs.

Pairing removes what the scenario does to both. A metric's difference is b − a over the episodes in which both
have a value; how many pairs were lost because one has none is told, and so is how the episodes ended, since a
policy that fails the hard episodes has a value only for the easy ones. The interval is the bootstrap's of the
mean difference, p is Wilcoxon's signed-rank test (F. Wilcoxon, Biometrics Bulletin 1(6), 1945), two-sided,
not corrected for the number of metrics.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.benchmark.episode import EpisodeScores
from sidestep.benchmark.score import ScoredRun, read_run
from sidestep.errors import BadInput
from sidestep.metrics.intervals import bootstrap_means
from sidestep.metrics.score import directions
from sidestep.types.base import FloatArray

Key = tuple[str, str, int]
"""Suite, scenario, seed."""


@dataclass(frozen=True)
class Entry:
    """One side of a comparison: a policy in a run."""

    label: str
    run: str
    policy: str
    episodes: dict[Key, EpisodeScores]


def compare_runs(folders: Sequence[Path]) -> dict[str, Any]:
    """Every pair of policies of the runs that share episodes."""
    runs = [read_run(folder) for folder in folders]
    dialects = {run.dialect for run in runs}
    if len(dialects) > 1:
        raise BadInput(
            f"the runs are scored in different dialects ({', '.join(sorted(dialects))}); score them alike first"
        )
    entries = label_entries(runs)
    if len(entries) < 2:
        raise BadInput("a comparison needs two policies or two runs")
    pairs = [compare_pair(a, b) for a, b in combinations(entries, 2) if a.episodes.keys() & b.episodes.keys()]
    if not pairs:
        raise BadInput("no two policies have a scenario and seed in common; run them on the same suite and seeds")
    return {
        "runs": [str(folder) for folder in folders],
        "dialect": dialects.pop(),
        "entries": [{"label": e.label, "run": e.run, "policy": e.policy, "episodes": len(e.episodes)} for e in entries],
        "pairs": pairs,
    }


def label_entries(runs: Sequence[ScoredRun]) -> list[Entry]:
    """Every policy of every run; named after the policy, or policy@run where that is not enough."""
    found: list[tuple[ScoredRun, str, dict[Key, EpisodeScores]]] = []
    for run in runs:
        by_policy: dict[str, dict[Key, EpisodeScores]] = {}
        for episode in run.episodes:
            by_policy.setdefault(episode.policy, {})[episode.suite, episode.scenario, episode.seed] = episode
        found += [(run, policy, episodes) for policy, episodes in by_policy.items()]
    times = Counter(policy for _, policy, _ in found)
    return [
        Entry(policy if times[policy] == 1 else f"{policy}@{run.folder}", str(run.folder), policy, episodes)
        for run, policy, episodes in found
    ]


def compare_pair(a: Entry, b: Entry) -> dict[str, Any]:
    """All metrics of two entries over their common episodes."""
    common = [key for key in a.episodes if key in b.episodes]
    ours, theirs = [a.episodes[key] for key in common], [b.episodes[key] for key in common]
    names = [name for name in ours[0].metrics if name in theirs[0].metrics]
    better = directions()
    return {
        "a": a.label,
        "b": b.label,
        "episodes": len(common),
        "outcomes_a": dict(Counter(episode.outcome for episode in ours)),
        "outcomes_b": dict(Counter(episode.outcome for episode in theirs)),
        "metrics": {name: _compare_metric(name, ours, theirs, better.get(name, "none")) for name in names},
    }


def _compare_metric(
    name: str, ours: list[EpisodeScores], theirs: list[EpisodeScores], direction: str
) -> dict[str, Any]:
    results = [
        (x.metrics[name], y.metrics[name])
        for x, y in zip(ours, theirs, strict=True)
        if name in x.metrics and name in y.metrics
    ]
    values = np.array([(x.value, y.value) for x, y in results if x.valid and y.valid]).reshape(-1, 2)
    difference = values[:, 1] - values[:, 0]
    n = len(difference)
    low, high = _interval(difference)
    p = wilcoxon_p(difference)
    return {
        "n": n,
        "lost": len(ours) - n,
        "mean_a": float(values[:, 0].mean()) if n else None,
        "mean_b": float(values[:, 1].mean()) if n else None,
        "difference": float(difference.mean()) if n else None,
        "low": low,
        "high": high,
        "p": p,
        "unit": results[0][0].unit if results else "",
        "direction": direction,
        "better": _better(p, low, high, direction),
    }


def _interval(difference: FloatArray) -> tuple[float | None, float | None]:
    """95 % bootstrap interval of the mean; none for fewer than two pairs."""
    if len(difference) < 2:
        return None, None
    low, high = bootstrap_means(difference[None], 0.95, "bca", 2000, 0)
    return float(low[0]), float(high[0])


EXACT_UP_TO = 50
"""Pairs for which the test's distribution is counted out; beyond, the normal approximation is as good."""


def wilcoxon_p(difference: FloatArray) -> float | None:
    """Two-sided p of the signed-rank test, zeros by Pratt's method; 1 when all pairs are equal, none without
    pairs. Up to 50 pairs exact, with ties too: every sign pattern of the ranks is equally likely."""
    if len(difference) == 0:
        return None
    if not difference.any():
        return 1.0
    from scipy.stats import rankdata, wilcoxon

    if len(difference) > EXACT_UP_TO:
        return float(wilcoxon(difference, zero_method="pratt", method="asymptotic").pvalue)
    doubled = np.rint(2 * rankdata(np.abs(difference))).astype(np.int64)  # whole numbers, ties or not
    positive = int(doubled[difference > 0].sum())
    chance = np.ones(1)
    for rank in doubled[difference != 0]:
        chance = 0.5 * (np.pad(chance, (0, rank)) + np.pad(chance, (rank, 0)))
    return float(min(1.0, 2.0 * min(chance[: positive + 1].sum(), chance[positive:].sum())))


def _better(p: float | None, low: float | None, high: float | None, direction: str) -> str | None:
    """``a`` or ``b`` where the interval leaves zero out, p < 0.05 and the metric has a better side."""
    if low is None or high is None or p is None or direction == "none":
        return None
    if low <= 0 <= high or p >= 0.05:
        return None
    return "b" if (low > 0) == (direction == "higher") else "a"
