"""The way that is shown is the way that the kernel drove."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.policies.sidewalk.follow_lane import (
    NO_BARS,
    NOBODY,
    SPACING_M,
    Expert,
    FollowLane,
    lane_robot,
    resample,
    transition,
)
from sidestep.policies.sidewalk.lane_kernels import STEP_S, STEPS, Candidates, Lane, Tile, plan_lane
from sidestep.simulation.robots import load_robot
from tests.policies.sidewalk.test_lane import drive


@pytest.mark.parametrize("wish", [-0.8, 0.0, 1.0])
def test_the_first_command_is_the_kernels(wish: float) -> None:
    """Driven with unlimited acceleration, the first step has the speed and turn rate that the kernel answers."""
    route = resample(np.array([[0.0, 0.0], [6.0, 0.0], [8.0, 5.0]]))
    robot = lane_robot(load_robot("delivery_robot"))._replace(speed_up=1e6, slow_down=1e6, turn_up=1e6)
    state, out = np.array([0.3, 0.2, 0.1, 0.5, 0.0]), np.zeros((1, 3))
    ground = np.full((300, 300), 5.0)
    lane, path = Lane(route, SPACING_M, 0.3, robot), np.zeros((STEPS, 2))
    candidates = Candidates(np.array([[wish, 1.0]]), transition(1.5)[None], out)
    tile = Tile(ground, ground, -10.0, -10.0, 0.1)
    plan_lane(state, 1, 0.0, 9.0, lane, candidates, tile, NOBODY, NO_BARS, path)
    moved = path[0] - state[:2]
    assert np.hypot(*moved) == pytest.approx(out[0, 1] * STEP_S)
    assert np.arctan2(moved[1], moved[0]) == pytest.approx(state[2] + out[0, 2] * STEP_S)
    beside = np.abs(path[20] - path[19])
    assert beside.max() <= 1.0 * STEP_S + 1e-9


@pytest.mark.parametrize("policy", [Expert, FollowLane])
def test_the_robot_goes_the_way_that_it_shows(policy: type[FollowLane]) -> None:
    record = drive(policy(), [])
    plans = record.plans
    ahead = round(plans.step_s / record.step_s)
    rows = [row for row, step in enumerate(plans.step) if step + ahead < record.steps]
    missed = [np.hypot(*(plans.robot[row, 0] - record.robot_pose[plans.step[row] + ahead, :2])) for row in rows]
    assert len(rows) > 20
    assert np.median(missed) < 0.1
