"""``sidestep pack``, ``verify``, ``score``, ``report``, ``compare`` and ``board`` on real episodes of a small suite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from sidestep.cli import app
from tests.cli.conftest import SUITE
from tests.leaderboard.packing import members_of, tampered

POLICY = """
from sidestep.types import Velocity


class Ahead:
    needs = frozenset({"goal"})

    def reset(self, task):
        pass

    def act(self, observation):
        return Velocity(0.5, 0.0)
"""


def sidestep(*arguments: object, code: int = 0) -> Any:
    """The JSON document that a command prints."""
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exit_code == code, done.output
    return json.loads(done.stdout) if done.exit_code in (0, 1) else done.stderr


@pytest.fixture(scope="module")
def pack(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed")
    (folder / "small.yaml").write_text(SUITE)
    (folder / "own.py").write_text(POLICY)
    policies = ("--policy", "straight", "--policy", f"own={folder / 'own.py'}:Ahead")
    sidestep("run", folder / "small.yaml", *policies, "--out", folder / "run")
    sidestep("pack", "keygen", folder / "key")
    packed = sidestep("pack", folder / "run", "--out", folder / "first.pack", "--sign", folder / "key")
    assert (packed["episodes"], packed["sources"], packed["left_out"]) == (6, ["own"], [])
    return folder / "first.pack"


def test_a_stranger_checks_it(pack: Path) -> None:
    found = sidestep("verify", pack, "--key", f"{pack.parent / 'key'}.pub")
    assert (found["checked"], found["equal"], found["first_difference"]) == (3, 3, None)
    assert [each["policy"] for each in found["pack"]["not_checked"]] == ["own"]
    assert found["pack"]["same_code"] is True
    assert sidestep("verify", pack, "--trust", "--sample", 4)["equal"] == 4
    told = CliRunner().invoke(app, ["verify", str(pack), "--sample", "0"]).stdout
    assert "6 of 6 episodes" in told


def test_a_tampered_pack_fails(pack: Path) -> None:
    dropped = tampered(pack, {"episodes/straight/alone__seed0.parquet": None, "signature.json": None})
    found = sidestep("verify", dropped, "--sample", 0, code=1)
    assert {each["kind"] for each in found["pack"]["problems"]} == {"missing", "results"}
    changed = tampered(pack, {"run.json": b"{}"}, resummed=False)
    assert "'run.json' does not match its hash" in sidestep("verify", changed, code=2)


def test_it_stands_for_the_run(pack: Path, tmp_path: Path) -> None:
    scored = sidestep("score", pack)
    assert scored["run"] == str(pack)
    assert scored["policies"] == sidestep("score", pack.parent / "run")["policies"]
    compared = sidestep("compare", pack)
    assert compared["runs"] == [str(pack)]
    [ranking] = compared["ranking"].values()
    assert {each["label"] for each in ranking["metrics"]["success"]} == {"straight", "own"}
    sidestep("report", pack, "--out", tmp_path / "report.html")
    assert (tmp_path / "report.html").stat().st_size > 100_000


def test_a_board_of_it(pack: Path, tmp_path: Path) -> None:
    drawn = sidestep("board", "seeds", "--secret", tmp_path / "secret", "--suite", "small", "--count", 1)
    commitment = tmp_path / "commitment.json"
    sidestep(
        "board", "seeds", "--secret", tmp_path / "secret", "--suite", "small", "--count", 1, "--out", commitment
    )  # fmt: skip
    first = drawn["seeds"][0]
    sidestep("run", pack.parent / "small.yaml", "--policy", "straight", "--seed", first, "--out", tmp_path / "run")
    sidestep("pack", tmp_path / "run", "--out", tmp_path / "held.pack")
    board = sidestep(
        "board", pack, tmp_path / "held.pack", "--out", tmp_path / "site", "--verify", 1, "--no-reports",
        "--held-out", commitment, "--secret", tmp_path / "secret",
    )  # fmt: skip
    tracks = {group["track"]: group for group in board["suites"]["small"]}
    assert [each["label"] for each in tracks["held-out"]["entries"]] == ["straight"]
    levels = {each["label"]: each["verified"]["level"] for each in tracks["open"]["entries"]}
    assert levels == {"straight": "run again"}
    [own] = board["unranked"]
    assert (own["label"], own["verified"]["level"]) == ("own", "scored again")
    assert "not run again (it is the author's own code" in own["reasons"][0]
    assert (tmp_path / "site" / "index.html").is_file()


def test_options_that_make_no_sense(pack: Path) -> None:
    assert "are for packs" in sidestep("verify", pack.parent / "run", "--trust", code=2)
    assert "no such pack" in sidestep("board", pack.parent / "absent.pack", "--out", pack.parent / "x", code=2)
    assert set(members_of(pack)) >= {"signature.json", "sources/own/own.py"}
