"""Environments judge the rules of the road as the benchmark does: scenarios of the suite ``intersection`` end in the
same step with the same outcome in a single environment, in a vector environment and in a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import sidestep.gym  # noqa: F401  registers the environments
from sidestep.errors import BadInput
from sidestep.gym.batch import ENDINGS, EnvironmentBatch, RewardWeights
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.parallel import CrowdParallelEnv
from sidestep.gym.vector import CrowdVectorEnv
from sidestep.kernels.referee import MARKS
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.simulation.robots import native_bounds
from sidestep.suites.intersection import INTERSECTION_SUITE
from sidestep.types import Outcome, Scenario
from tests.gym.test_judging import Replay, random_actions
from tests.simulation.traffic.roads import LANE_Y, on_the_road

BRIEF_S = 8.0
ROUTES = [
    scenario.model_copy(update={"rules": scenario.rules.model_copy(update={"time_limit_s": BRIEF_S})})
    for scenario in INTERSECTION_SUITE.with_options({"split": "all"}).scenarios()[::9]
]


def commands_of(scenario: Scenario, seed: int) -> tuple[Any, Any]:
    """Actions of an environment, mostly ahead, and the native commands that they stand for."""
    actions = random_actions(scenario, seed)
    low, high = np.array(native_bounds(build_world(scenario, seed).robots[0]))
    return actions, (low + high) / 2 + (high - low) / 2 * actions.astype(np.float64)


@settings(max_examples=6, deadline=None)
@given(route=st.integers(0, len(ROUTES) - 1), seed=st.integers(0, 1000))
def test_the_same_actions_end_alike_in_environment_batch_and_run(route: int, seed: int) -> None:
    scenario = ROUTES[route]
    actions, commands = commands_of(scenario, seed)
    record = run_episode(scenario, Replay(commands, "bicycle"), seed=seed, act_limit_s=None)
    world = build_world(scenario, seed)
    env = CrowdEnv(task="Scenario", scenario=scenario)
    batch = EnvironmentBatch([world, world, world], RewardWeights(), 4, size=2)
    for again in range(2):  # nothing of the first episode may be left
        env.reset(options={"world_seed": seed})
        over, step = False, 0
        while not over:
            batch.action[:] = actions[step]
            batch.step()
            _, _, terminated, truncated, info = env.step(actions[step])
            over, step = terminated or truncated, step + 1
            assert (batch.ending[:, 0] != 0).tolist() == [over, over], (again, step)
        worlds = env._environments.worlds
        assert info["termination_reason"] == record.outcome.value
        assert int(worlds.clock[0]) == int(batch.worlds.clock[0]) == record.steps
        assert np.array_equal(worlds.robot_state[0, 0, :3], record.robot_pose[-1])
        assert np.array_equal(worlds.marks[0, 0, :MARKS], batch.worlds.marks[1, 0, :MARKS])
        batch.reset(np.arange(2))


def start_at(x: float, y: float = LANE_Y, **rules: Any) -> Scenario:
    robots = [{"spec": "car", "start": [x, y, 0], "goal": [110, LANE_Y], "speed": 8.0}]
    return on_the_road(robots=robots, rules=rules)


ENDS: dict[Outcome, tuple[Scenario, float]] = {
    Outcome.SUCCESS: (start_at(90.0), 10.0),
    Outcome.WRONG_EXIT: (start_at(90.0, -5.25), -2.5),
    Outcome.LANE_INVASION: (start_at(10.0, 1.75, lanes={"most_invasions": 0}), -2.5),
}


@pytest.mark.parametrize("outcome", ENDS)
def test_what_an_ending_is_worth(outcome: Outcome) -> None:
    scenario, worth = ENDS[outcome]
    weights = RewardWeights(success=10.0, failure=2.5, progress=0.0)
    env = CrowdEnv(task="Scenario", scenario=scenario, weights=weights)
    env.reset(seed=0)
    total, over = 0.0, False
    while not over:
        _, reward, terminated, truncated, info = env.step(np.array([0.6, 0.0], np.float32))
        total, over = total + reward, terminated or truncated
    assert terminated
    assert info == {"is_success": outcome is Outcome.SUCCESS, "termination_reason": outcome.value}
    assert total == pytest.approx(worth)


def test_worlds_of_a_batch_have_roads_and_rules_of_their_own() -> None:
    strict, free = start_at(10.0, 1.75, lanes={"most_invasions": 0}), start_at(10.0, 1.75, lanes=None)
    batch = EnvironmentBatch([build_world(each, 0) for each in (free, strict)], RewardWeights(), 1)
    endings = []
    for _ in range(25):
        batch.action[:] = 0.6, 0.0
        batch.step()
        endings.append(batch.ending[:, 0].tolist())
    assert [ENDINGS[code] for code in endings[-1]] == ["", "lane_invasion"]
    assert endings[18] == [0, 0]  # a whole second in the oncoming lane is the first invasion
    assert endings[19][1] != 0


def test_several_robots_are_judged_each_by_its_own_wheels() -> None:
    robots = [{"spec": "car", "start": [80 - 10 * k, y, 0], "goal": [110, y]} for k, y in enumerate([LANE_Y, -5.25])]
    env = CrowdParallelEnv(on_the_road(robots=robots))
    env.reset(seed=0)
    reasons: dict[str, str] = {}
    while env.agents:
        *_, infos = env.step(dict.fromkeys(env.agents, np.array([1.0, 0.0], np.float32)))
        reasons |= {name: info["termination_reason"] for name, info in infos.items() if info["termination_reason"]}
    assert reasons == {"robot_0": "success", "robot_1": "wrong_exit"}


def test_the_intersection_suite_by_its_name() -> None:
    env = gymnasium.make("sidestep.gym:sidestep/Suite-v0", suite="intersection", scenarios=["scene0-*"])
    first, info = env.reset(seed=0)
    assert info["scenario"].startswith("scene0-")
    assert env.observation_space.contains(first)
    env = gymnasium.make("sidestep.gym:sidestep/Scenario-v0", scenario="intersection", name="scene4-pose0-straight")
    env.reset(seed=0)
    assert env.observation_space.contains(env.step(env.action_space.sample())[0])
    vector = gymnasium.make_vec(
        "sidestep.gym:sidestep/Suite-v0", num_envs=2, vectorization_mode="vector_entry_point", suite="intersection",
        scenarios=["scene0-pose0-*"], pool=4,
    )  # fmt: skip
    vector.reset(seed=0)
    vector.step(vector.action_space.sample())
    vector.close()


def test_a_suite_of_which_one_scenario_has_them(tmp_path: Path) -> None:
    def document(scenario: Scenario, name: str) -> dict[str, Any]:
        return {**scenario.model_dump(mode="json", exclude_defaults=True, exclude={"suite"}), "name": name}

    file = tmp_path / "mixed.yaml"
    without = on_the_road(rules={"success": "goal", "exit": None, "lanes": None})
    file.write_text(yaml.safe_dump({"scenarios": [document(without, "without"), document(start_at(90.0), "with")]}))
    for env in (CrowdEnv(task="Suite", suite=str(file)), CrowdVectorEnv(4, task="Suite", suite=str(file), pool=8)):
        assert env.observation_space.contains(env.reset(seed=0)[0])
        assert env.observation_space.contains(env.step(env.action_space.sample())[0])
        env.close()


def test_lanes_need_roads() -> None:
    with pytest.raises(BadInput, match=r"rules\.lanes needs a scene with roads"):
        CrowdEnv(task="Scenario", scenario=on_the_road(scene={"name": "nothing"}))
