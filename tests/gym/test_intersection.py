"""The intersection environment: Gymnasium's contract and the benchmark's records."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from sidestep.errors import BadInput, UnknownName
from sidestep.gym.intersection import NEEDS, DrivingReward, IntersectionEnv, choose_scenarios, drive_from_action
from sidestep.policies.driving.pid import PidDriver
from sidestep.simulation import run_episode
from sidestep.simulation.session import Session
from sidestep.types import Command, Drive, Observation

NAME = "scene0-pose0-right"
CHOSEN = {"scenario": NAME, "world_seed": 3}


def small(**options: Any) -> IntersectionEnv:
    return IntersectionEnv(scenes=[0], **{"people": "few", "time_limit_s": 2.0, **options})


def test_the_contract_of_gymnasium() -> None:
    check_env(small(render_mode="rgb_array"), skip_render_check=True)


def test_films_run_at_the_rate_of_the_steps() -> None:
    """20 Hz among people, 30 Hz among vehicles."""
    assert [small(vehicles=vehicles).metadata["render_fps"] for vehicles in (False, True)] == [20, 30]


def test_observations_are_in_their_space_and_pictures_are_drawn() -> None:
    env = small(render_mode="rgb_array")
    observation, info = env.reset(seed=1)
    assert env.observation_space.contains(observation)
    assert info["scenario"].startswith("scene0")
    assert env.render().shape == (88, 200, 3)
    assert np.array_equal(env.render(), observation["image"])
    assert observation["image"].std() > 5
    observation, *_ = env.step([0.0, 1.0])
    assert env.observation_space.contains(observation)


def test_the_same_seed_is_the_same_episode() -> None:
    env = small()
    first = [env.reset(seed=5)[1], env.reset()[1]]
    again = [env.reset(seed=5)[1], env.reset()[1]]
    assert first == again
    assert first[0] != first[1]


def actions(steps: int) -> Any:
    rng = np.random.default_rng(0)
    return np.clip(np.column_stack([0.2 * rng.normal(size=steps), rng.uniform(-0.2, 1.0, steps)]), -1, 1)


class Scripted:
    """The policy that drives what an environment was told."""

    needs = frozenset(NEEDS)
    name = "session"

    def __init__(self, commands: list[Command]) -> None:
        self._commands = commands

    def reset(self, task: Any) -> None:
        self._step = 0

    def act(self, observation: Observation) -> Command:
        self._step += 1
        return self._commands[self._step - 1]


@pytest.mark.parametrize("vehicles", [False, True])
def test_the_same_actions_give_the_record_of_a_session_and_of_the_benchmark(vehicles: bool) -> None:
    env = small(vehicles=vehicles)
    env.reset(options=CHOSEN)
    script = actions(60)
    done = False
    for action in script:
        *_, terminated, truncated, _ = env.step(action)
        done = terminated or truncated
        if done:
            break
    assert done
    assert env.session is not None
    record = env.session.record
    commands = [drive_from_action(action) for action in script]
    options = {"people": "few", "time_limit_s": 2.0, "vehicles": vehicles}
    scenario = next(each for each in choose_scenarios([0], None, options) if each.name == NAME)
    session = Session(scenario, needs=NEEDS)
    session.reset(3)
    for command in commands[: record.steps]:
        session.step(command)
    assert session.record.digest == record.digest
    benchmark = run_episode(scenario, Scripted(commands), seed=3, act_limit_s=None)
    assert benchmark.outcome is record.outcome
    assert np.array_equal(benchmark.robot_pose, record.robot_pose)
    assert benchmark.events == record.events
    assert np.array_equal(benchmark.other_pose, record.other_pose, equal_nan=True)


def test_rewards_add_up_and_episodes_end() -> None:
    """Metres nearer to the exit times 0.1; then 10 for success; a timeout is truncated and worth nothing."""
    env = IntersectionEnv(scenes=[0], people="none", reward=DrivingReward(progress=0.5))
    env.reset(options=CHOSEN)
    assert env.session is not None
    rule = env.session.scenario.rules.exit
    assert rule is not None
    driver = PidDriver()
    driver.reset(env.session.task)
    begin = env.session.observation.robot
    total, terminated, truncated, info, reward = 0.0, False, False, {}, 0.0
    while not (terminated or truncated):
        command = driver.act(env.session.observation)
        assert isinstance(command, Drive)
        _, reward, terminated, truncated, info = env.step([command.steer, command.throttle, command.brake])
        total += reward
    end = env.session.observation.robot
    progress = np.hypot(begin.x - rule.pose[0], begin.y - rule.pose[1]) - np.hypot(
        end.x - rule.pose[0], end.y - rule.pose[1]
    )
    assert info["is_success"]
    assert terminated
    assert total == pytest.approx(10.0 + 0.5 * progress)
    with pytest.raises(ResetNeeded):
        env.step([0.0, 0.0])
    late = small(people="none")
    late.reset(options=CHOSEN)
    results = [late.step([0.0, -1.0]) for _ in range(40)]
    *_, reward, terminated, truncated, info = results[-1]
    assert (terminated, truncated, info["termination_reason"]) == (False, True, "timeout")
    assert reward == pytest.approx(0.0, abs=1e-9)


def test_bad_choices_are_clear_errors() -> None:
    with pytest.raises(UnknownName, match="scene '9'"):
        IntersectionEnv(scenes=[9])
    with pytest.raises(UnknownName, match="branch '2'"):
        IntersectionEnv(branches=[2])
    with pytest.raises(BadInput, match="render_mode 'human' is unknown"):
        IntersectionEnv(render_mode="human")
    with pytest.raises(BadInput, match="did you mean 'people'"):
        IntersectionEnv(peple="few")
    env = small()
    with pytest.raises(ResetNeeded, match="call reset"):
        env.step([0.0, 0.0])
    with pytest.raises(UnknownName, match="scenario"):
        env.reset(options={"scenario": "scene0-pose0-rigt"})
    with pytest.raises(UnknownName, match="reset option"):
        env.reset(options={"world": 3})
    env.reset(seed=0)
    for action in ([0.0], [0.0, np.nan], [0.0, 1.0, 0.0, 0.0], "left", None):
        with pytest.raises(BadInput, match="steer"):
            env.step(action)


def test_actions_as_commands() -> None:
    assert drive_from_action([0.5, 0.3]) == Drive(0.5, 0.3, 0.0)
    assert drive_from_action([-2.0, -0.3]) == Drive(-1.0, 0.0, 0.3)
    assert drive_from_action([0.0, 1.5, -1.0]) == Drive(0.0, 1.0, 0.0)
    assert drive_from_action(np.array([[0.1, 0.2, 0.3]])) == Drive(0.1, 0.2, 0.3)
