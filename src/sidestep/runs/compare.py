"""Paired differences: the same scenarios and seeds under two policies, or under one policy in two runs.

Pairing removes what the scenario does to both. A metric's difference is b − a over the episodes in which both
have a value. The document has the number of pairs that were lost because one side has none, and how the episodes ended:
a policy that fails the hard episodes has values for the easy ones only. Paths and times are compared where both
succeed, rates per 100 m as ratios of sums. Suites are never mixed.

Success and other shares of episodes have Tango's paired interval and an exact test, rates a test that swaps the two
sides, everything else the bootstrap's interval and Wilcoxon's signed-rank test, all over clusters of episodes that are
not independent; p is corrected by Holm for the number of metrics and pairs that are shown (``docs/statistics.md``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sidestep.errors import BadInput, UnknownName
from sidestep.metrics.estimates import mean_value
from sidestep.metrics.observed import (
    ObservationClass,
    Observed,
    in_one_race,
    observation_class,
    observes_json,
    parse_observed,
    races,
)
from sidestep.metrics.ranking import as_json, better_side, rank, same_episodes
from sidestep.metrics.rates import DISTANCE, RATES, compare_rates
from sidestep.metrics.score import HEADLINES, EpisodeScores, by_policy, common_source, directions
from sidestep.metrics.series import INDICATOR_UNIT
from sidestep.metrics.statistics import (
    bootstrap_means,
    holm,
    number_clusters,
    paired_proportion,
    sign_flip_p,
    wilcoxon_p,
)
from sidestep.runs.finished import FinishedRun, as_finished
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

OTHER_RACE = "does not observe the same: ranked in the other race"

Key = tuple[str, str, int]
"""Suite, scenario, seed."""
Pair = tuple[EpisodeScores, EpisodeScores]


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
        return common_source(episode.source for episode in self.episodes.values())

    @property
    def privileged(self) -> bool:
        """Whether its policy sees what others do not."""
        return any(episode.privileged for episode in self.episodes.values())

    @property
    def observed(self) -> Observed | None:
        """What its policy was given; None: not known."""
        return parse_observed(episode.observes for episode in self.episodes.values())


def compare_runs(
    given: Sequence[FinishedRun | Path],
    metrics: Sequence[str] | None = HEADLINES,
    baseline: str | None = None,
) -> dict[str, Any]:
    """Every pair of policies of the runs that share episodes, suite by suite; with ``baseline``, a policy or label,
    only the pairs with it. ``metrics`` None: all that both have."""
    runs = [as_finished(run) for run in given]
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
    classes = {entry.label: observation_class(entry.observed) for entry in entries}
    _correct(pairs, {entry.label for entry in entries if entry.privileged}, classes)
    return {
        "runs": [str(run.shown) for run in runs],
        "dialect": dialects.pop(),
        "entries": [
            {
                "label": entry.label,
                "run": entry.run,
                "policy": entry.policy,
                "episodes": len(entry.episodes),
                "privileged": entry.privileged,
                **observes_json(entry.observed),
                "source": entry.source,
            }
            for entry in entries
        ],
        "pairs": pairs,
        "ranking": {} if baseline is not None else rank_suites(entries, pairs),
        "comparisons": sum(found["p"] is not None for pair in pairs for found in pair["metrics"].values()),
    }


def rank_suites(entries: Sequence[Entry], pairs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Suite → a ranking per metric of the entries that ran the same episodes, and why the others have no rank.
    Privileged policies have none. Where some have exact states and others sensors only, ``races`` has a ranking of
    each, and ``metrics`` that of the larger. ``pairs`` are all pairs."""
    found = {}
    for suite in dict.fromkeys(pair["suite"] for pair in pairs):
        ran = {
            entry.label: frozenset(key for key in entry.episodes if key[0] == suite)
            for entry in entries
            if any(key[0] == suite for key in entry.episodes)
        }
        privileged = {entry.label for entry in entries if entry.privileged}
        ranked = same_episodes({label: keys for label, keys in ran.items() if label not in privileged})
        classes = {entry.label: observation_class(entry.observed) for entry in entries if entry.label in ranked}
        inside = [each for each in pairs if each["suite"] == suite]
        split = [(race, _rank_race(inside, race)) for race in races(classes)]
        first = max(split, key=lambda each: len(each[0]))
        found[suite] = {
            "metrics": first[1],
            "unranked": [
                {"label": label, "reason": "privileged" if label in privileged else "ran other episodes"}
                for label in ran
                if label not in ranked
            ]
            + [{"label": label, "reason": OTHER_RACE} for label in ran if label in ranked - first[0]],
            "races": [{"labels": sorted(race), "metrics": ranks} for race, ranks in split if len(split) > 1],
        }
    return found


def _rank_race(pairs: Sequence[dict[str, Any]], race: Collection[str]) -> dict[str, Any]:
    """Metric → the ranking of the policies of one race."""
    inside = [each for each in pairs if {each["a"], each["b"]} <= set(race)]
    metrics = dict.fromkeys(name for pair in inside for name in pair["metrics"])
    return {name: as_json(ranking) for name in metrics if (ranking := rank(inside, name))}


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
        source_a, source_b = a.episodes[key].source, b.episodes[key].source
        if source_a != source_b:
            raise BadInput(
                f"{a.label} has {source_a} people and {b.label} {source_b} people in {key[1]!r}: these are different "
                "episodes; compare runs with the same people (sidestep data list shows which recordings are installed)"
            )


def label_entries(runs: Sequence[FinishedRun]) -> list[Entry]:
    """Every policy of every run; named after the policy, or policy@run where that is not enough."""
    found = [(run, policy, episodes) for run in runs for policy, episodes in by_policy(run.episodes).items()]
    times = Counter(policy for _, policy, _ in found)
    return [
        Entry(
            policy if times[policy] == 1 else f"{policy}@{run.shown}",
            str(run.shown),
            policy,
            {(each.suite, each.scenario, each.seed): each for each in episodes},
        )
        for run, policy, episodes in found
    ]


def compare_pair(a: Entry, b: Entry, metrics: Sequence[str] | None = None) -> dict[str, Any]:
    """The metrics of two entries over their common episodes, all of one suite."""
    common = [key for key in a.episodes if key in b.episodes]
    pairs = [(a.episodes[key], b.episodes[key]) for key in common]
    names = [name for name in pairs[0][0].metrics if name in pairs[0][1].metrics]
    if metrics is not None:
        names = [name for name in metrics if name in names] or names
    better = directions()
    return {
        "a": a.label,
        "b": b.label,
        "suite": common[0][0],
        "episodes": len(common),
        "outcomes_a": dict(Counter(first.outcome for first, _ in pairs)),
        "outcomes_b": dict(Counter(second.outcome for _, second in pairs)),
        "metrics": {name: _compare_metric(name, pairs, better.get(name, "none")) for name in names},
    }


def _compare_metric(name: str, pairs: list[Pair], direction: str) -> dict[str, Any]:
    """The entry of a metric; ``better`` comes with the correction."""
    compared = _compare_rate(name, pairs) if name in RATES else _compare_means(name, pairs)
    unit = next((first.metrics[name].unit for first, _ in pairs if name in first.metrics), "")
    where = "both succeed" if name in WHERE_BOTH_SUCCEED else "all"
    return {
        "n": compared.n,
        "clusters": compared.clusters,
        "lost": len(pairs) - compared.n,
        "mean_a": compared.mean_a,
        "mean_b": compared.mean_b,
        "difference": compared.difference,
        "low": compared.low,
        "high": compared.high,
        "p": compared.p,
        "unit": unit,
        "direction": direction,
        "better": None,
        "where": where,
    }


class _Compared(NamedTuple):
    """A metric over ``n`` pairs in ``clusters``: both means, the difference, its interval and p."""

    n: int = 0
    clusters: int = 0
    mean_a: float | None = None
    mean_b: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None


def _compare_means(name: str, pairs: list[Pair]) -> _Compared:
    known = [
        (first, second)
        for first, second in pairs
        if all(name in each.metrics and each.metrics[name].valid for each in (first, second))
        and (name not in WHERE_BOTH_SUCCEED or first.outcome == second.outcome == Outcome.SUCCESS)
    ]
    if not known:
        return _Compared()
    values = np.array([[each.metrics[name].value for each in pair] for pair in known])
    clusters = number_clusters([first.cluster for first, _ in known])
    difference = values[:, 1] - values[:, 0]
    n = len(difference)
    low, high, p = _judge(difference, clusters, known[0][0].metrics[name].unit)
    means = (mean_value(values[:, 0]), mean_value(values[:, 1]), float(difference.mean()))
    return _Compared(n, _count(clusters, n), *means, low, high, p)


def _compare_rate(name: str, pairs: list[Pair]) -> _Compared:
    """Events per 100 m: the sums over all pairs are divided, so that the numbers are those of the tables. No value
    where one side drove too little for a rate."""
    parts = (RATES[name], DISTANCE)
    known = [
        pair
        for pair in pairs
        if all(part in each.metrics and each.metrics[part].valid for each in pair for part in parts)
    ]
    counts, metres = (
        np.array([[each.metrics[part].value for each in pair] for pair in known]).reshape(-1, 2).T for part in parts
    )
    clusters = number_clusters([first.cluster for first, _ in known])
    found = compare_rates(counts, metres, clusters) if known else None
    if found is None:
        return _Compared()
    n, difference = len(known), found.second - found.first
    return _Compared(n, _count(clusters, n), found.first, found.second, difference, found.low, found.high, found.p)


def _count(clusters: IntArray | None, n: int) -> int:
    return n if clusters is None else int(clusters.max()) + 1


def _judge(
    difference: FloatArray, clusters: IntArray | None, unit: str
) -> tuple[float | None, float | None, float | None]:
    """95 % interval of the mean difference and p; no interval for fewer than two pairs."""
    n = len(difference)
    if unit == INDICATOR_UNIT:
        low, high = paired_proportion(difference, clusters=clusters)
        return (low if n > 1 else None), (high if n > 1 else None), sign_flip_p(difference, clusters)
    if n < 2:
        return None, None, wilcoxon_p(difference)
    lows, highs = bootstrap_means(difference[None], clusters=clusters)
    return float(lows[0]), float(highs[0]), wilcoxon_p(difference, clusters)


def _correct(pairs: list[dict[str, Any]], privileged: set[str], classes: Mapping[str, ObservationClass]) -> None:
    """Holm's correction over everything that is shown, and which side is better after it: none where one of them is
    privileged, or one has exact states and the other sensors only, since the two did not have the same task."""
    for pair in pairs:
        pair["one_race"] = in_one_race(classes[pair["a"]], classes[pair["b"]])
    found = [(pair, entry) for pair in pairs for entry in pair["metrics"].values()]
    for (pair, entry), p in zip(found, holm([entry["p"] for _, entry in found]), strict=True):
        entry["p_holm"] = p
        if pair["one_race"] and not {pair["a"], pair["b"]} & privileged:
            entry["better"] = better_side(p, entry["low"], entry["high"], entry["direction"])
