"""What describes vehicles on lanes, and how one follows another or stops at a line: the Intelligent Driver Model
(Treiber, Hennecke, Helbing, Phys. Rev. E 62, 1805, 2000). With a gap g to what is ahead and a closing speed Δv,

    v' = a [1 - (v / v0)⁴ - (s* / g)²],   s* = s0 + v T + v Δv / (2 √(a b))
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sidestep.kernels.jit import kernel
from sidestep.kernels.layout import FloatArray, IntArray, float64

# settings of a vehicle, float64
WISH, HEADWAY, ACCELERATION, BRAKING, STANDSTILL, GAP, PATIENCE, MARGIN, KEEPS_CLEAR, SETTING_ROWS = range(10)
# body of a vehicle, float64: m ahead of and behind the reference point, half its width, wheelbase, largest steer (rad)
FRONT, REAR, HALF, WHEELBASE, LOCK, BODY_ROWS = range(6)
# state of a vehicle, float64: metres along its path, seconds that it has stood, 1 once it has left; number of the
# junction lanes on its path that it has taken, when it took the last, 1 if other vehicles alone keep it from the next
ALONG, WAITED, GONE, TAKEN, TAKEN_AT, READY, STATE_ROWS = range(7)

LOOK_M = 45.0  # how far ahead bodies count
STOP_BEFORE_M = 1.0  # before a crossing, a signal's stop line, or a conflict
HARDEST = 8.0  # m/s²
COMFORTABLE = 4.0  # m/s²: who would have to brake harder for a crossing or a signal drives on
STANDING = 0.3  # m/s


class LanePaths(NamedTuple):
    """The lines that V vehicles follow, by points a metre apart."""

    points: FloatArray  # (V, P, 2) m
    last: IntArray  # (V,) index of the last point
    limit: FloatArray  # (V, P) m/s, what the curve and braking for curves ahead allow
    lane: IntArray  # (V, J) numbers of the junction lanes on the path; -1: none
    lane_at: FloatArray  # (V, J) m of path where each begins
    entry_at: FloatArray  # (V, J) m of path of the stop line before each, and before a crossing that belongs to it
    first_at: FloatArray  # (V, J) m of path of the first conflict of each
    end_at: FloatArray  # (V, J) m of path where the junction ends
    clear_at: FloatArray  # (V, J) m of path where a vehicle has left each, and a crossing just behind it
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
def stop_at(v: float, wish: float, gap: float, setting: FloatArray) -> float:
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
