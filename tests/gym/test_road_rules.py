"""Environments that step compiled batches refuse scenarios with rules of the road, which only the referee of the
benchmark and of ``sidestep/Intersection-v0`` judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
import yaml

import sidestep.gym  # noqa: F401  registers the environments
from sidestep.errors import BadInput
from sidestep.gym.batch import EnvironmentBatch, RewardWeights
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.parallel import CrowdParallelEnv
from sidestep.gym.vector import CrowdVectorEnv
from sidestep.simulation.build import build_world
from sidestep.types import Scenario
from tests.simulation.traffic.roads import on_the_road

TO_GOAL: dict[str, Any] = {"success": "goal", "exit": None}
REFUSED = {
    "exit": on_the_road(rules={"lanes": None}),
    "lanes": on_the_road(rules=TO_GOAL),
}
ALLOWED = on_the_road(rules={**TO_GOAL, "lanes": None})
REMEDY = r"this environment does not judge rules\.{}, .*sidestep/Intersection-v0"


@pytest.mark.parametrize("rule", REFUSED)
def test_one_scenario(rule: str) -> None:
    for make in (CrowdEnv, CrowdVectorEnv):
        with pytest.raises(BadInput, match=r"scenario 'road': " + REMEDY.format(rule)):
            make(task="Scenario", scenario=REFUSED[rule])
    with pytest.raises(BadInput, match=REMEDY.format(rule)):
        CrowdParallelEnv(REFUSED[rule])
    with pytest.raises(BadInput, match=REMEDY.format(rule)):
        EnvironmentBatch([build_world(ALLOWED, 0), build_world(REFUSED[rule], 0)], RewardWeights(), rows=1)


def test_the_same_road_without_its_rules_is_driven() -> None:
    env = CrowdEnv(task="Scenario", scenario=ALLOWED)
    first, _ = env.reset(seed=0)
    seen, reward, *_ = env.step(env.action_space.sample())
    assert env.observation_space.contains(first)
    assert env.observation_space.contains(seen)
    assert np.isfinite(reward)


def test_the_intersection_suite_by_its_name() -> None:
    with pytest.raises(BadInput, match=REMEDY.format("exit")):
        gymnasium.make("sidestep.gym:sidestep/Suite-v0", suite="intersection")
    with pytest.raises(BadInput, match=REMEDY.format("exit")):
        gymnasium.make("sidestep.gym:sidestep/Scenario-v0", scenario="intersection", name="scene4-pose0-straight")
    with pytest.raises(BadInput, match=REMEDY.format("exit")):
        gymnasium.make_vec("sidestep.gym:sidestep/Suite-v0", num_envs=2, suite="intersection")


def test_a_suite_of_which_one_scenario_has_them(tmp_path: Path) -> None:
    """Refused when it is made, not when that scenario's turn comes."""

    def document(scenario: Scenario, name: str) -> dict[str, Any]:
        return {**scenario.model_dump(mode="json", exclude_defaults=True, exclude={"suite"}), "name": name}

    file = tmp_path / "mixed.yaml"
    scenarios = [document(ALLOWED, "without"), document(REFUSED["lanes"], "with")]
    file.write_text(yaml.safe_dump({"scenarios": scenarios}))
    for make in (CrowdEnv, CrowdVectorEnv):
        with pytest.raises(BadInput, match=r"scenario 'with': " + REMEDY.format("lanes")):
            make(task="Suite", suite=str(file))
        make(task="Suite", suite=str(file), scenarios=["without"])
