"""Vehicles that drive along lanes, all of a world in one compiled call.

Speed follows the Intelligent Driver Model (``car_following``). What is ahead is the nearest of: bodies in the lane;
people, and cars that are not of this traffic, who will be in the lane when the vehicle gets there if they keep their
velocity; the stop line of a crossing that somebody walks on or steps on, or behind which there is no room; the stop
line of a signal that is not green; where to wait for a vehicle that goes first at a junction (``junctions``).
Steering is pure pursuit. v0 is at most what the curves ahead allow.

Only ``+ - * /`` and square roots: the same bits on every machine and in every batch.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels.approx import sincos64
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_V, ROBOT_X, ROBOT_Y, heading_to
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, float64
from sidestep.simulation.traffic.car_following import (
    ALONG,
    COMFORTABLE,
    FRONT,
    GONE,
    HALF,
    KEEPS_CLEAR,
    LOCK,
    LOOK_M,
    MARGIN,
    PATIENCE,
    READY,
    REAR,
    STANDING,
    STOP_BEFORE_M,
    TAKEN,
    TAKEN_AT,
    WAITED,
    WHEELBASE,
    WISH,
    LanePaths,
    RoadRules,
    Vehicles,
    idm,
    stop_at,
)
from sidestep.simulation.traffic.junctions import behind_merging, conflict_gap, goes_in, taken_gap

CROSSING_MARGIN_M = 1.2  # who is nearer than this to a crossing's end and walks towards it steps onto it
SLOW = 1.5  # m/s: nobody drives onto a crossing while a vehicle that is slower leaves no room behind it
PREDICTED = 6  # looks into the future, half a second apart
COMMIT_M, COMMIT_BRAKING = 2.0, 3.0  # m, m/s²: who is nearer to a junction than it takes to stop, and so much, decides
SAME_TIME_S = 1.2  # a person predicted to be in the lane within so much of the vehicle's arrival counts
ENTERING_M = 0.5
BESIDE_M = 2.0  # bodies farther behind the front are beside the vehicle, which does not start while people are there
CLOSE_M, CORNER_M = 1.0, 0.1  # bodies so near to the bumper count even off the path: corners swing out in a curve


@kernel
def along_path(points: FloatArray, last: int, begin: float, reach: float, x: float, y: float) -> tuple[float, float]:
    """Metres along of the point nearest to (x, y) between ``begin`` and ``begin + reach``, and its squared distance."""
    first = max(int(begin), 0)
    stop = min(last, int(begin + reach) + 1)
    best, miss = begin, np.inf
    for k in range(first, stop):
        ax, ay = points[k, 0], points[k, 1]
        ex, ey = points[k + 1, 0] - ax, points[k + 1, 1] - ay
        square = ex * ex + ey * ey
        if square <= 0.0:
            continue
        share = min(max(((x - ax) * ex + (y - ay) * ey) / square, 0.0), 1.0)
        dx, dy = x - ax - share * ex, y - ay - share * ey
        found = dx * dx + dy * dy
        if found < miss:
            best, miss = k + share, found
    return best, miss


@kernel
def _point_at(points: FloatArray, last: int, along: float) -> tuple[float, float]:
    k = min(max(int(along), 0), last - 1)
    share = along - k
    return (
        points[k, 0] + share * (points[k + 1, 0] - points[k, 0]),
        points[k, 1] + share * (points[k + 1, 1] - points[k, 1]),
    )


@kernel
def _is_green(signal: FloatArray, time: float) -> bool:
    phase = time - signal[1]
    phase -= signal[0] * np.floor(phase / signal[0])
    return bool(phase < signal[2])


@kernel
def _is_used(
    crossing: FloatArray, agents: FloatArray, flags: IntArray, people: int, foreign: int, walks: IntArray
) -> bool:
    """Whether somebody, a person or one of the ``foreign`` robots that are no cars, is on the crossing or about to
    step onto it."""
    ax, ay = crossing[0], crossing[1]
    ex, ey = crossing[2] - ax, crossing[3] - ay
    length = sqrt(ex * ex + ey * ey)
    ux, uy = ex / length, ey / length
    half = crossing[4] / 2.0 + ENTERING_M
    for j in range(people + foreign):
        if flags[at.ACTIVE, j] != 1 or (j >= people and walks[j - people] == 0):
            continue
        dx, dy = float64(agents[at.PX, j]) - ax, float64(agents[at.PY, j]) - ay
        along, aside = dx * ux + dy * uy, dy * ux - dx * uy
        if abs(aside) > half or along < -CROSSING_MARGIN_M or along > length + CROSSING_MARGIN_M:
            continue
        walk = float64(agents[at.VX, j]) * ux + float64(agents[at.VY, j]) * uy
        if 0.0 < along < length or (along <= 0.0 and walk > 0.2) or (along >= length and walk < -0.2):
            return True
    return False


@kernel
def _bodies_ahead(
    i: int, v: float, wish: float, robot: FloatArray, agents: FloatArray, flags: IntArray, people: int, own: int,
    vehicles: Vehicles, paths: LanePaths, foreign: int, end_at: float,
) -> tuple[float, float, float]:  # fmt: skip
    """Acceleration that bodies in the lane, bodies that will be in it and bodies close to the bumper allow, and metres
    of path up to the first vehicle that hardly moves, and to the first such one behind ``end_at``. Columns
    ``people … foreign - 1`` are robots, whose paths nobody knows."""
    setting, body = vehicles.settings[i], vehicles.body[i]
    points, last, s = paths.points[i], paths.last[i], vehicles.state[i, ALONG]
    x, y = robot[ROBOT_X], robot[ROBOT_Y]
    sine, cosine = sincos64(robot[ROBOT_HEADING])
    starts = v < STANDING and vehicles.state[i, WAITED] < 3.0 * setting[PATIENCE]
    least, room, room_behind = idm(v, wish, np.inf, 0.0, setting), np.inf, np.inf
    first_disc, discs = vehicles.first_disc[i], vehicles.discs[i]
    for j in range(agents.shape[1]):
        if flags[at.ACTIVE, j] != 1 or j == own or (first_disc <= j < first_disc + discs):
            continue
        px, py = float64(agents[at.PX, j]), float64(agents[at.PY, j])
        dx, dy = px - x, py - y
        if dx * dx + dy * dy > LOOK_M * LOOK_M:
            continue
        vx, vy, radius = float64(agents[at.VX, j]), float64(agents[at.VY, j]), float64(agents[at.RADIUS, j])
        bumper = cosine * dx + sine * dy - body[FRONT]
        if 0.0 < bumper < radius + CLOSE_M and abs(cosine * dy - sine * dx) < body[HALF] + CORNER_M + radius:
            least = min(least, idm(v, wish, bumper - radius, max(cosine * vx + sine * vy, 0.0), setting))
        reach = body[HALF] + setting[MARGIN] + radius
        looks = PREDICTED if j < people or j < foreign or j >= agents.shape[1] else 1
        for look in range(looks):
            later = 0.5 * look
            where, miss = along_path(points, last, s, LOOK_M, px + later * vx, py + later * vy)
            gap = where - s - body[FRONT] - radius
            if miss >= reach * reach or where <= s:
                continue
            if gap < -BESIDE_M and not (j < people and starts):
                continue
            if look > 0:
                arrival = max(gap, 0.0) / max(v, 1.0)
                if abs(arrival - later) > SAME_TIME_S + radius / max(sqrt(vx * vx + vy * vy), 0.5):
                    continue
            k = min(int(where), last - 1)
            tx, ty = points[k + 1, 0] - points[k, 0], points[k + 1, 1] - points[k, 1]
            ahead = max((vx * tx + vy * ty) / sqrt(tx * tx + ty * ty), 0.0)
            least = min(least, idm(v, wish, gap, ahead, setting))
            if look == 0 and j >= people and ahead < SLOW:
                room = min(room, where - s - radius)
                if where > end_at:
                    room_behind = min(room_behind, where - s - radius)
            break
    return least, room, room_behind


@kernel
def _take_lanes(
    i: int, time: float, v: float, wish: float, room: float, room_behind: float, closed_at: float, robots: FloatArray,
    vehicles: Vehicles, paths: LanePaths, rules: RoadRules,
) -> float:  # fmt: skip
    """Note the lanes through junctions that a vehicle takes. Metres to the stop line where it has to wait before it may
    take the next one; infinite if it need not. A vehicle that does not keep clear takes a lane by driving onto it."""
    state, front = vehicles.state[i], vehicles.state[i, ALONG] + vehicles.body[i, FRONT]
    m = int(state[TAKEN])
    while m < paths.lane.shape[1] and paths.lane[i, m] >= 0 and paths.entry_at[i, m] <= front:
        m += 1
        state[TAKEN], state[TAKEN_AT] = m, time
    state[READY] = 1.0
    if m == paths.lane.shape[1] or paths.lane[i, m] < 0 or vehicles.settings[i, KEEPS_CLEAR] == 0.0:
        return np.inf
    gap = paths.entry_at[i, m] - front - STOP_BEFORE_M
    if gap > LOOK_M:
        return np.inf
    length = paths.clear_at[i, m] - state[ALONG]
    state[READY] = 1.0 if room_behind > length and closed_at >= paths.first_at[i, m] else 0.0
    if state[READY] == 0.0 or room < length:
        return float64(gap)
    entry = paths.entry_at[i, m]
    while m < paths.lane.shape[1] and paths.lane[i, m] >= 0 and paths.entry_at[i, m] == entry:
        if not goes_in(i, m, v, wish, robots, vehicles, paths, rules):
            return float64(gap)
        m += 1
    if gap < COMMIT_M + v * v / (2.0 * COMMIT_BRAKING):
        state[TAKEN], state[TAKEN_AT] = m, time
    return np.inf


@kernel
def drive_vehicles(
    time: float, dt: float, agents: FloatArray, flags: IntArray, people: int, robots: FloatArray, foreign: int,
    vehicles: Vehicles, paths: LanePaths, rules: RoadRules, command: FloatArray,
) -> None:  # fmt: skip
    """Write the commands (speed, steer) of all vehicles for the coming step of ``dt`` s. One that has reached the end
    of its path leaves the world. ``foreign``: robots that are not of this traffic come first in ``robots``."""
    for i in range(vehicles.row.shape[0]):
        row, state = vehicles.row[i], vehicles.state[i]
        if state[GONE] == 1.0:
            command[row, 0] = command[row, 1] = 0.0
            continue
        points, last = paths.points[i], paths.last[i]
        robot = robots[row]
        x, y, v = robot[ROBOT_X], robot[ROBOT_Y], max(robot[ROBOT_V], 0.0)
        s, _ = along_path(points, last, state[ALONG], 8.0, x, y)
        state[ALONG] = s
        if s > last - 1.0:
            state[GONE] = 1.0
            flags[at.ACTIVE, people + row] = 0
            for disc in range(vehicles.discs[i]):
                flags[at.ACTIVE, vehicles.first_disc[i] + disc] = 0
            command[row, 0] = command[row, 1] = 0.0
            continue
        setting, body = vehicles.settings[i], vehicles.body[i]
        wish = min(setting[WISH], paths.limit[i, min(int(s + 1.0), last)])
        following = min(int(state[TAKEN]), paths.lane.shape[1] - 1)
        acceleration, room, room_behind = _bodies_ahead(
            i, v, wish, robot, agents, flags, people, people + row, vehicles, paths, people + foreign,
            paths.end_at[i, following],
        )  # fmt: skip
        room -= body[FRONT] + body[REAR] + STOP_BEFORE_M
        room_behind -= body[FRONT] + body[REAR] + STOP_BEFORE_M
        conflict = np.inf
        if setting[KEEPS_CLEAR] == 0.0:
            conflict = conflict_gap(i, v, wish, robots, vehicles, paths, rules) - STOP_BEFORE_M
        closed_at = np.inf  # m of path of the first crossing or signal at which the vehicle has to stop
        for m in range(paths.crossing.shape[1]):
            if paths.crossing[i, m] >= 0:
                gap = paths.crossing_at[i, m, 0] - s - body[FRONT] - STOP_BEFORE_M
                crossing = rules.crossings[paths.crossing[i, m]]
                is_full = room < paths.crossing_at[i, m, 1] - s  # it would have to stop on the crossing
                if -STOP_BEFORE_M < gap < LOOK_M and (
                    is_full or _is_used(crossing, agents, flags, people, foreign, rules.walks)
                ):
                    acceleration = min(acceleration, stop_at(v, wish, gap, setting))
                    closed_at = min(closed_at, paths.crossing_at[i, m, 0])
        for m in range(paths.signal.shape[1]):
            if paths.signal[i, m] >= 0 and not _is_green(rules.signals[paths.signal[i, m]], time):
                gap = paths.signal_at[i, m] - s - body[FRONT] - STOP_BEFORE_M
                if -STOP_BEFORE_M < gap < LOOK_M and v * v <= 2.0 * COMFORTABLE * max(gap, 0.3):
                    acceleration = min(acceleration, stop_at(v, wish, gap, setting))
                    closed_at = min(closed_at, paths.signal_at[i, m])
        acceleration = min(acceleration, behind_merging(i, v, wish, robots, vehicles, paths, rules))
        gap = _take_lanes(i, time, v, wish, room, room_behind, closed_at, robots, vehicles, paths, rules)
        if setting[KEEPS_CLEAR] == 1.0:
            acceleration = min(acceleration, stop_at(v, wish, gap, setting))
            conflict = taken_gap(i, v, wish, robots, vehicles, paths, rules) - STOP_BEFORE_M
        if conflict < LOOK_M:
            acceleration = min(acceleration, stop_at(v, wish, conflict, setting))
        state[WAITED] = state[WAITED] + dt if v < STANDING else 0.0
        command[row, 0] = max(v + acceleration * dt, 0.0)
        command[row, 1] = _steer(points, last, s, x, y, robot[ROBOT_HEADING], v, body)


@kernel
def _steer(
    points: FloatArray, last: int, s: float, x: float, y: float, heading: float, v: float, body: FloatArray
) -> float:
    """Pure pursuit of the point of the path that lies ahead: the steer angle."""
    reach = max(3.0, 0.7 * v)
    px, py = _point_at(points, last, min(s + reach, float64(last)))
    sine, cosine = sincos64(heading)
    dx, dy = px - x, py - y
    square = dx * dx + dy * dy
    if square < 0.25:
        return 0.0
    left = cosine * dy - sine * dx
    steer = heading_to(square, 2.0 * body[WHEELBASE] * left)
    return float64(min(max(steer, -body[LOCK]), body[LOCK]))
