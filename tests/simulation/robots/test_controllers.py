"""Every command on every robot, in closed loop with the dynamics kernel."""

from __future__ import annotations

import math

import numpy as np
import pytest

from sidestep.kernels import dynamics as k
from sidestep.simulation.robots import DYNAMICS_CODES, CommandConverter, load_robot, pack_limits, robot_names
from sidestep.simulation.robots.controllers import look_ahead, stopping_speed
from sidestep.types.command import Drive, HolonomicVelocity, Native, Position, Velocity, Waypoints
from sidestep.types.observation import RobotState
from sidestep.types.robot import Actuators

DT = 0.05
STILL = RobotState(0.0, 0.0, 0.0, 0.0, 0.0, 0.0)


def view(row):
    return RobotState(*(float(value) for value in row[:6]))


def start(x=0.0, y=0.0, heading=0.0):
    row = np.zeros(k.ROBOT_ROWS)
    row[:3] = x, y, heading
    return row


class Loop:
    """A robot with its converter; remembers the path and the limits that were hit."""

    def __init__(self, name, row=None, hold_steps=1, dynamics=None):
        self.spec = load_robot(name, dynamics)
        self.row = start() if row is None else row
        self.limits = pack_limits(self.spec)
        self.converter = CommandConverter(self.spec, DT, hold_steps)
        self.bits = 0
        self.path = [self.row.copy()]

    def step(self, command, fresh=None):
        native = self.converter.to_native(command, view(self.row), fresh)
        applied = np.zeros(2)
        code = DYNAMICS_CODES[self.spec.dynamics]
        self.bits |= k.advance_robot(code, self.row, *native, self.limits, DT, applied)
        self.path.append(self.row.copy())

    def distance(self, x, y):
        return math.hypot(self.row[0] - x, self.row[1] - y)


def far(name):
    """A target that each robot can reach: a car needs room to turn."""
    return (25.0, 8.0) if name == "car" else (3.0, 2.0)


@pytest.mark.parametrize("name", robot_names())
@pytest.mark.parametrize("heading", [0.0, 1.5])
def test_waypoints_held_are_reached(name, heading):
    x, y = far(name)
    loop = Loop(name, start(1.0, -1.0, heading))
    command = Waypoints(np.array([[x / 2, y / 4], [x, y]]))
    cosine, sine = math.cos(heading), math.sin(heading)
    goal = 1.0 + cosine * x - sine * y, -1.0 + sine * x + cosine * y
    for _ in range(600):
        loop.step(command)
    assert loop.distance(*goal) < 0.2
    assert math.hypot(loop.row[k.ROBOT_VX], loop.row[k.ROBOT_VY]) < 0.05
    assert not loop.bits & k.LIMITED_SPEED


@pytest.mark.parametrize("name", [name for name in robot_names() if name != "car"])
@pytest.mark.parametrize("goal", [(3.0, 2.0), (-2.0, 0.5), (0.0, -1.0)])
def test_a_position_as_set_point_is_reached_from_any_side(name, goal):
    loop = Loop(name)
    for _ in range(500):
        loop.step(Position(*goal))
    assert loop.distance(*goal) < 0.01
    assert loop.row[[k.ROBOT_V, k.ROBOT_OMEGA]] == pytest.approx([0.0, 0.0], abs=1e-6)


def test_a_car_reaches_a_position_ahead():
    loop = Loop("car")
    for _ in range(400):
        loop.step(Position(25.0, 8.0))
    assert loop.distance(25.0, 8.0) < 0.2


def test_a_car_turns_round_to_a_far_target_and_gives_up_a_near_one():
    loop = Loop("car")
    for _ in range(1500):
        loop.step(Position(-30.0, 0.0))
    assert loop.distance(-30.0, 0.0) < 0.2
    loop = Loop("car")
    for _ in range(100):
        loop.step(Position(-3.0, 0.0))
    assert loop.distance(0.0, 0.0) < 0.1


def test_holonomic_position_is_exact_within_reach_and_clipped_beyond():
    loop = Loop("point")
    loop.step(Position(0.03, 0.04))
    assert loop.row[:2] == pytest.approx([0.03, 0.04], abs=1e-15)
    assert loop.bits == 0
    loop.step(Position(0.03, 10.04))
    assert loop.row[:2] == pytest.approx([0.03, 0.09])
    assert loop.bits == k.LIMITED_SPEED


def test_a_position_takes_as_many_steps_as_it_is_held():
    loop = Loop("point", hold_steps=4)
    command = Position(0.1, 0.0)
    for i in range(4):
        loop.step(command)
        assert loop.row[0] == pytest.approx(0.025 * (i + 1))


def test_a_stream_of_positions_is_followed_at_full_speed_despite_inertia():
    loop = Loop("pioneer_3dx_real")
    for _ in range(150):
        loop.step(Position(loop.row[0] + 1.2 * DT, loop.row[1]))
    assert loop.row[k.ROBOT_V] == pytest.approx(1.2)


@pytest.mark.parametrize("name", robot_names())
@pytest.mark.parametrize("direction", [0.0, 2.0, -3.0])
def test_a_world_velocity_is_taken_up(name, direction):
    loop = Loop(name)
    u = HolonomicVelocity(math.cos(direction), math.sin(direction))
    for _ in range(600):
        loop.step(u)
    assert loop.row[[k.ROBOT_VX, k.ROBOT_VY]] == pytest.approx([u.vx, u.vy], abs=0.02)
    if load_robot(name).dynamics != "holonomic":
        assert math.remainder(loop.row[k.ROBOT_HEADING] - direction, 2 * math.pi) == pytest.approx(0.0, abs=0.02)


def test_a_unicycle_turns_on_the_spot_when_the_direction_is_behind():
    v, omega = CommandConverter(load_robot("pioneer_3dx"), DT).to_native(HolonomicVelocity(-1.0, 0.2), STILL)
    assert v == 0.0
    assert omega == 1.1
    v, omega = CommandConverter(load_robot("pioneer_3dx"), DT).to_native(HolonomicVelocity(0.6, -0.8), STILL)
    assert v == pytest.approx(0.6)
    assert omega == -1.1


def test_heading_gains_are_proportional_and_derivative():
    turning = RobotState(0.0, 0.0, 0.0, 0.0, 0.0, 0.5)
    command = HolonomicVelocity(math.cos(0.1), math.sin(0.1))
    _, omega = CommandConverter(load_robot("pioneer_3dx"), DT).to_native(command, turning)
    assert omega == pytest.approx(2.0 * 0.1 - 0.1 * 0.5)


def test_velocity_on_each_dynamics():
    assert CommandConverter(load_robot("pioneer_3dx"), DT).to_native(Velocity(1, 2), STILL) == (1.0, 2.0)
    car = CommandConverter(load_robot("car"), DT)
    assert car.to_native(Velocity(5.0, 0.4), STILL) == pytest.approx((5.0, math.atan(0.4 * 2.405 / 5.0)))
    assert car.to_native(Velocity(-1.0, 0.1), STILL) == pytest.approx((-1.0, -math.atan(0.2405)))
    assert car.to_native(Velocity(0.0, 0.0), STILL) == (0.0, 0.0)
    loop = Loop("point")
    for _ in range(20):
        loop.step(Velocity(0.5, 1.0))
    assert loop.row[k.ROBOT_HEADING] == pytest.approx(1.0)
    assert loop.row[k.ROBOT_V] == pytest.approx(0.5)


def test_velocity_turns_a_holonomic_robot_nearly_on_the_spot_and_never_backwards():
    loop = Loop("point")
    for _ in range(20):
        loop.step(Velocity(0.0, 1.0))
    assert loop.row[k.ROBOT_HEADING] == pytest.approx(1.0)
    assert loop.distance(0.0, 0.0) < 0.011
    assert loop.converter.to_native(Velocity(-1.0, 0.0), STILL) == (0.0, 0.0)


@pytest.mark.parametrize("name", robot_names())
def test_drive_speeds_up_steers_left_and_stops(name):
    loop = Loop(name)
    for _ in range(20):
        loop.step(Drive(0.0, 1.0, 0.0))
    limits = loop.spec.limits
    expected = min((limits.max_acceleration or limits.max_speed) * 1.0, limits.max_speed)
    lags = loop.spec.actuators
    if lags.throttle_lag_s:  # the throttle follows with a lag: a car is slower by about the speed of that time
        expected -= limits.max_acceleration * lags.throttle_lag_s
    assert loop.row[k.ROBOT_V] == pytest.approx(expected, rel=0.1 if lags.throttle_lag_s else 1e-6)
    expected = loop.row[k.ROBOT_V]
    assert loop.row[k.ROBOT_HEADING] == 0.0
    for _ in range(10):
        loop.step(Drive(0.5, 0.0, 0.0))
    assert loop.row[k.ROBOT_HEADING] > 0.01
    # neither throttle nor brake: it rolls on, while the lag of the throttle still adds a little
    assert loop.row[k.ROBOT_V] == pytest.approx(expected, rel=0.3 if lags.throttle_lag_s else 0.01)
    for _ in range(100):
        loop.step(Drive(0.0, 0.0, 1.0))
    assert loop.row[k.ROBOT_V] == 0.0
    assert not loop.bits & (k.LIMITED_SPEED | k.LIMITED_ACCELERATION)


@pytest.mark.parametrize("name", robot_names())
def test_a_native_command_is_executed_as_it_is(name):
    converter = CommandConverter(load_robot(name), DT)
    moving = RobotState(1.0, 2.0, 0.7, 0.3, -0.1, 0.4)
    assert converter.to_native(Native(0.123456789, -0.1), moving) == (0.123456789, -0.1)


def test_drive_brakes_a_reversing_car_to_a_stand():
    spec = load_robot("car").model_copy(update={"actuators": Actuators()})
    car = CommandConverter(spec, DT)
    rolling_back = RobotState(0.0, 0.0, 0.0, -1.0, 0.0, 0.0)
    assert car.to_native(Drive(1.0, 0.0, 1.0), rolling_back) == pytest.approx((-0.6, 0.55))
    assert car.to_native(Drive(2.0, 0.0, 0.0), rolling_back)[1] == pytest.approx(1.1)  # the dynamics note the limit


def test_actuators_follow_the_controls_with_a_lag():
    """First order: x += (u - x) dt / (dt + lag). Half the lag time constant's reach after one step of dt = lag."""
    spec = load_robot("car").model_copy(update={"actuators": Actuators(steer_lag_s=DT, brake_lag_s=3 * DT)})
    car = CommandConverter(spec, DT)
    moving = RobotState(0.0, 0.0, 0.0, 5.0, 0.0, 0.0)
    v, steer = car.to_native(Drive(1.0, 0.0, 1.0), moving)
    assert steer == pytest.approx(0.5 * 0.55)
    assert v == pytest.approx(5.0 - 0.25 * 8.0 * DT)
    v, steer = car.to_native(Drive(1.0, 0.0, 1.0), moving)
    assert steer == pytest.approx(0.75 * 0.55)
    assert v == pytest.approx(5.0 - 0.4375 * 8.0 * DT)
    car.reset()
    assert car.to_native(Drive(0.0, 0.0, 0.0), moving) == (5.0, 0.0)


def test_a_car_that_coasts_slows_down_by_rolling_and_by_the_air():
    spec = load_robot("car").model_copy(update={"actuators": Actuators(rolling_mps2=0.2, drag_per_m=0.01)})
    v, _ = CommandConverter(spec, DT).to_native(Drive(0.0, 0.0, 0.0), RobotState(0.0, 0.0, 0.0, 10.0, 0.0, 0.0))
    assert v == pytest.approx(10.0 - (0.2 + 0.01 * 100.0) * DT)


def test_held_waypoints_stay_where_they_were_given_and_fresh_ones_move_along():
    command = Waypoints(np.array([[1.0, 0.0]]))
    held, fresh = Loop("point"), Loop("point")
    for _ in range(100):
        held.step(command)
        fresh.step(command, fresh=True)
    assert held.row[0] == pytest.approx(1.0, abs=0.06)
    assert fresh.row[0] == pytest.approx(5.0)


def test_reset_forgets_where_waypoints_were_given():
    command = Waypoints(np.array([[1.0, 0.0]]))
    converter = CommandConverter(load_robot("point"), DT)
    converter.to_native(command, STILL)
    there = RobotState(5.0, 5.0, math.pi / 2, 0.0, 0.0, 0.0)
    back = converter.to_native(command, there)
    converter.reset()
    on = converter.to_native(command, there)
    assert back[0] < 0 > back[1]
    assert on == pytest.approx((0.0, 1.0))


def test_left_and_right_are_mirror_images():
    for name in robot_names():
        left, right = Loop(name), Loop(name)
        for _ in range(60):
            left.step(Waypoints(np.array([[2.0, 1.0], [4.0, 4.0]])), fresh=True)
            right.step(Waypoints(np.array([[2.0, -1.0], [4.0, -4.0]])), fresh=True)
        assert right.row[:3] == pytest.approx(left.row[:3] * [1, -1, -1], abs=1e-9)


def test_look_ahead():
    path = [(0.0, 0.0), (2.0, 0.0), (2.0, 2.0)]
    assert look_ahead(path, 0.5, 0.3, 1.0) == pytest.approx((1.5, 0.0, 0.3 + 1.5 + 2.0))
    assert look_ahead(path, 1.5, 0.0, 1.0) == pytest.approx((2.0, 0.5, 2.5))
    assert look_ahead(path, 2.0, 1.9, 1.0) == pytest.approx((2.0, 2.0, 0.1))
    assert look_ahead(path, 2.0, 3.0, 1.0) == pytest.approx((2.0, 2.0, 1.0))
    assert look_ahead([(1.0, 1.0), (1.0, 1.0)], 1.0, 0.0, 1.0) == pytest.approx((1.0, 1.0, 1.0))


def test_stopping_speed_stops_exactly():
    v = stopping_speed(1.0, 0.5, DT)
    assert v * DT + v * v / (2 * 0.5) == pytest.approx(1.0)
    assert stopping_speed(1.0, math.inf, DT) == pytest.approx(20.0)
