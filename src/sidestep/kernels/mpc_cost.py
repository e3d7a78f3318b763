"""What the predictive planner's search and its smoothing share: the rows of the weights, and the wished velocity."""

from __future__ import annotations

import math

from sidestep.kernels.jit import inlined
from sidestep.kernels.mpc_field import bilinear

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
