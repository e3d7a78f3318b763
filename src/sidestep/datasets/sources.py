"""Recordings that the project knows, from ``known.yaml``: which file, its SHA-256, its clock, its licence and where it
is to be had; and where they are installed: the folders of ``SIDESTEP_DATA``, then the user's data folder.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sidestep._util import reading
from sidestep.errors import BadInput, UnknownName

MOST_BYTES = 200_000_000
NO_ADDRESS = "no public address is known to the project"


@dataclass(frozen=True)
class Dataset:
    """One recording: one file, and what goes with it."""

    name: str
    summary: str
    file: str
    """Path below a folder of ``SIDESTEP_DATA``."""
    sha256: str
    format: str
    fps: float
    """How many of the file's frame numbers pass in a second."""
    people: int
    licence: str
    citation: str
    companions: tuple[tuple[str, str], ...] = ()
    """Files beside it that belong to it: name and SHA-256."""
    address: str = ""
    """Where the file can be fetched; companions lie beside it. Empty: see :data:`NO_ADDRESS`."""
    notes: tuple[str, ...] = ()
    """What one should know before using it."""
    warnings: tuple[str, ...] = ()
    """What is wrong with the file itself."""

    @property
    def source(self) -> str:
        """Name and citation, as tracks carry them."""
        return f"{self.name}: {self.citation}"


def _known(name: str, entry: dict[str, Any]) -> Dataset:
    lists = {key: tuple(entry.get(key, ())) for key in ("notes", "warnings")}
    return Dataset(name, **entry | lists | {"companions": tuple(entry.get("companions", {}).items())})


DATASETS = {name: _known(name, entry) for name, entry in reading.read_bundled("sidestep.datasets", "known").items()}


@cache
def by_sha256() -> dict[str, Dataset]:
    """SHA-256 of a file → the recording it is."""
    return {dataset.sha256: dataset for dataset in DATASETS.values()}


def read_bytes(path: Path) -> bytes:
    """The whole file, or an error that says why not."""
    return reading.read_bytes(path, "file with recorded tracks", MOST_BYTES)


def sha256_of(path: Path) -> str:
    """SHA-256 of a file's content."""
    return hashlib.sha256(read_bytes(path)).hexdigest()


def known_file(path: Path) -> Dataset | None:
    """The recording that this file is, byte for byte."""
    return by_sha256().get(sha256_of(path))


ABOUT = "dataset.json"
"""The small file beside an installed recording that says what it is."""


def user_folder() -> Path:
    """Where ``data add`` and ``data get`` install: one folder per recording."""
    import platformdirs

    return Path(platformdirs.user_data_dir("sidestep", appauthor=False)) / "datasets"


def data_folders() -> list[Path]:
    """The folders that ``SIDESTEP_DATA`` names now."""
    named = os.environ.get("SIDESTEP_DATA", "")
    return [Path(folder).expanduser() for folder in named.split(os.pathsep) if folder.strip()]


@dataclass(frozen=True)
class Installed:
    """A recording in the user's data folder."""

    name: str
    path: Path
    format: str
    options: dict[str, Any]
    sha256: str
    people: int
    source: str
    licence: str


def installed(name: str) -> Installed | None:
    """The recording of that name in the user's data folder."""
    folder = user_folder() / name
    about = folder / ABOUT
    if Path(name).name != name or not reading.is_file(about):
        return None
    try:
        entry = reading.read_json(about, "description of a recording")
        words = {key: str(entry[key]) for key in ("format", "sha256", "source", "licence")}
        found = Installed(
            name, path=folder / entry["file"], options=dict(entry["options"]), people=int(entry["people"]), **words
        )
    except (BadInput, OSError, ValueError, KeyError, TypeError, OverflowError) as error:
        raise BadInput(f"{about}: broken ({error!s:.200}); delete the folder and install {name!r} again") from None
    return found if reading.is_file(found.path) else None


def installed_names() -> list[str]:
    """Names of all recordings in the user's data folder."""
    folder = user_folder()
    if not folder.is_dir():
        return []
    return sorted(entry.name for entry in folder.iterdir() if not entry.name.startswith(".") and installed(entry.name))


def find_dataset(name: str) -> Path | None:
    """The file of the recording called ``name``; None if it is not installed. The environment is read at each call.

    First each folder of ``SIDESTEP_DATA``, laid out as :attr:`~sidestep.datasets.sources.Dataset.file` says, then
    the user's data folder.
    """
    dataset = DATASETS.get(name)
    if dataset is not None:
        for folder in data_folders():
            if (folder / dataset.file).is_file():
                return folder / dataset.file
    own = installed(name)
    return own.path if own is not None else None


def locate(name: str) -> tuple[Path, str, dict[str, Any]]:
    """File, format and options of an installed recording, its SHA-256 checked; an error with the remedy if absent."""
    path = find_dataset(name)
    if path is None and name not in DATASETS:
        raise UnknownName("dataset", name, [*DATASETS, *installed_names()])
    if path is None:
        raise BadInput(f"dataset {name!r} is not installed; {remedy(name)}")
    dataset, own = DATASETS.get(name), installed(name)
    expected = dataset.sha256 if dataset else own.sha256 if own else ""
    found = sha256_of(path)
    if found != expected:
        raise BadInput(
            f"{path}: is not the file that {name!r} names (SHA-256 {found[:12]}…, expected {expected[:12]}…); "
            f"{remedy(name)}"
        )
    if dataset is not None:
        return path, dataset.format, {}
    assert own is not None
    return path, own.format, own.options


def remedy(name: str) -> str:
    """How to install a recording."""
    dataset = DATASETS.get(name)
    if dataset is None:
        return "install it with `sidestep data add PATH`"
    own = f"`sidestep data add PATH` with your copy of {Path(dataset.file).name}, or set SIDESTEP_DATA to a folder"
    own += f" with {dataset.file}"
    if dataset.address:
        return f"fetch it with `sidestep data get {name}`, or {own}"
    return f"{NO_ADDRESS}; use {own}"


def dataset_rows() -> list[dict[str, Any]]:
    """All recordings, for lists: those of the catalogue, then others that are installed."""
    rows = [
        _row(dataset, dataset.summary, find_dataset(dataset.name), dataset.citation, dataset.address or NO_ADDRESS)
        for dataset in DATASETS.values()
    ]
    own = (installed(name) for name in installed_names() if name not in DATASETS)
    return rows + [_row(each, each.source, each.path, "", "") for each in own if each is not None]


def _row(dataset: Dataset | Installed, summary: str, path: Path | None, citation: str, address: str) -> dict[str, Any]:
    return {
        "name": dataset.name,
        "people": dataset.people,
        "format": dataset.format,
        "installed": path is not None,
        "summary": summary,
        "licence": dataset.licence,
        "citation": citation,
        "address": address,
        "path": None if path is None else str(path),
    }
