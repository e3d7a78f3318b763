"""The same rules in PostgreSQL, where a server can be started for the tests."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import mkdtemp
from time import sleep

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext

from sidestep.studies.database import Base, open_database
from sidestep.studies.store import Store
from tests.needs import CHROMIUM, in_browser, skip_without_package
from tests.studies import test_pages, test_store
from tests.studies.conftest import new_store, study_of
from tests.studies.test_browser import play_a_study

POSTGRES = shutil.which("postgres") or next(iter(map(str, Path("/usr/lib/postgresql").glob("*/bin/postgres"))), "")
pytestmark = [
    pytest.mark.skipif(not POSTGRES, reason="PostgreSQL is not installed: apt-get install postgresql"),
    skip_without_package("psycopg"),
]


def _user() -> str:
    """Who runs the server: PostgreSQL refuses the superuser of the machine."""
    if os.geteuid():
        return getpass.getuser()
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres: apt-get install postgresql")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    user, folder = _user(), Path(mkdtemp(prefix="pg-"))
    shutil.chown(folder, user)
    programs = Path(POSTGRES).resolve().parent
    options = {"user": user, "cwd": folder, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    data = folder / "data"
    subprocess.run([programs / "initdb", "-D", data, "-A", "trust", "-U", "tests"], check=True, **options)  # type: ignore[call-overload]
    command = [programs / "postgres", "-D", data, "-k", folder, "-c", "listen_addresses="]
    process = subprocess.Popen(command, **options)  # type: ignore[call-overload]
    try:
        for _ in range(200):
            if (folder / ".s.PGSQL.5432").exists():
                break
            sleep(0.1)
        sleep(0.5)
        yield f"postgresql://tests@/postgres?host={folder}"
    finally:
        process.send_signal(signal.SIGINT)  # does not wait for connections that somebody has left
        process.wait()
        shutil.rmtree(folder)


@pytest.fixture
def store(address: str) -> Iterator[Store]:
    one = new_store(address, study_of())
    yield one
    with one.engine.begin() as connection:
        Base.metadata.drop_all(connection)
        connection.exec_driver_sql("DROP TABLE alembic_version")
    one.engine.dispose()


def test_migrations_make_the_tables_of_the_models(store: Store, address: str) -> None:
    with open_database(address).connect() as connection:
        assert compare_metadata(MigrationContext.configure(connection), Base.metadata) == []


def test_a_participant_from_consent_to_the_end(store: Store) -> None:
    test_store.test_a_participant_from_consent_to_the_end(store)


def test_the_same_again_changes_nothing(store: Store, item: Callable[[str], str]) -> None:
    test_store.test_the_same_again_changes_nothing(store, item)


def test_answers_from_many_threads_are_stored_once(store: Store, item: Callable[[str], str]) -> None:
    test_store.test_answers_from_many_threads_are_stored_once(store, item)


def test_a_deleted_participant_leaves_a_number_only(store: Store) -> None:
    test_store.test_a_deleted_participant_leaves_a_number_only(store)


def test_the_pages(store: Store) -> None:
    with test_pages.client_of(store) as client:
        test_pages.test_a_participant_without_scripts(client, store)
        test_pages.test_experimenters_log_in(client, store)


@pytest.mark.full
@in_browser[0]
@in_browser[1]
def test_the_whole_study_in_a_browser(store: Store, address: str) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        play_a_study(browser, address)
        browser.close()
