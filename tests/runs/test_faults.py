"""Killed at any moment, or on a full disk: a run resumes with no episode lost, doubled or half-written, and its digests
are those of a run that nothing happened to (``faults`` does the killing and the checks)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="only on Linux: forks, and looks for processes in /proc"
)


def campaign(name: str, folder: Path, number: int, seed: int = 1) -> dict[str, Any]:
    command = [sys.executable, "-m", "tests.runs.faults", name, str(folder), str(number), str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=1800)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_killed_before_every_file_operation(tmp_path: Path) -> None:
    assert 20 <= campaign("points", tmp_path, 60)["points"] < 60


def test_killed_with_half_a_file_written(tmp_path: Path) -> None:
    """Two records, ``running.json``, and ``run.json`` at the begin and end."""
    assert campaign("torn", tmp_path, 20)["points"] == 5


def test_a_full_disk_at_every_file_operation(tmp_path: Path) -> None:
    """Refused with the file and what to do."""
    found = campaign("full", tmp_path, 60)
    assert found["points"] >= 15
    assert all("free some space" in text for text in found["messages"])
    named = " ".join(found["messages"])
    assert all(
        f"{name}: cannot be written" in named for name in ("run.json", "alone__seed0.parquet", "results.parquet")
    )


@pytest.mark.full
def test_ten_random_kills(tmp_path: Path) -> None:
    assert sum(campaign("random", tmp_path, 10)["kills"].values()) >= 10


@pytest.mark.full
def test_two_hundred_random_kills(tmp_path: Path) -> None:
    """Of every kind of process."""
    kills = campaign("random", tmp_path, 200, seed=2)["kills"]
    assert sum(kills.values()) >= 200
    assert kills.keys() == {"driver", "worker", "guest"}
