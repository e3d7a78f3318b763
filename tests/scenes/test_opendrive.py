"""OpenDRIVE files as scenes, by a crossing whose every point is known, and by small roads."""

from __future__ import annotations

from math import pi

import numpy as np
import pytest
import shapely

from sidestep.errors import BadInput
from sidestep.policies.trivial import Stop
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.intersections.opendrive import read_opendrive
from sidestep.scenes.load import resolve_scene
from sidestep.simulation import run_episode
from sidestep.simulation.traffic.lanes import LaneGraph
from sidestep.types.scenario import LaneTraffic, RobotPlacement, Rules, Scenario
from tests.fuzz.damage import damage
from tests.fuzz.guard import within
from tests.ulp import perturbed

from .roads_xml import CROSSROADS, file, lane, lanes_of, road, scene_of, section


@pytest.fixture(scope="module")
def scene():
    return read_opendrive(CROSSROADS)


ARMS = {
    "road 1 lane 1": ((52.0, 1.75), (12.0, 1.75)),
    "road 1 lane -1": ((12.0, -1.75), (52.0, -1.75)),
    "road 2 lane 1": ((-1.75, 52.0), (-1.75, 12.0)),
    "road 2 lane -1": ((1.75, 12.0), (1.75, 52.0)),
    "road 3.0 lane -1": ((-52.0, -1.75), (-32.0, -1.75)),
    "road 3.1 lane -1": ((-32.0, -1.75), (-12.0, -1.75)),
    "road 3.1 lane 1": ((-12.0, 1.75), (-32.0, 1.75)),
    "road 3.0 lane 1": ((-32.0, 1.75), (-52.0, 1.75)),
    "road 4 lane -1": ((1.75, -52.0), (1.75, -12.0)),
    "road 4 lane 1": ((-1.75, -12.0), (-1.75, -52.0)),
}
IN = {1: "road 1 lane 1", 2: "road 2 lane 1", 3: "road 3.1 lane -1", 4: "road 4 lane -1"}
OUT = {1: "road 1 lane -1", 2: "road 2 lane -1", 3: "road 3.1 lane 1", 4: "road 4 lane 1"}
RIGHT, LEFT = {1: 2, 2: 3, 3: 4, 4: 1}, {1: 4, 4: 3, 3: 2, 2: 1}
CORNERS = {frozenset((1, 2)): (12, 12), frozenset((2, 3)): (-12, 12), frozenset((3, 4)): (-12, -12)}


def test_lanes_of_the_arms_are_where_they_were_drawn(scene):
    lanes = lanes_of(scene)
    assert len(lanes) == 10 + 12
    for name, ends in ARMS.items():
        found = lanes[name]
        assert (found.points[0], found.points[-1]) == ends
        assert (found.width, found.speed_limit, found.turn, found.priority) == (3.5, 8.333, None, 0)
    assert lanes["road 3.0 lane -1"].next == ("road 3.1 lane -1",)
    assert lanes["road 3.1 lane 1"].next == ("road 3.0 lane 1",)
    assert lanes["road 3.0 lane 1"].next == lanes["road 1 lane -1"].next == ()


@pytest.mark.parametrize("start", [1, 2, 3, 4])
@pytest.mark.parametrize("way", ["left", "straight", "right"])
def test_routes_through_the_junction(scene, start, way):
    goal = {"left": LEFT[start], "right": RIGHT[start], "straight": LEFT[LEFT[start]]}[way]
    graph = LaneGraph(scene.roads, "crossroads")
    route = graph.find_route(IN[start], OUT[goal])
    assert (route[0], route[-1], len(route)) == (IN[start], OUT[goal], 3)
    inside = graph.lanes[route[1]]
    assert inside.turn == way
    assert inside.priority == (-1 if way == "left" else 0)
    assert inside.speed_limit == 8.333  # the junction states none, the lanes before it do
    assert route[1] == ("road 24 lane 1" if (start, goal) == (4, 2) else f"road {start}{goal} lane -1")
    np.testing.assert_array_equal(graph.lines[route[0]][-1], graph.lines[route[1]][0])
    np.testing.assert_array_equal(graph.lines[route[1]][-1], graph.lines[route[2]][0])
    if way != "straight":
        corner = CORNERS.get(frozenset((start, goal)), (12, -12))
        radius = 10.25 if way == "right" else 13.75  # 12 m less or plus half a lane
        np.testing.assert_allclose(np.hypot(*(graph.lines[route[1]] - corner).T), radius, atol=0.001)
        assert graph.length[route[1]] == pytest.approx(radius * pi / 2, abs=0.02)
        assert np.hypot(*np.diff(graph.lines[route[1]], axis=0).T).max() < 1.2


def test_a_lane_has_no_way_back(scene):
    with pytest.raises(BadInput, match="no lanes lead from 'road 1 lane -1'"):
        LaneGraph(scene.roads, "crossroads").find_route("road 1 lane -1", "road 2 lane -1")


def test_ground_has_the_areas_that_were_drawn(scene):
    areas = {}
    for region in scene.regions:
        areas.setdefault((region.kind, region.name), []).append(shapely.Polygon(region.polygon, region.holes).area)
    assert [areas["road", f"road {k}"] for k in (1, 2, 3, 4)] == [pytest.approx([280.0])] * 4
    assert areas["road", "junction 100"] == pytest.approx([576.0 - pi * 8.5 * 8.5], abs=0.6)
    sidewalk = 160.0 + pi / 4 * (8.5 * 8.5 - 6.5 * 6.5)
    assert areas["sidewalk", "sidewalk"] == pytest.approx([sidewalk] * 4, abs=0.1)
    assert areas["building", "building 73"] == pytest.approx([200.0])
    [building] = [region for region in scene.regions if region.kind == "building"]
    assert (building.height, building.polygon[0]) == (9.0, (27.0, 10.0))  # 25 m along road 1, 15 m to its left
    assert compile_scene(scene).segments.shape == (4, 4)  # nothing blocks but the building


def test_ground_does_not_overlap(scene):
    parts = [shapely.Polygon(region.polygon) for region in scene.regions if region.kind in ("road", "sidewalk", "kerb")]
    assert shapely.union_all(parts).area == pytest.approx(sum(part.area for part in parts), abs=1e-6)


def test_lanes_do_not_leave_the_asphalt(scene):
    asphalt = shapely.union_all([shapely.Polygon(r.polygon) for r in scene.regions if r.kind == "road"]).buffer(0.03)
    for found in lanes_of(scene).values():
        assert shapely.LineString(found.points).buffer(found.width / 2, cap_style="flat").within(asphalt)


def test_markings(scene):
    painted = [(mark.kind, mark.colour, *mark.points) for mark in scene.roads.markings if mark.kind != "kerb"]
    assert painted == [
        ("double_solid", "yellow", (12.0, 0.0), (32.0, 0.0)),
        ("broken", "white", (32.0, 0.0), (52.0, 0.0)),
        ("broken", "white", (0.0, 12.0), (0.0, 52.0)),
        ("broken", "white", (-52.0, 0.0), (-32.0, 0.0)),
        ("solid", "white", (-32.0, 0.0), (-12.0, 0.0)),
        ("solid", "white", (0.0, -52.0), (0.0, -12.0)),
    ]
    kerbs = [np.array(mark.points) for mark in scene.roads.markings if mark.kind == "kerb"]
    assert len(kerbs) == 4
    for kerb in kerbs:
        corner = 12.0 * np.sign(kerb.mean(axis=0))
        bent = kerb[(np.abs(kerb) < 12.001).all(axis=1)]
        np.testing.assert_allclose(np.hypot(*(bent - corner).T), 8.5, atol=0.001)
        assert np.abs(kerb).max() == 52.0


def test_crossings_and_signals(scene):
    east, south = scene.roads.crossings
    assert (east.name, set(east.ends), east.width) == ("crossing 71", {(15.0, -3.5), (15.0, 3.5)}, 4.0)
    assert (south.name, set(south.ends), south.width) == ("crossing 72", {(-3.5, -17.0), (3.5, -17.0)}, 4.0)
    signals = {signal.lanes: signal for signal in scene.roads.signals}
    assert sorted(signals) == [(IN[k],) for k in (1, 2, 3, 4)]
    assert [signals[(IN[k],)].green_at_s for k in (1, 2, 3, 4)] == [0.0, 20.0, 0.0, 20.0]  # opposite arms together
    assert {(s.cycle_s, s.green_s, s.yellow_s) for s in signals.values()} == {(40.0, 14.0, 3.0)}


def test_controllers_say_which_lights_go_together(tmp_path):
    controllers = (
        "".join(f'<controller id="c{k}"><control signalId="5{k}"/></controller>' for k in (1, 2, 3))
        + '<controller id="c4"><control signalId="54"/></controller>'
    )
    text = CROSSROADS.read_text().replace("</OpenDRIVE>", controllers + "</OpenDRIVE>")
    signals = scene_of(text, tmp_path).roads.signals
    assert [(signal.green_at_s, signal.cycle_s) for signal in signals] == [(20.0 * k, 80.0) for k in range(4)]


def test_lights_on_connecting_roads_are_for_the_lanes_before_them(tmp_path):
    text = CROSSROADS.read_text()
    for old in ('dynamic="yes" orientation="-"', 'dynamic="yes" orientation="none"', 'dynamic="yes" orientation="+"'):
        text = text.replace(old, 'dynamic="no" orientation="none"')
    light = '<signal id="8" s="1" t="0" dynamic="yes" orientation="+" type="1000001"/>'
    walk = '<signal id="7" s="1" t="0" dynamic="yes" orientation="+" type="1000002"/>'  # for people on foot
    there = "".join(f'<signalReference id="{k}" s="1" t="0" orientation="-"/>' for k in (8, 59))  # 59 is a sign
    before, after = text.split('id="24" junction="100">')
    text = (
        before + 'id="24" junction="100">' + after.replace("</lanes>", f"</lanes><signals>{walk}{light}</signals>", 1)
    )
    [signal] = scene_of(text, tmp_path).roads.signals
    assert signal.lanes == (IN[2],)  # road 24 leads from road 2 in the direction of s
    text = text.replace(light, light + there)
    [signal] = scene_of(text, tmp_path).roads.signals
    assert signal.lanes == (IN[2], IN[4])


def test_priorities_order_connecting_roads(tmp_path):
    ranks = '<priority high="13" low="24"/><priority high="24" low="41"/>'
    text = CROSSROADS.read_text().replace("</junction>", ranks + "</junction>")
    lanes = lanes_of(scene_of(text, tmp_path))
    assert [lanes[f"road {k} lane -1"].priority for k in (41, 24, 13, 31, 14)] == [0, 2, 4, 0, -1]
    text = text.replace(ranks, ranks + '<priority high="41" low="13"/>')
    with pytest.raises(BadInput, match=r"junction '100': .*priority over each other"):
        scene_of(text, tmp_path)


def test_lane_links_may_be_left_out_where_numbers_are_the_same(tmp_path):
    link = '<laneLink from="-1" to="-1"/>'
    assert CROSSROADS.read_text().count(link) == 5
    whole = lanes_of(scene_of(CROSSROADS.read_text(), tmp_path))
    assert lanes_of(scene_of(CROSSROADS.read_text().replace(link, ""), tmp_path)) == whole


def test_widths_offsets_and_sections(tmp_path):
    """A road of 20 m. Over the second half its lane grows from 3 m to 5 m; the middle of the road is 1 m further to the
    left there, at once."""
    text = file(
        road(
            '<laneOffset s="0" a="0"/><laneOffset s="10" a="1"/>'
            + section(right=lane(-1, inside='<link><successor id="-1"/></link>'))
            + section(right=lane(-1, width='a="3" b="0" c="0.06" d="-0.004"'), s=10)
        )
    )
    scene = scene_of(text, tmp_path)
    lanes = lanes_of(scene)
    assert lanes["road 1.0 lane -1"].points == ((0.0, -1.5), (10.0, -1.5))
    second = np.array(lanes["road 1.1 lane -1"].points)
    p = np.arange(11.0)
    width = 3.0 + 0.06 * p * p - 0.004 * p * p * p  # 3 m … 5 m, level at both ends
    np.testing.assert_allclose(second, np.stack([10.0 + p, 1.0 - width / 2], axis=1), atol=0.0006)
    assert lanes["road 1.1 lane -1"].width == pytest.approx(4.0, abs=0.01)
    assert lanes["road 1.0 lane -1"].next == ("road 1.1 lane -1",)
    [surface] = [region for region in scene.regions if region.kind == "road"]
    assert shapely.Polygon(surface.polygon).area == pytest.approx(30.0 + 40.0, abs=0.05)


def test_kinds_of_lanes(tmp_path):
    lanes = lane(-1) + lane(-2, "parking", 'a="2"') + lane(-3, "curb", 'a="0.2"') + lane(-4, "walking", 'a="2"')
    left = lane(2, "none", 'a="5"') + lane(1, "median", 'a="1"')
    scene = scene_of(file(road(section(left, lanes))), tmp_path)
    boxes = {r.kind: shapely.Polygon(r.polygon).bounds for r in scene.regions}
    assert boxes == {
        "road": (0.0, -5.0, 20.0, 0.0),
        "kerb": (0.0, -5.2, 20.0, -5.0),
        "sidewalk": (0.0, -7.2, 20.0, -5.2),
        "verge": (0.0, 0.0, 20.0, 1.0),
    }
    assert list(lanes_of(scene)) == ["road 1 lane -1"]
    kerbs = [mark.points for mark in scene.roads.markings]
    assert sorted(kerbs) == [((0.0, -5.0), (20.0, -5.0)), ((0.0, 0.0), (20.0, 0.0))]


def test_narrow_lanes_are_asphalt_only(tmp_path):
    text = file(road(section(right=lane(-1, width='a="0.9"') + lane(-2, width='a="0" b="0.2"'))))
    found = lanes_of(scene_of(text, tmp_path))
    assert {name: item.width for name, item in found.items()} == {"road 1 lane -2": 2.0}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [("broken broken", "broken"), ("solid broken", "solid"), ("solid solid", "double_solid"), ("curb", "kerb")],
)
def test_kinds_of_marks(tmp_path, kind, expected):
    mark = f'<roadMark sOffset="5" type="{kind}"/><roadMark sOffset="15" type="none"/>'
    scene = scene_of(file(road(section(right=lane(-1, inside=mark)))), tmp_path)
    [found] = scene.roads.markings
    assert (found.kind, found.points) == (expected, ((5.0, -3.0), (15.0, -3.0)))


@pytest.mark.parametrize(
    ("about", "expected"),
    [
        ("", 13.9),
        ('<type s="0"><speed max="10"/></type>', 10.0),
        ('<type s="0"><speed max="36" unit="km/h"/></type>', 10.0),
        ('<type s="0"><speed max="10" unit="mph"/></type>', 4.47),
        ('<type s="0"><speed max="no limit"/></type>', 13.9),
        ('<type s="0"><speed max="10"/></type><type s="5"><speed max="3"/></type>', 10.0),
    ],
)
def test_speed_limits(tmp_path, about, expected):
    lanes = section(right=lane(-1) + lane(-2, inside='<speed sOffset="0" max="7"/>'))
    found = lanes_of(scene_of(file(road(lanes, inside=about)), tmp_path))
    assert [item.speed_limit for item in found.values()] == [expected, 7.0]


@pytest.mark.parametrize(
    ("described", "ends", "width"),
    [
        # nearly square: people walk across the road
        ('s="10" t="0" length="5" width="6"/>', {(10.0, -3.0), (10.0, 3.0)}, 5.0),
        # turned by a quarter: the length is across
        (f's="10" t="1" hdg="{pi / 2}" length="9" width="3"/>', {(10.0, -3.5), (10.0, 5.5)}, 3.0),
        # a trapezium across the road
        (
            's="10" t="0"><outline><cornerRoad s="5" t="3.5"/><cornerRoad s="8" t="-3.5"/><cornerRoad s="12" t="-3.5"/>'
            '<cornerRoad s="15" t="3.5"/></outline></object>',
            {(10.0, -3.5), (10.0, 3.5)},
            7.0,
        ),
        # five corners: the rectangle along the road that holds them
        (
            's="10" t="0"><outline><cornerLocal u="-2" v="-3"/><cornerLocal u="2" v="-3"/><cornerLocal u="2" v="3"/>'
            '<cornerLocal u="0" v="4"/><cornerLocal u="-2" v="3"/></outline></object>',
            {(10.0, -3.0), (10.0, 4.0)},
            4.0,
        ),
    ],
)
def test_crosswalks(tmp_path, described, ends, width):
    inside = f'<objects><object id="9" type="crosswalk" {described}</objects>'
    [crossing] = scene_of(file(road(section(right=lane(-1)), inside=inside)), tmp_path).roads.crossings
    assert (set(crossing.ends), crossing.width) == (ends, pytest.approx(width))


def test_a_bend_tighter_than_the_road_is_wide(tmp_path):
    """Radius 3 m, 5 m of lane on the inner side: its border goes backwards, the scene is valid all the same."""
    arc = f'<geometry s="0" x="0" y="0" hdg="0" length="{3 * pi}"><arc curvature="-0.3333333333333333"/></geometry>'
    scene = scene_of(file(road(section(right=lane(-1, width='a="5"')), arc, 3 * pi)), tmp_path)
    compile_scene(scene)
    assert sum(shapely.Polygon(r.polygon).area for r in scene.regions if r.kind == "road") > 10.0


def test_namespaces_and_names(tmp_path):
    text = CROSSROADS.read_text().replace("<OpenDRIVE>", '<OpenDRIVE xmlns="http://example.com/opendrive">')
    scene = scene_of(text.replace('name="crossroads" ', ""), tmp_path)
    assert scene.name == "some"
    assert scene.source == "OpenDRIVE some.xodr"
    assert len(scene.roads.lanes) == 22


def test_found_as_a_scene_file(tmp_path, scene):
    (tmp_path / "crossroads.xodr").write_bytes(CROSSROADS.read_bytes())
    assert resolve_scene("crossroads.xodr", tmp_path) == scene
    with pytest.raises(BadInput, match=r"did you mean 'crossroads\.xodr'"):
        resolve_scene("crosroads.xodr", tmp_path)


def test_the_same_bits_everywhere(tmp_path, scene):
    spiral = '<geometry s="0" x="0" y="0" hdg="0.3" length="20"><spiral curvStart="0" curvEnd="0.05"/></geometry>'
    text = file(road(section(lane(1), lane(-1)), spiral))
    bent = scene_of(text, tmp_path)
    with perturbed(seed=1):
        assert read_opendrive(CROSSROADS) == scene
        assert scene_of(text, tmp_path) == bent


def test_traffic_drives_along_the_lanes(scene):
    """Vehicles stay on the lines that they were given, wait for the lights, and all leave in the end."""
    robot = RobotPlacement(spec="point", start=(45.0, 40.0, 0.0), goal=(45.0, 45.0))
    scenario = Scenario(
        name="crossroads", scene=scene, robots=(robot,), lane_traffic=LaneTraffic(count=(5, 5), kinds={"car": 1.0}),
        rules=Rules(step_s=0.1, time_limit_s=50.0, ends_on=("timeout",)),
    )  # fmt: skip
    record = run_episode(scenario, Stop(), seed=2)
    graph = LaneGraph(scene.roads, "crossroads")
    assert len(record.scenario.traffic) == 5
    for k, vehicle in enumerate(record.scenario.traffic):
        pose = record.other_pose[:, k]
        there = pose[np.isfinite(pose[:, 0])]
        assert len(there) < len(pose)
        line = shapely.LineString(graph.line(vehicle.parameters["lanes"]))
        assert shapely.distance(line, shapely.points(there[:, :2])).max() < 0.4
        assert shapely.Point(there[-1, :2]).distance(shapely.Point(line.coords[-1])) < 3.0


@pytest.mark.parametrize("seed", range(60))
def test_damaged_files(tmp_path, seed):
    path = tmp_path / "bad.xodr"
    path.write_bytes(damage(seed, CROSSROADS.read_bytes()))
    message = ""
    with within(10.0, 700_000_000):
        try:
            compile_scene(read_opendrive(path))
        except BadInput as error:
            message = str(error)
    assert len(message.replace(str(path), "")) < 600
    assert not message or str(path) in message or "regions[" in message
