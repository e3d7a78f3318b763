"""How late commands take effect is seen from what the robot does."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.policies.mpc.policy import CommandDelay, Mpc
from sidestep.simulation import run_episode
from sidestep.types import Observation, Pedestrians, RobotState
from tests.simulation.scenarios import make


def look(time: float, vx: float) -> Observation:
    people = Pedestrians(
        np.array([1]), np.array([[5.0, 0.0]]), np.array([[-1.0, 0.5]]), np.zeros(1), np.full(1, 0.2), np.full(1, -1)
    )
    return Observation(time, RobotState(0.0, 0.0, 0.0, vx, 0.0, 0.0), (9.0, 0.0), people)


def drive(step_s: float, every_s: float, lag: int) -> float:
    """The delay seen after some calls when commands are executed ``lag`` calls late."""
    watch, given, delay = CommandDelay(step_s), [0.0, 0.0, 0.0], 0.0
    for call in range(6):
        delay = watch.observe(look(call * every_s, given[-1 - lag]))
        given.append(0.1 * (call + 1))
        watch.record(given[-1], 0.0)
    return delay


def test_a_world_that_waits_has_no_delay() -> None:
    assert drive(0.05, 0.05, 0) == 0.0


def test_one_step_late_is_noticed() -> None:
    assert drive(0.05, 0.05, 1) == pytest.approx(0.05)


def test_a_slow_answer_is_late_by_the_time_between_calls() -> None:
    assert drive(0.05, 0.25, 1) == pytest.approx(0.25)


def test_where_the_robot_is_when_the_command_takes_effect() -> None:
    watch = CommandDelay(0.1)
    watch.record(0.8, 0.2)
    ahead = watch.predict(look(1.0, 0.0).robot, 0.5)
    assert (ahead.x, ahead.y, ahead.vx) == pytest.approx((0.4, 0.1, 0.8))


def test_mpc_reaches_the_goal_under_half_a_second_of_latency() -> None:
    robot = {"spec": "pioneer_3dx", "dynamics": "holonomic", "start": [0, -5, 1.57], "goal": [0, 5]}
    part = {"model": "static", "people": [{"start": [0.1, 0.0]}]}
    scenario = make(robots=[robot], crowd=[part], rules={"step_s": 0.05, "time_limit_s": 30})
    record = run_episode(scenario, Mpc(), mode="latency", latency_s=0.5)
    assert record.outcome == "success"
