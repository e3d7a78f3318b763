"""Free flow: time of the drive on an empty road, and success weighted by it, so that waiting lowers the value."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from sidestep._util import exact
from sidestep.metrics.definition import Value, metric
from sidestep.metrics.sources import SIDESTEP
from sidestep.types.base import FloatArray
from sidestep.types.outcome import ExitRule, Outcome
from sidestep.types.record import EpisodeRecord
from sidestep.types.road import Roads

NO_EXIT = "the task is not to leave an area"
NO_ROADS = "the scene has no lanes"
NO_ROUTE = "the scenario's route does not leave the area"
SIDEWAYS_MPS2 = 2.0
"""Comfortable sideways acceleration in a curve."""
BEND_M = 3.0
"""Length of line before and after a point over which its curvature is measured."""
STEP_M = 1.0
BESIDE_M = 0.6
"""How far beyond the edge of a lane its speed limit still holds."""
UNLIMITED_MPS2 = 3.0
"""Acceleration of robots that state no limit."""

_DEFINITION = "Scenarios in which the task is to leave an area along a route over lanes."


@metric("s", "none", source=SIDESTEP, validity=_DEFINITION)
def free_flow_time(record: EpisodeRecord) -> Value:
    """Time of the scenario's route on an empty road, from the start until the middle of the body leaves the area, at
    the highest speed that the lanes' speed limits, the robot's top speed and acceleration, and a sideways acceleration
    of {SIDEWAYS_MPS2:g} m/s² in curves allow. It depends on the scenario alone."""
    rule, scene = record.scenario.rules.exit, record.scenario.scene
    if rule is None:
        return NO_EXIT
    if isinstance(scene, str) or scene.roads is None or not scene.roads.lanes:
        return NO_ROADS
    place, limits = record.scenario.ego, record.robot.limits
    line = np.array([place.start[:2], *place.route, place.goal], np.float64)
    line = line[np.concatenate([[True], exact.norm(np.diff(line, axis=0)) > 1e-6])]
    length = _length_inside(line, rule, record)
    if length is None:
        return NO_ROUTE
    at = np.append(np.arange(0.0, length - 1e-9, STEP_M), length)
    allowed = np.minimum(_lane_limits(_points(line, at), scene.roads), limits.max_speed)
    allowed = np.minimum(allowed, np.sqrt(SIDEWAYS_MPS2 / np.maximum(_bends(line, at), 1e-6)))
    speed = _driven(at, allowed, place.speed, limits.max_acceleration, limits.max_deceleration)
    return float(exact.total(2.0 * np.diff(at) / (speed[:-1] + speed[1:])))


@metric("ratio", "higher", source=SIDESTEP, validity=_DEFINITION)
def time_weighted_success(record: EpisodeRecord) -> Value:
    """success · min(1, free_flow_time / duration of the episode). 1 means as fast as on an empty road, 0 means no
    success."""
    free = free_flow_time.function(record)
    if not free.valid:
        return free.reason
    if record.outcome is not Outcome.SUCCESS:
        return 0.0
    return min(1.0, free.value / max(record.duration, record.step_s))


def _stations(line: FloatArray) -> FloatArray:
    return np.concatenate([[0.0], np.cumsum(exact.norm(np.diff(line, axis=0)))])


def _points(line: FloatArray, at: FloatArray) -> FloatArray:
    """(K, 2) points of ``line`` at the arc lengths ``at``, m."""
    along = _stations(line)
    return np.stack([np.interp(at, along, line[:, k]) for k in range(2)], axis=1)


def _length_inside(line: FloatArray, rule: ExitRule, record: EpisodeRecord) -> float | None:
    """Metres that the robot drives along ``line`` until the middle of its body leaves the area; None if never."""
    polygon = record.robot.footprint.polygon
    middle = 0.0 if polygon is None else (min(x for x, _ in polygon) + max(x for x, _ in polygon)) / 2
    x0, y0, x1, y1 = rule.area
    along = _stations(line)
    for k, (p, q) in enumerate(pairwise(line)):
        shares = [
            (bound - a) / (b - a)
            for a, b, bound, way in (
                (p[0], q[0], x0, -1),
                (p[0], q[0], x1, 1),
                (p[1], q[1], y0, -1),
                (p[1], q[1], y1, 1),
            )
            if way * (b - bound) > 0.0
        ]
        if shares:
            left = float(along[k]) + max(min(shares), 0.0) * float(along[k + 1] - along[k])
            return left - middle if left > middle else None
    return None


def _bends(line: FloatArray, at: FloatArray) -> FloatArray:
    """(K,) change of direction per metre, 1/m."""
    before, here, after = (_points(line, at + shift) for shift in (-BEND_M, 0.0, BEND_M))
    a, b = here - before, after - here
    lengths = exact.norm(a) * exact.norm(b)
    sine = np.abs(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0]) / np.maximum(lengths, 1e-9)
    return np.asarray(sine / BEND_M)


def _lane_limits(points: FloatArray, roads: Roads) -> FloatArray:
    """(K,) the speed limit at each point: the highest of the lanes that it is in, or of the scene."""
    found = np.full(len(points), -np.inf)
    for lane in roads.lanes:
        line = np.array(lane.points, np.float64)
        step = np.diff(line, axis=0)
        gap = points[:, None] - line[:-1]
        share = np.clip((gap * step).sum(axis=2) / (step * step).sum(axis=1), 0.0, 1.0)
        miss = exact.norm((gap - share[:, :, None] * step).reshape(-1, 2)).reshape(share.shape).min(axis=1)
        is_in = miss <= lane.width / 2 + BESIDE_M
        found = np.where(is_in, np.maximum(found, lane.speed_limit), found)
    return np.where(np.isfinite(found), found, max(lane.speed_limit for lane in roads.lanes))


def _driven(at: FloatArray, allowed: FloatArray, start: float, up: float | None, down: float | None) -> FloatArray:
    """(K,) the highest speeds that acceleration and braking allow, from ``start`` on."""
    step, speed = np.diff(at), allowed.copy()
    up, down = up or UNLIMITED_MPS2, down or UNLIMITED_MPS2
    for k in range(len(step) - 1, -1, -1):
        speed[k] = min(speed[k], np.sqrt(speed[k + 1] * speed[k + 1] + 2.0 * down * step[k]))
    speed[0] = min(speed[0], start)
    for k in range(len(step)):
        speed[k + 1] = min(speed[k + 1], np.sqrt(speed[k] * speed[k] + 2.0 * up * step[k]))
    return speed
