"""Towns: always the same, whole, and walkable."""

from __future__ import annotations

import hashlib
import json
from collections import Counter

import networkx as nx
import numpy as np
import pytest
import shapely
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput, UnknownName
from sidestep.scenes.compile import compile_scene, region_polygon
from sidestep.scenes.free_space import free_mask, shortest_path
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.towns import GENERATOR_VERSION, make_town, town_names
from sidestep.types.scene import OPEN, SceneSpec

WALKABLE = ("sidewalk", "crosswalk", "ramp")
ROBOT_RADIUS = 0.3  # m
PASSAGE = 1.3  # m
KINDS = {"straight", "curve", "tee", "four_way", "roundabout", "plaza", "mid_block_crossing"}
SEEDS = (0, 41)
DIGESTS = {0: "6fcc0e09dfcc2c51", 41: "cf83f4cd74593fe4", 99: "89727d109cc1b78b"}


def digest(seed: int) -> str:
    """Of the graph and a window of a town."""
    town = make_town(seed)
    graph = [[n, *d["xy"]] for n, d in town.graph.nodes(data=True)]
    edges = [[a, b, d["kind"], d["width"], d["line"].tolist()] for a, b, d in town.graph.edges(data=True)]
    window = town.window((-150.0, -100.0, 150.0, 100.0)).model_dump_json(exclude={"mesh"})
    return hashlib.sha256(json.dumps([graph, edges, window]).encode()).hexdigest()[:16]


@pytest.mark.parametrize("seed", sorted(DIGESTS))
def test_the_same_seed_gives_the_same_town_for_ever(seed):
    assert GENERATOR_VERSION == 1, "a new version has new towns: renew the digests"
    assert digest(seed) == DIGESTS[seed]


def test_a_hundred_names_stand_for_a_hundred_seeds():
    names = town_names()
    assert len(names) == len(set(names)) == 100
    assert make_town(names[41]) is make_town(41)
    assert make_town(41).name == names[41]
    with pytest.raises(UnknownName, match="did you mean 'Alderwick'"):
        make_town("Alderwik")
    with pytest.raises(BadInput, match="0 or more"):
        make_town(-1)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_town_has_all_seven_kinds_of_blocks(seed):
    count = Counter(block.kind for block in make_town(seed).blocks)
    assert set(count) == KINDS
    assert [block.index for block in make_town(seed).blocks] == list(range(sum(count.values())))


@pytest.mark.parametrize("seed", SEEDS)
def test_widths_are_those_of_streets(seed):
    for street in make_town(seed).streets:
        assert 6 <= 2 * street.road_half <= 14
        for zones in street.zones:
            assert 0.15 <= zones.kerb <= 0.3
            assert 0.8 <= zones.verge <= 2.5
            assert 2.0 <= zones.sidewalk <= 4.5
            assert 0.3 <= zones.frontage <= 1.5


@pytest.mark.parametrize("seed", SEEDS[:1])
def test_every_way_is_connected_and_lies_on_walkable_ground(seed):
    town = make_town(seed)
    assert nx.is_connected(town.graph)
    kinds = np.array(town.pieces.kinds)
    walkable = shapely.STRtree(town.pieces.polygons[np.isin(kinds, WALKABLE)])
    lines = [shapely.LineString(edge["line"]) for _, _, edge in town.graph.edges(data=True)]
    for line, (a, b, edge) in zip(lines, town.graph.edges(data=True), strict=True):
        ends = {tuple(edge["line"][0]), tuple(edge["line"][-1])}
        assert np.allclose(sorted(ends), sorted([town.graph.nodes[a]["xy"], town.graph.nodes[b]["xy"]]), atol=0.01)
        assert edge["length"] == pytest.approx(line.length, abs=0.01)
    points = shapely.points(shapely.get_coordinates(shapely.segmentize(lines, 1.0)))
    on, _ = walkable.query(points, predicate="dwithin", distance=0.01)
    assert len(np.unique(on)) == len(points)


@settings(max_examples=8, deadline=None)
@given(
    seed=st.sampled_from(SEEDS),
    x=st.floats(-1000, 900),
    y=st.floats(-1000, 900),
    width=st.floats(20, 160),
    height=st.floats(20, 160),
)
def test_windows_cover_the_ground_once(seed, x, y, width, height):
    scene = make_town(seed).window((x, y, x + width, y + height))
    polygons = [region_polygon(region, scene.name) for region in scene.regions]
    ground = [p for p, region in zip(polygons, scene.regions, strict=True) if region.kind in OPEN]
    whole = shapely.box(x, y, x + width, y + height).intersection(shapely.box(-1000, -1000, 1000, 1000))
    joined = shapely.union_all(ground)
    assert sum(p.area for p in ground) - joined.area < 0.05
    assert joined.symmetric_difference(whole).area < 0.5
    heights = [region.height for region in scene.regions if region.kind not in OPEN]
    assert all(height is not None and height > 0 for height in heights)


def test_a_window_is_found_again_by_its_name():
    town = make_town(0)
    scene = town.window((10.5, -20.25, 80, 41.125), margin=2.0)
    assert scene.name == "town:Alderwick@8.5,-22.25,82,43.125"
    assert resolve_scene(scene.name) == scene
    assert SceneSpec.model_validate_json(scene.model_dump_json()) == scene
    for bad, message in (
        ("town:Nowhere@0,0,1,1", "unknown town"),
        ("town:Alderwick@0,0,1", "x0,y0,x1,y1"),
        ("town:Alderwick@5,0,1,1", "x0 < x1"),
        ("town:Alderwick@5000,0,5100,100", "nothing of the town"),
    ):
        with pytest.raises(BadInput, match=message):
            resolve_scene(bad)


def test_routes_are_smooth_free_and_on_walkable_ground():
    town = make_town(0)
    rng = np.random.default_rng(3)
    for _ in range(4):
        start, goal = rng.choice(len(town.graph), 2, replace=False).tolist()
        route = town.route(start, goal)
        step = np.hypot(*np.diff(route.points, axis=0).T)
        assert step.max() <= 2.0
        assert len(route.width) == len(route.kinds) == len(route.points)
        assert set(route.kinds) <= {"sidewalk", "crosswalk", "plaza"}
        direction = np.unwrap(np.arctan2(*np.diff(route.points, axis=0).T[::-1]))
        assert np.abs(np.diff(direction)).max() < np.radians(60)
        assert route.length == pytest.approx(step.sum())
        part = route.points[: min(len(route.points), 400)]
        scene = compile_scene(town.window_along(part))
        assert free_mask(scene, part, 0.5).all()


@pytest.mark.parametrize("which", ["straight_routes", "curve_routes", "crosswalk_routes"])
def test_a_robot_gets_through_every_spot(which):
    rng = np.random.default_rng(5)
    for seed in SEEDS:
        town = make_town(seed)
        spots = getattr(town, which)()
        assert len(spots) >= 20
        for index in rng.choice(len(spots), 8, replace=False):
            spot = spots[index]
            assert 10 <= spot.length <= 20
            scene = town.window_along(spot.points, margin=6.0)
            on = _on_walkable(scene, spot.points)
            assert on.all()
            compiled = compile_scene(_closed_to_walkable(scene))
            path = shortest_path(compiled, spot.points[0], spot.points[-1], PASSAGE / 2)
            assert len(path) >= 2
            assert free_mask(compiled, spot.points, ROBOT_RADIUS).all()


def _on_walkable(scene, points):
    ground = shapely.union_all(
        [region_polygon(region, "scene").buffer(1e-3) for region in scene.regions if region.kind in WALKABLE]
    )
    return shapely.contains_xy(ground, points[:, 0], points[:, 1])


def _closed_to_walkable(scene):
    """The scene in which everything but sidewalks, ramps and crosswalks is solid."""
    kept = tuple(region for region in scene.regions if region.kind in WALKABLE or region.kind not in OPEN)
    return scene.model_copy(update={"regions": kept, "enclosed": True})


def test_some_straight_routes_have_things_in_the_clear_sidewalk():
    town = make_town(0)
    cluttered = sum(len(side) for street in town.walks.clutter for side in street)
    assert cluttered > 300


def test_crosswalk_routes_start_and_end_on_the_sidewalk():
    town = make_town(41)
    for spot in town.crosswalk_routes()[:8]:
        scene = town.window_along(spot.points, margin=4.0)
        on = {kind: _covered(scene, kind, spot.points) for kind in ("sidewalk", "ramp", "crosswalk")}
        assert on["sidewalk"][0]
        assert on["sidewalk"][-1]
        assert on["ramp"].any()
        assert on["crosswalk"].any()


def _covered(scene, kind, points):
    area = shapely.union_all([region_polygon(r, "scene") for r in scene.regions if r.kind == kind])
    return shapely.intersects_xy(area, points[:, 0], points[:, 1])


def test_people_can_stand_where_objects_say():
    town = make_town(0)
    kinds = {thing.kind for thing in town.objects}
    assert kinds == {"bench", "kiosk", "bus_stop", "shop_window", "door"}
    scene = compile_scene(town.window((-210, -210, 210, 210), solids_only=True))
    for kind in sorted(kinds):
        places = np.array([thing.xy for thing in town.standing_points(kind)])
        near = places[(np.abs(places) < 200).all(axis=1)]
        assert free_mask(scene, near, 0.2).mean() > 0.9
    with pytest.raises(UnknownName, match="did you mean 'bench'"):
        town.standing_points("bnch")
