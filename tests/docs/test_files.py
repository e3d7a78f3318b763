"""Files that pages mention exist in the repository."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import pytest

from tests.extras.table import PAGES

ROOT = Path(__file__).resolve().parents[2]
FILE = re.compile(r"`((?:[\w.-]+/)+[\w.-]+\.(?:py|json|yaml|npz|toml|c|md))(?:::\w+)?`")
MODULE = re.compile(r"`([\w-]+\.py)`")
FOLDERS = [ROOT / folder for folder in ("", "src", "src/sidestep", "docs", "tests", "src/sidestep/studies")]
"""Pages name files from one of these."""
OF_THE_READER = {"path/to/file.py", "DIR/films.md"}
EXAMPLES = {"joystick_client.py", "my_policy.py", "my_predictor.py"}
"""Python files of other programs, and those that pages write."""


def missing_files(text: str) -> list[str]:
    named = sorted(set(FILE.findall(text)) - OF_THE_READER)
    missing = [name for name in named if not any((folder / name).exists() for folder in FOLDERS)]
    known = modules()
    missing += sorted({name for name in MODULE.findall(text) if name not in known | EXAMPLES})
    return [name for name in missing if not name.startswith("out/")]


@cache
def modules() -> frozenset[str]:
    """Names of all Python files of the repository."""
    folders = ("src", "tests", "tools", "benchmarks", "examples")
    return frozenset(path.name for folder in folders for path in (ROOT / folder).rglob("*.py"))


@pytest.mark.parametrize("page", PAGES)
def test_files_on_pages_exist(page: str) -> None:
    assert missing_files((ROOT / page).read_text(encoding="utf-8")) == []


def test_a_file_that_is_gone_is_found() -> None:
    assert missing_files("`kernels/world.py` and `learn/cadrl.py`, `tests/docs/test_site.py::build`") == [
        "learn/cadrl.py"
    ]
