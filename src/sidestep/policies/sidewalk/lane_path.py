"""The way that a candidate of ``kernels.lane_plan`` leads, step by step: for whoever wants to see it."""

from __future__ import annotations

from math import atan2, cos, pi, sin, sqrt

import numpy as np

from sidestep.kernels import lane_plan
from sidestep.types.base import FloatArray

SPACING_M = 0.25
"""Between the points of the route as it is planned on."""


def drive_ahead(
    state: FloatArray, robot: FloatArray, route: FloatArray, here: int, wish: float, over: float, pace: float
) -> FloatArray:
    """(STEPS, 2) places at the end of every step, m: the motion of ``plan_lane``, without its costs.

    It is driven in Python, because the kernel keeps no paths: a fifth of a millisecond, spent only when asked.
    """
    x, y, heading, v, omega = state.tolist()
    points, numbers, last = route.tolist(), robot.tolist(), len(route) - 1
    offset = points[here][2] * (y - points[here][1]) - points[here][3] * (x - points[here][0])
    step_s, at = lane_plan.STEP_S, here
    slower, faster = numbers[lane_plan.SLOW_DOWN] * step_s, numbers[lane_plan.SPEED_UP] * step_s
    most, turn_up = numbers[lane_plan.MAX_TURN], numbers[lane_plan.TURN_UP] * step_s
    way = np.empty((lane_plan.STEPS, 2))
    for k in range(lane_plan.STEPS):
        index = min(at + int(min(max(0.8 * v, 0.9), 1.8) / SPACING_M), last)
        gone = (index - here) * SPACING_M
        blend = 0.0 if gone >= over else 0.5 + 0.5 * cos(pi * gone / over)
        side = (wish + (offset - wish) * blend) * min((last - index) * SPACING_M / lane_plan.HOME_M, 1.0)
        rx, ry, tx, ty = points[index]
        error = atan2(ry + side * tx - y, rx - side * ty - x) - heading
        error = atan2(sin(error), cos(error))
        turn = min(max(lane_plan.STEER * error, -most), most)
        slow = cos(error) if abs(error) < 1.4 else 0.15
        speed = min(pace * slow * slow, sqrt(2.0 * 0.8 * max((last - at) * SPACING_M, 0.0) + 0.04))
        v += min(max(speed - v, -slower), faster)
        omega += min(max(turn - omega, -turn_up), turn_up)
        heading += omega * step_s
        x += v * cos(heading) * step_s
        y += v * sin(heading) * step_s
        while at < last and _is_past(points, at, x, y):
            at += 1
        way[k] = x, y
    return way


def _is_past(points: list[list[float]], at: int, x: float, y: float) -> bool:
    """Whether (x, y) is beyond the middle between point ``at`` of the route and the next."""
    (ax, ay, tx, ty), (bx, by, _, _) = points[at], points[at + 1]
    return (x - 0.5 * (ax + bx)) * tx + (y - 0.5 * (ay + by)) * ty > 0.0
