"""Getting data out: the ratings table, records of walks, and everything about one participant or all of them."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from sidestep.ratings.table import HUMAN, Ratings, make_ratings, write_ratings
from sidestep.studies.access import Refused
from sidestep.studies.database import AnswerRow, EpisodeRow, ParticipantRow, TrialRow
from sidestep.studies.order import blinding_letters
from sidestep.studies.store import Store
from sidestep.writing import write_whole

TRIAL_COLUMNS = ("position", "set", "run", "policy", "scenario", "seed", "comment")


def participant_name(number: int) -> str:
    """Name of a participant in tables."""
    return f"p{number:03d}"


def ratings_of(store: Store, name: str, *, unfinished: bool = False) -> Ratings:
    """The ratings of a study, the newest answer to every item. ``unfinished``: also those of runs not yet done."""
    info = store.study(name)
    query = (
        select(ParticipantRow.number, TrialRow, AnswerRow.item, AnswerRow.rating, AnswerRow.given, EpisodeRow.digest)
        .join(TrialRow, TrialRow.participant_id == ParticipantRow.id)
        .join(AnswerRow, AnswerRow.trial_id == TrialRow.id)
        .outerjoin(EpisodeRow, EpisodeRow.trial_id == TrialRow.id)
        .where(ParticipantRow.study_id == info.id)
        .order_by(ParticipantRow.number, TrialRow.position, AnswerRow.id)
    )
    newest: dict[tuple[int, str], dict[str, Any]] = {}
    with store.reading() as session:
        for number, trial, item, rating, given, digest in session.execute(query):
            if trial.done is None and not unfinished:
                continue
            scenario = info.scenario(trial.scenario)
            newest[trial.id, item] = {
                "study": name,
                "participant": participant_name(number),
                "set": trial.set,
                "policy": trial.policy,
                "scenario": scenario.group,
                "location": scenario.place,
                "run": trial.run,
                "item": item,
                "rating": rating,
                "origin": HUMAN,
                "time": given.isoformat(timespec="milliseconds"),
                "episode": digest or "",
            }
    return make_ratings(newest.values(), info.questionnaire, f"study {name!r}", complete=not unfinished)


def ratings_csv(store: Store, name: str) -> bytes:
    """The ratings of a study as a CSV file."""
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ratings.csv"
        write_ratings(ratings_of(store, name), file)
        return file.read_bytes()


def everything_of(store: Store, name: str, number: int | None = None) -> dict[str, Any]:
    """All that is stored about a study, or about one participant, without passwords, links and records."""
    info = store.study(name)
    with store.reading() as session:
        query = select(ParticipantRow).where(ParticipantRow.study_id == info.id).order_by(ParticipantRow.number)
        if number is not None:
            query = query.where(ParticipantRow.number == number)
        people = [_person(session, person) for person in session.scalars(query)]
    if number is not None and not people:
        raise Refused(404, f"study {name!r} has no participant {number}")
    return {
        "study": info.study.model_dump(mode="json"),
        "questionnaire": info.questionnaire.model_dump(mode="json"),
        "created": info.created.isoformat(),
        "letters": blinding_letters(info.study),
        "participants": people,
    }


def _person(session: Session, person: ParticipantRow) -> dict[str, Any]:
    mine = select(TrialRow.id).where(TrialRow.participant_id == person.id)
    answers: dict[int, list[dict[str, Any]]] = {}
    for each in session.scalars(select(AnswerRow).where(AnswerRow.trial_id.in_(mine)).order_by(AnswerRow.id)):
        given = {"item": each.item, "rating": each.rating, "given": _time(each.given)}
        answers.setdefault(each.trial_id, []).append(given)
    walks = {
        row.trial_id: {"outcome": row.outcome, "digest": row.digest, "slowest_hz": row.slowest_hz}
        for row in session.execute(
            select(EpisodeRow.trial_id, EpisodeRow.outcome, EpisodeRow.digest, EpisodeRow.slowest_hz).where(
                EpisodeRow.trial_id.in_(mine)
            )
        )
    }
    trials = session.scalars(select(TrialRow).where(TrialRow.participant_id == person.id).order_by(TrialRow.position))
    return {
        "participant": participant_name(person.number),
        "consented": _time(person.consented),
        "deleted": _time(person.deleted),
        "details": person.details or {},
        "trials": [
            {
                **{column: vars(trial)[column] for column in TRIAL_COLUMNS},
                "experienced": _time(trial.experienced),
                "done": _time(trial.done),
                "answers": answers.get(trial.id, []),
                "episode": walks.get(trial.id),
            }
            for trial in trials
        ],
    }


def _time(moment: Any) -> str | None:
    return None if moment is None else str(moment.isoformat(timespec="milliseconds"))


def export_study(store: Store, name: str, folder: Path) -> dict[str, int]:
    """Write ``ratings.csv``, ``ratings.parquet``, ``study.json`` and ``episodes/DIGEST.parquet``; numbers of each."""
    ratings = ratings_of(store, name)
    for kind in ("csv", "parquet"):
        write_ratings(ratings, folder / f"ratings.{kind}")
    everything = everything_of(store, name)
    write_whole(folder / "study.json", (json.dumps(everything, indent=1, ensure_ascii=False) + "\n").encode())
    episodes = 0
    query = (
        select(EpisodeRow.digest, EpisodeRow.record)
        .join(TrialRow, TrialRow.id == EpisodeRow.trial_id)
        .join(ParticipantRow, ParticipantRow.id == TrialRow.participant_id)
        .where(ParticipantRow.study_id == store.study(name).id)
        .execution_options(yield_per=10)
    )
    with store.reading() as session:
        for digest, record in session.execute(query):
            write_whole(folder / "episodes" / f"{digest.replace(':', '-')}.parquet", record)
            episodes += 1
    return {"ratings": len(ratings), "participants": len(everything["participants"]), "episodes": episodes}
