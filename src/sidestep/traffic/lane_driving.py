"""Vehicles that drive along lanes, all of a world in one compiled call.

Speed follows the Intelligent Driver Model (Treiber, Hennecke, Helbing, Phys. Rev. E 62, 1805, 2000): with a gap g to
what is ahead and a closing speed Δv,

    v' = a [1 - (v / v0)⁴ - (s* / g)²],   s* = s0 + v T + v Δv / (2 √(a b))

What is ahead is the nearest of: bodies in the lane; people, and cars that are not of this traffic, who will be in the
lane when the vehicle gets there if they keep their velocity; the stop line of a crossing that somebody walks on or
steps on, or behind which there is no room; the stop line of a signal that is not green; the beginning of a conflict
with a vehicle that goes first.
Steering is pure pursuit. v0 is at most what the curves ahead allow.

Gap acceptance: where two lanes of a junction meet, the vehicle on the lane of lower priority, or of two equals the one
that comes to the junction later, waits unless it has left the conflict ``gap_s`` before the other gets there. It waits
before the first conflict of its lane, where it is in nobody's way. A vehicle that has
waited long (``patience_s``) looks at bodies alone. Of two that are in a conflict of lanes that end together the one
with more to drive follows the other, as if it was ahead in the same lane.

Only ``+ - * /`` and square roots: the same bits on every machine and in every batch.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sidestep.kernels import layout as at
from sidestep.kernels.approx import sincos64
from sidestep.kernels.dynamics import ROBOT_HEADING, ROBOT_V, ROBOT_X, ROBOT_Y, heading_to
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, float64

# settings of a vehicle, float64
WISH, HEADWAY, ACCELERATION, BRAKING, STANDSTILL, GAP, PATIENCE, MARGIN, KEEPS_CLEAR, SETTING_ROWS = range(10)
# body of a vehicle, float64: m ahead of and behind the reference point, half its width, wheelbase, largest steer (rad)
FRONT, REAR, HALF, WHEELBASE, LOCK, BODY_ROWS = range(6)
# state of a vehicle, float64: metres along its path, seconds that it has stood, 1 once it has left
ALONG, WAITED, GONE, STATE_ROWS = range(4)

LOOK_M = 45.0  # how far ahead bodies count
CROSSING_MARGIN_M = 1.2  # who is nearer than this to a crossing's end and walks towards it steps onto it
STOP_BEFORE_M = 1.0  # before a crossing, a signal's stop line, or a conflict
HARDEST = 8.0  # m/s²
COMFORTABLE = 4.0  # m/s²: who would have to brake harder for a crossing or a signal drives on
STANDING = 0.3  # m/s
SLOW = 1.5  # m/s: nobody drives onto a crossing while a vehicle that is slower leaves no room behind it
PREDICTED = 6  # looks into the future, half a second apart
SAME_TIME_S = 1.2  # a person predicted to be in the lane within so much of the vehicle's arrival counts
ENTERING_M = 0.5
BESIDE_M = 2.0  # bodies farther behind the front are beside the vehicle, which does not start while people are there
CLOSE_M, CORNER_M = 1.0, 0.1  # bodies so near to the bumper count even off the path: corners swing out in a curve


class LanePaths(NamedTuple):
    """The lines that V vehicles follow, by points a metre apart."""

    points: FloatArray  # (V, P, 2) m
    last: IntArray  # (V,) index of the last point
    limit: FloatArray  # (V, P) m/s, what the curve and braking for curves ahead allow
    lane: IntArray  # (V, J) numbers of the junction lanes on the path; -1: none
    lane_at: FloatArray  # (V, J) m of path where each begins
    crossing: IntArray  # (V, C) numbers of the crossings on the path; -1: none
    crossing_at: FloatArray  # (V, C, 2) m of path where each begins and ends
    signal: IntArray  # (V, S) numbers of the signals on the path; -1: none
    signal_at: FloatArray  # (V, S) m of path of their stop lines


class RoadRules(NamedTuple):
    """What holds for everybody."""

    conflicts: FloatArray  # (K, 7): lane, begin, end, other lane, its begin, its end, 1 if the lanes end together
    priority: IntArray  # (L,) of the junction lanes
    crossings: FloatArray  # (C, 5): x, y of either end, width
    signals: FloatArray  # (G, 4): cycle, begin of green, green, yellow, s
    walks: IntArray  # (R,) 1: a robot that crosses like a person; 0: a car or another vehicle


class Vehicles(NamedTuple):
    """The V vehicles: their rows among robots and vehicles, and the columns of the discs that cover each."""

    row: IntArray  # (V,)
    first_disc: IntArray  # (V,) column
    discs: IntArray  # (V,)
    body: FloatArray  # (V, BODY_ROWS)
    settings: FloatArray  # (V, SETTING_ROWS)
    state: FloatArray  # (V, STATE_ROWS), written


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
def idm(v: float, wish: float, gap: float, ahead: float, setting: FloatArray) -> float:
    """Acceleration for a gap (m) to something that moves at ``ahead`` m/s in the same direction; ``gap`` may be
    infinite."""
    ratio = v / max(wish, 0.1)
    ratio *= ratio
    free = 1.0 - ratio * ratio
    if not gap < 1.0e3:
        return float64(max(setting[ACCELERATION] * free, -HARDEST))
    closing = v * (v - ahead) / (2.0 * sqrt(setting[ACCELERATION] * setting[BRAKING]))
    wanted = setting[STANDSTILL] + max(v * setting[HEADWAY] + closing, 0.0)
    share = wanted / max(gap, 0.1)
    return float64(max(setting[ACCELERATION] * (free - share * share), -HARDEST))


@kernel
def _stop_at(v: float, wish: float, gap: float, setting: FloatArray) -> float:
    """Acceleration towards a stop line: as behind something that stands there, but up to the line itself. The line is
    ``STOP_BEFORE_M`` before what must stay free; a vehicle beyond it brakes if that is still possible."""
    if gap > 0.0:
        if v * v > 2.0 * COMFORTABLE * gap + 0.01:
            return -min(v * v / (2.0 * gap), HARDEST)
        return idm(v, wish, gap + setting[STANDSTILL], 0.0, setting)
    room = max(gap + STOP_BEFORE_M, 0.0)
    if v * v > 2.0 * COMFORTABLE * room:
        return np.inf
    return -COMFORTABLE


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
    vehicles: Vehicles, paths: LanePaths, foreign: int,
) -> tuple[float, float]:  # fmt: skip
    """Acceleration that bodies in the lane, bodies that will be in it and bodies close to the bumper allow, and metres
    of path up to the first vehicle that hardly moves. Columns ``people … foreign - 1`` are robots, whose paths nobody
    knows."""
    setting, body = vehicles.settings[i], vehicles.body[i]
    points, last, s = paths.points[i], paths.last[i], vehicles.state[i, ALONG]
    x, y = robot[ROBOT_X], robot[ROBOT_Y]
    sine, cosine = sincos64(robot[ROBOT_HEADING])
    starts = v < STANDING and vehicles.state[i, WAITED] < 3.0 * setting[PATIENCE]
    least, room = idm(v, wish, np.inf, 0.0, setting), np.inf
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
            break
    return least, room


@kernel
def _arrival(distance: float, v: float, wish: float) -> float:
    """Seconds until a vehicle has driven ``distance`` at about its present speed; a standing one starts. Negative for
    one that is beyond, the more the farther."""
    return distance / max(v, 0.5 * wish, 0.5) if distance > 0.0 else distance


@kernel
def _conflict_gap(
    i: int, v: float, wish: float, robots: FloatArray, vehicles: Vehicles, paths: LanePaths, rules: RoadRules
) -> float:
    """Metres from the front to where the vehicle has to wait for another; infinite where there is none."""
    state, body, setting = vehicles.state, vehicles.body, vehicles.settings
    nearest = np.inf
    s = state[i, ALONG]
    for m in range(paths.lane.shape[1]):
        lane = paths.lane[i, m]
        if lane < 0:
            break
        entry = paths.lane_at[i, m] - s - body[i, FRONT]
        first = np.inf
        for k in range(rules.conflicts.shape[0]):
            if int(rules.conflicts[k, 0]) == lane:
                first = min(first, entry + rules.conflicts[k, 1])
        for k in range(rules.conflicts.shape[0]):
            conflict = rules.conflicts[k]
            if int(conflict[0]) != lane:
                continue
            begin = entry + conflict[1]
            end = paths.lane_at[i, m] + conflict[2] - s + body[i, REAR]
            stop = first if first > 0.0 else begin
            if begin <= 0.0 or stop > LOOK_M or stop >= nearest:
                continue
            for j in range(state.shape[0]):
                if j == i or state[j, GONE] == 1.0:
                    continue
                for n in range(paths.lane.shape[1]):
                    if paths.lane[j, n] != int(conflict[3]):
                        continue
                    their_entry = paths.lane_at[j, n] - state[j, ALONG] - body[j, FRONT]
                    their_begin = their_entry + conflict[4]
                    their_end = paths.lane_at[j, n] + conflict[5] - state[j, ALONG] + body[j, REAR]
                    if their_end < 0.0:
                        continue
                    their_v = robots[vehicles.row[j], ROBOT_V]
                    if _must_wait(
                        i, j, entry, begin, end, v, wish, their_entry, their_begin, their_end, their_v,
                        setting[j, WISH], rules.priority[lane], rules.priority[int(conflict[3])], setting[i, GAP],
                        state[i, WAITED] > setting[i, PATIENCE],
                    ):  # fmt: skip
                        nearest = stop
    return nearest


@kernel
def _behind_merging(
    i: int, v: float, wish: float, robots: FloatArray, vehicles: Vehicles, paths: LanePaths, rules: RoadRules
) -> float:
    """Acceleration behind a vehicle that will be ahead in the same lane, once both are where their lanes join."""
    state, body, setting = vehicles.state, vehicles.body, vehicles.settings
    least = np.inf
    s = state[i, ALONG]
    if state[i, WAITED] > setting[i, PATIENCE]:
        return least
    for m in range(paths.lane.shape[1]):
        for k in range(rules.conflicts.shape[0]):
            conflict = rules.conflicts[k]
            if int(conflict[0]) != paths.lane[i, m] or conflict[6] != 1.0:
                continue
            begin, left = paths.lane_at[i, m] + conflict[1] - s, paths.lane_at[i, m] + conflict[2] - s
            if begin > body[i, FRONT] or left < 0.0:
                continue
            for j in range(state.shape[0]):
                if j == i or state[j, GONE] == 1.0:
                    continue
                for n in range(paths.lane.shape[1]):
                    if paths.lane[j, n] != int(conflict[3]):
                        continue
                    their_begin = paths.lane_at[j, n] + conflict[4] - state[j, ALONG]
                    their_left = paths.lane_at[j, n] + conflict[5] - state[j, ALONG]
                    is_ahead = their_left < left or (their_left == left and j < i)
                    if is_ahead and their_begin <= body[j, FRONT] and their_left >= -body[j, REAR]:
                        gap = left - their_left - body[i, FRONT] - body[j, REAR]
                        least = min(least, idm(v, wish, gap, robots[vehicles.row[j], ROBOT_V], setting[i]))
    return least


@kernel
def _must_wait(
    i: int, j: int, entry: float, begin: float, end: float, v: float, wish: float, their_entry: float,
    their_begin: float, their_end: float, their_v: float, their_wish: float, priority: int, their_priority: int,
    gap_s: float, is_impatient: bool,
) -> bool:  # fmt: skip
    if their_begin <= 0.0:
        return True  # the other is in the conflict already
    if is_impatient:
        return False
    enter, leave = _arrival(begin, v, wish), _arrival(end, v, wish)
    they_enter, they_leave = _arrival(their_begin, their_v, their_wish), _arrival(their_end, their_v, their_wish)
    if leave + gap_s < they_enter or enter > they_leave + gap_s:
        return False
    if priority != their_priority:
        return priority < their_priority
    come, they_come = _arrival(entry, v, wish), _arrival(their_entry, their_v, their_wish)
    return they_come < come or (they_come == come and j < i)


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
        acceleration, room = _bodies_ahead(
            i, v, wish, robot, agents, flags, people, people + row, vehicles, paths, people + foreign
        )
        conflict = _conflict_gap(i, v, wish, robots, vehicles, paths, rules) - STOP_BEFORE_M
        room -= body[FRONT] + body[REAR] + STOP_BEFORE_M
        if setting[KEEPS_CLEAR] == 1.0:
            room = min(room, conflict - body[REAR])
        for m in range(paths.crossing.shape[1]):
            if paths.crossing[i, m] >= 0:
                gap = paths.crossing_at[i, m, 0] - s - body[FRONT] - STOP_BEFORE_M
                crossing = rules.crossings[paths.crossing[i, m]]
                is_full = room < paths.crossing_at[i, m, 1] - s  # it would have to stop on the crossing
                if -STOP_BEFORE_M < gap < LOOK_M and (
                    is_full or _is_used(crossing, agents, flags, people, foreign, rules.walks)
                ):
                    acceleration = min(acceleration, _stop_at(v, wish, gap, setting))
        for m in range(paths.signal.shape[1]):
            if paths.signal[i, m] >= 0 and not _is_green(rules.signals[paths.signal[i, m]], time):
                gap = paths.signal_at[i, m] - s - body[FRONT] - STOP_BEFORE_M
                if -STOP_BEFORE_M < gap < LOOK_M and v * v <= 2.0 * COMFORTABLE * max(gap, 0.3):
                    acceleration = min(acceleration, _stop_at(v, wish, gap, setting))
        acceleration = min(acceleration, _behind_merging(i, v, wish, robots, vehicles, paths, rules))
        if conflict < LOOK_M:
            acceleration = min(acceleration, _stop_at(v, wish, conflict, setting))
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
