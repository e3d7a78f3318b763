"""The planner's kernels against plain computations."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.policies.mpc import field as rows
from sidestep.policies.mpc.field import distance_to_go, fill_slowness
from sidestep.policies.mpc.planner import TIMES, Motion, leg_moves
from sidestep.policies.mpc.smooth import follow, least_gap, motion_cost, roll_out, shift_inputs, smooth

N = len(TIMES) - 1


def scratch() -> tuple[np.ndarray, ...]:
    return np.zeros((N, 2, 6)), np.zeros((N, 2)), np.zeros(6), np.zeros((6, 6)), np.zeros((2, 6))


def open_ground(goal: tuple[float, float]) -> tuple[np.ndarray | float, ...]:
    """Room, way left and its gradient on a grid about the origin."""
    cell, axis = 0.1, np.arange(-10.0, 10.01, 0.1)
    x, y = np.meshgrid(axis, axis)
    way = np.hypot(x - goal[0], y - goal[1])
    safe = np.maximum(way, 1e-9)
    return np.full(way.shape, 100.0), way, (x - goal[0]) / safe, (y - goal[1]) / safe, -10.0, -10.0, cell


def weights(goal: tuple[float, float]) -> np.ndarray:
    w = np.ones(rows.WEIGHT_ROWS)
    w[[rows.W_JERK, rows.W_TOUCH, rows.W_HARD, rows.MAX_SPEED]] = 0.01, 0.0, 200.0, 1.2
    w[[rows.ROBOT_RADIUS, rows.HARD_GAP, rows.SOFT_GAP, rows.GROWTH, rows.SLOW_M]] = 0.2, 0.2, 0.5, 0.1, 0.3
    w[[rows.GOAL_X, rows.GOAL_Y]] = goal
    return w


def test_roll_out_integrates_jerk_exactly() -> None:
    motion = Motion()
    motion.states[0] = [1.0, 2.0, 0.3, -0.4, 0.1, 0.2]
    motion.inputs[:] = [0.5, -0.25]
    roll_out(motion.states, motion.inputs, TIMES)
    t = TIMES[:, None]
    p0, v0, a0, u = np.array([1.0, 2.0]), np.array([0.3, -0.4]), np.array([0.1, 0.2]), np.array([0.5, -0.25])
    np.testing.assert_allclose(motion.states[:, :2], p0 + v0 * t + a0 * t**2 / 2 + u * t**3 / 6, atol=1e-12)
    np.testing.assert_allclose(motion.states[:, 2:4], v0 + a0 * t + u * t**2 / 2, atol=1e-12)


def test_follow_is_the_least_squares_optimum() -> None:
    """Against the normal equations of the same problem, with numpy."""
    targets = np.stack([np.minimum(TIMES, 3.0), 0.3 * np.sin(TIMES)], axis=1)
    motion = Motion()
    motion.states[0] = [0.1, 0.0, 0.5, 0.0, 0.0, 0.0]
    follow(motion.states, motion.inputs, TIMES, targets, 5.0, 0.02, 0.1, *scratch())
    response = np.zeros((2, N, N))  # place and acceleration at knots 1 … N per unit jerk in an interval
    for k in range(N):
        probe = Motion()
        probe.inputs[k, 0] = 1.0
        roll_out(probe.states, probe.inputs, TIMES)
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
    people = np.array([[2.0, 0.1, -0.5, 0.0, 0.2], [1.0, -1.5, 0.0, 0.6, 0.2]])
    motion, trial = Motion(), Motion()
    roll_out(motion.states, motion.inputs, TIMES)

    def cost(m: Motion) -> float:
        return float(motion_cost(m.states, m.inputs, TIMES, people, 2, *ground, w, np.zeros(6), np.zeros((6, 6))))

    before = cost(motion)
    last = before
    for _ in range(30):
        now = smooth(
            motion.states, motion.inputs, TIMES, people, 2, *ground, w, 1, *scratch(), trial.states, trial.inputs
        )
        assert now <= last + 1e-12
        assert now == pytest.approx(cost(motion))
        last = now
    assert last < 0.6 * before
    generator = np.random.default_rng(0)
    for _ in range(20):
        near = Motion()
        near.states[0], near.inputs[:] = motion.states[0], motion.inputs + 0.05 * generator.normal(size=(N, 2))
        roll_out(near.states, near.inputs, TIMES)
        assert cost(near) > last - 0.02


def test_shift_keeps_the_input_at_its_time() -> None:
    inputs = np.stack([TIMES[:-1], -TIMES[:-1]], axis=1)
    shifted = np.empty_like(inputs)
    shift_inputs(inputs, TIMES, 0.0, shifted)
    np.testing.assert_allclose(shifted, inputs, atol=1e-12)
    shift_inputs(inputs, TIMES, 0.05, shifted)
    assert shifted[0, 0] == pytest.approx(0.5 * (inputs[0, 0] + inputs[1, 0]))


def test_least_gap_sees_between_the_knots() -> None:
    """Somebody passes at 40 m/s between two knots, through the robot."""
    motion = Motion()
    people = np.array([[-2.0, 0.0, 40.0, 0.0, 0.2]])
    assert least_gap(motion.states, TIMES, 1.0, people, 1, 0.2) == pytest.approx(-0.4)
    assert least_gap(motion.states, TIMES, 1.0, people[:0], 0, 0.2) > 1e6


def test_way_left_is_straight_in_the_open_and_goes_round_a_wall() -> None:
    axis = np.arange(0.0, 6.01, 0.1)
    x, y = np.meshgrid(axis, axis)
    room = np.hypot(np.maximum(np.abs(x - 3.0) - 0.1, 0.0), np.maximum(y - 4.0, 0.0))  # a wall up to (3, 4)
    slowness, way, seen = np.empty_like(room), np.empty_like(room), np.empty(room.shape, np.uint8)
    fill_slowness(room, 0.2, 0.1, slowness)
    distance_to_go(room, slowness, 0.0, 0.0, 0.1, 5.0, 2.0, 0.3, way, seen)
    assert way[10, 50] == pytest.approx(1.0, abs=1e-9)
    shortest = 2 * np.hypot(2.0, 2.2)  # over a corner 0.2 m above the wall's end
    assert shortest < way[20, 10] < 1.12 * shortest


def test_legs_are_all_within_reach_and_go_through_their_middle() -> None:
    moves = leg_moves(3.21)
    assert len(moves) == 37
    assert (np.hypot(moves[:, 0], moves[:, 1]) <= 3.21).all()
    assert (np.abs(moves[:, :2] / 2 - moves[:, 2:]) <= 0.5).all()
    assert moves[0, 0] == 3
