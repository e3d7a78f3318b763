"""The compiled optimiser: costs by hand, derivatives against finite differences, limits and optimality."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.policies.crowd_forecast import CrowdPaths
from sidestep.policies.ilqr.controller import (
    INTERVALS,
    TIMES,
    Limits,
    Plan,
    Problem,
    Reference,
    Weights,
    begin_again,
    find_feedback,
    head_for,
    improve,
    make_plan,
    make_reference,
    make_scratch,
    plan_cost,
    roll_out,
    state_cost,
)
from sidestep.policies.ilqr.reference import fill_reference
from sidestep.policies.mpc.field import GoalFields

LIMITS = Limits(1.2, 1.0, 1.5, 3.0, 5.0)
WIDE = Limits(1e6, 1e6, 1e9, 1e9, 1e9)
NOTHING = Weights(0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1e9, 0.0, 0.0, 0.2)
ALL = Weights(1.0, 0.7, 0.3, 0.02, 0.05, 0.01, 30.0, 0.1, 8.0, 0.5, 0.1, 2.0, 4.0, 40.0, 0.3, 0.2)


def ground(slope: float = 0.0, level: float = 100.0) -> GoalFields:
    """Open ground with the goal at (8, 0); the clearance is ``level`` + ``slope`` · y."""
    axis = np.arange(-10.0, 10.01, 0.1)
    x, y = np.meshgrid(axis, axis)
    left = np.maximum(np.hypot(x - 8.0, y), 1e-9)
    return GoalFields(level + slope * y, left, (x - 8.0) / left, y / left, -10.0, -10.0, 0.1)


def people(*lines: list[float]) -> CrowdPaths:
    return CrowdPaths(np.array(lines, float).reshape(-1, 5), np.zeros((0, len(TIMES), 2)))


def straight_reference(speed: float = 1.0) -> Reference:
    """Along x from the origin."""
    reference = make_reference()
    reference.points[:, 0] = speed * TIMES
    reference.directions[:, 0] = 1.0
    return reference


def make_problem(weights: Weights = ALL, crowd: CrowdPaths | None = None, **changes: Any) -> Problem:
    values = {"ground": ground(), "reference": straight_reference(), "limits": WIDE, **changes}
    return Problem(people() if crowd is None else crowd, weights=weights, **values)


def some_plan(seed: int = 0, limits: Limits = LIMITS) -> Plan:
    rng, plan = np.random.default_rng(seed), make_plan()
    plan.states[0] = [0.0, 0.1, 0.2, 0.5, 0.1]
    plan.controls[:] = np.stack([rng.uniform(0.3, 1.0, INTERVALS), rng.uniform(-0.5, 0.5, INTERVALS)], axis=1)
    roll_out(plan, limits)
    return plan


def cost_rate(x: list[float], knot: int, problem: Problem) -> float:
    return float(state_cost(np.array(x), knot, problem, np.zeros(5), np.zeros((5, 5)), False))


def test_the_distance_to_the_reference_costs_a_pseudo_huber_loss() -> None:
    problem = make_problem(NOTHING._replace(track=2.0, track_m=3.0))
    # knot 10 is at 1 s: the reference is at (1, 0), the state 4 m beside it; 2 · 9 · (sqrt(1 + 16 / 9) - 1) = 12
    assert cost_rate([1.0, 4.0, 0.0, 0.0, 0.0], 10, problem) == pytest.approx(12.0)


def test_the_heading_costs_one_minus_its_cosine() -> None:
    problem = make_problem(NOTHING._replace(heading=3.0))
    assert cost_rate([1.0, 0.0, math.pi / 3, 0.0, 0.0], 10, problem) == pytest.approx(1.5)
    problem.reference.directions[:] = 0.0  # a reference that stands has no direction
    assert cost_rate([1.0, 0.0, math.pi / 3, 0.0, 0.0], 10, problem) == 0.0


def test_a_person_costs_by_the_gap_at_that_time() -> None:
    weights = NOTHING._replace(touch=100.0, touch_gap=0.1, comfort=10.0, comfort_gap=0.4, growth=0.1, growth_s=0.5)
    problem = make_problem(weights, people([3.0, 0.0, -1.0, 0.0, 0.3]))
    # after 1 s the person is at (2, 0); bodies 0.5 m; at (1.45, 0) the gap is 0.05, comfort reaches to 0.45
    assert cost_rate([1.45, 0.0, 0.0, 0.0, 0.0], 10, problem) == pytest.approx(100 * 0.05**2 + 10 * 0.4**2)
    assert cost_rate([1.04, 0.0, 0.0, 0.0, 0.0], 10, problem) == 0.0
    fading = make_problem(weights._replace(fade_s=1.0), problem.people)
    assert cost_rate([1.45, 0.0, 0.0, 0.0, 0.0], 10, fading) == pytest.approx((100 * 0.05**2 + 10 * 0.4**2) / 2)


def test_a_bend_moves_the_person() -> None:
    weights = NOTHING._replace(touch=100.0, touch_gap=0.1)
    bends = np.zeros((1, len(TIMES), 2))
    bends[0, 10] = [0.0, 5.0]
    crowd = CrowdPaths(np.array([[3.0, 0.0, -1.0, 0.0, 0.3]]), bends)
    assert cost_rate([2.0, 0.0, 0.0, 0.0, 0.0], 10, make_problem(weights, crowd)) == 0.0
    assert cost_rate([2.0, 4.6, 0.0, 0.0, 0.0], 10, make_problem(weights, crowd)) == pytest.approx(100 * 0.2**2)


def test_a_wall_costs_by_the_gap_of_the_body() -> None:
    problem = make_problem(NOTHING._replace(wall=50.0, wall_gap=0.3), ground=ground(slope=1.0, level=0.0))
    # clearance 0.4 m, body 0.2 m: the gap is 0.2 m, 0.1 m short
    assert cost_rate([0.0, 0.4, 0.0, 0.0, 0.0], 3, problem) == pytest.approx(50 * 0.1**2)
    assert cost_rate([0.0, 0.6, 0.0, 0.0, 0.0], 3, problem) == 0.0


def test_controls_cost_turning_and_their_changes() -> None:
    weights = NOTHING._replace(turn=2.0, acceleration=3.0, turn_acceleration=5.0)
    plan = make_plan()
    plan.controls[:] = [0.6, 0.4]
    roll_out(plan, WIDE)
    # turning: 2 · 0.4² during 4 s; from rest in the first 0.1 s: (3 · 0.6² + 5 · 0.4²) / 0.1
    expected = 2 * 0.16 * 4.0 + (3 * 0.36 + 5 * 0.16) / 0.1
    assert plan_cost(plan, make_problem(weights), make_scratch()) == pytest.approx(expected)


def test_a_circle_comes_back() -> None:
    plan = make_plan()
    plan.controls[:] = [0.5, 2 * math.pi / 4.0]
    roll_out(plan, WIDE)
    np.testing.assert_allclose(plan.states[-1, 2], 2 * math.pi)
    assert np.hypot(*plan.states[-1, :2]) < 0.02  # chords of different lengths do not close exactly


@given(
    st.floats(-1.5, 1.5), st.floats(-1.5, 1.5), st.floats(-3.0, 3.0), st.integers(1, INTERVALS), st.floats(-0.5, 1.5)
)
@settings(max_examples=60, deadline=None)
def test_the_gradient_of_the_state_cost_is_that_of_finite_differences(
    x: float, y: float, theta: float, knot: int, person: float
) -> None:
    crowd = people([person, 0.4, -0.3, 0.1, 0.3], [0.5, -person, 0.0, 0.2, 0.25])
    problem = make_problem(ALL, crowd, ground=ground(slope=0.5, level=0.6))
    state, grad, hess = np.array([x, y, theta, 0.5, 0.1]), np.zeros(5), np.zeros((5, 5))
    state_cost(state, knot, problem, grad, hess, True)
    step = 1e-6
    for r in range(5):
        low, high = state.copy(), state.copy()
        low[r], high[r] = low[r] - step, high[r] + step
        slope = (cost_rate(high.tolist(), knot, problem) - cost_rate(low.tolist(), knot, problem)) / (2 * step)
        assert grad[r] == pytest.approx(slope, abs=2e-3)  # hinges have a kink in the second derivative
    assert np.linalg.eigvalsh(hess).min() > -1e-9
    np.testing.assert_allclose(hess, hess.T)


def settled_plan(problem: Problem) -> Plan:
    """A plan that the optimiser does not change any more."""
    plan, scratch = some_plan(limits=WIDE), make_scratch()
    for _ in range(20):
        improve(plan, problem, 20, scratch)
    return plan


def changed_cost(plan: Plan, problem: Problem, start: np.ndarray, controls: np.ndarray) -> float:
    """Cost of the plan with another first state and other controls."""
    other = Plan(plan.states.copy(), controls.copy())
    other.states[0] = start
    roll_out(other, WIDE)
    return float(plan_cost(other, problem, make_scratch()))


def test_the_gradient_of_the_value_is_that_of_finite_differences() -> None:
    """At the optimum the value changes with the first state as the cost does with controls that stay."""
    problem = make_problem(ALL, people([2.5, 0.3, -0.3, 0.0, 0.3]))
    plan, scratch = settled_plan(problem), make_scratch()
    find_feedback(plan, problem, scratch)
    for r in range(5):
        step = 1e-5 * np.eye(5)[r]
        high, low = (changed_cost(plan, problem, plan.states[0] + sign * step, plan.controls) for sign in (1.0, -1.0))
        assert scratch.grad[r] == pytest.approx((high - low) / 2e-5, rel=0.01, abs=0.005)
    assert np.abs(scratch.grad[:3]).min() > 0.01  # there is something to compare


def test_the_optimum_has_no_slope() -> None:
    """The cost does not change with any control where the optimiser ends, if no limit is met."""
    problem = make_problem(ALL, people([2.5, 0.3, -0.3, 0.0, 0.3]))
    plan = settled_plan(problem)
    assert plan.controls[:, 0].min() > 0.0
    steepest = 0.0
    for k in range(INTERVALS):
        for c in range(2):
            step = np.zeros_like(plan.controls)
            step[k, c] = 1e-5
            high, low = (changed_cost(plan, problem, plan.states[0], plan.controls + q * step) for q in (1.0, -1.0))
            steepest = max(steepest, abs(high - low) / 2e-5)
    assert steepest < 0.1


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_controls_stay_in_the_box_and_the_cost_never_rises(seed: int) -> None:
    rng = np.random.default_rng(seed)
    crowd = people(*np.column_stack([rng.uniform(-1, 5, (4, 2)), rng.normal(0, 1, (4, 2)), np.full(4, 0.3)]).tolist())
    problem = make_problem(ALL, crowd, limits=LIMITS)
    plan = some_plan(seed)
    scratch = make_scratch()
    before = plan_cost(plan, problem, scratch)
    after = improve(plan, problem, 8, scratch)
    assert after <= before
    assert after == pytest.approx(plan_cost(plan, problem, scratch))
    v, omega = plan.controls.T
    h = np.diff(TIMES)
    assert v.min() >= 0.0
    assert v.max() <= LIMITS.speed
    assert np.abs(omega).max() <= LIMITS.turn
    dv, domega = np.diff(v, prepend=0.5) / h, np.diff(omega, prepend=0.1) / h
    assert dv.max() <= LIMITS.acceleration + 1e-9
    assert dv.min() >= -LIMITS.deceleration - 1e-9
    assert np.abs(domega).max() <= LIMITS.turn_acceleration + 1e-9


def test_a_plan_goes_on_where_it_was() -> None:
    plan, scratch = some_plan(), make_scratch()
    controls, state = plan.controls.copy(), plan.states[1].copy()
    begin_again(plan, 0.1, state, LIMITS, scratch)
    np.testing.assert_allclose(plan.controls[:9], controls[1:10])
    np.testing.assert_allclose(plan.controls[-1], controls[-1])


def test_the_first_guess_passes_on_the_side_it_was_told() -> None:
    for aside in (-0.9, 0.9):
        plan = make_plan()
        head_for(plan, np.zeros(5), straight_reference(), aside, LIMITS)
        assert aside * plan.states[-1, 1] > 0.4


def test_the_reference_passes_its_waypoints_and_stops_at_the_goal() -> None:
    reference, waypoints = make_reference(), np.array([[0.5, 0.5], [1.0, 0.5]])
    fill_reference(reference, ground(), 2.0, 0.5, 0.0, 0.0, 1.0, waypoints, np.array([1.0, 2.0]))
    np.testing.assert_allclose(reference.points[10], [0.5, 0.5])
    np.testing.assert_allclose(reference.points[5], [0.25, 0.25])
    np.testing.assert_allclose(reference.points[15], [1.0, 0.5])
    np.testing.assert_allclose(reference.directions[5], [math.sqrt(0.5)] * 2)


def test_the_reference_without_waypoints_goes_down_the_field_at_its_speed() -> None:
    reference = make_reference()
    fill_reference(reference, ground(), 8.0, 0.0, 6.0, 0.0, 1.0, np.zeros((0, 2)), np.zeros(0))
    np.testing.assert_allclose(reference.points[10], [7.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(reference.points[-1], [8.0, 0.0])
    np.testing.assert_allclose(reference.directions[-1], [0.0, 0.0])
