"""Fetch a recording of the catalogue, check it, and install it: whole, or not at all."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import urljoin, urlsplit
from urllib.request import Request, urlopen

from sidestep.datasets import load_tracks
from sidestep.datasets.catalogue import DATASETS, NO_ADDRESS
from sidestep.datasets.find import installed, remedy, user_folder
from sidestep.datasets.install import Added, new_folder, write_about
from sidestep.errors import BadInput, UnknownName

TIMEOUT_S = 30.0
CHUNK_BYTES = 1 << 16
LARGEST_BYTES = 1 << 30
Move = Callable[[int, int, str], None]
"""Called with bytes done, bytes in all (0: unknown) and the file's name."""


class NotThere(BadInput):
    """The server has no such file."""


def get_dataset(name: str, url: str | None = None, move: Move | None = None) -> Added:
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
        fetch(address, folder / file, dataset.sha256, move)
        for companion, sha256 in dataset.companions:
            _fetch_companion(urljoin(address, companion), folder / companion, sha256, move)
        tracks = load_tracks(folder / file, dataset.format)
        write_about(folder, file, dataset.format, dataset.sha256, {}, tracks)
    return Added(name, user_folder() / name / file, dataset.format, dataset.sha256, dataset, tracks)


def fetch(address: str, path: Path, sha256: str, move: Move | None = None) -> None:
    """Stream ``address`` to ``path``; an error, and no file, unless its content has this SHA-256."""
    if urlsplit(address).scheme not in ("http", "https"):
        raise BadInput(f"{address}: only http and https addresses are fetched")
    digest, done = hashlib.sha256(), 0
    try:
        request = Request(address, headers={"User-Agent": "sidestep"})
        with urlopen(request, timeout=TIMEOUT_S) as answer, path.open("wb") as file:
            total = int(answer.headers.get("Content-Length") or 0)
            while chunk := answer.read(CHUNK_BYTES):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if done > LARGEST_BYTES:
                    raise BadInput(f"{address}: larger than {LARGEST_BYTES >> 20} MB; nothing was installed")
                if move is not None:
                    move(done, total, path.name)
        if total and done != total:
            raise BadInput(f"{address}: the connection ended after {done} of {total} bytes; try again")
        if digest.hexdigest() != sha256:
            raise BadInput(
                f"{address}: is not the known file (SHA-256 {digest.hexdigest()[:12]}…, expected {sha256[:12]}…); "
                "nothing was installed"
            )
    except HTTPError as error:
        kind = NotThere if error.code in (404, 410) else BadInput
        raise kind(f"{address}: cannot be fetched: the server says {error.code} {error.reason}") from None
    except (OSError, ValueError, HTTPException) as error:
        path.unlink(missing_ok=True)
        raise BadInput(f"{address}: cannot be fetched: {getattr(error, 'reason', None) or error}") from None
    except BadInput:
        path.unlink(missing_ok=True)
        raise


def _fetch_companion(address: str, path: Path, sha256: str, move: Move | None) -> None:
    try:
        fetch(address, path, sha256, move)
    except NotThere:
        if path.name == "H.txt":  # without it pixels stay pixels
            raise
