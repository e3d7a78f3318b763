"""The reference that the controller tracks: down the distance left to the goal on the grid, at a wished speed; on
request first past given waypoints.
"""

from __future__ import annotations

import math
from typing import Any

from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.grid import bilinear
from sidestep.policies.ilqr.controller import INTERVALS, TIMES, Reference
from sidestep.policies.mpc.field import GoalFields
from sidestep.types.base import FloatArray

STRIDE_M = 0.1
"""Length of a step down the field."""
STANDING_MPS = 0.05
"""A slower reference has no direction."""


@inlined
def stride(ground: GoalFields, goal_x: float, goal_y: float, x: float, y: float, length: float) -> Any:
    """The place ``length`` m further down the distance left; never beyond the goal."""
    dx, dy = goal_x - x, goal_y - y
    away = math.sqrt(dx * dx + dy * dy)
    if away <= length:
        return goal_x, goal_y
    if away > 2.0 * ground.cell:
        dx, dy = -bilinear(ground.to_go_x, ground, x, y), -bilinear(ground.to_go_y, ground, x, y)
        away = math.sqrt(dx * dx + dy * dy)
        if away < 1e-9:  # on a ridge between two ways
            return x, y
    return x + length * dx / away, y + length * dy / away


@kernel
def fill_reference(
    reference: Reference, ground: GoalFields, goal_x: float, goal_y: float, start_x: float, start_y: float,
    speed: float, waypoints: FloatArray, waypoint_times: FloatArray,
) -> None:  # fmt: skip
    """Points and directions at all knots: from the start past ``waypoints (M, 2)`` at their times (M,), s, and from the
    last of them, or from the start if there is none, to the goal at ``speed`` (m/s)."""
    points, directions, last = reference.points, reference.directions, waypoints.shape[0] - 1
    points[0, 0], points[0, 1] = start_x, start_y
    x, y, clock = start_x, start_y, 0.0
    if last >= 0:
        x, y, clock = waypoints[last, 0], waypoints[last, 1], waypoint_times[last]
    for k in range(1, INTERVALS + 1):
        t = TIMES[k]
        if last >= 0 and t <= waypoint_times[last]:
            leg = 0
            while waypoint_times[leg] < t:
                leg += 1
            from_x = start_x if leg == 0 else waypoints[leg - 1, 0]
            from_y = start_y if leg == 0 else waypoints[leg - 1, 1]
            from_t = 0.0 if leg == 0 else waypoint_times[leg - 1]
            share = (t - from_t) / (waypoint_times[leg] - from_t)
            points[k, 0] = from_x + share * (waypoints[leg, 0] - from_x)
            points[k, 1] = from_y + share * (waypoints[leg, 1] - from_y)
        else:
            left, clock = speed * (t - clock), t
            while left > 0.0:
                x, y = stride(ground, goal_x, goal_y, x, y, min(left, STRIDE_M))
                left -= STRIDE_M
            points[k, 0], points[k, 1] = x, y
        dx, dy = points[k, 0] - points[k - 1, 0], points[k, 1] - points[k - 1, 1]
        length = math.sqrt(dx * dx + dy * dy)
        if length > STANDING_MPS * (TIMES[k] - TIMES[k - 1]):
            directions[k, 0], directions[k, 1] = dx / length, dy / length
        else:
            directions[k, 0], directions[k, 1] = 0.0, 0.0
    directions[0, 0], directions[0, 1] = directions[1, 0], directions[1, 1]
