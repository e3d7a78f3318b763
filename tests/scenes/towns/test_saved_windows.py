"""Windows of towns that were made before are saved, and never trusted unseen."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import sidestep
from sidestep.scenes.towns import make, resolve_town

REFERENCE = "town:Alderwick@-30,-20,30,20"
OTHER = "town:Alderwick@-30,-20,30,25"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("SIDESTEP_CACHE", str(tmp_path))
    return tmp_path


@pytest.fixture
def saved(folder):
    resolve_town(REFERENCE)
    path = make.cache_file(REFERENCE)
    return path, path.read_bytes()


def made_again(monkeypatch, reference=REFERENCE):
    """The scene, and how often a town was asked for."""
    asked = []
    make_town = make.make_town
    monkeypatch.setattr(make, "make_town", lambda name: asked.append(name) or make_town(name))
    return resolve_town(reference), len(asked)


def test_a_saved_window_is_used_and_equal(saved, monkeypatch):
    scene, asked = made_again(monkeypatch)
    assert asked == 0
    assert scene == make.make_window(REFERENCE)


def damages(data: bytes):
    rng = np.random.default_rng(3)
    for size in (0, 1, 64, 65, 66, len(data) // 2, len(data) - 1):
        yield f"truncated to {size}", data[:size]
    for k in (0, 63, 64, 65, len(data) - 1, *rng.integers(66, len(data), 12).tolist()):
        yield f"bit flipped in byte {k}", data[:k] + bytes([data[k] ^ (1 << int(rng.integers(8)))]) + data[k + 1 :]
    yield "a digit changed", data.replace(b"7", b"8", 1)
    yield "something appended", data + b" "
    yield "without its first line", data.partition(b"\n")[2]


def test_a_damaged_file_is_made_again_and_replaced(saved, monkeypatch):
    path, whole = saved
    asked = []
    make_town = make.make_town
    monkeypatch.setattr(make, "make_town", lambda name: asked.append(name) or make_town(name))
    expected = make.make_window(REFERENCE)
    for what, damaged in damages(whole):
        path.write_bytes(damaged)
        asked.clear()
        assert resolve_town(REFERENCE) == expected, what
        assert len(asked) == 1, f"{what}: the damaged file was used"
        assert path.read_bytes() == whole, what


def test_the_file_of_another_window_is_not_used(saved, monkeypatch):
    _, data = saved
    make.cache_file(OTHER).write_bytes(data)
    scene, asked = made_again(monkeypatch, OTHER)
    assert asked == 1
    assert scene.name == OTHER


def test_other_sources_and_other_libraries_have_other_files(saved, monkeypatch):
    path, _ = saved
    for change in ("version", "source"):
        with monkeypatch.context() as patch:
            if change == "version":
                patch.setattr(make.shapely, "geos_version", (3, 99, 0))
            else:
                patch.setattr(make, "MODULES", (*make.MODULES, make))
            make._generator_hash.cache_clear()
            assert make.cache_file(REFERENCE) != path
    make._generator_hash.cache_clear()
    assert make.cache_file(REFERENCE) == path


def test_nothing_is_left_behind_when_nothing_can_be_written(folder, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(make.os, "replace", full)
    assert resolve_town(REFERENCE).regions
    assert not [path for path in folder.rglob("*") if path.is_file()]


def test_every_source_that_makes_towns_is_in_the_hash():
    """What the folder imports of this project, and what that imports, apart from messages of errors."""
    root = Path(sidestep.__file__).parent
    hashed = {*Path(make.__file__).parent.glob("*.py"), *(Path(module.__file__) for module in make.MODULES)}
    for path in hashed:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.module] if isinstance(node, ast.ImportFrom) and node.module else []
            names += [f"{node.module}.{alias.name}" for alias in node.names] if names else []
            names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            files = [root.parent.joinpath(*name.split(".")).with_suffix(".py") for name in names]
            used = {file for file in files if file.is_file() and file.is_relative_to(root)}
            assert used - {root / "errors.py", root / "types/explain.py"} <= hashed, path
