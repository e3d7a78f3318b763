"""Boards of quick runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sidestep.leaderboard.site import Board, Settings, write_board
from sidestep.runs.executors import Serial

Build = Callable[..., Board]


@pytest.fixture(autouse=True)
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything runs in this process."""
    monkeypatch.setattr("sidestep.runs.runner.choose_executor", lambda *_: Serial())


@pytest.fixture
def build(tmp_path: Path) -> Build:
    def build_board(*packs: Path, **changes: Any) -> Board:
        held_out = changes.pop("held_out", ())
        chosen = {"reports": False, "verify": 0, "need_rerun": False} | changes
        return write_board(packs, tmp_path / "site", Settings(**chosen), held_out)

    return build_board
