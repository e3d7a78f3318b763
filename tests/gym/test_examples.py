"""The example that trains on a suite runs, and what it saves runs in the benchmark."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.needs import reason_missing

pytest.importorskip("stable_baselines3", reason=reason_missing("stable_baselines3"))

import sidestep
from sidestep.cli.app import app

EXAMPLE = Path(__file__).parents[2] / "examples" / "train_suite.py"


def test_train_suite(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    chosen = ["--suite", "catalogue", "--scenarios", "narrow-*", "frontal-approach"]
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), *chosen, "--envs", "4", "--steps", "512", "--out", "model.zip"])
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    words = ["run", "catalogue", "--scenario", "narrow-*", "--policy", "ppo=sb3:model.zip", "--out", "out"]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    records = list(sidestep.load_run("out").records())
    assert len(records) == 2
    assert not any(record.error for record in records)
