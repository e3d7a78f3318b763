"""The depth-only policy: what it sees in a depth picture, and what it does about it."""

from __future__ import annotations

from math import pi, tan
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.depth_reactive import DepthReactive
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import Observation, Outcome, RobotState, Task
from tests.simulation.scenarios import make

SIDE, HEIGHT = 96, 0.4  # of the picture, px; of the Pioneer's camera, m
FOCAL = SIDE / 2 / tan(pi / 4)


def ground() -> Any:
    """Depth of a flat floor under the sky."""
    down = (np.arange(SIDE) + 0.5 - SIDE / 2) / FOCAL
    depth = np.where(down > 0, HEIGHT / np.where(down > 0, down, 1.0), np.inf)
    return np.repeat(depth[:, None], SIDE, axis=1).astype(np.float32)


def with_box(distance: float, left: float, right: float, low: float = 0.0, high: float = 1.5) -> Any:
    """A flat thing across the way, from ``left`` to ``right`` (m, left is positive) and from ``low`` to ``high``."""
    picture = ground()
    aside = -(np.arange(SIDE) + 0.5 - SIDE / 2) / FOCAL * distance
    up = HEIGHT - (np.arange(SIDE) + 0.5 - SIDE / 2) / FOCAL * distance
    covered = ((up >= low) & (up <= high))[:, None] & ((aside <= left) & (aside >= right))[None]
    picture[covered] = np.minimum(picture[covered], distance)
    return picture


def asked(depth: Any, **settings: Any) -> Any:
    policy = DepthReactive(**settings)
    route = np.array([[20.0, 0.0]])
    policy.reset(Task(load_robot("pioneer_3dx"), (0.0, 0.0, 0.0), 0.1, 60.0, 0.3, route=route))
    return policy.act(Observation(0.0, RobotState(0.0, 0.0, 0.0, 1.0, 0.0, 0.0), depth=depth))


def test_a_free_floor_is_no_obstacle() -> None:
    command = asked(ground())
    assert command.v == pytest.approx(1.2)
    assert command.omega == pytest.approx(0.0)


def test_it_turns_to_the_freer_side() -> None:
    left, right = asked(with_box(1.5, 0.9, -0.2)), asked(with_box(1.5, 0.2, -0.9))
    assert left.omega < -0.1
    assert right.omega == pytest.approx(-left.omega, abs=0.2)


def test_the_nearer_the_slower_and_a_wall_stops_it() -> None:
    speeds = [asked(with_box(distance, 9.0, -9.0), time_gap=1.0).v for distance in (3.0, 1.2, 0.7)]
    assert speeds[0] > speeds[1] > speeds[2]
    assert asked(with_box(0.3, 9.0, -9.0)).v == 0.0


def test_what_hangs_above_or_lies_flat_is_not_in_the_way() -> None:
    assert asked(with_box(1.0, 9.0, -9.0, low=0.0, high=0.1)).v == pytest.approx(1.2)
    assert asked(with_box(1.0, 9.0, -9.0, low=0.9, high=1.3)).v == pytest.approx(1.2)


def test_what_went_out_of_sight_is_remembered() -> None:
    policy = DepthReactive()
    route = np.array([[0.0, 20.0]])
    policy.reset(Task(load_robot("pioneer_3dx"), (0.0, 0.0, 0.0), 0.1, 60.0, 0.3, route=route))
    policy.act(Observation(0.0, RobotState(0, 0, pi / 2, 0, 0, 0), depth=with_box(1.0, 9.0, -9.0)))
    turned = RobotState(0, 0, 0.0, 0, 0, 0)
    policy.act(Observation(0.1, turned, depth=ground()))
    assert len(policy._around(turned)) > 20
    policy.act(Observation(3.0, turned, depth=ground()))
    assert len(policy._around(turned)) == 0


def test_settings_are_checked() -> None:
    with pytest.raises(BadInput, match="horizon"):
        DepthReactive(horizon=100.0)
    with pytest.raises(BadInput, match="margin"):
        DepthReactive(margin=-1.0)


def test_it_goes_round_somebody_who_stands_in_the_way() -> None:
    small = {"camera": {"width": 96, "height": 96, "shadows": False}}
    robots = [{"spec": "pioneer_3dx", "start": [0, -5, 1.5708], "goal": [0, 5]}]
    scenario = make(crowd=[{"model": "static", "people": [{"start": [0.05, 0]}]}], sensors=small, robots=robots)
    record = run_episode(scenario, DepthReactive())
    assert record.outcome is Outcome.SUCCESS, record.error
    assert np.abs(record.robot_pose[:, 0]).max() > 0.4
