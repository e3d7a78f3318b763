"""What a model was trained with, beside it: differences are told, VecNormalize acts as in training, no pickle."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("stable_baselines3", reason="pip install 'sidestep[learn]'")

from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor, VecNormalize

import sidestep.gym
from sidestep.cli.app import app
from sidestep.errors import BadInput
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.sb3 import CrowdVecEnv
from sidestep.gym.sb3_file import load_sb3
from sidestep.gym.training import differences, read_notes, training_notes
from sidestep.runs.provenance import policy_version
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import Scenario

POINT = Scenario.parse(
    {
        "name": "open",
        "robots": [{"spec": "point", "start": [0, 0, 0], "goal": [4, 0]}],
        "crowd": [{"people": [{"start": [2, 1]}]}],
        "rules": {"step_s": 0.25, "time_limit_s": 2},
    },
    "",
)
FEW = {"n_steps": 16, "batch_size": 16, "n_epochs": 1, "device": "cpu", "seed": 0}


def changed(**robot: Any) -> Scenario:
    data = POINT.model_dump(mode="json", exclude_unset=True)
    data["robots"][0] |= robot
    return Scenario.parse(data, "")


def trained(**options: Any) -> Any:
    env = VecMonitor(CrowdVecEnv(1, task="Scenario", scenario=POINT, pool=2, threads=1, **options))
    return PPO("MultiInputPolicy", env, **FEW).learn(16)


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.zip"
    sidestep.gym.save_model(trained(sensors=("lidar",), lidar={"rays": 9, "angle_min": 0.0}), path)
    return path


@pytest.fixture(scope="module")
def normalized(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Any, Any]:
    """A model that was trained with VecNormalize, its folder and the VecNormalize."""
    folder = tmp_path_factory.mktemp("normalized")
    env = VecNormalize(DummyVecEnv([lambda: CrowdEnv("Scenario", scenario=POINT)]), norm_obs_keys=["robot", "people"])
    model = PPO("MultiInputPolicy", env, **FEW).learn(64)
    sidestep.gym.save_model(model, folder / "model.zip")
    return folder, model, env


def test_the_notes_hold_robot_rate_and_sensors(saved: Path) -> None:
    notes = read_notes(saved.with_name("model.sidestep.json"))
    assert notes.training is not None
    [robot] = notes.training.robots
    assert (robot.dynamics, robot.control_s) == ("holonomic", 0.25)
    assert robot.limits["max_speed"] == load_robot("point").limits.max_speed
    assert notes.training.lidar is not None
    assert (notes.training.lidar["rays"], notes.training.lidar["angle_min"]) == (9, 0.0)
    assert notes.normalization is None


def test_settings_of_sensors_are_taken_from_the_notes(saved: Path) -> None:
    policy = load_sb3(str(saved))
    assert policy.sensor_settings["learning"]["lidar"]["angle_min"] == 0.0
    record = run_episode(POINT, policy, seed=1)
    assert record.error == ""


def test_a_scenario_as_in_training_is_no_news_and_any_other_is_told(saved: Path) -> None:
    assert training_notes(saved, [POINT], None) == []
    slower = load_robot("point").model_dump(mode="json")
    slower["limits"]["max_speed"] = 0.5
    [line] = training_notes(saved, [POINT, changed(spec=slower)], None)
    assert "1 of 2 scenarios, such as 'open': max_speed" in line
    assert ", here 0.5" in line
    other = POINT.model_copy(update={"rules": POINT.rules.model_copy(update={"control_every": 2})})
    [line] = training_notes(saved, [other], None)
    assert "seconds between two actions 0.25, here 0.5" in line
    [line] = training_notes(saved, [changed(spec="pioneer_3dx")], None)
    assert "dynamics holonomic, here unicycle" in line


def test_of_several_robots_of_training_the_nearest_counts(saved: Path) -> None:
    notes = read_notes(saved.with_name("model.sidestep.json"))
    assert notes.training is not None
    [robot] = notes.training.robots
    both = notes.training.model_copy(update={"robots": (robot, robot.model_copy(update={"control_s": 0.5}))})
    assert differences(both, load_robot("point"), 0.5) == []
    assert differences(both, load_robot("point"), 0.1) == ["seconds between two actions 0.25, here 0.1"]


def test_an_episode_warns_too(saved: Path) -> None:
    with pytest.warns(UserWarning, match="model: trained otherwise: dynamics holonomic, here unicycle"):
        run_episode(changed(spec="pioneer_3dx"), load_sb3(str(saved)), seed=0)


def test_the_command_warns_of_a_model_of_which_nothing_is_known(tmp_path: Path) -> None:
    model = trained()
    model.save(tmp_path / "bare.zip")
    suite = tmp_path / "own.yaml"
    suite.write_text(json.dumps(POINT.model_dump(mode="json", exclude_unset=True)))
    command = ["run", str(suite), "--policy", f"bare=sb3:{tmp_path / 'bare.zip'}", "--out", str(tmp_path / "run")]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    told = " ".join(done.stderr.split())
    assert "warning: bare: bare.zip: has no bare.sidestep.json beside it" in told
    assert "sidestep.gym.save_model" in told


def test_a_normalized_model_acts_as_in_training(normalized: tuple[Path, Any, Any]) -> None:
    """The same actions as VecNormalize and the model together, and others than the model alone."""
    folder, model, env = normalized
    env.training = False
    policy = load_sb3(str(folder / "model.zip"))
    assert policy.normalize is not None
    observation = {name: np.asarray(value)[0] for name, value in env.venv.reset().items()}
    found = policy.normalize(observation)
    for name, value in env.normalize_obs(observation).items():
        assert np.array_equal(found[name], value), name
    assert not np.array_equal(found["robot"], observation["robot"])
    record = run_episode(POINT, policy, seed=3)
    alone = load_sb3(str(folder / "model.zip"))
    alone.normalize = None
    assert record.error == ""
    assert record.digest != run_episode(POINT, alone, seed=3).digest

    def predict(seen: dict[str, Any]) -> Any:
        return model.predict(env.normalize_obs(seen), deterministic=True)[0]

    same = sidestep.gym.as_policy(predict, observation_space=CrowdEnv("Scenario", scenario=POINT).observation_space)
    assert run_episode(POINT, same, seed=3).robot_pose.tolist() == record.robot_pose.tolist()


def test_statistics_can_be_given_as_a_file(normalized: tuple[Path, Any, Any], tmp_path: Path) -> None:
    folder, model, env = normalized
    model.save(tmp_path / "bare.zip")
    sidestep.gym.save_normalization(env, tmp_path / "statistics.json")
    given = load_sb3(str(tmp_path / "bare.zip"), normalize=str(tmp_path / "statistics.json"))
    beside = load_sb3(str(folder / "model.zip"))
    records = [run_episode(POINT, policy, seed=2) for policy in (given, beside)]
    assert records[0].robot_pose.tolist() == records[1].robot_pose.tolist()


class Bomb:
    def __reduce__(self) -> Any:
        return Path.touch, (Path("exploded"),)


def test_a_pickle_is_not_read_and_the_remedy_is_named(
    normalized: tuple[Path, Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vecnormalize.pkl").write_bytes(pickle.dumps(Bomb()))
    (tmp_path / "renamed.json").write_bytes(pickle.dumps(Bomb()))
    model = str(normalized[0] / "model.zip")
    with pytest.raises(BadInput, match=r"save_normalization\(VecNormalize\.load"):
        load_sb3(model, normalize="vecnormalize.pkl")
    with pytest.raises(BadInput, match=r"renamed\.json"):
        load_sb3(model, normalize="renamed.json")
    assert not Path("exploded").exists()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"normalization": {"mean": {"robot": [0]}, "variance": {"robot": [1]}}}, "1 means of 'robot'; .* 8 numbers"),
        ({"normalization": {"mean": {"nose": [0]}, "variance": {"nose": [1]}}}, "statistics of nose"),
        ({"normalization": {"mean": {"robot": [0] * 8}, "variance": {"robot": [-1] * 8}}}, "at least 0"),
        ({"format": "other"}, "format: must be sidestep-model"),
        ({"trainig": None}, "unknown key 'trainig'; did you mean 'training'"),
    ],
)
def test_notes_that_do_not_fit(
    normalized: tuple[Path, Any, Any], tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    file = tmp_path / "notes.json"
    file.write_text(json.dumps(change))
    with pytest.raises(BadInput, match=message):
        load_sb3(str(normalized[0] / "model.zip"), normalize=str(file))


def test_notes_are_part_of_the_version_of_a_policy(saved: Path, tmp_path: Path) -> None:
    for name in ("model.zip", "model.sidestep.json"):
        (tmp_path / name).write_bytes((saved.parent / name).read_bytes())
    before = policy_version(f"sb3:{tmp_path / 'model.zip'}")
    (tmp_path / "model.sidestep.json").unlink()
    assert policy_version(f"sb3:{tmp_path / 'model.zip'}") != before


def test_what_was_not_trained_here_is_saved_otherwise(tmp_path: Path) -> None:
    model = trained()
    model.env = None
    with pytest.raises(BadInput, match="has no environment"):
        sidestep.gym.save_model(model, tmp_path / "model.zip")
    assert not list(tmp_path.iterdir())
