"""The three places that come with Sidestep, and the ways on them."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.policies.sidewalk.follow_lane import FollowLane
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.places import DATA, bundled_place, long_routes, place_names
from sidestep.scenes.walkways import stations_of
from sidestep.simulation import run_episode
from sidestep.suites.sidewalk.routes import hand_made_long_routes, hand_made_unit_routes
from sidestep.suites.sidewalk.scenarios import GROUND, SidewalkOptions, make_rules, placement
from sidestep.types import Outcome, Scenario
from sidestep.types.scene import OPEN, SOLID
from tools.choose_sidewalk_hand_made import choose_routes
from tools.draw_places import draw_kettlegate, draw_piper_parade

UNIT = [(kind, name, way) for kind, ways in hand_made_unit_routes().items() for name, way in ways]
LONG = list(hand_made_long_routes())


def polygons(scene, kinds):
    return [shapely.Polygon(region.polygon, region.holes) for region in scene.regions if region.kind in kinds]


@pytest.mark.parametrize("name", place_names())
def test_places_compile_and_their_ground_does_not_overlap(name):
    scene = resolve_scene(f"place:{name}")
    assert scene.name == f"place:{name}"
    compiled = compile_scene(scene)
    x0, y0, x1, y1 = compiled.bounds
    assert 80 < x1 - x0 < 200
    assert 80 < y1 - y0 < 200
    ground = polygons(scene, OPEN)
    pairs = shapely.STRtree(ground).query(ground, predicate="intersects").T.tolist()
    assert sum(ground[a].intersection(ground[b]).area for a, b in pairs if a < b) < 1e-3
    assert {"sidewalk", "crosswalk", "ramp", "kerb", "road", "building"} <= {region.kind for region in scene.regions}


@pytest.mark.parametrize("name", place_names())
def test_one_can_walk_everywhere(name):
    place = bundled_place(name)
    assert nx.is_connected(place.graph)
    for a, b, edge in place.graph.edges(data=True):
        assert place.walkable_area.buffer(0.05).contains(shapely.LineString(edge["line"])), (a, b)
        assert edge["length"] == pytest.approx(stations_of(edge["line"])[-1], abs=0.01)
        start = place.graph.nodes[edge["start"]]["xy"]
        assert np.hypot(*(edge["line"][0] - start)) < 0.05


@pytest.mark.parametrize(("stem", "draw"), [("kettlegate", draw_kettlegate), ("piper-parade", draw_piper_parade)])
def test_files_are_as_drawn_and_say_so(stem, draw):
    text = (DATA / f"{stem}.osm").read_text(encoding="utf-8")
    assert text == draw().to_xml()
    assert "not OpenStreetMap data" in text


def test_names_that_do_not_exist():
    with pytest.raises(BadInput, match="kettlegate"):
        resolve_scene("place:kettlegat")
    for number in ("9", "x", ""):
        with pytest.raises(BadInput, match="from 0 to 1"):
            resolve_scene(f"place:kettlegate/long/{number}")


def test_ten_ways_of_each_kind_and_five_long_ones():
    assert {kind: len(ways) for kind, ways in hand_made_unit_routes().items()} == {
        "straight": 10,
        "curve": 10,
        "crosswalk": 10,
    }
    assert len(LONG) == 5
    for kind in hand_made_unit_routes():
        assert len({name.rsplit("-", 1)[0] for name, _ in hand_made_unit_routes()[kind]}) == 3
    assert len({(kind, name) for kind, name, _ in UNIT}) == 30


@pytest.mark.parametrize(("kind", "name", "way"), UNIT, ids=[f"{kind}-{name}" for kind, name, _ in UNIT])
def test_short_ways_lie_on_the_sidewalk(kind, name, way):
    scene = resolve_scene(way.scene)
    points = np.array(way.points)
    assert 10.0 <= stations_of(points)[-1] <= 20.0
    line = shapely.LineString(points)
    assert shapely.union_all(polygons(scene, GROUND)).contains(line.buffer(0.4))
    assert shapely.union_all(polygons(scene, SOLID)).distance(line) > 0.5
    over = shapely.union_all(polygons(scene, {"crosswalk"})).intersection(line).length
    assert over > 4.0 if kind == "crosswalk" else over == 0.0
    step = np.diff(points, axis=0)
    turn = np.abs(np.degrees(np.angle((step @ [1, 1j]) / (step[0] @ [1, 1j])))).max()
    assert turn < 6 if kind == "straight" else turn > 18
    assert 2.0 <= way.width <= 4.5


@pytest.mark.parametrize(("name", "way"), LONG, ids=[name for name, _ in LONG])
def test_long_ways_are_the_only_ones(name, way):
    scene = resolve_scene(way.scene)
    points = np.array(way.points)
    assert way.length > 100.0
    line = shapely.LineString(points)
    free = shapely.union_all(polygons(scene, GROUND)).difference(shapely.union_all(polygons(scene, SOLID)))
    assert free.contains(line.buffer(0.35))
    assert sum(region.name == "construction barrier" for region in scene.regions) >= 2
    assert any(event.kind == "crossing" for event in way.events)


def test_long_ways_follow_the_routes_that_are_kept():
    for name, way in LONG:
        place, number = name.rsplit("-", 1)
        route = long_routes(place)[int(number) - 1]
        assert way.scene == f"place:{place}/long/{int(number) - 1}"
        assert way.points[0] == pytest.approx(tuple(route.points[0]), abs=0.02)
        assert way.length == pytest.approx(route.length, abs=0.1)


def test_the_choice_is_as_kept():
    chosen = choose_routes()
    assert {
        kind: tuple((item.name, item.way) for item in getattr(chosen, kind)) for kind in hand_made_unit_routes()
    } == hand_made_unit_routes()
    assert [(item.name, item.way) for item in chosen.long] == LONG


@pytest.mark.parametrize("kind", ["straight", "curve", "crosswalk"])
def test_a_lane_follower_gets_there(kind):
    name, way = hand_made_unit_routes()[kind][-1]
    robot = placement(way, SidewalkOptions())
    scenario = Scenario(name=f"{kind}-{name}", scene=way.scene, robots=(robot,), rules=make_rules(way))
    assert run_episode(scenario, FollowLane()).outcome == Outcome.SUCCESS
