"""The database: nothing lost, nothing doubled, nothing out of turn."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import create_engine, func, select, update
from sqlalchemy.orm import Session

from sidestep.errors import BadInput
from sidestep.studies.access import RateLimit, Refused, hash_password, is_password, is_signed, sign
from sidestep.studies.database import AnswerRow, Base, EpisodeRow, ParticipantRow, TrialRow, migrate, now, open_database
from sidestep.studies.export import export_study, study_document
from sidestep.studies.store import Store
from tests.studies.conftest import PASSWORD, new_store, ratings_of, study_of


def rate_all(store: Store, token: str, position: int, rating: int = 4) -> None:
    for item in store.stage(token).info.items(store.stage(token).trial.scenario):  # type: ignore[union-attr]
        store.answer(token, position, item.id, rating, f"key-{token[:8]}-{position}-{item.id}")


def count(store: Store, table: type[Base]) -> int:
    with Session(store.engine) as session:
        return session.scalar(select(func.count()).select_from(table)) or 0


def test_migrations_make_the_tables_of_the_models(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'x.sqlite'}")
    with engine.connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []
    open_database(f"sqlite:///{tmp_path / 'x.sqlite'}")  # a second time changes nothing


def test_walks_of_an_older_database_are_kept(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.sqlite'}"
    engine = create_engine(url)
    migrate(engine, "0001")
    with engine.begin() as connection:
        columns = "(id, trial_id, outcome, digest, record, finished)"
        connection.exec_driver_sql(f"INSERT INTO episodes {columns} VALUES (1, 1, 'success', 'd1', 'r', '2026-01-01')")
    engine.dispose()
    with Session(open_database(url)) as session:
        (kept,) = session.scalars(select(EpisodeRow)).all()
        assert (kept.digest, kept.slowest_hz) == ("d1", None)


@pytest.mark.parametrize("url", ["nonsense", "mysql+nothing://x", "sqlite:////nowhere/at/all.sqlite"])
def test_a_database_that_cannot_be_used_is_told(url: str) -> None:
    with pytest.raises(BadInput, match=r"database|cannot be used"):
        open_database(url)


def test_a_participant_from_consent_to_the_end(store: Store) -> None:
    (token,) = store.add_participants("corridor")
    with pytest.raises(Refused, match="consent"):
        store.experience(token, 0)
    store.consent(token, {})
    for position in range(4):
        stage = store.stage(token)
        assert (stage.done, stage.trial and stage.trial.position) == (position, position)
        with pytest.raises(Refused, match="after it"):
            store.answer(token, position, "q01", 3, "too-early-key")
        store.experience(token, position)
        rate_all(store, token, position)
        store.finish(token, position)
    assert store.stage(token).trial is None
    ratings = ratings_of(store, "corridor")
    assert len(ratings) == count(store, AnswerRow)
    assert set(ratings.policy.tolist()) == {"polite", "blunt"}
    assert set(ratings.scenario.tolist()) == {"frontal", "narrow_doorway"}
    assert set(ratings.location.tolist()) == {"f1", "n1"}
    assert ratings.one_origin() == "human"


def test_the_same_again_changes_nothing(store: Store, item: Callable[[str], str]) -> None:
    (token,) = store.add_participants("corridor")
    for _ in range(2):
        store.consent(token, {})
        store.experience(token, 0)
    first = item(token)
    assert store.answer(token, 0, first, 5, "key-of-one-click")
    assert not store.answer(token, 0, first, 5, "key-of-one-click")
    assert not store.answer(token, 0, first, 5, "second-click-same")
    with pytest.raises(Refused, match="another answer"):
        store.answer(token, 0, first, 4, "key-of-one-click")
    assert store.answer(token, 0, first, 2, "changed-my-mind")
    assert count(store, AnswerRow) == 2
    assert store.stage(token).answers == {first: 2}
    with pytest.raises(Refused, match="missing"):
        store.finish(token, 0)
    rate_all(store, token, 0, 1)
    store.finish(token, 0)
    store.finish(token, 0)
    assert store.stage(token).done == 1
    assert not store.answer(token, 0, first, 5, "key-of-one-click")  # a reply that got lost, sent again
    with pytest.raises(Refused, match="already rated"):
        store.answer(token, 0, first, 3, "a-late-second-tab")
    with pytest.raises(Refused, match="yet"):
        store.answer(token, 2, first, 3, "a-jump-ahead-key")


@pytest.mark.parametrize("rating", [-1, 6, 99, True])
def test_ratings_off_the_scale_are_refused(store: Store, item: Callable[[str], str], rating: int) -> None:
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    with pytest.raises(BadInput, match="scale"):
        store.answer(token, 0, item(token), rating, "some-fresh-key")
    with pytest.raises(BadInput, match="not asked"):
        store.answer(token, 0, "q99'; DROP TABLE answers; --", 3, "some-fresh-key")
    with pytest.raises(BadInput, match="key"):
        store.answer(token, 0, item(token), 3, "short")
    assert count(store, AnswerRow) == 0


def test_answers_from_many_threads_are_stored_once(store: Store, item: Callable[[str], str]) -> None:
    tokens = store.add_participants("corridor", 4)
    for token in tokens:
        store.consent(token, {})
        store.experience(token, 0)
    calls = [(token, 0, item(token), 3, f"the-key-of-{token}") for token in tokens for _ in range(8)]
    with ThreadPoolExecutor(8) as pool:
        new = list(pool.map(lambda call: store.answer(*call), calls))
    assert sum(new) == 4 == count(store, AnswerRow)


def test_links_expire_and_cannot_be_forged(store: Store) -> None:
    (token,) = store.add_participants("corridor")
    for forged in ("", "x" * 32, token[:-1], token + "A", "é" * 32, "' OR 1=1 --"):
        with pytest.raises(Refused) as error:
            store.stage(forged)
        assert error.value.status == 404
    with Session(store.engine) as session, session.begin():
        session.execute(update(ParticipantRow).values(expires=now() - timedelta(seconds=1)))
    with pytest.raises(Refused, match="expired"):
        store.stage(token)


def test_details_are_those_that_are_asked(tmp_path: Path) -> None:
    asks = [
        {"id": "age", "label": "Age", "choices": ["18-39", "40-64", "65 or more"], "required": True},
        {"id": "note", "label": "Note", "longest": 40},
    ]
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study_of(asks=asks))
    (token,) = store.add_participants("corridor")
    for details in ({}, {"age": "7"}, {"age": "18-39", "note": "x" * 41}):
        with pytest.raises(Refused):
            store.consent(token, details)
    assert not store.stage(token).consented
    text = "<script>alert(1)</script>'; --"
    store.consent(token, {"age": "18-39", "note": text, "name": "not asked for"})
    (person,) = study_document(store, store.study("corridor"), 1)["participants"]
    assert person["details"] == {"age": "18-39", "note": text}


def test_a_deleted_participant_leaves_a_number_only(store: Store) -> None:
    first, second = store.add_participants("corridor", 2)
    for token in (first, second):
        store.consent(token, {})
        store.experience(token, 0)
        rate_all(store, token, 0)
        store.finish(token, 0)
    store.delete_participant("corridor", 2)
    store.delete_participant("corridor", 2)
    with pytest.raises(Refused, match="not known"):
        store.stage(second)
    assert ratings_of(store, "corridor").names("participant") == ["p001"]
    assert count(store, TrialRow) == 4
    store.add_participants("corridor")
    assert [each.number for each in store.progress("corridor")] == [1, 2, 3]
    with pytest.raises(Refused, match="no participant 9"):
        store.delete_participant("corridor", 9)


def test_a_walk_is_kept_once(tmp_path: Path) -> None:
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study_of(mode="walk"))
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    with pytest.raises(Refused, match="not over"):
        store.experience(token, 0)
    assert store.keep_walk(token, 0, "success", "d1", b"first", 19.0)
    assert not store.keep_walk(token, 0, "timeout", "d2", b"second")
    assert store.stage(token).outcome == "success"
    rate_all(store, token, 0)
    store.finish(token, 0)
    assert export_study(store, "corridor", tmp_path / "out").counts["episodes"] == 1
    assert (tmp_path / "out/episodes/d1.parquet").read_bytes() == b"first"
    exported = json.loads((tmp_path / "out/study.json").read_text())
    assert exported["participants"][0]["trials"][0]["episode"] == {
        "outcome": "success",
        "flag": None,
        "digest": "d1",
        "slowest_hz": 19.0,
        "manner": None,
    }
    assert store.progress("corridor")[0].slowest_hz == 19.0
    assert token not in (tmp_path / "out/study.json").read_text()


def test_progress_tells_who_is_where(store: Store) -> None:
    tokens = store.add_participants("corridor", 2)
    store.consent(tokens[0], {})
    store.experience(tokens[0], 0)
    rate_all(store, tokens[0], 0)
    store.finish(tokens[0], 0)
    first, second = store.progress("corridor")
    assert (first.done, first.trials, second.done) == (1, 4, 0)
    assert first.last is not None
    assert second.consented is None


def test_studies_have_different_names_and_can_be_closed(store: Store) -> None:
    with pytest.raises(Refused, match="another name"):
        store.create(study_of(), store.study("corridor").questionnaire, PASSWORD)
    (token,) = store.add_participants("corridor")
    store.close("corridor")
    with pytest.raises(Refused, match="has ended"):
        store.stage(token)
    with pytest.raises(Refused, match="closed"):
        store.add_participants("corridor")


def test_passwords_and_signatures() -> None:
    stored = hash_password("correct horse")
    assert is_password("correct horse", stored)
    assert not is_password("correct horsf", stored)
    assert "correct" not in stored
    with pytest.raises(Refused, match="12 to 200"):
        hash_password("short")
    cookie = sign(b"secret", "study 1")
    assert is_signed(cookie, b"secret", "study 1")
    assert not is_signed(cookie, b"secret", "study 2")
    assert not is_signed(cookie, b"another", "study 1")
    assert not is_signed(sign(b"secret", "study 1", until=1.0), b"secret", "study 1")
    for forged in ("", ".", "9999999999.", "²." + cookie[11:], "99999999999" + cookie[10:], cookie[:-1] + "é"):
        assert not is_signed(forged, b"secret", "study 1")


def test_a_rate_limit_fills_up_again() -> None:
    at = [0.0]
    limit = RateLimit(3, 0.5, lambda: at[0])
    assert [limit.allows("a") for _ in range(4)] == [True, True, True, False]
    assert limit.allows("b")
    at[0] = 1.9
    assert not limit.allows("a", 1.0)
    at[0] = 2.0
    assert limit.allows("a")
    assert not limit.allows("a")
