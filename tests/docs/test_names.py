"""Every dotted name of Sidestep in a docstring or on a page exists: modules, classes, functions, attributes.

Checked are ``sidestep.x.y`` and ``sidestep.x:Class`` anywhere, and in docstrings of the package also names that begin
with one of its packages, such as ``kernels.layout``.
"""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest

import sidestep
from sidestep.errors import MissingExtra
from sidestep.registry import Kind

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "sidestep"
SOURCES = sorted(
    path for folder in ("src", "tools", "benchmarks", "examples") for path in (ROOT / folder).rglob("*.py")
)
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), *ROOT.glob("*.md")])
HISTORY = "CHANGELOG.md"
"""A page that names what was once there."""

WORD = r"[A-Za-z_]\w*"
FULL = re.compile(rf"(?<![\w./-])sidestep(?:\.{WORD})+(?::{WORD}(?:\.{WORD})*(?![\w/]))?")
TOP = sorted({path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").is_file()})
SHORT = re.compile(rf"(?<=[`~])(?:{'|'.join(name for name in TOP if not name.startswith('__'))})(?:\.{WORD})+(?=[`(])")
FILES = frozenset(
    {"css", "csv", "db", "html", "json", "jsonl", "md", "mp4", "onnx", "parquet", "pdf", "py", "yaml", "zip"}
)
"""Last parts of file names, such as ``report.html``."""
GROUPS = frozenset(f"sidestep.{kind}" for kind in get_args(Kind))
"""Groups of entry points."""
KEYS = frozenset({"sidestep.checksum", "sidestep.scenario", "sidestep.tracks"})
"""Keys in the metadata of files."""


def docstrings(path: Path) -> Iterator[str]:
    """Docstrings of a module, and of everything in it; texts below a field count."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node.value.value


def names_in(text: str, patterns: tuple[re.Pattern[str], ...]) -> set[str]:
    """Dotted names, without those of files, of groups of entry points and of keys."""
    found = {match for pattern in patterns for match in pattern.findall(text)}
    return {name for name in found if name.rpartition(".")[2] not in FILES and name not in GROUPS | KEYS}


@cache
def exists(name: str) -> bool:
    """Whether a dotted name leads to a module, or to a member of one."""
    parts = name.replace(":", ".").split(".")
    if parts[0] != "sidestep":
        parts.insert(0, "sidestep")
    thing: Any = sidestep
    for k, part in enumerate(parts[1:], 2):
        try:
            thing = importlib.import_module(".".join(parts[:k]))
        except MissingExtra:
            return True  # which names are there cannot be known without the extra
        except ModuleNotFoundError:
            if not has_member(thing, part):
                return False
            thing = getattr(thing, part, None)
    return True


def has_member(thing: Any, name: str) -> bool:
    """Whether a module, class or object has a member: also a field without a value."""
    kinds = thing.__mro__ if isinstance(thing, type) else [thing]
    return hasattr(thing, name) or any(name in getattr(kind, "__annotations__", {}) for kind in kinds)


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_names_in_docstrings_exist(path: Path) -> None:
    patterns = (FULL, SHORT) if path.is_relative_to(PACKAGE) else (FULL,)
    names = names_in("\n".join(docstrings(path)), patterns)
    assert [name for name in sorted(names) if not exists(name)] == []


@pytest.mark.parametrize(
    "path", [path for path in PAGES if path.name != HISTORY], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_names_on_pages_exist(path: Path) -> None:
    names = names_in(path.read_text(encoding="utf-8"), (FULL,))
    assert [name for name in sorted(names) if not exists(name)] == []


def test_what_exists() -> None:
    for name in ("sidestep.run", "sidestep.interfaces:Policy.act", "kernels.layout", "sidestep.types.Task.robot"):
        assert exists(name)
    for name in ("sidestep.make", "interfaces.RoadUser", "types.gestures", "sidestep.types.Task.wheels"):
        assert not exists(name)
    text = "``kernels.layout`` of `sidestep.gym.batch` in model.sidestep.json, `report.html`, group sidestep.policies"
    text += ", `sidestep.gym:sidestep/Crossing-v0`"
    assert names_in(text, (FULL, SHORT)) == {"kernels.layout", "sidestep.gym.batch", "sidestep.gym"}
