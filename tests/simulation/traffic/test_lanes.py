"""The graph of lanes: nearest places, A* by hand, lines to drive, and where lanes meet."""

from __future__ import annotations

from math import pi

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.scenes.intersections import intersection_names, intersection_scene, load_intersection
from sidestep.simulation.traffic.lanes import CLEARANCE_M, LaneGraph, resample, stations
from sidestep.types.road import Lane, Roads

# Two ways from a to d: over b, 10 m and straight, and over c, 3 m + 4 m + 3 m + … round a corner, 16 m.
LANES = (
    Lane(name="a", points=((0, 0), (10, 0)), next=("b", "c")),
    Lane(name="b", points=((10, 0), (20, 0)), next=("d",), turn="straight"),
    Lane(name="c", points=((10, 0), (10, 3), (20, 3), (20, 0)), next=("d",), turn="right"),
    Lane(name="d", points=((20, 0), (50, 0)), next=()),
    Lane(name="e", points=((50, 3.5), (0, 3.5)), next=()),
)


def graph_of(*lanes):
    return LaneGraph(Roads(lanes=lanes), "here")


@pytest.fixture
def graph():
    return graph_of(*LANES)


def test_lengths_and_stations(graph):
    assert graph.length == {"a": 10.0, "b": 10.0, "c": 16.0, "d": 30.0, "e": 50.0}
    np.testing.assert_array_equal(stations(np.array([[0, 0], [3, 4], [3, 5]])), [0, 5, 6])


def test_the_shortest_of_two_ways(graph):
    assert graph.find_route("a", "d") == ["a", "b", "d"]
    assert graph.find_route("a", "a") == ["a"]
    bent = LANES[1].model_copy(update={"points": ((10, 0), (15, 9), (20, 0))})
    longer = [lane if lane.name != "b" else bent for lane in LANES]
    assert graph_of(*longer).find_route("a", "d") == ["a", "c", "d"]  # 20.6 m over b by now


def test_what_no_route_leads_to(graph):
    with pytest.raises(BadInput, match="here: no lanes lead from 'd' to 'a'"):
        graph.find_route("d", "a")
    with pytest.raises(BadInput, match="here: unknown lane 'x'"):
        graph.find_route("a", "x")
    with pytest.raises(BadInput, match="here: the scene has no lanes; describe an intersection"):
        graph_of()
    with pytest.raises(BadInput, match="lane 'z' has the same point twice"):
        graph_of(Lane(name="z", points=((0, 0), (0, 0), (1, 0))))


@given(
    st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=5, max_size=5, unique=True),
    st.sets(st.tuples(st.integers(0, 4), st.integers(0, 4)).filter(lambda pair: pair[0] != pair[1]), min_size=2),
)
def test_a_star_is_as_short_as_dijkstra(places, links):
    """Straight lanes between five places."""
    links = sorted(links)
    lanes = [
        Lane(
            name=f"{a}{b}",
            points=(places[a], places[b]),
            next=tuple(f"{c}{d}" for c, d in links if c == b),
        )
        for a, b in links
    ]
    graph = graph_of(*lanes)
    lengths = dict(nx.all_pairs_dijkstra_path_length(graph.graph, weight="length"))
    for start in graph.lanes:
        for goal in graph.lanes:
            if goal in lengths[start]:
                found = graph.find_route(start, goal)
                assert sum(graph.length[name] for name in found[1:]) == pytest.approx(lengths[start][goal])
            else:
                with pytest.raises(BadInput, match="no lanes lead from"):
                    graph.find_route(start, goal)


def test_nearest_place(graph):
    place = graph.nearest(4.0, 1.0)
    assert (place.lane, place.along, place.aside) == ("a", 4.0, 1.0)
    assert graph.nearest(4.0, 1.0, heading=pi).lane == "e"  # the other direction
    assert graph.nearest(4.0, 1.0, heading=0.9).lane == "a"  # within 60°
    assert graph.nearest_on("d", 0.0, 3.0) == ("d", 0.0, pytest.approx(409**0.5))


@pytest.mark.parametrize(("place", "heading"), [((4.0, -6.0), None), ((4.0, 1.0), pi / 2), ((100.0, 0.0), 0.0)])
def test_a_place_off_the_lane_graph(graph, place, heading):
    with pytest.raises(BadInput, match=r"here: \(.*\) is off the lane graph.*within 5 m; move the point onto a lane"):
        graph.nearest(*place, heading=heading)


def test_lines_to_drive(graph):
    line = graph.line(["a", "b", "d"], begin_m=2.5)
    assert len(line) == 49  # 47.5 m in steps of at most 1 m
    np.testing.assert_allclose(line[[0, -1]], [[2.5, 0], [50, 0]])
    np.testing.assert_allclose(np.diff(line, axis=0), [[47.5 / 48, 0]] * 48, atol=1e-12)
    with pytest.raises(BadInput, match="lane 'd' does not follow on 'a'"):
        graph.line(["a", "d"])
    with pytest.raises(BadInput, match="10 m along 'a' is beyond the end of its 1 lane"):
        graph.line(["a"], begin_m=10.0)


@given(
    st.lists(st.tuples(st.floats(-50, 50), st.floats(-50, 50)), min_size=2, max_size=8, unique=True),
    st.floats(0.3, 3.0),
)
def test_resampled_lines_keep_their_ends(points, spacing):
    points = np.array(points)
    if (np.hypot(*np.diff(points, axis=0).T) < 1e-3).any():
        return
    line = resample(points, spacing)
    np.testing.assert_array_equal(line[-1], points[-1])
    np.testing.assert_allclose(line[0], points[0], atol=1e-9)
    assert np.hypot(*np.diff(line, axis=0).T).max() <= spacing + 1e-9


def test_conflicts_by_hand():
    """Two lanes that cross at (0, 0): each is within 2.4 m of the other 2.4 m before and after, in steps of 0.5 m."""
    east = Lane(name="east", points=((-10, 0), (10, 0)), turn="straight")
    north = Lane(name="north", points=((0, -10), (0, 10)), turn="straight")
    far = Lane(name="far", points=((-10, 0), (10, 20)), turn="left")
    found = graph_of(east, north, far).conflicts()
    assert [(c.lane, c.begin, c.end) for c in found if c.other in ("east", "north") and c.lane != "far"] == [
        ("east", 8.0, 12.0),
        ("north", 8.0, 12.0),
    ]
    assert {(c.lane, c.other) for c in found} == {
        ("east", "north"),
        ("north", "east"),
        ("north", "far"),
        ("far", "north"),
    }


def test_who_follows_is_in_no_conflict():
    """Lanes that part, lanes of one path, and lanes outside of junctions."""
    before = Lane(name="before", points=((-10, 0), (0, 0)), next=("left", "right"))
    left = Lane(name="left", points=((0, 0.001), (5, 1)), turn="left", next=("more",))  # a file's rounding apart
    right = Lane(name="right", points=((0, 0), (5, -1)), turn="right")
    more = Lane(name="more", points=((5, 1), (6, 9)), turn="left")
    [one, other] = graph_of(before, left, right, more).conflicts()
    assert {one.lane, one.other} == {other.lane, other.other} == {"right", "more"}


@pytest.mark.parametrize("name", intersection_names())
def test_conflicts_of_intersections(name):
    roads = intersection_scene(load_intersection(name)).roads
    graph = LaneGraph(roads, name)
    found = graph.conflicts()
    mirrored = {(c.other, c.other_begin, c.other_end, c.lane, c.begin, c.end, c.merges) for c in found}
    assert mirrored == set(found)
    pairs = {(c.lane, c.other) for c in found}
    inside = [lane for lane in roads.lanes if lane.turn is not None]
    for one in inside:
        for other in inside:
            if one is other or one.points[0] == other.points[0]:
                assert (one.name, other.name) not in pairs
            elif one.next == other.next:
                assert (one.name, other.name) in pairs  # they merge
    for c in found:
        assert 0.0 <= c.begin <= c.end <= graph.length[c.lane] + 1e-9
        middle = graph.line([c.lane], spacing=0.1)
        theirs = graph.line([c.other], spacing=0.1)
        gap = np.hypot(*(middle[:, None] - theirs[None]).transpose(2, 0, 1)).min(axis=1)
        along = stations(middle)
        outside = (along < c.begin - 0.6) | (along > c.end + 0.6)
        assert (gap[outside] > CLEARANCE_M - 0.15).all()
