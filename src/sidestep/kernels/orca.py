"""Optimal reciprocal collision avoidance (ORCA) for one world of people.

Each person takes, of all velocities that avoid every neighbour for ``τ`` seconds if the neighbour does its share, the
one nearest to the wish; where there is none, the one that violates the least. Walls are avoided in any case.

Source: van den Berg, Guy, Lin, Manocha, "Reciprocal n-body collision avoidance" (2011), and for the choices that
the paper leaves open its RVO2 library, whose float32 trajectories are reproduced. Two additions: ``SHARE`` weighs who
gives way, and coinciding agents part instead of becoming NaN.

Two people who meet exactly head-on slow down and never pass, as nothing breaks the symmetry: whoever fills WISH adds a
tiny deterministic sideways bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

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
    MAX_NEIGHBOURS,
    COPY_RADIUS,
    COPY_SHARE,
    COPY_VX,
    COPY_VY,
    COPY_X,
    COPY_Y,
    NeighbourGrid,
    Search,
    build_neighbours,
    find_nearest,
    make_neighbour_grid,
    make_search,
)
from sidestep.kernels.orca_lines import (
    MAX_WALL_EDGES,
    edges_in_view,
    people_lines,
    wall_line,
    PEOPLE,
    WORK_FLOATS,
    set_neighbour,
)

# places in the parameter array
TIME_STEP, NEIGHBOUR_DISTANCE, NEIGHBOUR_COUNT, HORIZON_PEOPLE, HORIZON_WALLS, PARAMETERS = range(6)


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

    def to_array(self) -> NDArray[np.float32]:
        """What the kernels take: float32, ``PARAMETERS`` long."""
        values = np.empty(PARAMETERS, np.float32)
        values[TIME_STEP], values[NEIGHBOUR_DISTANCE] = self.time_step, self.neighbour_distance
        values[NEIGHBOUR_COUNT] = self.max_neighbours
        values[HORIZON_PEOPLE], values[HORIZON_WALLS] = self.horizon_people, self.horizon_walls
        return values


class OrcaScratch(NamedTuple):
    """Memory that one thread needs. ``grid`` describes the world at hand, the rest is work space."""

    grid: NeighbourGrid
    search: Search
    lines: NDArray[np.float32]  # (WORK_FLOATS,) see ``orca_lines``
    bisectors: NDArray[np.float32]  # (LINE_FLOATS,)
    edges: NDArray[np.int32]  # (MAX_WALL_EDGES,) wall edges in view


@kernel
def make_orca_scratch(m):
    """All memory that worlds of at most ``m`` agents need; one per thread, kept over worlds and steps."""
    return OrcaScratch(
        make_neighbour_grid(m),
        make_search(m),
        np.ones(WORK_FLOATS, np.float32),
        np.zeros(LINE_FLOATS, np.float32),
        np.zeros(MAX_WALL_EDGES, np.int32),
    )


@inlined
def _solve(vx, vy, wish_x, wish_y, max_speed, begin, neighbours, params, scratch):
    """The ORCA velocity, given the lines of walls from ``begin`` on and the number of neighbours noted."""
    lines = scratch.lines
    people_lines(lines, neighbours, vx, vy, ONE / params[HORIZON_PEOPLE], ONE / params[TIME_STEP])
    end = PEOPLE + neighbours
    failed, new_x, new_y = nearest_velocity(lines, begin, end, max_speed, wish_x, wish_y)
    if failed < end:
        new_x, new_y = least_violation(
            lines, begin, PEOPLE, end, failed, max_speed, new_x, new_y, scratch.bisectors
        )
    return new_x, new_y


@kernel(_nrt=False)
def _wall_lines(
    x,
    y,
    vx,
    vy,
    radius,
    max_speed,
    points,
    dirs,
    following,
    before,
    convex,
    cell_start,
    cell_items,
    cell_grid,
    cell_grid_shape,
    params,
    lines,
    edges,
):
    """Write the lines of all wall edges in view so that the last comes before PEOPLE; returns where they begin."""
    reach = min(params[HORIZON_WALLS] * max_speed + radius, np.float32(WALL_REACH))
    per_horizon = ONE / params[HORIZON_WALLS]
    seen = edges_in_view(
        x, y, reach, points, following, cell_start, cell_items, cell_grid, cell_grid_shape, edges, lines
    )
    n = np.uint64(0)
    for i in range(seen):
        n = wall_line(
            x, y, vx, vy, radius, per_horizon, edges[i], points, dirs, following, before, convex, lines, n
        )
    for row in (POINT_X, POINT_Y, DIR_X, DIR_Y):
        for i in range(n):  # from the last on, as the ranges may overlap
            lines[row + PEOPLE - NEXT - i] = lines[row + n - NEXT - i]
    return PEOPLE - n


@inlined
def _note_neighbours(grid, me, neighbours, scratch):
    """Note what the lines need to know of each neighbour that the search has found."""
    x, y = grid.copies[COPY_X, me], grid.copies[COPY_Y, me]
    vx, vy = grid.copies[COPY_VX, me], grid.copies[COPY_VY, me]
    radius, share = grid.copies[COPY_RADIUS, me], grid.copies[COPY_SHARE, me]
    for i in range(neighbours):
        other = scratch.search.slots[i]
        total = share + grid.copies[COPY_SHARE, other]
        set_neighbour(
            scratch.lines,
            PEOPLE + i,
            grid.copies[COPY_X, other] - x,
            grid.copies[COPY_Y, other] - y,
            vx - grid.copies[COPY_VX, other],
            vy - grid.copies[COPY_VY, other],
            radius + grid.copies[COPY_RADIUS, other],
            share / total if total > ZERO else ZERO,
            ONE if grid.columns[other] > grid.columns[me] else -ONE,
        )


@kernel(_nrt=False)
def orca_range(
    agents,
    flags,
    people,
    wall_points,
    wall_dirs,
    wall_next,
    wall_prev,
    wall_convex,
    cell_start,
    cell_items,
    cell_grid,
    cell_grid_shape,
    params,
    grid,
    scratch,
    first,
    last,
):
    """Write NEW_VX, NEW_VY of the ORCA people at places ``first … last-1`` of ``grid``'s order.

    ``build_neighbours`` has filled ``grid`` and returned the number of places. Threads may share one world: same
    ``grid``, disjoint ranges, a ``scratch`` each (whose own ``grid`` is not used). Every split gives the same result.
    """
    range_square = params[NEIGHBOUR_DISTANCE] * params[NEIGHBOUR_DISTANCE]
    k = np.uint64(params[NEIGHBOUR_COUNT])
    m = agents.shape[1]
    for place in range(first, last):
        me = np.uint32(place)
        column = grid.columns[me]
        if np.int64(column) >= people or flags[MODEL, column] != MODEL_ORCA:
            continue
        x, y = grid.copies[COPY_X, me], grid.copies[COPY_Y, me]
        vx, vy = grid.copies[COPY_VX, me], grid.copies[COPY_VY, me]
        max_speed = agents[MAX_SPEED, column]
        begin = PEOPLE
        if wall_points.shape[0] > 0:
            radius = grid.copies[COPY_RADIUS, me]
            begin = _wall_lines(
                x,
                y,
                vx,
                vy,
                radius,
                max_speed,
                wall_points,
                wall_dirs,
                wall_next,
                wall_prev,
                wall_convex,
                cell_start,
                cell_items,
                cell_grid,
                cell_grid_shape,
                params,
                scratch.lines,
                scratch.edges,
            )
        column_limit = np.uint32(m if flags[SEES_ROBOT, column] != 0 else people)
        neighbours = find_nearest(grid, scratch.search, me, k, range_square, column_limit)
        _note_neighbours(grid, me, neighbours, scratch)
        wish_x, wish_y = agents[WISH_X, column], agents[WISH_Y, column]
        new_x, new_y = _solve(vx, vy, wish_x, wish_y, max_speed, begin, neighbours, params, scratch)
        agents[NEW_VX, column], agents[NEW_VY, column] = new_x, new_y


@kernel(_nrt=False)
def orca_world(
    agents,
    flags,
    people,
    wall_points,
    wall_dirs,
    wall_next,
    wall_prev,
    wall_convex,
    cell_start,
    cell_items,
    cell_grid,
    cell_grid_shape,
    params,
    scratch,
):
    """Write NEW_VX, NEW_VY of every active person whose MODEL is MODEL_ORCA; touches nothing else of the world.

    ``agents``, ``flags`` and the walls are as in ``layout``; columns from ``people`` on are robots. A person with
    ``SEES_ROBOT == 0`` ignores those. ``params`` is ``OrcaParameters.to_array()``, ``scratch`` from ``make_orca_scratch``.
    """
    for j in range(people):
        if flags[ACTIVE, j] != 0 and flags[MODEL, j] == MODEL_ORCA:
            break
    else:
        return
    places = build_neighbours(agents, flags, np.int64(params[NEIGHBOUR_COUNT]), scratch.grid)
    orca_range(
        agents,
        flags,
        people,
        wall_points,
        wall_dirs,
        wall_next,
        wall_prev,
        wall_convex,
        cell_start,
        cell_items,
        cell_grid,
        cell_grid_shape,
        params,
        scratch.grid,
        scratch,
        0,
        places,
    )
