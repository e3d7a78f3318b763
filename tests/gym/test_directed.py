"""People who are directed do the same in environments as in episodes."""

from __future__ import annotations

import numpy as np

from sidestep.gym.batch import EnvironmentBatch, RewardWeights
from sidestep.kernels import layout
from sidestep.policies.trivial import Stop
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
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
