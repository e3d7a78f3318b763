"""Roads of towns: lanes that keep right and follow on each other, crossings, parking bays, and what a window has."""

from __future__ import annotations

from dataclasses import fields
from itertools import pairwise
from math import pi

import numpy as np
import pytest
import shapely

from sidestep.render.scene import build_scene
from sidestep.scenes.compile import compile_scene, region_polygon
from sidestep.scenes.load import resolve_scene
from sidestep.scenes.towns import make_town
from sidestep.scenes.towns.roads import BAY, PARKED_FROM, SHORTEST_ENTRY_M, lane_offset
from sidestep.scenes.walkways import turn_between, unit
from sidestep.simulation.traffic import LaneGraph, draw_vehicles
from sidestep.types.road import Roads
from sidestep.types.scenario import LaneTraffic

SEED = 0
NO_STREET = "town:Alderwick@-1000,-1000,-960,-960"
"""A corner of the town, where the outermost street does not come."""


@pytest.fixture(scope="module")
def town():
    return make_town(SEED)


def window_at(town, kind: str, half: float = 35.0):
    """A window about the first block of a kind, with roads."""
    x, y = next(block.xy for block in town.blocks if block.kind == kind)
    return town.window((x - half, y - half, x + half, y + half), roads=True)


def polygon_of(region) -> shapely.Geometry:
    return region_polygon(region, "here")


def paved(scene) -> shapely.Geometry:
    return shapely.union_all([polygon_of(r) for r in scene.regions if r.kind in ("road", "crosswalk")])


def test_lanes_keep_right_of_the_middle_of_their_street(town):
    for number, street in enumerate(town.streets):
        along, back = town.roads.lanes[2 * number], town.roads.lanes[2 * number + 1]
        ahead = street.tangents[0]
        for lane, direction, start in (
            (along, ahead, street.centre[0]),
            (back, -street.tangents[-1], street.centre[-1]),
        ):
            gap = lane.points[0] - start
            right = gap[0] * direction[1] - gap[1] * direction[0]
            assert right == pytest.approx(lane_offset(street))
        assert 1.0 < lane_offset(street) < street.road_half - 1.0  # a van is 2 m wide


def test_two_vans_pass_each_other_and_parked_cars(town):
    """A van's half width is 1 m; cars that are part of the town stand up to 1.99 m from the kerb."""
    for street in town.streets:
        assert lane_offset(street) >= 1.15
        if street.road_half > PARKED_FROM:
            assert lane_offset(street) + 1.0 < street.road_half - 1.99


def test_lanes_follow_on_each_other_without_a_gap_or_a_kink(town):
    lanes = town.roads.lanes
    for lane in lanes:
        for number in lane.next:
            np.testing.assert_allclose(lanes[number].points[0], lane.points[-1], atol=1e-9)
            end, begin = (
                unit(lane.points[-1] - lane.points[-2]),
                unit(lanes[number].points[1] - lanes[number].points[0]),
            )
            assert abs(turn_between(end, begin)) < 0.25
    assert all(lane.next for lane in lanes)  # a town has no dead ends
    assert all((lanes[number].turn is None) != (lane.turn is None) for lane in lanes for number in lane.next)


def test_every_way_through_a_junction_and_its_priority(town):
    for arms in town.network.arms:
        for street, end in arms:
            into = town.roads.lanes[2 * street + (1 if end == 0 else 0)]
            through = [town.roads.lanes[number] for number in into.next]
            out = {number for lane in through for number in lane.next}
            assert out == {2 * s + (0 if e == 0 else 1) for s, e in arms if (s, e) != (street, end)}
            main = 2 * int(town.network.chains[street].arterial)
            assert {lane.priority for lane in through} <= {main, main - 1}
            for lane in through:
                assert lane.priority == main or lane.turn == "left"


def test_turns_are_as_the_lanes_turn(town):
    for lane in town.roads.lanes:
        if lane.turn is not None:
            angle = turn_between(unit(lane.points[1] - lane.points[0]), unit(lane.points[-1] - lane.points[-2]))
            wanted = "straight" if abs(angle) < np.radians(42) else "left" if angle > 0 else "right"
            assert lane.turn == wanted or abs(abs(angle) - np.radians(42)) < 0.2


def test_a_roundabout_is_driven_against_the_clock(town):
    junction = int(np.flatnonzero(town.rounds)[0])
    lanes = [lane for lane in town.roads.lanes if lane.name.startswith(f"junction {junction}:")]
    centre = town.network.junctions[junction]
    assert len(lanes) == 12
    for lane in lanes:
        gap = lane.points - centre
        turned = [turn_between(a, b) for a, b in pairwise(gap)]
        assert 0.3 < sum(turned) < 2 * pi
        radius = np.hypot(*gap.T)
        assert radius.min() > town.rounds[junction] - 6.8 + 1.0  # a van's half width off the island


@pytest.mark.parametrize("kind", ["straight", "curve", "tee", "four_way", "roundabout", "mid_block_crossing"])
def test_lanes_lie_on_the_road_and_crossings_on_crosswalks(town, kind):
    scene = window_at(town, kind)
    road = paved(scene).buffer(0.02)
    box = shapely.box(*shapely.union_all([polygon_of(r) for r in scene.regions]).bounds)
    assert scene.roads.lanes
    for lane in scene.roads.lanes:
        line = shapely.LineString(lane.points)
        assert road.contains(line), lane.name
        car = line.buffer(0.9, cap_style="flat").intersection(box.buffer(-0.5))
        cuts = 0.7 if lane.turn == "right" else 0.0  # m, the corner of the sidewalk
        assert road.buffer(cuts).contains(car), lane.name
    walked = [polygon_of(r) for r in scene.regions if r.kind == "crosswalk" and polygon_of(r).area > 10.0]
    for crosswalk in walked:
        inside = [c for c in scene.roads.crossings if shapely.LineString(c.ends).intersects(crosswalk)]
        assert len(inside) == 1
        assert (
            shapely.LineString(inside[0].ends)
            .buffer(inside[0].width / 2, cap_style="flat")
            .contains(crosswalk.buffer(-0.3))
        )


def test_a_window_cuts_lanes_at_its_border(town):
    scene = window_at(town, "four_way")
    graph = LaneGraph(scene.roads, "here")
    x, y = next(block.xy for block in town.blocks if block.kind == "four_way")
    for lane in scene.roads.lanes:
        assert np.abs(np.array(lane.points) - (x, y)).max() <= 35.0
        for name in lane.next:
            np.testing.assert_array_equal(graph.lines[name][0], lane.points[-1])
        if not set(graph.graph.predecessors(lane.name)):  # where traffic comes in: never inside the junction
            assert lane.turn is None
            assert graph.length[lane.name] >= SHORTEST_ENTRY_M or not lane.next
    through = [lane for lane in scene.roads.lanes if lane.turn is not None]
    assert len(through) == 12
    assert all(lane.next for lane in through)


def test_only_those_who_ask_get_roads(town):
    reference = "town:Alderwick@726,-227,801,-166"
    plain, with_roads = resolve_scene(reference), resolve_scene(reference + "+roads")
    assert plain.roads is None
    assert with_roads.name == reference + "+roads"
    assert with_roads.regions == plain.regions
    assert with_roads.roads is not None
    assert not with_roads.roads.markings
    assert resolve_scene("town:Alderwick/long/0+roads").roads.lanes


def test_pictures_are_the_same_with_roads():
    reference = "town:Alderwick@726,-227,801,-166"
    one, other = build_scene(resolve_scene(reference)), build_scene(resolve_scene(reference + "+roads"))
    np.testing.assert_array_equal(one.static_id, other.static_id)
    assert len(one.mesh.triangles) > 1000
    for item in fields(one.mesh):
        np.testing.assert_array_equal(getattr(one.mesh, item.name), getattr(other.mesh, item.name), item.name)


def test_parking_bays_are_at_kerbs_and_free(town):
    scene = window_at(town, "curve", 120.0)
    assert len(scene.roads.parking) > 5
    regions = {kind: [polygon_of(r) for r in scene.regions if r.kind == kind] for kind in ("road", "crosswalk")}
    solids = [polygon_of(r) for r in scene.regions if r.kind in ("obstacle", "furniture", "building")]
    junctions = [polygon_of(r) for r in scene.regions if r.name == "junction"]
    street = shapely.union_all(regions["road"]).buffer(0.05)
    lanes = shapely.union_all([shapely.LineString(lane.points) for lane in scene.roads.lanes])
    for bay in scene.roads.parking:
        cosine, sine = np.cos(bay.heading), np.sin(bay.heading)
        turn = np.array([[cosine, -sine], [sine, cosine]])
        corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.array(BAY) / 2
        car = shapely.Polygon(corners @ turn.T + bay.middle)
        assert street.contains(car)
        assert not any(car.intersects(other) for other in (*regions["crosswalk"], *solids, *junctions))
        assert lanes.distance(shapely.Point(bay.middle)) > 0.9 + 1.0 + 0.2  # a van passes
        near = LaneGraph(scene.roads, "here").nearest(*bay.middle, heading=bay.heading)
        assert near.aside < 4.0  # the lane beside it leads the same way


def test_a_window_without_a_street_has_no_traffic():
    scene = resolve_scene(NO_STREET + "+roads")
    assert scene.roads == Roads()
    traffic = LaneTraffic(per_km=100.0, parked_share=1.0)
    assert draw_vehicles(traffic, compile_scene(scene), [], np.random.default_rng(0), "here") == ()
