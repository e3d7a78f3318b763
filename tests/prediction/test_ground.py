"""Semantic maps: what is painted where, and windows that are turned."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.prediction.ground import crop_ground, draw_ground
from sidestep.types.interactions import GROUND, GroundMap
from sidestep.types.scene import Region, SceneSpec


def box(kind: str, x0: float, y0: float, x1: float, y1: float) -> Region:
    return Region(kind=kind, polygon=((x0, y0), (x1, y0), (x1, y1), (x0, y1)))  # type: ignore[arg-type]


def test_crossings_cover_roads_and_roads_cover_sidewalks() -> None:
    scene = SceneSpec(regions=(box("crosswalk", 4, -2, 6, 2), box("road", 0, -2, 10, 2), box("sidewalk", 0, -5, 10, 5)))
    ground = draw_ground(scene)
    points = np.array([[1.0, 0.0], [5.0, 0.0], [5.0, 3.0], [5.0, 9.0]])
    assert [GROUND[k] for k in ground.at(points)] == ["road", "zebra", "sidewalk", "unknown"]
    assert ground.covers(points).tolist() == [True, True, True, False]
    share = (ground.cells == GROUND.index("zebra")).mean() * ground.cells.size * 0.01
    assert share == pytest.approx(2 * 4, rel=0.1)  # a cell on the edge belongs to it


def test_holes_are_left_out() -> None:
    hole = ((4.0, 4.0), (6.0, 4.0), (6.0, 6.0), (4.0, 6.0))
    ring = Region(kind="grass", polygon=((0, 0), (10, 0), (10, 10), (0, 10)), holes=(hole,))
    ground = draw_ground(SceneSpec(regions=(ring,)))
    assert [GROUND[k] for k in ground.at(np.array([[5.0, 5.0], [2.0, 5.0]]))] == ["unknown", "grass"]


def test_a_window_turns_with_its_frame() -> None:
    cells = np.zeros((100, 100), np.uint8)
    cells[:, 60:] = 1  # everything to the east of x = 6 is road
    ground = GroundMap(cells, (0.0, 0.0))
    centre = np.array([[5.0, 5.0], [5.0, 5.0]])
    straight, turned = crop_ground(ground, centre, np.array([0.0, np.pi / 2]), 8, 4.0)
    assert straight[:, -1].all()
    assert not straight[:, 0].any()
    assert turned[0].all()  # the frame's y points west, so east is its first row
    assert not turned[-1].any()


def test_bad_maps_say_so() -> None:
    with pytest.raises(BadInput, match="needs regions"):
        draw_ground(SceneSpec())
    with pytest.raises(BadInput, match="too many"):
        draw_ground(SceneSpec(regions=(box("road", 0, 0, 20_000, 20_000),)))
    with pytest.raises(BadInput, match="numbers below"):
        GroundMap(np.full((2, 2), 99, np.uint8), (0.0, 0.0))
