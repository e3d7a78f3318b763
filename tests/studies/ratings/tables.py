"""Small tables of ratings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sidestep.studies.ratings.questionnaire import load_questionnaire
from sidestep.studies.ratings.table import Ratings, make_ratings

PROTOCOL = load_questionnaire("protocol")
FRONTAL = ("q1", "q2", "q3", "q4", "q5")


def answers(ratings: Sequence[int], scenario: str = "frontal", **about: Any) -> list[dict[str, Any]]:
    """The rows of one run, one rating per item of the scenario."""
    row = {"study": "pilot", "participant": "A", "policy": "orca", "scenario": scenario, "location": "f1", **about}
    items = [item.id for item in PROTOCOL.items_for(scenario)]
    return [{**row, "item": item, "rating": rating} for item, rating in zip(items, ratings, strict=True)]


def table(*runs: Sequence[Mapping[str, Any]], complete: bool = True) -> Ratings:
    """A checked table of several runs."""
    return make_ratings([row for run in runs for row in run], PROTOCOL, complete=complete)


def constant(score: int, **about: Any) -> list[dict[str, Any]]:
    """A run whose reverse-coded ratings are all ``score``."""
    return answers([score, 6 - score, score, 6 - score, score], **about)
