"""``sidestep render SCENE``: a scene alone, from above."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from typer.testing import CliRunner

from sidestep.cli.app import app

PLACES = Path(__file__).parents[2] / "src/sidestep/scenes/places/data"


@pytest.mark.parametrize(
    "scene", ["lobby", pytest.param(str(PLACES / "kettlegate.osm"), marks=pytest.mark.full), "place:piper-parade"]
)
def test_plans_files_and_places(scene: str, tmp_path: Path) -> None:
    out = tmp_path / "scene.png"
    done = CliRunner().invoke(app, ["render", scene, "--out", str(out), "--json"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["regions"] > 10
    picture = np.asarray(Image.open(out))
    assert max(picture.shape[:2]) == 1000
    assert len(np.unique(picture.reshape(-1, 3), axis=0)) > 20


def test_axes_make_room_for_coordinates(tmp_path: Path) -> None:
    plain, axes = tmp_path / "plain.png", tmp_path / "axes.png"
    for file, more in ((plain, []), (axes, ["--axes"])):
        done = CliRunner().invoke(app, ["render", "lobby", "--size", "400x300", "--out", str(file), *more])
        assert done.exit_code == 0, done.output
    assert Image.open(plain).size == (400, 300)
    assert Image.open(axes).size[0] > 400


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["core"], "`sidestep list scenarios --suite core`"),
        (["lobbby"], "did you mean 'lobby'"),
        (["core", "plaza", "--axes"], "--axes is for a scene alone"),
        (["lobby", "--size", "big"], "WIDTHxHEIGHT"),
    ],
)
def test_what_is_refused(arguments: list[str], message: str, tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["render", *arguments, "--out", str(tmp_path / "x.png")])
    assert done.exit_code == 2
    assert message in done.output
    assert "picture is a .png" in CliRunner().invoke(app, ["render", "lobby", "--out", str(tmp_path / "x.gif")]).output


def test_render_as_the_policy_sees_it(tmp_path: Path) -> None:
    """140° wide, cropped and reduced to 200 × 88; with other vehicles where the suite is asked for them."""
    scenario = "scene4-pose0-straight"
    pictures = {}
    for name, options in (("alone", []), ("among", ["--set", "vehicles=true"])):
        out = tmp_path / f"{name}.png"
        common = ["--camera", "policy", "--picture", "semantic", "--set", "people=none", "--out", str(out)]
        result = CliRunner().invoke(app, ["render", "intersection", scenario, *common, *options])
        assert result.exit_code == 0, result.output
        pictures[name] = np.asarray(Image.open(out))
        assert pictures[name].shape == (88, 200, 3)
    vehicle = np.array([0x2B, 0x59, 0xC3])
    assert not (pictures["alone"] == vehicle).all(axis=2).any()
    assert (pictures["among"] == vehicle).all(axis=2).any()


def test_the_policys_camera_stands_alone_and_settings_need_a_scenario(tmp_path: Path) -> None:
    out = str(tmp_path / "a.png")
    for extra in (["--size", "64x48"], ["--camera", "top"]):
        result = CliRunner().invoke(
            app, ["render", "intersection", "scene4-pose0-straight", "--camera", "policy", *extra, "--out", out]
        )
        assert result.exit_code == 2
        assert "leave out --size" in result.output
    result = CliRunner().invoke(app, ["render", "intersection:intersectnav_0", "--set", "people=none", "--out", out])
    assert result.exit_code == 2
    result = CliRunner().invoke(
        app, ["render", "intersection", "scene4-pose0-straight", "--set", "peple=none", "--out", out]
    )
    assert result.exit_code == 2
    assert "peple" in result.output
