"""The dynamics kernel against a plain Python integration, and what must hold for any command."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sidestep.kernels import dynamics as k
from sidestep.types.record import LIMIT_NAMES

DT = 0.05
FINITE = st.floats(allow_nan=False, allow_infinity=False)
COMMAND = st.floats(-6.0, 6.0)
DYNAMICS = st.sampled_from([k.HOLONOMIC, k.UNICYCLE, k.BICYCLE])
LIMITS = {
    "max_speed": 1.5,
    "min_speed": -0.5,
    "max_turn_rate": 1.1,
    "max_acceleration": 1.0,
    "max_deceleration": 2.0,
    "max_turn_acceleration": 3.0,
    "max_steer": 0.6,
    "max_steer_rate": 0.8,
    "wheelbase": 1.2,
}
ORDER = list(LIMITS)


def limits(**given):
    """A row of limits; what is not given is infinite, and the minimum speed is as far below zero."""
    row = np.full(k.LIMIT_ROWS, np.inf)
    row[k.LIMIT_MIN_SPEED] = -np.inf
    for name, value in given.items():
        row[ORDER.index(name)] = value
    return row


def state(x=0.0, y=0.0, heading=0.0, v=0.0, omega=0.0, steer=0.0):
    return np.array([x, y, heading, v * math.cos(heading), v * math.sin(heading), omega, v, steer])


def advance(kind, robot, a, b, row, dt=DT):
    """(new state, applied, bits), the old state untouched."""
    new, applied = robot.copy(), np.zeros(2)
    bits = k.advance_robot(kind, new, a, b, row, dt, applied)
    return new, applied, bits


def integrate(heading, v, omega, duration, steps=20000):
    """Midpoint rule on x' = v cos θ, y' = v sin θ, θ' = ω from the origin."""
    x = y = 0.0
    h = duration / steps
    for i in range(steps):
        middle = heading + omega * h * (i + 0.5)
        x += v * h * math.cos(middle)
        y += v * h * math.sin(middle)
    return x, y, heading + omega * duration


def names_of(prefix):
    """Name in small letters → value of the kernel's constants that begin with ``prefix``."""
    return {name.removeprefix(prefix).lower(): value for name, value in vars(k).items() if name.startswith(prefix)}


def test_rows_and_bits_agree_with_the_record():
    rows = names_of("LIMIT_")
    assert rows.pop("rows") == len(rows)
    assert sorted(rows, key=rows.__getitem__) == ORDER
    assert {value: name for name, value in names_of("LIMITED_").items()} == LIMIT_NAMES


@pytest.mark.parametrize("omega", [0.0, 1e-12, -1e-7, 0.01, 0.39, -0.41, 1.1, -40.0])
@pytest.mark.parametrize("v", [1.2, -0.4])
def test_unicycle_drives_the_exact_arc(v, omega):
    new, applied, bits = advance(k.UNICYCLE, state(heading=0.7), v, omega, limits())
    x, y, heading = integrate(0.7, v, omega, DT)
    assert new[:2] == pytest.approx([x, y], abs=1e-9)
    assert math.remainder(new[k.ROBOT_HEADING] - heading, 2 * math.pi) == pytest.approx(0.0, abs=1e-12)
    assert new[k.ROBOT_VX] == pytest.approx(v * math.cos(heading), abs=1e-12)
    assert new[k.ROBOT_VY] == pytest.approx(v * math.sin(heading), abs=1e-12)
    assert (new[k.ROBOT_V], new[k.ROBOT_OMEGA], bits) == (v, omega, 0)
    assert applied.tolist() == [v, omega]


@pytest.mark.parametrize("steer", [0.0, 1e-9, 0.3, -0.55])
def test_bicycle_drives_the_arc_of_its_wheelbase(steer):
    new, applied, bits = advance(k.BICYCLE, state(heading=-1.0), 8.0, steer, limits(max_steer=0.6, wheelbase=2.4))
    omega = 8.0 * math.tan(steer) / 2.4
    x, y, heading = integrate(-1.0, 8.0, omega, DT)
    assert new[:3] == pytest.approx([x, y, heading], abs=1e-9)
    assert new[k.ROBOT_OMEGA] == pytest.approx(omega, rel=1e-14)
    assert (new[k.ROBOT_STEER], bits) == (steer, 0)
    assert applied.tolist() == [8.0, steer]


def test_series_and_quotient_meet_without_a_jump():
    edge = 2 * k.SERIES_ANGLE / DT
    below = advance(k.UNICYCLE, state(), 1.0, edge * (1 - 1e-13), limits())[0]
    above = advance(k.UNICYCLE, state(), 1.0, edge * (1 + 1e-13), limits())[0]
    assert below == pytest.approx(above, rel=1e-11, abs=1e-13)


def test_a_full_circle_of_small_steps_closes():
    robot = state()
    for _ in range(1000):
        robot = advance(k.UNICYCLE, robot, 1.0, 2 * math.pi / (1000 * DT), limits())[0]
    assert robot[:3] == pytest.approx([0.0, 0.0, 0.0], abs=1e-10)


def test_holonomic_goes_straight_and_faces_its_motion():
    new, applied, bits = advance(k.HOLONOMIC, state(heading=3.0), -0.3, -0.4, limits(max_speed=1.0))
    assert new[:2] == pytest.approx([-0.015, -0.02])
    assert new[k.ROBOT_HEADING] == pytest.approx(math.atan2(-0.4, -0.3))
    turned = math.remainder(math.atan2(-0.4, -0.3) - 3.0, 2 * math.pi)
    assert new[k.ROBOT_OMEGA] == pytest.approx(turned / DT)
    assert new[k.ROBOT_V] == pytest.approx(0.5)
    assert (applied.tolist(), bits) == ([-0.3, -0.4], 0)


def test_holonomic_heading_stays_when_it_hardly_moves_and_lags_under_a_turn_rate():
    still = advance(k.HOLONOMIC, state(heading=1.0), 0.0, -0.009, limits())[0]
    assert (still[k.ROBOT_HEADING], still[k.ROBOT_OMEGA]) == (1.0, 0.0)
    lag, _, bits = advance(k.HOLONOMIC, state(), 0.0, 1.0, limits(max_turn_rate=2.0))
    assert lag[k.ROBOT_HEADING] == pytest.approx(0.1)
    assert lag[k.ROBOT_V] == pytest.approx(math.sin(0.1))
    assert lag[:2] == pytest.approx([0.0, DT])  # the motion is as commanded
    assert bits == k.LIMITED_TURN_RATE


def test_holonomic_speed_is_cut_in_its_direction():
    _, applied, bits = advance(k.HOLONOMIC, state(), 3.0, 4.0, limits(max_speed=1.0))
    assert applied == pytest.approx([0.6, 0.8])
    assert bits == k.LIMITED_SPEED


def test_a_command_at_the_limit_up_to_rounding_is_not_limited():
    angle = 0.8134
    row = limits(max_speed=1.2)
    a, b = 1.2 * (1 + 4e-16) * math.cos(angle), 1.2 * (1 + 4e-16) * math.sin(angle)
    assert advance(k.HOLONOMIC, state(heading=angle), a, b, row)[2] == 0


@pytest.mark.parametrize(
    ("v", "wish", "expected"),
    [
        (0.0, 5.0, 0.05),  # speeds up
        (1.0, 0.0, 0.9),  # brakes
        (-1.0, 0.0, -0.9),
        (1.0, 0.99, 0.99),
        (0.04, -5.0, -0.03),  # stops after 0.02 s and has 0.03 s left for reverse
        (-0.04, 5.0, 0.03),
        (0.04, -0.01, -0.01),
    ],
)
def test_speed_brakes_first_and_speeds_up_then(v, wish, expected):
    row = limits(max_acceleration=1.0, max_deceleration=2.0)
    new, _, bits = advance(k.UNICYCLE, state(v=v), wish, 0.0, row)
    assert new[k.ROBOT_V] == pytest.approx(expected, abs=1e-15)
    assert bool(bits & k.LIMITED_ACCELERATION) == (expected != wish)


def test_each_limit_sets_its_bit():
    row = limits(**LIMITS)
    assert advance(k.UNICYCLE, state(v=1.5), 2.0, 0.0, row)[2] == k.LIMITED_SPEED
    assert advance(k.UNICYCLE, state(v=-0.5), -0.6, 0.0, row)[2] == k.LIMITED_SPEED
    assert advance(k.UNICYCLE, state(omega=1.1), 0.0, 1.2, row)[2] == k.LIMITED_TURN_RATE
    assert advance(k.UNICYCLE, state(), 0.0, 1.0, row)[2] == k.LIMITED_TURN_ACCELERATION
    assert advance(k.UNICYCLE, state(), 1.0, 0.0, row)[2] == k.LIMITED_ACCELERATION
    assert advance(k.BICYCLE, state(steer=0.6), 0.0, 0.7, row)[2] == k.LIMITED_STEER
    assert advance(k.BICYCLE, state(), 0.0, 0.5, row)[2] == k.LIMITED_STEER
    assert advance(k.BICYCLE, state(v=10.0, steer=0.5), 10.0, 0.5, limits(wheelbase=1.2, max_turn_rate=1.0))[2] == (
        k.LIMITED_TURN_RATE
    )
    assert advance(k.HOLONOMIC, state(v=1.0), 1.5, 0.0, row)[2] == k.LIMITED_ACCELERATION


def test_holonomic_brakes_harder_than_it_speeds_up():
    row = limits(max_acceleration=1.0, max_deceleration=2.0)
    assert advance(k.HOLONOMIC, state(v=1.0), 2.0, 0.0, row)[1] == pytest.approx([1.05, 0.0])
    assert advance(k.HOLONOMIC, state(v=1.0), 0.0, 0.0, row)[1] == pytest.approx([0.9, 0.0])


def test_a_step_of_no_length_changes_nothing():
    robot = state(1.0, 2.0, 0.5, 0.3, 0.2, 0.1)
    for kind, expected in (
        (k.HOLONOMIC, robot[3:5]),
        (k.UNICYCLE, robot[[6, 5]]),
        (k.BICYCLE, robot[[6, 7]]),
    ):
        new, applied, bits = advance(kind, robot, 1.0, 1.0, limits(**LIMITS), dt=0.0)
        assert new.tolist() == robot.tolist()
        assert (applied.tolist(), bits) == (expected.tolist(), 0)


@settings(max_examples=300, deadline=None)
@given(
    DYNAMICS,
    st.lists(st.tuples(COMMAND, COMMAND), min_size=1, max_size=12),
    st.sampled_from([0.005, 0.05, 0.25]),
)
def test_limits_hold_for_any_commands(kind, commands, dt):
    robot, row, bound = state(heading=2.0), limits(**LIMITS), 1 + 1e-12
    for a, b in commands:
        new, applied, bits = advance(kind, robot, a, b, row, dt)
        moved = math.hypot(*(new[:2] - robot[:2]))
        assert moved <= 1.5 * dt * bound
        assert math.hypot(new[k.ROBOT_VX], new[k.ROBOT_VY]) <= 1.5 * bound
        assert -math.pi <= new[k.ROBOT_HEADING] <= math.pi
        assert abs(new[k.ROBOT_OMEGA]) <= 1.1 * bound
        change = math.hypot(new[k.ROBOT_VX] - robot[k.ROBOT_VX], new[k.ROBOT_VY] - robot[k.ROBOT_VY])
        if kind == k.HOLONOMIC:
            assert change <= 2.0 * dt * bound + 1e-12
        else:
            assert -0.5 <= new[k.ROBOT_V] <= 1.5
            assert abs(new[k.ROBOT_V] - robot[k.ROBOT_V]) <= 2.0 * dt * bound + 1e-12
        if kind == k.UNICYCLE:
            assert abs(new[k.ROBOT_OMEGA] - robot[k.ROBOT_OMEGA]) <= 3.0 * dt * bound + 1e-12
        if kind == k.BICYCLE:
            assert abs(new[k.ROBOT_STEER]) <= 0.6
            assert abs(new[k.ROBOT_STEER] - robot[k.ROBOT_STEER]) <= 0.8 * dt * bound + 1e-12
        if not bits & ~k.LIMITED_TURN_RATE and kind != k.UNICYCLE:
            assert applied == pytest.approx([a, b], abs=2e-9)
        robot = new


@settings(max_examples=300, deadline=None)
@given(DYNAMICS, FINITE, FINITE, st.booleans(), st.floats(-3.0, 3.0))
def test_no_finite_command_gives_nan(kind, a, b, limited, v):
    row = limits(**LIMITS) if limited else limits(wheelbase=1.2)
    new, applied, _ = advance(kind, state(heading=-2.0, v=v), a, b, row)
    assert np.isfinite(new).all()
    assert np.isfinite(applied).all()


@settings(max_examples=200, deadline=None)
@given(DYNAMICS, COMMAND, COMMAND, st.floats(-1.0, 1.0), st.booleans())
def test_left_and_right_are_mirror_images(kind, a, b, turn, limited):
    assume(kind != k.HOLONOMIC or abs(b) > 1e-3)  # straight back, either way round is as short
    row = limits(**LIMITS) if limited else limits(wheelbase=1.2)
    left, applied_left, bits_left = advance(kind, state(v=0.5, omega=turn, steer=turn / 2), a, b, row)
    right, applied_right, bits_right = advance(kind, state(v=0.5, omega=-turn, steer=-turn / 2), a, -b, row)
    sign = np.array([1, -1, -1, 1, -1, -1, 1, -1])
    assert right.tolist() == pytest.approx((left * sign).tolist(), abs=1e-12)
    assert applied_right.tolist() == pytest.approx([applied_left[0], -applied_left[1]], abs=1e-12)
    assert bits_left == bits_right


@settings(max_examples=100, deadline=None)
@given(st.floats(-2.0, 2.0), st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
def test_an_arc_driven_backwards_returns(v, omega, heading):
    start = state(1.0, -2.0, heading)
    there = advance(k.UNICYCLE, start, v, omega, limits())[0]
    back = advance(k.UNICYCLE, there, -v, -omega, limits())[0]
    assert back[:3] == pytest.approx(start[:3], abs=1e-12)


def test_too_fast_a_start_still_moves_within_the_limit():
    row = limits(**LIMITS)
    for kind in (k.HOLONOMIC, k.UNICYCLE, k.BICYCLE):
        new = advance(kind, state(v=40.0), 40.0, 0.0, row)[0]
        assert math.hypot(new[0], new[1]) <= 1.5 * DT * (1 + 1e-12)


def test_directions():
    assert k.heading_to(-1.0, 1.0) == pytest.approx(0.75 * math.pi)
    assert k.turn_to(-1.0, -0.1, 3.0) == pytest.approx(math.remainder(math.atan2(-0.1, -1.0) - 3.0, 2 * math.pi))
    assert k.unit_vector(2.0) == pytest.approx((math.cos(2.0), math.sin(2.0)))
