"""Films and stills from the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from sidestep.render.films.film import read_about
from tests.cli.conftest import document
from tests.needs import reason_missing

Call = Any

WORSE = """
summary: one that goes well, one that does not
defaults:
  robots: [{start: [0, 0, 0], goal: [1, 0]}]
  rules: {time_limit_s: 2}
scenarios:
  - {name: fine, crowd: [{model: static, people: [{start: [0, 3]}]}]}
  - {name: near, crowd: [{model: static, people: [{start: [0.5, 0.55]}]}]}
  - {name: touched, crowd: [{model: static, sees_robot: false, people: [{start: [0.6, 0.1]}]}]}
"""


@pytest.fixture
def worse(suite: str) -> str:
    Path("worse.yaml").write_text(WORSE)
    return "worse.yaml"


def films() -> dict[str, int]:
    return {path.name: path.stat().st_mtime_ns for path in Path("r/videos").rglob("*") if path.is_file()}


def test_a_run_films_worst_and_best_and_does_not_film_again(worse: str, call: Call) -> None:
    pytest.importorskip("av", reason=reason_missing("av"))
    command = ["run", worse, "--policy", "straight", "--camera", "top", "--out", "r"]
    result = call(*command, "--video", 1)
    assert result.exit_code == 0, result.output
    first = films()
    assert set(first) == {"touched__seed0.mp4"}
    assert call(*command, "--video", 2).exit_code == 0
    second = films()
    assert set(second) == {"touched__seed0.mp4", "fine__seed0.mp4"}
    assert second["touched__seed0.mp4"] == first["touched__seed0.mp4"]
    assert "cameras=top" in read_about(next(Path("r/videos").rglob("touched*")))
    other = call("run", worse, "--policy", "straight", "--camera", "above", "--video", 1, "--out", "r")
    assert other.exit_code == 0
    assert films()["touched__seed0.mp4"] != first["touched__seed0.mp4"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--camera", "top"], "give --video K too"),
        (["--video", 1, "--camera", "frist"], "did you mean 'first'"),
        (["--video", 1, "--picture", "rgb,dept"], "did you mean 'depth'"),
    ],
)
def test_what_cannot_be_filmed_is_not_run(worse: str, call: Call, options: list[Any], message: str) -> None:
    result = call("run", worse, "--policy", "straight", "--out", "r", *options)
    assert result.exit_code == 2
    assert message in result.stderr
    assert not Path("r").exists()


def test_replay_films_with_several_cameras(worse: str, call: Call) -> None:
    call("run", worse, "--policy", "straight", "--limit", 1, "--out", "r")
    [record] = Path("r/episodes").rglob("*.parquet")
    look = ["--camera", "first,chase", "--camera", "top", "--picture", "rgb,depth", "--size", "48x32"]
    result = call("replay", record, "--video", "film.gif", *look, "--json")
    assert result.exit_code == 0, result.output
    assert document(result)["record"]["files"] == ["film.gif"]
    assert Image.open("film.gif").size == (144, 64 + 28)
    for arguments, message in (
        (["--camera", "first"], "give --video FILE too"),
        (["--video", "film.avi"], "an .mp4 or a .gif"),
        (["--video", "x.gif", "--size", "big"], "WIDTHxHEIGHT"),
    ):
        result = call("replay", record, *arguments)
        assert result.exit_code == 2
        assert message in result.stderr


def test_render(worse: str, call: Call) -> None:
    result = call("render", worse, "near", "--out", "s.png", "--camera", "first,chase", "--size", "48x32", "--json")
    assert result.exit_code == 0, result.output
    assert document(result)["source"] == "generated"
    assert Image.open("s.png").size == (96, 32)
    for arguments, message in (
        ([], "Missing argument"),
        ([worse, "near"], "Missing option '--out'"),
        ([worse, "nera", "--out", "s.png"], "did you mean 'near'"),
        ([worse, "near", "--out", "x.gif"], ".png or .jpg"),
    ):
        result = call("render", *arguments)
        assert result.exit_code == 2
        assert message in result.stderr
