"""Tables of studies, and opening the database: SQLite by default, PostgreSQL by URL.

A new database is made, and an old one brought up to date, by the migrations in ``migrations``. SQLite runs with a
write-ahead log and full synchronisation: what a transaction has committed outlives a killed server and a power cut.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from sidestep.errors import BadInput, MissingExtra

try:
    from alembic import command
    from alembic.config import Config
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
    """Where films lie."""
    password: Mapped[str] = mapped_column(Text)
    """Salted scrypt."""
    secret: Mapped[bytes] = mapped_column(LargeBinary)
    """Signs the cookies of experimenters."""
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
    token: Mapped[str] = mapped_column(String(64), unique=True)
    created: Mapped[datetime] = mapped_column(Moment)
    expires: Mapped[datetime] = mapped_column(Moment)
    consented: Mapped[datetime | None] = mapped_column(Moment)
    details: Mapped[dict[str, Any] | None] = mapped_column(JSON)
    deleted: Mapped[datetime | None] = mapped_column(Moment)
    """The number of somebody whose data were deleted is not given again."""
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


def now() -> datetime:
    """The time in UTC."""
    return datetime.now(UTC)


def open_database(url: str = DEFAULT_URL) -> Engine:
    """The database at ``url``, made or brought up to date."""
    try:
        parsed = make_url(url)
        if parsed.drivername == "postgresql":
            parsed = parsed.set(drivername="postgresql+psycopg")
        engine = create_engine(parsed, pool_pre_ping=True)
    except (ArgumentError, NoSuchModuleError):
        raise BadInput(f"{url!r:.60}: is no database; give sqlite:///FILE or postgresql://USER@HOST/NAME") from None
    except ImportError:
        raise MissingExtra(f"a database of kind {parsed.drivername}", "postgres") from None
    if engine.dialect.name == "sqlite":
        _set_up_sqlite(engine)
    try:
        migrate(engine)
    except SQLAlchemyError as error:
        reason = str(error).splitlines()[0][:300]
        shown = parsed.render_as_string(hide_password=True)
        raise BadInput(f"{shown}: cannot be used: {reason}; check address, rights and version") from None
    return engine


def migrate(engine: Engine, revision: str = "head") -> None:
    """Bring the tables to ``revision``."""
    config = Config()
    config.set_main_option("script_location", "sidestep.studies:migrations")
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":  # one server at a time
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7245823)")
        config.attributes["connection"] = connection
        command.upgrade(config, revision)


def _set_up_sqlite(engine: Engine) -> None:
    @event.listens_for(engine, "connect")
    def connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # transactions are begun below, and by nobody else
        for line in ("busy_timeout=30000", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {line}")

    @event.listens_for(engine, "begin")
    def begin(connection: Any) -> None:
        """Writers queue up at the beginning: a transaction that first reads and then writes cannot fail half-way."""
        reads = connection.get_execution_options().get("reads", False)
        connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")
