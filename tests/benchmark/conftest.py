"""Fixtures of the benchmark's tests."""

from __future__ import annotations

import pytest

from sidestep.benchmark.executors import Serial


@pytest.fixture
def in_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything runs in this process, a user's policies too: for tests that are not about processes."""
    monkeypatch.setattr("sidestep.benchmark.runner.choose_executor", lambda *_: Serial())
    monkeypatch.setattr("sidestep.benchmark.verify.choose_executor", lambda *_: Serial())
