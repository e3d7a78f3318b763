"""The neighbour search against sorting all distances, whatever the crowd and whatever was searched before."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from sidestep.kernels import layout, neighbours
from sidestep.kernels.jit import kernel

Array = NDArray[np.float32]


@kernel
def find_all(agents, flags, k, reach, column_limit, scratch, found, counts):  # type: ignore[no-untyped-def]
    """Write the columns of everyone's neighbours, nearest first."""
    grid, search = neighbours.split_grid(scratch), neighbours.split_search(scratch)
    active = neighbours.build_neighbours(agents, flags, k, grid)
    for place in range(active):
        me = np.uint32(place)
        n = neighbours.find_nearest(grid, search, me, np.uint64(k), np.float32(reach * reach), np.uint32(column_limit))
        counts[grid.columns[me]] = n
        for i in range(n):
            found[grid.columns[me], i] = grid.columns[search.slots[i]]


@kernel(allocates=True)
def make_scratch(m):  # type: ignore[no-untyped-def]
    scratch = np.zeros(neighbours.neighbour_floats(m), np.float32)
    scratch[neighbours.CAPACITY] = m
    return scratch


def world(positions: object) -> tuple[Array, NDArray[np.int32]]:
    at = np.asarray(positions, np.float32)
    agents = np.zeros((layout.AGENT_ROWS, len(at)), np.float32)
    flags = np.zeros((layout.FLAG_ROWS, len(at)), np.int32)
    agents[layout.PX], agents[layout.PY] = at.T
    flags[layout.ACTIVE] = 1
    return agents, flags


def search_all(
    agents: Array,
    flags: NDArray[np.int32],
    k: int,
    reach: float,
    limit: int | None = None,
    scratch: Array | None = None,
) -> list[list[int]]:
    m = agents.shape[1]
    found, counts = np.full((m, max(k, 1)), -1, np.int32), np.zeros(m, np.int64)
    scratch = make_scratch(m) if scratch is None else scratch
    find_all(agents, flags, k, reach, m if limit is None else limit, scratch, found, counts)
    return [row[:n].tolist() for row, n in zip(found, counts, strict=True)]


def sort_all(
    agents: Array, flags: NDArray[np.int32], k: int, reach: float, limit: int | None = None
) -> list[list[int]]:
    """The same by definition: float32 distances, ties to the lower column."""
    x, y = agents[layout.PX], agents[layout.PY]
    m = len(x)
    nearest = []
    for i in range(m):
        square = (x - x[i]) * (x - x[i]) + (y - y[i]) * (y - y[i])
        here = (flags[layout.ACTIVE] == 1) & (np.arange(m) < (m if limit is None else limit)) & (np.arange(m) != i)
        near = np.flatnonzero(here & (square < np.float32(reach) * np.float32(reach)))
        order = near[np.lexsort((near, square[near]))]
        nearest.append(order[:k].tolist() if flags[layout.ACTIVE, i] == 1 else [])
    return nearest


coordinates = st.one_of(
    st.floats(-50, 50, width=32),
    st.integers(-4, 4).map(float),  # many ties and coinciding agents
    st.floats(999, 1001, width=32),
)


@settings(max_examples=300, deadline=None)
@given(
    positions=st.lists(st.tuples(coordinates, coordinates), min_size=1, max_size=150),
    k=st.integers(0, 12),
    reach=st.sampled_from([0.0, 0.5, 3.0, 10.0, 200.0, 3000.0]),
    data=st.data(),
)
def test_search_equals_sorting(positions: list[tuple[float, float]], k: int, reach: float, data: st.DataObject) -> None:
    agents, flags = world(positions)
    m = len(positions)
    flags[layout.ACTIVE] = data.draw(st.lists(st.sampled_from([1, 1, 1, 0]), min_size=m, max_size=m))
    limit = data.draw(st.integers(0, m))
    assert search_all(agents, flags, k, reach, limit) == sort_all(agents, flags, k, reach, limit)


@pytest.mark.parametrize("m", [neighbours.SORT_ALL_BELOW, neighbours.ONE_CELL_BELOW, 400])
@pytest.mark.parametrize("spread", [1.0, 20.0, 300.0])
def test_large_crowds_dense_and_sparse(m: int, spread: float) -> None:
    rng = np.random.default_rng(m)
    for size in (m - 1, m, m + 1):
        cluster = rng.normal(0, 0.02 * spread, (size // 2, 2))
        agents, flags = world(np.concatenate([cluster, rng.uniform(-spread, spread, (size - size // 2, 2))]))
        for k in (1, 10, neighbours.MAX_NEIGHBOURS):
            assert search_all(agents, flags, k, 10.0) == sort_all(agents, flags, k, 10.0)


def test_what_was_searched_before_does_not_matter() -> None:
    rng = np.random.default_rng(0)
    scratch = make_scratch(200)
    for spread, k, m in [
        (100.0, 10, 200),
        (2.0, 10, 200),
        (100.0, 10, 200),
        (30.0, 0, 50),
        (30.0, 3, 120),
        (5.0, 12, 90),
    ]:
        agents, flags = world(rng.uniform(0, spread, (m, 2)))
        assert search_all(agents, flags, k, 10.0, scratch=scratch) == sort_all(agents, flags, k, 10.0)


def test_bad_guesses_do_not_matter() -> None:
    """Whatever a scratch holds as the radius to try first, the neighbours are the same."""
    agents, flags = world(np.random.default_rng(1).uniform(0, 30, (150, 2)))
    expected = sort_all(agents, flags, 10, 10.0)
    for guess in (1e-30, 1e-3, 1.0, 50.0, 1e30, np.inf):
        scratch = make_scratch(150)
        first = neighbours.FRAME + neighbours.REACH * 150
        scratch[first : first + 150] = guess
        assert search_all(agents, flags, 10, 10.0, scratch=scratch) == expected


def test_a_world_without_anyone_active() -> None:
    agents, flags = world([(0.0, 0.0), (1.0, 0.0)])
    flags[layout.ACTIVE] = 0
    assert search_all(agents, flags, 5, 10.0) == [[], []]


def test_someone_lost_far_away_or_nowhere_leaves_the_others_alone() -> None:
    positions = np.random.default_rng(2).uniform(0, 10, (100, 2))
    for lost in (1e7, np.inf, np.nan):
        positions[40] = lost
        agents, flags = world(positions)
        with np.errstate(invalid="ignore"):
            assert search_all(agents, flags, 10, 10.0) == sort_all(agents, flags, 10, 10.0)
