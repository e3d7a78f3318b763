"""Writes ``locked.txt``: the hashes of all files that the pins of ``constraints.txt`` stand for.

::

    python -m tools.pin_hashes [--index URL] [--wheels FOLDER]

Run it after ``tools.pin_constraints``. The index is the one that pip uses. ``--wheels`` adds files that are not in it,
such as a build of torch for processors only. Hashes stand in a file of their own: one hash among constraints, and pip
wants one for everything, also for the editable project, which can have none. ``tools.locked_install`` installs by it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import ssl
import subprocess
import sys
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

from packaging.utils import (
    InvalidSdistFilename,
    InvalidWheelFilename,
    canonicalize_name,
    parse_sdist_filename,
    parse_wheel_filename,
)

from tools.pin_constraints import read_pins

FILE = Path(__file__).parents[1] / "locked.txt"
PYTHONS = ("11", "12", "13")
"""Versions of Python 3 whose wheels are listed."""
SHA256 = re.compile(r"#sha256=([0-9a-f]{64})$")
DEFAULT_INDEX = re.compile(r"--index-url.*?\(default\s+(\S+?)\)", re.DOTALL)
AT_ONCE = 8
HEAD = "# Written by `python -m tools.pin_hashes`: the files of what constraints.txt pins, for tools.locked_install.\n"


class _Links(HTMLParser):
    """The files of a page of an index: name → SHA-256."""

    def __init__(self) -> None:
        super().__init__()
        self.files: dict[str, str] = {}

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a link that has a hash."""
        address = dict(attrs).get("href") or "" if tag == "a" else ""
        found = SHA256.search(address)
        if found is not None:
            name = address[: found.start()].rpartition("/")[2]
            self.files[unquote(name)] = found[1]


def files_of(page: str) -> dict[str, str]:
    """The files of a page of an index: name → SHA-256."""
    links = _Links()
    links.feed(page)
    return links.files


def fits(name: str, project: str, version: str) -> bool:
    """Whether a file is a wheel of this version for one of the ``PYTHONS``, of any build and any platform."""
    try:
        found, its_version, _, tags = parse_wheel_filename(name)
    except InvalidWheelFilename:
        return False
    if found != canonicalize_name(project) or its_version.public != version:
        return False
    return any(_is_for_us(tag.interpreter, tag.abi) for tag in tags)


def _is_for_us(interpreter: str, abi: str) -> bool:
    if interpreter.startswith("py"):
        return interpreter in ("py3", *(f"py3{minor}" for minor in PYTHONS))
    if abi == "abi3":
        return interpreter.startswith("cp3") and int(interpreter[3:] or 0) <= int(PYTHONS[-1])
    return any(interpreter == f"cp3{minor}" and abi in (f"cp3{minor}", "none") for minor in PYTHONS)


def _is_source(name: str, project: str, version: str) -> bool:
    try:
        found, its_version = parse_sdist_filename(name)
    except InvalidSdistFilename:
        return False
    return found == canonicalize_name(project) and its_version.public == version


def choose(files: Mapping[str, str], project: str, version: str) -> list[str]:
    """Hashes of the wheels of a version; of its source where it has no wheels."""
    chosen = [sha for name, sha in files.items() if fits(name, project, version)]
    return sorted(chosen or (sha for name, sha in files.items() if _is_source(name, project, version)))


def lines_of(project: str, version: str, hashes: Iterable[str]) -> str:
    """A requirement with its hashes, as pip reads it."""
    return " \\\n    ".join([f"{project}=={version}", *(f"--hash=sha256:{sha}" for sha in hashes)]) + "\n"


def pip_index() -> str:
    """The address of the index that pip is configured for, or its default, by what pip says of itself."""
    pip = [sys.executable, "-m", "pip"]
    told = subprocess.run([*pip, "config", "get", "global.index-url"], capture_output=True, text=True, check=False)
    if told.returncode == 0 and told.stdout.strip():
        return told.stdout.strip()
    if os.environ.get("PIP_INDEX_URL"):
        return os.environ["PIP_INDEX_URL"]
    helped = subprocess.run([*pip, "install", "--help"], capture_output=True, text=True, check=True).stdout
    found = DEFAULT_INDEX.search(helped)
    if found is None:
        raise SystemExit("pip does not say which index it uses; give --index URL")
    return found[1]


def read_page(index: str) -> Callable[[str], str]:
    """A reader of the index's page of a project."""
    context = ssl.create_default_context(cafile=os.environ.get("PIP_CERT"))

    def read(project: str) -> str:
        address = f"{index.rstrip('/')}/{project}/"
        request = urllib.request.Request(address, headers={"Accept": "text/html"})
        with urllib.request.urlopen(request, timeout=60, context=context) as answer:
            return str(answer.read().decode())

    return read


def local_files(folder: Path) -> dict[str, str]:
    """The wheels in a folder: name → SHA-256."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.glob("*.whl"))}


def write_locked(pins: Mapping[str, str], read: Callable[[str], str], more: Mapping[str, str], file: Path) -> list[str]:
    """Write the file; names of projects for which no file was found, which are left out."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        pages = dict(zip(pins, pool.map(read, pins), strict=True))
    found = {name: choose({**files_of(pages[name]), **more}, name, version) for name, version in pins.items()}
    parts = [lines_of(name, pins[name], hashes) for name, hashes in sorted(found.items()) if hashes]
    file.write_text(HEAD + "".join(parts), encoding="utf-8")
    return [name for name, hashes in found.items() if not hashes]


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m tools.pin_hashes", description="Writes locked.txt.")
    parser.add_argument("--index", default="", help="address of an index; default: pip's own")
    parser.add_argument("--wheels", type=Path, help="folder of wheels that are not in the index")
    options = parser.parse_args()
    more = {} if options.wheels is None else local_files(options.wheels)
    pins = read_pins()
    missing = write_locked(pins, read_page(options.index or pip_index()), more, FILE)
    print(f"{len(pins) - len(missing)} of {len(pins)} pins in {FILE.name}")
    if missing:
        raise SystemExit(f"no files of these versions: {', '.join(missing)}")


if __name__ == "__main__":
    main()
