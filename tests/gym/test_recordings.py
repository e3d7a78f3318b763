"""Environments among recorded people."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sidestep.gym.environment import CrowdEnv
from sidestep.gym.vector import CrowdVectorEnv
from tests.gym.scenes import STAND

SCENARIO = """
name: recorded
robots: [{spec: point, start: [0, 0, 0], goal: [20, 0]}]
crowd: [{model: replay, placement: {kind: replay, path: walk.txt}}]
rules: {step_s: 0.25, time_limit_s: 2.0}
"""


@pytest.fixture
def scenario(tmp_path: Path) -> Path:
    """Person 7 walks at 1 m/s along y = 3 for 4 s; person 9 is there in the second second only."""
    rows = [f"{frame} 7 {0.25 * frame:g} 3" for frame in range(17)]
    rows += [f"{frame} 9 5 {0.25 * frame:g}" for frame in range(4, 9)]
    (tmp_path / "walk.txt").write_text("# rate_hz: 4\n" + "\n".join(rows) + "\n", encoding="utf-8")
    (tmp_path / "recorded.yaml").write_text(SCENARIO, encoding="utf-8")
    return tmp_path / "recorded.yaml"


def test_one_environment(scenario: Path) -> None:
    env = CrowdEnv("Scenario", scenario=scenario)
    for _ in range(2):  # a second episode is like the first
        observation, _ = env.reset()
        assert observation["mask"].tolist() == [1, 0]
        assert observation["people"][0] == pytest.approx([0.0, 3.0, 1.0, 0.0, 0.25], abs=1e-5)
        for step in range(1, 9):
            observation, _, _, truncated, _ = env.step(STAND)
            assert observation["people"][0, :2] == pytest.approx([0.25 * step, 3.0], abs=1e-5)
            assert observation["mask"].tolist() == [1, int(4 <= step <= 8)]
        assert truncated


def test_the_vector_environment(scenario: Path) -> None:
    env = CrowdVectorEnv(3, "Scenario", scenario=scenario, pool=4)
    first, _ = env.reset(seed=0)
    for step in range(1, 9):
        observations, _, _, truncated, info = env.step(np.zeros((3, 2), np.float32))
        expected = 0.25 * step if step < 8 else 0.0
        assert observations["people"][:, 0, 0] == pytest.approx([expected] * 3, abs=1e-5)
    assert truncated.all()
    assert info["final_obs"][2]["people"][0, 0] == pytest.approx(2.0)
    assert np.array_equal(first["people"], observations["people"])
