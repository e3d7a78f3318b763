"""Several robots: PettingZoo's own test, who sees whom, and what becomes of robots that are done."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest

from tests.needs import reason_missing

pytest.importorskip("pettingzoo", reason=reason_missing("pettingzoo"))

from pettingzoo.test import parallel_api_test, parallel_seed_test

from sidestep.errors import BadInput
from sidestep.gym.parallel import CrowdParallelEnv, ring_of_robots
from sidestep.types import Scenario
from tests.gym.scenes import by_hand

AHEAD, STAND = np.array([1.0, 0.0], np.float32), np.zeros(2, np.float32)


def robot(start: list[float], goal: list[float], spec: str = "point") -> dict[str, Any]:
    return {"spec": spec, "start": start, "goal": goal}


def env_of(*robots: dict[str, Any], people: list[dict[str, Any]] | None = None, **rules: Any) -> CrowdParallelEnv:
    crowd = [{"model": "orca", "people": people}] if people else []
    env = CrowdParallelEnv(by_hand(robots=list(robots), crowd=crowd, **rules))
    env.reset(seed=0)
    return env


@pytest.mark.filterwarnings("ignore:.*No render_modes:UserWarning")
@pytest.mark.parametrize("robots", [1, 4])
def test_their_test(robots: int) -> None:
    parallel_api_test(CrowdParallelEnv(robots=robots, people=3), num_cycles=300)
    parallel_seed_test(lambda: CrowdParallelEnv(robots=robots, people=3), num_cycles=50)


def test_robots_see_each_other() -> None:
    env = env_of(
        robot([0.0, 0.0, pi / 2], [9.0, 9.0], "pioneer_3dx"),
        robot([2.0, 1.0, 0.0], [9.0, 1.0]),
        robot([-1.0, 3.0, 0.0], [9.0, 3.0]),
    )
    actions = {"robot_0": np.array([-1.0, 0.0], np.float32), "robot_1": AHEAD, "robot_2": STAND}
    observations, *_ = env.step(actions)
    # robot 0 stands and looks up: robot 1 is ahead at 1 m and 2.25 m to the right, driving to the right
    assert observations["robot_0"]["robots"][0] == pytest.approx([1.0, -2.25, 0.0, -1.0, 0.3], abs=1e-5)
    assert observations["robot_0"]["robots"][1] == pytest.approx([3.0, 1.0, 0.0, 0.0, 0.3], abs=1e-5)
    assert observations["robot_1"]["robots"][:, :2] == pytest.approx(np.array([[-2.25, -1.0], [-3.25, 2.0]]), abs=1e-5)
    assert observations["robot_2"]["robots"][:, 4] == pytest.approx([0.2, 0.3])
    assert all(one["robots_mask"].tolist() == [1, 1] for one in observations.values())


def test_a_collision_of_robots_ends_both() -> None:
    env = env_of(robot([0.0, 0.0, 0.0], [9.0, 0.0]), robot([2.0, 0.0, pi], [-9.0, 0.0]), robot([0.0, 5.0, 0.0], [9, 5]))
    for _ in range(3):
        _, rewards, terminated, _, infos = env.step({"robot_0": AHEAD, "robot_1": -AHEAD, "robot_2": AHEAD})
    # 1.4 m between the surfaces at 2 m/s: after 0.7 s
    assert terminated == {"robot_0": True, "robot_1": True, "robot_2": False}
    assert infos["robot_0"] == {"is_success": False, "termination_reason": "vehicle_collision"}
    assert [rewards["robot_0"], rewards["robot_1"]] == pytest.approx([-0.25 + 0.1 * 0.25] * 2)
    assert env.agents == ["robot_2"]


def test_a_robot_at_its_goal_leaves_the_world() -> None:
    """It is no longer seen, and another robot drives through its place; the action that it had plays no part."""
    env = env_of(robot([0.0, 0.0, 0.0], [1.0, 0.0]), robot([-3.0, 0.0, 0.0], [4.0, 0.0]))
    arrived = False
    steps = 0
    while env.agents:
        observations, _, terminated, _, infos = env.step(dict.fromkeys(env.agents, AHEAD))
        steps += 1
        if terminated.get("robot_0"):
            arrived = True
            assert infos["robot_0"] == {"is_success": True, "termination_reason": "success"}
            assert env.agents == ["robot_1"]
        if arrived:
            assert observations["robot_1"]["robots_mask"].tolist() == [0]
            assert not observations["robot_1"]["robots"].any()
    assert infos["robot_1"] == {"is_success": True, "termination_reason": "success"}
    assert steps == 27  # 6.7 m at 1 m/s, straight through where robot 0 was


def test_people_do_not_give_way_to_a_robot_that_is_gone() -> None:
    walker = {"start": [0.0, -4.0], "waypoints": [[0.0, 6.0]], "speed": 1.0}

    def path(robots: list[dict[str, Any]]) -> float:
        env = env_of(*robots, robot([8.0, 8.0, 0.0], [30.0, 8.0]), people=[walker])
        aside = 0.0
        for _ in range(32):
            observations, *_ = env.step(dict.fromkeys(env.agents, STAND))
            aside = max(aside, abs(float(observations[env.agents[-1]]["people"][0, 0]) + 8.0))
        return aside

    standing = robot([0.0, 0.0, 0.0], [5.0, 0.0])
    arrived = robot([0.0, 0.0, 0.0], [0.1, 0.0])  # at its goal in the first step
    assert path([standing]) > 0.3
    assert path([arrived]) < 0.1


def test_the_time_limit_ends_all() -> None:
    env = env_of(robot([0.0, 0.0, 0.0], [9.0, 0.0]), robot([0.0, 5.0, 0.0], [9.0, 5.0]), time_limit_s=0.5)
    env.step(dict.fromkeys(env.agents, STAND))
    *_, terminated, truncated, infos = env.step(dict.fromkeys(env.agents, STAND))
    assert set(truncated.values()) == {True}
    assert set(terminated.values()) == {False}
    assert infos["robot_1"]["termination_reason"] == "timeout"
    assert env.agents == []
    with pytest.raises(BadInput, match="reset"):
        env.step({})


def test_a_reset_brings_all_back() -> None:
    env = env_of(robot([0.0, 0.0, 0.0], [0.1, 0.0]), robot([0.0, 5.0, 0.0], [9.0, 5.0]))
    env.step(dict.fromkeys(env.agents, STAND))
    assert env.agents == ["robot_1"]
    observations, _ = env.reset()
    assert env.agents == ["robot_0", "robot_1"]
    assert observations["robot_1"]["robots_mask"].tolist() == [1]


def test_wrong_actions() -> None:
    env = env_of(robot([0.0, 0.0, 0.0], [9.0, 0.0]), robot([0.0, 5.0, 0.0], [9.0, 5.0]))
    with pytest.raises(BadInput, match="no action for robot_1"):
        env.step({"robot_0": STAND})
    with pytest.raises(BadInput, match="not finite"):
        env.step({"robot_0": STAND, "robot_1": np.array([np.nan, 0.0])})


def test_an_action_that_was_refused_is_forgotten() -> None:
    env = env_of(robot([0.0, 0.0, 0.0], [0.1, 0.0]), robot([0.0, 5.0, 0.0], [9.0, 5.0]))
    with pytest.raises(BadInput, match="not finite"):
        env.step({"robot_0": np.array([np.nan, 0.0]), "robot_1": STAND})
    env.step({"robot_0": STAND, "robot_1": STAND})
    env.step({"robot_1": STAND})


def test_ring() -> None:
    scenario = ring_of_robots(4, 0, radius=2.0)
    assert isinstance(scenario, Scenario)
    assert scenario.crowd == ()
    for place in scenario.robots:
        assert place.goal == pytest.approx((-place.start[0], -place.start[1]))
        assert np.hypot(*place.goal) == pytest.approx(2.0)
    with pytest.raises(BadInput):
        ring_of_robots(0, 3)


def test_picture() -> None:
    env = CrowdParallelEnv(robots=3, people=2, render_mode="rgb_array", picture_size=160)
    env.reset(seed=0)
    picture = env.render()
    assert max(picture.shape) == 160
    assert picture.dtype == np.uint8
    for agent in env.possible_agents[:2]:
        env._environments.worlds.flags[0, 1, env._environments.worlds.people + env._number[agent]] = 0
    assert (env.render() != picture).any()
