"""The contact sheet: all stills are there, none is empty, and who is promised is seen."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from sidestep.errors import BadInput
from sidestep.render.mesh import Semantic
from sidestep.render.people.skeleton import GESTURES
from sidestep.render.world_view import ROBOT_IDS
from sidestep.simulation.robots import robot_names
from tools import contact_sheet
from tools.contact_sheet import Still, load_sheet

SIZE = (96, 64)
STILLS = load_sheet().stills
NEAREST_M = 1.5
"""Nobody stands closer before the lens."""


@pytest.mark.parametrize("number", range(24))
def test_a_still_shows_what_it_promises(number: int) -> None:
    still = STILLS[number]
    images = contact_sheet.draw(still, SIZE)
    assert images.rgb is not None
    assert images.depth is not None
    assert images.instance is not None
    assert images.rgb.std() > 12
    people = (images.instance > 0) & (images.instance < ROBOT_IDS)
    _, pixels = np.unique(images.instance[people], return_counts=True)
    assert (pixels >= SIZE[0] * SIZE[1] / 1000).sum() >= still.shows
    assert images.depth[people].min() > NEAREST_M
    assert (images.semantic == Semantic.ROBOT).mean() > 0.004


def test_the_sheet_covers_everything() -> None:
    assert len(STILLS) == 24
    places = [still.place or (still.moment.scenario if still.moment else "") for still in STILLS]
    for place in ("corridor", "lobby", "room", "narrow_doorway", "crosswalk_street", "intersection_4way"):
        assert place in places
    sites = {part for place in places for part in ("_eth_", "_hotel_", "_zara", "_univ_", "_dhotel_") if part in place}
    assert len(sites) == 5
    assert {still.weather for still in STILLS} == {"clear", "cloudy", "wet", "rain"}
    assert {still.light for still in STILLS} == {"noon", "sunset", "night"}
    assert {still.picture for still in STILLS} >= {"rgb", "depth", "semantic"}
    coloured = [still for still in STILLS if still.picture == "rgb"]
    assert {person.does for still in coloured for person in still.people} >= set(GESTURES)
    driven = {machine.robot for still in coloured for machine in still.machines}
    assert driven >= set(robot_names()) - {"point", "pioneer_3dx_real"}


def test_moments_are_generated_never_recorded() -> None:
    moments = [still.moment for still in STILLS if still.moment is not None]
    for moment in {moment.scenario: moment for moment in moments}.values():
        assert contact_sheet._episode(moment.model_copy(update={"time": 0.1})).source == "generated"


def test_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[int] = []
    few = load_sheet().model_copy(update={"stills": (STILLS[0], STILLS[3], STILLS[23]), "columns": 2})
    monkeypatch.setattr(contact_sheet, "load_sheet", lambda: few)
    path = tmp_path / "new" / "sheet.jpg"
    titles = contact_sheet.write_sheet(path, SIZE, lambda done, of, what: heard.append(done))
    assert titles == [still.title for still in few.stills]
    assert heard == [0, 1, 2]
    page = np.asarray(Image.open(path))
    assert 2 * 96 < page.shape[1] < 2 * 96 + 20
    assert 2 * 64 < page.shape[0] < 2 * 64 + 60
    assert path.stat().st_size < contact_sheet.MOST_BYTES


def test_bad_input(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"\.jpg or \.png"):
        contact_sheet.write_sheet(tmp_path / "sheet.gif")
    with pytest.raises(BadInput, match="either a place or a moment"):
        Still.parse({"title": "x", "eye": [0, 0, 1], "look": [1, 0, 1]}, "test")


def test_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    one = load_sheet().model_copy(update={"stills": (STILLS[0],), "columns": 1})
    monkeypatch.setattr(contact_sheet, "load_sheet", lambda: one)
    path = tmp_path / "sheet.png"
    assert contact_sheet.main([str(path), "--size", "96x64"]) == 0
    assert "1 stills" in capsys.readouterr().out
    assert 96 < Image.open(path).size[0] < 110
    for arguments, message in (
        ([str(path), "--size", "big"], "WIDTHxHEIGHT"),
        ([str(tmp_path / "s.gif")], ".jpg or .png"),
    ):
        assert contact_sheet.main(arguments) == 2
        assert message in capsys.readouterr().err
