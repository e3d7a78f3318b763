"""Windows of towns that were made before, kept in the user's cache: making a town takes a second or two.

The folder is named after a hash of everything that makes towns, so what is kept is never out of date. A file that
cannot be read is made again; where nothing can be written, nothing is kept.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path

import platformdirs
from pydantic import ValidationError

from sidestep.types.scene import SceneSpec

LARGEST = 400_000
"""Characters: larger scenes (whole towns) are not kept."""


@cache
def _folder() -> Path:
    sources = hashlib.sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        sources.update(path.read_bytes())
    base = os.environ.get("SIDESTEP_CACHE") or platformdirs.user_cache_dir("sidestep", appauthor=False)
    return Path(base) / "towns" / sources.hexdigest()[:16]


def _file(reference: str) -> Path:
    return _folder() / f"{hashlib.sha256(reference.encode()).hexdigest()[:24]}.json"


def read_kept(reference: str) -> SceneSpec | None:
    """The scene that was kept under this name."""
    try:
        scene = SceneSpec.model_validate_json(_file(reference).read_bytes())
    except (OSError, ValidationError, ValueError):
        return None
    return scene if scene.name == reference else None


def keep(reference: str, scene: SceneSpec) -> SceneSpec:
    """Keep the scene if it can be, and give it back."""
    text = scene.model_dump_json()
    if scene.name == reference and len(text) <= LARGEST:
        with suppress(OSError):
            path = _file(reference)
            path.parent.mkdir(parents=True, exist_ok=True)
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, suffix=".part")
            with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                file.write(text)
            os.replace(temporary, path)
    return scene
