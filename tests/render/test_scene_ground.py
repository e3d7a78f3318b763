"""Roads, kerbs, ramps and paint."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from sidestep.render.mesh import Semantic
from sidestep.render.scene import build_scene, ground_height
from sidestep.render.scene.ground import crosswalk_bars, road_paint
from sidestep.render.scene.layout import KERB_HEIGHT, REACH
from sidestep.scenes.plans import load_plan
from sidestep.types.scene import Region, SceneSpec
from tests.render.meshes import area_vectors, corners, of_class


def region(kind: str, x0: float, y0: float, x1: float, y1: float) -> Region:
    return Region(kind=kind, polygon=((x0, y0), (x1, y0), (x1, y1), (x0, y1)))


PLAIN_STREET = SceneSpec(
    name="plain street",
    regions=(
        region("road", -20, -3.5, 20, 3.5),
        region("sidewalk", -20, 3.5, 20, 6.5),
        region("sidewalk", -20, -6.5, 20, -3.5),
        region("crosswalk", -2, -3.5, 2, 3.5),
    ),
)


def test_heights_of_the_drawn_street():
    height = ground_height(load_plan("crosswalk_street"))
    points = np.array([[-8, 0], [0, 0], [0, 6], [-8, 3.6], [0, 3.5001], [0, 4.0], [0, 4.499], [40, 0], [40, 6]])
    expected = [-KERB_HEIGHT, -KERB_HEIGHT, 0, 0, -KERB_HEIGHT, -KERB_HEIGHT / 2, 0, -KERB_HEIGHT, 0]
    assert height.at(points) == pytest.approx(expected, abs=1e-3)


def test_ramps_and_kerbs_are_made_where_the_scene_draws_none():
    height = ground_height(PLAIN_STREET)
    assert len(height.ramps) == 2
    assert height.at(np.array([[0.0, 4.0], [0.0, -4.0], [5.0, 4.0]])) == pytest.approx([-0.06, -0.06, 0.0], abs=1e-3)
    scene = build_scene(PLAIN_STREET)
    triangles = corners(scene)
    kerb = of_class(scene, Semantic.KERB)
    upright = kerb & (np.abs(area_vectors(triangles)[:, 2]) < 1e-6)
    height_of_faces = triangles[upright][:, :, 2]
    assert height_of_faces.min() == pytest.approx(-KERB_HEIGHT)
    assert height_of_faces.max() == pytest.approx(0.0)


def test_kerb_faces_look_at_the_road():
    scene = build_scene(PLAIN_STREET)
    triangles, vectors = corners(scene), area_vectors(corners(scene))
    middle = triangles.mean(axis=1)
    upright = of_class(scene, Semantic.KERB) & (np.abs(vectors[:, 2]) < 1e-6) & (np.abs(middle[:, 0]) > 3)
    along_road = upright & (np.abs(np.abs(middle[:, 1]) - 3.5) < 1e-3)
    assert along_road.any()
    assert (np.sign(vectors[along_road][:, 1]) == -np.sign(middle[along_road][:, 1])).all()


def test_the_drawn_surface_has_the_heights_that_ground_height_tells():
    for spec in (PLAIN_STREET, load_plan("crosswalk_street")):
        scene, height = build_scene(spec), ground_height(spec)
        triangles = corners(scene)
        level = (scene.static_id == 0) & (area_vectors(triangles)[:, 2] > 1e-6) & ~of_class(scene, Semantic.SKY)
        middle = triangles[level].mean(axis=1)
        assert height.at(middle[:, :2]) == pytest.approx(middle[:, 2], abs=2e-3)


def test_no_steps_without_sidewalks():
    spec = SceneSpec(regions=(region("road", -20, -3.5, 20, 3.5), region("walkable", -20, 3.5, 20, 9)))
    assert ground_height(spec).at(np.array([[0.0, 0.0], [0.0, 5.0]])) == pytest.approx([0.0, 0.0])


def test_bars_lie_across_the_walking_direction():
    road, crosswalk = shapely.box(-20, -3.5, 20, 3.5), shapely.box(-2, -3.5, 2, 3.5)
    bars = shapely.get_parts(crosswalk_bars(crosswalk, [road]))
    assert len(bars) == 7
    for bar in bars:
        x0, y0, x1, y1 = bar.bounds
        assert x1 - x0 > 3.5
        assert y1 - y0 == pytest.approx(0.5, abs=0.16)


def test_lines_run_along_the_road_and_stop_at_crosswalk_and_junction():
    road, other, crosswalk = (
        shapely.box(-30, -3.5, 30, 3.5),
        shapely.box(10, -20, 17, 20),
        shapely.box(-2, -3.5, 2, 3.5),
    )
    paint = road_paint([road, other], [crosswalk])
    assert not paint.intersects(crosswalk)
    assert not paint.intersects(shapely.box(10.01, -3.49, 16.99, 3.49))
    assert paint.intersects(shapely.box(-20, -0.06, -10, 0.06))
    assert paint.within(shapely.union(road, other).buffer(1e-6))


def test_paint_is_cut_into_the_road():
    scene = build_scene(PLAIN_STREET)
    road = area_vectors(corners(scene))[of_class(scene, Semantic.ROAD, Semantic.LANE_MARKING, Semantic.CROSSWALK)]
    assert road[:, 2].sum() == pytest.approx(7.0 * (40 + 2 * REACH), rel=1e-3)
