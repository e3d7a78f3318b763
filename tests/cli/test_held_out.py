"""Runs on held-out seeds: the seeds come from files, and guests need the whole sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sidestep.cli import app
from sidestep.leaderboard.held_out import draw_seeds

SECRET = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    secret, commitment = tmp_path / "secret.txt", tmp_path / "core.json"
    secret.write_text(SECRET + "\n")
    commitment.write_text(json.dumps(draw_seeds(SECRET.encode(), "core", 2).as_json(revealed=False)))
    return ["--held-out", str(commitment), "--secret", str(secret)]


def invoke(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["run", *arguments])
    return result.exit_code, " ".join(result.output.split())


def test_the_seeds_are_those_of_the_secret(files: list[str], tmp_path: Path) -> None:
    code, output = invoke("core", "--policy", "stop", "--limit", "1", *files, "--out", str(tmp_path / "run"))
    assert code == 0, output
    plan = json.loads((tmp_path / "run" / "run.json").read_text())["plan"]
    assert tuple(plan["seeds"]) == draw_seeds(SECRET.encode(), "core", 2).seeds
    assert plan["isolation"]["sandbox"] == "require"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["core", "--seed", "3"], "leave out --seed"),
        (["core", "--repeat", "3"], "leave out --seed"),
        (["catalogue"], "suite 'core'"),
    ],
)
def test_what_does_not_fit_is_refused(arguments: list[str], words: str, files: list[str]) -> None:
    code, output = invoke(*arguments, "--policy", "stop", *files)
    assert code == 2
    assert words in output


def test_another_secret_is_refused(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("f" * 32)
    code, output = invoke("core", "--policy", "stop", *files)
    assert code == 2
    assert "not the secret" in output
    code, output = invoke("core", "--policy", "stop", *files[:2])
    assert code == 2
    assert "go together" in output
