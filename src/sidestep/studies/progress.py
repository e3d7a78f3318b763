"""Progress of the participants, for the experimenter."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select

from sidestep.studies.database import AnswerRow, EpisodeRow, ParticipantRow, TrialRow
from sidestep.studies.store import Store, find_study


@dataclass(frozen=True)
class Progress:
    """Progress of one participant."""

    number: int
    consented: datetime | None
    expires: datetime
    done: int
    trials: int
    answers: int
    last: datetime | None
    next_policy: str
    next_scenario: str
    slowest_hz: float | None
    """Steps in the slowest second of all walks; None: no walk yet."""
    flagged: int
    """Walks whose outcome does not count."""
    deleted: bool


def progress_of(store: Store, name: str) -> list[Progress]:
    """Progress of every participant, ordered by number."""
    with store.reading() as session:
        study = find_study(session, name)
        people = session.scalars(
            select(ParticipantRow).where(ParticipantRow.study_id == study.id).order_by(ParticipantRow.number)
        ).all()
        trials: dict[int, list[TrialRow]] = {person.id: [] for person in people}
        mine = select(ParticipantRow.id).where(ParticipantRow.study_id == study.id)
        for trial in session.scalars(
            select(TrialRow).where(TrialRow.participant_id.in_(mine)).order_by(TrialRow.position)
        ):
            trials[trial.participant_id].append(trial)
        counted = session.execute(
            select(TrialRow.participant_id, func.count(AnswerRow.id), func.max(AnswerRow.given))
            .join(AnswerRow, AnswerRow.trial_id == TrialRow.id)
            .where(TrialRow.participant_id.in_(mine))
            .group_by(TrialRow.participant_id)
        )
        answers = {person: (count, last) for person, count, last in counted}
        walks = session.execute(
            select(TrialRow.participant_id, func.min(EpisodeRow.slowest_hz), func.count(EpisodeRow.flag))
            .join(EpisodeRow, EpisodeRow.trial_id == TrialRow.id)
            .where(TrialRow.participant_id.in_(mine))
            .group_by(TrialRow.participant_id)
        )
        walked: dict[int, tuple[float | None, int]] = {row[0]: (row[1], row[2]) for row in walks}
        return [
            _progress(person, trials[person.id], answers.get(person.id, (0, None)), walked.get(person.id, (None, 0)))
            for person in people
        ]


def _progress(
    person: ParticipantRow,
    trials: list[TrialRow],
    answers: tuple[int, datetime | None],
    walked: tuple[float | None, int],
) -> Progress:
    following = next((each for each in trials if each.done is None), None)
    return Progress(
        number=person.number,
        consented=person.consented,
        expires=person.expires,
        done=sum(each.done is not None for each in trials),
        trials=len(trials),
        answers=answers[0],
        last=answers[1],
        next_policy=following.policy if following else "",
        next_scenario=following.scenario if following else "",
        slowest_hz=walked[0],
        flagged=walked[1],
        deleted=person.deleted is not None,
    )
