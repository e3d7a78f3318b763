"""Participation in a study: numbers of participants and dropouts, outcomes of the walks, and demographics.

A study in the database knows every planned run (``sidestep.studies.analysis``); a file of ratings only those that were
rated, with what its columns ``outcome``, ``flag``, ``comment``, ``device`` and ``about_…`` say, as an export has them.
Flagged runs, in which the participant and not the robot decided the outcome, are counted apart and in no statistic.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sidestep.studies.ratings.table import KEY, Ratings

ABOUT = "about_"
"""Prefix of the columns with answers about the participant."""
MOST_ANSWERS = 12
"""Number of different answers beyond which they are not listed, because free texts may identify a person."""


@dataclass(frozen=True)
class PlannedRun:
    """A run of a participant: what was planned, and what became of it."""

    participant: str
    policy: str
    scenario: str
    done: bool = True
    """Whether it is rated."""
    outcome: str = ""
    """Outcome of a walk."""
    flag: str = ""
    """Why the outcome does not count; empty: it counts."""
    device: str = ""
    comment: str = ""


@dataclass(frozen=True)
class Person:
    """A participant; ``details`` are the answers about them, by question."""

    name: str
    details: Mapping[str, str] = field(default_factory=dict)
    consented: bool = True
    deleted: bool = False


@dataclass(frozen=True)
class Participation:
    """All participants and runs. ``planned``: whether planned runs that were not done are included. ``questions``: id →
    text of the question."""

    people: tuple[Person, ...]
    runs: tuple[PlannedRun, ...]
    planned: bool
    questions: Mapping[str, str] = field(default_factory=dict)


def without_flagged(ratings: Ratings) -> Ratings:
    """The ratings whose column ``flag`` is empty."""
    return ratings.select(np.array([not flag.strip() for flag in ratings.noted("flag")], dtype=bool))


def participation_of(ratings: Ratings) -> Participation:
    """Participation as far as the table of ratings shows it; its rows include flagged runs."""
    first = {run: row for row, run in reversed(list(enumerate(ratings.run_numbers().tolist())))}
    rows = sorted(first.values())
    notes = {name: ratings.noted(name) for name in ("outcome", "flag", "device", "comment")}
    runs = tuple(
        PlannedRun(
            str(ratings.participant[row]), str(ratings.policy[row]), str(ratings.scenario[row]),
            **{name: column[row].strip() for name, column in notes.items()},
        )
        for row in rows
    )  # fmt: skip
    asked = {name.removeprefix(ABOUT): ratings.noted(name) for name in ratings.extra if name.startswith(ABOUT)}
    people: dict[str, Person] = {}
    for row in rows:
        details = {question: column[row].strip() for question, column in asked.items() if column[row].strip()}
        people.setdefault(str(ratings.participant[row]), Person(str(ratings.participant[row]), details))
    return Participation(tuple(people.values()), runs, False, {name: name.replace("_", " ") for name in asked})


def participation_document(found: Participation, ratings: Ratings) -> dict[str, Any]:
    """All of it as plain data. ``ratings`` are those that the statistics use."""
    return {
        "dropouts": _dropouts(found, ratings),
        "outcomes": _outcomes(found.runs),
        "demographics": [_answers(found, question) for question in found.questions],
        "devices": dict(Counter(run.device for run in found.runs if run.device).most_common()),
        "comments": [
            {"participant": run.participant, "policy": run.policy, "scenario": run.scenario, "comment": run.comment}
            for run in found.runs
            if run.comment
        ],
    }


def _dropouts(found: Participation, ratings: Ratings) -> dict[str, Any]:
    """Participants who did not rate all their runs. Without a plan, everybody should have as many as those who have
    most. ``by_policy``, of those who began, shows whether people left one policy more often than another."""
    runs: dict[str, list[PlannedRun]] = {person.name: [] for person in found.people}
    for run in found.runs:
        runs.setdefault(run.participant, []).append(run)
    done = {name: [run for run in own if run.done] for name, own in runs.items()}
    most = max((len(own) for own in done.values()), default=0)
    planned = {name: len(own) if found.planned else most for name, own in runs.items()}
    began = [name for name in runs if done[name]]
    left = [
        {"participant": name, "runs": len(done[name]), "planned": planned[name], "last_policy": done[name][-1].policy}
        for name in began
        if len(done[name]) < planned[name]
    ]
    return {
        "planned": found.planned,
        "people": len(found.people),
        "consented": sum(person.consented for person in found.people),
        "deleted": sum(person.deleted for person in found.people),
        "began": len(began),
        "finished": len(began) - len(left),
        "left": left,
        "by_policy": _by_policy(run for name in began for run in runs[name]),
        "analysed": len(ratings.names("participant")),
    }


def _by_policy(runs: Iterable[PlannedRun]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for run in runs:
        each = found.setdefault(run.policy, {"planned": 0, "rated": 0, "flagged": 0})
        each["planned"] += 1
        each["rated"] += run.done
        each["flagged"] += bool(run.flag)
    return found


def _outcomes(runs: Sequence[PlannedRun]) -> dict[str, Any] | None:
    """Policy → outcome → number of walks that count, and flag → number of walks that do not; None without walks."""
    walks = [run for run in runs if run.outcome]
    if not walks:
        return None
    counted = [run for run in walks if not run.flag]
    policies = dict.fromkeys(run.policy for run in walks)
    return {
        "outcomes": [name for name, _ in Counter(run.outcome for run in counted).most_common()],
        "policies": {
            policy: dict(Counter(run.outcome for run in counted if run.policy == policy)) for policy in policies
        },
        "flagged": {
            policy: dict(Counter(run.flag for run in walks if run.policy == policy and run.flag)) for policy in policies
        },
    }


def _answers(found: Participation, question: str) -> dict[str, Any]:
    """Number of participants per answer. Numbers have their mean and range; many different texts are only counted."""
    given = [person.details[question] for person in found.people if person.details.get(question)]
    about: dict[str, Any] = {"question": found.questions[question], "n": len(given), "of": len(found.people)}
    numbers = [number for number in map(_number, given) if number is not None]
    counts = Counter(given)
    if numbers and len(numbers) == len(given) and len(counts) > 2:
        mean, low, high = sum(numbers) / len(numbers), min(numbers), max(numbers)
        return {**about, "mean": mean, "low": low, "high": high, "answers": {}}
    listed = len(counts) <= MOST_ANSWERS and (len(counts) < len(given) or len(given) == 1)
    return {**about, "mean": None, "low": None, "high": None, "answers": dict(counts.most_common()) if listed else {}}


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if np.isfinite(number) else None


def run_orders(ratings: Ratings) -> dict[tuple[Any, ...], int]:
    """Run (values of ``KEY``) → its place in the order of the participant's runs, from 1: by the column ``order``, else
    by the time of the first answer. Empty where neither is known of every run."""
    keys = list(zip(*(ratings.column(name).tolist() for name in KEY), strict=True))
    orders, times = ratings.noted("order"), ratings.time.tolist()
    by_number = all(_number(text) is not None for text in orders)
    if not by_number and not all(times):
        return {}
    moments: dict[tuple[Any, ...], Any] = {}
    for key, order, time in zip(keys, orders, times, strict=True):
        moment = float(order) if by_number else time
        moments[key] = min(moments.get(key, moment), moment)
    people: dict[str, list[tuple[Any, tuple[Any, ...]]]] = {}
    for key, moment in moments.items():
        people.setdefault(key[KEY.index("participant")], []).append((moment, key))
    return {key: place for own in people.values() for place, (_, key) in enumerate(sorted(own), start=1)}
