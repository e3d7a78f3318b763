"""Number of runs that a study needs: the precision of a scenario's average against the number of runs in a batch.

The spread of run scores within a cell (participant, policy, scenario, location) is s. A batch of n runs of one
participant then has a 95 % interval of ± t(n - 1) s / √n. Over P participants with n runs each the standard error is
√(b² / P + s² / (P n)) with the standard deviation b between participants, estimated from the mean squares of a one-way
analysis of variance: more runs of the same people do not make up for few people.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np

from sidestep.studies.ratings.comparison import RunScores, run_scores
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.table import Ratings

BATCHES = (3, 5, 10, 15, 20, 30, 45, 60, 90)
PEOPLE = (1, 3, 5, 10, 20, 30)
TARGETS = (0.5, 0.25)
"""Half widths, in units of the scale, for which the number of runs is asked."""
MOST_RUNS = 10_000
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Spread:
    """Standard deviations of run scores within a cell and between participants, None where not to be estimated."""

    within: float | None
    between: float | None
    cells: int
    runs: int
    participants: int


def spread_of(scores: RunScores) -> Spread:
    """Pooled over cells; ``between`` after removing the means of policy, scenario and location."""
    cells: dict[tuple[str, ...], list[float]] = {}
    rows = zip(scores.policy, scores.scenario, scores.location, scores.participant, scores.score.tolist(), strict=True)
    for policy, scenario, location, participant, score in rows:
        cells.setdefault((policy, scenario, location, participant), []).append(score)
    freedom = sum(len(values) - 1 for values in cells.values())
    squares = sum(float(np.square(np.array(values) - np.mean(values)).sum()) for values in cells.values())
    within = squares / freedom if freedom > 0 else None
    people = len(set(scores.participant))
    return Spread(
        within=None if within is None else sqrt(within),
        between=_between(cells, within),
        cells=len(cells),
        runs=len(scores),
        participants=people,
    )


def _between(cells: dict[tuple[str, ...], list[float]], within: float | None) -> float | None:
    """√ of the variance between participants: that of their cell means less what runs contribute, at least 0."""
    conditions: dict[tuple[str, ...], list[list[float]]] = {}
    for key, values in cells.items():
        conditions.setdefault(key[:3], []).append(values)
    several = [values for values in conditions.values() if len(values) > 1]
    if not several or within is None:
        return None
    means = [np.array([np.mean(each) for each in values]) for values in several]
    freedom = sum(len(each) - 1 for each in means)
    variance = sum(float(np.square(each - each.mean()).sum()) for each in means) / freedom
    runs = np.mean([1 / len(each) for values in several for each in values])
    return sqrt(max(0.0, variance - within * float(runs)))


def half_width(within: float, runs: int) -> float:
    """± t(n - 1) s / √n of a batch of at least two runs of one participant."""
    from scipy.special import stdtrit

    return float(stdtrit(runs - 1, (1 + CONFIDENCE) / 2)) * within / sqrt(runs)


def runs_needed(within: float, target: float) -> int | None:
    """The smallest batch with a half width of at most ``target``; None beyond ``MOST_RUNS``."""
    low, high = 2, MOST_RUNS
    if half_width(within, high) > target:
        return None
    while low < high:
        middle = (low + high) // 2
        if half_width(within, middle) <= target:
            high = middle
        else:
            low = middle + 1
    return low


def precision_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any]:
    """Half widths by batch size, runs needed, and standard errors by participants and runs, as plain data."""
    spread = spread_of(run_scores(ratings, questionnaire))
    document: dict[str, Any] = {"spread": asdict(spread), "batches": [], "needed": [], "people": []}
    if spread.within is None:
        return {**document, "reason": "no cell has two runs; let participants repeat a scenario"}
    document["batches"] = [{"runs": n, "half_width": half_width(spread.within, n)} for n in BATCHES]
    document["needed"] = [{"half_width": target, "runs": runs_needed(spread.within, target)} for target in TARGETS]
    if spread.between is not None:
        document["people"] = [
            {"participants": p, "runs": n, "standard_error": sqrt((spread.between**2 + spread.within**2 / n) / p)}
            for p in PEOPLE
            for n in (1, 5, 10, 30)
        ]
    return {**document, "reason": ""}
