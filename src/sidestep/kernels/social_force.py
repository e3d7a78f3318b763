"""What both social-force models share: neighbours, walls, walking groups, and the step to a new velocity. Walls:
following Helbing, Farkas and Vicsek (Nature 407, 2000) the forces of all walls are summed, here over every point of
the walls that is locally nearest and faces the person: once for an edge with the person beside it, once for a
corner that sticks out at the person. Neither a corner nor a wall drawn in several pieces counts twice. Neighbours:
everybody beyond the cut-off distance contributes exactly nothing, and contributions are added by
``order_free_steps``; the cell grid, which only skips far people, the order of the columns and inactive columns do
not change a single bit of the result. Groups: M. Moussaïd, N. Perozo, S. Garnier, D. Helbing, G. Theraulaz, *The
walking behaviour of pedestrian social groups and its impact on crowd dynamics*, PLoS ONE 5(4), e10047, 2010. For
person i of a group of n people in the world, with c the centre of the other members and C the centre of the whole
group: gaze ``-β1 α v_i``, where α (rad) is how far the head turns beyond the vision angle φ to see c; coherence
``β2 U`` towards C (unit vector U) while C is farther away than (n - 1) / 2 metres; repulsion ``β3 W_k`` away from
every member k (unit vector W_k) closer than d0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sidestep.kernels import layout as at
from sidestep.kernels.approx import atan2_32, exp32_bounded
from sidestep.kernels.jit import inlined, kernel
from sidestep.kernels.layout import FloatArray, IntArray, Walls, float32, int64, uint64

# Scratch is one float32 array: lists of int32, then tiles. A tile holds up to TILE candidates in rows of a
# fixed stride, so that LLVM knows at compile time that the rows do not overlap; the stride is no divisor of a
# memory page, because rows that start at the same place of their pages slow each other down.
TILE, STRIDE, TILE_ROWS = 256, 264, 11
ROW_X, ROW_Y, ROW_VX, ROW_VY, ROW_RADIUS, ROW_FX, ROW_FY = (uint64(STRIDE * row) for row in range(7))
WORK_A, WORK_B, WORK_C, WORK_D = (uint64(STRIDE * row) for row in range(7, TILE_ROWS))
TILE_SIZE = STRIDE * TILE_ROWS
_TILE, _TILE_SIZE = uint64(TILE), uint64(TILE_SIZE)
LANES = 8  # candidates are padded to a multiple of the vector width
LIST_PADDING = 16
CELLS_PER_PERSON = 4
LISTS = 4 + CELLS_PER_PERSON

GRID_FROM = 24  # with fewer people one cell holds everybody
CELLS_PER_REACH = 1
_CELL_MARGIN = float32(1.01)  # rounding in cell indices must not lose a neighbour at the cut-off distance
_FAR = float32(1e6)  # metres: where padding stands

LOWEST_EXPONENT, HIGHEST_EXPONENT = float32(-60.0), float32(8.0)
TINY = float32(1e-12)  # m²: below this a distance counts as zero and gives no direction
STRENGTH_LIMIT = 4000.0  # m/s²: times exp(HIGHEST_EXPONENT) it stays below the limit of order_free_steps
_ZERO, _HALF, _ONE, _TWO = float32(0.0), float32(0.5), float32(1.0), float32(2.0)
_GROW = float32(1.25)
_REACH = float32(at.WALL_REACH)


Lists = tuple[IntArray, IntArray, IntArray, IntArray, IntArray]  # order, cell of, group head, group next, cell first
Cells = tuple[float, float, float, int, int, int]  # x0, y0, cells per metre, nx, ny, span
WallLaw = tuple[float, float, float, float, float]  # strength, 1 / range, body, friction, its limit


def require_positive(parameters: object, names: tuple[str, ...], *, or_zero: bool = False) -> None:
    """Raise ValueError unless every named attribute is finite and > 0 (or >= 0, if that is allowed)."""
    for name in names:
        value = getattr(parameters, name)
        if not math.isfinite(value) or value < 0.0 or (value == 0.0 and not or_zero):
            kind = type(parameters).__name__
            raise ValueError(f"{kind}.{name} has to be finite and {'>=' if or_zero else '>'} 0, not {value!r}")


@kernel(allocates=True)
def make_social_force_scratch(m: int) -> FloatArray:
    """Working memory of one thread, for worlds of at most ``m`` columns (float32, one-dimensional)."""
    return np.zeros(LISTS * (m + LIST_PADDING) + ((m + LANES) // TILE + 1) * TILE_SIZE, dtype=np.float32)


@inlined
def split_scratch(scratch: FloatArray, m: int) -> tuple[Lists, FloatArray]:
    """``(order, cell_of, group_head, group_next, cell_first)`` as int32, and the tiles."""
    width = m + LIST_PADDING
    lists = scratch[: LISTS * width].view(np.int32)
    order, cell_of = lists[:width], lists[width : 2 * width]
    group_head, group_next = lists[2 * width : 3 * width], lists[3 * width : 4 * width]
    return (order, cell_of, group_head, group_next, lists[4 * width :]), scratch[LISTS * width :]


@inlined
def cell_index(offset: float, per_cell: float, count: int) -> int:
    """Index of the cell at ``offset`` from the first one's edge, clamped to 0 … count - 1; 0 for NaN."""
    position = offset * per_cell
    last = float32(count - 1)
    position = position if position > _ZERO else _ZERO
    return int64(position if position < last else last)


@kernel
def choose_cells(agents: FloatArray, flags: IntArray, people: int, reach: float, span: int) -> Cells:
    """Cells for the people, so that neighbours within ``reach`` (m) are at most ``span`` cells away.

    Returns ``(x0, y0, cells per metre, nx, ny, span)``. There is a single cell when people are few, and there
    are at most CELLS_PER_PERSON for each person: people who stand far apart get larger cells.
    """
    x0, y0, x1, y1 = _FAR, _FAR, -_FAR, -_FAR
    active = 0
    for i in range(people):
        if flags[at.ACTIVE, i] != 0:
            x, y = agents[at.PX, i], agents[at.PY, i]
            x0, y0 = (x if x < x0 else x0), (y if y < y0 else y0)
            x1, y1 = (x if x > x1 else x1), (y if y > y1 else y1)
            active += 1
    size = _CELL_MARGIN * reach / float32(span)
    width, height = x1 - x0, y1 - y0
    if active < GRID_FROM or not (width < _FAR and height < _FAR):
        return x0, y0, _ONE / size, 1, 1, span
    while (width / size + _ONE) * (height / size + _ONE) > float32(CELLS_PER_PERSON * people):
        size *= _GROW
    return x0, y0, _ONE / size, int64(width / size) + 1, int64(height / size) + 1, span


@kernel
def sort_into_cells(agents: FloatArray, flags: IntArray, people: int, cells: Cells, lists: Lists) -> None:
    """Counting sort of the active people; cell c has ``order[cell_first[c] : cell_first[c + 1]]``."""
    x0, y0, per_cell, nx, ny, _ = cells
    order, cell_of, _, _, cell_first = lists
    for c in range(nx * ny + 2):
        cell_first[c] = 0
    for i in range(people):
        if flags[at.ACTIVE, i] != 0:
            c = cell_index(agents[at.PY, i] - y0, per_cell, ny) * nx + cell_index(agents[at.PX, i] - x0, per_cell, nx)
            cell_of[i] = c
            cell_first[c + 2] += 1
    for c in range(nx * ny):
        cell_first[c + 2] += cell_first[c + 1]
    for i in range(people):
        if flags[at.ACTIVE, i] != 0:
            slot = cell_of[i] + 1
            order[cell_first[slot]] = i
            cell_first[slot] += 1


@inlined
def _place(tiles: FloatArray, k: int, x: float, y: float, vx: float, vy: float, radius: float) -> None:
    place = k // _TILE * _TILE_SIZE + k % _TILE
    tiles[place + ROW_X] = x
    tiles[place + ROW_Y] = y
    tiles[place + ROW_VX] = vx
    tiles[place + ROW_VY] = vy
    tiles[place + ROW_RADIUS] = radius


@inlined
def _place_agent(tiles: FloatArray, k: int, agents: FloatArray, j: int) -> None:
    _place(tiles, k, agents[at.PX, j], agents[at.PY, j], agents[at.VX, j], agents[at.VY, j], agents[at.RADIUS, j])


@kernel
def gather_candidates(
    agents: FloatArray, flags: IntArray, people: int, cells: Cells, cell: int, lists: Lists, tiles: FloatArray
) -> tuple[int, int, int]:
    """Copy everybody whom a person in ``cell`` may react to into the tiles: people, robots, padding.

    Returns the number of people, of people and robots, and the padded number.
    """
    nx, ny, span = cells[3], cells[4], cells[5]
    cx, cy = cell % nx, cell // nx
    order, cell_first = lists[0], lists[4]
    left, right = max(cx - span, 0), min(cx + span, nx - 1)
    count = 0
    for row in range(max(cy - span, 0), min(cy + span, ny - 1) + 1):
        for k in range(cell_first[row * nx + left], cell_first[row * nx + right + 1]):
            _place_agent(tiles, uint64(count), agents, order[k])
            count += 1
    count_people = count
    for j in range(people, agents.shape[1]):
        if flags[at.ACTIVE, j] != 0:
            _place_agent(tiles, uint64(count), agents, j)
            count += 1
    padded = (count + LANES - 1) // LANES * LANES
    for k in range(count, padded):
        _place(tiles, uint64(k), _FAR, _FAR, _ZERO, _ZERO, _ZERO)
    return count_people, count, padded


@inlined
def exponential_repulsion(gap: float, per_range: float) -> float:
    """``exp(-gap / range)``, the exponent kept between LOWEST_EXPONENT and HIGHEST_EXPONENT."""
    exponent = -gap * per_range
    exponent = exponent if exponent > LOWEST_EXPONENT else LOWEST_EXPONENT
    return exp32_bounded(exponent if exponent < HIGHEST_EXPONENT else HIGHEST_EXPONENT)


@inlined
def _wall_point_force(nx: int, ny: float, gap: float, vx: float, vy: float, law: WallLaw) -> tuple[float, float]:
    """Force of one wall point along (nx, ny); ``law``: strength, 1/range, body, friction, its limit."""
    strength, per_range, body, friction, friction_limit = law
    overlap = -gap if gap < _ZERO else _ZERO
    normal = strength * exponential_repulsion(gap, per_range) + body * overlap
    sliding = min(friction * overlap, friction_limit) * (vx * -ny + vy * nx)
    return normal * nx + sliding * ny, normal * ny - sliding * nx


@kernel
def wall_acceleration(agents: FloatArray, i: int, walls: Walls, law: WallLaw) -> tuple[float, float]:
    """Sum of the forces of the locally nearest wall points within WALL_REACH of person ``i`` (m/s²)."""
    points, dirs, grid, grid_shape = walls.points, walls.dirs, walls.grid, walls.grid_shape
    x, y, vx, vy, radius = agents[at.PX, i], agents[at.PY, i], agents[at.VX, i], agents[at.VY, i], agents[at.RADIUS, i]
    per_cell = _ONE / grid[2]
    column = cell_index(x - grid[0], per_cell, grid_shape[0])
    cell = cell_index(y - grid[1], per_cell, grid_shape[1]) * grid_shape[0] + column
    ax, ay = _ZERO, _ZERO
    for k in range(walls.cell_start[cell], walls.cell_start[cell + 1]):
        w = walls.cell_items[k]
        end = walls.next[w]
        dir_x, dir_y = dirs[w, 0], dirs[w, 1]
        to_x, to_y = x - points[w, 0], y - points[w, 1]
        past_x, past_y = x - points[end, 0], y - points[end, 1]
        if past_x * dir_x + past_y * dir_y >= _ZERO:  # beyond the end: the corner, unless the next edge is nearer
            distance = np.sqrt(past_x * past_x + past_y * past_y)
            ahead = past_x * dirs[end, 0] + past_y * dirs[end, 1] > _ZERO
            if ahead or distance > _REACH or distance == _ZERO:
                continue
            nx, ny = past_x / distance, past_y / distance
        else:
            distance = to_x * dir_y - to_y * dir_x  # positive on the right, where people are
            if to_x * dir_x + to_y * dir_y <= _ZERO or distance <= _ZERO or distance > _REACH:
                continue
            nx, ny = dir_y, -dir_x
        force_x, force_y = _wall_point_force(nx, ny, distance - radius, vx, vy, law)
        ax += force_x
        ay += force_y
    return ax, ay


@inlined
def forget_robots(tile: FloatArray, start: int, count_people: int, count: int) -> None:
    """Set the forces of the robots in a tile, whose first candidate is number ``start``, to zero."""
    for k in range(max(count_people - start, 0), min(count - start, TILE)):
        tile[ROW_FX + uint64(k)] = _ZERO
        tile[ROW_FY + uint64(k)] = _ZERO


@kernel
def widest_reach(agents: FloatArray, flags: IntArray, people: int, cutoff: float) -> float:
    """The largest centre distance (m) at which the surfaces of two active people are within ``cutoff``."""
    radius = _ZERO
    for i in range(people):
        if flags[at.ACTIVE, i] != 0:
            radius = max(radius, agents[at.RADIUS, i])
    return cutoff + _TWO * radius


GROUP_PARAMETERS = 5
_GAZE, _VISION, _COHERENCE, _REPULSION, _REPULSION_DISTANCE = range(GROUP_PARAMETERS)


@dataclass(frozen=True, kw_only=True)
class GroupParameters:
    """Strengths of the group forces, as published by Moussaïd et al. (2010)."""

    gaze: float = 4.0
    """β1 (1/s per rad): deceleration in proportion to head rotation and speed."""
    vision_rad: float = math.pi / 2
    """φ: how far to each side of the walking direction a person sees without turning the head."""
    coherence: float = 3.0
    """β2 (m/s²): acceleration towards the centre of the group."""
    repulsion: float = 1.0
    """β3 (m/s²): acceleration away from each member that is too close."""
    repulsion_distance: float = 0.8
    """d0 (m): centre distance below which members repel each other."""

    def __post_init__(self) -> None:
        for name in ("gaze", "vision_rad", "coherence", "repulsion", "repulsion_distance"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"GroupParameters.{name} has to be a finite number >= 0, not {value!r}")

    def as_array(self) -> NDArray[np.float32]:
        """The parameters in the order that the kernels read them."""
        values = (self.gaze, self.vision_rad, self.coherence, self.repulsion, self.repulsion_distance)
        return np.array(values, dtype=np.float32)


@kernel
def link_groups(flags: IntArray, people: int, head: IntArray, following: IntArray) -> int:
    """Chain the active members of each group in ascending order; returns how many people are in a group.

    ``head[g % people]`` is the first person of a chain, ``following[i]`` the next one, -1 the end. Groups
    whose numbers agree modulo ``people`` share a chain, so a reader compares GROUP as well.
    """
    members = 0
    for bucket in range(people):
        head[bucket] = -1
    for back in range(people):
        i = people - 1 - back
        group = flags[at.GROUP, i]
        if flags[at.ACTIVE, i] == 0 or group < 0:
            continue
        bucket = group % people
        following[i] = head[bucket]
        head[bucket] = i
        members += 1
    return members


@kernel
def group_acceleration(
    agents: FloatArray, flags: IntArray, people: int, head: IntArray, following: IntArray, i: int, params: FloatArray,
    offset: int,
) -> tuple[float, float]:  # fmt: skip
    """Sum of the three group forces on person ``i`` (m/s²); ``params[offset:]`` are the group parameters."""
    group = flags[at.GROUP, i]
    x, y, vx, vy = agents[at.PX, i], agents[at.PY, i], agents[at.VX, i], agents[at.VY, i]
    near = params[offset + _REPULSION_DISTANCE]
    sum_x, sum_y, push_x, push_y = _ZERO, _ZERO, _ZERO, _ZERO
    others = 0
    k = head[group % people]
    while k >= 0:
        if k != i and flags[at.GROUP, k] == group:
            dx, dy = agents[at.PX, k] - x, agents[at.PY, k] - y
            sum_x += dx
            sum_y += dy
            others += 1
            distance = np.sqrt(dx * dx + dy * dy)
            if _ZERO < distance < near:
                push_x -= dx / distance
                push_y -= dy / distance
        k = following[k]
    if others == 0:
        return _ZERO, _ZERO
    ax, ay = params[offset + _REPULSION] * push_x, params[offset + _REPULSION] * push_y
    size = float32(others + 1)
    distance = np.sqrt(sum_x * sum_x + sum_y * sum_y) / size  # to C; the direction to c is the same
    if distance > (size - _ONE) * _HALF:
        pull = params[offset + _COHERENCE] / (distance * size)
        ax += pull * sum_x
        ay += pull * sum_y
    turn = abs(atan2_32(vx * sum_y - vy * sum_x, vx * sum_x + vy * sum_y)) - params[offset + _VISION]
    if turn > _ZERO:
        brake = params[offset + _GAZE] * turn
        ax -= brake * vx
        ay -= brake * vy
    return ax, ay


@inlined
def write_velocity(
    agents: FloatArray, flags: IntArray, people: int, i: int, force_x: float, force_y: float, per_tau: float,
    walls: Walls, law: WallLaw, lists: Lists, params: FloatArray, offset: int, dt: float,
) -> None:  # fmt: skip
    """NEW_V = v + a dt, shortened to MAX_SPEED, where a is the force of the neighbours, (wish - v) / τ, the walls' and
    the group's."""
    ax = force_x + (agents[at.WISH_X, i] - agents[at.VX, i]) * per_tau
    ay = force_y + (agents[at.WISH_Y, i] - agents[at.VY, i]) * per_tau
    if walls.points.shape[0] > 0:
        wall_x, wall_y = wall_acceleration(agents, i, walls, law)
        ax, ay = ax + wall_x, ay + wall_y
    if flags[at.GROUP, i] >= 0:
        group_x, group_y = group_acceleration(agents, flags, people, lists[2], lists[3], i, params, offset)
        ax, ay = ax + group_x, ay + group_y
    vx, vy = agents[at.VX, i] + ax * dt, agents[at.VY, i] + ay * dt
    speed, most = np.sqrt(vx * vx + vy * vy), agents[at.MAX_SPEED, i]
    scale = most / speed if speed > most else _ONE
    agents[at.NEW_VX, i], agents[at.NEW_VY, i] = vx * scale, vy * scale
