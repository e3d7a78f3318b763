"""The analysis of a study: its ratings, and the records of its walks scored, handed to ``sidestep.ratings``."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sidestep.ratings.analysis import analyse
from sidestep.studies.access import Refused
from sidestep.studies.export import export_study, ratings_of
from sidestep.studies.store import Store


def analyse_study(store: Store, name: str, folder: Path | None = None) -> dict[str, Any]:
    """The statistics of a study as plain data; with ``folder``, its report, tables and exported data are written."""
    _check_rated(store, name)
    with TemporaryDirectory() as temporary:
        data = Path(temporary) if folder is None else folder
        episodes = export_study(store, name, data)["episodes"]
        records = data / "episodes" if episodes else None
        return analyse(ratings_of(store, name), folder, store.study(name).questionnaire, records=records)


def report_of(store: Store, name: str) -> str:
    """The report as an HTML page, without metrics of records, which take long to score."""
    _check_rated(store, name)
    with TemporaryDirectory() as folder:
        analyse(ratings_of(store, name), folder, store.study(name).questionnaire)
        return (Path(folder) / "report.html").read_text()


def _check_rated(store: Store, name: str) -> None:
    if not any(each.done for each in store.progress(name)):
        raise Refused(409, f"no run of study {name!r} is rated yet")
