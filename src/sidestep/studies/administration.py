"""Administration of studies: sessions, passwords, and deleting a participant from the database and from exports.

A deletion removes the rows and empties the write-ahead log. Exports and analyses that commands wrote are found again by
the table of exports: their data are rewritten, and reports and figures of analyses are removed. Downloads and backups
are listed with their time, because it is not known where they are now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path

from sqlalchemy import delete, select, update

from sidestep.errors import SidestepError
from sidestep.studies.access import SESSION_S, Refused, hash_password, hash_token, is_old_hash, is_password, new_token
from sidestep.studies.database import ExportRow, LoginRow, StudyRow, back_up, checkpoint, now
from sidestep.studies.export import export_study
from sidestep.studies.store import Store, StudyInfo, find_study

WRITTEN = (".html", ".json", ".csv", ".parquet", ".svg", ".png")
"""Kinds of files of an analysis."""
NO_STUDY_PASSWORD = "scrypt$131072$8$1$" + "00" * 16 + "$" + "00" * 32
"""Compared where there is no such study, so that both take equally long."""


def log_in(store: Store, name: str, password: str) -> tuple[StudyInfo, str]:
    """The study and the token of a new session; ``Refused`` where study or password is wrong."""
    try:
        info = store.study(name)
    except Refused:
        info = None
    right = is_password(password, info.password if info else NO_STUDY_PASSWORD)
    if info is None or not right:
        raise Refused(403, "study or password is wrong")
    if is_old_hash(info.password):
        _renew_hash(store, info, password)
    return info, begin_session(store, info)


def _renew_hash(store: Store, info: StudyInfo, password: str) -> None:
    """Hash a password at today's cost, unless it is too short for today's rules."""
    try:
        hashed = hash_password(password)
    except Refused:
        return
    with store.writing() as session:
        session.execute(update(StudyRow).where(StudyRow.id == info.id).values(password=hashed))


def begin_session(store: Store, info: StudyInfo) -> str:
    """Log an experimenter in; the token of the session."""
    token = new_token()
    with store.writing() as session:
        session.execute(delete(LoginRow).where(LoginRow.expires <= now()))
        ends = now() + timedelta(seconds=SESSION_S)
        session.add(LoginRow(study_id=info.id, token_hash=hash_token(token), created=now(), expires=ends))
    return token


def is_session(store: Store, info: StudyInfo, token: str) -> bool:
    """Whether ``token`` is a session of this study that has not ended."""
    with store.reading() as session:
        row = session.scalar(select(LoginRow).where(LoginRow.token_hash == hash_token(token)))
        return row is not None and row.study_id == info.id and row.expires > now()


def end_session(store: Store, token: str) -> None:
    """Log out."""
    with store.writing() as session:
        session.execute(delete(LoginRow).where(LoginRow.token_hash == hash_token(token)))


def change_password(store: Store, name: str, password: str) -> None:
    """A new password for experimenters; all of their sessions end."""
    hashed = hash_password(password)
    with store.writing() as session:
        row = find_study(session, name, lock=True)
        row.password = hashed
        session.execute(delete(LoginRow).where(LoginRow.study_id == row.id))


def note_export(store: Store, name: str, kind: str, place: str, files: Sequence[str] = ()) -> None:
    """Remember that data of a study were written or sent."""
    with store.writing() as session:
        study = find_study(session, name)
        if kind in ("export", "analysis"):  # written there again
            old = session.scalars(select(ExportRow).where(ExportRow.study_id == study.id, ExportRow.place == place))
            files = sorted({*files, *(file for row in old for file in row.files)})
            session.execute(delete(ExportRow).where(ExportRow.study_id == study.id, ExportRow.place == place))
        session.add(ExportRow(study_id=study.id, kind=kind, place=place, files=list(files), created=now()))


def files_since(folder: Path, begun_s: float) -> list[str]:
    """Names of the files that an analysis has written into a folder since a time."""
    found = [*folder.glob("episodes/*.parquet"), *(each for each in folder.glob("*") if each.suffix in WRITTEN)]
    there = (each for each in found if each.is_file() and each.stat().st_mtime >= begun_s - 1.0)
    return sorted(each.relative_to(folder).as_posix() for each in there)


def back_up_studies(store: Store, out: Path) -> None:
    """A copy of the database in one file, remembered by every study that it holds."""
    back_up(store.engine, out)
    for info in store.studies():
        note_export(store, info.study.name, "backup", str(out.resolve()))


@dataclass
class Deletion:
    """What a deletion has changed outside the database."""

    rewritten: list[str] = field(default_factory=list)
    """Folders whose data were rewritten without the participant."""
    removed: list[str] = field(default_factory=list)
    """Files that were removed."""
    left: list[str] = field(default_factory=list)
    """Where the participant's data may still be."""

    def lines(self) -> list[str]:
        """A message for the experimenter about each of them."""
        return [
            *(f"written again without this participant: {each}" for each in self.rewritten),
            *(f"removed: {each}" for each in self.removed),
            *(f"delete by hand: {each}" for each in self.left),
        ]


def delete_everywhere(store: Store, name: str, number: int) -> Deletion:
    """Delete all data of a participant from the database, its log, and the exports that are known."""
    with store.reading() as session:
        study = find_study(session, name)
        exports = session.scalars(select(ExportRow).where(ExportRow.study_id == study.id).order_by(ExportRow.id)).all()
    store.delete_participant(name, number)
    done = Deletion()
    for each in exports:
        if each.kind in ("export", "analysis"):
            _follow(store, name, each, done)
        elif each.kind == "download":
            how = "written" if Path(each.place).is_absolute() else "downloaded"
            done.left.append(f"{each.place}, {how} at {each.created:%Y-%m-%d %H:%M} UTC")
        elif Path(each.place).exists():
            done.left.append(
                f"backup {each.place}; sidestep study delete {name} {number} --database sqlite:///{each.place}"
            )
    if not checkpoint(store.engine):
        done.left.append("the log of the database, until the server has a quiet moment or ends")
    return done


def _follow(store: Store, name: str, export: ExportRow, done: Deletion) -> None:
    """Rewrite an export, and remove the other files that were written there."""
    folder = Path(export.place)
    there = [file for file in export.files if (folder / file).is_file() and not (folder / file).is_symlink()]
    if not there:
        done.left.append(f"copies of {folder}, written at {export.created:%Y-%m-%d %H:%M} UTC and not there any more")
        return
    try:
        rewritten = set(export_study(store, name, folder).files)
        for file in there:
            if file not in rewritten:
                (folder / file).unlink()
                if not file.startswith("episodes/"):
                    done.removed.append(str(folder / file))
    except (OSError, SidestepError) as error:
        done.left.append(f"{folder} ({error})")
    else:
        done.rewritten.append(str(folder))
        note_export(store, name, "export", export.place, sorted(rewritten))
