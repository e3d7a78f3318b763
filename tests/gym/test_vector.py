"""The native vector environment: equal to single ones, Gymnasium's automatic resets, seeds, threads."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers.vector import RecordEpisodeStatistics

from sidestep.errors import BadInput
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.vector import CrowdVectorEnv
from tests.gym.scenes import by_hand, same, stander

SHORT: dict[str, Any] = {"time_limit_s": 4.0}


def actions(count: int, envs: int) -> Any:
    return np.random.default_rng(7).uniform(-1, 1, (count, envs, 2)).astype(np.float32)


def equal(one: Any, other: Any) -> bool:
    """Whether two infos are equal, arrays, dictionaries and all."""
    if isinstance(one, dict):
        return (
            isinstance(other, dict)
            and one.keys() == other.keys()
            and all(equal(value, other[key]) for key, value in one.items())
        )
    if isinstance(one, np.ndarray):
        return (
            isinstance(other, np.ndarray)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and all(equal(a, b) for a, b in zip(one.tolist(), other.tolist(), strict=True))
        )
    return bool(one == other)


class FromPool(gymnasium.Wrapper[Any, Any, Any, Any]):
    """A single environment that takes the worlds of a vector environment's pool, in turn with its siblings."""

    def __init__(self, env: CrowdEnv, seeds: Iterator[int]) -> None:
        super().__init__(env)
        self._seeds = seeds

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        return self.env.reset(options={"world_seed": next(self._seeds)})


@pytest.mark.parametrize(
    "options",
    [
        {"people": 6},
        {"task": "Corridor", "robot": "pioneer_3dx", "crowd_model": "social_force_moussaid"},
        {"people": 7, "max_people": 3},
        {"task": "Doorway", "max_people": 9, "crowd_model": "social_force_helbing"},
    ],
    ids=["crossing", "corridor", "nearest", "padded"],
)
def test_equals_gymnasiums_own_vector_environment(options: dict[str, Any]) -> None:
    """Observations, rewards, endings and the whole info of ``SyncVectorEnv(autoreset_mode=SAME_STEP)``, bit for bit."""
    envs = 5
    native = CrowdVectorEnv(envs, pool=200, threads=2, **SHORT, **options)
    observations, info = native.reset(seed=11)
    seeds = iter(native._pool_seeds.tolist())
    sync = SyncVectorEnv(
        [lambda: FromPool(CrowdEnv(**SHORT, **options), seeds)] * envs, autoreset_mode=AutoresetMode.SAME_STEP
    )
    expected, expected_info = sync.reset()
    assert sync.single_observation_space == native.single_observation_space
    assert sync.observation_space == native.observation_space
    assert same(observations, expected)
    assert equal(info, expected_info)
    endings = 0
    for action in actions(60, envs):
        got, wanted = native.step(action), sync.step(action)
        assert same(got[0], wanted[0])
        assert [part.tolist() for part in got[1:4]] == [part.tolist() for part in wanted[1:4]]
        assert [part.dtype for part in got[1:4]] == [part.dtype for part in wanted[1:4]]
        for resets_info in ("world_seed", "_world_seed"):  # SyncVectorEnv also shows what reset() told
            wanted[4].pop(resets_info, None)
        assert equal(got[4], wanted[4])
        endings += int((got[2] | got[3]).sum())
    assert endings >= 15


@pytest.mark.parametrize("task", ["Crossing", "Corridor"])
def test_one_among_256_goes_the_way_of_one_alone(task: str) -> None:
    envs = 256
    native = CrowdVectorEnv(envs, task, pool=envs, people=5)
    native.reset(seed=3)
    chosen = [0, 100, 127, 128, 255]
    singles = [CrowdEnv(task, people=5) for _ in chosen]
    for env, seed in zip(singles, native.world_seeds[chosen].tolist(), strict=True):
        env.reset(options={"world_seed": seed})
    running = dict(zip(chosen, singles, strict=True))
    for action in actions(25, envs):
        observations, reward, terminated, truncated, info = native.step(action)
        for b, env in list(running.items()):
            alone = env.step(action[b])
            over = alone[2] or alone[3]
            batch = info["final_obs"][b] if over else {key: value[b] for key, value in observations.items()}
            assert same(alone[0], batch)
            assert alone[1:4] == (reward[b], terminated[b], truncated[b])
            if over:
                del running[b]
    assert len(running) < len(chosen) or task == "Crossing"


def test_threads_change_nothing() -> None:
    made = [CrowdVectorEnv(40, people=8, threads=threads, **SHORT) for threads in (1, 2, 3)]
    seen = [env.reset(seed=1)[0] for env in made]
    for action in actions(30, 40):
        assert same(seen[0], seen[1])
        assert same(seen[0], seen[2])
        seen = [env.step(action)[0] for env in made]


def test_seeds() -> None:
    env = CrowdVectorEnv(4, **SHORT)
    first, second = env.reset(seed=1)[0], env.reset()[0]
    assert not same(first, second)
    assert not same(first, env.reset(seed=2)[0])
    assert same(first, env.reset(seed=1)[0])
    assert same(second, env.reset()[0])
    assert len({tuple(row.ravel().tolist()) for row in first["people"]}) == 4


def test_the_pool_is_what_a_single_environment_with_the_seed_comes_to() -> None:
    native, single = CrowdVectorEnv(3), CrowdEnv()
    native.reset(seed=5)
    first = [single.reset(seed=5), single.reset(), single.reset()]
    assert native.world_seeds.tolist() == [info["world_seed"] for _, info in first]


def test_the_pool_is_used_in_turn() -> None:
    env = CrowdVectorEnv(2, pool=3, people=1, time_limit_s=0.5)  # every episode lasts two steps
    env.reset(seed=0)
    a, b, c = env._pool_seeds.tolist()
    seen = []
    for _ in range(8):
        seen.append(env.world_seeds.tolist())
        env.step(np.zeros((2, 2), np.float32))
    assert seen[::2] == [[a, b], [c, a], [b, c], [a, b]]


def test_a_repeated_world_is_as_new() -> None:
    env = CrowdVectorEnv(1, pool=1, people=6, time_limit_s=2.0)
    start, _ = env.reset(seed=0)
    moves = actions(8, 1)
    courses = [[env.step(action)[0] for action in moves] for _ in range(2)]
    assert all(same(one, other) for one, other in zip(*courses, strict=True))
    assert same(courses[0][-1], start)


def test_statistics_of_episodes() -> None:
    """Gymnasium's RecordEpisodeStatistics counts what a single environment gives."""
    env = RecordEpisodeStatistics(CrowdVectorEnv(3, "Scenario", scenario=by_hand([stander(2.0, 0.0)]), threads=1))
    env.reset(seed=0)
    # forward into the person: six steps; standing: forty; back: forty
    action = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]], np.float32)
    ended: list[tuple[int, int, float]] = []
    for _ in range(40):
        *_, info = env.step(action)
        ended += [
            (b, int(info["episode"]["l"][b]), float(info["episode"]["r"][b]))
            for b in np.flatnonzero(info.get("_episode", np.zeros(3, bool)))
        ]
    assert [(b, length) for b, length, _ in ended] == [*[(0, 6)] * 6, (1, 40), (2, 40)]
    assert ended[0][2] == pytest.approx(-0.25 + 0.1 * 1.5 - 0.5 * 0.25 * 0.2, abs=0.03)
    assert ended[0][2] == ended[1][2]
    assert ended[-2][2] == 0.0
    assert ended[-1][2] == pytest.approx(-0.1 * 10.0)


def test_endings_are_in_the_final_info() -> None:
    env = CrowdVectorEnv(3, "Scenario", scenario=by_hand([stander(0.0, 2.0)], time_limit_s=2.75), threads=1)
    env.reset(seed=0)
    action = np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]], np.float32)  # goal, person, time limit
    last: dict[int, str] = {}
    for _ in range(11):
        _, _, terminated, truncated, info = env.step(action)
        for b in np.flatnonzero(terminated | truncated):
            last[int(b)] = info["final_info"]["termination_reason"][b]
            assert info["final_info"]["is_success"][b] == (b == 0)
            assert bool(truncated[b]) == (b == 2)
    assert last == {0: "success", 1: "pedestrian_collision", 2: "timeout"}


def test_some_are_reset_by_a_mask() -> None:
    env = CrowdVectorEnv(3, **SHORT)
    env.reset(seed=0)
    before, *_ = env.step(np.ones((3, 2), np.float32))
    after, info = env.reset(options={"reset_mask": np.array([False, True, False])})
    assert np.array_equal(before["people"][[0, 2]], after["people"][[0, 2]])
    assert after["robot"][:, 7].tolist() == pytest.approx([0.0625, 0.0, 0.0625])
    assert info["world_seed"].tolist() == env._pool_seeds[[0, 3, 2]].tolist()
    for mask, seed in ((np.zeros(3), None), (np.ones(2, bool), None), (np.ones(3, bool), 1)):
        with pytest.raises(BadInput, match="reset_mask"):
            env.reset(seed=seed, options={"reset_mask": mask})


def test_copies_are_the_callers_to_keep_and_views_are_not() -> None:
    for copy, kept in ((True, True), (False, False)):
        env = CrowdVectorEnv(2, copy=copy)
        first, _ = env.reset(seed=0)
        old = {key: value.copy() for key, value in first.items()}
        env.step(np.ones((2, 2), np.float32))
        assert same(first, old) is kept


def test_final_observations_survive_without_copies() -> None:
    env = CrowdVectorEnv(2, copy=False, time_limit_s=0.25)
    env.reset(seed=0)
    final = env.step(np.ones((2, 2), np.float32))[4]["final_obs"][1]
    old = final["people"].copy()
    env.step(np.ones((2, 2), np.float32))
    assert np.array_equal(final["people"], old)
    assert final["robot"][7] == 1.0


@pytest.mark.parametrize("mode", [None, "vector_entry_point"])
def test_make_vec_takes_the_native_one(mode: str | None) -> None:
    env = gymnasium.make_vec("sidestep.gym:sidestep/Crossing-v0", num_envs=3, vectorization_mode=mode, people=2)
    assert isinstance(env.unwrapped, CrowdVectorEnv)
    observations, _ = env.reset(seed=0)
    assert env.observation_space.contains(observations)
    assert env.observation_space.contains(env.step(env.action_space.sample())[0])
    assert env.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    env.close()


def test_worlds_with_more_people_than_room() -> None:
    flow = {"kind": "flow", "origin": [4, -1, 5, 1], "destination": [-5, -1, -4, 1], "per_minute": 60}
    scenario = by_hand(crowd=[{"at_end": "leave", "placement": flow}], time_limit_s=3.0)
    env = CrowdVectorEnv(8, "Scenario", scenario=scenario, pool=64)
    assert env.reset(seed=0)[0]["people"].shape == env.observation_space["people"].shape
    people = {world.people for world in env._environments._pool.worlds}
    assert len(people) > 1
    for action in actions(30, 8):
        assert env.observation_space.contains(env.step(action)[0])


# errors


@pytest.mark.parametrize("shape", [(2,), (3, 2), (4, 1), (4, 2, 1), (8,)])
def test_actions_of_another_shape(shape: tuple[int, ...]) -> None:
    env = CrowdVectorEnv(4)
    env.reset(seed=0)
    with pytest.raises(BadInput, match=r"shape \(4, 2\)"):
        env.step(np.zeros(shape, np.float32))


def test_an_action_that_is_not_finite_names_the_environment_and_moves_nobody() -> None:
    env = CrowdVectorEnv(4, threads=2)
    before, _ = env.reset(seed=0)
    wrong = np.ones((4, 2), np.float32)
    wrong[3, 1] = np.nan
    with pytest.raises(BadInput, match="environment 3 is not finite"):
        env.step(wrong)
    assert same(before, env._observations())


def test_misuse() -> None:
    with pytest.raises(ResetNeeded, match="reset"):
        CrowdVectorEnv(2).step(np.zeros((2, 2), np.float32))
    for options in ({"num_envs": 0}, {"num_envs": 4, "pool": 3}, {"threads": 0}, {"render_mode": "rgb_array"}):
        with pytest.raises(BadInput):
            CrowdVectorEnv(**options)


# threads


def sidestep_threads() -> int:
    return sum(thread.name == "sidestep-worker" for thread in threading.enumerate())


def wait_for(count: int) -> None:
    for thread in [thread for thread in threading.enumerate() if thread.name == "sidestep-worker"]:
        if sidestep_threads() > count:
            thread.join(timeout=2)
    assert sidestep_threads() == count


def test_close_and_forgetting_end_the_threads() -> None:
    gc.collect()
    before = sidestep_threads()
    for close in (True, False):
        env = CrowdVectorEnv(6, threads=3)
        for _ in range(2):  # a new pool does not mean new threads
            env.reset(seed=0)
            env.step(np.zeros((6, 2), np.float32))
            assert sidestep_threads() == before + 2
        if close:
            env.close()
        del env
        gc.collect()
        wait_for(before)


def test_python_ends_with_an_open_environment() -> None:
    program = (
        "import gymnasium, numpy, sidestep.gym\n"
        "env = gymnasium.make_vec('sidestep.gym:sidestep/Crossing-v0', num_envs=64, threads=2)\n"
        "env.reset(seed=0)\n"
        "env.step(numpy.zeros((64, 2)))\n"
        "print('stepped')\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout == "stepped\n"
