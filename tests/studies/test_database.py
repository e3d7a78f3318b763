"""The database as a file: whole when the server has ended, private, without what was deleted, and older ones kept."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from hashlib import sha256
from pathlib import Path

import httpx
import pytest
from sqlalchemy import create_engine, select
from sqlalchemy.orm import Session

from benchmarks.studies import Server, free_port
from sidestep.errors import BadInput
from sidestep.studies.administration import back_up_studies, delete_everywhere
from sidestep.studies.database import (
    AnswerRow,
    EpisodeRow,
    ParticipantRow,
    back_up,
    checkpoint,
    close_database,
    migrate,
    now,
    open_database,
)
from sidestep.studies.store import Store
from tests.studies.conftest import new_store, ratings_of, study_of
from tests.studies.test_store import rate_all

SECRET_WORDS = "a remark that nobody may find again"


def take_part(store: Store, comment: str = "") -> str:
    """A participant who rates the first run."""
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    rate_all(store, token, 0)
    store.finish(token, 0, comment)
    return token


def answers_in(file: Path) -> int:
    """Answers that an SQLite file holds on its own, without a log beside it."""
    alone = file.parent / "copied" / "alone.sqlite"
    alone.parent.mkdir(exist_ok=True)
    shutil.copyfile(file, alone)
    with closing(sqlite3.connect(alone)) as connection:
        return int(connection.execute("SELECT count(*) FROM answers").fetchone()[0])


def test_a_closed_database_is_whole_in_its_file(tmp_path: Path) -> None:
    file = tmp_path / "studies.sqlite"
    store = new_store(f"sqlite:///{file}", study_of())
    checkpoint(store.engine)
    take_part(store)
    with Session(store.engine) as session:
        given = len(session.scalars(select(AnswerRow)).all())
    assert answers_in(file) < given  # they are in the log
    close_database(store.engine)
    assert answers_in(file) == given > 0
    log = Path(f"{file}-wal")
    assert not log.exists() or log.stat().st_size == 0


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_told_to_end_leaves_a_whole_file(tmp_path: Path, how: signal.Signals) -> None:
    file, port = tmp_path / "studies.sqlite", free_port()
    store = new_store(f"sqlite:///{file}", study_of())
    (token,) = store.add_participants("corridor")
    store.consent(token, {})
    store.experience(token, 0)
    item = store.stage(token).info.items(store.stage(token).trial.scenario)[0].id  # type: ignore[union-attr]
    close_database(store.engine)
    server = Server(f"sqlite:///{file}", port, workers=0)
    server.start()
    try:
        asyncio.run(_answer(server, token, item))
        assert server._process is not None
        server._process.send_signal(how)
        server._process.wait(30)
    finally:
        server.kill()
    assert answers_in(file) == 1


async def _answer(server: Server, token: str, item: str) -> None:
    async with httpx.AsyncClient() as client:
        await server.wait(client)
        answer = {"position": 0, "item": item, "rating": 4, "key": "one-key-of-a-page"}
        reply = await client.post(f"{server.address}/p/{token}/answer", json=answer, headers={"origin": server.address})
        assert reply.json() == {"stored": True}


def test_only_the_owner_reads_the_database(tmp_path: Path) -> None:
    file = tmp_path / "studies.sqlite"
    before = os.umask(0o022)
    try:
        store = new_store(f"sqlite:///{file}", study_of())
        for each in tmp_path.iterdir():
            assert each.stat().st_mode & 0o077 == 0, each
        store.engine.dispose()
        file.chmod(0o644)
        open_database(f"sqlite:///{file}").dispose()
        assert file.stat().st_mode & 0o777 == 0o600
        back_up(store.engine, tmp_path / "copy.sqlite")
        assert (tmp_path / "copy.sqlite").stat().st_mode & 0o777 == 0o600
    finally:
        os.umask(before)


def test_links_and_sessions_are_not_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "studies.sqlite"
    store = new_store(f"sqlite:///{file}", study_of())
    token = take_part(store)
    from sidestep.studies.administration import begin_session, is_session

    info = store.study("corridor")
    session = begin_session(store, info)
    assert is_session(store, info, session)
    close_database(store.engine)
    data = file.read_bytes()
    assert token.encode() not in data
    assert session.encode() not in data
    assert sha256(token.encode()).hexdigest().encode() in data


def test_deleted_data_are_in_no_file(tmp_path: Path) -> None:
    file = tmp_path / "studies.sqlite"
    asks = [{"id": "note", "label": "Note"}]
    store = new_store(f"sqlite:///{file}", study_of(comments=True, asks=asks))
    (token,) = store.add_participants("corridor")
    store.consent(token, {"note": "born on a Tuesday"})
    store.experience(token, 0)
    rate_all(store, token, 0)
    store.finish(token, 0, SECRET_WORDS)
    take_part(store, "another remark, which stays")
    in_files = lambda words: any(words.encode() in each.read_bytes() for each in tmp_path.glob("studies.sqlite*"))  # noqa: E731
    assert in_files(SECRET_WORDS)
    assert delete_everywhere(store, "corridor", 1).left == []
    for words in (SECRET_WORDS, "born on a Tuesday", sha256(token.encode()).hexdigest()):
        assert not in_files(words), words
    assert in_files("another remark")


def test_a_backup_while_the_server_writes(tmp_path: Path) -> None:
    store = new_store(f"sqlite:///{tmp_path / 'x.sqlite'}", study_of())
    take_part(store)
    back_up_studies(store, tmp_path / "copy.sqlite")
    take_part(store)
    assert answers_in(tmp_path / "copy.sqlite") == len(ratings_of(store, "corridor")) / 2
    copy = Store(open_database(f"sqlite:///{tmp_path / 'copy.sqlite'}"))
    assert ratings_of(copy, "corridor").names("participant") == ["p001"]
    with pytest.raises(BadInput, match="choose another name"):
        back_up_studies(store, tmp_path / "copy.sqlite")
    (left,) = delete_everywhere(store, "corridor", 1).left
    assert f"{tmp_path / 'copy.sqlite'}" in left


def test_an_older_database_keeps_everything_and_its_links(tmp_path: Path) -> None:
    """Links stood in the database; after the migration the same links work, and no file holds them."""
    file = tmp_path / "old.sqlite"
    engine = create_engine(f"sqlite:///{file}")
    migrate(engine, "0002")
    study, token = study_of(), "an-old-link-of-a-participant-000"
    from sidestep.studies.ratings.questionnaire import load_questionnaire

    with engine.begin() as connection:
        run, moment = connection.exec_driver_sql, now().replace(tzinfo=None).isoformat(" ")
        texts = study.model_dump_json(), load_questionnaire("protocol").model_dump_json()
        password = "scrypt$" + "00" * 16 + "$" + "11" * 32
        run("INSERT INTO studies VALUES (1, 'corridor', ?, ?, '', ?, x'00', ?, NULL)", (*texts, password, moment))
        run(
            "INSERT INTO participants VALUES (1, 1, 1, ?, ?, '2999-01-01', ?, '{\"age\": \"18-39\"}', NULL)",
            (token, moment, moment),
        )
        scenario = study.scenarios[0].name
        run("INSERT INTO trials VALUES (1, 1, 0, 1, 1, 'polite', ?, 5, ?, NULL, 'well')", (scenario, moment))
        run("INSERT INTO answers VALUES (1, 1, 'q01', 4, 'a-key-of-old', ?)", (moment,))
        run("INSERT INTO episodes VALUES (1, 1, 'success', 'd1', x'72', ?, 19.0)", (moment,))
    engine.dispose()
    store = Store(open_database(f"sqlite:///{file}"))
    stage = store.stage(token)
    assert (stage.number, stage.consented, stage.answers) == (1, True, {"q01": 4})
    with Session(store.engine) as session:
        (walk,) = session.scalars(select(EpisodeRow)).all()
        (person,) = session.scalars(select(ParticipantRow)).all()
    assert (walk.digest, walk.slowest_hz, walk.flag) == ("d1", 19.0, None)
    assert (person.details, person.token_hash) == ({"age": "18-39"}, sha256(token.encode()).hexdigest())
    close_database(store.engine)
    assert token.encode() not in b"".join(each.read_bytes() for each in tmp_path.glob("old.sqlite*"))


def test_commands_leave_a_whole_file(tmp_path: Path) -> None:
    file = tmp_path / "studies.sqlite"
    close_database(new_store(f"sqlite:///{file}", study_of()).engine)
    command = [sys.executable, "-m", "sidestep", "study", "add", "corridor", "3", "--database", f"sqlite:///{file}"]
    made = subprocess.run(command, capture_output=True, text=True, check=True)
    assert made.stdout.count("http://127.0.0.1:8000/p/") == 3
    assert not Path(f"{file}-wal").exists()
