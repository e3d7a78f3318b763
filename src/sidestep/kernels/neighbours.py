"""The nearest agents of every agent: a counting sort into cells, then a search whose radius is guessed and proved.

Active agents are copied in cell order, so that what is near in the world is near in memory and one row of cells is
one run of the copy. A search collects the agents within a guessed radius; with at least ``k`` of them the ``k`` nearest
are among them, otherwise the radius widens. The guess comes from the agent's last search, hence costs or saves time
and never changes a result: the neighbours are the ``k`` least by (distance², column) within the range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import ACTIVE, PX, PY, RADIUS, SHARE, VX, VY

MAX_NEIGHBOURS = 64
BRUTE_FORCE_BELOW = 48  # agents: one cell holds them all
RANK_SORT_BELOW = 64  # candidates: beyond it, insertion beats comparing all pairs
CELL_HEIGHT, CELL_WIDTH = 1.0, 0.35  # of the radius in which k agents are expected
LANES = 8  # key padding, so that the comparison loop is a whole number of vectors
NO_KEY = np.int64(0x7FFFFFFFFFFFFFFF)

# rows of the copy in cell order
SORTED_X, SORTED_Y, SORTED_VX, SORTED_VY, SORTED_RADIUS, SORTED_SHARE, SORTED_ROWS = 0, 1, 2, 3, 4, 5, 6

ZERO, ONE = np.float32(0.0), np.float32(1.0)


class NeighbourGrid(NamedTuple):
    """One world's active agents in cell order. Shared by the threads that work on that world."""

    sorted: NDArray[np.float32]  # (SORTED_ROWS, M)
    columns: NDArray[np.uint32]  # (M,) column in ``agents`` of each place of the order
    cells: NDArray[np.int32]  # (M,) cell of each place, work space of the sort
    start: NDArray[np.int32]  # (cells + 2,) first place of each cell
    frame: NDArray[np.float32]  # (4,) x0, y0 (m), cells per metre in x and in y
    shape: NDArray[np.int32]  # (3,) cells in x, cells in y, active agents
    reach: NDArray[np.float32]  # (M,) squared radius (m²) to try first, by column; 0: unknown


class Search(NamedTuple):
    """Work space of one thread's searches."""

    square: NDArray[np.float32]  # (M + LANES,) squared distance of each candidate
    bits: NDArray[np.int32]  # the same memory as integers, which sort alike
    slots: NDArray[np.uint32]  # (M + LANES,) place of each candidate in the cell order
    keys: NDArray[np.int64]  # (RANK_SORT_BELOW + LANES,) distance and column in one number
    nearest: NDArray[np.uint32]  # (RANK_SORT_BELOW + LANES,) places of the neighbours, nearest first
    nearest_square: NDArray[np.float32]  # (RANK_SORT_BELOW + LANES,) and their squared distances


@kernel
def make_neighbour_grid(m):
    """Space for a world of at most ``m`` agents."""
    return NeighbourGrid(
        np.empty((SORTED_ROWS, m), np.float32),
        np.empty(m, np.uint32),
        np.empty(m, np.int32),
        np.empty(3 * m + 66, np.int32),
        np.zeros(4, np.float32),
        np.zeros(3, np.int32),
        np.zeros(m, np.float32),
    )


@kernel
def make_search(m):
    """Space for searches among at most ``m`` agents."""
    square = np.empty(m + LANES, np.float32)
    return Search(
        square,
        square.view(np.int32),
        np.empty(m + LANES, np.uint32),
        np.empty(RANK_SORT_BELOW + LANES, np.int64),
        np.empty(RANK_SORT_BELOW + LANES, np.uint32),
        np.empty(RANK_SORT_BELOW + LANES, np.float32),
    )


@inlined
def _cell_index(value, origin, per_metre, cells):
    """Cell along one axis, clamped to the grid; never decreases as ``value`` grows."""
    position = (value - origin) * per_metre
    position = position if position > ZERO else ZERO
    index = np.int32(position) if position < np.float32(cells) else cells - np.int32(1)
    return index


@kernel
def _choose_cells(agents, flags, expected, grid):
    """Fit the grid to the active agents; returns how many there are."""
    x0, y0, x1, y1 = np.float32(np.inf), np.float32(np.inf), -np.float32(np.inf), -np.float32(np.inf)
    active = 0
    for j in range(agents.shape[1]):
        if flags[ACTIVE, j] != 0:
            x, y = agents[PX, j], agents[PY, j]
            x0, x1 = min(x0, x), max(x1, x)
            y0, y1 = min(y0, y), max(y1, y)
            active += 1
    width, height = float(x1 - x0), float(y1 - y0)
    nx, ny = 1, 1
    if active >= BRUTE_FORCE_BELOW and math.isfinite(width * height):
        radius = math.sqrt((width + 0.1) * (height + 0.1) * expected / (math.pi * active))
        limit = math.sqrt(3.0 * active)  # bounds the number of cells by 3 · active + …
        ny = max(1, int(min(height / (radius * CELL_HEIGHT), limit)))
        nx = max(1, int(min(width / (radius * CELL_WIDTH), 3.0 * active / ny)))
    grid.frame[0], grid.frame[1] = x0, y0
    grid.frame[2] = np.float32(nx / width) if nx > 1 else ZERO
    grid.frame[3] = np.float32(ny / height) if ny > 1 else ZERO
    grid.shape[0], grid.shape[1], grid.shape[2] = nx, ny, active
    return active


@inlined
def _copy_agent(agents, j, grid, place):
    grid.columns[place] = np.uint32(j)
    grid.sorted[SORTED_X, place] = agents[PX, j]
    grid.sorted[SORTED_Y, place] = agents[PY, j]
    grid.sorted[SORTED_VX, place] = agents[VX, j]
    grid.sorted[SORTED_VY, place] = agents[VY, j]
    grid.sorted[SORTED_RADIUS, place] = agents[RADIUS, j]
    grid.sorted[SORTED_SHARE, place] = agents[SHARE, j]


@kernel
def build_neighbours(agents, flags, max_neighbours, grid):
    """Copy the active agents into ``grid`` in cell order; returns how many there are.

    ``max_neighbours`` is how many neighbours a search will want, which sets the cell size (not the results).
    """
    active = _choose_cells(agents, flags, max_neighbours, grid)
    nx, ny = grid.shape[0], grid.shape[1]
    m = agents.shape[1]
    start = grid.start
    if nx * ny == 1:
        place = 0
        for j in range(m):
            if flags[ACTIVE, j] != 0:
                _copy_agent(agents, j, grid, place)
                place += 1
        start[0], start[1] = 0, active
        return active
    start[: nx * ny + 2] = 0
    for j in range(m):
        if flags[ACTIVE, j] != 0:
            cx = _cell_index(agents[PX, j], grid.frame[0], grid.frame[2], nx)
            cy = _cell_index(agents[PY, j], grid.frame[1], grid.frame[3], ny)
            grid.cells[j] = cy * nx + cx
            start[grid.cells[j] + 2] += 1
    for c in range(2, nx * ny + 2):
        start[c] += start[c - 1]
    for j in range(m):  # afterwards start[c + 1] has moved from the first place of cell c to that of cell c + 1
        if flags[ACTIVE, j] != 0:
            c = grid.cells[j] + 1
            _copy_agent(agents, j, grid, start[c])
            start[c] += 1
    return active


@inlined
def _collect(grid, search, me, square, column_limit):
    """List the agents nearer than ``√square`` to place ``me``, itself excepted; returns how many."""
    x, y = grid.sorted[SORTED_X, me], grid.sorted[SORTED_Y, me]
    nx, ny = grid.shape[0], grid.shape[1]
    radius = math.sqrt(square) * np.float32(1.00002)  # wider than any rounding of the distances and bounds
    rx = radius + np.float32(5e-7) * abs(x)
    ry = radius + np.float32(5e-7) * abs(y)
    left = _cell_index(x - rx, grid.frame[0], grid.frame[2], nx)
    right = _cell_index(x + rx, grid.frame[0], grid.frame[2], nx)
    low = _cell_index(y - ry, grid.frame[1], grid.frame[3], ny)
    high = _cell_index(y + ry, grid.frame[1], grid.frame[3], ny)
    n = 0
    for row in range(low, high + 1):
        for place in range(grid.start[row * nx + left], grid.start[row * nx + right + 1]):
            slot = np.uint32(place)
            dx = grid.sorted[SORTED_X, slot] - x
            dy = grid.sorted[SORTED_Y, slot] - y
            candidate = dx * dx + dy * dy
            search.square[n] = candidate
            search.slots[n] = slot
            n += (candidate < square) & (place != me) & (grid.columns[slot] < column_limit)
    return n


@inlined
def _rank_sort(grid, search, n):
    """Sort the ``n`` candidates into ``search.nearest`` by counting, for each, those that come before it."""
    padded = (n + LANES - 1) // LANES * LANES
    for i in range(n):
        search.keys[i] = (np.int64(search.bits[i]) << 32) | np.int64(grid.columns[search.slots[i]])
    for i in range(n, padded):
        search.keys[i] = NO_KEY
    for i in range(n):
        key = search.keys[i]
        rank = np.int64(0)
        for j in range(padded):
            rank += np.int64(search.keys[j] < key)
        search.nearest[np.uint64(rank)] = search.slots[i]
        search.nearest_square[np.uint64(rank)] = search.square[i]


@inlined
def _insertion_sort(grid, search, n, k):
    """Sort the ``k`` first of many candidates into ``search.nearest``."""
    kept = 0
    for i in range(n):
        key = (np.int64(search.bits[i]) << 32) | np.int64(grid.columns[search.slots[i]])
        if kept == k and key > search.keys[k - 1]:
            continue
        kept = min(kept + 1, k)
        at = kept - 1
        while at > 0 and search.keys[at - 1] > key:
            search.keys[at] = search.keys[at - 1]
            search.nearest[at] = search.nearest[at - 1]
            search.nearest_square[at] = search.nearest_square[at - 1]
            at -= 1
        search.keys[at] = key
        search.nearest[at] = search.slots[i]
        search.nearest_square[at] = search.square[i]


@inlined
def find_nearest(grid, search, me, k, range_square, column_limit):
    """Fill ``search.nearest`` with the at most ``k`` nearest agents of the agent at place ``me``; returns how many.

    Only agents nearer than ``√range_square`` metres whose column is below ``column_limit`` count.
    """
    column = grid.columns[me]
    everyone = grid.shape[2] <= RANK_SORT_BELOW // 2  # few enough to sort them all
    reach = grid.reach[column]
    if everyone or reach == ZERO or reach > range_square:
        reach = range_square
    n = _collect(grid, search, me, reach, column_limit)
    while n < k and reach < range_square:
        reach = min(reach * np.float32(2.0), range_square)
        n = _collect(grid, search, me, reach, column_limit)
    if n <= RANK_SORT_BELOW:
        _rank_sort(grid, search, n)
    else:
        _insertion_sort(grid, search, n, k)
    if n < k:
        grid.reach[column] = range_square
        return n
    grid.reach[column] = search.nearest_square[k - 1] * np.float32(1.15) + np.float32(0.1)
    return k
