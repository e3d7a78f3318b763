"""Training over a suite: which scenarios, in which order, in observations of one shape; alone and in a batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from sidestep.errors import BadInput
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.tasks import find_scenarios
from sidestep.gym.vector import CrowdVectorEnv
from tests.gym.scenes import same, stander
from tests.gym.test_vector import equal

ROOM = {"kind": "walkable", "polygon": [[-5, -5], [5, -5], [5, 5], [-5, 5]]}
BLOCK = {"kind": "obstacle", "polygon": [[1, 1], [2, 1], [2, 2], [1, 2]]}
HALL = {"name": "hall", "enclosed": True, "regions": [ROOM, BLOCK]}
ROBOT = {"spec": "pioneer_3dx", "start": [-3, 0, 0], "goal": [3, 0]}
RANDOM = {"at_end": "loop", "placement": {"kind": "random", "count": 7, "area": [-1, -4, 4, 0.8]}}
FORCES = {**RANDOM, "model": "social_force_helbing", "placement": {**RANDOM["placement"], "count": 3}}  # type: ignore[dict-item]
SCENARIOS: list[dict[str, Any]] = [
    {"name": "nobody", "rules": {"step_s": 0.25, "time_limit_s": 3}},
    {"name": "few", "crowd": [{"people": [stander(1.0, 0.5)]}], "rules": {"step_s": 0.1, "time_limit_s": 3}},
    {"name": "many", "scene": HALL, "crowd": [RANDOM], "rules": {"step_s": 0.1, "time_limit_s": 4, "control_every": 3}},
    {"name": "forces", "scene": HALL, "crowd": [FORCES], "rules": {"step_s": 0.2, "time_limit_s": 4}},
    {
        "name": "met",
        "crowd": [{"people": [stander(1.0, 2.5)]}],
        "events": [{"kind": "frontal", "at": [2, 0]}],
        "rules": {"step_s": 0.1, "time_limit_s": 4, "control_every": 2},
        "sensors": {"pedestrians": {"range_m": 2.0, "occlusion": True}},
    },
]


@pytest.fixture
def mixed(tmp_path: Path) -> str:
    """Scenarios that differ in scenes, people, crowd models, lengths of steps and what is seen."""
    file = tmp_path / "mixed.yaml"
    file.write_text(yaml.safe_dump({"defaults": {"robots": [ROBOT]}, "scenarios": SCENARIOS}))
    return str(file)


def test_a_single_environment_goes_through_the_suite(mixed: str) -> None:
    env = gymnasium.make("sidestep.gym:sidestep/Suite-v0", suite=mixed, sensors=("lidar",))
    assert env.observation_space["people"].shape == (7, 5)
    seen = []
    for episode in range(30):
        observation, info = env.reset(seed=0 if episode == 0 else None)
        assert env.observation_space.contains(observation)
        seen.append((info["scenario"], info["world_seed"]))
        _, _, _, _, info = env.step(np.zeros(2, np.float32))
        assert info["scenario"] == seen[-1][0] == env.unwrapped.scenario.name
    assert {name for name, _ in seen} == {each["name"] for each in SCENARIOS}
    again = [env.reset(seed=0 if k == 0 else None)[1] for k in range(30)]
    assert [(info["scenario"], info["world_seed"]) for info in again] == seen
    chosen, info = env.reset(options={"scenario": "many", "world_seed": 5})
    assert info["scenario"] == "many"
    alone = CrowdEnv("Scenario", scenario=mixed, name="many", sensors=("lidar",))
    assert same(chosen, alone.reset(options={"world_seed": 5})[0])
    with pytest.raises(BadInput, match="many"):
        env.reset(options={"scenario": "mani"})


class FromPool(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A single environment that takes the worlds of a vector environment's pool, in turn with its siblings."""

    def __init__(self, env: CrowdEnv, worlds: Any) -> None:
        super().__init__(env)
        self._worlds = worlds

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        name, world_seed = next(self._worlds)
        return self.env.reset(options={"scenario": name, "world_seed": world_seed})


def test_a_batch_of_different_scenarios_equals_single_environments(mixed: str) -> None:
    """Observations, rewards, endings and infos, bit for bit: neither room for larger worlds nor neighbours matter."""
    envs, options = 6, {"suite": mixed, "sensors": ("lidar", "grid"), "grid": {"size": 16}}
    native = CrowdVectorEnv(envs, "Suite", pool=60, threads=3, **options)
    observations, info = native.reset(seed=2)
    worlds = iter(list(zip(native._pool_scenarios.tolist(), native._pool_seeds.tolist(), strict=True)))
    sync = SyncVectorEnv(
        [lambda: FromPool(CrowdEnv("Suite", **options), worlds)] * envs,  # type: ignore[arg-type]
        autoreset_mode=AutoresetMode.SAME_STEP,
    )
    expected, expected_info = sync.reset()
    assert same(observations, expected)
    assert equal(info, expected_info)
    assert info["scenario"].tolist() == native.scenario_names
    rng, ended = np.random.default_rng(0), set()
    for _ in range(70):
        action = rng.uniform([0, -0.4], [1, 0.4], (envs, 2)).astype(np.float32)
        got, wanted = native.step(action), sync.step(action)
        assert same(got[0], wanted[0])
        assert [part.tolist() for part in got[1:4]] == [part.tolist() for part in wanted[1:4]]
        for of_reset in ("world_seed", "_world_seed"):
            wanted[4].pop(of_reset, None)
        assert equal(got[4], wanted[4])
        if "final_info" in got[4]:
            ended |= set(got[4]["final_info"]["scenario"][got[2] | got[3]].tolist())
    assert ended == {each["name"] for each in SCENARIOS}


def test_the_development_split_is_the_default() -> None:
    dev, _ = find_scenarios("sidewalk-unit")
    assert dev == find_scenarios("sidewalk-unit", split="dev")[0]
    assert all("dev" in scenario.tags for scenario in dev)
    test, _ = find_scenarios("sidewalk-unit", split="test")
    assert not {scenario.name for scenario in dev} & {scenario.name for scenario in test}
    straight, _ = find_scenarios("sidewalk-unit", scenarios=["straight-*"])
    assert 0 < len(straight) < len(dev)
    rainy, _ = find_scenarios("sidewalk-unit", suite_options={"weather": "rain"}, scenarios=[dev[0].name])
    assert [each.sensors.camera.weather for each in rainy] == ["rain"]


def test_a_town_is_trained_in() -> None:
    chosen: dict[str, Any] = {"suite": "sidewalk-unit", "scenarios": ["straight-alderwick"], "sensors": ("lidar",)}
    env = gymnasium.make("sidestep.gym:sidestep/Suite-v0", **chosen)
    observation, info = env.reset(seed=0)
    assert info["scenario"] == "straight-alderwick"
    assert observation["lidar"].shape == (180,)


def test_errors(mixed: str, tmp_path: Path) -> None:
    for options, why in (
        ({}, "needs suite="),
        ({"suite": mixed, "split": "dev"}, "has no splits"),
        ({"suite": mixed, "scenarios": "many"}, "list of names"),
        ({"suite": mixed, "scenarios": ["manny"]}, "many"),
        ({"suite": mixed, "people": 3}, "people"),
        ({"suite": mixed, "scenarios": []}, "no scenario was chosen"),
    ):
        with pytest.raises(BadInput, match=why):
            CrowdEnv("Suite", **options)  # type: ignore[arg-type]
    other = {**ROBOT, "spec": "point"}
    file = tmp_path / "robots.yaml"
    file.write_text(yaml.safe_dump({"scenarios": [{"name": "a", "robots": [ROBOT]}, {"name": "b", "robots": [other]}]}))
    with pytest.raises(BadInput, match="different commands"):
        CrowdEnv("Suite", suite=str(file))
    scans = [{"name": name, "sensors": {"lidar": {"rays": rays}}} for name, rays in (("a", 10), ("b", 20))]
    file.write_text(yaml.safe_dump({"defaults": {"robots": [ROBOT]}, "scenarios": scans}))
    with pytest.raises(BadInput, match="different settings of the lidar"):
        CrowdEnv("Suite", suite=str(file), sensors=("lidar",))
    CrowdEnv("Suite", suite=str(file), sensors=("lidar",), lidar={"rays": 12})
    car = [{"kind": "car", "start": [0.0, 8.0, 0.0]}]
    some = [{"name": "a"}, {"name": "b", "traffic": car}]
    file.write_text(yaml.safe_dump({"defaults": {"robots": [ROBOT]}, "scenarios": some}))
    with pytest.raises(BadInput, match="as many in all"):
        CrowdVectorEnv(2, "Suite", suite=str(file), pool=20).reset(seed=0)
