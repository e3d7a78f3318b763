"""Models of Stable-Baselines3 in the benchmark: as objects and as files, with the outcomes of their environment; and
files that would run code."""

from __future__ import annotations

import base64
import io
import json
import os
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from tests.needs import reason_missing

pytest.importorskip("stable_baselines3", reason=reason_missing("stable_baselines3"))

import torch
from stable_baselines3 import A2C, PPO, SAC, TD3
from stable_baselines3.common.torch_layers import CombinedExtractor

import sidestep
from sidestep.cli.app import app
from sidestep.errors import BadInput
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.sb3_file import load_sb3
from sidestep.registry import make_policy
from sidestep.runs.provenance import policy_version
from sidestep.simulation import run_episode
from tests.gym.test_policy import SCENARIOS, check_same, drive

FEW = {"n_steps": 32, "batch_size": 32, "n_epochs": 1}


@pytest.fixture(autouse=True)
def one_torch_thread() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def trained(algorithm: Any, env: CrowdEnv, **options: Any) -> Any:
    """A model after a few steps."""
    if algorithm is PPO:
        options = {**FEW, **options}
    model = algorithm("MultiInputPolicy", env, device="cpu", seed=0, **options)
    model.learn(64 if algorithm is PPO else 40)
    return model


WALLS = {"sensors": ("lidar",), "lidar": {"rays": 60, "max_range": 12.3}}


@pytest.mark.parametrize("name", ["ground", "resets", "traffic", "bicycle", "limited sight", "resets, held actions"])
@pytest.mark.parametrize("algorithm", [PPO, SAC])
def test_a_trained_model_drives_alike(algorithm: Any, name: str) -> None:
    env = CrowdEnv("Scenario", scenario=SCENARIOS[name], **WALLS)  # type: ignore[arg-type]
    model = trained(algorithm, env)
    for seed in range(3):
        check_same(env, SCENARIOS[name], model, seed)


@pytest.mark.full
@pytest.mark.parametrize("name", SCENARIOS)
@pytest.mark.parametrize("algorithm", [PPO, SAC])
def test_a_trained_model_drives_alike_under_twenty_seeds(algorithm: Any, name: str) -> None:
    env = CrowdEnv("Scenario", scenario=SCENARIOS[name], **WALLS)  # type: ignore[arg-type]
    model = trained(algorithm, env)
    for seed in range(20):
        check_same(env, SCENARIOS[name], model, seed)


@pytest.mark.parametrize("algorithm", [PPO, A2C, SAC, TD3])
def test_a_file_acts_as_its_model(algorithm: Any, tmp_path: Path) -> None:
    env = CrowdEnv("Plaza", people=4, robot="pioneer_3dx", time_limit_s=4.0, sensors=("lidar",))
    model = trained(algorithm, env)
    model.save(tmp_path / "model")
    info, steps = drive(env, model, 7)
    record = run_episode(env.scenario, f"sb3:{tmp_path / 'model.zip'}", seed=7)
    assert (record.error, record.outcome.value, record.steps) == ("", info["termination_reason"], steps)
    assert np.array_equal(record.robot_pose[-1, :2], env._environments.worlds.robot_state[0, 0, :2])


def test_networks_of_other_shapes_and_kinds(tmp_path: Path) -> None:
    env = CrowdEnv("Plaza", people=3, sensors=("grid",), grid={"size": 40}, time_limit_s=2.0)
    settings = {
        "net_arch": [16],
        "activation_fn": torch.nn.ELU,
        "features_extractor_class": CombinedExtractor,
        "features_extractor_kwargs": {"cnn_output_dim": 8},
    }
    model = trained(PPO, env, policy_kwargs=settings, use_sde=True)
    model.save(tmp_path / "model")
    policy = load_sb3(str(tmp_path / "model.zip"))
    info, steps = drive(env, model, 1)
    record = run_episode(env.scenario, policy, seed=1)
    assert (record.outcome.value, record.steps) == (info["termination_reason"], steps)


def test_the_command_line_runs_a_file_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    env = CrowdEnv("Scenario", scenario="core", name="doorway", **WALLS)  # type: ignore[arg-type]
    model = trained(PPO, env)
    model.save("model")
    info, steps = drive(env, model, 3)
    words = [
        "run",
        "core",
        "--scenario",
        "doorway",
        "--policy",
        "ppo=sb3:model.zip",
        "--seed",
        "3",
        "--out",
        "out",
    ]
    done = CliRunner().invoke(app, words)
    assert done.exit_code == 0, done.output
    [record] = sidestep.load_run("out").records()
    assert (record.error, record.outcome.value, record.steps) == ("", info["termination_reason"], steps)
    assert record.policy.name == "ppo"
    assert record.policy.version.startswith("sha256:")
    again = model.predict(env.reset(seed=0)[0], deterministic=True)
    assert np.isfinite(again[0]).all()


def test_the_version_of_a_file_is_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "model.zip"
    file.write_bytes(b"one")
    first = policy_version(f"sb3:{file}")
    file.write_bytes(b"two")
    assert first.startswith("sha256:")
    assert policy_version(f"sb3:{file}") != first


# files that would run code


class Attack:
    """Makes a file when it is unpickled."""

    def __init__(self, target: Path) -> None:
        self._target = target

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self._target),)


def with_entry(source: Path, target: Path, name: str, value: Any) -> None:
    """A copy of a saved model with one entry of its data replaced by a pickle."""
    with zipfile.ZipFile(source) as archive, zipfile.ZipFile(target, "w") as changed:
        for member in archive.namelist():
            content = archive.read(member)
            if member == "data":
                data = json.loads(content)
                data[name] = {":type:": "?", ":serialized:": base64.b64encode(pickle.dumps(value)).decode()}
                content = json.dumps(data).encode()
            changed.writestr(member, content)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.zip"
    PPO("MultiInputPolicy", CrowdEnv("Crossing", people=2), device="cpu", **FEW).save(path)
    return path


@pytest.mark.parametrize("name", ["policy_class", "observation_space", "action_space", "policy_kwargs", "lr_schedule"])
def test_code_in_a_file_is_not_run(name: str, saved: Path, tmp_path: Path) -> None:
    evil, trace = tmp_path / "evil.zip", tmp_path / "trace"
    with_entry(saved, evil, name, Attack(trace))
    if name == "lr_schedule":  # not needed, so not looked at
        load_sb3(str(evil))
    else:
        with pytest.raises(BadInput, match=r"refers to posix\.mkdir|refers to nt\.mkdir"):
            load_sb3(str(evil))
    assert not trace.exists()


def test_weights_are_not_unpickled(saved: Path, tmp_path: Path) -> None:
    evil, trace = tmp_path / "evil.zip", tmp_path / "trace"
    packed = io.BytesIO()
    torch.save({"weight": Attack(trace)}, packed)
    with zipfile.ZipFile(saved) as archive, zipfile.ZipFile(evil, "w") as changed:
        for member in archive.namelist():
            changed.writestr(member, packed.getvalue() if member == "policy.pth" else archive.read(member))
    with pytest.raises(BadInput, match="weights cannot be read"):
        load_sb3(str(evil))
    assert not trace.exists()


def test_classes_of_ones_own_need_trust(tmp_path: Path) -> None:
    env = CrowdEnv("Crossing", people=2, time_limit_s=2.0)
    model = trained(PPO, env, policy_kwargs={"features_extractor_class": OwnExtractor})
    model.save(tmp_path / "own")
    with pytest.raises(BadInput, match="set trust=true"):
        make_policy(f"sb3:{tmp_path / 'own.zip'}")
    policy = make_policy(f"sb3:{tmp_path / 'own.zip'}", {"trust": True})
    info, steps = drive(env, model, 0)
    record = run_episode(env.scenario, policy, seed=0)
    assert (record.outcome.value, record.steps) == (info["termination_reason"], steps)


class OwnExtractor(CombinedExtractor):
    """A class that no file may name."""


def test_what_is_no_model(tmp_path: Path, saved: Path) -> None:
    with pytest.raises(BadInput, match="no such file"):
        load_sb3(str(tmp_path / "none.zip"))
    (tmp_path / "text.zip").write_text("text")
    with pytest.raises(BadInput, match="not a Stable-Baselines3 file"):
        load_sb3(str(tmp_path / "text.zip"))
    with zipfile.ZipFile(tmp_path / "empty.zip", "w") as archive:
        archive.writestr("data", "{}")
    with pytest.raises(BadInput, match=r"no 'policy\.pth'"):
        load_sb3(str(tmp_path / "empty.zip"))
    with_entry(saved, tmp_path / "odd.zip", "policy_class", "text")
    with pytest.raises(BadInput, match="cannot be made"):
        load_sb3(str(tmp_path / "odd.zip"))
