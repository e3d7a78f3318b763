"""Town names in scenario files: ``town:NAME``, ``town:NAME@x0,y0,x1,y1`` and ``town:NAME/long/NUMBER``.

Making a town takes a second or two, so windows are saved in the user's cache (``SIDESTEP_CACHE``, else the system's
folder). A file's name is a hash of everything that decides what is in it: the sources that make towns, the versions of
the libraries that they call, and the reference. Its first line is a hash of its contents, so that a truncated, damaged
or renamed file is noticed, made again and replaced. Where nothing can be written, nothing is saved.
"""

from __future__ import annotations

import hashlib
import os
import re
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import networkx as nx
import numpy as np
import platformdirs
import scipy
import shapely
from pydantic import ValidationError

import sidestep.exact
import sidestep.scenes.walkways
import sidestep.types.base
import sidestep.types.scene
from sidestep.errors import BadInput
from sidestep.scenes.towns.make import make_town
from sidestep.scenes.towns.town import long_scene
from sidestep.types.scene import SceneSpec

PREFIX = "town:"
LARGEST = 400_000
"""Characters: larger scenes (whole towns) are not saved."""
MODULES = (sidestep.exact, sidestep.scenes.walkways, sidestep.types.base, sidestep.types.scene)
"""Beside those of this folder, the sources on which windows depend. No kernel is among them."""


def resolve_town(reference: str) -> SceneSpec:
    """The window of a town that ``reference`` names; without a box the whole town."""
    scene = _load(reference)
    if scene is None:
        scene = _make(reference)
        _save(reference, scene)
    return scene


def _make(reference: str) -> SceneSpec:
    name, at, box = reference.removeprefix(PREFIX).partition("@")
    name, long, number = name.partition("/long/")
    seed = re.fullmatch(r"town-([0-9]{1,9})", name)
    town = make_town(int(seed[1]) if seed else name)
    if long:
        if not re.fullmatch(r"[0-9]{1,9}", number):
            raise BadInput(f"scene {reference:.80}: a long route is town:NAME/long/NUMBER, got {number!r:.40}")
        return long_scene(town, int(number))
    if not at:
        return town.window()
    try:
        x0, y0, x1, y1 = (float(value) for value in box.split(","))
    except ValueError:
        raise BadInput(f"scene {reference:.80}: a window is town:NAME@x0,y0,x1,y1 in metres, got {box!r:.80}") from None
    return town.window((x0, y0, x1, y1))


@cache
def _generator_hash() -> str:
    """Of the sources that make towns and the versions of the libraries that they call."""
    files = [*Path(__file__).parent.glob("*.py"), *(Path(str(module.__file__)) for module in MODULES)]
    found = hashlib.sha256()
    for path in sorted(files):
        found.update(f"{path.parent.name}/{path.name}".encode() + path.read_bytes())
    versions = (sys.version_info[:2], np.__version__, scipy.__version__, shapely.__version__, shapely.geos_version)
    found.update(repr((versions, nx.__version__)).encode())
    return found.hexdigest()


def cache_file(reference: str) -> Path:
    """Where the window is saved."""
    base = os.environ.get("SIDESTEP_CACHE") or platformdirs.user_cache_dir("sidestep", appauthor=False)
    name = hashlib.sha256(f"{_generator_hash()} {reference}".encode()).hexdigest()[:32]
    return Path(base) / "towns" / _generator_hash()[:16] / f"{name}.json"


def _checksum(reference: str, text: bytes) -> bytes:
    return hashlib.sha256(f"{_generator_hash()} {reference}\n".encode() + text).hexdigest().encode()


def _load(reference: str) -> SceneSpec | None:
    """The saved window; None if there is none, or not one that was saved whole under this name."""
    try:
        checksum, _, text = cache_file(reference).read_bytes().partition(b"\n")
    except OSError:
        return None
    if checksum != _checksum(reference, text):
        return None
    try:
        return SceneSpec.model_validate_json(text)
    except ValidationError:
        return None


def _save(reference: str, scene: SceneSpec) -> None:
    """Write the window if it is small enough; a reader sees the old file or the new one, never a part."""
    text = scene.model_dump_json().encode()
    if scene.name != reference or len(text) > LARGEST:
        return
    path = cache_file(reference)
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(descriptor, "wb") as file:
            file.write(_checksum(reference, text) + b"\n" + text)
        os.replace(temporary, path)
    except OSError:
        with suppress(OSError):
            os.unlink(temporary)
