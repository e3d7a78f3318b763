"""Recordings that the project knows, from ``known.yaml``: which file, its SHA-256, its clock, its licence and where it
is to be had.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from sidestep import reading

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
