"""The intersection environments: Gymnasium's contract, the benchmark's records, and IntersectNav's call shape."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.env_checker import check_env

from sidestep.errors import BadInput, UnknownName
from sidestep.gym.intersection import NEEDS, DrivingReward, Env, IntersectionEnv, choose_scenarios, drive_from_action
from sidestep.policies.driving.pid import NoisyPidDriver, PidDriver
from sidestep.simulation import run_episode
from sidestep.simulation.session import Session
from sidestep.suites.intersection import INTERSECTION_SUITE
from sidestep.types import Command, Drive, Observation

NAME = "scene0-pose0-right"
CHOSEN = {"scenario": NAME, "world_seed": 3}


def small(**options: Any) -> IntersectionEnv:
    return IntersectionEnv(scenes=[0], **{"people": "few", "time_limit_s": 2.0, **options})


def test_the_contract_of_gymnasium() -> None:
    check_env(small(render_mode="rgb_array"), skip_render_check=True)


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


@pytest.fixture(scope="module")
def env() -> Env:
    return Env(port=2000, people="none")


def test_call_shape_of_intersectnav(env: Env) -> None:
    state, info = env.reset(0, branch=1, pose=0)
    image, lidar, measured, command, location, rotation = state
    assert (image.shape, image.dtype) == ((88, 200, 3), np.uint8)
    assert lidar.shape == (720,)
    assert (lidar.min(), lidar.max()) >= (0.0, 0.0)
    assert (measured.shape, command.shape, location.shape, rotation.shape) == ((4,), (2,), (3,), (3,))
    assert (info["scene"], info["branch"], info["pose"]) == (0, 1, 0)
    after = env.step([0.0, 0.5], lateral="NN", longitude="NN")
    assert len(after) == 5
    assert isinstance(after[1], float)
    assert after[2] is False
    assert after[4].tolist() == pytest.approx([0.0, 0.5, 0.0])


class Scene:
    """As the published scripts pass it."""

    scene_id = 4


def test_scenes_as_objects(env: Env) -> None:
    assert env.reset(Scene())[1]["scene"] == 4
    assert len({env.reset(0)[1]["scenario"] for _ in range(12)}) > 1


def test_the_published_frame_is_left_handed(env: Env) -> None:
    """y points to the right of x, so that y and yaw have the other sign."""
    state, info = env.reset(0, branch=1, pose=0)
    scenario = next(
        each for each in INTERSECTION_SUITE.with_options({"split": "all"}).scenarios() if each.name == info["scenario"]
    )
    x, y, heading = scenario.ego.start
    location, rotation = state[4], state[5]
    assert location == pytest.approx([x + 1.293 * np.cos(heading), -(y + 1.293 * np.sin(heading)), 0.0])
    assert rotation == pytest.approx([0.0, -np.degrees(heading), 0.0])


@pytest.mark.parametrize("steer", [1.0, -1.0])
def test_positive_steer_turns_right(env: Env, steer: float) -> None:
    """In the published frame yaw grows to the right; in ours heading shrinks."""
    state, _ = env.reset(0, branch=0)
    yaw = state[5][1]
    assert env._environment.session is not None
    heading = env._environment.session.observation.robot.heading
    for _ in range(30):
        state, *_, carried_out = env.step([steer, 1.0])
    assert carried_out.tolist() == [steer, 1.0, 0.0]
    assert np.sign(state[5][1] - yaw) == steer
    assert np.sign(env._environment.session.observation.robot.heading - heading) == -steer


def test_signed_measurements_and_lidar_are_mirrored(env: Env) -> None:
    state, _ = env.reset(0, branch=0)
    for _ in range(40):
        state, *_ = env.step([0.3, 1.0])
    seen = env._environment.session.observation
    measured = seen.extra["measurements"]
    assert measured[1] < -0.05  # to the right of the route, which is negative here and positive there
    assert state[2] == pytest.approx(measured * [1, -1, -1, 1])
    ranges = np.minimum(seen.lidar.ranges / 40.0, 1.0)
    assert state[1] == pytest.approx(ranges[::-1])
    assert seen.lidar.angle_min < 0  # ours begins on the right


def drive(env: Env, lateral: str, longitude: str, action: Any = (0.0, 0.0), steps: int = 60, seed: int = 1) -> Any:
    """The actions that were carried out."""
    env._rng = np.random.default_rng(seed)
    env.reset(0, branch=1, pose=0)
    done = [env.step(action, lateral=lateral, longitude=longitude)[4] for _ in range(steps)]
    return np.array(done)


def test_who_steers_and_who_accelerates(env: Env) -> None:
    network = drive(env, "NN", "NN", (0.1, 0.4))
    assert network == pytest.approx(np.tile([0.1, 0.4, 0.0], (60, 1)))
    pid = drive(env, "PID", "PID", (0.9, -1.0))
    steered = drive(env, "PID", "NN", (0.9, 0.3))
    assert steered[:, 1:] == pytest.approx(np.tile([0.3, 0.0], (60, 1)))
    assert np.abs(steered[:, 0]).max() < 0.9
    pushed = drive(env, "NN", "PID", (0.05, -1.0))
    assert pushed[:, 0] == pytest.approx(np.full(60, 0.05))
    assert pushed[0, 1] == pytest.approx(1.0)
    assert drive(env, "PID", "PID") == pytest.approx(pid)  # whatever the network says
    pairs = [[drive(env, who, "PID", steps=110, seed=seed) for who in ("PID_NOISE", "PID")] for seed in range(4)]
    assert any(not np.array_equal(noisy[:, 0], clean[:, 0]) for noisy, clean in pairs)
    assert any(np.abs(noisy - clean).max() > 0.02 for noisy, clean in pairs)


@pytest.mark.parametrize(("agent", "policy"), [("PID", PidDriver), ("PID_NOISE", NoisyPidDriver)])
def test_control_agents_drive_the_episodes_of_the_policies(env: Env, agent: str, policy: Any) -> None:
    env._rng = np.random.default_rng(2)
    _, info = env.reset(1, branch=0)
    done = False
    while not done:
        *_, done, last, _ = env.step([0.0, 0.0], lateral=agent, longitude=agent)
    assert last["is_success"]
    session = env._environment.session
    assert session is not None
    record = run_episode(session.scenario, policy(), seed=info["world_seed"])
    assert record.robot_pose == pytest.approx(session.record.robot_pose)


def test_bad_calls_are_clear_errors(env: Env) -> None:
    with pytest.raises(ResetNeeded, match=r"reset\(scene\)"):
        Env(people="none").step([0.0, 0.0])
    with pytest.raises(BadInput, match="scene 7 has no route"):
        env.reset(7)
    with pytest.raises(BadInput, match="scene 0 has no route with branch -1 and pose 0"):
        env.reset(0, branch=-1, pose=0)
    env.reset(0)
    with pytest.raises(UnknownName, match="control agent"):
        env.step([0.0, 0.0], lateral="PIT")
    for action in ([], [0.0], [np.nan, 0.0], [0.0, 0.0, 0.0, 0.0], "left"):
        with pytest.raises(BadInput):
            env.step(action)
