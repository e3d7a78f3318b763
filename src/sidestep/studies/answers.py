"""Answers of participants: nothing is overwritten, and the same key is the same answer, however often it is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import insert, select
from sqlalchemy.orm import Session

from sidestep.studies.access import Refused
from sidestep.studies.database import AnswerRow, ParticipantRow, TrialRow, now

if TYPE_CHECKING:
    from sidestep.studies.store import StudyInfo

_KEY = re.compile(r"[A-Za-z0-9_-]{8,64}")


class GivenAnswer(NamedTuple):
    """A rating, and the key that the page has chosen for it: the same key is the same answer."""

    rating: int
    key: str


def newest_answers(session: Session, trial: int) -> dict[str, int]:
    """Item → rating of the newest answer, of a trial."""
    rows = session.execute(
        select(AnswerRow.item, AnswerRow.rating).where(AnswerRow.trial_id == trial).order_by(AnswerRow.id)
    )
    return {row.item: row.rating for row in rows}


def without_stored(
    session: Session, person: ParticipantRow, position: int, given: Mapping[str, GivenAnswer]
) -> dict[str, GivenAnswer]:
    """The answers whose key is not stored yet. ``Refused`` for a key that belongs to another answer."""
    keys = [each.key for each in given.values()]
    if not all(_KEY.fullmatch(key) for key in keys):
        raise Refused(400, "the key of an answer has 8 to 64 letters, digits, - or _")
    columns = TrialRow.participant_id, TrialRow.position, AnswerRow.item, AnswerRow.rating
    query = select(AnswerRow.key, *columns).join(TrialRow, TrialRow.id == AnswerRow.trial_id)
    stored = {row[0]: tuple(row[1:]) for row in session.execute(query.where(AnswerRow.key.in_(keys)))}
    for item, each in given.items():
        if stored.get(each.key, (person.id, position, item, each.rating)) != (person.id, position, item, each.rating):
            raise Refused(409, "this key belongs to another answer")
    if len(set(keys)) < len(keys):
        raise Refused(409, "this key belongs to another answer")
    return {item: each for item, each in given.items() if each.key not in stored}


def add_answers(
    session: Session, info: StudyInfo, trial: TrialRow, before: Mapping[str, int], given: Mapping[str, GivenAnswer]
) -> int:
    """Add the answers that differ from those ``before``; returns their number."""
    if trial.experienced is None:
        raise Refused(409, "this run can be rated only after it is over")
    asked = {each.id for each in info.items(trial.scenario)}
    for item, each in given.items():
        if item not in asked:
            raise Refused(400, "item {item} is not asked after this run", item=repr(item)[:80])
        info.questionnaire.check_rating(item, each.rating)
    rows = [
        {"trial_id": trial.id, "item": item, "rating": each.rating, "key": each.key, "given": now()}
        for item, each in given.items()
        if before.get(item) != each.rating
    ]
    if rows:
        session.execute(insert(AnswerRow), rows)
    return len(rows)
