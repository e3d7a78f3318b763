"""Many ways to go on along a lane, each simulated ahead, and what each would cost.

A candidate is an offset from the route, the length over which to get there, and a speed. Each is driven by a unicycle
with the robot's own limits that steers for a point ahead, among people on their predicted paths.
"""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep.kernels.approx import atan2_64, sincos64
from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.crowd_forecast import CrowdPaths
from sidestep.policies.grid import bilinear
from sidestep.types.base import BoolArray, FloatArray, IntArray

STEP_S = 0.1
STEPS = 45
CHECK_EVERY = 2  # steps between two looks at what would be touched
LOOK_TIMES = STEP_S * (CHECK_EVERY * np.arange((STEPS + CHECK_EVERY - 1) // CHECK_EVERY) + 1)  # s
FADING = exact.exp(-STEP_S * np.arange(1, STEPS + 1) / 3.0)  # what people ahead count after each step

# costs
TOUCH = 1000.0  # of touching something or somebody, now; a fifth of that at the horizon
PROGRESS = 2.0  # per metre gained, on average over the time looked ahead
LEAVE = 60.0  # per metre and look of being nearer than GROUND_SPARE to the edge of the ground
EDGE = 0.6  # per square metre and look of being nearer than GROUND_WISH
GROUND_LEAST, GROUND_SPARE, GROUND_WISH = 0.03, 0.12, 0.5
SOLID_SPARE, SOLID_WISH = 0.06, 0.35
NEAR_SOLID = 1.5
WISH_AND, WISH_TIMES, BAR_SPARE = 0.1, 3.2, 0.12  # people are kept off by 0.1 m and 3.2 times their room, if cheap
NEAR_PERSON = 2.5
OFFSET, CHANGE = 0.2, 0.12
CLOSE_POINTS = 8  # this near to the end of the route, the straight distance left counts
STEER = 1.8  # turn rate per angle to the point ahead, 1/s


class Tile(NamedTuple):
    """Two distance fields (n, n); value [i, j] is at (x0 + j · cell, y0 + i · cell), in m."""

    ground: FloatArray  # to the edge of the ground, negative off it
    free: FloatArray  # to the next solid, 0 inside
    x0: float
    y0: float
    cell: float


class LaneRobot(NamedTuple):
    """Limits of the robot, and three discs on its long axis that cover its body."""

    max_turn: float  # rad/s
    speed_up: float  # m/s²
    slow_down: float  # m/s²
    turn_up: float  # rad/s²
    disc_radius: float  # m
    discs: tuple[float, float, float]  # m ahead of the robot's centre


class Lane(NamedTuple):
    """The route, and what the robot can do on it."""

    route: FloatArray  # (K, 4) x, y and unit tangent
    spacing: float  # m between its points
    goal_reach: float  # m: how far beside the end of the route it may arrive
    robot: LaneRobot


class Candidates(NamedTuple):
    """C ways to go on, and what each costs."""

    targets: FloatArray  # (C, 2) offset (m) and speed (m/s)
    blends: FloatArray  # (C, G) how much of the present offset is left after so many points of the route
    out: FloatArray  # (C, 3) cost, v, omega


@kernel
def nearest_on_route(route: FloatArray, x: float, y: float, low: int, high: int) -> int:
    """Index within ``low`` … ``high`` of the point of the route that is nearest to (x, y)."""
    best, found = 1.0e18, low
    for i in range(max(low, 0), min(high, route.shape[0] - 1) + 1):
        dx, dy = route[i, 0] - x, route[i, 1] - y
        if dx * dx + dy * dy < best:
            best, found = dx * dx + dy * dy, i
    return found


@inlined
def _person_gap(people: CrowdPaths, p: int, k: int, x: float, y: float) -> Any:
    """Distance of (x, y) from the surface of person p after step k."""
    line, t = people.lines[p], (k + 1) * STEP_S
    px, py = line[0] + t * line[2], line[1] + t * line[3]
    if p < people.bends.shape[0]:
        px, py = px + people.bends[p, k // CHECK_EVERY, 0], py + people.bends[p, k // CHECK_EVERY, 1]
    dx, dy = px - x, py - y
    return sqrt(dx * dx + dy * dy) - line[4]


@inlined
def _bar_gap(bars: FloatArray, g: int, x: float, y: float) -> Any:
    """Distance of (x, y) from the bar g (x0, y0, x1, y1, radius)."""
    ax, ay = bars[g, 2] - bars[g, 0], bars[g, 3] - bars[g, 1]
    bx, by = x - bars[g, 0], y - bars[g, 1]
    square = ax * ax + ay * ay
    part = 0.0 if square == 0.0 else min(max((ax * bx + ay * by) / square, 0.0), 1.0)
    dx, dy = bx - part * ax, by - part * ay
    return sqrt(dx * dx + dy * dy) - bars[g, 4]


@kernel
def plan_lane(
    state: FloatArray, here: int, before: float, speed_cap: float, lane: Lane, candidates: Candidates, tile: Tile,
    people: CrowdPaths, bars: FloatArray, path: FloatArray,
) -> None:  # fmt: skip
    """Fill ``candidates.out`` with costs and first commands.

    ``state`` x, y, heading, v, omega · ``here`` index of the robot on the route · ``before`` the offset chosen last ·
    ``people`` with the distance to keep in column 5 and bends at ``LOOK_TIMES`` · ``bars (G, 5)`` · ``path (STEPS, 2)``
    gets where the last candidate is after every step, up to a touch; (0, 2) if it is not wanted.
    """
    route, spacing, robot = lane.route, lane.spacing, lane.robot
    out, blends = candidates.out, candidates.blends
    last = route.shape[0] - 1
    dx, dy = state[0] - route[here, 0], state[1] - route[here, 1]
    offset = route[here, 2] * dy - route[here, 3] * dx
    for c in range(out.shape[0]):
        wish, pace = candidates.targets[c, 0], min(candidates.targets[c, 1], speed_cap)
        x, y, heading, v, omega = state[0], state[1], state[2], state[3], state[4]
        at, cost = here, 0.0
        sine, cosine = sincos64(heading)
        for k in range(STEPS):
            ahead = min(max(0.8 * v, 0.9), 1.8)
            index = min(at + int(ahead / spacing), last)
            blend = blends[c, index - here] if index - here < blends.shape[1] else 0.0
            side = wish + (offset - wish) * blend
            room = lane.goal_reach + 0.7 * (last - index) * spacing
            side = min(max(side, -room), room)
            tx = route[index, 0] - side * route[index, 3]
            ty = route[index, 1] + side * route[index, 2]
            along, across = cosine * (tx - x) + sine * (ty - y), cosine * (ty - y) - sine * (tx - x)
            error = atan2_64(across, along)
            turn = min(max(STEER * error, -robot.max_turn), robot.max_turn)
            distance = sqrt(along * along + across * across)
            slow = along / distance if abs(error) < 1.4 and distance > 0.0 else 0.15
            speed = min(pace * slow * slow, sqrt(2.0 * 0.8 * max((last - at) * spacing, 0.0) + 0.04))
            if k == 0:
                out[c, 1], out[c, 2] = speed, turn
            v += min(max(speed - v, -robot.slow_down * STEP_S), robot.speed_up * STEP_S)
            omega += min(max(turn - omega, -robot.turn_up * STEP_S), robot.turn_up * STEP_S)
            heading += omega * STEP_S
            sine, cosine = sincos64(heading)
            x += v * cosine * STEP_S
            y += v * sine * STEP_S
            if k < path.shape[0]:
                path[k, 0], path[k, 1] = x, y
            while at < last and _ahead_of(route, at, x, y):
                at += 1
            if k % CHECK_EVERY == 0:
                more, touched = _look(x, y, sine, cosine, k, robot, tile, people, bars)
                gained = (at - here) * spacing
                if last - at < CLOSE_POINTS:
                    left_x, left_y = x - route[last, 0], y - route[last, 1]
                    gained = (last - here) * spacing - sqrt(left_x * left_x + left_y * left_y)
                cost += more - PROGRESS * gained * CHECK_EVERY / STEPS
                if touched:
                    cost += TOUCH * (1.0 - 0.8 * k / STEPS) + v * 20.0
                    break
        out[c, 0] = cost + OFFSET * wish * wish + CHANGE * abs(wish - before)


@inlined
def _ahead_of(route: FloatArray, at: int, x: float, y: float) -> Any:
    """Whether (x, y) is beyond the middle between point ``at`` of the route and the next."""
    mx, my = 0.5 * (route[at, 0] + route[at + 1, 0]), 0.5 * (route[at, 1] + route[at + 1, 1])
    return (x - mx) * route[at, 2] + (y - my) * route[at, 3] > 0.0


@inlined
def _look(
    x: float, y: float, sine: float, cosine: float, k: int, robot: LaneRobot, tile: Tile, people: CrowdPaths,
    bars: FloatArray,
) -> tuple[float, bool]:  # fmt: skip
    """(cost of being here after step k, whether something is touched or the ground left)."""
    cost, edge = 0.0, bilinear(tile.ground, tile, x, y)
    if edge < GROUND_SPARE:
        cost += LEAVE * (GROUND_SPARE - edge)
    if edge < GROUND_WISH:
        cost += EDGE * (GROUND_WISH - edge) ** 2
    reach = robot.disc_radius
    fading = FADING[k]
    touched = edge < GROUND_LEAST
    for disc in range(3):
        ahead = robot.discs[disc]
        px, py = x + ahead * cosine, y + ahead * sine
        gap = bilinear(tile.free, tile, px, py) - reach
        if gap < SOLID_SPARE:
            touched = True
        if gap < SOLID_WISH:
            cost += NEAR_SOLID * (SOLID_WISH - gap) ** 2
        for p in range(people.lines.shape[0]):
            gap = _person_gap(people, p, k, px, py) - reach
            if gap < people.lines[p, 5] * (0.5 + 0.5 * fading):
                touched = True
            wish = WISH_AND + WISH_TIMES * people.lines[p, 5]
            if gap < wish:
                cost += NEAR_PERSON * fading * (wish - gap) ** 2
        for g in range(bars.shape[0]):
            if _bar_gap(bars, g, px, py) - reach < BAR_SPARE:
                touched = True
    return cost, touched


@kernel
def fill_polygon(mask: BoolArray, corners: IntArray, crossings: FloatArray) -> None:
    """Set the cells of ``mask (rows, columns)`` inside a polygon and on its edge. ``corners (K, 2)`` int64 are columns
    and rows of cells; ``crossings (2 K,)`` is scratch."""
    count, rows = corners.shape[0], mask.shape[0]
    low, high = rows, -1
    for k in range(count):
        low, high = min(low, corners[k, 1]), max(high, corners[k, 1])
    for row in range(max(low, 0), min(high, rows - 1) + 1):
        n = 0
        for k in range(count):
            x0, y0, x1, y1 = corners[k - 1, 0], corners[k - 1, 1], corners[k, 0], corners[k, 1]
            if y0 == y1:
                if y0 == row:
                    _fill_row(mask[row], min(x0, x1), max(x0, x1))
            elif min(y0, y1) <= row <= max(y0, y1):
                at = x0 + (row - y0) * (x1 - x0) / (y1 - y0)
                n = _insert(crossings, n, at)
                if row == max(y0, y1) and row < high:  # the edge below begins here
                    n = _insert(crossings, n, at)
        for k in range(1, n, 2):
            _fill_row(mask[row], int(np.floor(crossings[k - 1] + 0.5)), int(np.ceil(crossings[k] - 0.5)))


@inlined
def _fill_row(cells: BoolArray, first: int, last: int) -> None:
    for j in range(max(first, 0), min(last, cells.shape[0] - 1) + 1):
        cells[j] = True


@inlined
def _insert(values: FloatArray, n: int, value: float) -> int:
    """Put ``value`` among the first ``n`` sorted values; n + 1."""
    k = n
    while k > 0 and values[k - 1] > value:
        values[k] = values[k - 1]
        k -= 1
    values[k] = value
    return n + 1
