"""Third-order splines that a unicycle can drive, and the library of them around a robot.

A spline leaves the origin along +x and ends in a pose (x, y, θ). With chord length L it is the cubic Hermite curve

    p(u) = (u³ - 2u² + u) L (1, 0) + (3u² - 2u³) (x, y) + (u³ - u²) L (cos θ, sin θ),        0 ≤ u ≤ 1,

whose curvature is κ = (x' y'' - y' x'') / |p'|³. It is driven as fast as the limits allow: v ≤ v_max, v |κ| ≤ ω_max
and, where the robot has such limits, acceleration and deceleration. A robot that turns on the spot may do so first.

The library is a connectivity graph of depth one: the nodes are end poses on a grid about the robot, and an edge is a
spline that is feasible within the horizon, from the robot's present class of speed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, pi, radians
from typing import NamedTuple

import numpy as np

from sidestep._util import exact
from sidestep._util.exact import tan
from sidestep.types import RobotSpec
from sidestep.types.base import FloatArray, IntArray

SAMPLES = 41
TURN_SHARE = 0.9
"""Share of ω_max that the splines use; the rest is left for following them."""
DEFAULT_TURN_RATE = 3.0
"""rad/s, of a robot without a limit."""
TIGHTEST_M = 0.25
"""Least radius of a curve, m; tighter turns are made on the spot."""
MOST_REACH_M = 12.0
"""The grid is no wider than this, m, so that samples stay close together for fast robots too."""
LEAST_LENGTH_M = 1.0
"""Least length of a plan, m, unless the goal is nearer."""
SPEED_CLASSES = 5

_RADII = np.array([0.12, 0.2, 0.3, 0.42, 0.56, 0.7, 0.84, 0.98])  # of the reach
_DEGREE = pi / 180.0
_BEARINGS = np.arange(-80, 81, 10) * _DEGREE
_END_TURNS = np.arange(-90, 91, 30) * _DEGREE  # end heading relative to the bearing
_SPOT_TURNS = np.concatenate([np.arange(-180, -29, 15), np.arange(30, 166, 15)]) * _DEGREE
_SPOT_RADII = np.array([0.15, 0.42, 0.84])
_SPOT_END_TURNS = np.array([-40, 0, 40]) * _DEGREE


@dataclass(frozen=True)
class DriveLimits:
    """What the splines respect: m/s, rad/s, 1/m, m/s². ``turns_on_spot``: false for cars."""

    speed: float
    turn_rate: float
    curvature: float = 1.0 / TIGHTEST_M
    acceleration: float = inf
    deceleration: float = inf
    turns_on_spot: bool = True

    @classmethod
    def of(cls, robot: RobotSpec) -> DriveLimits:
        """The limits of a robot."""
        limits = robot.limits
        curvature = 1.0 / TIGHTEST_M
        if robot.dynamics == "bicycle":
            assert limits.max_steer is not None
            assert robot.wheelbase is not None
            curvature = min(curvature, 0.95 * tan(limits.max_steer) / robot.wheelbase)
        return cls(
            speed=limits.max_speed,
            turn_rate=limits.max_turn_rate or DEFAULT_TURN_RATE,
            curvature=curvature,
            acceleration=limits.max_acceleration or inf,
            deceleration=limits.max_deceleration or limits.max_acceleration or inf,
            turns_on_spot=robot.dynamics != "bicycle",
        )


class Splines(NamedTuple):
    """n trajectories of ``SAMPLES`` samples each, in the robot's frame at the start. n is ``len(splines.turn)``."""

    x: FloatArray  # (n, K) float32, m
    y: FloatArray  # (n, K) float32, m
    cos: FloatArray  # (n, K) float32, of the heading
    sin: FloatArray  # (n, K) float32
    time: FloatArray  # (n, K) float32, s, turning on the spot included
    speed: FloatArray  # (n, K) float32, m/s: the most that curve and braking allow; acceleration counts in time only
    curvature: FloatArray  # (n, K) float32, 1/m
    turn: FloatArray  # (n,) float32, rad on the spot before the rest
    first: IntArray  # (n,) int32, the first sample at which a plan may end


def make_splines(ends: FloatArray, turns: FloatArray, speed: float, limits: DriveLimits, horizon: float) -> Splines:
    """The feasible ones of the splines to ``ends (n, 3)`` (x, y, θ after turning on the spot by ``turns (n,)`` rad).

    ``horizon`` (s) limits the time of driving; turning on the spot comes on top.
    """
    ends, turns = np.asarray(ends, np.float64).reshape(-1, 3), np.asarray(turns, np.float64)
    x, y, dx, dy, curvature = _hermite(ends)
    steps = exact.hypot(np.diff(x, axis=1), np.diff(y, axis=1))
    is_turned = turns != 0.0
    limit = _speed_limit(curvature, steps, limits)
    v = _driven_speed(limit, steps, np.where(is_turned, 0.0, speed), limits)
    moving = np.maximum(0.5 * (v[:, 1:] + v[:, :-1]), 1e-6)
    time = np.concatenate([np.zeros((len(ends), 1)), np.cumsum(steps / moving, axis=1)], axis=1)
    driven = time[:, -1].copy()
    braking_time, braking_way = (0.0, 0.0) if limits.deceleration == inf else (
        speed / limits.deceleration, 0.5 * speed * speed / limits.deceleration
    )  # fmt: skip
    time += np.where(is_turned, np.abs(turns) / (TURN_SHARE * limits.turn_rate) + braking_time, 0.0)[:, None]
    tangent = np.maximum(exact.hypot(dx, dy), 1e-9)
    s, c = (part[:, None] for part in exact.sincos(turns))
    ahead = np.where(is_turned, braking_way, 0.0)[:, None]
    feasible = (driven <= horizon) & (np.abs(curvature).max(axis=1) <= limits.curvature)
    feasible &= tangent.min(axis=1) > 1e-3
    feasible &= is_turned | (limit[:, 0] >= speed - 1e-6) | (limits.deceleration == inf)
    length = np.concatenate([np.zeros((len(ends), 1)), np.cumsum(steps, axis=1)], axis=1)
    least = np.minimum(LEAST_LENGTH_M, 0.99 * length[:, -1:])
    columns = (
        ahead + c * x - s * y, s * x + c * y, (c * dx - s * dy) / tangent, (s * dx + c * dy) / tangent,
        time, limit, curvature,
    )  # fmt: skip
    px, py, cosine, sine, when, fastest, bend = (
        np.ascontiguousarray(column[feasible], np.float32) for column in columns
    )
    first = (length < least).sum(axis=1)[feasible].astype(np.int32)
    return Splines(px, py, cosine, sine, when, fastest, bend, turns[feasible].astype(np.float32), first)


def _hermite(ends: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray, FloatArray]:
    """x, y, x', y' and curvature, each (n, K), of the splines to ``ends``."""
    u = np.linspace(0.0, 1.0, SAMPLES)
    square, cube = u * u, u * u * u
    leave, go, arrive = cube - 2 * square + u, 3 * square - 2 * cube, cube - square
    leave1, go1, arrive1 = 3 * square - 4 * u + 1, 6 * u - 6 * square, 3 * square - 2 * u
    leave2, go2, arrive2 = 6 * u - 4, 6 - 12 * u, 6 * u - 2
    length = exact.hypot(ends[:, 0], ends[:, 1])[:, None]
    sine, cosine = exact.sincos(ends[:, 2:])
    mx, my = length * cosine, length * sine
    ex, ey = ends[:, 0:1], ends[:, 1:2]
    x, y = leave * length + go * ex + arrive * mx, go * ey + arrive * my
    x1, y1 = leave1 * length + go1 * ex + arrive1 * mx, go1 * ey + arrive1 * my
    x2, y2 = leave2 * length + go2 * ex + arrive2 * mx, go2 * ey + arrive2 * my
    pace = np.maximum(exact.hypot(x1, y1), 1e-9)
    curvature = (x1 * y2 - y1 * x2) / (pace * pace * pace)
    return x, y, x1, y1, curvature


def _speed_limit(curvature: FloatArray, steps: FloatArray, limits: DriveLimits) -> FloatArray:
    """Fastest speeds (n, K) from which every curve ahead can still be taken."""
    v = np.minimum(limits.speed, TURN_SHARE * limits.turn_rate / np.maximum(np.abs(curvature), 1e-9))
    if limits.deceleration < inf:
        for k in range(v.shape[1] - 2, -1, -1):
            v[:, k] = np.minimum(v[:, k], np.sqrt(np.square(v[:, k + 1]) + 2 * limits.deceleration * steps[:, k]))
    return v


def _driven_speed(limit: FloatArray, steps: FloatArray, start: FloatArray, limits: DriveLimits) -> FloatArray:
    """Speeds (n, K) that are driven, from ``start (n,)`` m/s on, if acceleration is limited."""
    if limits.acceleration == inf:
        return limit
    v = limit.copy()
    v[:, 0] = np.minimum(v[:, 0], start)
    for k in range(v.shape[1] - 1):
        v[:, k + 1] = np.minimum(v[:, k + 1], np.sqrt(np.square(v[:, k]) + 2 * limits.acceleration * steps[:, k]))
    return v


def library_reach(limits: DriveLimits, horizon: float) -> float:
    """How far the library's end poses lie at most, m."""
    return min(limits.speed * horizon, MOST_REACH_M)


@lru_cache(maxsize=32)
def spline_library(limits: DriveLimits, horizon: float, speed_class: int) -> Splines:
    """All feasible splines from a class of speed, built once. Class c starts at c / (SPEED_CLASSES - 1) of v_max."""
    reach = library_reach(limits, horizon)
    speed = limits.speed * speed_class / (SPEED_CLASSES - 1)
    ends = [
        (r * cosine, r * sine, b + t)
        for r in (reach * _RADII).tolist()
        for b, sine, cosine in zip(_BEARINGS, *exact.sincos(_BEARINGS), strict=True)
        for t in _END_TURNS
    ]
    turns = [0.0] * len(ends)
    if limits.turns_on_spot:
        for turn in _SPOT_TURNS:
            spot = [(r, 0.0, t) for r in reach * _SPOT_RADII for t in _SPOT_END_TURNS]
            ends += spot
            turns += [float(turn)] * len(spot)
    return make_splines(np.array(ends), np.array(turns), speed, limits, horizon)


def speed_class(speed: float, limits: DriveLimits) -> int:
    """The class that starts no slower than ``speed``; without limits of acceleration there is one class, the top."""
    if limits.acceleration == inf and limits.deceleration == inf:
        return SPEED_CLASSES - 1
    return min(max(ceil(speed / limits.speed * (SPEED_CLASSES - 1) - 0.5), 0), SPEED_CLASSES - 1)


def splines_to_point(x: float, y: float, speed: float, limits: DriveLimits, horizon: float) -> Splines:
    """Splines that end exactly at (x, y) of the robot's frame: with a few end headings, and straight after a turn."""
    distance, bearing = float(exact.hypot(x, y)), float(exact.arctan2(y, x))
    ends, turns = [(distance, 0.0, 0.0)], [bearing if limits.turns_on_spot else 0.0]
    if abs(bearing) < radians(85.0):
        headings = [bearing + offset * _DEGREE for offset in (-60, -30, 0, 30, 60)] + [2.0 * bearing]
        ends += [(x, y, heading) for heading in headings]
        turns += [0.0] * len(headings)
    if not limits.turns_on_spot:
        ends, turns = ends[1:], turns[1:]
    return make_splines(np.array(ends).reshape(-1, 3), np.array(turns), speed, limits, horizon)


def wrapped(angle: float) -> float:
    """The same angle in [-π, π), rad."""
    return (angle + pi) % (2 * pi) - pi
