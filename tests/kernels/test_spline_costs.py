"""The cost kernel against plain Python, and what is in plain sight."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from sidestep.policies.sampling.goal_field import (
    END_EVERY,
    GoalField,
    PathCosts,
    clearance_at,
    downhill,
    farthest_in_sight,
    spline_costs,
)
from sidestep.policies.sampling.splines import DriveLimits, spline_library

CELL, X0, Y0 = 0.1, -4.0, -3.0
GOAL = (3.0, 1.0)
RADIUS, GAP, MARGIN, WEIGHT, PER_SPEED, PER_TURN, REACH = 0.2, 0.05, 0.4, 4.0, 0.9, 1.4, 0.15


def grids(seed: int) -> GoalField:
    """Clearance from a few points in the way, and a bumpy distance to the goal with holes in it."""
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[:61, :81]
    x, y = X0 + CELL * x, Y0 + CELL * y
    posts = rng.uniform((-4, -3), (4, 3), (6, 2))
    clearance = np.min([np.hypot(x - px, y - py) for px, py in posts], axis=0)
    distance = np.hypot(x - GOAL[0], y - GOAL[1]) + 0.3 * np.sin(2 * x) * np.cos(y)
    distance[rng.random(distance.shape) < 0.002] = np.inf
    return GoalField(GOAL, clearance.astype(np.float32), distance.astype(np.float32), X0, Y0, CELL)


def reference(splines: Any, pose: np.ndarray, field: GoalField, hard: float) -> np.ndarray:
    """J of every trajectory, straight from the formula."""
    costs = np.full(len(splines.turn), np.inf)
    samples = splines.x.shape[1]
    for n in range(len(splines.turn)):
        penalty = 0.0
        for k in range(1, samples):
            lx, ly, c, s = splines.x[n, k], splines.y[n, k], pose[2], pose[3]
            x, y = pose[0] + c * lx - s * ly, pose[1] + s * lx + c * ly
            gap = clearance_at(field, x, y)
            if gap < hard:
                break
            penalty += (
                WEIGHT * max((MARGIN - gap + RADIUS) / MARGIN, 0.0) ** 2 * (splines.time[n, k] - splines.time[n, k - 1])
            )
            d, ux, uy = downhill(field, x, y)
            beside = math.hypot(x - GOAL[0], y - GOAL[1]) < REACH
            if math.isinf(d) or not (beside or (k >= splines.first[n] and (samples - 1 - k) % END_EVERY == 0)):
                continue
            if k < splines.first[n] and d >= REACH:
                continue
            hx, hy = c * splines.cos[n, k] - s * splines.sin[n, k], s * splines.cos[n, k] + c * splines.sin[n, k]
            turn = 0.0 if d < REACH else PER_TURN * (1 - hx * ux - hy * uy)
            costs[n] = min(costs[n], splines.time[n, k] + penalty + PER_SPEED * d + turn)
    return costs


@pytest.mark.parametrize("seed", range(4))
def test_the_cheapest_is_the_cheapest_of_the_formula(seed: int) -> None:
    splines = spline_library(DriveLimits(1.2, 1.1), 6.0, 4)
    field = grids(seed)
    pose = np.array([-2.0, 0.3 * seed, math.cos(seed), math.sin(seed)])
    hard = min(RADIUS + GAP, clearance_at(field, pose[0], pose[1]) - 1e-3)
    weights = PathCosts(RADIUS, MARGIN, WEIGHT, PER_SPEED, PER_TURN, REACH)
    costs, ends = np.empty(len(splines.turn)), np.empty(len(splines.turn), np.int32)
    best = spline_costs(splines, pose, field, hard, weights, costs, ends)
    expected = reference(splines, pose, field, hard)
    assert expected[best] == pytest.approx(expected.min(), rel=1e-5)
    assert costs[best] == pytest.approx(expected.min(), rel=1e-5)
    assert (costs >= expected - 1e-4).all()  # where the search was cut short, the cost is an upper bound


def test_everything_blocked_is_minus_one() -> None:
    splines = spline_library(DriveLimits(1.2, 1.1), 6.0, 4)
    field = grids(0)
    costs, ends = np.empty(len(splines.turn)), np.empty(len(splines.turn), np.int32)
    pose, weights = np.array([0.0, 0.0, 1.0, 0.0]), PathCosts(1.0, 1.0, 1.0, 1.0, 1.0, 1.0)
    blocked = field._replace(clearance=np.zeros_like(field.clearance))
    assert spline_costs(splines, pose, blocked, 0.25, weights, costs, ends) == -1
    assert np.isinf(costs).all()


def test_downhill_by_hand() -> None:
    plane = (2.0 - 0.1 * np.arange(11)[None, :] * np.ones((11, 1))).astype(np.float32)  # falls by 1 per metre along x
    field = GoalField((9.0, 0.5), plane, plane, 0.0, 0.0, 0.1)
    d, ux, uy = downhill(field, 0.25, 0.5)
    assert (d, ux, uy) == (pytest.approx(1.75), pytest.approx(1.0), pytest.approx(0.0, abs=1e-6))
    d, ux, uy = downhill(field._replace(goal=(9.0, 4.0)), 6.0, 0.0)  # beyond the grid: 3 and 4 m away
    assert (d, ux, uy) == (pytest.approx(5.0), pytest.approx(0.6), pytest.approx(0.8))


def test_plain_sight_ends_at_a_wall() -> None:
    _, x = np.mgrid[:41, :41]
    clearance = np.abs(0.1 * x - 2.05).astype(np.float32)  # a wall at x = 2.05 m
    points = np.array([[1.0, 1.0], [1.7, 1.0], [3.0, 1.0]])
    field = GoalField((3.0, 1.0), clearance, clearance, 0.0, 0.0, 0.1)
    assert farthest_in_sight(points, field, 0.2, 0.5, 1.0) == 1
    assert farthest_in_sight(points, field, 0.5, 0.5, 1.0) == 0
    assert farthest_in_sight(points[2:], field, 0.2, 0.5, 1.0) == -1
