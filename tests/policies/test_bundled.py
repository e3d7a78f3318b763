"""What the bundled policies do, and that each keeps the contract."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.interfaces import Policy
from sidestep.policies.robot_agent import RouteFollower
from sidestep.simulation import run_episode
from sidestep.types import Outcome
from tests.simulation.scenarios import crossing, make, room

AVOIDING = ["orca", "social_force"]
WITH_A_FILE = {"visual"}
"""Policies that need a user's file: their own tests make one."""


@pytest.mark.parametrize("name", [name for name in registry.names("policies") if name not in WITH_A_FILE])
def test_every_policy_keeps_the_contract(name: str) -> None:
    policy = registry.make_policy(name)
    assert isinstance(policy, Policy)
    assert policy.needs <= registry.known_needs()
    assert policy.summary
    robot = {"spec": "point", "start": [0, -5, 1.5708], "goal": [0, 5], "dynamics": "policy"}
    first, again = (run_episode(crossing(6, robots=[robot]), registry.make_policy(name), seed=3) for _ in range(2))
    assert first.outcome is not Outcome.POLICY_ERROR, first.error
    assert first.digest == again.digest


@pytest.mark.parametrize("name", AVOIDING)
def test_walks_round_somebody_who_stands_in_the_way(name: str) -> None:
    scenario = make(crowd=[{"model": "static", "people": [{"start": [0.05, 0]}]}])
    record = run_episode(scenario, registry.make_policy(name))
    assert record.outcome is Outcome.SUCCESS
    assert np.abs(record.robot_pose[:, 0]).max() > 0.4


@pytest.mark.parametrize("name", AVOIDING)
def test_finds_its_way_round_a_wall(name: str) -> None:
    robots = [{"spec": "point", "start": [-2.4, 0, 0], "goal": [2.4, 0]}]
    record = run_episode(make(scene=room(), robots=robots), registry.make_policy(name))
    assert record.outcome is Outcome.SUCCESS


@pytest.mark.parametrize("name", AVOIDING)
def test_avoids_more_people_than_its_first_memory_holds(name: str) -> None:
    crowd = [{"model": "static", "placement": {"kind": "random", "count": 150, "area": [3, -15, 30, 15]}}]
    record = run_episode(make(crowd=crowd), registry.make_policy(name))
    assert record.outcome is Outcome.SUCCESS


def test_collides_less_than_straight_among_people_who_do_not_look() -> None:
    def collided(name: str) -> int:
        records = [run_episode(make(crowd=[blind]), registry.make_policy(name), seed=seed) for seed in range(12)]
        return sum(record.outcome is Outcome.PEDESTRIAN_COLLISION for record in records)

    placement = {"kind": "circle", "count": 10, "radius": 4.5}
    blind = {"model": "orca", "sees_robot": False, "at_end": "loop", "placement": placement}
    straight = collided("straight")
    for name in AVOIDING:
        assert collided(name) < straight


def test_settings_reach_the_policy_and_the_record() -> None:
    policy = registry.make_policy("orca", {"horizon": 2.0})
    assert run_episode(make(), policy).policy.settings["horizon"] == 2.0
    with pytest.raises(BadInput, match="unknown key 'horizont'; did you mean 'horizon'"):
        registry.make_policy("orca", {"horizont": 2.0})


def test_route_follower_hands_out_points_in_turn() -> None:
    route = RouteFollower(np.array([[1.0, 0.0], [1.0, 3.0], [4.0, 3.0]]))
    assert route.target(0.0, 0.0) == (1.0, 0.0)
    assert route.target(0.5, 0.0) == (1.0, 3.0)
    assert route.target(1.1, 3.2) == (4.0, 3.0)
    assert route.target(4.0, 3.0) == (4.0, 3.0)
