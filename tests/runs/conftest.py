"""Fixtures of the benchmark's tests."""

from __future__ import annotations

import pytest

from sidestep.runs.executors import Serial


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything runs in this process, a user's policies too: for tests that are not about processes."""
    monkeypatch.setattr("sidestep.runs.runner.choose_executor", lambda *_: Serial())
    monkeypatch.setattr("sidestep.runs.verify.choose_executor", lambda *_: Serial())
