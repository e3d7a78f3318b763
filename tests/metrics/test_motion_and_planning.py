"""Speed, acceleration, jerk, energy, erratic driving, planning time."""

from __future__ import annotations

from dataclasses import replace
from math import pi

import numpy as np
import pytest

from sidestep.types import EpisodeRecord

from .records import make_record, straight_run


def with_speeds(*speeds: float, **settings) -> EpisodeRecord:
    """Recorded speeds along x; the positions stand still, so that a metric of positions would be found
    out."""
    velocity = np.column_stack([speeds, np.zeros(len(speeds))])
    return make_record(np.zeros((len(speeds), 2)), velocity=velocity, goal=(1, 0), **settings)


def test_speed_is_the_recorded_velocity(value) -> None:
    record = with_speeds(9, 1, 2, 3)  # the first is the state before the first step
    assert value(record, "speed_min") == 1
    assert value(record, "speed_avg") == pytest.approx(2)
    assert value(record, "speed_max") == 3


def test_acceleration(value) -> None:
    record = with_speeds(0, 1, 1, 0.5)
    assert value(record, "acceleration_max") == pytest.approx(8)
    assert value(record, "acceleration_min") == 0
    assert value(record, "acceleration_avg") == pytest.approx((8 + 0 + 4) / 3)


def test_turning_at_constant_speed_is_acceleration(value) -> None:
    record = make_record(np.zeros((2, 2)), velocity=[(1, 0), (0, 1)], goal=(1, 0))
    assert value(record, "acceleration_avg") == pytest.approx(2**0.5 / 0.125)


def test_jerk(value) -> None:
    record = with_speeds(0, 1, 1, 0.5)  # accelerations 8, 0, -4
    assert value(record, "jerk_max") == pytest.approx(64)
    assert value(record, "jerk_min") == pytest.approx(32)
    assert value(record, "jerk_avg") == pytest.approx(48)


def test_derivatives_need_steps(result) -> None:
    none, one = with_speeds(1), with_speeds(0, 1)
    assert result(none, "speed_avg").reason == "the episode has less than one step"
    assert not result(none, "acceleration_avg").valid
    assert result(one, "acceleration_avg").value == pytest.approx(8)
    assert result(one, "jerk_avg").reason == "the episode has less than two steps"


def test_energy_is_an_integral(value, result) -> None:
    assert value(with_speeds(0, 2, 2, 1), "energy") == pytest.approx((4 + 4 + 1) * 0.125)
    assert value(straight_run(4, step_s=0.5), "energy") == pytest.approx(2)  # 1 m/s for 2 s at any step
    assert value(straight_run(8, step_s=0.25), "energy") == pytest.approx(2)
    assert result(with_speeds(0, 1), "energy").unit == "J·s"


def test_oscillations_ignore_the_dead_band(value) -> None:
    turns = [0.0, 0.5, 0.05, 0.5, 0.0, -0.5, -0.09, 0.1, 0.5, -0.5]
    assert value(straight_run(9, omega=turns), "oscillations") == 3
    assert value(straight_run(9, omega=0.5), "oscillations") == 0


def test_driving_backwards(value) -> None:
    record = with_speeds(0, 1, 0.005, -1, -0.01, 1)  # exactly -0.01 m/s is not backwards
    assert value(record, "backward_motion") == pytest.approx(1 / 5)
    assert value(record, "direction_reversals") == 2
    assert value(straight_run(8, heading=pi), "backward_motion") == 1
    assert value(straight_run(8, heading=pi / 2), "backward_motion") == 0


def test_planning_time_of_the_calls_only(value, result) -> None:
    record = straight_run(4, planning_time=[0.02, np.nan, 0.04, np.nan])
    assert value(record, "planning_time_avg") == pytest.approx(0.03)
    assert value(record, "planning_time_max") == pytest.approx(0.04)
    assert result(straight_run(4, planning_time=np.nan), "planning_time_avg").reason == "the policy was never asked"


def test_limits_applied(value) -> None:
    assert value(straight_run(4, limited=[0, 1, 6, 0]), "limits_applied") == 0.5


def holonomic(velocity, heading=0.0, **settings):
    """A holonomic robot at these velocities, its body turned as it likes."""
    velocity = np.asarray(velocity, dtype=float)
    positions = np.concatenate([[[0.0, 0.0]], np.cumsum(velocity[1:] * 0.125, axis=0)])
    return make_record(positions, velocity=velocity, heading=heading, dynamics="holonomic", **settings)


def test_a_holonomic_robot_is_judged_by_its_motion_not_by_its_body(value, result) -> None:
    """Straight to the goal while the body spins: no irregularity, no turning, no oscillation."""
    straight = [(1.0, 0.0)] * 17
    spinning = holonomic(straight, heading=np.linspace(0, 6, 17), omega=[3.0, -3.0] * 8 + [3.0])
    for name in ("path_irregularity", "heading_change", "heading_change_rate", "oscillations", "angular_speed_avg"):
        assert value(spinning, name) == pytest.approx(0, abs=1e-9), name
    assert not result(spinning, "backward_motion").valid
    assert not result(spinning, "direction_reversals").valid


def test_a_holonomic_robot_that_weaves_is_seen_to_weave(value) -> None:
    """The body never turns; the motion turns by a right angle every second step."""
    weave = [(1.0, 0.0)] + [(1.0, 1.0), (1.0, 1.0), (1.0, -1.0), (1.0, -1.0)] * 4
    record = holonomic(weave)
    assert value(record, "heading_change") == pytest.approx(7 * np.pi / 2)
    assert value(record, "angular_speed_avg") == pytest.approx(7 * np.pi / 2 / 2.0)
    assert value(record, "oscillations") == 6
    body = replace(record, robot=record.robot.model_copy(update={"dynamics": "unicycle"}))
    assert value(body, "heading_change") == 0


def test_a_holonomic_robot_that_stands_keeps_its_direction(value, result) -> None:
    stopping = [(0.0, 0.0), (0.0, 0.0), (1.0, 0.0), (0.0, 0.0), (-0.01, 0.0), (1.0, 0.0)]
    record = holonomic(stopping, heading=np.pi, goal=(5, 0))
    assert value(record, "path_irregularity") == pytest.approx(0)
    assert value(record, "heading_change") == 0
    still = holonomic([(0.0, 0.0)] * 5, goal=(5, 0))
    assert not result(still, "path_irregularity").valid
    assert value(still, "angular_speed_avg") == 0


def test_mean_angular_speed_is_weighted_by_time(value) -> None:
    record = straight_run(steps=4, omega=[9.0, 1.0, -1.0, 0.5, 0.0])  # that of state 0 was not driven
    assert value(record, "angular_speed_avg") == pytest.approx(2.5 / 4)
