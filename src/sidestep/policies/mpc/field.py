"""The static side of planning, on a square grid: clearance, the distance left to the goal, and the velocity wished for
there. The distance left D solves the eikonal equation |∇D| = s with D = 0 at the goal, where the slowness s is 1 in
the open and grows near walls (fast sweeping: Zhao, Mathematics of Computation 74, 2005). Cells that see the goal
over open ground have the straight distance, so that the path there is exactly straight. The rows of the planner's
weights are named here as well.
"""

from __future__ import annotations

import math

import numpy as np

from sidestep import exact
from sidestep.kernels.jit import inlined, kernel
from sidestep.types import CompiledScene, Task
from sidestep.types.base import FloatArray

FAR = 1e9
"""Way left from a cell that nothing has reached, m."""
MOST_ROUNDS = 100
SETTLED_M = 1e-6


@kernel
def fill_slowness(room, radius, spare, slowness):
    """Slowness of every cell: 1 beyond ``radius`` + ``spare``, up to 3 at ``radius``, 20 nearer than a body allows."""
    for i in range(room.shape[0]):
        for j in range(room.shape[1]):
            gap = room[i, j] - radius
            slowness[i, j] = 20.0 if gap < 0.0 else (1.0 if gap >= spare else 3.0 - 2.0 * gap / spare)


@inlined
def _sees(room, x0, y0, cell, xa, ya, xb, yb, least):
    """Whether the room along a segment is at least ``least`` everywhere, marching by the room there is."""
    dx, dy = xb - xa, yb - ya
    length = math.sqrt(dx * dx + dy * dy)
    if length < 1e-9:
        return True
    dx, dy = dx / length, dy / length
    along = 0.0
    while along < length:
        i = int((ya + along * dy - y0) / cell + 0.5)
        j = int((xa + along * dx - x0) / cell + 0.5)
        free = room[i, j]
        if free < least:
            return False
        along += max(free - least, 0.5 * cell)
    return True


@kernel
def distance_to_go(room, slowness, x0, y0, cell, goal_x, goal_y, least, way, seen):
    """Fill ``way (ny, nx)`` with D, m; ``seen`` marks the cells that see the goal. The goal lies inside the grid."""
    ny, nx = room.shape
    for i in range(ny):
        for j in range(nx):
            x, y = x0 + j * cell, y0 + i * cell
            away = math.sqrt((x - goal_x) ** 2 + (y - goal_y) ** 2)
            near = away < 1.5 * cell
            seen[i, j] = 1 if near or _sees(room, x0, y0, cell, x, y, goal_x, goal_y, least) else 0
            way[i, j] = away if seen[i, j] else FAR
    for _ in range(MOST_ROUNDS):
        change = 0.0
        for direction in range(4):
            change = max(change, _sweep(way, slowness, seen, cell, direction))
        if change < SETTLED_M:
            break


@inlined
def _sweep(way, slowness, seen, cell, direction):
    """One Gauss-Seidel pass over the grid; returns the largest change."""
    ny, nx = way.shape
    change = 0.0
    for a in range(ny):
        i = a if direction < 2 else ny - 1 - a
        for b in range(nx):
            j = b if direction % 2 == 0 else nx - 1 - b
            if seen[i, j]:
                continue
            u = min(way[i - 1, j] if i > 0 else FAR, way[i + 1, j] if i < ny - 1 else FAR)
            v = min(way[i, j - 1] if j > 0 else FAR, way[i, j + 1] if j < nx - 1 else FAR)
            step = slowness[i, j] * cell
            low = min(u, v)
            if low >= FAR:
                continue
            d = low + step
            if abs(u - v) < step:
                d = 0.5 * (u + v + math.sqrt(2.0 * step * step - (u - v) * (u - v)))
            if d < way[i, j]:
                change = max(change, min(way[i, j] - d, 1.0))
                way[i, j] = d
    return change


@kernel
def fill_gradients(values, cell, along_x, along_y, unit):
    """Central differences of ``values`` (one-sided at the border); of length 1 where ``unit``."""
    ny, nx = values.shape
    for i in range(ny):
        for j in range(nx):
            left, right = max(j - 1, 0), min(j + 1, nx - 1)
            low, high = max(i - 1, 0), min(i + 1, ny - 1)
            gx = (values[i, right] - values[i, left]) / ((right - left) * cell)
            gy = (values[high, j] - values[low, j]) / ((high - low) * cell)
            length = math.sqrt(gx * gx + gy * gy)
            if unit and length > 1e-9:
                gx, gy = gx / length, gy / length
            along_x[i, j], along_y[i, j] = gx, gy


@inlined
def bilinear(values, x0, y0, cell, x, y):
    """Value at (x, y), bilinear; outside the grid the border's."""
    ny, nx = values.shape
    u = min(max((x - x0) / cell, 0.0), nx - 1.0)
    v = min(max((y - y0) / cell, 0.0), ny - 1.0)
    j, i = min(int(u), nx - 2), min(int(v), ny - 2)
    fu, fv = u - j, v - i
    low = values[i, j] * (1.0 - fu) + values[i, j + 1] * fu
    high = values[i + 1, j] * (1.0 - fu) + values[i + 1, j + 1] * fu
    return low * (1.0 - fv) + high * fv


(
    W_JERK,  # 1 / (m²/s⁵): of jerk²; cost rates are per second throughout
    W_ACCELERATION,
    W_SPEED,  # of (speed - top speed)² above top speed
    W_PROGRESS,  # of (velocity - wished velocity)²
    W_END,  # per metre of way left at the end
    W_TOUCH,  # of (TOUCH_GAP - gap)² during the first TOUCH_S
    W_HARD,  # of (HARD_GAP + widening - gap)²
    W_SOFT,  # of (SOFT_GAP + widening - gap)²
    W_WALL,  # of (WALL_GAP - gap)²
    TOUCH_GAP,
    TOUCH_S,
    HARD_GAP,
    SOFT_GAP,
    WALL_GAP,
    GROWTH,  # m of widening per second ahead
    GROWTH_S,  # no further widening after
    FADE_S,  # hard and soft weights are divided by 1 + (t / FADE_S)²
    MAX_SPEED,
    ROBOT_RADIUS,
    GOAL_X,
    GOAL_Y,
    SLOW_M,  # the wished speed falls within this of the goal
    W_TURN,  # of (velocity across and against the heading)², falling to nothing during TURN_S; 0: goes any way at once
    TURN_S,
    HEADING_X,  # where the robot faces, unit vector
    HEADING_Y,
) = range(26)
WEIGHT_ROWS = 26


@inlined
def wished_velocity(px, py, way, way_x, way_y, x0, y0, cell, weights):
    """(vx, vy, gx, gy, d): top speed down the way left, its unit gradient, and the way left itself, m."""
    ex, ey = px - weights[GOAL_X], py - weights[GOAL_Y]
    d = math.sqrt(ex * ex + ey * ey)
    if d < 2.0 * cell:
        gx, gy = (ex / d, ey / d) if d > 1e-9 else (0.0, 0.0)
    else:
        d = bilinear(way, x0, y0, cell, px, py)
        gx, gy = bilinear(way_x, x0, y0, cell, px, py), bilinear(way_y, x0, y0, cell, px, py)
        length = max(math.sqrt(gx * gx + gy * gy), 0.3)  # short where the way forks: no preference there
        gx, gy = gx / length, gy / length
    speed = weights[MAX_SPEED] * min(1.0, d / weights[SLOW_M])
    return -gx * speed, -gy * speed, gx, gy, d


MARGIN_M = 4.0
"""Ground beyond the scene, the start and the goal."""
CELL_M = 0.1
MOST_CELLS = 400_000
SPARE_M = 0.25
"""Room beyond its radius that the robot's way to the goal keeps from walls where there is that much, m."""

GoalDistanceArrays = tuple[FloatArray, FloatArray, FloatArray, FloatArray, float, float, float]


def grid_over(task: Task, cell: float, turn: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
    """x and y of the columns and rows of a grid over the scene, the start and the goal; the start is on a grid point.

    ``turn`` (2, 2): row vectors times it are in the grid's frame.
    """
    assert task.goal is not None
    corners = [task.start[:2], task.goal]
    if task.map is not None and len(task.map.wall_points):
        x_min, y_min, x_max, y_max = task.map.bounds
        corners += [(x_min, y_min), (x_min, y_max), (x_max, y_min), (x_max, y_max)]
    points = np.array(corners, np.float64)
    if turn is not None:
        points = exact.matmul(points, turn)
    before = np.ceil((points[0] - points.min(axis=0) + MARGIN_M) / cell).astype(np.int64)
    after = np.ceil((points.max(axis=0) - points[0] + MARGIN_M) / cell).astype(np.int64)
    x, y = (points[0, c] + cell * np.arange(-before[c], after[c] + 1) for c in range(2))
    return x, y


def sample_clearance(
    scene: CompiledScene | None, x: FloatArray, y: FloatArray, turn: FloatArray | None = None
) -> FloatArray:
    """Distance to the nearest solid (ny, nx) at grid points, bilinear; outside the scene's field the border's value."""
    if scene is None:
        return np.full((len(y), len(x)), 100.0)
    points = np.stack(np.meshgrid(x, y), axis=-1)
    if turn is not None:
        points = exact.matmul(points, turn.T)
    values = scene.distance.astype(np.float64)
    ny, nx = values.shape
    u = np.clip((points[..., 0] - scene.distance_origin[0]) / scene.distance_cell, 0.0, nx - 1.0)
    v = np.clip((points[..., 1] - scene.distance_origin[1]) / scene.distance_cell, 0.0, ny - 1.0)
    j, i = np.minimum(u.astype(np.int64), nx - 2), np.minimum(v.astype(np.int64), ny - 2)
    fu, fv = u - j, v - i
    low = values[i, j] * (1.0 - fu) + values[i, j + 1] * fu
    high = values[i + 1, j] * (1.0 - fu) + values[i + 1, j + 1] * fu
    return np.ascontiguousarray(low * (1.0 - fv) + high * fv)


class GoalDistanceMap:
    """Grids over the scene, the start and the goal. ``arrays``: room, way, its unit gradient, origin, cell size."""

    def __init__(self, task: Task, radius: float) -> None:
        assert task.goal is not None
        x, y = grid_over(task, CELL_M)
        cell = CELL_M * max(1.0, float(np.sqrt(len(x) * len(y) / MOST_CELLS)))
        if cell > CELL_M:
            x, y = grid_over(task, cell)
        room = sample_clearance(task.map, x, y)
        slowness, way, seen = np.empty_like(room), np.empty_like(room), np.empty(room.shape, np.uint8)
        fill_slowness(room, radius, SPARE_M, slowness)
        distance_to_go(room, slowness, x[0], y[0], cell, task.goal[0], task.goal[1], radius + SPARE_M, way, seen)
        way_x, way_y = np.empty_like(room), np.empty_like(room)
        fill_gradients(way, cell, way_x, way_y, True)
        self.arrays: GoalDistanceArrays = (room, way, way_x, way_y, float(x[0]), float(y[0]), cell)
