"""Reliability of a study: matrices of ratings made from the table, and the coefficients of ``reliability`` on them.

*Inter-rater*: targets are conditions (policy, scenario, location, item), or episodes where several participants rated
the same one (a film), raters are participants, and a rating is a participant's reverse-coded mean.
*Internal consistency*: runs by items of a scenario, or of a subscale. *Test-retest*: targets are conditions of one
participant, and sets take the raters' place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np

from sidestep.ratings.questionnaire import Questionnaire
from sidestep.ratings.reliability import (
    Coefficient,
    cronbach_alpha,
    intraclass_correlations,
    krippendorff_alpha,
    mean_squares,
)
from sidestep.ratings.table import Ratings
from sidestep.types.base import FloatArray

CONDITION = ("policy", "scenario", "location", "item")
EPISODE = ("episode", "item")


def rating_matrix(
    ratings: Ratings, questionnaire: Questionnaire, target: Sequence[str], rater: str
) -> tuple[FloatArray, list[tuple[Any, ...]], list[Any]]:
    """(targets, raters) means of reverse-coded ratings, NaN where there are none; the targets and the raters."""
    value = ratings.coded(questionnaire)
    keys = list(zip(*(ratings.column(name).tolist() for name in target), strict=True))
    targets = {key: place for place, key in enumerate(dict.fromkeys(keys))}
    raters = {name: place for place, name in enumerate(ratings.names(rater))}
    rows = np.array([targets[key] for key in keys], dtype=np.int64)
    columns = np.array([raters[name] for name in ratings.column(rater).tolist()], dtype=np.int64)
    known = ~np.isnan(value)
    flat = rows[known] * len(raters) + columns[known]
    size = len(targets) * len(raters)
    count = np.bincount(flat, minlength=size)
    total = np.bincount(flat, value[known], minlength=size)
    means = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return means.reshape(len(targets), len(raters)), list(targets), list(raters)


def inter_rater(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any]:
    """Intraclass correlations and ordinal alpha over participants, overall and by scenario."""
    target = EPISODE if _episodes_shared(ratings) else CONDITION
    shown = ratings.select(ratings.episode != "") if target is EPISODE else ratings
    parts = {"all": shown} | {name: shown.where(scenario=name) for name in shown.names("scenario")}
    found = {}
    for name, part in parts.items():
        matrix, _, _ = rating_matrix(part, questionnaire, target, "participant")
        coefficients = [*intraclass_correlations(matrix).values(), krippendorff_alpha(matrix, "ordinal")]
        found[name] = [each.document() for each in coefficients]
    return {"targets": "episode" if target is EPISODE else "condition", "by_scenario": found}


def _episodes_shared(ratings: Ratings) -> bool:
    """Whether at least two episodes have more than one participant."""
    pairs = set(zip(ratings.episode.tolist(), ratings.participant.tolist(), strict=True))
    people = Counter(episode for episode, _ in pairs if episode)
    return sum(count > 1 for count in people.values()) >= 2


def internal_consistency(ratings: Ratings, questionnaire: Questionnaire) -> list[dict[str, Any]]:
    """Cronbach's alpha of every scenario and subscale."""
    found = []
    for scenario in ratings.names("scenario"):
        part = ratings.where(scenario=scenario)
        items = questionnaire.items_for(scenario)
        for subscale in dict.fromkeys(item.subscale for item in items):
            chosen = [item.id for item in items if item.subscale == subscale]
            answers, participants = run_matrix(part, questionnaire, chosen)
            coefficient = cronbach_alpha(answers, participants)
            found.append({"scenario": scenario, "subscale": subscale, "items": chosen, **coefficient.document()})
    return found


def run_matrix(ratings: Ratings, questionnaire: Questionnaire, items: Sequence[str]) -> tuple[FloatArray, list[str]]:
    """(runs, items) reverse-coded ratings, NaN where the participant could not tell; and each run's participant."""
    value, runs = ratings.coded(questionnaire), ratings.run_numbers()
    places = {name: place for place, name in enumerate(items)}
    matrix = np.full((int(runs.max()) + 1 if len(runs) else 0, len(items)), np.nan)
    participants = [""] * len(matrix)
    names = zip(runs.tolist(), ratings.item.tolist(), ratings.participant.tolist(), value.tolist(), strict=True)
    for run, item, participant, number in names:
        participants[run] = participant
        if item in places:
            matrix[run, places[item]] = number
    return matrix, participants


@dataclass(frozen=True)
class Retest:
    """Repetition over sets. ``measurement_error`` is the standard error of measurement of one set's mean,
    ``detectable_change`` 1.96 √2 of it: smaller differences between two sets are noise."""

    sets: list[int]
    means: list[float | None]
    agreement: Coefficient
    consistency: Coefficient
    measurement_error: float | None
    detectable_change: float | None


def retest_over_sets(ratings: Ratings, questionnaire: Questionnaire) -> Retest | None:
    """ICC(2,1) and ICC(3,1) over sets of the conditions of each participant; None with a single set."""
    if len(ratings.names("set")) < 2:
        return None
    matrix, _, sets = rating_matrix(ratings, questionnaire, ("participant", *CONDITION), "set")
    complete = matrix[~np.isnan(matrix).any(axis=1)]
    found = intraclass_correlations(matrix)
    error = sqrt(mean_squares(complete).within) if len(complete) > 1 else None
    return Retest(
        sets=[int(each) for each in sets],
        means=[float(column.mean()) for column in complete.T] if len(complete) else [None] * len(sets),
        agreement=found["ICC(2,1)"],
        consistency=found["ICC(3,1)"],
        measurement_error=error,
        detectable_change=None if error is None else 1.96 * sqrt(2) * error,
    )


def reliability_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any]:
    """All of this as plain data, and of each kind the one number that is quoted most.

    ``icc`` is ICC(2,1), ``alpha_krippendorff`` is ordinal, both over all scenarios; ``alpha_cronbach`` is the mean over
    scenarios and subscales, weighted by complete runs. None: the entries below say why.
    """
    retest = retest_over_sets(ratings, questionnaire)
    between, items = inter_rater(ratings, questionnaire), internal_consistency(ratings, questionnaire)
    overall = {each["name"]: each["value"] for each in between["by_scenario"]["all"]}
    known = [(each["value"], each["n"]) for each in items if each["value"] is not None]
    return {
        "icc": overall["ICC(2,1)"],
        "alpha_krippendorff": overall["Krippendorff's alpha (ordinal)"],
        "alpha_cronbach": sum(value * n for value, n in known) / sum(n for _, n in known) if known else None,
        "inter_rater": between,
        "internal_consistency": items,
        "test_retest": None if retest is None else asdict(retest),
    }
