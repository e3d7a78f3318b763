"""Where the records of a run lie: in its folder, or below a URI of an object store or another file system that
pyarrow knows (``s3://``, ``gs://``, ``abfs://``, ``hdfs://``).

With a URI, workers write records there directly. The index (``run.json``, ``results.parquet`` and the lock) is a folder
of the computer that drives the run; both files are copied to the URI when they change, so that what lies there is a
whole run folder and another computer can resume the run. A record is either whole or not there: a put into an object
store is atomic, on other file systems a temporary file is renamed; the checksum in a record tells a damaged one in any
case.
"""

from __future__ import annotations

import hashlib
import os
from abc import ABC, abstractmethod
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pyarrow as pa
from pyarrow import fs

from sidestep._util.writing import TEMPORARY, CannotWrite, write_whole
from sidestep.errors import BadInput, RecordError
from sidestep.records import decode_record, encode_record, load_record, save_record
from sidestep.runs.folder import RESULTS_FILE, RUN_FILE, safe_name
from sidestep.runs.ledger import LEDGER_FILE
from sidestep.types.record import EpisodeRecord

ATOMIC_PUT = ("s3", "gcs", "abfs")
"""pyarrow's names of file systems in which a file appears when it has been written completely."""


class Storage(ABC):
    """Holds the records of a run. Every path is the one that the record has, or would have, in the run folder."""

    @abstractmethod
    def exists(self, path: Path) -> bool:
        """Whether there is a record, whole or not."""

    @abstractmethod
    def load(self, path: Path) -> EpisodeRecord:
        """The record; ``RecordError`` if it is not there or damaged."""

    @abstractmethod
    def save(self, record: EpisodeRecord, path: Path) -> None:
        """Write the record, whole or not at all; ``CannotWrite`` says why not."""

    @abstractmethod
    def save_log(self, text: str, path: Path) -> None:
        """Write a text beside a record, or delete it if it is empty."""

    def fetch_index(self, folder: Path) -> None:  # noqa: B027
        """Before a run is opened: bring its description into the run folder if it is only elsewhere."""

    def publish_index(self, folder: Path) -> None:  # noqa: B027
        """After the run's description or results have changed: copy them to where the records are."""


@dataclass(frozen=True)
class FolderStorage(Storage):
    """Records in the run folder itself, on this computer or a shared file system."""

    def exists(self, path: Path) -> bool:
        """Whether there is a file."""
        return path.exists()

    def load(self, path: Path) -> EpisodeRecord:
        """Read the file."""
        return load_record(path)

    def save(self, record: EpisodeRecord, path: Path) -> None:
        """Write and rename the file."""
        save_record(record, path)

    def save_log(self, text: str, path: Path) -> None:
        """Write or delete the file."""
        with suppress(OSError):
            if text:
                path.write_text(text, encoding="utf-8")
            else:
                path.unlink(missing_ok=True)


IN_FOLDER = FolderStorage()


@dataclass(frozen=True)
class UriStorage(Storage):
    """Records below ``uri``, at the places that they would have below the run folder ``root``. Travels to workers as
    the URI; each opens the file system itself, with the credentials that pyarrow finds on its computer."""

    uri: str
    root: Path

    def exists(self, path: Path) -> bool:
        """Whether there is an object."""
        system, name = self._place(path)
        try:
            return bool(system.get_file_info(name).type == fs.FileType.File)
        except OSError as error:
            raise RecordError(f"{self.shown(path)}: {error}") from error

    def load(self, path: Path) -> EpisodeRecord:
        """Read the object."""
        return decode_record(self._read(path), self.shown(path))

    def save(self, record: EpisodeRecord, path: Path) -> None:
        """Put the object."""
        self._write(path, encode_record(record))

    def save_log(self, text: str, path: Path) -> None:
        """Put the text; delete it where there is one."""
        with suppress(OSError, CannotWrite):
            if text:
                self._write(path, text.encode())
            elif self.exists(path):
                system, name = self._place(path)
                system.delete_file(name)

    def fetch_index(self, folder: Path) -> None:
        """The run's description, if this computer has not got it yet."""
        if (folder / RUN_FILE).exists():
            return
        for path in (folder / LEDGER_FILE, folder / RUN_FILE):
            if self.exists(path):
                write_whole(path, self._read(path))

    def publish_index(self, folder: Path) -> None:
        """Description and results, as far as they are there."""
        for name in (RUN_FILE, LEDGER_FILE, RESULTS_FILE):
            with suppress(FileNotFoundError):
                self._write(folder / name, (folder / name).read_bytes())

    def shown(self, path: Path) -> str:
        """The address of a record, for messages; without credentials."""
        return f"{without_credentials(self.uri).rstrip('/')}/{self._relative(path)}"

    def _relative(self, path: Path) -> str:
        return path.relative_to(self.root).as_posix()

    def _place(self, path: Path) -> tuple[Any, str]:
        system, base = _open(self.uri)
        return system, f"{base.rstrip('/')}/{self._relative(path)}"

    def _read(self, path: Path) -> bytes:
        system, name = self._place(path)
        try:
            with system.open_input_stream(name) as stream:
                return bytes(stream.read())
        except OSError as error:
            raise RecordError(f"{self.shown(path)}: cannot be read: {error}") from error

    def _write(self, path: Path, data: bytes) -> None:
        system, name = self._place(path)
        folder, _, last = name.rpartition("/")
        is_put = system.type_name in ATOMIC_PUT
        target = name if is_put else f"{folder}/.{last}.{os.getpid()}{TEMPORARY}"
        try:
            if not is_put:
                system.create_dir(folder, recursive=True)
            with system.open_output_stream(target) as stream:
                stream.write(data)
            if not is_put:
                system.move(target, name)
        except OSError as error:
            raise CannotWrite(self.shown(path), error) from error


@lru_cache(maxsize=8)
def _open(uri: str) -> tuple[Any, str]:
    """The file system and the path in it."""
    try:
        return fs.FileSystem.from_uri(uri)  # type: ignore[no-any-return]
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BadInput(f"--out {without_credentials(uri)}: not a place that pyarrow can open: {error}") from error


def without_credentials(uri: str) -> str:
    """The URI without the part that may hold a user and a key."""
    scheme, separator, rest = uri.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}{separator}{authority.rpartition('@')[2]}{slash}{path}".partition("?")[0]


def place_of(out: str) -> tuple[Path, Storage]:
    """The run folder of this computer and where the records go, from what ``--out`` says: a folder or a URI."""
    if "://" not in out:
        return Path(out), IN_FOLDER
    parts = urlsplit(out)
    if parts.scheme == "file":
        if parts.netloc not in ("", "localhost"):
            raise BadInput(f"--out {out}: a file URI has no host; write file:///folder")
        return Path(url2pathname(parts.path)), IN_FOLDER
    uri = out.rstrip("/")
    plain = without_credentials(uri)
    _open(uri)
    digest = hashlib.sha256(plain.encode("utf-8", "surrogateescape")).hexdigest()[:8]
    root = Path("runs") / f"{safe_name(plain.rpartition('/')[2])}-{digest}"
    return root, UriStorage(uri, root)
