"""People who are directed do the same in environments as in episodes."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep._util.threads import HelperThreads
from sidestep.errors import BadInput
from sidestep.gym.batch import EnvironmentBatch, RewardWeights
from sidestep.gym.environment import CrowdEnv
from sidestep.kernels import layout
from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.suites.files import load_suite
from tests.simulation.crowd.test_road_crossing import crossing_road
from tests.simulation.scenarios import make

EVENT = {"kind": "frontal", "at": [0, 8]}


def test_directed_people_walk_as_in_an_episode_and_begin_again_after_a_reset() -> None:
    scenario = make(events=[EVENT])
    record = run_episode(scenario, Stop())
    world = build_world(scenario, 0)
    environments = EnvironmentBatch([world, world, world], RewardWeights(), 4, size=2)
    for again in range(2):
        for step in range(20):
            at = environments.worlds.agents[:, [layout.PX, layout.PY], 0]
            np.testing.assert_array_equal(at, np.tile(record.person_position[step, 0], (2, 1)), f"{again} {step}")
            environments.step()
        environments.reset(np.arange(2))


def test_people_with_a_head_start_are_where_they_are_in_an_episode_after_every_reset() -> None:
    scenario = crossing_road(4, 3.0, robots=[{"spec": "pioneer_3dx", "start": [10, -1.75, 0], "goal": [110, -1.75]}])
    scenario = scenario.model_copy(update={"rules": scenario.rules.model_copy(update={"head_start_s": 4.0})})
    record = run_episode(scenario, Stop())
    world = build_world(scenario, 0)
    environments = EnvironmentBatch([world, world, world], RewardWeights(), 4, size=2)
    for again in range(2):
        for step in range(20):
            at = environments.worlds.agents[:, layout.PX : layout.PY + 1, : world.people]
            np.testing.assert_array_equal(at, np.stack([record.person_position[step].T] * 2), f"{again} {step}")
            environments.step()
        environments.reset(np.arange(2))


@pytest.mark.parametrize("every", [2, 3])
def test_held_actions_among_directed_people_are_those_of_an_episode(every: int) -> None:
    """People are directed before every simulation step, not only before every action."""
    rules = {"step_s": 0.1, "time_limit_s": 20, "control_every": every}
    scenario = make(events=[EVENT], rules=rules)
    record = run_episode(scenario, Stop())
    world = build_world(scenario, 0)
    workers = HelperThreads(2)
    environments = EnvironmentBatch([world] * 30, RewardWeights(), 4, size=20, workers=workers)
    for again in range(2):
        for action in range(12):
            at = environments.worlds.agents[:, [layout.PX, layout.PY], 0]
            expected = np.tile(record.person_position[action * every, 0], (20, 1))
            np.testing.assert_array_equal(at, expected, f"{again} {action}")
            environments.step()
            assert environments.worlds.clock.tolist() == [(action + 1) * every] * 20
        environments.reset(np.arange(20))
    workers.close()


def test_every_scenario_of_the_catalogue_is_an_environment() -> None:
    made = 0
    for scenario in load_suite("catalogue").scenarios():
        if len(scenario.robots) == 1:
            env = CrowdEnv("Scenario", scenario=scenario)
            first, _ = env.reset(seed=0)
            second, *_ = env.step(np.zeros(2, np.float32))
            assert env.observation_space.contains(first), scenario.name
            assert env.observation_space.contains(second), scenario.name
            made += 1
    assert made > 20


def test_an_action_that_is_not_finite_directs_nobody() -> None:
    environments = EnvironmentBatch([build_world(make(events=[EVENT]), 0)], RewardWeights(), 4)
    environments.action[:] = np.nan
    before = environments.worlds.agents.copy()
    with pytest.raises(BadInput, match="not finite"):
        environments.step()
    np.testing.assert_array_equal(environments.worlds.agents, before)
