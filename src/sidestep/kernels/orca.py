"""Optimal reciprocal collision avoidance (ORCA) for one world of people.

Each person takes, of all velocities that avoid every neighbour for ``τ`` seconds if the neighbour does its
share, the one nearest to the wish; where there is none, the one that violates the least. Walls are kept in
any case.

Source: van den Berg, Guy, Lin, Manocha, "Reciprocal n-body collision avoidance" (2011), and for the choices
that the paper leaves open its RVO2 library, whose float32 trajectories are reproduced. Additions: ``SHARE``
weighs who gives way, and coinciding agents part instead of becoming NaN.

Two people who meet exactly head-on slow down and never pass, as nothing breaks the symmetry: whoever fills
WISH adds a tiny deterministic sideways bias.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels import linear_program as lp
from sidestep.kernels import neighbours as nearest
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, int64, uint32, uint64
from sidestep.kernels.neighbours import NeighbourGrid, Search
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
NEIGHBOURS_BEGIN = WORK_FLOATS + lp.LINE_FLOATS + MAX_WALL_EDGES


@dataclass(frozen=True)
class OrcaParameters:
    """Settings that all people of a world share."""

    time_step: float = 0.05  #: s, Δt: within it, people who overlap try to part
    neighbour_distance: float = 10.0  #: m, centre to centre: who is farther is not seen
    max_neighbours: int = 10  #: how many of the nearest are avoided, 0 … 64
    horizon_people: float = 5.0  #: s, τ: how long a velocity must stay free of collisions with people
    horizon_walls: float = 2.0  #: s: the same for walls; edges beyond ``layout.WALL_REACH`` are never seen

    def __post_init__(self) -> None:
        for name in ("time_step", "horizon_people", "horizon_walls"):
            if not 0.0 < getattr(self, name) < float("inf"):
                raise ValueError(f"{name} must be a positive time in seconds, not {getattr(self, name)}")
        if not 0.0 <= self.neighbour_distance < float("inf"):
            raise ValueError(f"neighbour_distance must be at least 0 m, not {self.neighbour_distance}")
        if not 0 <= self.max_neighbours <= nearest.MAX_NEIGHBOURS:
            raise ValueError(f"max_neighbours must be 0 … {nearest.MAX_NEIGHBOURS}, not {self.max_neighbours}")

    def as_array(self) -> FloatArray:
        """What the kernels take: float32, ``PARAMETERS`` long."""
        values = np.empty(PARAMETERS, np.float32)
        values[TIME_STEP], values[NEIGHBOUR_DISTANCE] = self.time_step, self.neighbour_distance
        values[NEIGHBOUR_COUNT] = self.max_neighbours
        values[HORIZON_PEOPLE], values[HORIZON_WALLS] = self.horizon_people, self.horizon_walls
        return values


class OrcaWork(NamedTuple):
    """Work space of one thread, parts of its scratch."""

    search: Search
    lines: FloatArray  # (WORK_FLOATS,) see ``orca_lines``
    bisectors: FloatArray  # (LINE_FLOATS,)
    edges: IntArray  # (MAX_WALL_EDGES,) wall edges in view


@kernel(allocates=True)
def make_orca_scratch(m: int) -> FloatArray:
    """All memory that worlds of at most ``m`` agents need; one per thread, kept over worlds and steps.

    One float32 array, which is cheap to pass: the lines, the wall edges, then the neighbours' part.
    """
    scratch = np.zeros(NEIGHBOURS_BEGIN + nearest.neighbour_floats(m), np.float32)
    scratch[NEIGHBOURS_BEGIN + nearest.CAPACITY] = m
    return scratch


@kernel(forceinline=True)
def _split_work(scratch: FloatArray) -> OrcaWork:
    """The OrcaWork in a scratch; the warning of ``split_grid`` holds."""
    return OrcaWork(
        nearest.split_search(scratch[NEIGHBOURS_BEGIN:]),
        scratch[:WORK_FLOATS],
        scratch[WORK_FLOATS : WORK_FLOATS + lp.LINE_FLOATS],
        scratch[WORK_FLOATS + lp.LINE_FLOATS : NEIGHBOURS_BEGIN].view(np.int32),
    )


@inlined
def _solve(
    vx: float, vy: float, wish_x: float, wish_y: float, max_speed: float, begin: int, neighbours: int,
    params: FloatArray, work: OrcaWork,
) -> tuple[float, float]:  # fmt: skip
    """The ORCA velocity, given the lines of walls from ``begin`` on and the number of neighbours noted."""
    lines = work.lines
    people_lines(lines, neighbours, vx, vy, lp.ONE / params[HORIZON_PEOPLE], lp.ONE / params[TIME_STEP])
    end = PEOPLE + neighbours
    failed, new_x, new_y = lp.nearest_velocity(lines, begin, end, max_speed, wish_x, wish_y)
    if failed < end:
        new_x, new_y = lp.least_violation(lines, begin, PEOPLE, end, failed, max_speed, new_x, new_y, work.bisectors)
    return new_x, new_y


@kernel
def _wall_lines(
    x: float, y: float, vx: float, vy: float, radius: float, max_speed: float, walls: Walls, params: FloatArray,
    lines: FloatArray, edges: IntArray,
) -> int:  # fmt: skip
    """Write the lines of the wall edges in view, the last just before PEOPLE; returns where they begin."""
    reach = min(params[HORIZON_WALLS] * max_speed + radius, float32(at.WALL_REACH))
    per_horizon = lp.ONE / params[HORIZON_WALLS]
    seen = edges_in_view(x, y, reach, walls, edges, lines)
    n = uint64(0)
    for i in range(seen):
        n = wall_line(x, y, vx, vy, radius, per_horizon, edges[i], walls, lines, n)
    for row in (lp.POINT_X, lp.POINT_Y, lp.DIR_X, lp.DIR_Y):
        for i in range(n):  # from the last on, as the ranges may overlap
            lines[row + PEOPLE - lp.NEXT - i] = lines[row + n - lp.NEXT - i]
    return PEOPLE - n


@inlined
def _note_neighbours(grid: NeighbourGrid, me: int, neighbours: int, work: OrcaWork) -> None:
    """Note what the lines need to know of each neighbour that the search has found."""
    x, y = grid.copies[nearest.COPY_X, me], grid.copies[nearest.COPY_Y, me]
    vx, vy = grid.copies[nearest.COPY_VX, me], grid.copies[nearest.COPY_VY, me]
    radius, share = grid.copies[nearest.COPY_RADIUS, me], grid.copies[nearest.COPY_SHARE, me]
    for i in range(neighbours):
        other = work.search.slots[i]
        total = share + grid.copies[nearest.COPY_SHARE, other]
        dx, dy = grid.copies[nearest.COPY_X, other] - x, grid.copies[nearest.COPY_Y, other] - y
        dvx, dvy = vx - grid.copies[nearest.COPY_VX, other], vy - grid.copies[nearest.COPY_VY, other]
        own_share = share / total if total > lp.ZERO else lp.ZERO
        side = lp.ONE if grid.columns[other] > grid.columns[me] else -lp.ONE
        radii = radius + grid.copies[nearest.COPY_RADIUS, other]
        set_neighbour(work.lines, PEOPLE + i, dx, dy, dvx, dvy, radii, own_share, side)


@kernel
def orca_build(agents: FloatArray, flags: IntArray, params: FloatArray, scratch: FloatArray) -> int:
    """Sort the active agents into ``scratch`` for ``orca_range``; returns the number of places."""
    return nearest.build_neighbours(
        agents, flags, int64(params[NEIGHBOUR_COUNT]), nearest.split_grid(scratch[NEIGHBOURS_BEGIN:])
    )


@kernel
def orca_range(
    agents: FloatArray, flags: IntArray, people: int, walls: Walls, params: FloatArray, shared: FloatArray,
    scratch: FloatArray, first: int, last: int,
) -> None:  # fmt: skip
    """Write NEW_VX, NEW_VY of the ORCA people at places ``first … last-1`` of the order in ``shared``.

    ``orca_build`` has filled the scratch ``shared`` and returned the number of places. Threads may share one
    world: the same ``shared``, disjoint ranges, a ``scratch`` each (one of them may be ``shared``). No split
    changes a result.
    """
    grid, work = nearest.split_grid(shared[NEIGHBOURS_BEGIN:]), _split_work(scratch)
    range_square = params[NEIGHBOUR_DISTANCE] * params[NEIGHBOUR_DISTANCE]
    k = uint64(params[NEIGHBOUR_COUNT])
    for place in range(first, last):
        me = uint32(place)
        column = grid.columns[me]
        if int64(column) >= people or flags[at.MODEL, column] != at.MODEL_ORCA:
            continue
        vx, vy = grid.copies[nearest.COPY_VX, me], grid.copies[nearest.COPY_VY, me]
        max_speed = agents[at.MAX_SPEED, column]
        begin = PEOPLE
        if walls.points.shape[0] > 0:
            x, y, radius = (
                grid.copies[nearest.COPY_X, me],
                grid.copies[nearest.COPY_Y, me],
                grid.copies[nearest.COPY_RADIUS, me],
            )
            begin = _wall_lines(x, y, vx, vy, radius, max_speed, walls, params, work.lines, work.edges)
        column_limit = uint32(agents.shape[1] if flags[at.SEES_ROBOT, column] != 0 else people)
        neighbours = nearest.find_nearest(grid, work.search, me, k, range_square, column_limit)
        _note_neighbours(grid, me, neighbours, work)
        wish_x, wish_y = agents[at.WISH_X, column], agents[at.WISH_Y, column]
        new_x, new_y = _solve(vx, vy, wish_x, wish_y, max_speed, begin, neighbours, params, work)
        agents[at.NEW_VX, column], agents[at.NEW_VY, column] = new_x, new_y


@kernel(is_part=True)
def orca_world(
    agents: FloatArray, flags: IntArray, people: int, walls: Walls, params: FloatArray, scratch: FloatArray
) -> None:
    """Write NEW_VX, NEW_VY of every active person whose MODEL is MODEL_ORCA; nothing else changes.

    Columns from ``people`` on are robots; a person with ``SEES_ROBOT == 0`` ignores those. ``params`` is
    ``OrcaParameters.as_array()``, ``scratch`` comes from ``make_orca_scratch``.
    """
    for j in range(people):
        if flags[at.ACTIVE, j] != 0 and flags[at.MODEL, j] == at.MODEL_ORCA:
            break
    else:
        return
    places = orca_build(agents, flags, params, scratch)
    orca_range(agents, flags, people, walls, params, scratch, scratch, 0, places)
