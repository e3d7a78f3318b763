"""Put a recording into the user's data folder, from a file or from its public address: whole and checked, or not
at all.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

from sidestep import registry
from sidestep.datasets import detect_format, load_tracks
from sidestep.datasets.sanity import absurdities
from sidestep.datasets.sources import (
    ABOUT,
    DATASETS,
    NO_ADDRESS,
    Dataset,
    Installed,
    by_sha256,
    installed,
    remedy,
    sha256_of,
    user_folder,
)
from sidestep.errors import BadInput, UnknownName
from sidestep.types.tracks import Tracks

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")
_NAMELESS = ("obsmat", "annotation")
"""File names that say nothing; the folder's name says more."""


@dataclass(frozen=True)
class Added:
    """What was installed."""

    name: str
    path: Path
    format: str
    sha256: str
    known: Dataset | None
    tracks: Tracks
    already: bool = False


def add_dataset(
    path: Path, name: str | None = None, format_name: str | None = None, force: bool = False, **options: Any
) -> Added:
    """Install a file under a name. It is read completely first; nothing is left behind on any failure.

    A file in which nobody can be walking (:func:`~sidestep.datasets.sanity.absurdities`) is refused without ``force``.
    A file of the catalogue gets its name there, and a name of the catalogue is refused to any other file. A file that
    needs options (``rate_hz`` …) keeps them.
    """
    path = Path(path)
    format_name = format_name or detect_format(path)
    sha256 = sha256_of(path)
    known = by_sha256().get(sha256)
    name = _choose_name(path, name, sha256, known)
    before = installed(name)
    if before is not None and before.sha256 != sha256:
        raise BadInput(f"a dataset {name!r} is already installed in {before.path.parent}; choose another --name")
    options = {key: str(value) if isinstance(value, Path) else value for key, value in options.items()}
    if name in DATASETS:
        _check_options(path, DATASETS[name], options)
    tracks = load_tracks(path, format_name, **options)
    absurd = absurdities(tracks) if known is None and not force else []
    if absurd:
        raise BadInput(
            f"{path}: {'; '.join(absurd)}. Correct it (--rate-hz, --homography …) or install it with --force"
        )
    kept = {} if name in DATASETS else _options_to_keep(options)
    if before is not None and before.options == kept:
        return Added(name, before.path, format_name, sha256, known, tracks, already=True)
    beside = _companions(path, format_name, options)
    if name in DATASETS:
        _check_companions(DATASETS[name], beside)
    with new_folder(name, replace=before) as folder:
        shutil.copyfile(path, folder / path.name)
        for target, source in beside.items():
            shutil.copyfile(source, folder / target)
        if sha256_of(folder / path.name) != sha256:
            raise BadInput(f"{path}: changed while it was copied; nothing was installed")
        write_about(folder, path.name, format_name, sha256, kept, tracks)
    return Added(name, user_folder() / name / path.name, format_name, sha256, known, tracks)


def write_about(
    folder: Path, file: str, format_name: str, sha256: str, options: dict[str, Any], tracks: Tracks
) -> None:
    """The small JSON beside an installed recording."""
    about = {
        "file": file,
        "format": format_name,
        "options": options,
        "sha256": sha256,
        "people": len(tracks.people),
        "source": tracks.source,
        "licence": tracks.licence,
    }
    (folder / ABOUT).write_text(json.dumps(about, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


@contextmanager
def new_folder(name: str, replace: Installed | None = None) -> Iterator[Path]:
    """A hidden folder to fill, renamed to the dataset's on success and removed on failure."""
    final = user_folder() / name
    temporary = final.with_name(f".{name}.{os.getpid()}.tmp")
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        temporary.mkdir(parents=True)
        yield temporary
        if final.is_dir() and (replace is not None or not (final / ABOUT).exists()):
            shutil.rmtree(final)
        temporary.rename(final)
    except OSError as error:
        raise BadInput(f"{final}: cannot be installed there: {error.strerror or error}") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _choose_name(path: Path, name: str | None, sha256: str, known: Dataset | None) -> str:
    if name is None and known is not None:
        return known.name
    if name is None:
        stem = path.resolve().parent.name if path.stem in _NAMELESS else path.stem
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", stem).strip("-._") or "recording"
    if not _NAME.fullmatch(name):
        raise BadInput(
            f"--name {name!r}: use letters, digits, '-', '_' and '.', at most 64, the first a letter or digit"
        )
    expected = DATASETS.get(name)
    if expected is not None and expected.sha256 != sha256:
        raise BadInput(
            f"{path}: is not the file that {name!r} names (SHA-256 {sha256[:12]}…, expected {expected.sha256[:12]}…); "
            "choose another --name"
        )
    return name


def _companions(path: Path, format_name: str, options: dict[str, Any]) -> dict[str, Path]:
    """Files that the loader reads beside the recording: name in the new folder → where it is now."""
    names = registry.load("datasets", format_name).companions
    found = {name: path.with_name(name) for name in names if path.with_name(name).is_file()}
    if options.get("homography"):
        found["H.txt"] = Path(options["homography"])
    return found


def _check_options(path: Path, dataset: Dataset, options: dict[str, Any]) -> None:
    """A recording of the catalogue is read as the catalogue says, so options that say otherwise are refused."""
    agreeing = {"homography", *(("rate_hz",) if options.get("rate_hz") == dataset.fps else ())}
    other = sorted(set(options) - agreeing)
    if other:
        raise BadInput(
            f"{path}: {dataset.name} is known to the project ({dataset.fps:g} frames/s); leave out {other[0]}, or "
            "choose another --name"
        )


def _check_companions(dataset: Dataset, beside: dict[str, Path]) -> None:
    expected = dict(dataset.companions)
    for name, path in beside.items():
        if name in expected and sha256_of(path) != expected[name]:
            raise BadInput(f"{path}: is not the {name} that belongs to {dataset.name} (by its SHA-256)")


def _options_to_keep(options: dict[str, Any]) -> dict[str, Any]:
    """Options that later loads need; the homography is copied beside the file instead."""
    return {key: value for key, value in options.items() if key != "homography" and value is not None}


TIMEOUT_S = 30.0
CHUNK_BYTES = 1 << 16
LARGEST_BYTES = 1 << 30
Progress = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all (0: unknown) and the file's name."""


class FileNotOnServer(BadInput):
    """The server has no such file."""


def get_dataset(name: str, url: str | None = None, progress: Progress | None = None) -> Added:
    """Download ``name`` from its address, or from ``url``, and install it in the user's data folder.

    A file whose SHA-256 is not the catalogue's is refused. Files that belong to it are fetched from beside it; those
    that the loader can do without (groups) may be missing, but never differ.
    """
    dataset = DATASETS.get(name)
    if dataset is None:
        raise UnknownName("dataset", name, DATASETS, where="the catalogue")
    address = url or dataset.address
    if not address:
        raise BadInput(f"{name}: {NO_ADDRESS}; give one with --url, or {remedy(name).partition('; ')[2]}")
    before = installed(name)
    if before is not None:
        tracks = load_tracks(before.path, before.format)
        return Added(name, before.path, before.format, before.sha256, dataset, tracks, already=True)
    file = Path(dataset.file).name
    with new_folder(name) as folder:
        fetch(address, folder / file, dataset.sha256, progress)
        for companion, sha256 in dataset.companions:
            try:
                fetch(urljoin(address, companion), folder / companion, sha256, progress)
            except FileNotOnServer:
                if companion == "H.txt":  # without it pixels stay pixels
                    raise
        tracks = load_tracks(folder / file, dataset.format)
        write_about(folder, file, dataset.format, dataset.sha256, {}, tracks)
    return Added(name, user_folder() / name / file, dataset.format, dataset.sha256, dataset, tracks)


class _Watch:
    """pooch's progress of a download: passed on as :data:`Progress`; a download that grows too large is stopped."""

    total = 0

    def __init__(self, address: str, name: str, progress: Progress | None) -> None:
        self._address, self._name, self._progress, self._done = address, name, progress, 0

    def update(self, count: int) -> None:
        self._done += count
        if max(self._done, self.total) > LARGEST_BYTES + CHUNK_BYTES:
            raise BadInput(f"{self._address}: larger than {LARGEST_BYTES >> 20} MB; nothing was installed")
        if self._progress is not None:
            self._progress(min(self._done, self.total or self._done), self.total, self._name)

    def reset(self) -> None:
        self._done = 0

    def close(self) -> None:
        """Nothing is open."""


def fetch(address: str, path: Path, sha256: str, progress: Progress | None = None) -> None:
    """Download ``address`` to ``path``; an error, and no file, unless its content has this SHA-256."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise BadInput(f"{address}: only http and https addresses are fetched")
    import pooch
    from requests import HTTPError

    pooch.get_logger().setLevel("WARNING")
    downloader = pooch.HTTPDownloader(
        progressbar=_Watch(address, path.name, progress),
        chunk_size=CHUNK_BYTES,
        timeout=TIMEOUT_S,
        headers={"User-Agent": "sidestep"},
    )
    try:
        pooch.retrieve(address, f"sha256:{sha256}", path.name, path.parent, downloader=downloader)
    except HTTPError as error:
        code = None if error.response is None else error.response.status_code
        kind = FileNotOnServer if code in (404, 410) else BadInput
        raise kind(f"{address}: cannot be fetched: the server says {code}") from None
    except OSError as error:
        raise BadInput(f"{address}: cannot be fetched: {error!s:.300}; try again") from None
    except ValueError:
        raise BadInput(
            f"{address}: is not the known file (its SHA-256 is not {sha256[:12]}…); nothing was installed"
        ) from None
