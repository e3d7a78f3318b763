"""Everything that a study keeps, and the rules by which it changes. One method is one transaction.

A participant goes through the trials in order: each is first experienced, then rated, then done. Methods can be called
again with the same arguments, by a double click, a second tab or a page that did not get the reply: that changes
nothing. What does not fit the state is ``Refused``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, delete, func, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session, joinedload

from sidestep.errors import BadInput, printable
from sidestep.studies.access import Refused, hash_password, hash_token, new_token
from sidestep.studies.answers import GivenAnswer, add_answers, newest_answers, without_stored
from sidestep.studies.database import EpisodeRow, ParticipantRow, StudyRow, TrialRow, now
from sidestep.studies.definition import Study, StudyScenario
from sidestep.studies.order import trials_of
from sidestep.studies.ratings.questionnaire import Item, Questionnaire
from sidestep.studies.ratings.table import make_ratings

if TYPE_CHECKING:
    from sidestep.studies.progress import Progress

MOST_AT_ONCE, MOST_PARTICIPANTS = 500, 10_000
LONGEST_COMMENT = 2000
LONGEST_RECORD = 50_000_000
FILM_GAP_S, FILM_END_S = 1.0, 1.0
"""Seconds that may be missing between two pieces that a page has played, and at the end of the film."""


@dataclass(frozen=True)
class StudyInfo:
    """A study as stored."""

    id: int
    study: Study
    questionnaire: Questionnaire
    folder: str
    password: str
    """Its hash."""
    created: datetime
    closed: datetime | None

    def scenario(self, name: str) -> StudyScenario:
        """The scenario of that name."""
        return next(each for each in self.study.scenarios if each.name == name)

    def items(self, scenario: str) -> tuple[Item, ...]:
        """The items that are asked after a scenario."""
        return self.questionnaire.items_for(self.scenario(scenario).group)


@dataclass(frozen=True)
class Stage:
    """The state of a participant in a study. ``trial`` is the present trial; None: all are done."""

    info: StudyInfo
    number: int
    consented: bool
    trials: int
    done: int
    trial: TrialRow | None
    answers: Mapping[str, int]
    """Item → rating of the present trial."""
    outcome: str
    """Outcome of the walk of the present trial; empty: there is none yet."""


class Store:
    """The database of studies."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._reader = engine.execution_options(reads=True)

    @contextmanager
    def writing(self) -> Iterator[Session]:
        """A transaction that changes something."""
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            yield session

    @contextmanager
    def reading(self) -> Iterator[Session]:
        """A transaction that only reads, and keeps no writer waiting."""
        with Session(self._reader, expire_on_commit=False) as session, session.begin():
            yield session

    def create(self, study: Study, questionnaire: Questionnaire, password: str, folder: str = "") -> StudyInfo:
        """A new study."""
        self.check(study, questionnaire)
        row = StudyRow(
            name=study.name,
            definition=study.model_dump(mode="json"),
            questionnaire=questionnaire.model_dump(mode="json"),
            folder=folder,
            password=hash_password(password),
            created=now(),
        )
        try:
            with self.writing() as session:
                session.add(row)
        except IntegrityError:
            raise Refused(409, f"study {study.name!r} exists already; choose another name") from None
        return _info(row)

    @staticmethod
    def check(study: Study, questionnaire: Questionnaire) -> None:
        """``Refused`` for a study that would collect nothing, or nothing that can be analysed."""
        asked = {each.name: questionnaire.items_for(each.group) for each in study.scenarios}
        if empty := [name for name, items in asked.items() if not items]:
            raise Refused(400, f"questionnaire {questionnaire.name!r} asks nothing after scenario {empty[0]!r}")
        if len({(each.group, each.place) for each in study.scenarios}) < len(study.scenarios):
            raise Refused(400, "two scenarios have the same place; give each a location of its own")
        _check_table_names(study)

    def studies(self) -> list[StudyInfo]:
        """All studies, in the order of their names."""
        with self.reading() as session:
            return [_info(row) for row in session.scalars(select(StudyRow).order_by(StudyRow.name))]

    def study(self, name: str) -> StudyInfo:
        """The study of that name."""
        with self.reading() as session:
            return _info(find_study(session, name))

    def add_participants(self, name: str, count: int = 1) -> list[str]:
        """New participants; their tokens, from which links are made."""
        if not 1 <= count <= MOST_AT_ONCE:
            raise Refused(400, f"1 to {MOST_AT_ONCE} participants can be added at once")
        tokens = [new_token() for _ in range(count)]
        with self.writing() as session:
            row = find_study(session, name, lock=True)
            study = _info(row).study
            if row.closed is not None:
                raise Refused(409, f"study {name!r} is closed")
            first = session.scalar(select(func.max(ParticipantRow.number)).where(ParticipantRow.study_id == row.id))
            if (first or 0) + count > MOST_PARTICIPANTS:
                raise Refused(409, f"a study has at most {MOST_PARTICIPANTS} participants")
            for number, token in enumerate(tokens, (first or 0) + 1):
                person = ParticipantRow(
                    study_id=row.id, number=number, token_hash=hash_token(token), created=now(),
                    expires=now() + timedelta(days=study.valid_days),
                )  # fmt: skip
                session.add(person)
                session.flush()
                session.add_all(
                    TrialRow(participant_id=person.id, **vars(trial)) for trial in trials_of(study, number - 1)
                )
        return tokens

    def stage(self, token: str) -> Stage:
        """The state of the participant of a link."""
        with self.reading() as session:
            return _stage(session, _participant(session, token))

    def language(self, token: str) -> str:
        """Language of the study that a link belongs to, even if the link has expired; empty: there is no such link."""
        with self.reading() as session:
            query = select(ParticipantRow).where(ParticipantRow.token_hash == hash_token(token))
            person = session.scalar(query)
            return "" if person is None else _info(person.study).study.language

    def consent(self, token: str, details: Mapping[str, str]) -> None:
        """Store the consent and the answers to the questions of the study. Only the first call counts."""
        with self.writing() as session:
            person = _participant(session, token, lock=True)
            if person.consented is None:
                person.details = _checked_details(_info(person.study).study, details)
                person.consented = now()

    def experience(self, token: str, position: int, film_s: float = inf) -> None:
        """Note that the encounter of a trial is over, so that it can be rated.

        A walk ends with its record (``keep_walk``), a film of ``film_s`` seconds when it was played (``play``).
        """
        with self.writing() as session:
            trial, info = _open_trial(session, _participant(session, token, lock=True), position)
            if trial is None or trial.experienced is not None:
                return
            if info.study.mode == "walk":
                raise Refused(409, "the walk is not over yet")
            if info.study.mode == "film" and not (trial.played_s or 0.0) >= film_s - FILM_END_S:
                raise Refused(409, "please play the film to its end first")
            trial.experienced = now()

    def play(self, token: str, position: int, start_s: float, end_s: float, film_s: float) -> float:
        """Note that the page has played a piece of the film; returns how many seconds were played without gaps. A piece
        after a gap changes nothing."""
        with self.writing() as session:
            trial, info = _open_trial(session, _participant(session, token, lock=True), position)
            if trial is None or info.study.mode != "film":
                raise Refused(409, "there is no film to play now; reload the page")
            played = trial.played_s or 0.0
            if start_s <= played + FILM_GAP_S and end_s > played:
                trial.played_s = played = min(end_s, film_s)
            return played

    def keep_walk(
        self,
        token: str,
        position: int,
        outcome: str,
        digest: str,
        record: bytes,
        slowest_hz: float | None = None,
        *,
        manner: Mapping[str, Any] | None = None,
        flag: str = "",
    ) -> bool:
        """Store the record of a finished walk, unless there is one; returns whether it was stored.

        ``slowest_hz`` is the number of steps in the slowest second, if known; ``flag`` why the outcome does not count.
        """
        if len(record) > LONGEST_RECORD:
            raise Refused(413, f"the record has more than {LONGEST_RECORD // 1_000_000} MB")
        with self.writing() as session:
            trial, _ = _open_trial(session, _participant(session, token, lock=True), position)
            if trial is None or trial.experienced is not None:
                return False
            trial.experienced = now()
            session.add(
                EpisodeRow(
                    trial_id=trial.id, outcome=outcome, digest=digest, record=record, finished=trial.experienced,
                    slowest_hz=slowest_hz, manner=dict(manner or {}) or None, flag=flag or None,
                )
            )  # fmt: skip
            return True

    def answer(self, token: str, position: int, item: str, rating: int, key: str) -> bool:
        """Store an answer; returns whether it is new."""
        given = {item: GivenAnswer(rating, key)}
        with self.writing() as session:
            person = _participant(session, token, lock=True)
            if not without_stored(session, person, position, given):
                return False
            trial, info = _open_trial(session, person, position)
            if trial is None:
                raise Refused(409, "this run is already rated")
            before = newest_answers(session, trial.id)
            return add_answers(session, info, trial, before, given) > 0

    def finish(self, token: str, position: int, comment: str = "", device: str = "") -> None:
        """End a trial whose items are all answered. ``device``: kind of device on which it was rated."""
        self.rate(token, position, {}, comment, device)

    def rate(
        self, token: str, position: int, given: Mapping[str, GivenAnswer], comment: str = "", device: str = ""
    ) -> None:
        """Store answers by item and end the trial, in one transaction. Where answers are missing, those that were given
        are stored, and ``Refused`` names the others."""
        with self.writing() as session:
            person = _participant(session, token, lock=True)
            trial, info = _open_trial(session, person, position)
            if trial is None:
                return
            before = newest_answers(session, trial.id)
            changed = {item: each for item, each in given.items() if before.get(item) != each.rating}
            if changed:
                changed = without_stored(session, person, position, changed)
                add_answers(session, info, trial, before, changed)
            refusal = _reason_unfinished(info, trial, {*before, *changed}, comment)
            if refusal is None:
                shown = printable(comment.strip(), LONGEST_COMMENT) or None
                trial.comment, trial.device = shown if info.study.comments else None, device or None
                trial.done = now()
        if refusal is not None:
            raise refusal

    def progress(self, name: str) -> list[Progress]:
        """Progress of every participant, ordered by number."""
        from sidestep.studies.progress import progress_of

        return progress_of(self, name)

    def delete_participant(self, name: str, number: int) -> None:
        """Delete everything about a participant; only the number stays, so that it is not given again."""
        with self.writing() as session:
            person = session.scalar(
                select(ParticipantRow).where(
                    ParticipantRow.study_id == find_study(session, name).id, ParticipantRow.number == number
                )
            )
            if person is None:
                raise Refused(404, f"study {name!r} has no participant {number}")
            if person.deleted is None:
                session.execute(delete(TrialRow).where(TrialRow.participant_id == person.id))
                person.token_hash = hash_token(new_token())
                person.details, person.consented, person.deleted = None, None, now()

    def new_link(self, name: str, number: int) -> str:
        """A new token for a participant, for ``valid_days`` from now on; the old one is not known any more."""
        with self.writing() as session:
            study = find_study(session, name)
            person = session.scalar(
                select(ParticipantRow).where(ParticipantRow.study_id == study.id, ParticipantRow.number == number)
            )
            if person is None or person.deleted is not None:
                raise Refused(404, f"study {name!r} has no participant {number}")
            token = new_token()
            person.token_hash = hash_token(token)
            person.expires = now() + timedelta(days=_info(study).study.valid_days)
            return token

    def close(self, name: str) -> None:
        """Take no more answers."""
        with self.writing() as session:
            row = find_study(session, name, lock=True)
            row.closed = row.closed or now()

    def reopen(self, name: str) -> None:
        """Take answers again; links that have not expired work again."""
        with self.writing() as session:
            find_study(session, name, lock=True).closed = None


def _info(row: StudyRow) -> StudyInfo:
    study = Study.parse(row.definition, f"study {row.name!r}")
    questionnaire = Questionnaire.parse(row.questionnaire, f"questionnaire of study {row.name!r}")
    return StudyInfo(row.id, study, questionnaire, row.folder, row.password, row.created, row.closed)


def _check_table_names(study: Study) -> None:
    """``BadInput`` for names and places that no table of ratings takes."""
    for scenario in study.scenarios:
        row = {"study": study.name, "participant": "p001", "policy": study.policies[0].name, "item": "q", "rating": 1}
        try:
            make_ratings([row | {"scenario": scenario.group, "location": scenario.place}])
        except BadInput as error:
            reason = str(error).removeprefix("ratings: row 1: ")
            raise BadInput(f"study {study.name!r}: scenario {scenario.name!r}: {reason}") from None


def find_study(session: Session, name: str, lock: bool = False) -> StudyRow:
    query = select(StudyRow).where(StudyRow.name == name)
    row = session.scalar(query.with_for_update() if lock else query)
    if row is None:
        raise Refused(404, f"there is no study {name!r:.80}")
    return row


def _participant(session: Session, token: str, lock: bool = False) -> ParticipantRow:
    query = select(ParticipantRow).where(ParticipantRow.token_hash == hash_token(token))
    query = query.options(joinedload(ParticipantRow.study, innerjoin=True))
    person = session.scalar(query.with_for_update(of=ParticipantRow) if lock else query)
    if person is None or person.deleted is not None:
        raise Refused(404, "this link is not known; please ask for a new one")
    if person.expires <= now():
        raise Refused(410, "this link has expired; please ask for a new one")
    if person.study.closed is not None:
        raise Refused(410, "this study has ended; thank you for your interest")
    return person


def _stage(session: Session, person: ParticipantRow) -> Stage:
    info = _info(person.study)
    trials = session.scalars(
        select(TrialRow).where(TrialRow.participant_id == person.id).order_by(TrialRow.position)
    ).all()
    done = sum(each.done is not None for each in trials)
    trial = next((each for each in trials if each.done is None), None)
    answers = {} if trial is None else newest_answers(session, trial.id)
    outcome = None
    if trial is not None:
        outcome = session.scalar(select(EpisodeRow.outcome).where(EpisodeRow.trial_id == trial.id))
    return Stage(info, person.number, person.consented is not None, len(trials), done, trial, answers, outcome or "")


def _open_trial(session: Session, person: ParticipantRow, position: int) -> tuple[TrialRow | None, StudyInfo]:
    """The present trial; None if ``position`` is done already. ``Refused`` if it is not its turn."""
    if person.consented is None:
        raise Refused(409, "please read and agree to the consent first")
    trial = session.scalar(
        select(TrialRow)
        .where(TrialRow.participant_id == person.id, TrialRow.done.is_(None))
        .order_by(TrialRow.position)
        .limit(1)
    )
    present = trial.position if trial is not None else 1 << 30
    if position > present or position < 0:
        raise Refused(409, "this run is not open yet; finish the present one first")
    return (trial if position == present else None), _info(person.study)


def _reason_unfinished(info: StudyInfo, trial: TrialRow, answered: Set[str], comment: str) -> Refused | None:
    """Why a trial cannot end yet; None: it can."""
    missing = [each.number for each in info.items(trial.scenario) if each.id not in answered]
    if trial.experienced is None or missing:
        return Refused(409, "please answer every question; missing: {missing}", missing=", ".join(map(str, missing)))
    if len(comment) > LONGEST_COMMENT:
        return Refused(400, "a comment has at most {most} characters", most=LONGEST_COMMENT)
    return None


def _checked_details(study: Study, given: Mapping[str, str]) -> dict[str, str]:
    """The answers to the questions of the study, checked; other fields are dropped."""
    details = {}
    for question in study.asks:
        text = printable(given.get(question.id, ""), 10_000).strip()
        if question.required and not text:
            raise Refused(400, "please answer: {question}", question=question.label)
        if text and question.choices and text not in question.choices:
            raise Refused(400, "{question}: please choose one of the answers", question=question.label)
        if len(text) > question.longest:
            raise Refused(400, "{question}: at most {most} characters", question=question.label, most=question.longest)
        if text:
            details[question.id] = text
    return details
