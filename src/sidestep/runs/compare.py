"""Paired differences: the same scenarios and seeds under two policies, or under one policy in two runs.

Pairing removes what the scenario does to both. A metric's difference is b − a over the episodes in which both
have a value; how many pairs were lost because one has none is told, and so is how the episodes ended, since a
policy that fails the hard episodes has a value only for the easy ones. Paths and times are compared where both
succeed, rates per 100 m as ratios of sums. Suites are never mixed.

Success and other shares of episodes have Tango's paired interval and an exact test, rates a test that swaps the two
sides, everything else the bootstrap's interval and Wilcoxon's signed-rank test, all over clusters of episodes that are
not independent; p is corrected by Holm for the number of metrics and pairs that are shown (``docs/statistics.md``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from sidestep.runs.episode import EpisodeScores
from sidestep.runs.score import ScoredRun, read_run
from sidestep.errors import BadInput, UnknownName
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.metrics.statistics import bootstrap_means, number_clusters
from sidestep.metrics.statistics import holm, paired_proportion, sign_flip_p, wilcoxon_p
from sidestep.metrics.rates import DISTANCE, RATES, compare_rates
from sidestep.metrics.score import HEADLINES, directions
from sidestep.types.base import FloatArray, IntArray
from sidestep.types.outcome import Outcome

WHERE_BOTH_SUCCEED = frozenset(
    {
        "time_to_goal", "path_traversal_time", "aggregated_time", "path_length", "path_length_ratio", "path_efficiency",
        "energy", "heading_change", "oscillations", "direction_reversals", "distance_driven", "stalled_time",
        "time_not_moving",
    }
)  # fmt: skip
"""Paths, times and effort: of an episode that failed they say nothing that could be better or worse."""
SIGNIFICANT = 0.05

Key = tuple[str, str, int]
"""Suite, scenario, seed."""


@dataclass(frozen=True)
class Entry:
    """One side of a comparison: a policy in a run."""

    label: str
    run: str
    policy: str
    episodes: dict[Key, EpisodeScores]

    @property
    def source(self) -> str:
        """Where the people of its episodes come from."""
        sources = {episode.source for episode in self.episodes.values()}
        return sources.pop() if len(sources) == 1 else "mixed"

    @property
    def privileged(self) -> bool:
        """Whether its policy sees what others do not."""
        return any(episode.privileged for episode in self.episodes.values())


def compare_runs(
    folders: Sequence[Path], metrics: Sequence[str] | None = HEADLINES, baseline: str | None = None
) -> dict[str, Any]:
    """Every pair of policies of the runs that share episodes, suite by suite; with ``baseline``, a policy or label,
    only the pairs with it. ``metrics`` None: all that both have."""
    runs = [read_run(folder) for folder in folders]
    dialects = {run.dialect for run in runs}
    if len(dialects) > 1:
        raise BadInput(
            f"the runs are scored in different dialects ({', '.join(sorted(dialects))}); score them alike first"
        )
    entries = label_entries(runs)
    if len(entries) < 2:
        raise BadInput("a comparison needs two policies or two runs")
    pairs = [compare_pair(*part, metrics) for pair in _chosen(entries, baseline) for part in _by_suite(*pair)]
    if not pairs:
        raise BadInput("no two policies have a scenario and seed in common; run them on the same suite and seeds")
    _correct(pairs, {entry.label for entry in entries if entry.privileged})
    return {
        "runs": [str(folder) for folder in folders],
        "dialect": dialects.pop(),
        "entries": [
            {
                "label": entry.label,
                "run": entry.run,
                "policy": entry.policy,
                "episodes": len(entry.episodes),
                "privileged": entry.privileged,
                "source": entry.source,
            }
            for entry in entries
        ],
        "pairs": pairs,
        "comparisons": sum(found["p"] is not None for pair in pairs for found in pair["metrics"].values()),
    }


def _chosen(entries: Sequence[Entry], baseline: str | None) -> list[tuple[Entry, Entry]]:
    """The pairs to compare, the baseline first where there is one."""
    pairs = list(combinations(entries, 2))
    if baseline is not None:
        bases = [entry for entry in entries if baseline in (entry.label, entry.policy)]
        if not bases:
            raise UnknownName("policy", baseline, {entry.label for entry in entries})
        pairs = [(base, other) for base in bases for other in entries if other not in bases]
    shared = [(a, b) for a, b in pairs if a.episodes.keys() & b.episodes.keys()]
    for a, b in shared:
        _check_people(a, b)
    return shared


def _by_suite(a: Entry, b: Entry) -> Iterator[tuple[Entry, Entry]]:
    """The pair in each suite that both ran: numbers of two suites do not belong into one mean."""
    for suite in dict.fromkeys(key[0] for key in a.episodes if key in b.episodes):
        yield _only(a, suite), _only(b, suite)


def _only(entry: Entry, suite: str) -> Entry:
    return replace(entry, episodes={key: scores for key, scores in entry.episodes.items() if key[0] == suite})


def _check_people(a: Entry, b: Entry) -> None:
    for key in a.episodes.keys() & b.episodes.keys():
        ours, theirs = a.episodes[key].source, b.episodes[key].source
        if ours != theirs:
            raise BadInput(
                f"{a.label} has {ours} people and {b.label} {theirs} people in {key[1]!r}: these are not the same "
                "episodes; compare runs with the same people (sidestep data list shows which recordings are installed)"
            )


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


def compare_pair(a: Entry, b: Entry, metrics: Sequence[str] | None = None) -> dict[str, Any]:
    """The metrics of two entries over their common episodes, all of one suite."""
    common = [key for key in a.episodes if key in b.episodes]
    ours, theirs = [a.episodes[key] for key in common], [b.episodes[key] for key in common]
    names = [name for name in ours[0].metrics if name in theirs[0].metrics]
    if metrics is not None:
        names = [name for name in metrics if name in names] or names
    better = directions()
    return {
        "a": a.label,
        "b": b.label,
        "suite": common[0][0],
        "episodes": len(common),
        "outcomes_a": dict(Counter(episode.outcome for episode in ours)),
        "outcomes_b": dict(Counter(episode.outcome for episode in theirs)),
        "metrics": {name: _compare_metric(name, ours, theirs, better.get(name, "none")) for name in names},
    }


def _compare_metric(
    name: str, ours: list[EpisodeScores], theirs: list[EpisodeScores], direction: str
) -> dict[str, Any]:
    if name in RATES:
        return _compare_rate(name, ours, theirs, direction)
    results = [
        (x.metrics[name], y.metrics[name], x.cluster)
        for x, y in zip(ours, theirs, strict=True)
        if name in x.metrics and name in y.metrics and (name not in WHERE_BOTH_SUCCEED or _both_succeed(x, y))
    ]
    unit = next((x.metrics[name].unit for x in ours if name in x.metrics), "")
    known = [(x.value, y.value, cluster) for x, y, cluster in results if x.valid and y.valid]
    values = np.array([(x, y) for x, y, _ in known]).reshape(-1, 2)
    clusters = number_clusters([cluster for _, _, cluster in known])
    difference = values[:, 1] - values[:, 0]
    n = len(difference)
    low, high, p = _judge(difference, clusters, unit)
    return {
        "n": n,
        "clusters": _count(clusters, n),
        "lost": len(ours) - n,
        "mean_a": float(values[:, 0].mean()) if n else None,
        "mean_b": float(values[:, 1].mean()) if n else None,
        "difference": float(difference.mean()) if n else None,
        "low": low,
        "high": high,
        "p": p,
        "unit": unit,
        "direction": direction,
        "better": None,
        "where": "both succeed" if name in WHERE_BOTH_SUCCEED else "all",
    }


def _compare_rate(name: str, ours: list[EpisodeScores], theirs: list[EpisodeScores], direction: str) -> dict[str, Any]:
    """Events per 100 m: the sums over all pairs are divided, so that the numbers are those of the tables. No value
    where one side drove too little for a rate."""
    parts = (RATES[name], DISTANCE)
    known = [
        (x, y)
        for x, y in zip(ours, theirs, strict=True)
        if all(part in each.metrics and each.metrics[part].valid for each in (x, y) for part in parts)
    ]
    counts, metres = (
        np.array([[each.metrics[part].value for each in pair] for pair in known]).reshape(-1, 2).T for part in parts
    )
    clusters = number_clusters([x.cluster for x, _ in known])
    found = compare_rates(counts, metres, clusters) if known else None
    n = len(known) if found else 0
    return {
        "n": n,
        "clusters": _count(clusters, n) if found else 0,
        "lost": len(ours) - n,
        "mean_a": found.first if found else None,
        "mean_b": found.second if found else None,
        "difference": found.second - found.first if found else None,
        "low": found.low if found else None,
        "high": found.high if found else None,
        "p": found.p if found else None,
        "unit": ours[0].metrics[name].unit,
        "direction": direction,
        "better": None,
        "where": "all",
    }


def _count(clusters: IntArray | None, n: int) -> int:
    return n if clusters is None else int(clusters.max()) + 1


def _both_succeed(a: EpisodeScores, b: EpisodeScores) -> bool:
    return a.outcome == b.outcome == Outcome.SUCCESS.value


def _judge(
    difference: FloatArray, clusters: IntArray | None, unit: str
) -> tuple[float | None, float | None, float | None]:
    """95 % interval of the mean difference and p; no interval for fewer than two pairs."""
    n = len(difference)
    if n == 0:
        return None, None, None
    if unit == INDICATOR_UNIT:
        low, high = paired_proportion(difference, clusters=clusters)
        return (low if n > 1 else None), (high if n > 1 else None), sign_flip_p(difference, clusters)
    if n < 2:
        return None, None, wilcoxon_p(difference)
    lows, highs = bootstrap_means(difference[None], clusters=clusters)
    return float(lows[0]), float(highs[0]), wilcoxon_p(difference, clusters)


def _correct(pairs: list[dict[str, Any]], privileged: set[str]) -> None:
    """Holm's correction over everything that is shown, and which side is better after it: none where one of them is
    privileged, since the two did not have the same task."""
    found = [(pair, entry) for pair in pairs for entry in pair["metrics"].values()]
    for (pair, entry), p in zip(found, holm([entry["p"] for _, entry in found]), strict=True):
        entry["p_holm"] = p
        if not {pair["a"], pair["b"]} & privileged:
            entry["better"] = _better(p, entry["low"], entry["high"], entry["direction"])


def _better(p: float | None, low: float | None, high: float | None, direction: str) -> str | None:
    """``a`` or ``b`` where the interval leaves zero out, the corrected p is below 0.05 and the metric has a better
    side."""
    if low is None or high is None or p is None or direction == "none":
        return None
    if low <= 0 <= high or p >= SIGNIFICANT:
        return None
    return "b" if (low > 0) == (direction == "higher") else "a"
