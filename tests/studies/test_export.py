"""What exports hold, and that a deletion follows them."""

from __future__ import annotations

import csv
import io
import json
import logging
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sidestep.cli import app
from sidestep.errors import BadInput
from sidestep.studies.access import Refused
from sidestep.studies.analysis import analyse_study
from sidestep.studies.database import TrialRow, close_database, open_database
from sidestep.studies.export import RATING_COLUMNS, StudyData, export_study, ratings_csv
from sidestep.studies.ratings import analyse
from sidestep.studies.ratings.questionnaire import load_questionnaire
from sidestep.studies.ratings.rating_file import read_rating_file
from sidestep.studies.store import Store
from tests.studies.conftest import PASSWORD, new_store, ratings_of, study_of
from tests.studies.test_pages import client_of, log_in
from tests.studies.test_store import rate_all

MANNER = {
    "view": "top", "input": "touch", "first_view_s": 1.5, "top_view_s": 8.0, "keys_s": 0.0, "touch_s": 7.25,
    "gamepad_s": 0.0, "pauses": 2, "paused_s": 12.5,
}  # fmt: skip
ASKS = [{"id": "age", "label": "Age", "choices": ["18-39", "40 or more"]}, {"id": "note", "label": "Note"}]


def rows_of(store: Store) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(ratings_csv(StudyData(store, store.study("corridor"))).decode())))


def walked(tmp_path: Path, *flags: str) -> Store:
    """A study in which one participant after the other has walked and rated the first run."""
    study = study_of(mode="walk", comments=True, asks=ASKS)
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study)
    for number, flag in enumerate(flags):
        (token,) = store.add_participants("corridor")
        store.consent(token, {"age": "18-39", "note": "=HYPERLINK(1)"})
        store.keep_walk(token, 0, "success", f"d{number}", b"record", 19.0, manner=MANNER, flag=flag)
        rate_all(store, token, 0)
        store.finish(token, 0, f"-1 for participant {number}", "phone")
    return store


def test_the_csv_holds_everything_that_is_known(tmp_path: Path) -> None:
    store = walked(tmp_path, "")
    first = rows_of(store)[0]
    expected = {
        "participant": "p001", "order": "1", "changes": "0", "comment": "'-1 for participant 0", "device": "phone",
        "outcome": "success", "flag": "", "slowest_hz": "19.0", "view": "top", "input": "touch", "top_view_s": "8.0",
        "pauses": "2", "paused_s": "12.5", "about_age": "18-39", "about_note": "'=HYPERLINK(1)", "rating": "4",
    }  # fmt: skip
    assert first | expected == first
    assert set(RATING_COLUMNS) < set(first)


def test_response_times_count_from_the_encounter_and_from_answer_to_answer(tmp_path: Path) -> None:
    from datetime import UTC, datetime, timedelta

    from sqlalchemy import select

    from sidestep.studies.database import AnswerRow

    store = walked(tmp_path, "")
    began = datetime(2026, 1, 1, tzinfo=UTC)
    with store.writing() as session:
        (trial,) = session.scalars(select(TrialRow).where(TrialRow.done.is_not(None)))
        trial.experienced = began
        answers = session.scalars(select(AnswerRow).order_by(AnswerRow.id)).all()
        for number, answer in enumerate(answers):
            answer.given = began + timedelta(seconds=4 * (number + 1) ** 2)
    found = [float(row["response_s"]) for row in rows_of(store)]
    assert found == [4.0 * (2 * k + 1) for k in range(len(answers))]


def test_flagged_walks_are_exported_and_not_analysed(tmp_path: Path) -> None:
    store = walked(tmp_path, "waved_early", "", "never_moved")
    assert {row["participant"]: row["flag"] for row in rows_of(store)} == {
        "p001": "waved_early", "p002": "", "p003": "never_moved",
    }  # fmt: skip
    assert ratings_of(store, "corridor").names("participant") == ["p002"]
    assert ratings_of(store, "corridor", flagged=True).names("participant") == ["p001", "p002", "p003"]
    assert [each.flagged for each in store.progress("corridor")] == [1, 0, 1]


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_an_exported_table_leaves_the_same_walks_out(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An analysis of the files of an export is that of the study."""
    monkeypatch.setattr("sidestep.studies.ratings.analysis.score_records", lambda _: {})
    store = walked(tmp_path, "waved_early", "", "never_moved")
    export_study(store, "corridor", tmp_path / "data")
    ratings, questionnaire = read_rating_file(tmp_path / f"data/ratings.{kind}")
    document = analyse(ratings, None, questionnaire)
    assert document["counts"]["participants"] == 1
    assert document["counts"] == analyse_study(store, "corridor")["counts"]
    flags = [sum(each.values()) for each in document["participation"]["outcomes"]["flagged"].values()]
    assert sum(flags) == 2
    assert document["participation"]["demographics"][0]["answers"] == {"18-39": 3}


@pytest.mark.parametrize(
    "scenario",
    [
        {"name": "frontal-k1", "location": "-1 floor", "instruction": "Walk."},
        {"name": "frontal-=1", "instruction": "Walk."},
        {"name": "frontal-k1", "location": "a\tb", "instruction": "Walk."},
    ],
)
def test_places_that_no_table_takes_are_refused_at_creation(tmp_path: Path, scenario: dict[str, str]) -> None:
    store = Store(open_database(f"sqlite:///{tmp_path / 'x.sqlite'}"))
    with pytest.raises(BadInput, match=r"scenario 'frontal-.1': location .*(begin|remove)"):
        store.create(study_of(scenarios=[scenario]), load_questionnaire("protocol"), PASSWORD)
    assert store.studies() == []


def test_a_place_of_an_older_study_does_not_block_its_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sidestep.studies.store._check_table_names", lambda _: None)  # as it was
    scenario = {"name": "frontal-k1", "location": "-1 floor", "instruction": "Walk."}
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study_of(scenarios=[scenario]))
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    rate_all(store, token, 0)
    store.finish(token, 0)
    assert ratings_of(store, "corridor").names("location") == ["_-1 floor"]


def call(*arguments: str) -> str:
    result = CliRunner().invoke(app, ["study", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def test_a_deletion_follows_earlier_exports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.chdir(tmp_path)
    store = walked(tmp_path, "", "")
    close_database(store.engine)
    database = ("--database", "sqlite:///x.sqlite")
    call("export", "corridor", "--out", "data", *database)
    monkeypatch.setattr("sidestep.studies.ratings.analysis.score_records", lambda _: {})
    call("analyse", "corridor", "--out", "report", *database)
    call("backup", "copy.sqlite", *database)
    (tmp_path / "report/notes.txt").write_text("mine")
    assert (tmp_path / "data/episodes/d0.parquet").exists()
    assert (tmp_path / "report/report.html").exists()
    told = json.loads(call("delete", "corridor", "p001", "--yes", "--json", *database))
    assert sorted(told["rewritten"]) == [str(tmp_path / "data"), str(tmp_path / "report")]
    assert str(tmp_path / "report/report.html") in told["removed"]
    assert [str(tmp_path / "copy.sqlite") in each for each in told["left"]] == [True]
    for folder in ("data", "report"):
        text = "".join(each.read_text() for each in (tmp_path / folder).glob("*.*") if each.suffix in (".csv", ".json"))
        assert "participant 1" in text
        assert "participant 0" not in text
        assert [each.name for each in (tmp_path / folder / "episodes").iterdir()] == ["d1.parquet"]
    assert (tmp_path / "report/notes.txt").read_text() == "mine"
    assert "participant 0" not in caplog.text


def test_a_deletion_names_exports_that_were_moved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    close_database(walked(tmp_path, "").engine)
    database = ("--database", "sqlite:///x.sqlite")
    call("export", "corridor", "--out", "data", *database)
    (tmp_path / "data").rename(tmp_path / "elsewhere")
    (left,) = json.loads(call("delete", "corridor", "1", "--yes", "--json", *database))["left"]
    assert str(tmp_path / "data") in left
    assert "not there any more" in left


def test_a_deletion_from_a_backup_writes_no_older_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The backup still has a participant whose data were deleted since: they must not come back."""
    monkeypatch.chdir(tmp_path)
    close_database(walked(tmp_path, "", "", "").engine)
    database = ("--database", "sqlite:///x.sqlite")
    call("export", "corridor", "--out", "data", *database)
    call("backup", "copy.sqlite", *database)
    call("delete", "corridor", "1", "--yes", *database)
    told = json.loads(call("delete", "corridor", "2", "--yes", "--json", "--database", "sqlite:///copy.sqlite"))
    assert told["rewritten"] == []
    assert [each.partition(",")[0] for each in told["left"]] == [str(tmp_path / "data")]
    text = (tmp_path / "data/ratings.csv").read_text()
    assert "participant 0" not in text
    assert "participant 2" in text


def test_the_page_says_where_data_may_still_be(store: Store) -> None:
    store.add_participants("corridor")
    with client_of(store) as client:
        page = log_in(client).text
        client.get("/study/corridor/study.json")
        client.get("/study/corridor/participants/1")
        csrf = page.partition('name="csrf" value="')[2].partition('"')[0]
        done = client.post("/study/corridor/delete", data={"csrf": csrf, "number": "1", "confirm": "p001"}).text
    assert "The data of p001 are deleted." in done
    assert "delete by hand: study.json, downloaded at" in done
    assert "delete by hand: p001.json, downloaded at" in done


def test_logs_hold_nothing_of_participants(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    store = new_store(
        f"sqlite:///{tmp_path / 'x.sqlite'}", study_of(asks=[{"id": "age", "label": "Age", "longest": 5}])
    )
    (token,) = store.add_participants("corridor")
    with client_of(store) as client:
        client.post(f"/p/{token}/consent", data={"agree": "yes", "age": "words that are too long"})
        client.post(f"/p/{token}/consent", data={"agree": "yes", "age": "18"})
        client.post(f"/p/{token}/experienced", data={"position": 0})
        client.post(
            f"/p/{token}/answer", json={"position": 0, "item": "my words", "rating": 4, "key": "a-good-key-here"}
        )
        client.post(f"/p/{token}/rate", data={"position": "0", "comment": "other words"})
    told = "\n".join(each.getMessage() for each in caplog.records if each.name != "httpx")  # which is the client
    assert told.count("refused") == 3
    for each in (token, "words that are too long", "my words", "other words"):
        assert each not in told


def test_commands_for_participants(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    close_database(new_store("sqlite:///studies.sqlite", study_of()).engine)
    (link,) = call("add", "corridor", "--url", "https://study.example.org/").split()
    assert link.startswith("https://study.example.org/p/")
    token = link.split("/")[4]
    store = Store(open_database("sqlite:///studies.sqlite"))
    assert store.stage(token).number == 1
    listed = json.loads(call("list", "--json"))["studies"]
    assert listed[0] | {"study": "corridor", "state": "open", "participants": 1, "finished": 0} == listed[0]
    call("close", "corridor")
    with pytest.raises(Refused, match="has ended"):
        store.stage(token)
    call("reopen", "corridor")
    assert store.stage(token).number == 1
    (tmp_path / "new").write_text("a new set of words\n")
    before = store.study("corridor").password
    call("password", "corridor", "--password-file", "new")
    assert store.study("corridor").password != before
    refused = CliRunner().invoke(app, ["study", "delete", "corridor", "1"], input="n\n")
    assert refused.exit_code == 2
    assert store.stage(token).number == 1
    call("delete", "corridor", "p001", "--yes")
    with pytest.raises(Refused, match="not known"):
        store.stage(token)


def test_a_password_is_checked_before_the_walks_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sidestep.studies.creation.rehearse", lambda _: pytest.fail("walked before the password"))
    names = "name: w\ntitle: W\npolicies: [orca]\nscenarios: [frontal-f1]\nconsent: Yes.\n"
    (tmp_path / "study.yaml").write_text(names)
    (tmp_path / "password").write_text("short")
    refused = CliRunner().invoke(app, ["study", "new", "study.yaml", "--password-file", "password"])
    assert "12 to 200" in refused.stderr
    (tmp_path / "password").write_text(PASSWORD)
    close_database(new_store("sqlite:///studies.sqlite", study_of(name="w")).engine)
    refused = CliRunner().invoke(app, ["study", "new", "study.yaml", "--password-file", "password"])
    assert "study 'w' exists already" in refused.stderr


def test_policies_are_looked_for_before_the_walks_are_tried(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second policy lacks its extra: the walks of the first are not tried for nothing."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sidestep.studies.creation.rehearse", lambda _: pytest.fail("walked before"))
    monkeypatch.setattr("sidestep._util.extras.is_installed", lambda name: name != "onnxruntime")
    names = "name: w\ntitle: W\npolicies: [orca, ilqr_bc]\nscenarios: [frontal-f1]\nconsent: Yes.\n"
    (tmp_path / "study.yaml").write_text(names)
    (tmp_path / "password").write_text(PASSWORD)
    refused = CliRunner().invoke(app, ["study", "new", "study.yaml", "--password-file", "password"])
    assert refused.exit_code == 2
    assert "policy 'ilqr_bc' needs" in " ".join(refused.stderr.split())
