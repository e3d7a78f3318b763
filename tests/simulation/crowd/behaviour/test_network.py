"""Behaviour graphs: bad ones, those from networkx, edges in sight, lanes, paths."""

from __future__ import annotations

from typing import Any

import networkx as nx
import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.simulation.build import build_world
from sidestep.simulation.crowd.behaviour.network import Network, WalkableSpace, behaviour_graph, make_network
from sidestep.types import Scenario
from sidestep.types.behaviour import BehaviourGraph, BehaviourPlacement
from tests.simulation.crowd.behaviour.streets import plus_graph, plus_scene, street

OPEN = WalkableSpace(None, np.zeros((0, 4)))


def network(graph: dict[str, Any], walls: list[list[float]] | None = None) -> Network:
    ground = OPEN if walls is None else WalkableSpace(None, np.array(walls, np.float64))
    return make_network(BehaviourGraph.parse(graph, "graph"), ground, 0.25, 0.6, "test")


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ({"nodes": [{"at": [0, 0]}]}, "at least 2 nodes"),
        ({"nodes": [{"at": [0, 0], "name": "a"}, {"at": [1, 0], "name": "a"}]}, "more than once: a"),
        ({"nodes": [{"at": [0, 0], "name": "door"}, {"at": [1, 0]}], "edges": [["dor", 1]]}, "did you mean 'door'"),
        ({"nodes": [{"at": [0, 0]}, {"at": [1, 0]}], "edges": [[0, 2]]}, "numbers are 0 … 1"),
        ({"nodes": [{"at": [0, 0]}, {"at": [1, 0]}], "edges": [[1, 1]]}, "to itself"),
        ({"nodes": [{"at": [0, 0]}, {"at": [1, 0]}, {"at": [2, 0]}], "edges": [[0, 1]]}, "no edge leads to node 2"),
        ({"nodes": [{"at": [0, 0], "kind": "object"}, {"at": [1, 0]}]}, "needs a heading"),
        ({"nodes": [{"at": [0, 0], "capacitiy": 2}, {"at": [1, 0]}]}, "did you mean 'capacity'"),
        ({"nodes": [{"at": [0, 0], "interaction": "sit"}, {"at": [1, 0]}]}, "interaction"),
    ],
)
def test_bad_graphs(graph: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        BehaviourGraph.parse(graph, "graph")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nodes": [{"at": [0, 0]}, {"at": [5, 5]}], "edges": [[0, 1]]}, r"node 1 at \(5, 5\) is in a wall"),
        ({"nodes": [{"at": [10, 0]}, {"at": [0, 10]}], "edges": [[0, 1]]}, "leads through a wall"),
        ({"nodes": [{"at": [10, 0]}, {"at": [0, 10]}]}, "no other node is in sight"),
        ({"nodes": [{"at": [1, 0]}, {"at": [1, 0]}], "edges": [[0, 1]]}, "at one place"),
    ],
)
def test_graphs_that_do_not_fit_their_scene(change: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        build_world(street(count=0, graph=change), 0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "static"}, "people on a behaviour graph walk"),
        ({"at_end": "loop"}, "have no end"),
        ({"people": [{"start": [0, 0]}]}, "placed by it"),
        ({"speed": {"mean": 1.0}}, "placement.speeds"),
        ({"placement": {"kind": "behaviour", "count": 1, "graph": plus_graph(), "speeds": [2, 1]}}, "low ≤ high"),
        ({"placement": {"kind": "behaviour", "count": 1, "graph": plus_graph(), "path": "shortest"}}, "unknown key"),
    ],
)
def test_bad_parts(change: dict[str, Any], message: str) -> None:
    document = street().model_dump()
    document["crowd"] = [document["crowd"][0] | change]
    with pytest.raises(BadInput, match=message):
        Scenario.parse(document, "test")


def test_a_scenario_survives_being_written_and_read() -> None:
    assert Scenario.model_validate_json(street().model_dump_json()) == street()


def test_any_networkx_graph_becomes_a_behaviour_graph() -> None:
    grid = nx.grid_2d_graph(4, 3)
    for row, column in grid:
        grid.nodes[row, column]["pos"] = (10.0 * row, 10.0 * column)
    grid.nodes[0, 0].update(kind="object", heading=1.0, interaction="queue", colour="red")
    graph = behaviour_graph(grid)
    assert len(graph.nodes) == 12
    assert graph.edges is not None
    assert len(graph.edges) == grid.number_of_edges()
    assert graph.nodes[0].interaction == "queue"
    assert graph.nodes[-1].at == (30.0, 20.0)
    assert behaviour_graph(nx.relabel_nodes(grid, {}, copy=True).to_directed()) == graph
    with pytest.raises(BadInput, match="has no place"):
        behaviour_graph(nx.path_graph(3))
    assert BehaviourPlacement.parse({"count": 3, "graph": graph}, "part").graph == graph


def test_without_edges_nodes_are_joined_to_those_in_sight() -> None:
    graph = {"nodes": [{"at": [0, 0]}, {"at": [4, 0]}, {"at": [4, 4]}, {"at": [-30, 0]}], "nearest": 2, "longest_m": 40}
    wall = [[2, -1, 2, 1]]
    assert network(graph).neighbours[0] == (1, 2, 3)
    assert network(graph, wall).neighbours[0] == (2, 3)


def test_shortest_paths_follow_the_edges() -> None:
    ring = {
        "nodes": [{"at": p} for p in ([0, 0], [10, 0], [10, 10], [0, 10], [0, 5])],
        "edges": [[0, 1], [1, 2], [2, 3]],
    }
    found = network({**ring, "edges": [*ring["edges"], [3, 4], [4, 0]]})
    assert found.path(0, 3) == [0, 4, 3]
    assert found.distances(0).tolist() == [0, 10, 20, 10, 5]
    assert np.isinf(found.distances(0, limit=6.0)[[1, 2, 3]]).all()
    assert found.path(0, 2, limit=6.0) in ([0, 1, 2], [0, 4, 3, 2])


def test_people_keep_to_the_right_where_there_is_room() -> None:
    """0.25 m of radius and 0.05 m to spare: of a lane of 0.6 m three quarters fit beside a wall 0.8 m away."""
    graph = {"nodes": [{"at": [0, 0]}, {"at": [10, 0]}], "edges": [[0, 1]]}
    wide, narrow = network(graph), network(graph, [[-5, -0.8, 15, -0.8]])
    assert wide.lanes == {(0, 1): 0.6, (1, 0): 0.6}
    assert narrow.lanes == pytest.approx({(0, 1): 0.45, (1, 0): 0.45})  # the nodes' own room holds for both
    assert wide.passing_point(0, 1, None, 1.0) == pytest.approx((10, -0.6))
    assert wide.passing_point(1, 0, None, 0.5) == pytest.approx((0, 0.3))
    assert wide.passing_point(0, 1, 0, 1.0) == (10, 0)


def test_places_in_a_wall_are_left_out() -> None:
    node = {"at": [0, 0], "kind": "object", "heading": 0.0, "interaction": "queue", "capacity": 4}
    graph = {"nodes": [node, {"at": [0, 5]}], "edges": [[0, 1]]}
    assert np.allclose(network(graph).places[0], [(0, 0), (-0.9, 0), (-1.8, 0), (-2.7, 0)])
    assert np.allclose(network(graph, [[-2.1, -1, -2.1, 1]]).places[0], [(0, 0), (-0.9, 0), (-1.8, 0)])


def test_the_scene_of_these_tests_is_free_at_all_nodes() -> None:
    assert build_world(street(count=10), 0).people == 10
    assert plus_scene()["enclosed"]
