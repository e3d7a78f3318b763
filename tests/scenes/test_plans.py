"""Every bundled floor plan compiles, and is what its name says."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from sidestep.errors import UnknownName
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import is_free, shortest_path
from sidestep.scenes.plans import load_plan, plan_names
from sidestep.types.scene import OPEN

from .drawing import signed_distance

WAYS = {
    "open": ((-19, -19), (19, 19)),
    "corridor": ((-9, 0), (9, 0)),
    "hallway_crossing": ((-11, 0), (3, 9)),
    "narrow_doorway": ((-6, 3), (6, -3)),
    "blind_corner": ((-11, 0), (0, -11)),
    "intersection_4way": ((-14, 0), (0, 14)),
    "room": ((-5.8, -3), (3.8, 4.2)),
    "plaza": ((-14, -14), (14, 14)),
    "crosswalk_street": ((-18, 6), (18, -6)),
    "lobby": ((0.8, -11), (18, 2)),
}


def test_the_plans_that_scenarios_rely_on_are_there():
    assert set(WAYS) <= set(plan_names())
    assert plan_names() == sorted(plan_names())


@pytest.mark.parametrize("name", plan_names())
def test_plan_is_named_like_its_file_and_compiles_right(name):
    spec = load_plan(name)
    assert spec.name == name
    assert spec.source
    scene = compile_scene(spec)
    assert (scene.wall_next[scene.wall_prev] == np.arange(len(scene.wall_points))).all()
    if name == "open":
        assert len(scene.wall_points) == 0
        return
    points = np.random.default_rng(0).uniform(scene.bounds[:2], scene.bounds[2:], (3000, 2))
    distance = signed_distance(spec, points)
    assert np.abs([scene.clearance(x, y) for x, y in points] - distance).max() < scene.distance_cell
    assert (distance > 0.5).any()
    assert (distance < 0).any() or spec.enclosed


@pytest.mark.parametrize("name", plan_names())
def test_open_regions_of_a_plan_hang_together(name):
    spec = load_plan(name)
    open_shapes = [shapely.Polygon(region.polygon) for region in spec.regions if region.kind in OPEN]
    ground = shapely.union_all(open_shapes)
    assert ground.geom_type == "Polygon"


@pytest.mark.parametrize(("name", "ends"), WAYS.items())
def test_a_body_finds_its_way_through(name, ends):
    path = shortest_path(compile_scene(load_plan(name)), *ends, radius=0.3)
    assert len(path) >= 2


def test_dimensions_that_names_promise():
    corridor = compile_scene(load_plan("corridor"))
    assert is_free(corridor, 0, 0, 1.0)
    assert not is_free(corridor, 0, 0, 1.001)
    assert corridor.bounds == (-10, -1, 10, 1)
    door = compile_scene(load_plan("narrow_doorway"))
    assert is_free(door, 0, 0, 0.45 - 1e-6)
    assert not is_free(door, 0, 0, 0.4501)
    kinds = {region.kind for region in load_plan("crosswalk_street").regions}
    assert {"road", "sidewalk", "crosswalk", "kerb", "ramp", "verge", "frontage", "building"} <= kinds


def test_blind_corner_hides_one_corridor_from_the_other():
    walls = compile_scene(load_plan("blind_corner")).segments.reshape(-1, 2, 2)
    sight = shapely.LineString([(-6, 0), (0, -6)])
    assert shapely.intersects(shapely.linestrings(walls), sight).any()


def test_unknown_plan_names_the_nearest():
    with pytest.raises(UnknownName, match="unknown floor plan 'coridor'; did you mean 'corridor'"):
        load_plan("coridor")
