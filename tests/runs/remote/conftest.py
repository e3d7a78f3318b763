"""The suite's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.remote.worlds import SUITE


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A file with three small scenarios."""
    path = tmp_path / "small.yaml"
    path.write_text(SUITE)
    return path
