"""What is a usable command, and how it is recorded."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.simulation.robots import encode_command
from sidestep.types.command import (
    COMMAND_KINDS,
    Drive,
    HolonomicVelocity,
    Native,
    Position,
    Velocity,
    Waypoints,
    checked_command,
)

POINTS = np.array([[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (Velocity(1, -0.5), (0, 1.0, -0.5, 0.0)),
        (HolonomicVelocity(np.float32(0.25), 0.5), (1, 0.25, 0.5, 0.0)),
        (Position(3.0, 4.0), (2, 3.0, 4.0, 0.0)),
        (Waypoints(POINTS), (3, 1.0, 2.0, 2.0)),
        (Drive(-1.0, 0.5, 0.0), (4, -1.0, 0.5, 0.0)),
        (Native(0.5, -0.25), (5, 0.5, -0.25, 0.0)),
    ],
)
def test_good_commands_pass_and_are_encoded(command, code):
    checked_command(command)
    assert encode_command(command) == code
    assert COMMAND_KINDS[code[0]] is type(command)


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (None, "got NoneType"),
        ((1.0, 0.0), "one of Velocity, HolonomicVelocity, Position, Waypoints, Drive, Native; got tuple"),
        (Velocity(float("nan"), 0.0), "Velocity.v is nan"),
        (HolonomicVelocity(0.0, float("inf")), "HolonomicVelocity.vy is inf"),
        (Position("1", 0.0), "Position.x must be one number, got str '1'"),
        (Drive(0.0, None, 0.0), "Drive.throttle must be one number, got NoneType"),
        (Velocity(np.zeros(2), 0.0), "Velocity.v must be one number, got ndarray"),
        (Waypoints(np.zeros((0, 2))), "is empty"),
        (Waypoints(np.zeros((4, 3))), r"shape \(K, 2\), got \(4, 3\)"),
        (Waypoints(np.zeros(2)), r"shape \(K, 2\), got \(2,\)"),
        (Waypoints([[0.0, 1.0], [2.0]]), r"numbers of shape \(K, 2\)"),
        (Waypoints(np.array([[0.0, np.nan]])), "not finite"),
        (Position(1e200, 0.0), r"Position.x is 1e\+200; numbers of a command are at most 1e\+06"),
        (Drive(0.0, -2e6, 0.0), "Drive.throttle is -2e"),
        (Waypoints(np.array([[0.0, 1e7]])), r"beyond 1e\+06"),
        (Waypoints(np.zeros((10_001, 2))), "10001 points; at most 10000"),
    ],
)
def test_bad_commands_are_refused_with_the_reason(command, message):
    with pytest.raises(BadInput, match=message):
        checked_command(command)
