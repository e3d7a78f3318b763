"""Stable-Baselines3 trains on one environment and on the native batch, unchanged."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest

from tests.needs import reason_missing

pytest.importorskip("stable_baselines3", reason=reason_missing("stable_baselines3"))

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_checker import check_env
from stable_baselines3.common.vec_env import VecMonitor

from sidestep.errors import BadInput
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.sb3 import CrowdVecEnv
from tests.gym.scenes import by_hand, stander


@pytest.fixture(autouse=True)
def one_torch_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.mark.filterwarnings("ignore:.*unconventional shape:UserWarning")
@pytest.mark.filterwarnings("error:.*:UserWarning")
@pytest.mark.parametrize("options", [{}, {"task": "Doorway", "robot": "pioneer_3dx"}], ids=["point", "pioneer"])
def test_their_check(options: dict[str, Any]) -> None:
    check_env(CrowdEnv(**options))


def weights_of(model: Any) -> Any:
    return torch.cat([weight.detach().ravel() for weight in model.policy.parameters()])


def test_ppo_on_one_environment() -> None:
    env = gymnasium.make("sidestep.gym:sidestep/Crossing-v0", people=3, time_limit_s=5.0)
    model = PPO("MultiInputPolicy", env, n_steps=250, batch_size=125, n_epochs=2, device="cpu", seed=0)
    before = weights_of(model)
    model.learn(2000)
    assert model.num_timesteps >= 2000
    assert len(model.ep_info_buffer) > 10
    assert model.ep_success_buffer is not None
    assert (weights_of(model) != before).any()
    assert torch.isfinite(weights_of(model)).all()


def test_ppo_on_the_native_batch() -> None:
    env = VecMonitor(CrowdVecEnv(20, people=3, time_limit_s=5.0))
    model = PPO("MultiInputPolicy", env, n_steps=50, batch_size=250, n_epochs=2, device="cpu", seed=0)
    before = weights_of(model)
    model.learn(2000)
    assert model.num_timesteps == 2000
    assert len(model.ep_info_buffer) > 10
    assert len(model.ep_success_buffer) > 10
    assert (weights_of(model) != before).any()
    actions, _ = model.predict(env.reset(), deterministic=True)
    assert actions.shape == (20, 2)
    env.close()


def test_infos_of_endings() -> None:
    env = CrowdVecEnv(3, task="Scenario", scenario=by_hand([stander(0.0, 2.0)], time_limit_s=2.75), threads=1)
    env.reset()
    action = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], np.float32)  # goal, person, time limit
    last: dict[int, dict[str, Any]] = {}
    for _ in range(11):
        observations, rewards, done, infos = env.step(action)
        assert rewards.dtype == np.float32
        for b in range(3):
            assert bool(infos[b]) == bool(done[b])
            if done[b]:
                last[b] = infos[b]
                assert observations["robot"][b, 7] == 0.0
                assert infos[b]["terminal_observation"]["robot"][7] > 0.0
    assert [(last[b]["is_success"], last[b]["TimeLimit.truncated"]) for b in range(3)] == [
        (True, False),
        (False, False),
        (False, True),
    ]
    assert [last[b]["termination_reason"] for b in range(3)] == ["success", "pedestrian_collision", "timeout"]


def test_seeds() -> None:
    env = CrowdVecEnv(2)
    env.seed(4)
    first = env.reset()
    env.seed(4)
    assert np.array_equal(first["people"], env.reset()["people"])
    assert not np.array_equal(first["people"], env.reset()["people"])


def test_attributes() -> None:
    env = CrowdVecEnv(3)
    assert [scenario.name for scenario in env.get_attr("scenario", [0, 2])] == ["crossing"] * 2
    assert env.env_is_wrapped(VecMonitor) == [False] * 3
    for call in (lambda: env.set_attr("copy", True), lambda: env.env_method("render")):
        with pytest.raises(BadInput):
            call()
