"""Effects of the order of runs: people learn, tire, and compare with what they have met before.

From every run's score the mean of its condition (policy, scenario, location) over all participants is subtracted, and
then the participant's own mean. *Learning*: the slope of what is left over the place of the run, by participant; the
mean slope with Student's interval over participants. *Position*: what is left of the runs of the policy that a
participant met first, second …, again by participant. Where every participant met the policies in the same order,
order and policies cannot be separated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.studies.ratings.comparison import run_keys, run_scores, student_interval
from sidestep.studies.ratings.participation import run_orders
from sidestep.studies.ratings.questionnaire import Questionnaire
from sidestep.studies.ratings.table import Ratings
from sidestep.types.base import FloatArray

LEAST_RUNS = 3
"""Minimum number of runs of a participant for a slope."""
LEAST_PARTICIPANTS = 3


def order_document(ratings: Ratings, questionnaire: Questionnaire) -> dict[str, Any]:
    """Learning and positions as plain data; ``reason`` explains why there are none."""
    document: dict[str, Any] = {"learning": None, "positions": [], "reason": ""}
    orders = run_orders(ratings)
    scores, keys = run_scores(ratings, questionnaire), run_keys(ratings, questionnaire)
    if not orders:
        return {
            **document,
            "reason": "the order of runs is unknown: there is neither a column order nor a time for every rating",
        }
    places = np.array([orders[key] for key in keys], np.float64)
    people = _rows_by(scores.participant)
    people = {name: rows[np.argsort(places[rows])] for name, rows in people.items() if len(rows) >= LEAST_RUNS}
    if len(people) < LEAST_PARTICIPANTS:
        return {**document, "reason": f"fewer than {LEAST_PARTICIPANTS} participants have {LEAST_RUNS} runs"}
    met = {name: list(dict.fromkeys(scores.policy[row] for row in rows)) for name, rows in people.items()}
    if len(set(scores.policy)) > 1 and len({tuple(each) for each in met.values()}) == 1:
        return {
            **document,
            "reason": "every participant met the policies in the same order: order and policy cannot be separated",
        }
    left = _without_conditions(scores.score, list(zip(scores.policy, scores.scenario, scores.location, strict=True)))
    for rows in people.values():
        left[rows] -= left[rows].mean()
    slopes = np.array([_slope(places[rows], left[rows]) for rows in people.values()])
    document["learning"] = {"participants": len(slopes), "runs": int(max(places)), **_mean(slopes)}
    policies = max(len(each) for each in met.values())
    for position in range(policies if policies > 1 else 0):
        own = [
            left[[row for row in rows if scores.policy[row] == met[name][position]]].mean()
            for name, rows in people.items()
            if len(met[name]) > position
        ]
        if len(own) >= LEAST_PARTICIPANTS:
            document["positions"].append({"position": position + 1, "participants": len(own), **_mean(np.array(own))})
    return document


def _rows_by(names: list[Any]) -> dict[Any, Any]:
    found: dict[Any, list[int]] = {}
    for row, name in enumerate(names):
        found.setdefault(name, []).append(row)
    return {name: np.array(rows) for name, rows in found.items()}


def _without_conditions(score: FloatArray, conditions: list[Any]) -> FloatArray:
    left = score.copy()
    for rows in _rows_by(conditions).values():
        left[rows] -= left[rows].mean()
    return left


def _slope(place: FloatArray, value: FloatArray) -> float:
    """Levels per run."""
    centred = place - place.mean()
    return float(centred @ value / (centred @ centred))


def _mean(values: FloatArray) -> dict[str, float]:
    low, high = student_interval(values)
    return {"mean": float(values.mean()), "low": low, "high": high}
