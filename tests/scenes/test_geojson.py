"""GeoJSON: regions there and back, walls from lines, degrees to metres, and files that cannot be read."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
import shapely
from hypothesis import given, settings

from sidestep.errors import BadInput
from sidestep.scenes.geojson import from_geojson, read_geojson, tangent_plane, to_geojson
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.plans import load_plan, plan_names
from sidestep.types.road import Crossing, Lane, Marking, ParkingBay, Roads, Signal
from sidestep.types.scene import Region, SceneSpec

from .drawing import scenes


def collection(*features, **members):
    return {"type": "FeatureCollection", "features": list(features), **members}


def feature(kind_of_geometry, coordinates, **properties):
    return {
        "type": "Feature",
        "properties": properties,
        "geometry": {"type": kind_of_geometry, "coordinates": coordinates},
    }


SQUARE = [[0, 0], [4, 0], [4, 4], [0, 4], [0, 0]]


@pytest.mark.parametrize("name", plan_names())
def test_plans_come_back_unchanged(name):
    spec = load_plan(name)
    assert from_geojson(json.loads(json.dumps(to_geojson(spec))), "x") == spec


@settings(max_examples=40, deadline=None, derandomize=True)
@given(scenes())
def test_scenes_come_back_unchanged(spec):
    assert from_geojson(json.loads(json.dumps(to_geojson(spec))), "x") == spec


def test_holes_and_heights_come_back():
    region = Region(
        kind="building",
        polygon=((0, 0), (9, 0), (9, 9)),
        holes=(((5, 1), (6, 1), (6, 2)),),
        height=3.5,
        name="tower",
    )
    spec = SceneSpec(name="s", regions=(region,), source="me")
    assert from_geojson(to_geojson(spec), "x") == spec


@pytest.mark.parametrize("name", ["intersection:intersectnav_0", "intersection:intersectnav_5"])
def test_roads_come_back(name):
    spec = resolve_scene(name)
    assert spec.roads is not None
    assert spec.roads.lanes
    assert from_geojson(json.loads(json.dumps(to_geojson(spec))), "x") == spec


ROADS = Roads(
    lanes=(
        Lane(name="in", points=((0, 0), (9, 0)), next=("on",)),
        Lane(name="on", points=((9, 0), (20, 0)), turn="left"),
    ),
    markings=(Marking(kind="double_solid", points=((0, 2), (9, 2)), colour="yellow"),),
    crossings=(Crossing(name="zebra", ends=((5, -4), (5, 4))),),
    signals=(Signal(name="light", lanes=("in",), green_at_s=3.0),),
    parking=(ParkingBay(middle=(3, -3), heading=0.5),),
)


def test_every_part_of_roads_comes_back_and_follows_the_origin():
    spec = SceneSpec(name="s", roads=ROADS)
    data = json.loads(json.dumps(to_geojson(spec)))
    assert from_geojson(data, "x") == spec
    assert from_geojson(to_geojson(SceneSpec(name="s", roads=Roads())), "x").roads == Roads()
    assert "roads" not in to_geojson(SceneSpec(name="s"))["scene"]
    data["scene"]["origin"] = [1.0, 2.0]
    moved = from_geojson(data, "x").roads
    assert moved.lanes[1].points == ((8, -2), (19, -2))
    assert moved.markings[0].points == ((-1, 0), (8, 0))
    assert moved.crossings[0].ends == ((4, -6), (4, 2))
    assert moved.parking[0].middle == (2, -5)
    assert moved.lanes[1].turn == "left"
    assert moved.signals == ROADS.signals


def test_roads_in_degrees_are_projected_with_the_regions():
    """A hundredth of a degree of latitude at 47 degrees is 1111.7 m."""
    roads = {"lanes": [{"name": "north", "points": [[8.5, 47.0], [8.5, 47.01]]}]}
    spec = from_geojson(collection(scene={"crs": "wgs84", "origin": [8.5, 47.0], "roads": roads}), "x")
    assert spec.roads.lanes[0].points[0] == pytest.approx((0.0, 0.0))
    assert spec.roads.lanes[0].points[1] == pytest.approx((0.0, 1111.7), abs=0.5)


def test_roads_that_lead_nowhere_are_named():
    roads = {"lanes": [{"name": "a", "points": [[0, 0], [1, 0]], "next": ["b"]}]}
    with pytest.raises(BadInput, match=r"x: scene.*'a' continues on 'b'"):
        from_geojson(collection(scene={"roads": roads}), "x")


def test_multipolygon_becomes_several_regions_and_altitude_is_dropped():
    parts = [[[[0, 0, 7], [1, 0, 7], [1, 1, 7], [0, 0, 7]]], [[[5, 5], [6, 5], [6, 6], [5, 5]]]]
    spec = from_geojson(collection(feature("MultiPolygon", parts, kind="grass", name="lawn")), "x")
    assert [(r.kind, r.name, len(r.polygon)) for r in spec.regions] == [("grass", "lawn", 3)] * 2


def test_line_with_a_width_becomes_a_wall():
    spec = from_geojson(collection(feature("LineString", [[0, 0], [10, 0]], width=0.4)), "x")
    wall = shapely.Polygon(spec.regions[0].polygon)
    assert spec.regions[0].kind == "obstacle"
    assert wall.equals(shapely.box(0, -0.2, 10, 0.2))


def test_closed_line_becomes_a_wall_all_round():
    spec = from_geojson(collection(feature("LineString", SQUARE, width=0.2, kind="building", height=3)), "x")
    (region,) = spec.regions
    polygon = shapely.Polygon(region.polygon, region.holes)
    assert region.height == 3
    assert polygon.equals(shapely.box(-0.1, -0.1, 4.1, 4.1) - shapely.box(0.1, 0.1, 3.9, 3.9))


def test_degrees_become_metres_about_the_first_point():
    """At 45° north a degree is 111 131.8 m along the meridian and 78 846.8 m along the parallel (WGS 84)."""
    second = 1 / 3600
    ring = [[8, 45], [8 + second, 45], [8 + second, 45 + second], [8, 45 + second], [8, 45]]
    spec = from_geojson(collection(feature("Polygon", [ring], kind="road"), scene={"crs": "wgs84"}), "x")
    np.testing.assert_allclose(spec.regions[0].polygon[:2], [(0, 0), (78846.8 * second, 0)], atol=1e-4)
    np.testing.assert_allclose(spec.regions[0].polygon[3], (0, 111131.8 * second), atol=1e-4)
    legacy = {"type": "name", "properties": {"name": "urn:ogc:def:crs:OGC:1.3:CRS84"}}
    assert from_geojson(collection(feature("Polygon", [ring], kind="road"), crs=legacy), "x") == spec
    assert from_geojson(collection(feature("Polygon", [ring], kind="road")), "x", crs="wgs84") == spec


def test_tangent_plane_at_the_equator_and_its_distortion():
    """A degree of longitude on the equator is 6378137 m x pi / 180; the plane shows its sine."""
    x, y = tangent_plane(np.array([[1.0, 0.0]]), np.zeros(2))[0]
    assert x == pytest.approx(6378137 * math.sin(math.radians(1)), rel=1e-12)
    assert y == 0
    near = tangent_plane(np.array([[0.045, 0.0]]), np.zeros(2))[0, 0]  # 5 km
    assert near == pytest.approx(6378137 * math.radians(0.045), rel=1e-6)


def test_origin_moves_the_scene():
    ring = [[500000, 5000000], [500004, 5000000], [500004, 5000003], [500000, 5000000]]
    spec = from_geojson(collection(feature("Polygon", [ring], kind="road"), scene={"origin": [500000, 5000000]}), "x")
    assert spec.regions[0].polygon == ((0, 0), (4, 0), (4, 3))


def test_file_gives_name_and_source(tmp_path):
    path = tmp_path / "yard.geojson"
    path.write_text(json.dumps(collection(feature("Polygon", [SQUARE], kind="walkable"), scene={"enclosed": True})))
    spec = read_geojson(path)
    assert (spec.name, spec.source, spec.enclosed) == ("yard", "GeoJSON yard.geojson", True)
    assert spec.regions[0].polygon == ((0, 0), (4, 0), (4, 4), (0, 4))


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ([], "expected a GeoJSON FeatureCollection"),
        (
            collection(feature("Polygon", [SQUARE], kind="biulding")),
            r"features\[0\]: unknown kind 'biulding'; did you mean 'building'",
        ),
        (
            collection(feature("Polygon", [SQUARE], name="hut")),
            r"features\[0\] \('hut'\): property kind is missing; one of: obstacle",
        ),
        (
            collection(feature("Polygon", [SQUARE], kind="road", Heigth=2)),
            "'Heigth' is not read; did you mean 'height'",
        ),
        (collection(feature("LineString", [[0, 0], [1, 0]])), "needs a property width > 0"),
        (
            collection(feature("LineString", [[0, 0], [0, 0]], width=1), scene={"crs": "local"}),
            "a wall needs 2 different positions",
        ),
        (collection(feature("Point", [0, 0], kind="obstacle")), "a Point cannot be part of a scene; use Polygon"),
        (
            collection(feature("Polygon", [[[0, 0], [1, "a"], [1, 1]]], kind="road")),
            r"lists of \[x, y\] numbers",
        ),
        (
            collection(feature("Polygon", [[[0, 0], [1, 0], [0, 0]]], kind="road")),
            "at least 3 corners, got 2",
        ),
        (collection(feature("Polygon", [], kind="road")), "at least 3 corners, got 0"),
        (
            collection(feature("Polygon", [SQUARE], kind="road", height=-1)),
            r"features\[0\]: height.*at least 0",
        ),
        (
            collection({"type": "Feature", "properties": {}, "geometry": None}),
            "expected a Feature with a geometry",
        ),
        (
            collection(feature("Polygon", [SQUARE], kind="road"), scene={"enclozed": True}),
            "unknown key 'enclozed'; did you mean 'enclosed'",
        ),
        (
            collection(feature("Polygon", [SQUARE], kind="road"), crs="EPSG:2056"),
            "EPSG:2056 is not read; export as WGS 84",
        ),
        (
            collection(feature("Polygon", [[[8, 45], [8.001, 45], [8.001, 45.001], [8, 45]]], kind="road")),
            'looks like degrees; add "scene": {"crs": "wgs84"}',
        ),
        (
            collection(feature("Polygon", [[[0, 0], [400, 0], [0, 9], [0, 0]]], kind="road"), scene={"crs": "wgs84"}),
            r"\(400, 0\) is not a longitude",
        ),
        (
            collection(feature("Polygon", [[[0, 0], [float("nan"), 0], [0, 9], [0, 0]]], kind="road")),
            "finite",
        ),
    ],
)
def test_what_cannot_be_read_is_said(data, message):
    with pytest.raises(BadInput, match=message) as caught:
        from_geojson(data, "yard.geojson")
    assert str(caught.value).startswith("yard.geojson")
