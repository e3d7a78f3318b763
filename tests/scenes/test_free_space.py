"""Where a body fits, and ways between walls, against shapely and against lengths worked out by hand."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.free_space import (
    free_mask,
    geodesic_distance,
    inside_solid,
    is_free,
    path_length,
    shortest_path,
    wall_distance,
)
from sidestep.scenes.plans import load_plan
from sidestep.types.scene import SceneSpec

from .drawing import box, free_ground, scenes, signed_distance

EXAMPLES = settings(max_examples=25, deadline=None, derandomize=True)


def room(*solids, size=10.0):
    return compile_scene(SceneSpec(regions=(box(0, 0, size, size, kind="walkable"), *solids), enclosed=True))


def test_touching_is_free_and_overlap_is_not():
    scene = room()
    assert is_free(scene, 0.5, 5, 0.5)
    assert not is_free(scene, 0.5, 5, 0.5001)
    assert not is_free(scene, -3, 5, 0.1)  # outside the room is solid
    assert free_mask(scene, [[5, 5], [0.2, 5]], [1.0, 0.3]).tolist() == [True, False]


def test_without_walls_everything_is_free():
    scene = compile_scene(SceneSpec())
    assert free_mask(scene, [[1e4, 0], [0, 0]], 5).all()
    assert np.isinf(wall_distance(scene, [[0, 0]])).all()
    assert shortest_path(scene, (0, 0), (3, 4), 0.3).tolist() == [[0, 0], [3, 4]]
    assert free_mask(scene, np.zeros((0, 2)), 1).shape == (0,)


@EXAMPLES
@given(scenes(), st.floats(0, 2))
def test_free_mask_equals_shapely(spec, radius):
    scene = compile_scene(spec)
    points = np.random.default_rng(3).uniform(-14, 14, (1500, 2))
    distance = signed_distance(spec, points)
    sure = (np.abs(distance - radius) > 0.002) & (np.abs(distance) > 0.002)  # walls are rounded to millimetres
    assert (free_mask(scene, points, radius) == (distance >= radius))[sure].all()
    assert (inside_solid(scene, points) == (distance < 0))[sure].all()


def test_many_points_are_worked_through_in_parts(monkeypatch):
    scene = room(box(3, 3, 4, 4), box(6, 2, 7, 8))
    points = np.random.default_rng(0).uniform(-1, 11, (500, 2))
    whole = free_mask(scene, points, 0.4)
    monkeypatch.setattr("sidestep.scenes.free_space.PAIRS_AT_ONCE", 50)
    assert (free_mask(scene, points, 0.4) == whole).all()
    assert 0 < whole.sum() < 500


@EXAMPLES
@given(scenes(), st.sampled_from([0.15, 0.3, 0.5]), st.integers(0, 10**6))
def test_a_path_keeps_its_clearance_and_none_means_disconnected(spec, radius, seed):
    scene = compile_scene(spec)
    points = np.random.default_rng(seed).uniform(-11, 11, (200, 2))
    points = points[free_mask(scene, points, radius + 0.01)][:2]
    if len(points) < 2:
        return
    wide, narrow = (
        shapely.get_parts(free_ground(spec).buffer(-r, quad_segs=32)) for r in (radius - 0.01, radius + 0.06)
    )
    try:
        path = shortest_path(scene, points[0], points[1], radius)
    except BadInput:
        assert not _connected(narrow, points)
        return
    assert _connected(wide, points)
    np.testing.assert_array_equal(path[[0, -1]], points)
    dense = np.concatenate([a + (b - a) * np.linspace(0, 1, 100)[:, None] for a, b in pairwise(path)])
    assert free_mask(scene, dense, radius - 1e-4).all()
    assert path_length(path) >= math.dist(*points) - 1e-9


def _connected(parts, points):
    return any(shapely.intersects_xy(part, *points.T).all() for part in parts)


@pytest.mark.parametrize("radius", [0.1, 0.3, 0.5])
def test_way_round_a_corner_is_as_short_as_two_tangents_and_an_arc(radius):
    scene = compile_scene(load_plan("blind_corner"))
    start, goal = (-10.0, -0.2), (-0.2, -10.0)
    leg, drop = 9.0, 0.8  # from the inner corner (-1, -1) along and across each corridor
    far = math.hypot(leg, drop)
    tangent = math.sqrt(far**2 - radius**2)
    turn = math.pi / 2 - 2 * (math.asin(drop / far) - math.asin(radius / far))
    turn = max(turn, 0.0)
    exact = 2 * tangent + radius * turn
    length = geodesic_distance(scene, start, goal, radius)
    assert exact - 1e-6 <= length <= exact * 1.01


def test_way_through_a_door_only_for_those_who_fit():
    scene = compile_scene(load_plan("narrow_doorway"))
    for radius in (0.2, 0.35, 0.4, 0.42):
        path = shortest_path(scene, (-6, 3), (6, -3), radius)
        crossing = [_height_at_door(a, b) for a, b in pairwise(path) if a[0] <= 0 <= b[0]]
        assert abs(crossing[0]) <= 0.45 - radius + 1e-6
    with pytest.raises(
        BadInput, match=r"robot: no way from \(-6, 3\) to \(6, -3\) in scene 'narrow_doorway'.*0\.46.*0\.92 m"
    ):
        shortest_path(scene, (-6, 3), (6, -3), 0.46, where="robot")


def _height_at_door(a, b):
    return a[1] + (b[1] - a[1]) * (0 - a[0]) / (b[0] - a[0])


def test_a_tight_gap_off_the_raster_is_found():
    scene = room(box(4.9, -1, 5.1, 3.333), box(4.9, 3.983, 5.1, 11))  # 0.65 m
    assert geodesic_distance(scene, (2, 2), (8, 2), 0.3) > 6
    with pytest.raises(BadInput, match="no way"):
        shortest_path(scene, (2, 2), (8, 2), 0.33)


def test_ends_that_do_not_fit_are_named():
    scene = room(box(4, 4, 6, 6))
    with pytest.raises(BadInput, match=r"the goal \(5, 5\) is inside a solid"):
        shortest_path(scene, (1, 1), (5, 5), 0.3)
    with pytest.raises(BadInput, match=r"the start \(0.2, 1\) is 0.200 m from a wall.*radius is 0.3 m"):
        shortest_path(scene, (0.2, 1), (9, 9), 0.3)
    with pytest.raises(BadInput, match="finite"):
        shortest_path(scene, (math.nan, 1), (9, 9), 0.3)


def test_ends_against_walls_and_outside_the_field():
    scene = compile_scene(SceneSpec(regions=(box(-5, -0.5, 5, 0.5),)))
    path = shortest_path(scene, (0, 0.8), (0, -0.8), 0.3)  # both touch the wall
    assert path_length(path) == pytest.approx(2 * (5 - 0) + 0.3 * math.pi + 1, rel=0.015)
    far = shortest_path(scene, (0, 50), (0, -50), 0.3)
    assert 100 < path_length(far) < 101.5


def test_reverse_way_is_as_long():
    scene = compile_scene(load_plan("lobby"))
    there = geodesic_distance(scene, (0.8, -11), (18, 2), 0.3)
    assert geodesic_distance(scene, (18, 2), (0.8, -11), 0.3) == pytest.approx(there, rel=0.01)


def test_a_way_through_a_maze_of_forty_metres():
    walls = [box(x, -18 if i % 2 else -20, x + 0.2, 20 if i % 2 else 18) for i, x in enumerate(range(-16, 17, 4))]
    scene = compile_scene(SceneSpec(regions=(box(-20, -20, 20, 20, kind="walkable"), *walls), enclosed=True))
    path = shortest_path(scene, (-19, -19), (19, 19), 0.3)
    assert path_length(path) > 9 * 35
