"""Pictures in observations: the same in one environment, in a vector, on any number of threads, and in a run."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any, ClassVar

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import sidestep.gym
from sidestep.errors import BadInput, UnknownName
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.vector import CrowdVectorEnv
from sidestep.render.mesh import Semantic
from sidestep.simulation import run_episode
from sidestep.types import HolonomicVelocity, Observation, Task
from tests.gym.scenes import FORWARD, STAND, by_hand, same, stander

ALL = ("rgb", "depth", "semantic")
SMALL = {"width": 32, "height": 24}


def test_spaces_and_observations() -> None:
    env = CrowdEnv("Crossing", people=3, sensors=ALL, camera={"width": 40, "height": 30, "output_size": [20, 10]})
    assert env.observation_space["rgb"].shape == (10, 20, 3)  # type: ignore[index]
    assert env.observation_space["depth"].dtype == np.float32  # type: ignore[index]
    check_env(env, skip_render_check=True)
    assert sidestep.gym.IDS
    made = gymnasium.make("sidestep.gym:sidestep/Crossing-v0", sensors=("depth",), camera=SMALL)
    assert set(made.reset(seed=0)[0]) == {"robot", "people", "mask", "depth"}


def test_a_person_ahead_comes_nearer() -> None:
    scenario = by_hand([stander(3.0, 0.0)], walled=True, goal=(4.0, 0.0))
    env = CrowdEnv("Scenario", scenario=scenario, sensors=ALL, camera=SMALL)
    before = env.reset(seed=0)[0]
    after = env.step(FORWARD)[0]
    nearest = [seen["depth"][seen["semantic"] == Semantic.PERSON].min() for seen in (before, after)]
    assert nearest[0] - nearest[1] == pytest.approx(0.25, abs=0.01)  # 1 m/s for 0.25 s


def rollout(vector: CrowdVectorEnv, steps: int) -> list[dict[str, Any]]:
    observations = [vector.reset(seed=7)[0]]
    rng = np.random.default_rng(0)
    for _ in range(steps):
        actions = rng.uniform(-1, 1, (vector.num_envs, 2)).astype(np.float32)
        observations.append(vector.step(actions)[0])
    return observations


def test_a_vector_sees_what_single_environments_see() -> None:
    options: dict[str, Any] = {"task": "Doorway", "people": 3, "time_limit_s": 1.0, "sensors": ALL, "camera": SMALL}
    vector = CrowdVectorEnv(3, pool=4, threads=2, **options)
    vector.reset(seed=7)
    seeds = [vector._pool_seeds[k] for k in (0, 1, 2, 3)]
    observed = rollout(vector, 3)
    rng = np.random.default_rng(0)
    actions = [rng.uniform(-1, 1, (3, 2)).astype(np.float32) for _ in range(3)]
    vector.reset(seed=7)
    for b in range(3):
        env = CrowdEnv(**options)
        seen = [env.reset(options={"world_seed": int(seeds[b])})[0]]
        seen += [env.step(action[b])[0] for action in actions]
        for step, one in enumerate(seen):
            assert same(one, {key: values[b] for key, values in observed[step].items()})
    vector.close()


def test_threads_do_not_matter_and_new_episodes_begin_with_new_pictures() -> None:
    options: dict[str, Any] = {"task": "Crossing", "people": 4, "time_limit_s": 0.5, "sensors": ("rgb",)}
    runs = [CrowdVectorEnv(4, pool=6, threads=n, camera=SMALL, **options) for n in (1, 3)]
    one, other = (rollout(vector, 5) for vector in runs)
    assert all(same(a, b) for a, b in zip(one, other, strict=True))
    vector = runs[0]
    vector.reset(seed=7)
    vector.step(np.zeros((4, 2), np.float32))
    observation, _, _, truncated, info = vector.step(np.zeros((4, 2), np.float32))
    assert truncated.all()
    seed = int(vector.world_seeds[1])
    fresh = CrowdEnv(camera=SMALL, **options)
    first = fresh.reset(options={"world_seed": seed})[0]
    assert np.array_equal(observation["rgb"][1], first["rgb"])
    assert not np.array_equal(info["final_obs"][1]["rgb"], first["rgb"])
    for env in runs:
        env.close()


class Still:
    needs: ClassVar[frozenset[str]] = frozenset(ALL)

    def __init__(self) -> None:
        self.seen: list[Observation] = []

    def reset(self, task: Task) -> None:
        self.seen.clear()

    def act(self, observation: Observation) -> HolonomicVelocity:
        self.seen.append(observation)
        return HolonomicVelocity(1.0, 0.0)


def test_an_environment_sees_what_a_policy_of_the_benchmark_sees() -> None:
    camera = {**SMALL, "rate_hz": 2.0, "latency_s": 0.25, "rgb_noise": 3.0}
    walker = {"start": [3.0, 1.0], "waypoints": [[3.0, -3.0]], "speed": 1.2}
    scenario = by_hand([walker], walled=True, goal=(4.5, 0.0), time_limit_s=2.0)
    env = CrowdEnv("Scenario", scenario=scenario, sensors=ALL, camera=camera)
    seen = [env.reset(options={"world_seed": 5})[0]] + [env.step(FORWARD)[0] for _ in range(6)]
    policy = Still()
    run_episode(env.scenario, policy, seed=5, act_limit_s=None)
    for mine, theirs in zip(seen, policy.seen[:7], strict=True):
        for name in ALL:
            assert np.array_equal(mine[name], getattr(theirs, name))
    # frames at 0, 0.5, 1.0 s are there 0.25 s later: the picture changes at steps 3 and 5
    changes = [not np.array_equal(a["rgb"], b["rgb"]) for a, b in pairwise(seen)]
    assert changes == [False, False, True, False, True, False]


def test_pictures_are_taken_between_the_steps_of_a_held_action() -> None:
    """As for a policy: frames are due at 0, 0.4, 0.8 s, actions hold for 0.3 s."""
    camera = {**SMALL, "rate_hz": 2.5}
    walker = {"start": [3.0, 1.0], "waypoints": [[3.0, -3.0]], "speed": 1.2}
    scenario = by_hand([walker], walled=True, goal=(4.5, 0.0), step_s=0.1, control_every=3, time_limit_s=2.0)
    env = CrowdEnv("Scenario", scenario=scenario, sensors=ALL, camera=camera)
    seen = [env.reset(options={"world_seed": 5})[0]] + [env.step(FORWARD)[0] for _ in range(5)]
    policy = Still()
    run_episode(env.scenario, policy, seed=5, act_limit_s=None)
    for mine, theirs in zip(seen, policy.seen[:6], strict=True):
        for name in ALL:
            assert np.array_equal(mine[name], getattr(theirs, name))
    vector = CrowdVectorEnv(2, "Scenario", pool=2, threads=2, scenario=env.scenario, sensors=ALL)
    vector.reset(seed=0)
    batch = [vector.step(np.tile(FORWARD, (2, 1)))[0] for _ in range(5)]
    vector.close()
    for mine, theirs in zip(seen[1:], batch, strict=True):
        assert np.array_equal(mine["semantic"], theirs["semantic"][0])  # the people are placed by hand


def test_a_copy_goes_on_alike() -> None:
    env = CrowdEnv("Crossing", people=2, sensors=("rgb",), camera=SMALL)
    env.reset(seed=1)
    counterfactual = copy.deepcopy(env)
    assert same(env.step(STAND)[0], counterfactual.step(STAND)[0])


def test_bad_requests() -> None:
    with pytest.raises(UnknownName, match="depth"):
        CrowdEnv(sensors=("dpeth",))
    with pytest.raises(BadInput, match="list of names"):
        CrowdEnv(sensors="rgb")
    with pytest.raises(BadInput, match="widht"):
        CrowdEnv(sensors=("rgb",), camera={"widht": 3})
