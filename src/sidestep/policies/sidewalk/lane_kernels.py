"""Many ways to go on along a lane, driven ahead in the mind, and what each would cost.

A candidate is an offset from the route, the length over which to get there, and a speed. Each is driven by a unicycle
with the robot's own limits that steers for a point ahead; people go on as they walk now.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep import exact
from sidestep.kernels.approx import atan2_64, sincos64
from sidestep.kernels.jit import kernel

STEP_S = 0.1
STEPS = 45
CHECK_EVERY = 2  # steps between two looks at what would be touched
FADING = exact.exp(-STEP_S * np.arange(1, STEPS + 1) / 3.0)  # what people ahead count after each step

# what a robot is, float64
MAX_SPEED, MAX_TURN, SPEED_UP, SLOW_DOWN, TURN_UP, DISC_RADIUS, DISC_1, DISC_2, DISC_3 = range(9)
ROBOT_NUMBERS = 9

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
CLOSE_POINTS = 8  # so near to the end of the route, what counts is the straight way that is left
STEER = 1.8  # turn rate per angle to the point ahead, 1/s


@kernel(forceinline=True)
def _field(tile, x0, y0, cell, x, y):
    """Bilinear value of a field (rows, columns) whose first value is at (x0, y0); outside: that of the border."""
    rows, columns = tile.shape
    u = min(max((x - x0) / cell, 0.0), columns - 1.001)
    v = min(max((y - y0) / cell, 0.0), rows - 1.001)
    j, i = int(u), int(v)
    a, b = u - j, v - i
    low = tile[i, j] * (1.0 - a) + tile[i, j + 1] * a
    high = tile[i + 1, j] * (1.0 - a) + tile[i + 1, j + 1] * a
    return low * (1.0 - b) + high * b


@kernel
def nearest_on_route(route, x, y, low, high):
    """Index within ``low`` … ``high`` of the point of the route that is nearest to (x, y)."""
    best, found = 1.0e18, low
    for i in range(max(low, 0), min(high, route.shape[0] - 1) + 1):
        dx, dy = route[i, 0] - x, route[i, 1] - y
        if dx * dx + dy * dy < best:
            best, found = dx * dx + dy * dy, i
    return found


@kernel(forceinline=True)
def _person_gap(people, p, t, x, y, reach):
    """Distance of (x, y) from the surface of person p after t seconds, less ``reach``."""
    dx, dy = people[p, 0] + t * people[p, 2] - x, people[p, 1] + t * people[p, 3] - y
    return sqrt(dx * dx + dy * dy) - people[p, 4] - reach


@kernel(forceinline=True)
def _bar_gap(bars, g, x, y, reach):
    """Distance of (x, y) from the bar g (x0, y0, x1, y1, radius), less ``reach``."""
    ax, ay = bars[g, 2] - bars[g, 0], bars[g, 3] - bars[g, 1]
    bx, by = x - bars[g, 0], y - bars[g, 1]
    square = ax * ax + ay * ay
    part = 0.0 if square == 0.0 else min(max((ax * bx + ay * by) / square, 0.0), 1.0)
    dx, dy = bx - part * ax, by - part * ay
    return sqrt(dx * dx + dy * dy) - bars[g, 4] - reach


@kernel
def plan_lane(
    state, robot, route, here, spacing, candidates, blends, before, goal_reach, speed_cap, ground, free, tile_at, cell,
    people, bars, out, path,
):  # fmt: skip
    """Costs and first commands of all candidates.

    ``state`` x, y, heading, v, omega · ``route`` (K, 4) x, y and tangent, every ``spacing`` m · ``here`` index on it ·
    ``candidates`` (C, 2) offset, speed · ``blends`` (C, G) how much of the present offset is left after so many points
    of the route · ``before`` the offset chosen last · ``goal_reach`` how far beside the end of the route it may arrive
    · ``ground``, ``free`` fields from ``tile_at`` · ``people`` (P, 6) x, y, vx, vy, radius, room to keep · ``bars``
    (G, 5) · ``out`` (C, 3) cost, v, omega · ``path`` (STEPS, 2), or (0, 2) if nobody asks: where the last candidate is
    after every step, up to a touch.
    """
    last = route.shape[0] - 1
    dx, dy = state[0] - route[here, 0], state[1] - route[here, 1]
    offset = route[here, 2] * dy - route[here, 3] * dx
    for c in range(candidates.shape[0]):
        wish, pace = candidates[c, 0], min(candidates[c, 1], speed_cap)
        x, y, heading, v, omega = state[0], state[1], state[2], state[3], state[4]
        at, cost = here, 0.0
        sine, cosine = sincos64(heading)
        for k in range(STEPS):
            ahead = min(max(0.8 * v, 0.9), 1.8)
            index = min(at + int(ahead / spacing), last)
            blend = blends[c, index - here] if index - here < blends.shape[1] else 0.0
            side = wish + (offset - wish) * blend
            room = goal_reach + 0.7 * (last - index) * spacing
            side = min(max(side, -room), room)
            tx = route[index, 0] - side * route[index, 3]
            ty = route[index, 1] + side * route[index, 2]
            along, across = cosine * (tx - x) + sine * (ty - y), cosine * (ty - y) - sine * (tx - x)
            error = atan2_64(across, along)
            turn = min(max(STEER * error, -robot[MAX_TURN]), robot[MAX_TURN])
            distance = sqrt(along * along + across * across)
            slow = along / distance if abs(error) < 1.4 and distance > 0.0 else 0.15
            speed = min(pace * slow * slow, sqrt(2.0 * 0.8 * max((last - at) * spacing, 0.0) + 0.04))
            if k == 0:
                out[c, 1], out[c, 2] = speed, turn
            v += min(max(speed - v, -robot[SLOW_DOWN] * STEP_S), robot[SPEED_UP] * STEP_S)
            omega += min(max(turn - omega, -robot[TURN_UP] * STEP_S), robot[TURN_UP] * STEP_S)
            heading += omega * STEP_S
            sine, cosine = sincos64(heading)
            x += v * cosine * STEP_S
            y += v * sine * STEP_S
            if k < path.shape[0]:
                path[k, 0], path[k, 1] = x, y
            while at < last and _ahead_of(route, at, x, y):
                at += 1
            if k % CHECK_EVERY == 0:
                more, touched = _look(x, y, sine, cosine, k, robot, ground, free, tile_at, cell, people, bars)
                gained = (at - here) * spacing
                if last - at < CLOSE_POINTS:
                    left_x, left_y = x - route[last, 0], y - route[last, 1]
                    gained = (last - here) * spacing - sqrt(left_x * left_x + left_y * left_y)
                cost += more - PROGRESS * gained * CHECK_EVERY / STEPS
                if touched:
                    cost += TOUCH * (1.0 - 0.8 * k / STEPS) + v * 20.0
                    break
        out[c, 0] = cost + OFFSET * wish * wish + CHANGE * abs(wish - before)


@kernel(forceinline=True)
def _ahead_of(route, at, x, y):
    """Whether (x, y) is beyond the middle between point ``at`` of the route and the next."""
    mx, my = 0.5 * (route[at, 0] + route[at + 1, 0]), 0.5 * (route[at, 1] + route[at + 1, 1])
    return (x - mx) * route[at, 2] + (y - my) * route[at, 3] > 0.0


@kernel(forceinline=True)
def _look(x, y, sine, cosine, k, robot, ground, free, tile_at, cell, people, bars):
    """(cost of being here after step k, whether something is touched or the ground left)."""
    cost, t = 0.0, (k + 1) * STEP_S
    edge = _field(ground, tile_at[0], tile_at[1], cell, x, y)
    if edge < GROUND_SPARE:
        cost += LEAVE * (GROUND_SPARE - edge)
    if edge < GROUND_WISH:
        cost += EDGE * (GROUND_WISH - edge) ** 2
    reach = robot[DISC_RADIUS]
    fading = FADING[k]
    touched = edge < GROUND_LEAST
    for disc in range(3):
        place = robot[DISC_1 + disc]
        px, py = x + place * cosine, y + place * sine
        gap = _field(free, tile_at[0], tile_at[1], cell, px, py) - reach
        if gap < SOLID_SPARE:
            touched = True
        if gap < SOLID_WISH:
            cost += NEAR_SOLID * (SOLID_WISH - gap) ** 2
        for p in range(people.shape[0]):
            gap = _person_gap(people, p, t, px, py, reach)
            if gap < people[p, 5] * (0.5 + 0.5 * fading):
                touched = True
            wish = WISH_AND + WISH_TIMES * people[p, 5]
            if gap < wish:
                cost += NEAR_PERSON * fading * (wish - gap) ** 2
        for g in range(bars.shape[0]):
            if _bar_gap(bars, g, px, py, reach) < BAR_SPARE:
                touched = True
    return cost, touched


@kernel
def fill_polygon(mask, corners, crossings):
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


@kernel(forceinline=True)
def _fill_row(cells, first, last):
    for j in range(max(first, 0), min(last, cells.shape[0] - 1) + 1):
        cells[j] = True


@kernel(forceinline=True)
def _insert(values, n, value):
    """Put ``value`` among the first ``n`` sorted values; n + 1."""
    k = n
    while k > 0 and values[k - 1] > value:
        values[k] = values[k - 1]
        k -= 1
    values[k] = value
    return n + 1


def empty_rows(columns: int) -> np.ndarray:
    """No people, or no bars."""
    return np.zeros((0, columns))
