"""The five plans of the socnav suite against the digitised grids they were drawn from."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import pytest
import shapely
from scipy.ndimage import distance_transform_edt

from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import is_free
from sidestep.scenes.plans import load_plan
from tests.needs import skip_without_data

GRIDS = {
    "socnav_eth": "ETH",
    "socnav_zara": "Zara",
    "socnav_univ": "Univ",
    "socnav_double_hotel": "DoubleHotel",
    "socnav_hotel_small": "HotelSmall_approx",
}
DATA = os.environ.get("SIDESTEP_DATA", "")
needs_data = skip_without_data("socnav_maps")

BAND_M = 0.1
CORNERS = 170


@pytest.mark.parametrize("name", GRIDS)
def test_outlines_have_few_corners_on_a_5_cm_grid(name):
    spec = load_plan(name)
    corners = np.concatenate([np.array(region.polygon) for region in spec.regions])
    assert len(corners) <= CORNERS
    assert np.allclose(corners / 0.05, np.round(corners / 0.05), atol=1e-6)
    assert spec.enclosed


def test_the_guess_says_so():
    assert "guess" in load_plan("socnav_hotel_small").source


@needs_data
@pytest.mark.parametrize(("name", "grid"), GRIDS.items())
def test_plan_agrees_with_the_digitised_grid(name, grid):
    stored = np.load(Path(DATA) / "socnav_maps" / f"{grid}.npz")
    free, cell = stored["traversible"].astype(bool), float(stored["dx"])
    ground = _ground(name)
    y, x = (np.indices(free.shape) + 0.5) * cell
    drawn = shapely.contains_xy(ground, x, y)
    padded = np.pad(free, 1)
    off_cells = np.where(padded, distance_transform_edt(padded), distance_transform_edt(~padded))[1:-1, 1:-1] * cell
    clear = (shapely.distance(ground.boundary, shapely.points(x, y)) > BAND_M) & (off_cells - cell / 2 > BAND_M)
    assert clear.mean() > 0.8
    assert (drawn == free)[clear].mean() >= 0.98
    assert (drawn == free).mean() >= 0.97


@needs_data
@pytest.mark.parametrize(("name", "grid"), GRIDS.items())
def test_every_start_and_goal_is_free(name, grid):
    episodes = json.loads((Path(DATA) / "socnav_episodes.json").read_text())["episodes"]
    here = [episode for episode in episodes if episode["map_name"] == grid.removesuffix("_approx")]
    assert here
    scene = compile_scene(load_plan(name))
    for episode in here:
        for end in (episode["robot_start"], episode["robot_goal"]):
            assert is_free(scene, end[0], end[1], 0.2), (episode["name"], end)


def _ground(name: str) -> shapely.Geometry:
    regions = load_plan(name).regions
    ground = shapely.union_all([shapely.Polygon(r.polygon, r.holes) for r in regions if r.kind == "walkable"])
    return ground.difference(shapely.union_all([shapely.Polygon(r.polygon) for r in regions if r.kind != "walkable"]))
