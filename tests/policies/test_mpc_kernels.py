"""The planner's kernels against plain computations."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.policies.crowd_forecast import CrowdPaths
from sidestep.policies.mpc import field as rows
from sidestep.policies.mpc.field import GoalFields, ground_to
from sidestep.policies.mpc.planner import HALF_LEG_TIMES, leg_moves, make_window, search_window
from sidestep.policies.mpc.smooth import (
    INTERVALS,
    TIMES,
    Motion,
    follow,
    least_gap,
    make_motion,
    make_scratch,
    motion_cost,
    roll_out,
    shift_inputs,
    smooth,
)

N = INTERVALS


def straight(*lines: list[float]) -> CrowdPaths:
    """People on straight lines: x, y, vx, vy, radius."""
    return CrowdPaths(np.array(lines).reshape(-1, 5), np.zeros((0, len(TIMES), 2)))


def bent(path: np.ndarray, times: np.ndarray) -> CrowdPaths:
    """Somebody of 0.2 m on a path (K, 2), told as a line at 5 m/s and its bends."""
    line = np.array([[1.0, -3.0, 5.0, -5.0, 0.2]])
    return CrowdPaths(line, (path - line[0, :2] - times[:, None] * line[0, 2:4])[None])


def open_ground(goal: tuple[float, float]) -> GoalFields:
    """Clearance, distance left and its gradient on a grid about the origin."""
    cell, axis = 0.1, np.arange(-10.0, 10.01, 0.1)
    x, y = np.meshgrid(axis, axis)
    left = np.hypot(x - goal[0], y - goal[1])
    safe = np.maximum(left, 1e-9)
    return GoalFields(np.full(left.shape, 100.0), left, (x - goal[0]) / safe, (y - goal[1]) / safe, -10.0, -10.0, cell)


def weights(goal: tuple[float, float]) -> np.ndarray:
    w = np.ones(rows.WEIGHT_ROWS)
    w[[rows.W_JERK, rows.W_TOUCH, rows.W_HARD, rows.MAX_SPEED]] = 0.01, 0.0, 200.0, 1.2
    w[[rows.ROBOT_RADIUS, rows.HARD_GAP, rows.SOFT_GAP, rows.GROWTH, rows.SLOW_M]] = 0.2, 0.2, 0.5, 0.1, 0.3
    w[[rows.GOAL_X, rows.GOAL_Y]] = goal
    return w


def test_roll_out_integrates_jerk_exactly() -> None:
    motion = make_motion()
    motion.states[0] = [1.0, 2.0, 0.3, -0.4, 0.1, 0.2]
    motion.inputs[:] = [0.5, -0.25]
    roll_out(motion)
    t = TIMES[:, None]
    p0, v0, a0, u = np.array([1.0, 2.0]), np.array([0.3, -0.4]), np.array([0.1, 0.2]), np.array([0.5, -0.25])
    np.testing.assert_allclose(motion.states[:, :2], p0 + v0 * t + a0 * t**2 / 2 + u * t**3 / 6, atol=1e-12)
    np.testing.assert_allclose(motion.states[:, 2:4], v0 + a0 * t + u * t**2 / 2, atol=1e-12)


def test_follow_is_the_least_squares_optimum() -> None:
    """Against the normal equations of the same problem, with numpy."""
    targets = np.stack([np.minimum(TIMES, 3.0), 0.3 * np.sin(TIMES)], axis=1)
    motion = make_motion()
    motion.states[0] = [0.1, 0.0, 0.5, 0.0, 0.0, 0.0]
    follow(motion, targets, 5.0, 0.02, 0.1, make_scratch())
    response = np.zeros((2, N, N))  # place and acceleration at knots 1 … N per unit jerk in an interval
    for k in range(N):
        probe = make_motion()
        probe.inputs[k, 0] = 1.0
        roll_out(probe)
        response[0, :, k], response[1, :, k] = probe.states[1:, 0], probe.states[1:, 4]
    h = np.diff(TIMES)
    place, acceleration = response
    matrix = (
        place.T @ (5.0 * h[:, None] * place) + acceleration.T @ (0.1 * h[:, None] * acceleration) + np.diag(0.02 * h)
    )
    for c, free in ((0, 0.1 + 0.5 * TIMES[1:]), (1, 0.0 * TIMES[1:])):
        expected = np.linalg.solve(matrix, place.T @ (5.0 * h * (targets[1:, c] - free)))
        np.testing.assert_allclose(motion.inputs[:, c], expected, atol=1e-7)


def test_smooth_never_makes_a_motion_dearer_and_reaches_a_minimum() -> None:
    goal = (4.0, 0.0)
    ground, w = open_ground(goal), weights(goal)
    people = straight([2.0, 0.1, -0.5, 0.0, 0.2], [1.0, -1.5, 0.0, 0.6, 0.2])
    motion = make_motion()
    roll_out(motion)

    def cost(m: Motion) -> float:
        return float(motion_cost(m, people, ground, w, make_scratch()))

    before = cost(motion)
    last = before
    for _ in range(30):
        now = smooth(motion, people, ground, w, 1, make_scratch())
        assert now <= last + 1e-12
        assert now == pytest.approx(cost(motion))
        last = now
    assert last < 0.6 * before
    generator = np.random.default_rng(0)
    for _ in range(20):
        near = make_motion()
        near.states[0], near.inputs[:] = motion.states[0], motion.inputs + 0.05 * generator.normal(size=(N, 2))
        roll_out(near)
        assert cost(near) > last - 0.02


def test_shift_keeps_the_input_at_its_time() -> None:
    inputs = np.stack([TIMES[:-1], -TIMES[:-1]], axis=1)
    shifted = np.empty_like(inputs)
    shift_inputs(inputs, 0.0, shifted)
    np.testing.assert_allclose(shifted, inputs, atol=1e-12)
    shift_inputs(inputs, 0.05, shifted)
    assert shifted[0, 0] == pytest.approx(0.5 * (inputs[0, 0] + inputs[1, 0]))


def test_least_gap_sees_between_the_knots() -> None:
    """Somebody passes at 40 m/s between two knots, through the robot."""
    motion = make_motion()
    assert least_gap(motion, 1.0, straight([-2.0, 0.0, 40.0, 0.0, 0.2]), 0.2) == pytest.approx(-0.4)
    assert least_gap(motion, 1.0, straight(), 0.2) > 1e6


def test_a_bent_path_is_where_its_points_are() -> None:
    """The same path, told once as a straight line and once as another line with bends, costs the same everywhere."""
    goal = (4.0, 0.0)
    ground, w = open_ground(goal), weights(goal)
    motion = make_motion()
    motion.states[0, 2] = 1.0
    roll_out(motion)

    def on_line(times: np.ndarray) -> np.ndarray:
        return np.array([3.0, 0.2]) + times[:, None] * [-0.6, 0.1]

    plain, other = straight([3.0, 0.2, -0.6, 0.1, 0.2]), bent(on_line(TIMES), TIMES)
    costs = [motion_cost(motion, people, ground, w, make_scratch()) for people in (plain, other)]
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)
    assert costs[0] > motion_cost(motion, straight(), ground, w, make_scratch()) + 1.0
    gaps = [least_gap(motion, 3.0, people, 0.2) for people in (plain, other)]
    assert gaps[0] == pytest.approx(gaps[1], abs=1e-9)
    windows = []
    for people in (plain, bent(on_line(HALF_LEG_TIMES), HALF_LEG_TIMES)):
        window = make_window(1.2)
        search_window(window, motion.states[0], people, ground, w, 1e6)
        windows.append(window.crowd)
    assert windows[0].max() > 1.0
    np.testing.assert_allclose(windows[0], windows[1], atol=1e-9)


def test_distance_left_is_straight_in_the_open_and_goes_round_a_wall() -> None:
    axis = np.arange(0.0, 6.01, 0.1)
    x, y = np.meshgrid(axis, axis)
    room = np.hypot(np.maximum(np.abs(x - 3.0) - 0.1, 0.0), np.maximum(y - 4.0, 0.0))  # a wall up to (3, 4)
    to_go = ground_to((5.0, 2.0), room, (0.0, 0.0), 0.1, 0.2, 0.1, 0.3).to_go
    assert to_go[10, 50] == pytest.approx(1.0, abs=1e-9)
    shortest = 2 * np.hypot(2.0, 2.2)  # over a corner 0.2 m above the wall's end
    assert shortest < to_go[20, 10] < 1.12 * shortest


def test_legs_are_all_within_reach_and_go_through_their_middle() -> None:
    moves = leg_moves(3.21)
    assert len(moves) == 37
    assert (np.hypot(moves[:, 0], moves[:, 1]) <= 3.21).all()
    assert (np.abs(moves[:, :2] / 2 - moves[:, 2:]) <= 0.5).all()
    assert moves[0, 0] == 3
