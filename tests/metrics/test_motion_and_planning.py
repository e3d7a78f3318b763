"""Speed, acceleration, jerk, energy, erratic driving, planning time."""

from __future__ import annotations

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
