"""Splines by hand, and that none of a library breaks a limit."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.policies.sampling.splines import (
    SAMPLES,
    TURN_SHARE,
    DriveLimits,
    make_splines,
    speed_class,
    spline_library,
    splines_to_point,
)

PIONEER = DriveLimits(speed=1.2, turn_rate=1.1)
MIDDLE = SAMPLES // 2


def one(end: tuple[float, float, float], turn: float = 0.0, limits: DriveLimits = PIONEER, speed: float = 1.2):
    splines = make_splines(np.array([end]), np.array([turn]), speed, limits, 6.0)
    assert len(splines.turn) == 1
    return splines


def test_straight_ahead() -> None:
    spline = one((3.0, 0.0, 0.0))
    assert np.allclose(spline.y, 0.0)
    assert spline.x[0, MIDDLE] == pytest.approx(1.5)
    assert np.allclose(spline.curvature, 0.0)
    assert np.allclose(spline.speed, 1.2)
    assert spline.time[0, -1] == pytest.approx(2.5)


def test_a_quarter_turn_by_hand() -> None:
    spline = one((2.0, 2.0, math.pi / 2))
    length = math.hypot(2.0, 2.0)  # at u = 1/2 the Hermite weights are 1/8, 1/2 and -1/8
    assert spline.x[0, MIDDLE] == pytest.approx(length / 8 + 1.0, rel=1e-6)
    assert spline.y[0, MIDDLE] == pytest.approx(1.0 - length / 8, rel=1e-6)
    assert (spline.cos[0, -1], spline.sin[0, -1]) == (pytest.approx(0.0, abs=1e-6), pytest.approx(1.0))
    assert spline.curvature[0, 0] == pytest.approx(
        (6 * 2.0 - 2 * length) / length**2, rel=1e-6
    )  # κ(0) = (6 y - 2 L sin θ) / L²


def test_turning_on_the_spot_takes_its_time_and_turns_the_rest() -> None:
    spline = one((2.4, 0.0, 0.0), math.pi / 2)
    assert (spline.x[0, -1], spline.y[0, -1]) == (pytest.approx(0.0, abs=1e-6), pytest.approx(2.4))
    assert spline.time[0, 0] == pytest.approx(math.pi / 2 / (TURN_SHARE * 1.1))
    assert spline.time[0, -1] - spline.time[0, 0] == pytest.approx(2.0, rel=1e-6)


def test_acceleration_from_standing() -> None:
    limits = DriveLimits(speed=1.2, turn_rate=1.1, acceleration=1.0, deceleration=1.0)
    spline = one((3.0, 0.0, 0.0), limits=limits, speed=0.0)
    assert spline.time[0, -1] == pytest.approx(1.2 + (3.0 - 0.72) / 1.2, rel=0.01)  # 0.72 m until 1.2 m/s


def test_too_long_and_too_tight_are_left_out() -> None:
    assert not len(make_splines(np.array([[8.0, 0.0, 0.0]]), np.zeros(1), 1.2, PIONEER, 6.0).turn)
    assert not len(make_splines(np.array([[0.3, 0.3, 3.0]]), np.zeros(1), 1.2, PIONEER, 6.0).turn)


@given(
    speed=st.floats(0.3, 4.0),
    turn_rate=st.floats(0.3, 4.0),
    horizon=st.floats(2.0, 8.0),
    acceleration=st.one_of(st.just(math.inf), st.floats(0.3, 5.0)),
    start=st.integers(0, 4),
)
@settings(max_examples=12, deadline=None)
def test_no_spline_breaks_a_limit(
    speed: float, turn_rate: float, horizon: float, acceleration: float, start: int
) -> None:
    limits = DriveLimits(speed, turn_rate, acceleration=acceleration, deceleration=acceleration)
    library = spline_library(limits, horizon, start)
    assert len(library.turn)
    assert (library.speed <= speed * (1 + 1e-6)).all()
    assert (np.abs(library.speed * library.curvature) <= turn_rate).all()
    assert (np.abs(library.curvature) <= limits.curvature * (1 + 1e-6)).all()
    assert (library.time[:, -1] - library.time[:, 0] <= horizon + 1e-4).all()
    assert (np.diff(library.time, axis=1) > 0).all()
    steps = np.hypot(np.diff(library.x, axis=1), np.diff(library.y, axis=1))
    assert (steps <= speed * np.diff(library.time, axis=1) * (1 + 1e-3) + 1e-6).all()
    heading = np.unwrap(np.arctan2(library.sin, library.cos), axis=1)
    assert (np.abs(np.diff(heading, axis=1)) <= turn_rate * np.diff(library.time, axis=1) * 1.3 + 1e-3).all()


def test_the_library_is_built_once_and_is_mirror_symmetric() -> None:
    library = spline_library(PIONEER, 6.0, 4)
    assert spline_library(DriveLimits(1.2, 1.1), 6.0, 4) is library
    ahead = library.turn == 0
    ends = np.round(np.stack([library.x[ahead, -1], library.y[ahead, -1]], axis=1), 3) + 0.0
    assert {tuple(end) for end in ends} == {(x, -y + 0.0) for x, y in ends}


def test_speed_classes() -> None:
    assert speed_class(0.0, PIONEER) == 4  # speed is free: one class
    slow = DriveLimits(1.2, 1.1, acceleration=1.0, deceleration=1.0)
    assert [speed_class(v, slow) for v in (0.0, 0.3, 0.6, 1.2, 2.0)] == [0, 1, 2, 4, 4]


@given(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0))
@settings(max_examples=30, deadline=None)
def test_splines_to_a_point_end_there(x: float, y: float) -> None:
    splines = splines_to_point(x, y, 1.2, PIONEER, 6.0)
    if math.hypot(x, y) > 0.01:
        assert len(splines.turn)
    assert np.allclose(splines.x[:, -1], x, atol=1e-5)
    assert np.allclose(splines.y[:, -1], y, atol=1e-5)
