"""Plug-in packages on ``sys.path``, announced by a ``.dist-info`` folder as pip would write it."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest

from sidestep import registry

PACKAGE = Path(__file__).parent / "package"
Announce = Callable[[Mapping[str, Mapping[str, str]]], None]


@pytest.fixture
def announce(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Announce]:
    """Makes entry points known: group → name → ``module:attribute``."""

    def write(groups: Mapping[str, Mapping[str, str]]) -> None:
        info = tmp_path / "announced-0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: announced\nVersion: 0\n")
        lines = [
            f"[{group}]\n" + "".join(f"{n} = {v}\n" for n, v in points.items()) for group, points in groups.items()
        ]
        (info / "entry_points.txt").write_text("\n".join(lines))
        monkeypatch.syspath_prepend(tmp_path)
        registry.table.cache_clear()

    yield write
    monkeypatch.undo()
    registry.table.cache_clear()


@pytest.fixture
def example(announce: Announce, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The example package, as if it were installed."""
    monkeypatch.syspath_prepend(PACKAGE / "src")
    announce(tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]["entry-points"])
    yield
    for name in [name for name in sys.modules if name.startswith("sidestep_example_plugin")]:
        del sys.modules[name]
