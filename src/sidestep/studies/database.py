"""Tables of studies, and opening the database: SQLite by default, PostgreSQL by URL.

A new database is made, and an old one brought up to date, by the migrations in ``migrations``. SQLite runs with a
write-ahead log and full synchronisation: what a transaction has committed outlives a killed server and a power cut. Its
file is readable by its owner only, what is deleted is overwritten, and ``close_database`` moves the log into the file.
"""

from __future__ import annotations

import logging
import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sidestep._util.writing import whole_file
from sidestep.errors import BadInput, MissingExtra

try:
    from alembic import command
    from alembic.config import Config
    from alembic.runtime.migration import MigrationContext
    from sqlalchemy import (
        JSON,
        DateTime,
        Double,
        Engine,
        ForeignKey,
        Index,
        LargeBinary,
        String,
        Text,
        UniqueConstraint,
        create_engine,
        event,
        make_url,
    )
    from sqlalchemy.exc import ArgumentError, NoSuchModuleError, SQLAlchemyError
    from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column, relationship
    from sqlalchemy.types import TypeDecorator
except ImportError as error:  # pragma: no cover
    raise MissingExtra("the study server", "web") from error

DEFAULT_URL = "sqlite:///studies.sqlite"
OWNER_ONLY = 0o600
HASHES_SINCE = "0003"
"""Revision before which links stood in the database, and deleted rows were not overwritten."""

log = logging.getLogger("sidestep.studies")


class Moment(TypeDecorator[datetime]):
    """A time in UTC; SQLite keeps no time zones."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_result_value(self, value: datetime | None, dialect: Any) -> datetime | None:
        """Add the time zone that SQLite has dropped."""
        return value.replace(tzinfo=UTC) if value is not None and value.tzinfo is None else value


class Base(DeclarativeBase):
    """All tables."""


class StudyRow(Base):
    """A study as it was defined; scenario texts and questionnaire are frozen with it."""

    __tablename__ = "studies"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(String(60), unique=True)
    definition: Mapped[dict[str, Any]] = mapped_column(JSON)
    questionnaire: Mapped[dict[str, Any]] = mapped_column(JSON)
    folder: Mapped[str] = mapped_column(Text)
    """Folder of the definition, which holds the films."""
    password: Mapped[str] = mapped_column(Text)
    """Salted scrypt."""
    created: Mapped[datetime] = mapped_column(Moment)
    closed: Mapped[datetime | None] = mapped_column(Moment)


class ParticipantRow(Base):
    """A participant: a number and a link, and what the study asks for."""

    __tablename__ = "participants"
    __table_args__ = (UniqueConstraint("study_id", "number"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    number: Mapped[int]
    """From 1; decides the order of runs."""
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    """SHA-256 of the token in the link."""
    created: Mapped[datetime] = mapped_column(Moment)
    expires: Mapped[datetime] = mapped_column(Moment)
    consented: Mapped[datetime | None] = mapped_column(Moment)
    details: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    deleted: Mapped[datetime | None] = mapped_column(Moment)
    """When the data were deleted; the number is not used again."""
    study: Mapped[StudyRow] = relationship()


class TrialRow(Base):
    """One run of a participant. ``experienced``: the encounter is over; ``done``: it is rated."""

    __tablename__ = "trials"
    __table_args__ = (UniqueConstraint("participant_id", "position"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    participant_id: Mapped[int] = mapped_column(ForeignKey("participants.id", ondelete="CASCADE"))
    position: Mapped[int]
    set: Mapped[int]
    run: Mapped[int]
    policy: Mapped[str] = mapped_column(String(60))
    scenario: Mapped[str] = mapped_column(String(120))
    seed: Mapped[int]
    experienced: Mapped[datetime | None] = mapped_column(Moment)
    done: Mapped[datetime | None] = mapped_column(Moment)
    comment: Mapped[str | None] = mapped_column(Text)
    device: Mapped[str | None] = mapped_column(String(20))
    """Kind of device on which it was rated: ``computer``, ``tablet`` or ``phone``."""
    played_s: Mapped[float | None] = mapped_column(Double)
    """Seconds of the film that were played without gaps."""


class AnswerRow(Base):
    """An answer as it was given. Nothing is overwritten: the newest answer to an item counts."""

    __tablename__ = "answers"
    __table_args__ = (Index("answers_of_trial", "trial_id"),)
    id: Mapped[int] = mapped_column(primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id", ondelete="CASCADE"))
    item: Mapped[str] = mapped_column(String(80))
    rating: Mapped[int]
    key: Mapped[str] = mapped_column(String(64), unique=True)
    """Chosen by the page; the same key is the same answer, however often it is sent."""
    given: Mapped[datetime] = mapped_column(Moment)


class EpisodeRow(Base):
    """The record of a walk. A trial has at most one: walks that were broken off are begun again."""

    __tablename__ = "episodes"
    id: Mapped[int] = mapped_column(primary_key=True)
    trial_id: Mapped[int] = mapped_column(ForeignKey("trials.id", ondelete="CASCADE"), unique=True)
    outcome: Mapped[str] = mapped_column(String(40))
    digest: Mapped[str] = mapped_column(String(80))
    record: Mapped[bytes] = mapped_column(LargeBinary)
    finished: Mapped[datetime] = mapped_column(Moment)
    slowest_hz: Mapped[float | None] = mapped_column(Double)
    """Steps in the slowest second of the walk; None: it was shorter than a second."""
    manner: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    """Seconds per view and per input, number and seconds of pauses; see ``walking.Manner``."""
    flag: Mapped[str | None] = mapped_column(String(40))
    """Why the outcome does not count; see ``conduct``. None: it counts."""


class LoginRow(Base):
    """An experimenter who is logged in. Logging out deletes it."""

    __tablename__ = "sessions"
    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    token_hash: Mapped[str] = mapped_column(String(64), unique=True)
    created: Mapped[datetime] = mapped_column(Moment)
    expires: Mapped[datetime] = mapped_column(Moment)


class ExportRow(Base):
    """Where data of a study were written to or sent, so that a deletion can follow them."""

    __tablename__ = "exports"
    id: Mapped[int] = mapped_column(primary_key=True)
    study_id: Mapped[int] = mapped_column(ForeignKey("studies.id", ondelete="CASCADE"))
    kind: Mapped[str] = mapped_column(String(20))
    """``export`` or ``analysis`` (folders), ``backup`` (a file), ``download`` (to an unknown place)."""
    place: Mapped[str] = mapped_column(Text)
    files: Mapped[list[str]] = mapped_column(JSON)
    """Below the folder."""
    created: Mapped[datetime] = mapped_column(Moment)


def now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


def open_database(url: str = DEFAULT_URL) -> Engine:
    """Open the database at ``url``, after creating or migrating its tables."""
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = create_engine(parsed, pool_pre_ping=True, hide_parameters=True)
    except (ArgumentError, NoSuchModuleError):
        raise BadInput(f"{url!r:.60}: not a database; give sqlite:///FILE or postgresql://USER@HOST/NAME") from None
    except ImportError:
        raise MissingExtra(f"a database of kind {parsed.drivername}", "postgres") from None
    if engine.dialect.name == "sqlite":
        _set_up_sqlite(engine)
    try:
        before = migrate(engine)
        if before is not None and before < HASHES_SINCE and engine.dialect.name == "sqlite":
            _run(engine, "VACUUM")  # what was deleted before, and links
            checkpoint(engine)
    except SQLAlchemyError as error:
        reason = str(error).splitlines()[0][:300]
        shown = parsed.render_as_string(hide_password=True)
        raise BadInput(f"{shown}: cannot be used: {reason}; check address, rights and version") from None
    return engine


def migrate(engine: Engine, revision: str = "head") -> str | None:
    """Bring the tables to ``revision``; the one of before, None of a new database."""
    config = Config()
    config.set_main_option("script_location", "sidestep.studies:migrations")
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":  # one server at a time
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7245823)")
        before = MigrationContext.configure(connection).get_current_revision()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
    return before


def checkpoint(engine: Engine) -> bool:
    """Move the write-ahead log of SQLite into its file and empty it; whether nothing is left in it. Without waiting for
    others who read or write now."""
    if engine.dialect.name != "sqlite":
        return True
    with closing(engine.raw_connection()) as connection:
        connection.execute("PRAGMA busy_timeout=500")
        try:
            busy, *_ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        except sqlite3.OperationalError:
            busy = 1
        finally:
            connection.execute("PRAGMA busy_timeout=30000")
    return not busy


def close_database(engine: Engine) -> None:
    """Leave nothing in the write-ahead log, and close all connections."""
    checkpoint(engine)
    engine.dispose()


def back_up(engine: Engine, out: Path) -> None:
    """A consistent copy of an SQLite database in one file, also while it is served. Exports belong to the database that
    wrote them: a deletion in the copy lists them and does not rewrite them from older data."""
    if engine.dialect.name != "sqlite":
        raise BadInput("backups of PostgreSQL are made by its own tools: pg_dump --format=custom --file=FILE NAME")
    if out.exists():
        raise BadInput(f"{out}: exists already; choose another name")
    with whole_file(out) as temporary:
        _make_private(temporary)
        with closing(sqlite3.connect(temporary)) as target, closing(engine.raw_connection()) as source:
            source.driver_connection.backup(target)  # type: ignore[union-attr]
            target.execute("PRAGMA journal_mode=DELETE")
            target.execute("UPDATE exports SET kind = 'download' WHERE kind IN ('export', 'analysis')")
            target.commit()
            (state,) = target.execute("PRAGMA integrity_check").fetchone()
        if state != "ok":
            raise BadInput(f"{out}: the copy is damaged ({state!s:.100}); check the disk and try again")


def _run(engine: Engine, statement: str) -> None:
    """A statement outside of a transaction."""
    with closing(engine.raw_connection()) as connection:
        connection.execute(statement)


def _make_private(path: Path) -> None:
    """Only the owner may read the file, which is made if it is not there."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_RDWR, OWNER_ONLY))
        if path.stat().st_mode & 0o077:
            path.chmod(OWNER_ONLY)
    except OSError as error:
        log.warning("%s: others may be able to read this file (%s); make it private", path, error.strerror)


def _set_up_sqlite(engine: Engine) -> None:
    file = Path(engine.url.database or ":memory:")
    if file.name != ":memory:" and file.parent.is_dir():
        for each in (file, *(other for other in (Path(f"{file}-wal"), Path(f"{file}-shm")) if other.exists())):
            _make_private(each)

    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below only
        for line in (
            "busy_timeout=30000",
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "secure_delete=ON",
        ):
            connection.execute(f"PRAGMA {line}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        """Writers queue up at the beginning: a transaction that first reads and then writes cannot fail half-way."""
        reads = connection.get_execution_options().get("reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
