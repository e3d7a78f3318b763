"""One environment: Gymnasium's own check over everything registered, endings, rewards, seeds, errors."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

import sidestep.gym
from sidestep.errors import BadInput, UnknownName
from sidestep.gym.batch import RewardWeights
from sidestep.gym.environment import CrowdEnv
from sidestep.interfaces import Policy
from sidestep.simulation import run_episode
from sidestep.types import HolonomicVelocity, Observation, Task
from tests.gym.scenes import FORWARD, STAND, by_hand, drive, environment, same, stander

FLOW = """
name: stream
scene: {name: hall, enclosed: true, regions: [{kind: walkable, polygon: [[-8, -2], [8, -2], [8, 2], [-8, 2]]}]}
robots: [{spec: pioneer_3dx, start: [-7, 0, 0], goal: [7, 0]}]
crowd:
  - model: social_force_helbing
    at_end: leave
    placement: {kind: flow, origin: [6, -1, 7, 1], destination: [-7, -1, -6, 1], per_minute: 30, group_share: 0.3}
rules: {step_s: 0.05, control_every: 2, time_limit_s: 20}
"""

VARIANTS: list[dict[str, Any]] = [
    {"task": "Crossing", "people": 0},
    {"task": "Crossing", "people": 1, "max_people": 7},
    {"task": "Crossing", "people": 9, "max_people": 3},
    {"task": "Crossing", "robot": "pioneer_3dx", "sees_robot": False},
    {"task": "Plaza", "robot": "delivery_robot", "people": 3},
    {"task": "Crossing", "robot": "car", "people": 2},
    {"task": "Corridor", "crowd_model": "social_force_helbing"},
    {"task": "Doorway", "crowd_model": "social_force_moussaid"},
    {"task": "Scenario", "scenario": "core", "name": "doorway"},
]


@pytest.fixture
def flow_file(tmp_path: Path) -> str:
    file = tmp_path / "stream.yaml"
    file.write_text(FLOW, encoding="utf-8")
    return str(file)


@contextmanager
def no_warning_but_of_infinite_spaces() -> Iterator[None]:
    """Distances have no bound, and Gymnasium warns of that."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*infinity")
        yield


@pytest.mark.parametrize("name", sidestep.gym.IDS)
def test_registered_ids_pass_gymnasiums_check(name: str, flow_file: str) -> None:
    more: dict[str, dict[str, Any]] = {
        "Scenario": {"scenario": flow_file},
        "Suite": {"suite": "catalogue", "scenarios": ["frontal-*"], "sensors": ("lidar", "grid")},
    }
    options = more.get(name, {})
    with no_warning_but_of_infinite_spaces():
        check_env(gymnasium.make(f"sidestep.gym:sidestep/{name}-v0", render_mode="rgb_array", **options).unwrapped)


@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: "-".join(str(value) for value in options.values()))
def test_options_pass_gymnasiums_check(options: dict[str, Any]) -> None:
    with no_warning_but_of_infinite_spaces():
        check_env(CrowdEnv(**options), skip_render_check=True)


def test_an_id_makes_the_environment() -> None:
    assert isinstance(gymnasium.make("sidestep/Crossing-v0").unwrapped, CrowdEnv)


# seeds


def rollout(env: Any, steps: int = 60, seed: int | None = None) -> list[tuple[Any, ...]]:
    """Observations, rewards and endings of ``steps`` steps over as many episodes as it takes."""
    observation, _ = env.reset(seed=seed)
    seen: list[tuple[Any, ...]] = [(observation, 0.0, False, False)]
    rng = np.random.default_rng(1)
    for _ in range(steps):
        seen.append(env.step(rng.uniform(-1, 1, 2).astype(np.float32))[:4])
        if seen[-1][2] or seen[-1][3]:
            seen.append((env.reset()[0], 0.0, False, False))
    return seen


def test_same_seed_same_episodes() -> None:
    one, other = CrowdEnv(people=12, time_limit_s=5.0), CrowdEnv(people=12, time_limit_s=5.0)
    for (a, *rest), (b, *others) in zip(rollout(one, seed=3), rollout(other, seed=3), strict=True):
        assert same(a, b)
        assert rest == others


def test_seeds_differ_and_a_reset_without_seed_goes_on() -> None:
    env = CrowdEnv()
    first = [env.reset(seed=1)[0], env.reset()[0], env.reset()[0], env.reset(seed=2)[0]]
    for a, b in pairwise(first):
        assert not np.array_equal(a["people"], b["people"])
    again = [env.reset(seed=1)[0], env.reset()[0]]
    assert same(first[0], again[0])
    assert same(first[1], again[1])


def test_a_world_comes_back_by_its_seed() -> None:
    env = CrowdEnv()
    env.reset(seed=1)
    wanted, info = env.reset()
    assert info["world_seed"] == env.world_seed
    other = CrowdEnv()
    assert same(other.reset(seed=99, options={"world_seed": info["world_seed"]})[0], wanted)


def test_an_unseeded_environment_differs_from_the_next() -> None:
    assert not same(CrowdEnv().reset()[0], CrowdEnv().reset()[0])


# endings


def test_goal() -> None:
    # 3 m at 1 m/s, reached 0.3 m before: after 2.75 s, 11 steps of 0.25 s
    steps, _, terminated, truncated, info = drive(environment(by_hand()), FORWARD)
    assert (steps, terminated, truncated) == (11, True, False)
    assert info == {"is_success": True, "termination_reason": "success"}


def test_person() -> None:
    # surfaces meet 0.3 m + 0.25 m before 2 m: after 1.45 s, in the sixth step
    env = environment(by_hand([stander(2.0, 0.0)]))
    steps, _, terminated, truncated, info = drive(env, FORWARD)
    assert (steps, terminated, truncated) == (6, True, False)
    assert info == {"is_success": False, "termination_reason": "pedestrian_collision"}


def test_wall() -> None:
    # the wall is at 5 m, the robot's surface there after 4.7 s, in step 19
    steps, _, terminated, truncated, info = drive(environment(by_hand(goal=(-3.0, 0.0), walled=True)), FORWARD)
    assert (steps, terminated, truncated) == (19, True, False)
    assert info == {"is_success": False, "termination_reason": "environment_collision"}


@pytest.mark.parametrize(("limit", "step", "steps"), [(10.0, 0.25, 40), (10.0, 0.3, 33), (0.3, 0.25, 1), (1.0, 1.0, 1)])
def test_time_limit(limit: float, step: float, steps: int) -> None:
    """As many steps as ``Rules.max_steps`` says, which rounds."""
    scenario = by_hand(time_limit_s=limit, step_s=step)
    counted, _, terminated, truncated, info = drive(environment(scenario), STAND)
    assert counted == steps == scenario.rules.max_steps
    assert (terminated, truncated) == (False, True)
    assert info == {"is_success": False, "termination_reason": "timeout"}


def test_the_goal_in_the_last_step_is_a_success() -> None:
    assert drive(environment(by_hand(time_limit_s=2.75)), FORWARD)[4]["is_success"]
    assert drive(environment(by_hand(time_limit_s=2.5)), FORWARD)[4]["termination_reason"] == "timeout"


def test_a_contact_on_the_way_into_the_goal_is_a_collision() -> None:
    # both in the eleventh step: the goal at 2.7 m, the contact at 2.72 m
    env = environment(by_hand([stander(3.27, 0.0)]))
    steps, *_, info = drive(env, FORWARD)
    assert (steps, info["termination_reason"]) == (11, "pedestrian_collision")


def test_running_steps_say_so() -> None:
    _, _, terminated, truncated, info = environment(by_hand()).step(FORWARD)
    assert not terminated
    assert not truncated
    assert info == {"is_success": False, "termination_reason": ""}


def test_control_every_holds_the_action() -> None:
    fine = environment(by_hand(step_s=0.05, control_every=5))
    observation, reward, *_ = fine.step(FORWARD)
    assert observation["robot"][0] == pytest.approx(2.75)
    assert observation["robot"][7] == pytest.approx(0.25 / 10.0)
    assert reward == pytest.approx(0.1 * 0.25)
    # reached after 2.7 s + one step of 0.05 s at most: within the eleventh action, which is cut short
    steps, *_, info = drive(fine, FORWARD)
    assert (steps, info["termination_reason"]) == (10, "success")
    assert fine._environments.worlds.clock[0] in (54, 55)


# rewards


def test_reward_of_the_goal_and_progress() -> None:
    _, total, *_ = drive(environment(by_hand()), FORWARD)
    assert total == pytest.approx(1.0 + 0.1 * 2.75)
    weights = RewardWeights(success=5.0, progress=0.0, time=0.2)
    _, total, *_ = drive(environment(by_hand(), weights=weights), FORWARD)
    assert total == pytest.approx(5.0 - 0.2 * 2.75)


def test_reward_of_a_collision() -> None:
    _, total, *_ = drive(environment(by_hand([stander(2.0, 0.0)]), weights=RewardWeights(discomfort=0.0)), FORWARD)
    assert total == pytest.approx(-0.25 + 0.1 * 1.5)


def test_reward_of_discomfort() -> None:
    # standing 0.15 m from a person: 0.5 per s and m, 0.05 m inside, for 0.25 s
    env = environment(by_hand([stander(0.0, 0.3 + 0.25 + 0.15)]))
    assert env.step(STAND)[1] == pytest.approx(-0.5 * 0.05 * 0.25, rel=1e-4)
    env = environment(by_hand([stander(0.0, 0.3 + 0.25 + 0.25)]))
    assert env.step(STAND)[1] == 0.0


def test_weights_are_checked() -> None:
    with pytest.raises(BadInput, match="success must be finite"):
        RewardWeights(success=float("nan"))
    with pytest.raises(BadInput, match="at least 0 m"):
        RewardWeights(discomfort_distance=-1.0)


# actions


def test_actions_span_the_robots_limits() -> None:
    env = environment(by_hand(robot="pioneer_3dx"))  # 0 … 1.2 m/s, -1.1 … 1.1 rad/s, no inertia
    observation = env.step(np.array([1.0, 1.0], np.float32))[0]
    assert observation["robot"][2] == pytest.approx(1.2)
    assert observation["robot"][4] == pytest.approx(1.1)
    assert env.step(np.array([-1.0, 0.0], np.float32))[0]["robot"][2] == pytest.approx(0.0)


def test_actions_beyond_the_limits_are_cut() -> None:
    env = environment(by_hand())
    assert env.step(np.array([50.0, 0.0], np.float32))[0]["robot"][0] == pytest.approx(2.75)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf")])
def test_a_number_that_is_not_finite_is_an_error_and_moves_nothing(value: float) -> None:
    env = environment(by_hand())
    with pytest.raises(BadInput, match="not finite"):
        env.step(np.array([0.5, value], np.float32))
    assert env.step(FORWARD)[0]["robot"][0] == pytest.approx(2.75)


@pytest.mark.parametrize("action", [1.0, [1.0], [1.0, 0.0, 0.0], np.zeros((1, 2)), np.zeros((2, 2)), "ab", None])
def test_an_action_of_another_shape_is_an_error(action: Any) -> None:
    with pytest.raises(BadInput, match="two numbers"):
        environment(by_hand()).step(action)


def test_a_list_is_an_action_too() -> None:
    assert environment(by_hand()).step([1, 0])[0]["robot"][0] == pytest.approx(2.75)


# misuse


def test_steps_need_a_reset() -> None:
    env = CrowdEnv("Scenario", scenario=by_hand())
    with pytest.raises(ResetNeeded):
        env.step(STAND)
    env.reset()
    drive(env, FORWARD)
    with pytest.raises(ResetNeeded, match="reset"):
        env.step(STAND)
    env.reset()
    env.step(STAND)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"task": "Crosing"}, "did you mean 'Crossing'"),
        ({"peple": 3}, "did you mean 'people'"),
        ({"task": "Scenario"}, "needs scenario=FILE"),
        ({"task": "Scenario", "scenario": by_hand(), "people": 3}, "unknown option 'people'"),
        ({"scenario": by_hand()}, "unknown option 'scenario'"),
        ({"task": "Scenario", "scenario": "core"}, "choose one by name"),
        ({"task": "Scenario", "scenario": "core", "name": "dorway"}, "did you mean 'doorway'"),
        ({"task": "Scenario", "scenario": "nowhere.yaml"}, "no such suite file"),
        ({"render_mode": "human"}, "render_mode"),
        ({"max_people": 0}, "at least 1"),
        ({"people": -1}, "count"),
    ],
)
def test_wrong_options_say_what_to_do(options: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        CrowdEnv(**options)


def test_wrong_reset_option() -> None:
    with pytest.raises(UnknownName, match="world_seed"):
        CrowdEnv().reset(options={"world": 3})


def test_several_robots_need_the_other_environment() -> None:
    two = [{"spec": "point", "start": [0, 4 * k, 0], "goal": [3, 4 * k]} for k in range(2)]
    with pytest.raises(BadInput, match="CrowdParallelEnv"):
        CrowdEnv("Scenario", scenario=by_hand(robots=two))


def test_a_scenario_file_brings_its_own_paths(tmp_path: Path) -> None:
    (tmp_path / "hall.yaml").write_text(
        "name: hall\nenclosed: true\nregions: [{kind: walkable, polygon: [[-2, -2], [2, -2], [2, 2], [-2, 2]]}]\n",
        encoding="utf-8",
    )
    (tmp_path / "mine.yaml").write_text(
        "name: mine\nscene: hall.yaml\nrobots: [{spec: point, start: [0, 0, 0], goal: [1, 0]}]\n", encoding="utf-8"
    )
    env = CrowdEnv("Scenario", scenario=tmp_path / "mine.yaml")
    env.reset(seed=0)
    assert drive(env, [0.0, 1.0])[4]["termination_reason"] == "environment_collision"


# the rest


def test_a_copy_goes_its_own_way() -> None:
    env = environment(by_hand([stander(2.0, 0.0)]))
    env.step(FORWARD)
    counterfactual = copy.deepcopy(env)
    for _ in range(3):
        kept = env.step(STAND)
    assert counterfactual.step(FORWARD)[0]["robot"][0] == pytest.approx(2.5)
    assert kept[0]["robot"][0] == pytest.approx(2.75)


def test_observations_are_the_callers_to_keep() -> None:
    env = environment(by_hand([stander(2.0, 1.0)]))
    first = env.step(FORWARD)[0]
    kept = copy.deepcopy(first)
    env.step(FORWARD)
    env.reset()
    assert same(first, kept)


class Scripted(Policy):
    """Plays the same velocities as the environment gets."""

    needs = frozenset({"goal"})
    name = "scripted"

    def __init__(self, velocities: Any) -> None:
        self.velocities = velocities

    def reset(self, task: Task) -> None:
        self.count = 0

    def act(self, observation: Observation) -> HolonomicVelocity:
        self.count += 1
        return HolonomicVelocity(*self.velocities[self.count - 1].tolist())


def test_environments_step_the_benchmarks_worlds() -> None:
    """The same velocities in the same world give, to the last bit, the course of a benchmark's episode."""
    env = CrowdEnv("Plaza", time_limit_s=5.0)
    env.reset(options={"world_seed": 5})
    velocities = np.random.default_rng(2).uniform(-0.7, 0.7, (20, 2)).astype(np.float32)
    record = run_episode(env.scenario, Scripted(velocities), seed=5, act_limit_s=None)
    poses, people = record.robot_pose, record.person_position
    assert len(poses) == 21
    for k in range(1, 21):
        observation, *_, info = env.step(velocities[k - 1])
        assert np.array_equal(observation["robot"][:2], (env.scenario.ego.goal - poses[k, :2]).astype(np.float32))
        assert np.array_equal(observation["people"][:, :2], people[k] - poses[k, :2].astype(np.float32))
    assert info["termination_reason"] == record.outcome == "timeout"
