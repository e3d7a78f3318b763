"""The verb ``data``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import Result

from tests.cli.conftest import document
from tests.datasets.conftest import needs_recordings, user_data, write

__all__ = ["user_data"]

Call = Callable[..., Result]

TWO = "\n".join(["# rate_hz: 1", *(f"{t} 1 {t} 0" for t in range(11)), *(f"{t} 2 {2 * t} 1" for t in range(11))])


@pytest.fixture(autouse=True)
def _own_folder(user_data: Any) -> None:
    """No test touches the user's recordings."""


def test_info(tmp_path: Path, call: Call) -> None:
    """Two people 10 s long at 1 and 2 m/s in a box of 20 m × 1 m: 30 m in 20 s; 2 people on 20 m²."""
    (tmp_path / "t.txt").write_text(TWO)
    info = document(call("data", "info", tmp_path / "t.txt", "--json"))["info"]
    assert set(info) >= {
        "people", "duration_s", "rate_hz", "mean_speed_mps", "mean_density", "groups", "format", "source",
        "licence", "warnings",
    }  # fmt: skip
    assert (info["people"], info["duration_s"], info["rate_hz"], info["format"]) == (2, 10.0, 1.0, "plain")
    assert info["mean_speed_mps"] == pytest.approx(1.5)
    assert info["mean_density"] == pytest.approx(0.1)
    shown = call("data", "info", tmp_path / "t.txt")
    assert shown.exit_code == 0
    assert "mean_speed_mps  1.5" in shown.stdout


def test_bad_input_ends_with_2_and_a_remedy(tmp_path: Path, call: Call) -> None:
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "words.txt").write_text("hello\n")
    for arguments, words in (
        (("info", tmp_path / "none.txt"), "neither a file nor the name of a recording"),
        (("info", tmp_path), "is a folder"),
        (("info", tmp_path / "empty.txt"), "is empty"),
        (("info", tmp_path / "words.txt"), "--format"),
        (("info", write(tmp_path, "socnavbench")), "--rate-hz"),
        (("info", "eth-biwi"), "data get eth-biwi"),
        (("info", tmp_path / "s.csv", "--format", "socnavbnch"), "did you mean 'socnavbench'"),
        (("add", tmp_path / "s.csv"), "--rate-hz"),
        (("get", "eth-bivi"), "did you mean 'eth-biwi'"),
        (("get", "socnavbench-eth"), "no public address is known to the project"),
        (("convert", tmp_path / "s.csv", tmp_path / "out.xyz"), "--to plain"),
        (("convert", tmp_path / "s.csv", tmp_path, "--to", "plain"), "is a folder"),
    ):
        result = call("data", *arguments)
        assert result.exit_code == 2, arguments
        assert words in result.stderr, arguments
        assert not result.stdout, arguments


def test_add_then_use_by_name(tmp_path: Path, call: Call) -> None:
    path = write(tmp_path, "socnavbench")
    added = document(call("data", "add", path, "--name", "mine", "--rate-hz", 2, "--json"))["dataset"]
    assert (added["name"], added["people"], added["known"], added["already"]) == ("mine", 2, False, False)
    assert Path(added["path"]).is_file()
    info = document(call("data", "info", "mine", "--json"))["info"]
    assert (info["rate_hz"], info["format"]) == (2.0, "socnavbench")
    rows = document(call("data", "list", "--json"))["datasets"]
    assert [row["name"] for row in rows if row["installed"]] == ["mine"]
    assert "socnavbench-univ" in {row["name"] for row in rows}
    assert "mine" in call("data", "list").stdout
    assert "was installed already" in call("data", "add", path, "--name", "mine", "--rate-hz", 2).stdout


@pytest.mark.parametrize(("file", "to"), [("o.txt", "plain"), ("o.parquet", "sidestep"), ("o.ndjson", "trajnet")])
def test_convert(tmp_path: Path, call: Call, file: str, to: str) -> None:
    path = write(tmp_path, "biwi")
    (tmp_path / "groups.txt").write_text("1 2\n")
    result = document(call("data", "convert", path, tmp_path / file, "--json"))["converted"]
    assert result["from"] == "biwi"
    assert result["to"] == to
    assert ("groups" in result["lost"]) == (to == "trajnet")
    before = document(call("data", "info", path, "--json"))["info"]
    after = document(call("data", "info", tmp_path / file, "--json"))["info"]
    assert after["format"] == to
    same = ["people", "duration_s", "rate_hz", "mean_speed_mps"] + (["groups", "source"] if to != "trajnet" else [])
    for key in same:
        assert after[key] == pytest.approx(before[key]) if isinstance(after[key], float) else after[key] == before[key]


def test_every_help_page(call: Call) -> None:
    for verb in ("list", "get", "add", "info", "convert"):
        assert call("data", verb, "--help").exit_code == 0


@needs_recordings
def test_a_wrong_clock_is_flagged(call: Call, recordings: Path) -> None:
    path = recordings / "eth_biwi" / "seq_eth" / "obsmat.txt"
    right = document(call("data", "info", path, "--json"))["info"]
    assert (right["people"], right["groups"], right["format"]) == (360, 58, "biwi")
    assert not any("clock" in warning for warning in right["warnings"])
    wrong = document(call("data", "info", path, "--rate-hz", 25, "--json"))["info"]
    assert any("clock" in warning and "1.67 times" in warning for warning in wrong["warnings"])


@pytest.fixture(scope="session")
def recordings() -> Path:
    """The first folder of recordings."""
    import os

    return Path(os.environ["SIDESTEP_DATA"].split(os.pathsep)[0])
