"""OpenStreetMap extracts: areas computed by hand, the graph, and files that cannot be used."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
import shapely
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.places import osm_place, read_osm
from sidestep.scenes.places.osm_file import OsmOptions, building_height, metres, road_width, sidewalk_width
from sidestep.types.scene import OPEN, SceneSpec
from tests.scenes.places.extracts import Extract, street


def areas(scene: SceneSpec) -> dict[str, float]:
    found: dict[str, float] = defaultdict(float)
    for region in scene.regions:
        found[region.kind] += shapely.Polygon(region.polygon, region.holes).area
    return found


def test_road_with_sidewalks(tmp_path):
    scene = read_osm(street().write(tmp_path / "a.osm"))
    assert scene.name == "a"
    found = areas(scene)
    assert found["sidewalk"] == pytest.approx(2 * 2 * 100, abs=0.1)
    assert found["kerb"] == pytest.approx(2 * 0.15 * 100, abs=0.1)
    assert found["road"] == pytest.approx(6 * 100 - 30, abs=0.1)
    low, high = np.array(compile_scene(scene).bounds).reshape(2, 2)
    assert low == pytest.approx((-50, -5), abs=2e-3)
    assert high == pytest.approx((50, 5), abs=2e-3)


def test_crossing_node_makes_a_crosswalk_with_ramps_and_a_way_over_it(tmp_path):
    extract = street()
    extract.node(0, 0, highway="crossing")
    place = osm_place(extract.write(tmp_path / "a.osm"))
    found = areas(place.scene)
    assert found["crosswalk"] == pytest.approx(3 * 6, abs=0.05)
    assert found["ramp"] == pytest.approx(2 * 3 * 1, abs=0.05)
    assert found["sidewalk"] == pytest.approx(400 - 6, abs=0.1)
    assert found["kerb"] == pytest.approx(2 * 0.15 * 97, abs=0.1)
    assert sorted(edge["kind"] for *_, edge in place.graph.edges(data=True)) == ["crosswalk"] + 4 * ["sidewalk"]
    over = next(edge for *_, edge in place.graph.edges(data=True) if edge["kind"] == "crosswalk")
    assert (over["length"], over["width"]) == pytest.approx((8.0, 3.0), abs=0.05)
    ends = sorted(place.graph.nodes[node]["xy"] for node in place.graph)
    assert len(ends) == 6
    assert ends[2] == pytest.approx((0, -4), abs=0.05)
    west = [node for node in place.graph if place.graph.nodes[node]["xy"][0] < -40]
    route = place.route(*west)
    assert route.length == pytest.approx(49.7 * 2 + 8, abs=4)  # corners are rounded, ends are cut
    assert set(route.kinds) == {"sidewalk", "crosswalk"}


def test_crossing_marked_as_none_is_none(tmp_path):
    extract = street()
    extract.node(0, 0, highway="crossing", crossing="no")
    assert "crosswalk" not in areas(read_osm(extract.write(tmp_path / "a.osm")))


@pytest.mark.parametrize(("sidewalk", "sign"), [("left", 1), ("right", -1)])
def test_sidewalk_on_one_side(tmp_path, sidewalk, sign):
    scene = read_osm(street(sidewalk).write(tmp_path / "a.osm"))
    assert areas(scene)["sidewalk"] == pytest.approx(200, abs=0.1)
    (only,) = (region for region in scene.regions if region.kind == "sidewalk")
    assert (sign * np.array(only.polygon)[:, 1] > 2.9).all()


def test_drawn_sidewalks_and_crossing_with_a_verge(tmp_path):
    """The ramps reach over the verge of 2 m on either side."""
    extract = street("separate")
    for y in (-6, 6):
        extract.way([(-50, y), (0, y), (50, y)], {"highway": "footway", "footway": "sidewalk", "width": "2"})
    extract.way([(0, -6), (0, 0), (0, 6)], {"highway": "footway", "footway": "crossing", "width": "3"})
    place = osm_place(extract.write(tmp_path / "a.osm"))
    found = areas(place.scene)
    assert found["sidewalk"] == pytest.approx(400, abs=0.1)
    assert found["crosswalk"] == pytest.approx(18, abs=0.05)
    assert found["ramp"] == pytest.approx(2 * 3 * 2, abs=0.05)
    assert "kerb" not in found  # the verge is between
    assert place.walkable_area.geom_type == "Polygon"
    assert place.graph.number_of_edges() == 5


def test_bend_between_two_ways_is_filled(tmp_path):
    """A right angle: outside the bend a quarter of a disc, inside it the kerb's fillet."""
    extract = Extract()
    tags = {"highway": "residential", "sidewalk": "both"}
    extract.way([(-50, 0), (0, 0)], tags)
    extract.way([(0, 0), (0, 50)], tags)
    plain = read_osm(extract.write(tmp_path / "a.osm"), corner_radius=0.0)
    found = areas(plain)
    road = 2 * 6 * 50 - 9 + np.pi * 9 / 4  # strips, less the inner corner counted twice, and the quarter
    assert found["road"] + found["kerb"] == pytest.approx(road, abs=0.3)
    outer = np.pi * (25 - 9) / 4 + 2 * 2 * 50
    inner = 2 * 2 * 47 - 2 * 2
    assert found["sidewalk"] == pytest.approx(outer + inner, abs=0.4)
    rounded = areas(read_osm(extract.write(tmp_path / "a.osm")))
    fillet = 16 * (1 - np.pi / 4)  # radius 4 m
    assert rounded["road"] + rounded["kerb"] == pytest.approx(road + fillet, abs=0.4)


def test_building_with_a_courtyard_and_heights(tmp_path):
    extract = street()
    outer, inner = extract.area(10, 10, 30, 30, {}), extract.area(15, 15, 25, 25, {})
    extract.relations.append(
        ([(outer, "outer"), (inner, "inner")], {"type": "multipolygon", "building": "yes", "building:levels": "3"})
    )
    extract.area(-30, 10, -20, 20, {"building": "house", "height": "8.4 m"})
    extract.area(-10, 10, 0, 20, {"building": "roof"})
    extract.relations.append(([(99, "outer")], {"type": "multipolygon", "building": "yes"}))  # not in the extract
    buildings = [region for region in read_osm(extract.write(tmp_path / "a.osm")).regions if region.kind == "building"]
    found = sorted((shapely.Polygon(r.polygon, r.holes).area, r.height) for r in buildings)
    assert found == [pytest.approx((100, 8.4), abs=0.05), pytest.approx((300, 9.0), abs=0.05)]


def test_building_takes_the_ground(tmp_path):
    extract = street()
    extract.area(-10, 4, 10, 20, {"building": "yes"})
    assert areas(read_osm(extract.write(tmp_path / "a.osm")))["sidewalk"] == pytest.approx(400 - 20, abs=0.1)


def test_square_is_sidewalk_and_lawn_is_what_is_left(tmp_path):
    extract = street()
    extract.area(-10, 5, 10, 15, {"highway": "pedestrian", "area": "yes"})
    extract.area(-20, 5, 20, 25, {"leisure": "park"})
    found = areas(read_osm(extract.write(tmp_path / "a.osm")))
    assert found["sidewalk"] == pytest.approx(400 + 200, abs=0.1)
    assert found["grass"] == pytest.approx(800 - 200, abs=0.1)


def test_things_get_the_names_of_the_towns_and_none_stands_on_the_road(tmp_path):
    extract = street()
    extract.node(5, 4.5, natural="tree", height="9")
    extract.node(10, 4.0, amenity="bench")
    extract.node(15, 4.0, amenity="bench", direction="90")
    extract.node(20, 0.0, highway="street_lamp")
    extract.node(25, 4.5, highway="street_lamp")
    extract.node(30, 4.5, emergency="fire_hydrant")
    extract.node(35, 4.5, amenity="waste_basket")
    extract.node(40, 4.5, barrier="bollard")
    extract.node(-5, 4.5, highway="bus_stop")
    extract.way([(-40, 6), (-30, 6)], {"barrier": "hedge"})
    scene = read_osm(extract.write(tmp_path / "a.osm"))
    things = [region for region in scene.regions if region.kind not in OPEN]
    names = sorted(region.name for region in things)
    assert names == sorted(
        ["tree", "bench", "bench", "lamp post", "hydrant", "litter bin", "bollard", "sign post", "hedge"]
    )
    assert next(region.height for region in things if region.name == "tree") == 9.0
    spans = [np.ptp(np.array(region.polygon), axis=0) for region in things if region.name == "bench"]
    assert spans[0] == pytest.approx((1.8, 0.5), abs=0.01)  # along the sidewalk
    assert spans[1] == pytest.approx((0.5, 1.8), abs=0.01)  # looking east
    assert {region.kind for region in things} == {"obstacle", "furniture"}


def test_bounds_cut_and_centre_the_extract(tmp_path):
    extract = street()
    extract.bounds = "<bounds minlon='-0.0001796' maxlon='0.0001796' minlat='-0.0001' maxlat='0.0001'/>"  # 40 m wide
    assert areas(read_osm(extract.write(tmp_path / "a.osm")))["sidewalk"] == pytest.approx(4 * 40, abs=0.2)


def test_options_are_checked(tmp_path):
    file = street().write(tmp_path / "a.osm")
    assert areas(read_osm(file, sidewalk_width=3.0))["sidewalk"] == pytest.approx(600, abs=0.1)
    with pytest.raises(BadInput, match="sidewalk_width"):
        read_osm(file, sidewalk_widht=3.0)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12", 12),
        ("12.5 m", 12.5),
        ("3,5", 3.5),
        ("10 ft", 3.048),
        ("6'", 1.8288),
        ("6'6\"", 1.9812),
        ("wide", None),
        ("0", None),
    ],
)
def test_metres(text, value):
    assert metres(text) == (None if value is None else pytest.approx(value))


def test_widths_and_heights_of_tags():
    options = OsmOptions()
    assert road_width({"highway": "residential"}) == 6.0
    assert road_width({"highway": "residential", "lanes": "1"}) == 3.0
    assert road_width({"highway": "primary", "width": "11"}) == 11.0
    assert sidewalk_width({"sidewalk": "both", "sidewalk:left:width": "3"}, "left", options) == 3.0
    assert sidewalk_width({"sidewalk": "both", "sidewalk:left:width": "3"}, "right", options) == 2.0
    assert sidewalk_width({"sidewalk:both": "separate"}, "left", options) is None
    assert sidewalk_width({"sidewalk": "no", "sidewalk:right": "yes"}, "right", options) == 2.0
    assert building_height({"building:levels": "2"}, options) == 6.0
    assert building_height({}, options) == options.building_height


WAYS = st.lists(
    st.tuples(
        st.sampled_from(["residential", "tertiary", "footway", "sidewalk", "crossing", "square", "building"]),
        st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=3, max_size=5, unique=True),
        st.sampled_from(["both", "left", "right", "no"]),
    ),
    min_size=1,
    max_size=6,
)


@given(WAYS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_open_regions_never_overlap(tmp_path, ways):
    extract = street()
    extract.node(0, 0, highway="crossing")
    for kind, places, sidewalk in ways:
        points = [(7.0 * x + 0.3 * y, 7.0 * y) for x, y in places]
        if kind in ("square", "building"):
            tags = {"building": "yes"} if kind == "building" else {"highway": "pedestrian", "area": "yes"}
            extract.way([*points, points[0]], tags)
        elif kind in ("sidewalk", "crossing"):
            extract.way(points, {"highway": "footway", "footway": kind})
        else:
            extract.way(points, {"highway": kind, "sidewalk": sidewalk})
    place = osm_place(extract.write(tmp_path / "any.osm"))
    polygons = [shapely.Polygon(r.polygon, r.holes) for r in place.scene.regions if r.kind in OPEN]
    assert all(polygon.is_valid for polygon in polygons)
    tree = shapely.STRtree(polygons)
    pairs = [(a, b) for a, b in tree.query(polygons, predicate="intersects").T.tolist() if a < b]
    assert max((polygons[a].intersection(polygons[b]).area for a, b in pairs), default=0.0) < 1e-3
    for a, b in combinations(place.graph, 2):
        assert place.graph.nodes[a]["xy"] != place.graph.nodes[b]["xy"]


NODES = "<node id='1' lon='0' lat='0'/><node id='2' lon='0.001' lat='0'/>"
WAY = "<way id='7'><nd ref='1'/><nd ref='2'/><tag k='highway' v='{}'/></way>"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("no xml at all", "not valid XML"),
        ("<osm><node id='1'", "line 1"),
        ("<gpx/>", "<gpx>, not <osm>"),
        ("<osm/>", "no nodes"),
        (f"<osm>{NODES}</osm>", "no walkable way"),
        (f"<osm>{NODES}{WAY.format('residential')}</osm>", "no walkable way.*sidewalk=both"),
        (f"<osm>{NODES}{WAY.format('steps')}</osm>", "no walkable way"),
        ("<osm><node id='1' lon='0' lat='nan'/></osm>", "node 1.*not on Earth"),
        ("<osm><node id='1' lon='inf' lat='0'/></osm>", "not on Earth"),
        ("<osm><node id='1' lon='x' lat='0'/></osm>", "must be numbers"),
        ("<osm><node id='1' lon='0' lat='95'/></osm>", "not on Earth"),
        (
            f"<osm>{NODES}<way id='7'><nd ref='1'/><nd ref='8'/><nd ref='9'/></way></osm>",
            "2 of the 3 nodes.*way 7 → node 8.*complete ways",
        ),
        ("<osm><node id='1' lon='0' lat='0'/><node id='2' lon='0.3' lat='0'/></osm>", "33 km across.*20 km"),
        ("<!DOCTYPE osm [<!ENTITY a 'b'>]><osm>&a;</osm>", "document type"),
    ],
)
def test_files_that_cannot_be_used(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "bad.osm"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        read_osm(file)


def test_file_that_is_not_there_or_too_large(tmp_path, monkeypatch):
    with pytest.raises(BadInput, match=r"no such \.osm extract"):
        read_osm(tmp_path / "none.osm")
    monkeypatch.setattr("sidestep.scenes.places.osm_file.LARGEST_FILE", 10)
    with pytest.raises(BadInput, match="MB, the limit"):
        read_osm(street().write(tmp_path / "a.osm"))


def test_scenarios_name_extracts_by_path(tmp_path):
    street().write(tmp_path / "a.osm")
    assert resolve_scene("a.osm", tmp_path).name == "a"
    with pytest.raises(BadInput, match=r"a\.osm"):
        resolve_scene("b.osm", tmp_path)


def test_deleted_things_are_not_there(tmp_path):
    text = street().write(tmp_path / "a.osm").read_text(encoding="utf-8")
    extra = "<node id='90' visible='false' lon='5' lat='5'/><way id='9' action='delete'><nd ref='90'/></way></osm>"
    (tmp_path / "a.osm").write_text(text.replace("</osm>", extra), encoding="utf-8")
    assert areas(read_osm(tmp_path / "a.osm"))["sidewalk"] == pytest.approx(400, abs=0.1)
