"""Push and Rotate: valid plans, and a plan whenever there is one."""

from __future__ import annotations

from collections import deque

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.simulation.crowd.behaviour.push_and_rotate import Move, push_and_rotate, without_detours
from sidestep.simulation.crowd.behaviour.subproblems import biconnected_components

Graph = list[list[int]]


@st.composite
def connected_graphs(draw: st.DrawFn, least: int, most: int, extra: int) -> Graph:
    """Random trees, from stars to long corridors, with up to ``extra`` more edges."""
    size = draw(st.integers(least, most))
    reach = draw(st.integers(1, size))
    near: list[set[int]] = [set() for _ in range(size)]
    pairs = [(vertex, vertex - draw(st.integers(1, min(vertex, reach)))) for vertex in range(1, size)]
    vertices = st.integers(0, size - 1)
    pairs += draw(st.lists(st.tuples(vertices, vertices), max_size=extra))
    for a, b in pairs:
        if a != b:
            near[a].add(b)
            near[b].add(a)
    return [sorted(vertices) for vertices in near]


def carry_out(graph: Graph, starts: list[int], plan: list[Move]) -> list[int]:
    """Where the agents end; every move is checked. Only one agent moves at a time, so that nobody changes places."""
    at = list(starts)
    for agent, here, there in plan:
        assert at[agent] == here
        assert there in graph[here]
        assert there not in at
        at[agent] = there
    return at


def reachable(graph: Graph, starts: tuple[int, ...]) -> set[tuple[int, ...]]:
    seen, queue = {starts}, deque([starts])
    while queue:
        at = queue.popleft()
        for agent, here in enumerate(at):
            for there in graph[here]:
                after = (*at[:agent], there, *at[agent + 1 :])
                if there not in at and after not in seen:
                    seen.add(after)
                    queue.append(after)
    return seen


@settings(max_examples=150, deadline=None)
@given(connected_graphs(3, 7, 3), st.data())
def test_finds_a_plan_exactly_when_there_is_one(graph: Graph, data: st.DataObject) -> None:
    """Against a search over all configurations, two or more vertices being free."""
    agents = data.draw(st.integers(1, min(len(graph) - 2, 4)))
    starts = data.draw(st.permutations(range(len(graph))))[:agents]
    goals = data.draw(st.permutations(range(len(graph))))[:agents]
    plan = push_and_rotate(graph, starts, goals)
    assert (plan is not None) == (tuple(goals) in reachable(graph, tuple(starts)))
    if plan is not None:
        assert carry_out(graph, starts, plan) == goals


@settings(max_examples=60, deadline=None)
@given(connected_graphs(4, 24, 0) | connected_graphs(4, 24, 10), st.data())
def test_solves_what_a_random_course_has_mixed_up(graph: Graph, data: st.DataObject) -> None:
    """Goals that were reached by random moves can be reached, however few vertices are free."""
    agents = len(graph) - data.draw(st.integers(2, min(len(graph) - 1, 6)))
    starts = data.draw(st.permutations(range(len(graph))))[:agents]
    goals = list(starts)
    random = data.draw(st.randoms(use_true_random=False))
    for _ in range(200):
        agent = random.randrange(agents)
        free = [there for there in graph[goals[agent]] if there not in goals]
        if free:
            goals[agent] = random.choice(free)
    plan = push_and_rotate(graph, starts, goals)
    assert plan is not None
    assert carry_out(graph, starts, plan) == goals


@settings(max_examples=30, deadline=None)
@given(st.integers(5, 12), st.data())
def test_a_ring_rotates(size: int, data: st.DataObject) -> None:
    ring = [sorted(((k - 1) % size, (k + 1) % size)) for k in range(size)]
    agents = data.draw(st.integers(1, size - 2))
    starts = sorted(data.draw(st.permutations(range(size)))[:agents])
    places = sorted(data.draw(st.permutations(range(size)))[:agents])
    shift = data.draw(st.integers(0, agents - 1))
    goals = places[shift:] + places[:shift]
    plan = push_and_rotate(ring, starts, goals)
    assert plan is not None
    assert carry_out(ring, starts, plan) == goals


def test_two_agents_change_places_in_a_cross_but_not_in_a_corridor() -> None:
    cross = [[1, 2, 3, 4], [0], [0], [0], [0]]
    plan = push_and_rotate(cross, [1, 0], [0, 1])
    assert plan is not None
    assert carry_out(cross, [1, 0], plan) == [0, 1]
    corridor = [[1], [0, 2], [1, 3], [2]]
    assert push_and_rotate(corridor, [0, 1], [1, 0]) is None


def test_a_full_grid_with_two_free_vertices_is_reversed() -> None:
    grid = [
        [other for other in range(20) if abs(other // 5 - row) + abs(other % 5 - column) == 1]
        for row in range(4)
        for column in range(5)
    ]
    starts, goals = list(range(18)), list(range(17, -1, -1))
    plan = push_and_rotate(grid, starts, goals)
    assert plan is not None
    assert carry_out(grid, starts, plan) == goals


def test_the_same_input_gives_the_same_plan() -> None:
    star = [[1, 2, 3], [0, 4], [0], [0], [1]]
    assert push_and_rotate(star, [4, 2], [2, 4]) == push_and_rotate(star, [4, 2], [2, 4])


def test_detours_to_which_nobody_is_forced_are_dropped() -> None:
    assert without_detours([(0, 0, 1), (0, 1, 2), (0, 2, 1), (0, 1, 0), (0, 0, 3)], 1) == [(0, 0, 3)]
    forced = [(0, 0, 1), (1, 5, 0), (1, 0, 6), (0, 1, 0)]
    assert without_detours(forced, 2) == forced


@pytest.mark.parametrize(
    ("graph", "starts", "goals", "message"),
    [
        ([[1], [0, 2], [1]], [0, 1], [1, 2], "two vertices must stay free"),
        ([[1], [0], [3], [2]], [0], [1], "not connected"),
        ([[1], [0, 2], [1, 3], [2]], [0, 0], [1, 2], "different vertices"),
        ([[1], [0, 2], [1, 3], [2]], [0], [9], "different vertices"),
        ([[1], [0, 2], [1, 3], [2]], [0], [1, 2], "1 starts but 2 goals"),
    ],
)
def test_bad_problems(graph: Graph, starts: list[int], goals: list[int], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        push_and_rotate(graph, starts, goals)


def test_biconnected_components_of_two_triangles_with_a_bridge() -> None:
    graph = [[1, 2], [0, 2], [0, 1, 3], [2, 4, 5], [3, 5], [3, 4]]
    assert sorted(map(sorted, biconnected_components(graph))) == [[0, 1, 2], [2, 3], [3, 4, 5]]
