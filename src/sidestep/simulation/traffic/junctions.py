"""Right of way where lanes of a junction meet or cross. There are two rules.

*Gap acceptance.* The vehicle on the lane of lower priority, or of two equals the one that comes to the junction later,
waits unless it has left the conflict ``gap_s`` before the other gets there. It waits before the first conflict of its
lane. A vehicle that has waited long (``patience_s``) looks at bodies alone.

*Keeping clear* (``keeps_clear``). A vehicle takes its lane through a junction before it drives in, and waits at the
stop line until it may: there is room behind the junction, those who have taken a lane that meets its own are out of the
way in time, and nobody who goes first is ready to take one. Who has waited longer than ``patience_s`` goes first, the
longest of all; then priority and the order of arrival decide. Vehicles are asked one after the other, so no two take
lanes at the same time; in the junction a vehicle waits only for those who took theirs earlier. Hence nobody in a
junction waits in a circle.

With either rule, of two that are in a conflict of lanes that end together the one with more to drive follows the other,
as if it was ahead in the same lane.
"""

from __future__ import annotations

import numpy as np

from sidestep.kernels.dynamics import ROBOT_V
from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray
from sidestep.simulation.traffic.car_following import (
    ALONG,
    FRONT,
    GAP,
    GONE,
    LOOK_M,
    PATIENCE,
    READY,
    REAR,
    STANDING,
    TAKEN,
    TAKEN_AT,
    WAITED,
    WISH,
    LanePaths,
    RoadRules,
    Vehicles,
    idm,
)


@kernel
def _arrival(distance: float, v: float, wish: float) -> float:
    """Seconds until a vehicle has driven ``distance`` at about its present speed; a standing one starts. Negative for
    one that is beyond, the more the farther."""
    return distance / max(v, 0.5 * wish, 0.5) if distance > 0.0 else distance


@kernel
def conflict_gap(
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
def behind_merging(
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
def goes_in(
    i: int, m: int, v: float, wish: float, robots: FloatArray, vehicles: Vehicles, paths: LanePaths, rules: RoadRules
) -> bool:
    """Whether other vehicles let one take its ``m``-th lane through a junction."""
    state, body, setting = vehicles.state, vehicles.body, vehicles.settings
    s, lane, gap_s = state[i, ALONG], paths.lane[i, m], setting[i, GAP]
    come = _arrival(paths.lane_at[i, m] - s - body[i, FRONT], v, wish)
    for k in range(rules.conflicts.shape[0]):
        conflict = rules.conflicts[k]
        if int(conflict[0]) != lane:
            continue
        enter = _arrival(paths.lane_at[i, m] + conflict[1] - s - body[i, FRONT], v, wish)
        leave = _arrival(paths.lane_at[i, m] + conflict[2] - s + body[i, REAR], v, wish)
        for j in range(state.shape[0]):
            if j == i or state[j, GONE] == 1.0:
                continue
            for n in range(min(int(state[j, TAKEN]) + 1, paths.lane.shape[1])):
                if paths.lane[j, n] != int(conflict[3]):
                    continue
                their_v, their_wish = robots[vehicles.row[j], ROBOT_V], setting[j, WISH]
                their_at = paths.lane_at[j, n] - state[j, ALONG]
                if their_at + conflict[5] + body[j, REAR] < 0.0:
                    continue
                they_leave = _arrival(their_at + conflict[5] + body[j, REAR], their_v, their_wish)
                if n < int(state[j, TAKEN]):
                    if their_v < STANDING or enter <= they_leave + gap_s:
                        return False
                    continue
                they_enter = _arrival(their_at + conflict[4] - body[j, FRONT], their_v, their_wish)
                if state[j, READY] == 0.0 or leave + gap_s < they_enter or enter > they_leave + gap_s:
                    continue
                they_come = _arrival(their_at - body[j, FRONT], their_v, their_wish)
                if _goes_first(
                    j, i, they_come, come, rules.priority[int(conflict[3])], rules.priority[lane], state, setting
                ):
                    return False
    return True


@kernel
def _goes_first(
    j: int, i: int, they_come: float, come: float, their_priority: int, priority: int, state: FloatArray,
    setting: FloatArray,
) -> bool:  # fmt: skip
    """Whether vehicle ``j`` goes before vehicle ``i``; of any two, one does."""
    they_waited, waited = state[j, WAITED], state[i, WAITED]
    they_are_late, is_late = they_waited > setting[j, PATIENCE], waited > setting[i, PATIENCE]
    if they_are_late != is_late:
        return bool(they_are_late)
    if is_late and they_waited != waited:
        return bool(they_waited > waited)
    if their_priority != priority:
        return their_priority > priority
    return they_come < come or (they_come == come and j < i)


@kernel
def taken_gap(
    i: int, v: float, wish: float, robots: FloatArray, vehicles: Vehicles, paths: LanePaths, rules: RoadRules
) -> float:
    """Metres from the front to the first conflict, on the lanes that a vehicle has taken, with one who took a lane
    earlier or is in the conflict; infinite where there is none."""
    state, body = vehicles.state, vehicles.body
    s, nearest = state[i, ALONG], np.inf
    for m in range(int(state[i, TAKEN])):
        for k in range(rules.conflicts.shape[0]):
            conflict = rules.conflicts[k]
            if int(conflict[0]) != paths.lane[i, m]:
                continue
            begin = paths.lane_at[i, m] + conflict[1] - s - body[i, FRONT]
            if begin <= 0.0 or begin >= nearest:
                continue
            for j in range(state.shape[0]):
                if j == i or state[j, GONE] == 1.0:
                    continue
                for n in range(int(state[j, TAKEN])):
                    if paths.lane[j, n] != int(conflict[3]):
                        continue
                    their_at = paths.lane_at[j, n] - state[j, ALONG]
                    they_leave = their_at + conflict[5] + body[j, REAR]
                    if they_leave < 0.0:
                        continue
                    is_there = their_at + conflict[4] - body[j, FRONT] <= 0.0
                    is_earlier = state[j, TAKEN_AT] < state[i, TAKEN_AT] or (
                        state[j, TAKEN_AT] == state[i, TAKEN_AT] and j < i
                    )
                    their_v = robots[vehicles.row[j], ROBOT_V]
                    is_gone = their_v >= STANDING and _arrival(begin, v, wish) > they_leave / their_v
                    if (is_there or is_earlier) and not is_gone:
                        nearest = begin
    return nearest
