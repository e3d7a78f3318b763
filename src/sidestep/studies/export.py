"""Exports of a study: the table of ratings, records of walks, and everything about one participant or all of them.

``StudyData`` reads each of these from the database at most once; exports and analyses are made from it.
"""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import select
from sqlalchemy.orm import Session, defer

from sidestep._util.writing import write_whole
from sidestep.studies.access import Refused
from sidestep.studies.database import AnswerRow, EpisodeRow, ParticipantRow, TrialRow
from sidestep.studies.order import blinding_letters
from sidestep.studies.ratings.table import COLUMNS, HUMAN, Ratings, make_ratings, write_ratings
from sidestep.studies.store import Store, StudyInfo

TRIAL_COLUMNS = ("position", "set", "run", "policy", "scenario", "seed", "comment", "device", "played_s")
RATING_COLUMNS = tuple(name for name in COLUMNS if name != "reverse")
MANNER_COLUMNS = ("view", "input", "first_view_s", "top_view_s", "keys_s", "touch_s", "gamepad_s", "pauses", "paused_s")
EXTRA_COLUMNS = (
    "order", "response_s", "changes", "comment", "device", "outcome", "flag", "slowest_hz", *MANNER_COLUMNS,
)  # fmt: skip
"""Columns of the CSV beyond those of a table of ratings; details of participants follow as ``about_…``."""
FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""First characters of a formula in a spreadsheet."""


def participant_name(number: int) -> str:
    """Name of a participant in tables."""
    return f"p{number:03d}"


class StudyData:
    """What is stored about a study. Each part is read when it is first asked for, and then kept."""

    def __init__(self, store: Store, info: StudyInfo) -> None:
        self.store, self.info = store, info

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One mapping per answered item; see ``rating_rows``."""
        return rating_rows(self.store, self.info)

    @cached_property
    def rated(self) -> list[dict[str, Any]]:
        """The rows of runs that are done."""
        return [row for row in self.rows if row["finished"]]

    @cached_property
    def ratings(self) -> Ratings:
        """The ratings of runs that are done, also of flagged walks (see ``conduct``), with the other columns of the CSV
        file as text. An analysis leaves flagged walks out."""
        columns = (*RATING_COLUMNS, *EXTRA_COLUMNS, *_about_columns(self.info))
        rows = [{column: row[column] for column in columns} for row in self.rated]
        return make_ratings(rows, self.info.questionnaire, f"study {self.info.study.name!r}")

    @cached_property
    def document(self) -> dict[str, Any]:
        """All of it as plain data; see ``study_document``."""
        return study_document(self.store, self.info)


def _about_columns(info: StudyInfo) -> list[str]:
    return [f"about_{each.id}" for each in info.study.asks]


def rating_rows(store: Store, info: StudyInfo) -> list[dict[str, Any]]:
    """One mapping per answered item, with its newest answer: the columns of the table of ratings, then what else is
    known of the run, the answer and the participant (``EXTRA_COLUMNS`` and ``about_…``)."""
    query = (
        select(ParticipantRow, TrialRow, AnswerRow, EpisodeRow)
        .options(defer(EpisodeRow.record))
        .join(TrialRow, TrialRow.participant_id == ParticipantRow.id)
        .join(AnswerRow, AnswerRow.trial_id == TrialRow.id)
        .outerjoin(EpisodeRow, EpisodeRow.trial_id == TrialRow.id)
        .where(ParticipantRow.study_id == info.id)
        .order_by(ParticipantRow.number, TrialRow.position, AnswerRow.id)
    )
    newest: dict[tuple[int, str], dict[str, Any]] = {}
    before: dict[int, datetime] = {}
    changes: Counter[tuple[int, str]] = Counter()
    with store.reading() as session:
        for person, trial, answer, episode in session.execute(query):
            since = before.get(trial.id, trial.experienced)
            before[trial.id] = answer.given
            key = (trial.id, answer.item)
            changes[key] += 1
            newest[key] = _rating_row(info, person, trial, answer, episode) | {
                "response_s": None if since is None else round((answer.given - since).total_seconds(), 3),
                "changes": changes[key] - 1,
            }
    return list(newest.values())


def _rating_row(
    info: StudyInfo, person: ParticipantRow, trial: TrialRow, answer: AnswerRow, episode: EpisodeRow | None
) -> dict[str, Any]:
    scenario, manner = info.scenario(trial.scenario), (episode.manner if episode else None) or {}
    return {
        "study": info.study.name,
        "participant": participant_name(person.number),
        "set": trial.set,
        "policy": trial.policy,
        "scenario": table_name(scenario.group),
        "location": table_name(scenario.place),
        "run": trial.run,
        "item": answer.item,
        "rating": answer.rating,
        "origin": HUMAN,
        "time": _time(answer.given),
        "episode": episode.digest if episode else "",
        "finished": trial.done is not None,
        "order": trial.position + 1,
        "comment": trial.comment,
        "device": trial.device,
        "outcome": episode.outcome if episode else None,
        "flag": episode.flag if episode else None,
        "slowest_hz": episode.slowest_hz if episode else None,
        **{column: manner.get(column) for column in MANNER_COLUMNS},
        **{f"about_{each.id}": (person.details or {}).get(each.id) for each in info.study.asks},
    }


def table_name(text: str) -> str:
    """A place of a study that was made before names were checked, as the table of ratings takes it."""
    text = "".join(each for each in text.strip() if each.isprintable())
    return f"_{text}" if text.startswith(FORMULA) else text


def ratings_csv(data: StudyData) -> bytes:
    """The ratings of a study as a CSV file, with everything that is known of each answer. Runs that are not done are
    left out; flagged walks are there, with their flag."""
    info = data.info
    reverse = {item.id: item.reverse for item in info.questionnaire.items}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    about = _about_columns(info)
    writer.writerow((*COLUMNS, *EXTRA_COLUMNS, *about))
    for row in data.rated:
        whole = row | {"reverse": str(reverse[row["item"]]).lower()}
        writer.writerow([_cell(whole[column]) for column in (*COLUMNS, *EXTRA_COLUMNS, *about)])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """A value as a spreadsheet shows it: a text that begins like a formula begins with an apostrophe."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def study_document(store: Store, info: StudyInfo, number: int | None = None) -> dict[str, Any]:
    """Everything that is stored about a study, or about one participant, without passwords, links and records."""
    with store.reading() as session:
        query = select(ParticipantRow).where(ParticipantRow.study_id == info.id).order_by(ParticipantRow.number)
        if number is not None:
            query = query.where(ParticipantRow.number == number)
        people = [_person(session, person) for person in session.scalars(query)]
    if number is not None and not people:
        raise Refused(404, f"study {info.study.name!r} has no participant {number}")
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
    episodes = select(EpisodeRow).options(defer(EpisodeRow.record)).where(EpisodeRow.trial_id.in_(mine))
    walks = {
        row.trial_id: {
            "outcome": row.outcome, "flag": row.flag, "digest": row.digest, "slowest_hz": row.slowest_hz,
            "manner": row.manner,
        }
        for row in session.scalars(episodes)
    }  # fmt: skip
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


class Export(NamedTuple):
    """What an export has written."""

    files: list[str]
    """Names of the files below the folder."""
    counts: dict[str, int]
    """Numbers of ratings, participants and episodes."""


def export_study(store: Store, name: str, folder: Path) -> Export:
    """Write ``ratings.csv``, ``ratings.parquet``, ``study.json`` and ``episodes/DIGEST.parquet``. Files of an earlier
    export in the same folder are replaced."""
    return write_export(StudyData(store, store.study(name)), folder)


def write_export(data: StudyData, folder: Path) -> Export:
    """Write the files of an export."""
    write_whole(folder / "ratings.csv", ratings_csv(data))
    write_ratings(data.ratings, folder / "ratings.parquet")
    text = json.dumps(data.document, indent=1, ensure_ascii=False) + "\n"
    write_whole(folder / "study.json", text.encode())
    episodes = write_episodes(data, folder)
    people = len(data.document["participants"])
    counts = {"ratings": len(data.ratings), "participants": people, "episodes": len(episodes)}
    return Export(["ratings.csv", "ratings.parquet", "study.json", *episodes], counts)


def write_episodes(data: StudyData, folder: Path) -> list[str]:
    """Write the records of walks as ``episodes/DIGEST.parquet``; returns their names below the folder."""
    query = (
        select(EpisodeRow.digest, EpisodeRow.record)
        .join(TrialRow, TrialRow.id == EpisodeRow.trial_id)
        .join(ParticipantRow, ParticipantRow.id == TrialRow.participant_id)
        .where(ParticipantRow.study_id == data.info.id)
    )
    written = []
    with data.store.reading() as session:
        for digest, record in session.execute(query.execution_options(yield_per=10)):
            written.append(f"episodes/{digest.replace(':', '-')}.parquet")
            write_whole(folder / written[-1], record)
    return written
