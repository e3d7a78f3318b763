"""Names that pages mention exist: modules, classes and functions of Sidestep, and files of the repository."""

from __future__ import annotations

import importlib
import re
from pathlib import Path
from typing import get_args

import pytest

from sidestep.registry import Kind
from tests.extras.table import PAGES

ROOT = Path(__file__).resolve().parents[2]
NAME = re.compile(r"\bsidestep(?:\.[A-Za-z_]\w*)+")
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|json|yaml|npz|toml|c|md))(?:::\w+)?`")
FOLDERS = [ROOT / folder for folder in ("", "src", "src/sidestep", "docs", "tests", "src/sidestep/studies")]
OTHERS = {"sidestep.sh", "sidestep.json", "sidestep.tracks", "sidestep.scenario", "sidestep.checksum", "sidestep.png"}
"""Keys in files and names of files, not of modules."""
ELSEWHERE = {"path/to/file.py", "DIR/films.md"}
"""Stand for files of the reader."""


def exists(name: str) -> bool:
    """Whether a dotted name is a module, or an attribute of one, or a group of entry points."""
    parts = name.split(".")
    if parts[1] in get_args(Kind) and len(parts) == 2:
        return True
    for length in range(len(parts), 0, -1):
        try:
            thing: object = importlib.import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        try:
            for part in parts[length:]:
                thing = getattr(thing, part)
        except AttributeError:
            fields = getattr(thing, "__dataclass_fields__", None) or getattr(thing, "model_fields", {})
            return parts[-1] in fields
        return True
    return False


@pytest.mark.parametrize("page", PAGES)
def test_names_on_pages_exist(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    names = {found for found in NAME.findall(text) if found not in OTHERS}
    assert [name for name in sorted(names) if not exists(name)] == []


@pytest.mark.parametrize("page", PAGES)
def test_files_on_pages_exist(page: str) -> None:
    named = set(FILE.findall((ROOT / page).read_text(encoding="utf-8"))) - ELSEWHERE
    missing = [
        name for name in named if not name.startswith("out/") and not any((at / name).exists() for at in FOLDERS)
    ]
    assert sorted(missing) == []


def test_a_name_that_is_gone_is_found() -> None:
    assert exists("sidestep.types.Scenario")
    assert not exists("sidestep.types.gestures")
    assert not exists("sidestep.interfaces.RoadUser")
