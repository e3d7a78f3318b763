"""IntersectNav's environment: its call shapes, conventions, rewards, results and scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded

from sidestep.errors import BadInput, UnknownName
from sidestep.gym.intersection import Env
from sidestep.gym.intersectnav import depth_picture, lane_type
from sidestep.metrics.intersectnav_code import program_results
from sidestep.policies.driving.pid import NoisyPidDriver, PidDriver
from sidestep.simulation import run_episode
from sidestep.suites.intersection import INTERSECTION_SUITE

SCENE0 = {
    "ped_center": 741, "ped_range": 30.0, "area": [-102.0, -60.0, 115.0, 152.0], "Wait_ticks": 50,
    "weather": "CloudyNoon", "NumOfWal": [2, 3], "NumOfVeh": [0, 0], "start": 1760, "end": 1367,
    "task_type": [-1, 1, 0, 2], "lane_type": [0, 1, 1], "branch": 1, "pose": 0, "town": "Town03", "scene_id": 0,
}  # fmt: skip
"""As the published program configures pose 0, turning right."""


@pytest.fixture(scope="module")
def env() -> Env:
    return Env(2000, people="none")


def test_shapes_and_order(env: Env) -> None:
    """At the published start, (-74.62, 150.929) with a yaw of -90.21° in the published frame; angles are pitch, roll,
    yaw, as in the files."""
    state, info = env.reset(0, branch=1, pose=0)
    image, lidar, measured, command, location, rotation = state
    assert (image.shape, image.dtype, lidar.shape) == ((88, 200, 3), np.uint8, (720,))
    assert (measured.shape, command.shape, location.shape, rotation.shape) == ((4,), (2,), (3,), (3,))
    assert location == pytest.approx([-74.62, 150.93, 0.0], abs=0.01)
    assert rotation == pytest.approx([0.0, 0.0, -90.21], abs=0.01)
    assert (info["scene"], info["branch"], info["pose"], info["a_t"]) == (0, 1, 0, [0.0, 0.0, 0.0])
    state, reward, done, info, error = env.step(np.array([0.25, 0.5]), lateral="NN", longitude="NN")
    assert len(state) == 6
    assert (reward.shape, reward.tolist(), done, error) == ((3,), [0, 0, 0], False, 0)
    assert info["a_t"] == [0.25, 0.5, 0.0]
    assert (info["location"].x, info["location"].y) == pytest.approx(state[4][:2])
    assert (info["rotation"].pitch, info["rotation"].roll, info["rotation"].yaw) == pytest.approx(state[5])


def test_measurements_are_the_published_ones(env: Env) -> None:
    """The end waypoint is (-41.167, 134.901): from the start its direction is atan2(-16.028, 33.453) = -25.6°, the
    heading -90.21°; the program takes goal from heading, -64.6° / 1.57 rad = -0.718. All of the distance is left."""
    state, _ = env.reset(SCENE0)
    assert state[2] == pytest.approx([0.0, 0.0, -0.718, 1.0], abs=0.015)
    assert state[2][2] == pytest.approx(np.radians(-90.21 + 25.60) / 1.57, abs=1e-3)
    state, _ = env.reset(0, branch=-1, pose=1)
    assert state[2][2] > 0.5  # the goal of a left turn is on the left
    for _ in range(40):
        state, *_ = env.step([0.3, 1.0])
    assert state[2][1] > 0.05  # to the right of the route
    assert 0.0 < state[2][3] < 1.0


def test_pictures_are_bgr(env: Env) -> None:
    """The sky is blue: in BGR the first channel is the largest there."""
    state, info = env.reset(0, branch=0, pose=0)
    session = env._environment.session
    assert session is not None
    assert np.array_equal(state[0], session.observation.rgb[..., ::-1])
    assert "FrontRGB" in info
    full = info["FrontRGB"]
    assert (full.shape, full.dtype) == ((650, 1500, 3), np.uint8)
    assert full is info["FrontRGB"]
    first = env.step([0.0, 0.0])[3].get("FrontRGB")  # as scripts that look for the picture ask
    assert first is not None
    assert first.shape == (650, 1500, 3)
    assert info.get("FrontDepth", 5) == 5
    for sky in (full[:60].astype(float), state[0][:8].astype(float)):
        assert sky[..., 0].mean() > sky[..., 2].mean() + 20
    kept = env.step([0.0, 0.0])[3]
    env.step([0.0, 0.0])
    with pytest.raises(BadInput, match="before the next step"):
        kept["FrontRGB"]
    with pytest.raises(KeyError):
        kept["FrontDepth"]


class Scene:
    """As the published scripts pass it."""

    scene_id = 4
    NumOfWal = (0, 0)
    NumOfVeh = (0, 0)
    town = "Town05"


def test_scenes_as_numbers_objects_and_dicts() -> None:
    env = Env(2000, town="Town03", people="none")
    assert env.town == "Town03"
    assert env.reset(Scene())[1]["scene"] == 4
    assert env.town == "Town05"
    assert len({env.reset(0)[1]["scenario"] for _ in range(12)}) > 1
    _, info = env.reset(SCENE0)
    assert (info["scenario"], env.town) == ("scene0-pose0-right", "Town03")
    session = env._environment.session
    assert session is not None
    assert session.scenario.sensors.camera.weather == "cloudy"
    assert session.scenario.crowd[0].placement.count == (2, 3)
    assert 2 <= len(session.record.person_id) <= 4
    assert session.scenario.lane_traffic is None
    env.reset({**SCENE0, "NumOfWal": [0, 0], "NumOfVeh": [1, 1]})
    session = env._environment.session
    assert session is not None
    assert session.scenario.crowd == ()
    assert session.scenario.lane_traffic.count == (1, 1)


LANE_TYPES = {
    0: [[0, 1, 1], [1, 1, 0], [0, 1, 1]], 1: [[0, 1, 1], [1, 1, 0], [1, 1, 0]],
    2: [[0, 1, 1], [1, 1, 0], [1, 1, 0], [0, 1, 1]], 3: [[0, 1, 1], [1, 1, 0], [0, 1, 0]],
    4: [[0, 1, 1], [1, 1, 0], [1, 1, 0], [0, 1, 1]], 5: [[0, 1, 1], [1, 1, 0], [1, 1, 0], [0, 1, 1]],
}  # fmt: skip
"""Of each scene and pose, as the published program configures them."""


def test_lane_types_are_the_published_ones() -> None:
    for each in INTERSECTION_SUITE.with_options({"split": "all", "people": "none"}).scenarios():
        assert list(lane_type(each)) == LANE_TYPES[each.notes["scene"]][each.notes["pose"]]


def test_the_state_among_vehicles() -> None:
    """Ped-Veh: depth and semantic pictures and the kinds of lanes as well; at the start the car is on a road, under the
    sky, and what is ahead is farther away than what is at its feet."""
    env = Env(people="none", vehicles=True)
    first, _ = env.reset({**SCENE0, "NumOfWal": [0, 0], "NumOfVeh": [6, 15]})
    second, *_ = env.step([0.0, 1.0])
    for state in (first, second):
        image, depth, semantic, lidar, measured, command, location, rotation = state
        for picture in (image, depth, semantic):
            assert (picture.shape, picture.dtype) == ((88, 200, 3), np.uint8)
        assert (lidar.shape, command.shape, location.shape, rotation.shape) == ((720,), (2,), (3,), (3,))
        assert measured.shape == (7,)
        assert measured[4:].tolist() == [0, 1, 1]
        assert measured[2] == pytest.approx(-0.718, abs=0.01)
        assert (semantic[60:] == [128, 64, 128]).all(axis=2).mean() > 0.2  # road
        assert (semantic[:10] == [180, 130, 70]).all(axis=2).mean() > 0.3  # sky, as BGR
        assert np.array_equal(depth[..., 0], depth[..., 2])
        assert np.median(depth[-5:]) < np.median(depth[50:55]) < depth[:5].max() == 255
    assert len(env.reset({**SCENE0, "NumOfWal": [0, 0]})[0]) == 6


def test_depth_on_the_scale_of_carla() -> None:
    """1 + ln(depth / 1000) / 5.70378: 10 m are 1 - 4.605 / 5.704 = 0.1926, 49 of 255; beyond 1 km it is white."""
    found = depth_picture(np.array([[0.0, 1.0, 10.0, 100.0, 1000.0, np.inf]]))
    assert found[0, :, 1].tolist() == [1, 1, 49, 152, 255, 255]


def test_steps_are_counted_as_the_published_script_does(env: Env) -> None:
    env.reset(SCENE0, False)  # the second is ``debug``
    for _ in range(3):
        env.step([0.0, 0.0])
    env.res["tot_step"] = env.frame - env.start_frame
    assert env.close(1000)["tot_step"] == 3


@pytest.mark.parametrize("steer", [1.0, -1.0])
def test_positive_steer_turns_right(env: Env, steer: float) -> None:
    """In the published frame yaw grows to the right; in ours heading shrinks."""
    state, _ = env.reset(0, branch=0)
    yaw = state[5][2]
    info: dict[str, Any] = {}
    for _ in range(30):
        state, _, _, info, _ = env.step([steer, 1.0])
    assert info["a_t"] == [steer, 1.0, 0.0]
    assert np.sign(state[5][2] - yaw) == steer


def test_lidar_is_mirrored(env: Env) -> None:
    state, _ = env.reset(0, branch=0)
    seen = env._environment.session.observation  # type: ignore[union-attr]
    assert state[1] == pytest.approx(np.minimum(seen.lidar.ranges / 40.0, 1.0)[::-1])
    assert seen.lidar.angle_min < 0  # ours begins on the right


def drive(env: Env, lateral: str, longitude: str, action: Any = (0.0, 0.0), steps: int = 60, seed: int = 1) -> Any:
    """The actions that were carried out."""
    env._rng = np.random.default_rng(seed)
    env.reset(0, branch=1, pose=0)
    return np.array([env.step(action, lateral=lateral, longitude=longitude)[3]["a_t"] for _ in range(steps)])


def test_who_steers_and_who_accelerates(env: Env) -> None:
    network = drive(env, "NN", "NN", (0.1, 0.4), 20)
    assert network == pytest.approx(np.tile([0.1, 0.4, 0.0], (20, 1)))
    pid = drive(env, "PID", "PID", (0.9, -1.0))
    steered = drive(env, "PID", "NN", (0.9, 0.3))
    assert steered[:, 1:] == pytest.approx(np.tile([0.3, 0.0], (60, 1)))
    assert np.abs(steered[:, 0]).max() < 0.9
    pushed = drive(env, "NN", "PID", (0.05, -1.0), 20)
    assert pushed[:, 0] == pytest.approx(np.full(20, 0.05))
    assert pushed[0, 1] == pytest.approx(1.0)
    assert drive(env, "PID", "PID") == pytest.approx(pid)  # whatever the network says
    pairs = ([drive(env, who, "PID", steps=110, seed=seed) for who in ("PID_NOISE", "PID")] for seed in range(6))
    assert any(np.abs(noisy - clean).max() > 0.02 for noisy, clean in pairs)


@pytest.mark.parametrize(("agent", "policy"), [("PID", PidDriver), ("PID_NOISE", NoisyPidDriver)])
def test_control_agents_drive_the_episodes_of_the_policies(env: Env, agent: str, policy: Any) -> None:
    """A success ends with the reward [0, 0, 1] and no error; results stay after ``close``."""
    env._rng = np.random.default_rng(2)
    _, info = env.reset(1, branch=0)
    seed, done = info["world_seed"], False
    rewards = []
    while not done:
        _, reward, done, info, error = env.step([0.0, 0.0], lateral=agent, longitude=agent)
        rewards.append(reward.tolist())
    assert info["is_success"]
    assert (rewards[-1], error) == ([0, 0, 1], 0)
    assert not np.any(rewards[:-1])
    session = env._environment.session
    assert session is not None
    record = run_episode(session.scenario, policy(), seed=seed)
    assert record.robot_pose == pytest.approx(session.record.robot_pose)
    env.res["vertical_dist"] = 0.25  # as the published script notes it
    closed = env.close(1000)
    counted = program_results(record, judged=False)
    assert closed == env.res == {**counted, "vertical_dist": 0.25}
    assert (closed["success"], closed["time_out"], closed["tot_step"]) == (True, False, record.steps)
    env.destroy()
    with pytest.raises(ResetNeeded):
        env.step([0.0, 0.0])


def test_errors_and_rewards_of_failures(env: Env) -> None:
    """Full throttle to the right: over the kerb, an invasion (error 2), until the episode is over."""
    env.reset(0, branch=0, pose=0)
    codes, rewards, done = [], [], False
    while not done:
        _, reward, done, info, error = env.step([0.6, 1.0])
        codes.append(error)
        rewards.append(reward.tolist())
    assert info["termination_reason"] in ("lane_invasion", "off_route", "environment_collision")
    assert 2 in codes
    assert [code == 2 for code in codes] == [bool(reward[1]) for reward in rewards]
    assert env.res["invasion_time"] >= 1
    assert env.res["success"] is False


def test_lane_invasions_are_limited_as_in_the_program(env: Env) -> None:
    """Five straight on and ten in turns, of any marking; each step with one is error 2."""
    for branch, limit in ((0, 5), (1, 10), (-1, 10)):
        env.reset(0, branch=branch)
        session = env._environment.session
        assert session is not None
        rule = session.scenario.rules.lanes
        assert rule is not None
        assert (rule.most_invasions + 1, rule.counts) == (limit, "any")
    env.reset(4, branch=0, pose=0)
    done, codes = False, []
    while not done:  # slaloms over the markings between the lanes
        _, _, done, _, error = env.step([0.25 if len(codes) % 100 < 50 else -0.25, 0.3])
        codes.append(error)
    assert env.res["lane_invasion"]
    assert codes.count(2) == env.res["invasion_time"] == 5


def test_the_wrong_side_is_error_3() -> None:
    """The start of the right turn, driven straight on with the PID's pedals: the area is left to the north."""
    env = Env(people="none")
    env.reset(0, branch=1, pose=0)
    straight = next(
        each
        for each in INTERSECTION_SUITE.with_options({"split": "all", "people": "none"}).scenarios()
        if each.name == "scene0-pose0-straight"
    )
    session = env._environment.session
    assert session is not None
    driver = PidDriver()
    object.__setattr__(session.task, "route", np.array([*straight.ego.route, straight.ego.goal]))
    driver.reset(session.task)
    done = False
    while not done:
        command = driver.act(session.observation)
        action = [-command.steer, command.throttle, command.brake]  # type: ignore[union-attr]
        _, reward, done, _, error = env.step(action)
    assert (reward.tolist(), error) == ([0, 0, 0], 3)
    assert (env.res["wrong_direction"], env.res["success"]) == (True, False)


def test_a_time_limit_is_a_time_out_when_the_script_expects_it() -> None:
    env = Env(people="none", time_limit_s=0.5)
    env.reset(0)
    steps = [env.step([0.0, -1.0]) for _ in range(10)]
    assert [done for _, _, done, _, _ in steps] == [False] * 9 + [True]
    assert steps[-1][1].tolist() == [0, 0, 0]
    assert env.res["time_out"] is False
    assert env.close(10)["time_out"] is True


def test_debug_says_where_an_episode_begins(capsys: pytest.CaptureFixture[str]) -> None:
    env = Env(people="none", debug=True)
    env.reset(SCENE0)
    assert capsys.readouterr().out.startswith("# Town03, scene0-pose0-right, seed ")
    env.reset(SCENE0, debug=False)
    assert capsys.readouterr().out == ""


def test_bad_calls_are_clear_errors(env: Env) -> None:
    with pytest.raises(ResetNeeded, match=r"reset\(scene\)"):
        Env(people="none").step([0.0, 0.0])
    with pytest.raises(BadInput, match="scene 7 has no route"):
        env.reset(7)
    with pytest.raises(BadInput, match="scene 0 has no route with branch -1 and pose 0"):
        env.reset(0, branch=-1, pose=0)
    with pytest.raises(BadInput, match="'scene_id'"):
        env.reset({"town": "Town03"})
    with pytest.raises(BadInput, match="NumOfWal is"):
        env.reset({**SCENE0, "NumOfWal": [3, 2]})
    with pytest.raises(BadInput, match="did you mean 'ClearNoon'"):
        env.reset({**SCENE0, "weather": "ClearNon"})
    env.reset(0)
    with pytest.raises(UnknownName, match="control agent"):
        env.step([0.0, 0.0], lateral="PIT")
    for action in ([], [0.0], [np.nan, 0.0], [0.0, 0.0, 0.0, 0.0], "left"):
        with pytest.raises(BadInput):
            env.step(action)
