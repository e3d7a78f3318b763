"""The dynamic window: velocities that the robot can reach within one decision and from which it can still stop, and
what speaks for each of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from sidestep.kernels.approx import atan2_64, sincos64, wrap_angle
from sidestep.kernels.jit import inlined, kernel
from sidestep.policies.dynamic_window.seen_map import SeenMap
from sidestep.policies.grid import bilinear
from sidestep.types.base import FloatArray

SLICE_S = 0.1  # time between two points of a predicted path
AIM_M = 1.5  # how far along the descent of the distance to the goal the robot aims


class Weights(NamedTuple):
    """What counts how much; every term is between 0 and 1."""

    progress: float  # of the distance to the goal over the horizon, at top speed
    heading: float  # towards the point to aim at
    clearance: float  # up to ``room``
    speed: float
    contact: float  # against meeting something, the more the sooner


class Body(NamedTuple):
    """What the robot is, and how it predicts."""

    radius: float  # m
    top_speed: float  # m/s
    braking: float  # m/s²
    reaction: float  # s until the next decision
    horizon: float  # s
    gap: float  # m that a path must keep from what the lidar sees
    room: float  # m: more clearance does not count


@kernel
def aim(seen: SeenMap, x: float, y: float, goal_x: float, goal_y: float) -> tuple[float, float]:
    """The point ``AIM_M`` down the descent of the distance to the goal from (x, y), or the goal if it is nearer."""
    side, cell = seen.to_go.shape[0], seen.cell
    if (goal_x - x) ** 2 + (goal_y - y) ** 2 < AIM_M * AIM_M:
        if bilinear(seen.slowness, seen, goal_x, goal_y) < 2.0:
            return goal_x, goal_y
    i = min(max(int((y - seen.y0) / cell + 0.5), 1), side - 2)
    j = min(max(int((x - seen.x0) / cell + 0.5), 1), side - 2)
    for _ in range(int(AIM_M / cell)):
        best, bi, bj = seen.to_go[i, j], i, j
        for a in range(max(i - 1, 0), min(i + 2, side)):
            for b in range(max(j - 1, 0), min(j + 2, side)):
                if seen.to_go[a, b] < best:
                    best, bi, bj = seen.to_go[a, b], a, b
        if bi == i and bj == j:
            break
        i, j = bi, bj
    return seen.x0 + j * cell, seen.y0 + i * cell


@inlined
def _nearest2(points: FloatArray, count: int, t: float, x: float, y: float) -> float:
    """Squared distance from (x, y) at time ``t`` to the nearest of the points (x, y, vx, vy), m²."""
    least = math.inf
    for k in range(count):
        dx, dy = points[k, 0] + t * points[k, 2] - x, points[k, 1] + t * points[k, 3] - y
        least = min(least, dx * dx + dy * dy)
    return least


@kernel
def choose(
    seen: SeenMap, weights: Weights, body: Body, pose: FloatArray, target: FloatArray, candidates: FloatArray,
    points: FloatArray, count: int,
) -> int:  # fmt: skip
    """The number of the best of ``candidates (C, 3)``: vx and vy in the robot's frame, m/s, and turn rate, rad/s.

    ``pose`` is x, y, heading, and the distance to the goal; ``points (N, 4)``, of which ``count`` count, are what the
    lidar sees and how it moves, in the world; ``target`` (2,) is the point to aim at. A path ends where it has covered
    the distance to the goal. A velocity from which the robot cannot stop before it meets something comes last.
    """
    best, best_score = 0, -math.inf
    here = bilinear(seen.to_go, seen, pose[0], pose[1])
    close = body.radius + body.gap
    start = math.sqrt(_nearest2(points, count, 0.0, pose[0], pose[1]))
    for c in range(len(candidates)):
        vx, vy, omega = candidates[c, 0], candidates[c, 1], candidates[c, 2]
        speed = math.sqrt(vx * vx + vy * vy)
        x, y, heading, t, least, last = pose[0], pose[1], pose[2], 0.0, start, start
        progress, touched = 0.0, False
        end = min(body.horizon, max(pose[3] / speed, SLICE_S)) if speed > 0.0 else body.horizon
        while t < end - 1e-9 and not touched:
            sine, cosine = sincos64(heading + 0.5 * omega * SLICE_S)
            x += (cosine * vx - sine * vy) * SLICE_S
            y += (sine * vx + cosine * vy) * SLICE_S
            heading += omega * SLICE_S
            t += SLICE_S
            away = math.sqrt(_nearest2(points, count, t, x, y))
            touched = away < close and away < last  # it may leave what it is too close to
            least, last = min(least, away), away
            if not touched:
                progress = here - bilinear(seen.to_go, seen, x, y)
        sine, cosine = sincos64(pose[2] + omega * body.reaction)
        dx, dy = target[0] - pose[0], target[1] - pose[1]
        ahead, left = (vx, vy) if speed > 0.0 else (1.0, 0.0)
        off = wrap_angle(atan2_64(dy, dx) - atan2_64(sine * ahead + cosine * left, cosine * ahead - sine * left))
        score = weights.progress * progress / (body.top_speed * body.horizon)
        score += weights.heading * (1.0 - abs(off) / math.pi)
        score += weights.clearance * min(max(least - body.radius, 0.0), body.room) / body.room
        score += weights.speed * speed / body.top_speed
        if touched:
            score -= weights.contact * (1.0 - t / (body.horizon + SLICE_S))
            score -= weights.contact if speed > 0.0 and t <= body.reaction + speed / body.braking else 0.0
        if score > best_score:
            best, best_score = c, score
    return best
