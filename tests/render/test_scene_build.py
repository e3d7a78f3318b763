"""Whole scenes: every bundled plan builds, is well formed, and shows what the 2D scene says."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.render.mesh import Semantic
from sidestep.render.scene import build_scene
from sidestep.render.scene.layout import is_indoor
from sidestep.render.scene.solids import FIRST_OBJECT
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.plans import load_plan, plan_names
from sidestep.types.scene import Region, SceneSpec
from tests.render.meshes import area_vectors, corners, of_class, overlaps_in_plane

PLANS = plan_names()
INDOOR = {
    "blind_corner", "corridor", "elevator_lobby", "foyer", "hallway_crossing", "hallway_room", "lobby",
    "narrow_doorway", "narrow_hallway", "office_floor", "room",
}  # fmt: skip
GROUND = (
    Semantic.FLOOR,
    Semantic.SIDEWALK,
    Semantic.ROAD,
    Semantic.LANE_MARKING,
    Semantic.CROSSWALK,
    Semantic.KERB,
    Semantic.GRASS,
)


@pytest.fixture(scope="module", params=PLANS)
def built(request):
    spec = load_plan(request.param)
    return spec, build_scene(spec)


def test_is_well_formed(built):
    _, scene = built
    mesh = scene.mesh
    size = np.linalg.norm(area_vectors(corners(scene)), axis=1)
    assert (size > 1e-9).all(), "triangles without area"
    assert np.allclose(np.linalg.norm(mesh.normals, axis=1), 1.0, atol=1e-4)
    assert np.isfinite(mesh.uv).all()
    assert mesh.material.max() < len(scene.materials)
    assert len(scene.static_id) == len(mesh.triangles)
    assert scene.static_id.min() == 0
    assert len(mesh.triangles) <= 30_000


def test_shading_normals_agree_with_the_winding(built):
    _, scene = built
    flat = area_vectors(corners(scene))
    flat /= np.linalg.norm(flat, axis=1, keepdims=True)
    shading = scene.mesh.normals[scene.mesh.triangles].mean(axis=1)
    assert ((flat * shading).sum(axis=1) > 0.2).all()


def test_nothing_flickers(built):
    _, scene = built
    assert overlaps_in_plane(scene) == []


def test_free_ground_is_covered_exactly_once(built):
    spec, scene = built
    polygons = [shapely.Polygon(r.polygon, r.holes) for r in spec.regions if r.kind not in ("obstacle", "furniture")]
    kinds = [r.kind for r in spec.regions if r.kind not in ("obstacle", "furniture")]
    buildings = shapely.union_all([p for p, kind in zip(polygons, kinds, strict=True) if kind == "building"])
    ground = shapely.union_all([p for p, kind in zip(polygons, kinds, strict=True) if kind != "building"])
    ground = shapely.difference(ground, buildings)
    triangles = corners(scene)
    level = of_class(scene, *GROUND) & (scene.static_id == 0) & (triangles[:, :, 2].max(axis=1) < 0.01)
    up = area_vectors(triangles)[:, 2] > 1e-9
    faces = shapely.polygons(triangles[level & up][:, :, :2])
    here = shapely.intersection(faces, ground)
    assert shapely.area(here).sum() == pytest.approx(ground.area, rel=1e-4)
    assert shapely.union_all(here).area == pytest.approx(ground.area, rel=1e-4)


def test_nothing_but_furniture_stands_where_people_walk(built):
    """Nothing that one would run into, between 0.2 m and 2 m, lies on free ground by more than 2 cm."""
    spec, scene = built
    solid = shapely.union_all([shapely.Polygon(r.polygon, r.holes) for r in spec.regions if r.kind in SOLID_KINDS])
    drawn = [shapely.Polygon(r.polygon, r.holes) for r in spec.regions if r.kind not in SOLID_KINDS]
    free = shapely.difference(shapely.union_all(drawn), solid.buffer(0.021, join_style="mitre"))
    free = free.buffer(-0.021) if spec.enclosed else free
    triangles = corners(scene)
    band = (triangles[:, :, 2].min(axis=1) < 2.0) & (triangles[:, :, 2].max(axis=1) > 0.2)
    shadows = shapely.linestrings(triangles[band][:, [0, 1, 2, 0], :2])
    inside = shapely.intersects(free, shadows)
    assert not inside.any(), triangles[band][inside][:3]


SOLID_KINDS = ("obstacle", "building", "furniture")


def test_same_seed_same_triangles_and_another_seed_another_look():
    spec = load_plan("crosswalk_street")
    one, two, other = build_scene(spec, 3), build_scene(compile_scene(spec), 3), build_scene(spec, 4)
    assert np.array_equal(one.mesh.vertices, two.mesh.vertices)
    assert [m.name for m in one.materials] == [m.name for m in two.materials]
    assert [m.name for m in one.materials] != [m.name for m in other.materials]


def test_indoor_rule():
    assert {name for name in PLANS if is_indoor(load_plan(name))} == INDOOR
    square = ((0, 0), (8, 0), (8, 8), (0, 8))
    assert is_indoor(SceneSpec(name="x", enclosed=True, regions=(Region(kind="walkable", polygon=square),)))
    assert not is_indoor(SceneSpec(name="x", enclosed=True, regions=(Region(kind="sidewalk", polygon=square),)))
    assert not is_indoor(SceneSpec(name="x", regions=(Region(kind="walkable", polygon=square),)))
    room = SceneSpec(name="office_map", regions=(Region(kind="walkable", polygon=square),))
    assert not is_indoor(room)  # nothing stands on its border
    assert is_indoor(room.model_copy(update={"enclosed": True}))


def test_large_solids_outdoors_are_buildings_but_cars_and_low_walls_are_not():
    def classes(**region):
        scene = build_scene(SceneSpec(name="street", regions=(Region(kind="obstacle", **region),)))
        return {Semantic(c) for c in scene.mesh.semantic[scene.static_id == FIRST_OBJECT]}

    house, car = ((0, 0), (9, 0), (9, 6), (0, 6)), ((0, 0), (4.5, 0), (4.5, 1.8), (0, 1.8))
    assert {Semantic.BUILDING, Semantic.WINDOW} <= classes(polygon=house)
    assert classes(polygon=house, height=0.6) == {Semantic.FURNITURE}
    assert classes(polygon=car) == {Semantic.VEHICLE}


def test_a_town_stays_within_the_budget():
    boxes = [(20 * i, 20 * j) for i in range(9) for j in range(9)]
    town = tuple(
        Region(kind="building", height=12, polygon=((x, y), (x + 14, y), (x + 14, y + 14), (x, y + 14)))
        for x, y in boxes
    )
    scene = build_scene(SceneSpec(name="town", regions=town))
    assert len(scene.mesh.triangles) < 30_000
    assert len(np.unique(scene.static_id)) > 81


def test_a_floor_plan_of_unnamed_obstacles_gets_walls_up_to_the_ceiling():
    floor = Region(kind="walkable", polygon=((0, 0), (12, 0), (12, 8), (0, 8)))
    wall = Region(kind="obstacle", polygon=((4, 0), (4.2, 0), (4.2, 4), (8, 4), (8, 4.2), (4, 4.2)))
    scene = build_scene(SceneSpec(name="lab", regions=(floor, wall), enclosed=True))
    assert scene.indoor
    assert corners(scene)[scene.static_id == FIRST_OBJECT][:, :, 2].max() == pytest.approx(2.8)


def test_indoor_can_be_overruled():
    spec = load_plan("corridor")
    outside = build_scene(spec, indoor=False)
    assert not outside.indoor
    assert not of_class(outside, Semantic.CEILING).any()
    inside = build_scene(spec)
    assert inside.indoor
    assert of_class(inside, Semantic.CEILING, Semantic.DOOR).any()


def test_rooms_have_a_ceiling_over_all_of_the_floor():
    scene = build_scene(load_plan("lobby"))
    triangles = corners(scene)
    down = area_vectors(triangles)[of_class(scene, Semantic.CEILING)][:, 2]
    floor = area_vectors(triangles)[of_class(scene, Semantic.FLOOR)][:, 2]
    assert (down < 0).all()
    assert -down.sum() == pytest.approx(floor.sum(), rel=1e-4)
    assert triangles[of_class(scene, Semantic.CEILING)][:, :, 2].min() == pytest.approx(5.0)


def test_objects_are_numbered_above_people():
    scene = build_scene(load_plan("plaza"))
    numbers = np.unique(scene.static_id)
    assert numbers[0] == 0
    assert np.array_equal(numbers[1:], FIRST_OBJECT + np.arange(len(numbers) - 1))


@pytest.mark.parametrize("name", ["crosswalk_street", "lobby", "socnav_univ", "room"])
def test_a_turned_plan_is_as_sound(name):
    def turn(ring):
        x, y = np.asarray(ring, float).T
        return tuple(zip((0.9 * x - 0.436 * y + 7).tolist(), (0.436 * x + 0.9 * y - 3).tolist(), strict=True))

    plan = load_plan(name)
    regions = tuple(region.model_copy(update={"polygon": turn(region.polygon)}) for region in plan.regions)
    scene = build_scene(plan.model_copy(update={"regions": regions}))
    assert overlaps_in_plane(scene, 5e-3) == []
    assert len(scene.mesh.triangles) < 30_000


def test_a_scene_without_regions_has_ground():
    scene = build_scene(SceneSpec())
    assert of_class(scene, Semantic.SIDEWALK, Semantic.GRASS).any()


def test_overlapping_solids_share_no_face():
    a = Region(kind="building", height=9, polygon=((0, 0), (10, 0), (10, 10), (0, 10)))
    b = Region(kind="building", height=9, polygon=((5, 5), (15, 5), (15, 15), (5, 15)))
    c = Region(kind="obstacle", height=1, polygon=((9, 2), (11, 2), (11, 3), (9, 3)))
    scene = build_scene(SceneSpec(regions=(a, b, c)))
    assert overlaps_in_plane(scene) == []


def test_a_crossed_polygon_is_refused():
    bow = Region(kind="walkable", name="bow", polygon=((0, 0), (1, 1), (1, 0), (0, 1)))
    with pytest.raises(BadInput, match="bow"):
        build_scene(SceneSpec(regions=(bow,)))
