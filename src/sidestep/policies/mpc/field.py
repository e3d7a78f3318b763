"""The static side of planning, on a square grid: clearance, the distance left to the goal, and the preferred velocity
there. The distance left D solves the eikonal equation |∇D| = s with D = 0 at the goal, where the slowness s is 1 in
the open and grows near walls. Cells that see the goal over open ground have the straight distance, so that the path
there is exactly straight. The rows of the planner's weights are named here as well.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.grid import bilinear, sweep_geodesic
from sidestep.types import CompiledScene, Task
from sidestep.types.base import FloatArray, IntArray

FAR = 1e9
"""Distance left from a cell that nothing has reached, m."""


class GoalFields(NamedTuple):
    """Fields (ny, nx) on a square grid; value [i, j] is at (x0 + j · cell, y0 + i · cell), in m."""

    clearance: FloatArray  # m to the nearest solid
    to_go: FloatArray  # m left to the goal, ``FAR`` where no path leads
    to_go_x: FloatArray  # its unit gradient
    to_go_y: FloatArray
    x0: float
    y0: float
    cell: float


@inlined
def _sees(ground: GoalFields, xa: float, ya: float, xb: float, yb: float, least: float) -> bool:
    """Whether the clearance along a segment is at least ``least`` everywhere, marching by the clearance there is."""
    dx, dy = xb - xa, yb - ya
    length = math.sqrt(dx * dx + dy * dy)
    if length < 1e-9:
        return True
    dx, dy = dx / length, dy / length
    along = 0.0
    while along < length:
        i = int((ya + along * dy - ground.y0) / ground.cell + 0.5)
        j = int((xa + along * dx - ground.x0) / ground.cell + 0.5)
        free = ground.clearance[i, j]
        if free < least:
            return False
        along += max(free - least, 0.5 * ground.cell)
    return True


@kernel
def fill_to_go(
    ground: GoalFields, goal_x: float, goal_y: float, radius: float, spare: float, sight: float, slowness: FloatArray
) -> None:
    """Fill ``to_go`` and its gradient; the goal lies inside the grid. ``slowness (ny, nx)`` is scratch.

    A metre costs 1 beyond ``radius`` + ``spare`` of walls, up to 3 at ``radius``, 20 where the body does not fit. Cells
    that see the goal with a clearance of ``sight`` have the straight distance, which the sweeps do not change.
    """
    ny, nx = ground.clearance.shape
    for i in range(ny):
        for j in range(nx):
            gap = ground.clearance[i, j] - radius
            slowness[i, j] = 20.0 if gap < 0.0 else (1.0 if gap >= spare else 3.0 - 2.0 * gap / spare)
            x, y = ground.x0 + j * ground.cell, ground.y0 + i * ground.cell
            away = math.sqrt((x - goal_x) ** 2 + (y - goal_y) ** 2)
            ground.to_go[i, j] = math.inf
            if away < 1.5 * ground.cell or _sees(ground, x, y, goal_x, goal_y, sight):
                ground.to_go[i, j], slowness[i, j] = away, math.inf
    sweep_geodesic(ground.to_go, slowness, ground.cell)
    for i in range(ny):
        for j in range(nx):
            ground.to_go[i, j] = min(ground.to_go[i, j], FAR)
    for i in range(ny):
        for j in range(nx):
            left, right = max(j - 1, 0), min(j + 1, nx - 1)
            low, high = max(i - 1, 0), min(i + 1, ny - 1)
            gx = (ground.to_go[i, right] - ground.to_go[i, left]) / ((right - left) * ground.cell)
            gy = (ground.to_go[high, j] - ground.to_go[low, j]) / ((high - low) * ground.cell)
            length = math.sqrt(gx * gx + gy * gy)
            if length > 1e-9:
                gx, gy = gx / length, gy / length
            ground.to_go_x[i, j], ground.to_go_y[i, j] = gx, gy


(
    W_JERK,  # 1 / (m²/s⁵): of jerk²; cost rates are per second throughout
    W_ACCELERATION,
    W_SPEED,  # of (speed - top speed)² above top speed
    W_PROGRESS,  # of (velocity - preferred velocity)²
    W_END,  # per metre left to the goal at the end
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
    SLOW_M,  # the preferred speed falls within this of the goal
    W_TURN,  # of (velocity across and against the heading)², falling to nothing during TURN_S; 0: goes any way at once
    TURN_S,
    HEADING_X,  # where the robot faces, unit vector
    HEADING_Y,
    WEIGHT_ROWS,
) = range(27)


@inlined
def preferred_velocity(px: float, py: float, ground: GoalFields, weights: FloatArray) -> Any:
    """(vx, vy, gx, gy, d): top speed down the distance left, its unit gradient, and the distance left itself, m."""
    ex, ey = px - weights[GOAL_X], py - weights[GOAL_Y]
    d = math.sqrt(ex * ex + ey * ey)
    if d < 2.0 * ground.cell:
        gx, gy = (ex / d, ey / d) if d > 1e-9 else (0.0, 0.0)
    else:
        d = bilinear(ground.to_go, ground, px, py)
        gx, gy = bilinear(ground.to_go_x, ground, px, py), bilinear(ground.to_go_y, ground, px, py)
        length = max(math.sqrt(gx * gx + gy * gy), 0.3)  # short where paths fork: no preference there
        gx, gy = gx / length, gy / length
    speed = weights[MAX_SPEED] * min(1.0, d / weights[SLOW_M])
    return -gx * speed, -gy * speed, gx, gy, d


MARGIN_M = 4.0
"""Ground beyond the scene, the start and the goal."""
CELL_M = 0.1
MOST_CELLS = 400_000
SPARE_M = 0.25
"""Clearance beyond its radius that the robot's path to the goal keeps from walls where there is that much, m."""


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
    j: IntArray = np.minimum(u.astype(np.int64), nx - 2)
    i: IntArray = np.minimum(v.astype(np.int64), ny - 2)
    fu, fv = u - j, v - i
    low = values[i, j] * (1.0 - fu) + values[i, j + 1] * fu
    high = values[i + 1, j] * (1.0 - fu) + values[i + 1, j + 1] * fu
    return np.ascontiguousarray(low * (1.0 - fv) + high * fv)


def ground_to(
    goal: Any,
    clearance: FloatArray,
    origin: tuple[float, float],
    cell: float,
    radius: float,
    spare: float,
    sight: float,
) -> GoalFields:
    """Ground with the distance left to ``goal`` (x, y); see :func:`fill_to_go`."""
    to_go, along_x, along_y = (np.empty_like(clearance) for _ in range(3))
    ground = GoalFields(clearance, to_go, along_x, along_y, float(origin[0]), float(origin[1]), cell)
    fill_to_go(ground, float(goal[0]), float(goal[1]), radius, spare, sight, np.empty_like(clearance))
    return ground


def make_ground(task: Task, radius: float) -> GoalFields:
    """Ground over the scene, the start and the goal of a task."""
    assert task.goal is not None
    x, y = grid_over(task, CELL_M)
    cell = CELL_M * max(1.0, float(np.sqrt(len(x) * len(y) / MOST_CELLS)))
    if cell > CELL_M:
        x, y = grid_over(task, cell)
    return ground_to(task.goal, sample_clearance(task.map, x, y), (x[0], y[0]), cell, radius, SPARE_M, radius + SPARE_M)
