"""The report of a study in the database: its result, who took part, what became of walks; the export stays whole."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sidestep.studies import export
from sidestep.studies.analysis import analyse_study, participation_of_study, report_of
from sidestep.studies.export import StudyData, study_document
from sidestep.studies.store import Store
from tests.report.test_html import Page
from tests.studies.conftest import new_store, study_of

ASKS = [{"id": "age", "label": "Your age <b>", "choices": ["18-39", "40-64", "no answer"]}]
LIKED = {"polite": 5, "blunt": 2}


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """Four participants rated everything, one left after a run, one never came."""
    store = new_store(f"sqlite:///{tmp_path / 'studies.sqlite'}", study_of(asks=ASKS))
    tokens = store.add_participants("corridor", 6)
    for number, token in enumerate(tokens[:5]):
        store.consent(token, {"age": "18-39" if number else "40-64"})
        for position in range(4 if number < 4 else 1):
            trial = store.stage(token).trial
            assert trial is not None
            store.experience(token, position)
            for item in store.stage(token).info.items(trial.scenario):
                liked = LIKED[trial.policy] - (number % 2 if position else 0)
                rating = 6 - liked if item.reverse else liked
                store.answer(token, position, item.id, rating, f"key-{token[:8]}-{position}-{item.id}")
            store.finish(token, position)
    return store


def test_who_took_part_is_in_the_analysis(store: Store, tmp_path: Path) -> None:
    document = analyse_study(store, "corridor", tmp_path / "out")
    out = document["participation"]["dropouts"]
    assert {name: out[name] for name in ("planned", "people", "consented", "began", "finished")} == {
        "planned": True, "people": 6, "consented": 5, "began": 5, "finished": 4,
    }  # fmt: skip
    [left] = out["left"]
    assert (left["participant"], left["runs"], left["planned"]) == ("p005", 1, 4)
    [age] = document["participation"]["demographics"]
    assert (age["answers"], age["of"]) == ({"18-39": 4, "40-64": 1}, 6)
    assert document["participation"]["outcomes"] is None
    assert document["headline"]["pairs"][0]["second"] == "polite"
    assert document["order"]["learning"] is not None
    assert json.loads((tmp_path / "out/analysis.json").read_text()) == json.loads(json.dumps(document))


def test_the_tables_of_the_export_are_not_written_over(store: Store, tmp_path: Path) -> None:
    from sidestep.studies.export import export_study

    export_study(store, "corridor", tmp_path / "export")
    analyse_study(store, "corridor", tmp_path / "out")
    assert (tmp_path / "out/ratings.csv").read_bytes() == (tmp_path / "export/ratings.csv").read_bytes()


def test_walks_and_flags_of_the_database_are_in_the_report(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    everything: dict[str, Any] = study_document(store, store.study("corridor"))
    for person in everything["participants"]:
        for place, trial in enumerate(person["trials"]):
            if trial["done"]:
                trial["episode"] = {
                    "outcome": "success" if place else "timeout",
                    "flag": None if place else "never_moved",
                }
                trial["device"] = "phone"
    monkeypatch.setattr(export, "study_document", lambda *_: everything)
    found = participation_of_study(StudyData(store, store.study("corridor")))
    assert sum(run.flag == "never_moved" for run in found.runs) == 5
    text = report_of(store, "corridor")
    page = " ".join(Page(text).text)
    assert "5 runs are in no statistic" in page
    assert "never moved" in page
    assert "6 invited, 5 agreed to take part, 5 rated at least one run, 4 rated all" in page
    assert "Your age <b>" in page
    assert "Your age <b>" not in text
    assert "Rated on: phone 17" in page


@pytest.mark.parametrize("into_folder", [True, False])
def test_an_analysis_reads_and_builds_its_table_once(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, into_folder: bool
) -> None:
    from sidestep.studies.ratings import analysis, table

    calls: Counter[str] = Counter()

    def count(module: Any, name: str) -> None:
        function = getattr(module, name)

        def counted(*arguments: Any, **settings: Any) -> Any:
            calls[name] += 1
            return function(*arguments, **settings)

        for place in (export, analysis, table):
            if getattr(place, name, None) is function:
                monkeypatch.setattr(place, name, counted)

    for module, name in (
        (table, "make_ratings"), (table, "write_ratings"), (export, "rating_rows"), (export, "study_document"),
        (export, "ratings_csv"),
    ):  # fmt: skip
        count(module, name)
    analyse_study(store, "corridor", tmp_path / "out" if into_folder else None)
    files = {"ratings_csv": 1, "write_ratings": 1} if into_folder else {}
    assert calls == {"make_ratings": 1, "rating_rows": 1, "study_document": 1, **files}
    calls.clear()
    report_of(store, "corridor")
    assert calls == {"make_ratings": 1, "rating_rows": 1, "study_document": 1}
