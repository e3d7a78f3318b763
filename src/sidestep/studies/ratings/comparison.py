"""Comparison of policies in pairs: which one do people rate higher, and how certain is that?

A run's score is the mean of its reverse-coded ratings. People differ in how much they like a policy, so that the runs
of one participant are weak evidence about other people: each participant counts once, with the mean over the scenarios
and locations in which both policies were rated, weighted alike.

Paired, where at least two participants rated both policies: Wilcoxon's signed-rank test, the matched-pairs
rank-biserial correlation (Kerby, Comprehensive Psychology 3, 2014), Cohen's d_z, and Student's interval of the mean
difference. Else independent: Mann and Whitney's test and Cliff's delta (Cliff, Psychological Bulletin 114, 1993) over
the means of participants; over runs only where one person rated both policies, and the result then speaks about that
person. Three or more policies: Friedman's test with a permutation p and Kendall's W. p-values of pairs are corrected by
Holm.

Means of policies have cluster-bootstrap intervals: whole participants are drawn (``metrics.statistics``).
``mixed_model`` explains how these tests relate to a model with random slopes.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from sidestep.metrics.statistics import bootstrap_means, holm, number_clusters, wilcoxon_p
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.table import KEY, Ratings
from sidestep.types.base import FloatArray

RESAMPLES = 2000
PERMUTATIONS = 9999
CONFIDENCE = 0.95


@dataclass(frozen=True, eq=False)
class RunScores:
    """One row per run that has an opinion: its score and what names it."""

    score: FloatArray
    participant: list[str]
    policy: list[str]
    scenario: list[str]
    location: list[str]
    set: list[int]
    episode: list[str]

    def __len__(self) -> int:
        return len(self.score)


def run_scores(ratings: Ratings, questionnaire: Questionnaire) -> RunScores:
    """The mean reverse-coded rating of every run; runs rated "cannot tell" throughout are left out."""
    value, runs = ratings.coded(questionnaire), ratings.run_numbers()
    size = int(runs.max()) + 1 if len(runs) else 0
    known = ~np.isnan(value)
    count = np.bincount(runs[known], minlength=size)
    total = np.bincount(runs[known], value[known], minlength=size)
    first = np.unique(runs, return_index=True)[1]
    kept = count > 0
    about = ratings.select(first[kept])
    names = {name: about.column(name).tolist() for name in (*KEY, "episode")}
    return RunScores(
        total[kept] / count[kept], names["participant"], names["policy"], names["scenario"], names["location"],
        names["set"], names["episode"],
    )  # fmt: skip


def run_keys(ratings: Ratings, questionnaire: Questionnaire) -> list[tuple[Any, ...]]:
    """The values of ``KEY`` of each run of ``run_scores``."""
    known = ratings.select(~np.isnan(ratings.coded(questionnaire)))
    rated = set(zip(*(known.column(name).tolist() for name in KEY), strict=True))
    keys = zip(*(ratings.column(name).tolist() for name in KEY), strict=True)
    return [key for key in dict.fromkeys(keys) if key in rated]


def unrated_runs(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, int]:
    """Policy → number of runs rated "cannot tell" throughout: they have no score, and a policy that
    often fails before it meets anybody has many."""
    found = {}
    for policy in ratings.names("policy"):
        part = ratings.where(policy=policy)
        found[policy] = int(part.run_numbers().max()) + 1 - len(run_scores(part, questionnaire))
    return found


@dataclass(frozen=True)
class PolicyMean:
    """Mean score of a policy over its runs, with an interval over participants where there are several."""

    policy: str
    mean: float
    low: float | None
    high: float | None
    runs: int
    participants: int


def policy_means(scores: RunScores) -> list[PolicyMean]:
    """One for each policy, in order of appearance."""
    found = []
    for policy in dict.fromkeys(scores.policy):
        rows = [row for row, name in enumerate(scores.policy) if name == policy]
        values = scores.score[rows]
        people = [scores.participant[row] for row in rows]
        low = high = None
        if len(values) > 1:
            lows, highs = bootstrap_means(values[None], CONFIDENCE, RESAMPLES, clusters=number_clusters(people))
            low, high = float(lows[0]), float(highs[0])
        found.append(PolicyMean(policy, float(values.mean()), low, high, len(values), len(set(people))))
    return found


@dataclass(frozen=True)
class PolicyPair:
    """``second`` against ``first``: ``difference`` is second minus first, on the scale of the ratings."""

    first: str
    second: str
    design: str
    """``paired`` over participants, or ``independent`` participants or runs."""
    n: int
    """Pairs, or participants of both policies together; runs, of a single participant."""
    difference: float
    low: float | None
    high: float | None
    test: str
    p: float | None
    p_corrected: float | None
    effect: float | None
    """Rank-biserial correlation, or Cliff's delta: -1 to 1."""
    effect_name: str
    cohen_d: float | None
    """d_z of paired differences, or d with the pooled standard deviation."""
    note: str = ""


def compare_policies(scores: RunScores) -> list[PolicyPair]:
    """Every pair of policies."""
    pairs = [_compare(scores, one, other) for one, other in combinations(dict.fromkeys(scores.policy), 2)]
    corrected = holm([pair.p for pair in pairs])
    return [PolicyPair(**{**asdict(pair), "p_corrected": p}) for pair, p in zip(pairs, corrected, strict=True)]


def _participant_means(scores: RunScores, policies: tuple[str, ...]) -> tuple[FloatArray, list[str]]:
    """(participants, policies) means over the scenarios and locations that a participant rated with all of them."""
    cells: dict[tuple[str, str, str], dict[str, list[float]]] = {}
    rows = zip(scores.participant, scores.scenario, scores.location, scores.policy, scores.score.tolist(), strict=True)
    for participant, scenario, location, policy, score in rows:
        if policy in policies:
            cells.setdefault((participant, scenario, location), {}).setdefault(policy, []).append(score)
    people: dict[str, list[list[float]]] = {}
    for (participant, _, _), found in cells.items():
        if len(found) == len(policies):
            people.setdefault(participant, []).append([sum(found[name]) / len(found[name]) for name in policies])
    means = np.array([np.mean(found, axis=0) for found in people.values()], dtype=np.float64)
    return means.reshape(len(people), len(policies)), list(people)


def _compare(scores: RunScores, first: str, second: str) -> PolicyPair:
    difference = paired_differences(scores, first, second)
    if len(difference) >= 2:
        return _paired(first, second, difference)
    one, other = _means_by_participant(scores, first), _means_by_participant(scores, second)
    if len(one.keys() | other.keys()) == 1:
        runs = {policy: scores.score[np.array(scores.policy) == policy] for policy in (first, second)}
        return _independent(first, second, runs[first], runs[second], "runs of one participant, taken as independent")
    note = "means of participants who did not rate both policies"
    if min(len(one), len(other)) < 2:
        note = "one person rated a policy, and others the other one: people and policies cannot be separated"
    return _independent(first, second, np.array(list(one.values())), np.array(list(other.values())), note)


def paired_differences(scores: RunScores, first: str, second: str) -> FloatArray:
    """(participants,) mean score of ``second`` less that of ``first``, of everybody who rated both in some scenario and
    location."""
    means, _ = _participant_means(scores, (first, second))
    return np.asarray(means[:, 1] - means[:, 0])


def _means_by_participant(scores: RunScores, policy: str) -> dict[str, float]:
    found: dict[str, list[float]] = {}
    for name, participant, score in zip(scores.policy, scores.participant, scores.score.tolist(), strict=True):
        if name == policy:
            found.setdefault(participant, []).append(score)
    return {participant: sum(values) / len(values) for participant, values in found.items()}


def _paired(first: str, second: str, difference: FloatArray) -> PolicyPair:
    n = len(difference)
    low, high = student_interval(difference)
    deviation = float(difference.std(ddof=1))
    smallest = 2.0 ** (1 - n)
    note = f"with {n} participants no p-value below {smallest:.3g} is possible" if smallest > 0.05 else ""
    return PolicyPair(
        first, second, "paired", n, float(difference.mean()), low, high, "Wilcoxon signed-rank",
        wilcoxon_p(difference), None, rank_biserial(difference), "rank-biserial correlation",
        float(difference.mean()) / deviation if deviation > 0 else None, note,
    )  # fmt: skip


def student_interval(values: FloatArray) -> tuple[float, float]:
    """m ± t(n - 1) s / √n. The bootstrap's would be too short: it has 91 to 93 % with 10 to 15 participants."""
    from scipy.special import stdtrit

    n, mean = len(values), float(values.mean())
    half = float(stdtrit(n - 1, (1 + CONFIDENCE) / 2)) * float(values.std(ddof=1)) / float(np.sqrt(n))
    return mean - half, mean + half


def _independent(first: str, second: str, one: FloatArray, other: FloatArray, note: str) -> PolicyPair:
    from scipy.stats import mannwhitneyu

    difference = float(other.mean() - one.mean())
    p = None
    low = high = cohen = None
    if len(one) > 1 and len(other) > 1:
        p = float(mannwhitneyu(other, one, alternative="two-sided").pvalue) if np.ptp(np.r_[one, other]) > 0 else 1.0
        low, high = _two_sample_interval(one, other)
        pooled = ((len(one) - 1) * one.var(ddof=1) + (len(other) - 1) * other.var(ddof=1)) / (len(one) + len(other) - 2)
        cohen = difference / float(np.sqrt(pooled)) if pooled > 0 else None
    return PolicyPair(
        first, second, "independent", len(one) + len(other), difference, low, high, "Mann-Whitney", p, None,
        cliffs_delta(one, other), "Cliff's delta", cohen, note,
    )  # fmt: skip


def _two_sample_interval(one: FloatArray, other: FloatArray) -> tuple[float, float]:
    """Welch's interval of the difference of two means."""
    from scipy.special import stdtrit

    parts = one.var(ddof=1) / len(one), other.var(ddof=1) / len(other)
    total = sum(parts)
    difference = float(other.mean() - one.mean())
    if total == 0:
        return difference, difference
    freedom = total**2 / (parts[0] ** 2 / (len(one) - 1) + parts[1] ** 2 / (len(other) - 1))
    half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2) * np.sqrt(total))
    return difference - half, difference + half


def rank_biserial(difference: FloatArray) -> float | None:
    """(R₊ - R₋) / (R₊ + R₋) of the signed ranks; pairs without a difference do not count. None where all are equal."""
    from scipy.stats import rankdata

    known = difference[difference != 0]
    if not len(known):
        return None
    ranks = rankdata(np.abs(known))
    return float((ranks * np.sign(known)).sum() / ranks.sum())


def cliffs_delta(one: FloatArray, other: FloatArray) -> float | None:
    """P(other > one) - P(other < one) over all pairs."""
    if not len(one) or not len(other):
        return None
    return float(np.sign(other[:, None] - one[None]).mean())


def friedman(scores: RunScores, seed: int = 0) -> dict[str, Any] | None:
    """Friedman's test over the participants who rated every policy; None with fewer than three policies."""
    policies = tuple(dict.fromkeys(scores.policy))
    if len(policies) < 3:
        return None
    means, _ = _participant_means(scores, policies)
    n, k = means.shape
    about = {"policies": list(policies), "n": n, "statistic": None, "kendall_w": None, "p": None, "mean_ranks": None}
    if n < 2:
        return {**about, "reason": "fewer than two participants rated every policy in the same scenario"}
    from scipy.stats import rankdata

    ranks = np.asarray(rankdata(means, axis=1))
    statistic = friedman_statistic(ranks)
    if statistic is None:
        return {**about, "reason": "every participant rated all policies alike"}
    p = (1 + _permutations_as_far(ranks, np.random.default_rng([seed, n, k]))) / (1 + PERMUTATIONS)
    found = {"statistic": statistic, "kendall_w": statistic / (n * (k - 1)), "p": p}
    return {**about, **found, "mean_ranks": ranks.mean(axis=0).tolist(), "reason": ""}


def friedman_statistic(ranks: FloatArray) -> float | None:
    """χ² of ranks (n, k) within participants, corrected for ties (Friedman, J. Am. Stat. Assoc. 32, 1937)."""
    n, k = ranks.shape
    spread = float(np.square(ranks - (k + 1) / 2).sum())
    if spread == 0:
        return None
    sums = ranks.sum(axis=0) - n * (k + 1) / 2
    return float((k - 1) * np.square(sums).sum() / spread)


def _permutations_as_far(ranks: FloatArray, rng: np.random.Generator) -> int:
    """Number of ``PERMUTATIONS`` permutations within participants have as large a statistic: it grows with the sum of
    squares of the policies' rank sums, while the spread of the ranks stays."""

    def spread(permuted: FloatArray) -> FloatArray:
        sums = permuted.sum(axis=1) - len(ranks) * (ranks.shape[1] + 1) / 2
        return np.asarray(np.square(sums).sum(axis=1))

    least = float(spread(ranks[None])[0]) - 1e-9
    chunk = max(1, 1_000_000 // ranks.size)  # bounds memory
    sizes = [min(chunk, PERMUTATIONS - start) for start in range(0, PERMUTATIONS, chunk)]
    drawn = (rng.permuted(np.broadcast_to(ranks, (size, *ranks.shape)), axis=2) for size in sizes)
    return sum(int((spread(each) >= least).sum()) for each in drawn)


def comparison_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any]:
    """Means, pairs and Friedman's test as plain data, of all scenarios together and of each. p-values of single
    scenarios are corrected over all pairs of all scenarios."""
    scenarios = ratings.names("scenario")
    parts = {"all": ratings} | (
        {name: ratings.where(scenario=name) for name in scenarios} if len(scenarios) > 1 else {}
    )
    found: dict[str, dict[str, Any]] = {}
    for name, part in parts.items():
        scores = run_scores(part, questionnaire)
        found[name] = {
            "means": [asdict(each) for each in policy_means(scores)],
            "pairs": [asdict(each) for each in compare_policies(scores)],
            "friedman": friedman(scores),
            "unrated": unrated_runs(part, questionnaire),
        }
    single = [pair for name, each in found.items() if name != "all" for pair in each["pairs"]]
    for pair, p in zip(single, holm([pair["p"] for pair in single]), strict=True):
        pair["p_corrected"] = p
    return found
