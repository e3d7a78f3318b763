"""The privileged future is what then happens, and a policy moves as it declares."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.observe import future_of
from tests.simulation.scenarios import make

FLOW = {"kind": "flow", "origin": [-6, -1, -5, 1], "destination": [5, -1, 6, 1], "per_minute": 40}


def crowded(**robot: Any) -> Any:
    part = {"model": "orca", "sees_robot": False, "at_end": "leave", "placement": FLOW}
    place = {"spec": "pioneer_3dx", "start": [0, 5, 0], "goal": [0, 9], **robot}
    return make(crowd=[part], robots=[place], rules={"time_limit_s": 20})


def test_the_future_is_what_then_happens() -> None:
    scenario = crowded()
    record = run_episode(scenario, Stop(), seed=3)
    future = future_of(build_world(scenario, 3))
    assert future.position.shape == record.person_position.shape
    assert np.array_equal(future.position, record.person_position, equal_nan=True)
    assert np.isfinite(future.position).any()


class Sideways(Stop):
    dynamics: ClassVar[str] = "holonomic"


def test_a_policy_moves_as_it_declares_only_where_the_scenario_says_so() -> None:
    assert run_episode(crowded(), Sideways(), seed=0).robot.dynamics == "unicycle"
    assert run_episode(crowded(dynamics="policy"), Sideways(), seed=0).robot.dynamics == "holonomic"
    assert run_episode(crowded(dynamics="policy"), Stop(), seed=0).robot.dynamics == "unicycle"
