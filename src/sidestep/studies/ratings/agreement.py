"""Reliability of a study: matrices of ratings made from the table, and the coefficients of ``reliability`` on them.

*Inter-rater*: raters are participants, and targets are runs (run 2 of a policy in a scenario and location, which every
participant has), or episodes where several participants rated the same one (a film). Items are never targets: raters
who distinguish nothing but items, such as those who tick one column throughout, would agree perfectly. Intraclass
correlations are those of run scores within scenarios; Krippendorff's alpha keeps the items apart. Both are also given
for each item.
*Internal consistency*: runs by items of a scenario, or of a subscale, without participants who gave the same answer
throughout. *Test-retest*: targets are the participants in their conditions, and sets take the raters' place.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from typing import Any

import numpy as np

from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.reliability import (
    Coefficient,
    cronbach_alpha,
    intraclass_correlations,
    krippendorff_alpha,
)
from sidestep.studies.ratings.table import Ratings
from sidestep.types.base import FloatArray

RUN = ("policy", "scenario", "location", "set", "run")
EPISODE = ("scenario", "episode")
CONDITION = ("participant", "policy", "scenario", "location")


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
    """Intraclass correlations and ordinal alpha over participants, overall, by scenario and by item."""
    target = EPISODE if _episodes_shared(ratings) else RUN
    shown = ratings.select(ratings.episode != "") if target is EPISODE else ratings
    parts = {name: shown.where(scenario=name) for name in shown.names("scenario")}
    scores = {name: rating_matrix(part, questionnaire, target, "participant")[0] for name, part in parts.items()}
    found = {}
    for name, part in {"all": shown, **parts}.items():
        blocks = list(scores.values()) if name == "all" else [scores[name]]
        alpha = krippendorff_alpha(_items_apart(part, questionnaire, target), "ordinal")
        found[name] = [each.document() for each in (*intraclass_correlations(*blocks).values(), alpha)]
    items = [each for name, part in parts.items() for each in _by_item(part, questionnaire, target, scenario=name)]
    return {"targets": "episode" if target is EPISODE else "run", "by_scenario": found, "by_item": items}


def _items_apart(part: Ratings, questionnaire: Questionnaire, target: Sequence[str]) -> FloatArray:
    """(targets, participants, items) reverse-coded ratings."""
    items = part.names("item")
    matrix, keys, raters = rating_matrix(part, questionnaire, (*target, "item"), "participant")
    targets = {key: place for place, key in enumerate(dict.fromkeys(key[:-1] for key in keys))}
    found = np.full((len(targets), len(raters), len(items)), np.nan)
    for key, row in zip(keys, matrix, strict=True):
        found[targets[key[:-1]], :, items.index(key[-1])] = row
    return found


def _by_item(part: Ratings, questionnaire: Questionnaire, target: Sequence[str], scenario: str) -> list[dict[str, Any]]:
    apart = _items_apart(part, questionnaire, target)
    return [
        {
            "scenario": scenario,
            "item": item,
            "icc": intraclass_correlations(apart[:, :, place])["ICC(2,1)"].document(),
            "alpha": krippendorff_alpha(apart[:, :, place], "ordinal", resamples=0).document(),
        }
        for place, item in enumerate(part.names("item"))
    ]


def _episodes_shared(ratings: Ratings) -> bool:
    """Whether at least two episodes have more than one participant."""
    pairs = set(zip(ratings.episode.tolist(), ratings.participant.tolist(), strict=True))
    people = Counter(episode for episode, _ in pairs if episode)
    return sum(count > 1 for count in people.values()) >= 2


def same_answer_throughout(ratings: Ratings, questionnaire: Questionnaire) -> list[str]:
    """Participants with at least two runs and two items whose answers are all the same level, reversed items included.
    "Cannot tell" is no answer here."""
    answered = ratings.rating != questionnaire.scale.cannot_tell
    found = []
    for name in ratings.names("participant"):
        own = ratings.select(answered & (ratings.participant == name))
        several = len(own) and own.run_numbers().max() > 0 and len(own.names("item")) > 1
        if several and len(own.names("rating")) == 1:
            found.append(str(name))
    return found


def internal_consistency(
    ratings: Ratings, questionnaire: Questionnaire, without: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """Cronbach's alpha of every scenario and subscale, ``without`` some participants."""
    found = []
    ratings = ratings.select(~np.isin(ratings.participant, np.array(without, dtype=np.str_))) if without else ratings
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
    """ICC(2,1) and ICC(3,1) over sets of run scores, whose targets are the participants in their conditions, within
    scenarios; None with a single set."""
    sets = ratings.names("set")
    if len(sets) < 2:
        return None
    blocks = []
    for scenario in ratings.names("scenario"):
        matrix, _, own = rating_matrix(ratings.where(scenario=scenario), questionnaire, CONDITION, "set")
        if set(own) == set(sets):
            ordered = matrix[:, [own.index(each) for each in sets]]
            blocks.append(ordered[~np.isnan(ordered).any(axis=1)])
    complete = np.concatenate([*blocks, np.zeros((0, len(sets)))])
    found = intraclass_correlations(*blocks)
    error = float(np.sqrt(complete.var(axis=1, ddof=1).mean())) if len(complete) else None
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

    ``icc`` is ICC(2,1) of run scores, ``alpha_krippendorff`` is ordinal, both over all scenarios; ``alpha_cronbach`` is
    the mean over scenarios and subscales, weighted by complete runs. None: the entries below say why.
    """
    retest, same = retest_over_sets(ratings, questionnaire), same_answer_throughout(ratings, questionnaire)
    between, items = inter_rater(ratings, questionnaire), internal_consistency(ratings, questionnaire, same)
    overall = {each["name"]: each["value"] for each in between["by_scenario"]["all"]}
    known = [(each["value"], each["n"]) for each in items if each["value"] is not None]
    return {
        "icc": overall["ICC(2,1)"],
        "alpha_krippendorff": overall["Krippendorff's alpha (ordinal)"],
        "alpha_cronbach": sum(value * n for value, n in known) / sum(n for _, n in known) if known else None,
        "same_answer_throughout": same,
        "inter_rater": between,
        "internal_consistency": items,
        "test_retest": None if retest is None else asdict(retest),
    }
