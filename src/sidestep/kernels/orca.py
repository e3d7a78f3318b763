"""Optimal reciprocal collision avoidance (ORCA) for one world of people.

Each person takes, of all velocities that avoid every neighbour for ``τ`` seconds if the neighbour does its
share, the one nearest to the wish; where there is none, the one that violates the least. Walls are kept in
any case.

Source: van den Berg, Guy, Lin, Manocha, "Reciprocal n-body collision avoidance" (2011), and for the choices
that the paper leaves open its RVO2 library, whose float32 trajectories are reproduced. Additions: ``SHARE``
weighs who gives way, and coinciding agents part instead of becoming NaN.

Two people who meet exactly head-on slow down and never pass, as nothing breaks the symmetry: whoever fills
WISH adds a tiny deterministic sideways bias.

The kernels allocate nothing and so count no references (``_nrt=False``), which would take half of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import (
    ACTIVE,
    MAX_SPEED,
    MODEL,
    MODEL_ORCA,
    NEW_VX,
    NEW_VY,
    SEES_ROBOT,
    WALL_REACH,
    WISH_X,
    WISH_Y,
)
from sidestep.kernels.linear_program import (
    DIR_X,
    DIR_Y,
    LINE_FLOATS,
    NEXT,
    ONE,
    POINT_X,
    POINT_Y,
    ZERO,
    least_violation,
    nearest_velocity,
)
from sidestep.kernels.neighbours import (
    CAPACITY,
    COPY_RADIUS,
    COPY_SHARE,
    COPY_VX,
    COPY_VY,
    COPY_X,
    COPY_Y,
    MAX_NEIGHBOURS,
    Search,
    add_candidate,
    build_neighbours,
    find_nearest,
    neighbour_floats,
    sort_candidates,
    split_grid,
    split_search,
)
from sidestep.kernels.orca_lines import (
    MAX_WALL_EDGES,
    PEOPLE,
    WORK_FLOATS,
    edges_in_view,
    people_lines,
    set_neighbour,
    wall_line,
)

# places in the parameter array
TIME_STEP, NEIGHBOUR_DISTANCE, NEIGHBOUR_COUNT, HORIZON_PEOPLE, HORIZON_WALLS, PARAMETERS = range(6)
# where the neighbours' part of the scratch begins
NEIGHBOURS_BEGIN = WORK_FLOATS + LINE_FLOATS + MAX_WALL_EDGES


@dataclass(frozen=True)
class OrcaParameters:
    """Settings that all people of a world share."""

    time_step: float = 0.05  #: s, Δt: within it, people who overlap try to part
    neighbour_distance: float = 10.0  #: m, centre to centre: who is farther is not seen
    max_neighbours: int = 10  #: only the nearest so many are avoided, 0 … 64
    horizon_people: float = 5.0  #: s, τ: how long a velocity must stay free of collisions with people
    horizon_walls: float = 2.0  #: s: the same for walls; edges beyond ``layout.WALL_REACH`` are never seen

    def __post_init__(self) -> None:
        for name in ("time_step", "horizon_people", "horizon_walls"):
            if not 0.0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a positive time in seconds, not {getattr(self, name)}")
        if not 0.0 <= self.neighbour_distance < float("inf"):
            raise ValueError(f"neighbour_distance must be at least 0 m, not {self.neighbour_distance}")
        if not 0 <= self.max_neighbours <= MAX_NEIGHBOURS:
            raise ValueError(f"max_neighbours must be 0 … {MAX_NEIGHBOURS}, not {self.max_neighbours}")

    def as_array(self) -> NDArray[np.float32]:
        """What the kernels take: float32, ``PARAMETERS`` long."""
        values = np.empty(PARAMETERS, np.float32)
        values[TIME_STEP], values[NEIGHBOUR_DISTANCE] = self.time_step, self.neighbour_distance
        values[NEIGHBOUR_COUNT] = self.max_neighbours
        values[HORIZON_PEOPLE], values[HORIZON_WALLS] = self.horizon_people, self.horizon_walls
        return values


class OrcaWork(NamedTuple):
    """Work space of one thread, parts of its scratch."""

    search: Search
    lines: NDArray[np.float32]  # (WORK_FLOATS,) see ``orca_lines``
    bisectors: NDArray[np.float32]  # (LINE_FLOATS,)
    edges: NDArray[np.int32]  # (MAX_WALL_EDGES,) wall edges in view


@kernel(allocates=True)
def make_orca_scratch(m):
    """All memory that worlds of at most ``m`` agents need; one per thread, kept over worlds and steps.

    One float32 array, which is cheap to pass: the lines, the wall edges, then the neighbours' part.
    """
    scratch = np.zeros(NEIGHBOURS_BEGIN + neighbour_floats(m), np.float32)
    scratch[NEIGHBOURS_BEGIN + CAPACITY] = m
    return scratch


@kernel(forceinline=True)
def _split_work(scratch):
    """The OrcaWork in a scratch; the warning of ``split_grid`` holds."""
    return OrcaWork(
        split_search(scratch[NEIGHBOURS_BEGIN:]),
        scratch[:WORK_FLOATS],
        scratch[WORK_FLOATS : WORK_FLOATS + LINE_FLOATS],
        scratch[WORK_FLOATS + LINE_FLOATS : NEIGHBOURS_BEGIN].view(np.int32),
    )


@inlined
def _solve(vx, vy, wish_x, wish_y, max_speed, begin, neighbours, params, work):
    """The ORCA velocity, given the lines of walls from ``begin`` on and the number of neighbours noted."""
    lines = work.lines
    people_lines(lines, neighbours, vx, vy, ONE / params[HORIZON_PEOPLE], ONE / params[TIME_STEP])
    end = PEOPLE + neighbours
    failed, new_x, new_y = nearest_velocity(lines, begin, end, max_speed, wish_x, wish_y)
    if failed < end:
        new_x, new_y = least_violation(lines, begin, PEOPLE, end, failed, max_speed, new_x, new_y, work.bisectors)
    return new_x, new_y


@kernel
def _wall_lines(x, y, vx, vy, radius, max_speed, walls, params, lines, edges):
    """Write the lines of the wall edges in view, the last just before PEOPLE; returns where they begin."""
    points, dirs, following, before, convex, cell_start, cell_items, cell_grid, cell_grid_shape = walls
    reach = min(params[HORIZON_WALLS] * max_speed + radius, np.float32(WALL_REACH))
    per_horizon = ONE / params[HORIZON_WALLS]
    cells = (cell_start, cell_items, cell_grid, cell_grid_shape)
    seen = edges_in_view(x, y, reach, points, following, cells, edges, lines)
    n = np.uint64(0)
    for i in range(seen):
        edge = edges[i]
        n = wall_line(x, y, vx, vy, radius, per_horizon, edge, points, dirs, following, before, convex, lines, n)
    for row in (POINT_X, POINT_Y, DIR_X, DIR_Y):
        for i in range(n):  # from the last on, as the ranges may overlap
            lines[row + PEOPLE - NEXT - i] = lines[row + n - NEXT - i]
    return PEOPLE - n


@inlined
def _note_neighbours(grid, me, neighbours, work):
    """Note what the lines need to know of each neighbour that the search has found."""
    x, y = grid.copies[COPY_X, me], grid.copies[COPY_Y, me]
    vx, vy = grid.copies[COPY_VX, me], grid.copies[COPY_VY, me]
    radius, share = grid.copies[COPY_RADIUS, me], grid.copies[COPY_SHARE, me]
    for i in range(neighbours):
        other = work.search.slots[i]
        total = share + grid.copies[COPY_SHARE, other]
        set_neighbour(
            work.lines,
            PEOPLE + i,
            grid.copies[COPY_X, other] - x,
            grid.copies[COPY_Y, other] - y,
            vx - grid.copies[COPY_VX, other],
            vy - grid.copies[COPY_VY, other],
            radius + grid.copies[COPY_RADIUS, other],
            share / total if total > ZERO else ZERO,
            ONE if grid.columns[other] > grid.columns[me] else -ONE,
        )


@kernel
def orca_build(agents, flags, params, scratch):
    """Sort the active agents into ``scratch`` for ``orca_range``; returns the number of places."""
    return build_neighbours(agents, flags, np.int64(params[NEIGHBOUR_COUNT]), split_grid(scratch[NEIGHBOURS_BEGIN:]))


@kernel
def orca_range(
    agents, flags, people, wall_points, wall_dirs, wall_next, wall_prev, wall_convex, cell_start, cell_items,
    cell_grid, cell_grid_shape, params, shared, scratch, first, last,
):  # fmt: skip
    """Write NEW_VX, NEW_VY of the ORCA people at places ``first … last-1`` of the order in ``shared``.

    ``orca_build`` has filled the scratch ``shared`` and returned the number of places. Threads may share one
    world: the same ``shared``, disjoint ranges, a ``scratch`` each (one of them may be ``shared``). No split
    changes a result.
    """
    walls = (
        wall_points, wall_dirs, wall_next, wall_prev, wall_convex, cell_start, cell_items, cell_grid,
        cell_grid_shape,
    )  # fmt: skip
    grid, work = split_grid(shared[NEIGHBOURS_BEGIN:]), _split_work(scratch)
    range_square = params[NEIGHBOUR_DISTANCE] * params[NEIGHBOUR_DISTANCE]
    k = np.uint64(params[NEIGHBOUR_COUNT])
    for place in range(first, last):
        me = np.uint32(place)
        column = grid.columns[me]
        if np.int64(column) >= people or flags[MODEL, column] != MODEL_ORCA:
            continue
        vx, vy = grid.copies[COPY_VX, me], grid.copies[COPY_VY, me]
        max_speed = agents[MAX_SPEED, column]
        begin = PEOPLE
        if wall_points.shape[0] > 0:
            x, y, radius = grid.copies[COPY_X, me], grid.copies[COPY_Y, me], grid.copies[COPY_RADIUS, me]
            begin = _wall_lines(x, y, vx, vy, radius, max_speed, walls, params, work.lines, work.edges)
        column_limit = np.uint32(agents.shape[1] if flags[SEES_ROBOT, column] != 0 else people)
        neighbours = find_nearest(grid, work.search, me, k, range_square, column_limit)
        _note_neighbours(grid, me, neighbours, work)
        wish_x, wish_y = agents[WISH_X, column], agents[WISH_Y, column]
        new_x, new_y = _solve(vx, vy, wish_x, wish_y, max_speed, begin, neighbours, params, work)
        agents[NEW_VX, column], agents[NEW_VY, column] = new_x, new_y


@kernel
def orca_world(
    agents, flags, people, wall_points, wall_dirs, wall_next, wall_prev, wall_convex, cell_start, cell_items,
    cell_grid, cell_grid_shape, params, scratch,
):  # fmt: skip
    """Write NEW_VX, NEW_VY of every active person whose MODEL is MODEL_ORCA; nothing else changes.

    ``agents``, ``flags`` and the walls are as in ``layout``; columns from ``people`` on are robots. A person
    with ``SEES_ROBOT == 0`` ignores those. ``params`` is ``OrcaParameters.as_array()``, ``scratch`` comes
    from ``make_orca_scratch``.
    """
    for j in range(people):
        if flags[ACTIVE, j] != 0 and flags[MODEL, j] == MODEL_ORCA:
            break
    else:
        return
    places = orca_build(agents, flags, params, scratch)
    orca_range(
        agents, flags, people, wall_points, wall_dirs, wall_next, wall_prev, wall_convex, cell_start,
        cell_items, cell_grid, cell_grid_shape, params, scratch, scratch, 0, places,
    )  # fmt: skip


@kernel
def _single(own, positions, velocities, radii, responsibilities, walls, params, scratch, velocity):
    """Kernel of ``orca_single``; ``own`` is x, y, vx, vy, wish x, wish y, radius, maximum speed."""
    work = _split_work(scratch)
    x, y, vx, vy, radius, max_speed = own[0], own[1], own[2], own[3], own[6], own[7]
    range_square = params[NEIGHBOUR_DISTANCE] * params[NEIGHBOUR_DISTANCE]
    n = np.uint64(0)
    for j in range(positions.shape[0]):
        dx, dy = positions[j, 0] - x, positions[j, 1] - y
        n = add_candidate(work.search, n, np.float32(dx * dx + dy * dy), np.uint32(j), range_square)
    neighbours = sort_candidates(work.search, n, np.uint64(params[NEIGHBOUR_COUNT]))
    for i in range(neighbours):
        j = work.search.slots[i]
        set_neighbour(
            work.lines, PEOPLE + i, positions[j, 0] - x, positions[j, 1] - y, vx - velocities[j, 0],
            vy - velocities[j, 1], radius + radii[j], responsibilities[j], ONE,
        )  # fmt: skip
    begin = PEOPLE
    if walls[0].shape[0] > 0:
        begin = _wall_lines(x, y, vx, vy, radius, max_speed, walls, params, work.lines, work.edges)
    velocity[0], velocity[1] = _solve(vx, vy, own[4], own[5], max_speed, begin, neighbours, params, work)


def no_walls() -> tuple[NDArray[Any], ...]:
    """The nine arrays of a world without walls, in the order in which ``orca_world`` takes them."""
    corners, numbers = np.zeros((0, 2), np.float32), np.zeros(0, np.int32)
    cells = (np.zeros(2, np.int32), numbers, np.array([0, 0, 1, 0], np.float32), np.ones(2, np.int32))
    return (corners, corners, numbers, numbers, np.zeros(0, np.uint8), *cells)


def orca_single(
    position: ArrayLike,
    velocity: ArrayLike,
    wish: ArrayLike,
    *,
    radius: float,
    max_speed: float,
    neighbour_positions: ArrayLike,
    neighbour_velocities: ArrayLike,
    neighbour_radii: ArrayLike,
    responsibilities: ArrayLike,
    walls: tuple[NDArray[Any], ...] | None = None,
    parameters: OrcaParameters | None = None,
    scratch: NDArray[np.float32] | None = None,
) -> NDArray[np.float32]:
    """ORCA velocity (m/s) of one agent, shape (2,).

    ``neighbour_positions``, ``neighbour_velocities`` (n, 2), ``neighbour_radii``, ``responsibilities`` (n,):
    the last is the part of each avoidance that this agent takes, 0 … 1. ``walls`` are the nine arrays of
    ``orca_world``. A ``scratch`` for at least n agents may be kept from call to call.
    """
    flat = [np.asarray(part, np.float32).reshape(2) for part in (position, velocity, wish)]
    own = np.concatenate([*flat, np.array([radius, max_speed], np.float32)])
    positions = np.asarray(neighbour_positions, np.float32).reshape(-1, 2)
    velocities = np.asarray(neighbour_velocities, np.float32).reshape(-1, 2)
    radii, shares = np.asarray(neighbour_radii, np.float32), np.asarray(responsibilities, np.float32)
    n = len(positions)
    if len(velocities) != n or radii.shape != (n,) or shares.shape != (n,):
        raise ValueError("positions, velocities, radii and responsibilities must be of as many neighbours")
    if scratch is None:
        scratch = make_orca_scratch(n)
    elif scratch[NEIGHBOURS_BEGIN + CAPACITY] < n:
        raise ValueError("the scratch was made for fewer agents")
    settings = (parameters or OrcaParameters()).as_array()
    result = np.empty(2, np.float32)
    _single(own, positions, velocities, radii, shares, walls or no_walls(), settings, scratch, result)
    return result
