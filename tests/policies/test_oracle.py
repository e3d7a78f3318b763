"""The oracle: earliest arrivals that can be told by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.policies.mpc.field import GoalFields
from sidestep.policies.oracle import KnownFuture, meets_people, meets_wall
from sidestep.simulation import run_episode
from sidestep.types import Outcome
from sidestep.types.observation import PRIVILEGED
from tests.simulation.scenarios import make, room

CORRIDOR = {
    "enclosed": True,
    "regions": [{"kind": "walkable", "polygon": [[-4, -0.5], [4, -0.5], [4, 0.5], [-4, 0.5]]}],
}
ROBOT = {"spec": "pioneer_3dx", "dynamics": "policy", "start": [-3, 0, 0], "goal": [3, 0]}


def scenario(**changes: Any):
    rules = {"step_s": 0.05, "time_limit_s": 20}
    return make(**{"robots": [ROBOT], "rules": rules, **changes})


def gatekeeper(folder: Path, leaves_s: float) -> dict[str, Any]:
    """Somebody who stands in the corridor's middle until ``leaves_s`` and is then gone."""
    path = folder / "gate.txt"
    path.write_text("# rate_hz: 10\n" + "".join(f"{k} 1 0 0\n" for k in range(round(10 * leaves_s) + 1)))
    return {"model": "replay", "radius": 0.2, "placement": {"kind": "replay", "path": str(path)}}


def test_is_marked_privileged() -> None:
    policy = registry.make_policy("oracle")
    assert policy.needs & PRIVILEGED
    assert "privileged" in policy.summary.lower()


def test_goes_straight_at_full_speed_through_an_empty_world() -> None:
    record = run_episode(scenario(), registry.make_policy("oracle"))
    assert record.outcome is Outcome.SUCCESS
    assert record.duration == pytest.approx(5.7 / 1.2, abs=0.5)
    assert np.abs(record.robot_pose[:, 1]).max() < 1e-6


def test_waits_for_a_gate_to_open_and_no_longer(tmp_path: Path) -> None:
    """Nobody gets past before 8 s; from 0.45 m before the gate it is 3.15 m to the goal's circle, 2.6 s."""
    policy = registry.make_policy("oracle")
    record = run_episode(scenario(scene=CORRIDOR, crowd=[gatekeeper(tmp_path, 8.0)]), policy)
    assert record.outcome is Outcome.SUCCESS
    assert policy.found
    assert 8.0 + 3.15 / 1.2 - 0.05 <= record.duration <= 8.0 + 3.15 / 1.2 + 1.0
    away = np.hypot(*(record.person_position[:, 0] - record.robot_pose[:, :2]).T)
    assert np.nanmin(away) >= 0.45 - 1e-6


def test_says_when_nothing_arrives_and_touches_nobody(tmp_path: Path) -> None:
    policy = registry.make_policy("oracle")
    record = run_episode(scenario(scene=CORRIDOR, crowd=[gatekeeper(tmp_path, 30.0)]), policy)
    assert record.outcome is Outcome.TIMEOUT
    assert not policy.found
    assert record.robot_pose[-1, 0] > -1.0  # as near as it gets


def test_walls_may_make_a_goal_unreachable() -> None:
    wall = {"kind": "obstacle", "polygon": [[-0.1, -0.6], [0.1, -0.6], [0.1, 0.6], [-0.1, 0.6]]}
    scene = CORRIDOR | {"regions": [*CORRIDOR["regions"], wall]}
    policy = registry.make_policy("oracle")
    record = run_episode(scenario(scene=scene, rules={"step_s": 0.05, "time_limit_s": 8}), policy)
    assert record.outcome is Outcome.TIMEOUT
    assert not policy.found


def test_finds_its_way_round_a_wall() -> None:
    robots = [ROBOT | {"start": [-2.4, 0, 0], "goal": [2.4, 0]}]
    record = run_episode(scenario(scene=room(), robots=robots), registry.make_policy("oracle"))
    assert record.outcome is Outcome.SUCCESS
    assert record.duration < 6.0


def test_meetings_are_swept() -> None:
    """Two points that change places in one step meet in the middle of it."""
    future = KnownFuture(np.array([[[1.0, 0.0]], [[0.0, 0.0]]]), np.array([0.4]), 0.1)
    assert meets_people(0.0, 0.0, 1.0, 0.0, 0, 1, future)
    assert not meets_people(0.0, 0.5, 1.0, 0.5, 0, 1, future)
    assert not meets_people(0.0, 0.0, 1.0, 0.0, 1, 1, future)  # the recording is over


def test_absent_people_are_met_only_when_they_come() -> None:
    position = np.array([[[np.nan, np.nan]], [[0.0, 0.0]], [[np.nan, np.nan]]])
    future = KnownFuture(position, np.array([0.4]), 0.1)
    assert meets_people(0.1, 0.0, 0.1, 0.0, 0, 1, future)
    assert not meets_people(1.0, 0.0, 1.0, 0.0, 0, 2, future)


def test_a_thin_wall_is_met() -> None:
    grid = np.tile(np.abs(np.arange(11) - 5.0) / 10, (11, 1))  # room beside a wall at x = 0.5
    ground = GoalFields(grid, grid, grid, grid, 0.0, 0.0, 0.1)
    assert meets_wall(0.0, 0.5, 1.0, 0.5, ground, 0.2)
    assert not meets_wall(0.0, 0.0, 0.0, 1.0, ground, 0.2)


@pytest.mark.parametrize("wrong", [{"gap": -0.1}, {"wall_gap": float("nan")}, {"gaps": 1}])
def test_refuses_settings_that_make_no_sense(wrong: dict[str, float]) -> None:
    with pytest.raises(BadInput):
        registry.make_policy("oracle", wrong)
