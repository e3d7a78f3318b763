"""The nearest agents of every agent: a counting sort into cells, then searches of guessed and proved radius.

Active agents are copied in cell order, so that what is near in the world is near in memory and one row of
cells is one run of the copy. A search collects the agents within a guessed radius; with at least ``k`` of
them the ``k`` nearest are among them, otherwise the radius widens. The guess comes from the agent's last
search, hence costs or saves time and never changes a result: the neighbours are the ``k`` least by
(distance², column) within the range.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from sidestep.kernels import layout
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray, float32, float64, int64, uint32, uint64

MAX_NEIGHBOURS = 64
SORT_ALL_BELOW = 28  # agents: so few are all sorted, without a guess
ONE_CELL_BELOW = 64  # agents: so few are searched without a grid
RANK_SORT_BELOW = 64  # candidates: beyond it, insertion beats comparing all pairs
CELL_HEIGHT, CELL_WIDTH = 1.0, 0.35  # of the radius in which k agents are expected
UNROLL = 4  # candidates ranked at a time

# rows of NeighbourGrid.copies, in cell order; but REACH by column: the squared radius (m²) to try first
COPY_X, COPY_Y, COPY_VX, COPY_VY, COPY_RADIUS, COPY_SHARE, REACH, COPY_ROWS = 0, 1, 2, 3, 4, 5, 6, 7
# places in NeighbourGrid.frame: origin (m), cells per metre, numbers of cells, active agents, most agents
ORIGIN_X, ORIGIN_Y, PER_METRE_X, PER_METRE_Y, CELLS_X, CELLS_Y, PLACES, CAPACITY, FRAME = range(9)
CANDIDATES = uint64(RANK_SORT_BELOW + UNROLL)  # where the candidates begin in Search.slots, after the neighbours

NONE = uint64(0)
NO_KEY = uint64(0xFFFFFFFFFFFFFFFF)
ZERO = float32(0.0)


class NeighbourGrid(NamedTuple):
    """One world's active agents in cell order. Threads that work on one world share it."""

    frame: FloatArray  # (FRAME,)
    copies: FloatArray  # (COPY_ROWS, M)
    columns: IntArray  # (M,) column in ``agents`` of each place of the order
    starts: IntArray  # (4 M + 2,) first place of each cell, then the cell of each column


class Search(NamedTuple):
    """Work space of one thread's searches."""

    keys: IntArray  # (M + …,) candidates: bits of the squared distance, then the column
    slots: IntArray  # places in the cell order: the neighbours, nearest first, then all candidates


@inlined
def _key_count(m: int) -> int:
    """Length of ``Search.keys`` for ``m`` agents, even so that the parts of the scratch stay aligned."""
    return (max(m, RANK_SORT_BELOW) + UNROLL + 1) // 2 * 2


@inlined
def neighbour_floats(m: int) -> int:
    """How many float32 of scratch the neighbours of ``m`` agents need."""
    return FRAME + (COPY_ROWS + 5) * m + 3 + 3 * _key_count(m) + RANK_SORT_BELOW + UNROLL


@kernel(forceinline=True)
def split_grid(scratch: FloatArray) -> NeighbourGrid:
    """The NeighbourGrid in a float32 scratch of ``neighbour_floats(m)``, whose frame holds ``m`` at CAPACITY.

    Parts are views that own nothing: only for kernels that count no references (``_nrt=False``).
    """
    m = int64(scratch[CAPACITY])
    first = FRAME + COPY_ROWS * m
    return NeighbourGrid(
        scratch[:FRAME],
        scratch[FRAME:first].reshape((COPY_ROWS, m)),
        scratch[first : first + m].view(np.uint32),
        scratch[first + m : first + 5 * m + 2].view(np.int32),
    )


@kernel(forceinline=True)
def split_search(scratch: FloatArray) -> Search:
    """The Search in such a scratch; the warning of ``split_grid`` holds."""
    m = int64(scratch[CAPACITY])
    first = FRAME + (COPY_ROWS + 5) * m + 2
    first += first % 2
    middle = first + 2 * _key_count(m)
    return Search(scratch[first:middle].view(np.uint64), scratch[middle:].view(np.uint32))


@inlined
def _cell_index(value: float, origin: float, per_metre: float, cells: float) -> int:
    """Cell along one axis, clamped to the grid; never decreases as ``value`` grows."""
    position = (value - origin) * per_metre
    position = position if position > ZERO else ZERO
    return int64(position if position < cells else cells - float32(1.0))


@kernel
def _fit_grid(agents: FloatArray, flags: IntArray, active: int, expected: int, frame: FloatArray) -> None:
    """Lay cells over the active agents, at most 3 per agent; ``expected`` neighbours set their size."""
    x0, y0 = float32(np.inf), float32(np.inf)
    x1, y1 = -x0, -y0
    for j in range(agents.shape[1]):
        if flags[layout.ACTIVE, j] != 0:
            x, y = agents[layout.PX, j], agents[layout.PY, j]
            x0, x1 = min(x0, x), max(x1, x)
            y0, y1 = min(y0, y), max(y1, y)
    width, height = float64(x1 - x0), float64(y1 - y0)
    if not math.isfinite(width * height):  # one cell, then
        width = height = float64(0.0)
    radius = math.sqrt((width + 0.1) * (height + 0.1) * max(expected, 1) / (math.pi * active))
    ny = max(1, int(min(height / (radius * CELL_HEIGHT), math.sqrt(3.0 * active))))
    nx = max(1, int(min(width / (radius * CELL_WIDTH), 3.0 * active / ny)))
    frame[ORIGIN_X], frame[ORIGIN_Y] = x0, y0
    frame[PER_METRE_X] = nx / max(width, 1e-3)
    frame[PER_METRE_Y] = ny / max(height, 1e-3)
    frame[CELLS_X], frame[CELLS_Y] = nx, ny


@inlined
def _copy_agent(agents: FloatArray, j: int, grid: NeighbourGrid, slot: int) -> None:
    grid.columns[slot] = uint32(j)
    grid.copies[COPY_X, slot] = agents[layout.PX, j]
    grid.copies[COPY_Y, slot] = agents[layout.PY, j]
    grid.copies[COPY_VX, slot] = agents[layout.VX, j]
    grid.copies[COPY_VY, slot] = agents[layout.VY, j]
    grid.copies[COPY_RADIUS, slot] = agents[layout.RADIUS, j]
    grid.copies[COPY_SHARE, slot] = agents[layout.SHARE, j]


@kernel
def _sort_into_cells(agents: FloatArray, flags: IntArray, grid: NeighbourGrid) -> None:
    """Counting sort of the active agents; agents of one cell stay in the order of their columns."""
    frame, starts = grid.frame, grid.starts
    nx = int64(frame[CELLS_X])
    cells = nx * int64(frame[CELLS_Y])
    m = agents.shape[1]
    starts[: cells + 2] = 0
    cell_of = starts[cells + 2 :]
    for j in range(m):
        if flags[layout.ACTIVE, j] != 0:
            cx = _cell_index(agents[layout.PX, j], frame[ORIGIN_X], frame[PER_METRE_X], frame[CELLS_X])
            cy = _cell_index(agents[layout.PY, j], frame[ORIGIN_Y], frame[PER_METRE_Y], frame[CELLS_Y])
            cell_of[j] = cy * nx + cx
            starts[cell_of[j] + 2] += 1
    for c in range(2, cells + 2):
        starts[c] += starts[c - 1]
    for j in range(m):  # moves starts[c + 1] from the first place of cell c to that of cell c + 1
        if flags[layout.ACTIVE, j] != 0:
            c = cell_of[j] + 1
            _copy_agent(agents, j, grid, uint32(starts[c]))
            starts[c] += 1


@kernel
def build_neighbours(agents: FloatArray, flags: IntArray, max_neighbours: int, grid: NeighbourGrid) -> int:
    """Copy the active agents into ``grid`` in cell order; returns how many there are.

    ``max_neighbours`` is how many neighbours a search will want, which sets the cell size and no result.
    """
    active = int64(0)
    for j in range(agents.shape[1]):
        active += int64(flags[layout.ACTIVE, j] != 0)
    if agents.shape[1] > grid.frame[CAPACITY]:
        raise ValueError("the scratch was made for fewer agents")
    grid.frame[:PLACES] = ZERO
    grid.frame[CELLS_X], grid.frame[CELLS_Y], grid.frame[PLACES] = 1, 1, active
    if active >= ONE_CELL_BELOW:
        _fit_grid(agents, flags, active, max_neighbours, grid.frame)
        _sort_into_cells(agents, flags, grid)
        return active
    place = 0
    for j in range(agents.shape[1]):
        if flags[layout.ACTIVE, j] != 0:
            _copy_agent(agents, j, grid, uint32(place))
            place += 1
    grid.starts[0], grid.starts[1] = 0, active
    return active


@inlined
def _add(
    keys: IntArray, slots: IntArray, n: int, candidate: float, column: int, slot: int, square: float, eligible: bool
) -> int:
    """Write a candidate behind the ``n`` so far and count it if it is one: no branch to mispredict."""
    bits = np.float32(candidate).view(np.uint32)
    keys[n] = (uint64(bits) << uint64(32)) | uint64(column)
    slots[CANDIDATES + n] = slot
    return n + uint64((candidate < square) & eligible)


@inlined
def _collect(grid: NeighbourGrid, keys: IntArray, slots: IntArray, me: int, square: float, column_limit: int) -> int:
    """List the agents nearer than ``√square`` to place ``me``, itself excepted; returns how many."""
    copies, columns, starts, frame = grid.copies, grid.columns, grid.starts, grid.frame
    x, y = copies[COPY_X, me], copies[COPY_Y, me]
    radius = math.sqrt(square) * float32(1.00002)  # wider than any rounding of the distances and bounds
    rx = radius + float32(5e-7) * abs(x)
    ry = radius + float32(5e-7) * abs(y)
    left = _cell_index(x - rx, frame[ORIGIN_X], frame[PER_METRE_X], frame[CELLS_X])
    right = _cell_index(x + rx, frame[ORIGIN_X], frame[PER_METRE_X], frame[CELLS_X])
    low = _cell_index(y - ry, frame[ORIGIN_Y], frame[PER_METRE_Y], frame[CELLS_Y])
    high = _cell_index(y + ry, frame[ORIGIN_Y], frame[PER_METRE_Y], frame[CELLS_Y])
    nx = int64(frame[CELLS_X])
    n = NONE
    for row in range(low, high + 1):
        for place in range(starts[row * nx + left], starts[row * nx + right + 1]):
            slot = uint32(place)
            dx = copies[COPY_X, slot] - x
            dy = copies[COPY_Y, slot] - y
            column = columns[slot]
            eligible = (slot != me) & (column < column_limit)
            n = _add(keys, slots, n, dx * dx + dy * dy, column, slot, square, eligible)
    return n


@inlined
def _rank_sort(keys: IntArray, slots: IntArray, n: int, k: int) -> int:
    """Sort the ``n`` candidates by counting, for each, those before it; returns the key of the ``k``-th."""
    one, two, three, step = uint64(1), uint64(2), uint64(3), uint64(UNROLL)
    for i in range(n, n + step):
        keys[i] = NO_KEY
    kth, last = NO_KEY, k - one
    for i in range(NONE, n, step):
        key0, key1, key2, key3 = keys[i], keys[i + one], keys[i + two], keys[i + three]
        rank0, rank1, rank2, rank3 = NONE, NONE, NONE, NONE
        for j in range(n):
            key = keys[j]
            rank0 += uint64(key < key0)
            rank1 += uint64(key < key1)
            rank2 += uint64(key < key2)
            rank3 += uint64(key < key3)
        slots[rank0] = slots[CANDIDATES + i]
        slots[rank1] = slots[CANDIDATES + i + one]
        slots[rank2] = slots[CANDIDATES + i + two]
        slots[rank3] = slots[CANDIDATES + i + three]
        kth = key0 if rank0 == last else kth
        kth = key1 if rank1 == last else kth
        kth = key2 if rank2 == last else kth
        kth = key3 if rank3 == last else kth
    return kth


@kernel
def _insertion_sort(keys: IntArray, slots: IntArray, n: int, k: int) -> int:
    """Sort the ``k`` first of many candidates; returns the key of the ``k``-th. Overwrites the candidates."""
    one = uint64(1)
    kept = NONE
    for i in range(n):
        key = keys[i]
        if kept == k and key > keys[k - one]:
            continue
        slot = slots[CANDIDATES + i]
        kept = min(kept + one, k)
        at = kept - one
        while at > NONE and keys[at - one] > key:
            keys[at] = keys[at - one]
            slots[at] = slots[at - one]
            at -= one
        keys[at], slots[at] = key, slot
    kth: int = keys[k - one]
    return kth


@inlined
def _sort(keys: IntArray, slots: IntArray, n: int, k: int) -> int:
    """Put the ``k`` first of the ``n`` candidates in order; returns the key of the ``k``-th."""
    if n <= uint64(RANK_SORT_BELOW):
        kth = _rank_sort(keys, slots, n, k)
    else:
        kth = _insertion_sort(keys, slots, n, k)
    return kth


@inlined
def find_nearest(grid: NeighbourGrid, search: Search, me: int, k: int, range_square: float, column_limit: int) -> int:
    """Put the places of the at most ``k`` agents nearest to ``me`` into ``search.slots``; returns how many.

    Only agents nearer than ``√range_square`` metres whose column is below ``column_limit`` count.
    """
    column = grid.columns[me]
    reach = grid.copies[REACH, column]
    sort_all = grid.frame[PLACES] < float32(SORT_ALL_BELOW)
    reach = range_square if sort_all | (reach == ZERO) | (reach > range_square) else reach
    n, wanted = NONE, max(k, uint64(1))
    while True:
        n = _collect(grid, search.keys, search.slots, me, reach, column_limit)
        if n >= wanted or reach >= range_square:
            break
        reach = min(reach * float32(2.0), range_square)
    kth = _sort(search.keys, search.slots, n, wanted)
    square = np.uint32(kth >> uint64(32)).view(np.float32)
    next_reach = square * float32(1.15) + float32(0.1)
    grid.copies[REACH, column] = range_square if n < wanted else next_reach
    return min(n, k)
