"""The same scenario, seed and policy give the same digest, whatever runs beside it."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.policies.trivial import Straight
from sidestep.simulation import Worlds, build_world, run_episode, run_episodes
from sidestep.simulation.loop import Episode, describe_policy
from sidestep.types import Scenario
from tests.simulation.scenarios import crossing, make, room

MODELS = ["orca", "social_force_helbing", "social_force_moussaid"]


def walled(model: str) -> Scenario:
    part = {
        "model": model,
        "at_end": "loop",
        "placement": {"kind": "random", "count": 7, "area": [-2.6, -2.6, 2.6, 2.6]},
    }
    robots = [{"spec": "point", "start": [-2.5, -2.5, 0.8], "goal": [2.5, 2.5]}]
    return make(name=f"walled-{model}", scene=room(), crowd=[part], robots=robots)


def digests(scenarios: list[Scenario], threads: int) -> list[str]:
    episodes = [
        Episode(build_world(s, seed), Straight(), describe_policy(Straight())) for seed, s in enumerate(scenarios)
    ]
    return [record.digest for record in run_episodes(episodes, threads)]


def test_two_runs_are_equal_and_seeds_differ() -> None:
    first, again, other = (run_episode(crossing(), Straight(), seed=seed) for seed in (1, 1, 2))
    assert first.digest == again.digest
    assert first.digest != other.digest


@pytest.mark.parametrize("threads", [1, 2])
def test_batch_of_256_equals_one_at_a_time(threads: int) -> None:
    """Different scenes, models and numbers of people side by side: padding and neighbours leave no trace."""
    kinds = [crossing(4 + k, model) for k, model in enumerate(MODELS)] + [walled(model) for model in MODELS]
    scenarios = [kinds[k % len(kinds)] for k in range(256)]
    together = digests(scenarios, threads)
    for seed in (0, 1, 2, 3, 4, 5, 128, 255):
        assert together[seed] == run_episode(scenarios[seed], Straight(), seed=seed).digest


def test_large_worlds_agree_with_themselves_when_padded() -> None:
    """A world of 60 people (neighbour grid) is the same beside one of 90."""
    small, large = crossing(60, name="small"), crossing(90, name="large")
    alone = run_episode(small, Straight(), seed=0).digest
    episodes = [Episode(build_world(s, 0), Straight(), describe_policy(Straight())) for s in (small, large)]
    assert run_episodes(episodes)[0].digest == alone


def test_adding_a_crowd_part_leaves_the_others_where_they_were() -> None:
    part = {"model": "orca", "placement": {"kind": "random", "count": 3, "area": [-2, -2, 2, 2]}}
    one, two = build_world(make(crowd=[part]), 5), build_world(make(crowd=[part, {**part, "model": "static"}]), 5)
    np.testing.assert_array_equal(one.agents[:2, :3], two.agents[:2, :3])


def test_stopped_worlds_stay_as_they_are() -> None:
    worlds = Worlds([build_world(crossing(), seed) for seed in range(3)])
    worlds.running[1] = 0
    before = worlds.agents[1].copy()
    worlds.step()
    np.testing.assert_array_equal(worlds.agents[1], before)
    assert worlds.clock.tolist() == [1, 0, 1]
