"""The analysis of a study: its ratings, who took part, and the records of its walks scored, handed to
``sidestep.studies.ratings``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sidestep.studies.access import Refused
from sidestep.studies.export import StudyData, write_episodes, write_export
from sidestep.studies.ratings.analysis import CheckedRatings, analyse_checked, render_report
from sidestep.studies.ratings.participation import Participation, Person, PlannedRun
from sidestep.studies.store import Store


def analyse_study(store: Store, name: str, folder: Path | None = None) -> dict[str, Any]:
    """The statistics of a study as plain data; with ``folder``, its report, tables and exported data are written. The
    ratings in the folder are those of the export, which have more columns."""
    data = _rated_data(store, name)
    with TemporaryDirectory() as temporary:
        place = Path(temporary) if folder is None else folder
        episodes = write_episodes(data, place) if folder is None else write_export(data, place).counts["episodes"]
        return analyse_checked(
            _checked(data), folder, records=place / "episodes" if episodes else None,
            participation=participation_of_study(data), write_tables=False,
        )  # fmt: skip


def report_of(store: Store, name: str) -> str:
    """The report as an HTML page, without metrics of records, which take long to score."""
    data = _rated_data(store, name)
    return render_report(_checked(data), participation_of_study(data))


def participation_of_study(data: StudyData) -> Participation:
    """Everybody with a link, and every run that was planned for them."""
    info, people, runs = data.info, [], []
    for person in data.document["participants"]:
        details = {question: str(answer) for question, answer in person["details"].items() if answer not in (None, "")}
        about = Person(person["participant"], details, person["consented"] is not None, person["deleted"] is not None)
        people.append(about)
        for trial in person["trials"]:
            walk = trial["episode"] or {}
            scenario, done = info.scenario(trial["scenario"]).group, trial["done"] is not None
            noted = (walk.get("outcome"), walk.get("flag"), trial.get("device"), trial["comment"])
            runs.append(PlannedRun(about.name, trial["policy"], scenario, done, *(each or "" for each in noted)))
    return Participation(tuple(people), tuple(runs), True, {each.id: each.label for each in info.study.asks})


def _rated_data(store: Store, name: str) -> StudyData:
    data = StudyData(store, store.study(name))
    if not data.rated:
        raise Refused(409, f"no run of study {name!r} is rated yet")
    return data


def _checked(data: StudyData) -> CheckedRatings:
    return CheckedRatings.of(data.ratings, data.info.questionnaire)
