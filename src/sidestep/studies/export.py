"""Getting data out: the ratings table, records of walks, and everything about one participant or all of them."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

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
"""With which a formula of a spreadsheet begins."""


def participant_name(number: int) -> str:
    """Name of a participant in tables."""
    return f"p{number:03d}"


def ratings_of(store: Store, name: str, *, unfinished: bool = False, flagged: bool = False) -> Ratings:
    """The ratings of a study, the newest answer to every item. ``unfinished``: also those of runs not yet done;
    ``flagged``: also those of walks that do not count (see ``conduct``)."""
    rows = [
        {column: row[column] for column in RATING_COLUMNS}
        for row in rating_rows(store, name)
        if (unfinished or row["finished"]) and (flagged or not row["flag"])
    ]
    return make_ratings(rows, store.study(name).questionnaire, f"study {name!r}", complete=not unfinished)


def annotated_ratings(store: Store, name: str) -> Ratings:
    """The ratings of runs that are done, flagged ones too, with the other columns of the CSV as text: an analysis of
    the table leaves the same walks out as one of the study."""
    info = store.study(name)
    columns = (*RATING_COLUMNS, *EXTRA_COLUMNS, *_about_columns(info))
    rows = [{column: row[column] for column in columns} for row in rating_rows(store, name) if row["finished"]]
    return make_ratings(rows, info.questionnaire, f"study {name!r}")


def _about_columns(info: StudyInfo) -> list[str]:
    return [f"about_{each.id}" for each in info.study.asks]


def rating_rows(store: Store, name: str) -> list[dict[str, Any]]:
    """One mapping per answered item, the newest answer: columns of the table of ratings, then what else is known of the
    run, the answer and the participant (``EXTRA_COLUMNS`` and ``about_…``)."""
    info = store.study(name)
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


def ratings_csv(store: Store, name: str) -> bytes:
    """The ratings of a study as a CSV file, with everything that is known of each answer. Runs that are not done are
    left out; flagged walks are there, with their flag."""
    info, rows = store.study(name), [row for row in rating_rows(store, name) if row["finished"]]
    reverse = {item.id: item.reverse for item in info.questionnaire.items}
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    about = _about_columns(info)
    writer.writerow((*COLUMNS, *EXTRA_COLUMNS, *about))
    for row in rows:
        row["reverse"] = str(reverse[row["item"]]).lower()
        writer.writerow([_cell(row[column]) for column in (*COLUMNS, *EXTRA_COLUMNS, *about)])
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    """A value as a spreadsheet shows it: a text that begins like a formula begins with an apostrophe."""
    if value is None:
        return ""
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


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


def export_study(store: Store, name: str, folder: Path) -> dict[str, int]:
    """Write ``ratings.csv``, ``ratings.parquet``, ``study.json`` and ``episodes/DIGEST.parquet``; numbers of each. An
    export of before in the same folder is replaced: records of participants who were deleted go."""
    written = write_export(store, name, folder)
    return {
        "ratings": len(ratings_of(store, name, flagged=True)),
        "participants": len(everything_of(store, name)["participants"]),
        "episodes": sum(each.startswith("episodes/") for each in written),
    }


def export_files(store: Store, name: str) -> list[str]:
    """Names of the files of an export."""
    with store.reading() as session:
        digests = session.scalars(_episodes_of(store.study(name).id, EpisodeRow.digest)).all()
    return ["ratings.csv", "ratings.parquet", "study.json", *map(_episode_file, digests)]


def _episode_file(digest: str) -> str:
    return f"episodes/{digest.replace(':', '-')}.parquet"


def _episodes_of(study: int, *columns: Any) -> Any:
    return (
        select(*columns)
        .select_from(EpisodeRow)
        .join(TrialRow, TrialRow.id == EpisodeRow.trial_id)
        .join(ParticipantRow, ParticipantRow.id == TrialRow.participant_id)
        .where(ParticipantRow.study_id == study)
    )


def write_export(store: Store, name: str, folder: Path) -> list[str]:
    """The files of an export, written; their names below the folder."""
    write_whole(folder / "ratings.csv", ratings_csv(store, name))
    write_ratings(annotated_ratings(store, name), folder / "ratings.parquet")
    everything = everything_of(store, name)
    write_whole(folder / "study.json", (json.dumps(everything, indent=1, ensure_ascii=False) + "\n").encode())
    written = ["ratings.csv", "ratings.parquet", "study.json"]
    query = _episodes_of(store.study(name).id, EpisodeRow.digest, EpisodeRow.record)
    with store.reading() as session:
        for digest, record in session.execute(query.execution_options(yield_per=10)):
            written.append(_episode_file(digest))
            write_whole(folder / written[-1], record)
    return written
