"""The analysis of a study: its ratings, how it went, and the records of its walks scored, handed to
``sidestep.studies.ratings``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sidestep.studies.access import Refused
from sidestep.studies.export import everything_of, export_study, ratings_of
from sidestep.studies.ratings.analysis import analyse, report_page
from sidestep.studies.ratings.participation import Participation, Person, PlannedRun
from sidestep.studies.store import Store


def analyse_study(store: Store, name: str, folder: Path | None = None) -> dict[str, Any]:
    """The statistics of a study as plain data; with ``folder``, its report, tables and exported data are written. The
    ratings themselves are those of the export, which have more columns."""
    _check_rated(store, name)
    with TemporaryDirectory() as temporary:
        data = Path(temporary) if folder is None else folder
        episodes = export_study(store, name, data)["episodes"]
        return analyse(
            ratings_of(store, name), folder, store.study(name).questionnaire,
            records=data / "episodes" if episodes else None,
            participation=participation_of_study(store, name), tables=False,
        )  # fmt: skip


def report_of(store: Store, name: str) -> str:
    """The report as an HTML page, without metrics of records, which take long to score."""
    _check_rated(store, name)
    return report_page(ratings_of(store, name), store.study(name).questionnaire, participation_of_study(store, name))


def participation_of_study(store: Store, name: str) -> Participation:
    """Everybody with a link, and every run that was planned for them."""
    info, people, runs = store.study(name), [], []
    for person in everything_of(store, name)["participants"]:
        details = {question: str(answer) for question, answer in person["details"].items() if answer not in (None, "")}
        about = Person(person["participant"], details, person["consented"] is not None, person["deleted"] is not None)
        people.append(about)
        for trial in person["trials"]:
            walk = trial["episode"] or {}
            scenario, done = info.scenario(trial["scenario"]).group, trial["done"] is not None
            noted = (walk.get("outcome"), walk.get("flag"), trial.get("device"), trial["comment"])
            runs.append(PlannedRun(about.name, trial["policy"], scenario, done, *(each or "" for each in noted)))
    return Participation(tuple(people), tuple(runs), True, {each.id: each.label for each in info.study.asks})


def _check_rated(store: Store, name: str) -> None:
    if not any(each.done for each in store.progress(name)):
        raise Refused(409, f"no run of study {name!r} is rated yet")
