"""Intersections by arms: the six of IntersectNav with their 41 routes, and intersections of one's own."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
import shapely
import yaml
from hypothesis import given
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.intersections import (
    intersection_names,
    intersection_scene,
    load_intersection,
    parse_intersection,
)
from sidestep.scenes.intersections.intersection import offset
from sidestep.scenes.load import resolve_scene
from sidestep.simulation.traffic.lanes import LaneGraph
from tests.ulp import perturbed

NAMES = tuple(f"intersectnav_{k}" for k in range(6))
ROUTES = {0: 6, 1: 6, 2: 8, 3: 5, 4: 8, 5: 8}
TURNS = {-1: "left", 0: "straight", 1: "right"}
SCENES = {name: intersection_scene(load_intersection(name)) for name in NAMES}
EVERY_ROUTE = [(name, route) for name in NAMES for route in load_intersection(name).routes]


def area(scene, *kinds):
    return shapely.union_all([shapely.Polygon(r.polygon, r.holes) for r in scene.regions if r.kind in kinds])


def degrees_between(a, b):
    return abs((np.degrees(a - b) + 180.0) % 360.0 - 180.0)


def aside(line, x, y):
    """Distance to a polyline, and its direction there (rad)."""
    pieces = [shapely.LineString(pair) for pair in pairwise(line)]
    gaps = [piece.distance(shapely.Point(x, y)) for piece in pieces]
    (x0, y0), (x1, y1) = pieces[int(np.argmin(gaps))].coords
    return min(gaps), np.arctan2(y1 - y0, x1 - x0)


def test_the_six_and_their_41_routes():
    assert intersection_names() == NAMES
    assert [len(load_intersection(name).routes) for name in NAMES] == list(ROUTES.values())
    assert len(EVERY_ROUTE) == 41
    with pytest.raises(BadInput, match="unknown intersection 'intersectnav_7'; did you mean 'intersectnav_5'"):
        resolve_scene("intersection:intersectnav_7")


@pytest.mark.parametrize("name", NAMES)
def test_the_six_compile(name):
    scene = resolve_scene(f"intersection:{name}")
    assert scene == SCENES[name]
    walls = compile_scene(scene).segments
    assert len(walls) == 4 * sum(region.kind == "building" for region in scene.regions)
    kinds = {region.kind for region in scene.regions}
    assert kinds == {"road", "sidewalk", "crosswalk", "building"}
    assert len(scene.roads.crossings) == 4
    assert scene.roads.signals == ()


@pytest.mark.parametrize(("name", "route"), EVERY_ROUTE, ids=[f"{n}-{r.pose}-{r.branch}" for n, r in EVERY_ROUTE])
def test_routes(name, route):
    """A start lies on its lane, A* finds the turn, the destination lies beside the line that leads there."""
    graph = LaneGraph(SCENES[name].roads, name)
    away, heading = aside(graph.lanes[route.lane_in].points, *route.start[:2])
    assert away <= 0.5
    assert degrees_between(heading, route.start[2]) <= 5.0
    found = graph.find_route(route.lane_in, route.lane_out)
    assert (found[0], found[-1], len(found)) == (route.lane_in, route.lane_out, 3)
    assert graph.lanes[found[1]].turn == TURNS[route.branch]
    away, heading = aside(graph.line(found), *route.destination[:2])
    assert away <= 1.0
    assert degrees_between(heading, route.destination[2]) <= 15.0  # what the benchmark itself tolerates
    x0, y0, x1, y1 = load_intersection(name).exit_area
    assert x0 < route.start[0] < x1
    assert y0 < route.start[1] < y1
    inside = shapely.box(x0, y0, x1, y1).buffer(-1.0)
    assert not inside.contains(shapely.Point(route.destination[:2]))  # an expert was leaving there


@pytest.mark.parametrize("name", NAMES)
def test_every_way_through(name):
    """From every arm to every other; left of a driver lies the arm that comes next clockwise, and so on."""
    spec = load_intersection(name)
    arms = ["east", "north", "west", "south"]
    graph = LaneGraph(SCENES[name].roads, name)
    for k, start in enumerate(arms):
        for step, turn in ((1, "right"), (2, "straight"), (3, "left")):
            goal = arms[(k + step) % 4]
            turns = {
                lane.turn
                for lane in graph.lanes.values()
                if lane.turn is not None and lane.name.startswith(f"{start} ") and f"> {goal} " in lane.name
            }
            assert turns == {turn}
    lanes = [lane for lane in graph.lanes.values() if lane.turn is None]
    assert len(lanes) == sum(len(arm.lanes_in) + len(arm.lanes_out) for arm in spec.arms)


@pytest.mark.parametrize("name", NAMES)
def test_lanes_meet_without_a_kink(name):
    graph = LaneGraph(SCENES[name].roads, name)
    for one, other in graph.graph.edges:
        a, b = graph.lines[one], graph.lines[other]
        np.testing.assert_allclose(a[-1], b[0], atol=0.002)
        ahead, onwards = a[-1] - a[-2], b[1] - b[0]
        # the first chord of a curve of 24 leaves its tangent by a few degrees
        assert degrees_between(np.arctan2(*ahead[::-1]), np.arctan2(*onwards[::-1])) < 6.0


@pytest.mark.parametrize("name", NAMES)
def test_lanes_do_not_leave_the_asphalt(name):
    scene = SCENES[name]
    asphalt = area(scene, "road").buffer(0.05)
    for lane in scene.roads.lanes:
        line = shapely.LineString(lane.points)
        assert line.difference(asphalt).length < 0.01, lane.name
        assert line.buffer(lane.width / 2, cap_style="flat").difference(asphalt).area < 1.0, lane.name


@pytest.mark.parametrize("name", NAMES)
def test_crossings_reach_from_kerb_to_kerb(name):
    scene, spec = SCENES[name], load_intersection(name)
    kerbs = shapely.union_all([shapely.LineString(m.points) for m in scene.roads.markings if m.kind == "kerb"])
    for crossing in scene.roads.crossings:
        for end in crossing.ends:
            assert kerbs.distance(shapely.Point(end)) < 0.002
        middle = shapely.LineString(crossing.ends)
        assert middle.difference(area(scene, "road").buffer(0.01)).length == 0.0
        assert 8.0 < middle.length < 20.0
        near, far = next(arm.crossing for arm in spec.arms if f"crossing {arm.name}" == crossing.name)
        assert crossing.width == far - near
        reach = middle.centroid.distance(shapely.Point(spec.centre))
        assert reach == pytest.approx((near + far) / 2, abs=3.0)


@pytest.mark.parametrize("name", NAMES)
def test_people_start_on_sidewalks(name):
    paved = area(SCENES[name], "sidewalk", "road", "crosswalk")
    boxes = [shapely.box(*box) for pair in load_intersection(name).people for box in pair]
    assert len(boxes) == 4
    solid = area(SCENES[name], "building")
    for box in boxes:
        assert not box.intersects(solid)
        assert box.intersection(paved).area > 0.6 * box.area


def test_the_same_bits_everywhere():
    with perturbed(seed=3):
        for name in NAMES:
            assert intersection_scene(load_intersection(name)) == SCENES[name]


TEE = """
name: tee
centre: [100, 50]
lane_width: 3
sidewalk_m: 2
signals: true
arms:
  - {name: east, heading_deg: 0, stop_m: 10, length_m: 40, crossing: [6, 9]}
  - {name: west, heading_deg: 180, stop_m: 10, length_m: 40, lanes_in: 2, priority: 1}
  - {name: south, heading_deg: 270, stop_m: 10, length_m: 40}
"""


def tee(**changes):
    return {**yaml.safe_load(TEE), **changes}


def arm(number, **changes):
    data = tee()
    data["arms"][number].update(changes)
    return data


def test_one_of_your_own(tmp_path):
    (tmp_path / "tee.yaml").write_text(TEE)
    scene = resolve_scene("tee.yaml", tmp_path)
    compile_scene(scene)
    lanes = {lane.name: lane for lane in scene.roads.lanes}
    assert lanes["east in 0"].points == ((140.0, 51.5), (110.0, 51.5))
    assert lanes["east out 0"].points == ((110.0, 48.5), (140.0, 48.5))
    assert lanes["west in 0"].points == ((60.0, 48.5), (90.0, 48.5))  # the left one
    assert lanes["west in 1"].points == ((60.0, 45.5), (90.0, 45.5))
    assert lanes["south in 0"].points == ((101.5, 10.0), (101.5, 40.0))
    assert lanes["south out 0"].points == ((98.5, 40.0), (98.5, 10.0))
    through = {name: (lane.turn, lane.priority) for name, lane in lanes.items() if lane.turn}
    assert through == {
        "east 0 > west 0": ("straight", 0),
        "east 0 > south 0": ("left", -1),
        "west 0 > east 0": ("straight", 2),
        "west 1 > east 0": ("straight", 2),
        "west 1 > south 0": ("right", 2),
        "south 0 > east 0": ("right", 0),
        "south 0 > west 0": ("left", -1),
    }
    [crossing] = scene.roads.crossings
    assert crossing.width == 3.0
    assert sorted(crossing.ends)[1][0] == 107.5
    assert crossing.ends[1][1] == pytest.approx(53.0, abs=0.8)  # the northern kerb is nearly straight


def test_signals_of_a_tee():
    signals = {signal.name: signal for signal in intersection_scene(parse_intersection(tee(), "tee")).roads.signals}
    assert signals["signal west"].lanes == ("west in 0", "west in 1")
    assert signals["signal east"].green_at_s == signals["signal west"].green_at_s != signals["signal south"].green_at_s
    for signal in signals.values():
        assert signal.cycle_s == 40.0
        assert (signal.green_at_s + signal.green_s + signal.yellow_s) <= signal.cycle_s


def test_markings_of_a_tee():
    markings = intersection_scene(parse_intersection(tee(), "tee")).roads.markings
    painted = {(m.kind, m.colour): m.points for m in markings if m.points[0] in ((60.0, 47.0), (60.0, 50.0))}
    assert painted == {
        ("broken", "white"): ((60.0, 47.0), (90.0, 47.0)),  # between the two lanes that enter
        ("double_solid", "yellow"): ((60.0, 50.0), (90.0, 50.0)),  # between the directions
    }
    assert sum(m.kind == "kerb" for m in markings) == 3


def test_lanes_as_lines():
    """The same arm by points; a median of 4 m has a line at either side."""
    by_points = {"name": "east", "lanes_in": [[[140, 53.5], [110, 53.5]]], "lanes_out": [[[110, 46.5], [140, 46.5]]]}
    data = tee()
    data["arms"][0] = by_points
    scene = intersection_scene(parse_intersection(data, "tee"))
    lanes = {lane.name: lane.points for lane in scene.roads.lanes}
    assert lanes["east in 0"] == ((140.0, 53.5), (110.0, 53.5))
    lines = [m for m in scene.roads.markings if m.kind == "solid"]
    assert {(m.colour, m.points) for m in lines} == {
        ("yellow", ((140.0, 52.0), (110.0, 52.0))),
        ("yellow", ((110.0, 48.0), (140.0, 48.0))),
    }
    compile_scene(scene)


def test_asphalt_reaches_the_end_of_the_longest_lane():
    lanes = [[[110, 48.5], [140, 48.5]], [[110, 45.5], [133, 45.5]]]
    data = tee()
    data["arms"][0] = {"name": "east", "lanes_in": [[[145, 51.5], [110, 51.5]]], "lanes_out": lanes}
    scene = intersection_scene(parse_intersection(data, "tee"))
    [east] = [shapely.Polygon(r.polygon) for r in scene.regions if r.name == "east"]
    assert east.area == pytest.approx(3.0 * (30 + 23 + 35))
    compile_scene(scene)


ROUTE = {
    "pose": 0, "branch": -1, "start": [120, 51.5, 3.14], "destination": [98.5, 20, -1.57], "lane_in": "east in 0",
    "lane_out": "south out 0",
}  # fmt: skip


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (arm(0, lane_in=2), r"tee\.yaml: arms\[0\]: unknown key 'lane_in'; did you mean 'lanes_in'"),
        (arm(0, lanes_in=0), r"tee\.yaml: arms\[0\]\.lanes_in.*at least 1 \(got 0\)"),
        (arm(0, lanes_out=7), r"arms\[0\]\.lanes_out.*at most 6 \(got 7\)"),
        (arm(0, lanes_in="two"), r"arms\[0\]\.lanes_in.*whole number.*'two'"),
        (arm(0, heading_deg=None), r"arms\[0\]: lanes given as numbers need heading_deg"),
        (arm(0, lanes_in=[[[1, 1], [2, 2]]]), r"arms\[0\]: with heading_deg the lanes are numbers"),
        (arm(0, heading_deg=None, lanes_in=[], lanes_out=[]), r"arms\[0\]\.lanes_in.*at least 1 item"),
        (arm(0, heading_deg=None, lanes_in=[[[1, 1]]], lanes_out=[[[1, 1], [2, 2]]]), "at least 2 items"),
        (arm(0, stop_m=40), r"arms\[0\]: stop_m must be less than length_m"),
        (arm(0, crossing=[9, 6]), r"arms\[0\]: crossing is \(near, far\)"),
        (arm(0, crossing=[60, 63]), r"tee: arm 'east': the crossing, 60 to 63 m from the centre, has no kerb"),
        (arm(1, name="east"), r"two arms have the same name"),
        (arm(1, name="a > b"), r"arms\[1\]: the name of an arm has no ' > '"),
        (arm(1, heading_deg=20), r"tee: arms 'east' and 'west' overlap; turn them apart, increase stop_m"),
        (tee(arms=tee()["arms"][:1]), r"arms: .*at least 2 items"),
        (tee(signal=True), r"unknown key 'signal'; did you mean 'signals'"),
        (tee(routes=[{**ROUTE, "lane_in": "east in 1"}]), r"tee: route 0/-1: unknown lane 'east in 1'; .*'east in 0'"),
        (tee(routes=[{**ROUTE, "branch": 2}]), r"routes\[0\]\.branch: must be -1, 0 or 1 \(got 2\)"),
        (tee(routes=[ROUTE, ROUTE]), r"two routes have the same pose and branch"),
        (
            arm(0, heading_deg=None, lanes_in=[[[110, 52], [140, 52]]], lanes_out=[[[110, 48], [140, 48]]]),
            r"tee: arm 'east': lanes_in must lead to the centre; list the points in that order",
        ),
        (
            arm(0, heading_deg=None, lanes_in=[[[140, 52], [140, 52], [110, 52]]], lanes_out=[[[110, 48], [140, 48]]]),
            r"arms\[0\]: two points of a lane are the same",
        ),
    ],
)  # fmt: skip
def test_mistakes_in_a_file(tmp_path, data, message):
    path = tmp_path / "tee.yaml"
    path.write_text(yaml.safe_dump(data))
    with pytest.raises(BadInput, match=message) as error:
        resolve_scene(str(path))
    assert "Traceback" not in str(error.value)


headings = st.integers(3, 6).flatmap(
    lambda n: st.tuples(*[st.floats(360 / n * k - 10, 360 / n * k + 10) for k in range(n)])
)


@given(headings, st.lists(st.tuples(st.integers(1, 3), st.integers(1, 3)), min_size=6, max_size=6))
def test_any_intersection_is_sound_or_refused(turned, lanes):
    arms = [
        {"name": f"arm {k}", "heading_deg": heading, "lanes_in": lanes[k][0], "lanes_out": lanes[k][1], "stop_m": 22}
        for k, heading in enumerate(turned)
    ]
    spec = parse_intersection({"name": "any", "centre": [0, 0], "arms": arms}, "any")
    try:
        scene = intersection_scene(spec)
    except BadInput as error:
        overlap = str(error)
        assert "overlap; turn them apart" in overlap
        assert len(arms) > 4
        return
    compile_scene(scene)
    graph = LaneGraph(scene.roads, "any")
    for one in spec.arms:
        for other in spec.arms:
            if one is not other:
                ways = [lane for lane in graph.lanes if lane.startswith(f"{one.name} ") and f"> {other.name} " in lane]
                assert ways
    asphalt = area(scene, "road").buffer(0.05)
    for lane in scene.roads.lanes:
        if lane.turn is None:
            assert shapely.LineString(lane.points).within(asphalt)


@given(st.floats(-3.0, 3.0))
def test_offset_of_a_bent_line_keeps_its_distance(distance):
    line = np.array([[0.0, 0.0], [10.0, 0.0], [20.0, 4.0], [30.0, 4.0]])
    moved = shapely.LineString(offset(line, distance))
    assert moved.distance(shapely.LineString(line)) == pytest.approx(abs(distance), abs=1e-6)
