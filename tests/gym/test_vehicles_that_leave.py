"""A vehicle that has reached the end of its lanes is gone for every sensor of an environment, as in the benchmark."""

from __future__ import annotations

from typing import Any

import numpy as np

from sidestep.gym.environment import CrowdEnv
from sidestep.gym.vector import CrowdVectorEnv
from sidestep.kernels import layout
from sidestep.render.mesh import Semantic
from sidestep.simulation import run_episode
from sidestep.types import Native, Observation, Scenario, Task
from tests.simulation.traffic.roads import EAST, LANE_Y, straight_road

PICTURES = ("rgb", "depth", "semantic")
SENSORS = (*PICTURES, "lidar", "grid")
CAMERA = {"width": 64, "height": 48}
GRID = {"size": 80, "cell_m": 0.5}
STAND = np.array([0.0, 0.0], np.float32)
STEPS = 40


def scenario() -> Scenario:
    """A robot that stands beside the end of a lane, where a car drives past and leaves."""
    parameters = {"lanes": [EAST]}
    car = {"kind": "car", "start": [100.0, LANE_Y, 0.0], "speed": 10.0, "driver": "lane", "parameters": parameters}
    document = {
        "name": "leaving",
        "suite": "tests",
        "scene": straight_road(),
        "robots": [{"spec": "point", "start": [115, LANE_Y - 5.0, np.pi / 2], "goal": [115, 10]}],
        "traffic": [car],
        "rules": {"step_s": 0.1, "time_limit_s": 10},
    }
    return Scenario.parse(document, "test scenario")


def environment(**options: Any) -> CrowdEnv:
    return CrowdEnv(
        "Scenario", scenario=scenario(), sensors=SENSORS, camera=CAMERA, grid=GRID, lidar={"rays": 90}, **options
    )


def stand_by(env: CrowdEnv) -> tuple[list[dict[str, Any]], list[bool]]:
    """What is observed in every step, and whether the car is there."""
    seen, there = [env.reset(options={"world_seed": 0})[0]], [True]
    for _ in range(STEPS):
        seen.append(env.step(STAND)[0])
        worlds = env._environments.worlds
        there.append(bool(worlds.flags[0, layout.ACTIVE, worlds.people + 1] == 1))
    return seen, there


def test_no_sensor_sees_a_vehicle_that_has_left() -> None:
    seen, there = stand_by(environment())
    left = there.index(False)
    assert 5 < left < STEPS - 5
    assert not any(there[left:])
    before = seen[left - 1]
    assert (before["semantic"] == Semantic.VEHICLE).any()
    assert before["lidar"].min() < 6.0
    assert before["grid"][2].any()
    for now in seen[left:]:
        assert not (now["semantic"] == Semantic.VEHICLE).any()
        assert not now["grid"][2].any()
        assert (now["lidar"] > 6.0).all()


class Stands:
    """Keeps what it sees and stands."""

    needs = frozenset(PICTURES)

    def reset(self, task: Task) -> None:
        self.seen: list[Observation] = []

    def act(self, observation: Observation) -> Native:
        self.seen.append(observation)
        return Native(0.0, 0.0)


def test_environment_vector_and_benchmark_see_the_same_pictures() -> None:
    env = environment()
    seen, _ = stand_by(env)
    policy = Stands()
    run_episode(env.scenario, policy, seed=0, act_limit_s=None)
    vector = CrowdVectorEnv(2, "Scenario", pool=2, threads=2, scenario=env.scenario, sensors=PICTURES, max_people=1)
    batch = [vector.reset(seed=0)[0], *(vector.step(np.zeros((2, 2), np.float32))[0] for _ in range(STEPS))]
    vector.close()
    for name in PICTURES:
        for step in (0, 10, STEPS // 2, STEPS):
            assert np.array_equal(seen[step][name], getattr(policy.seen[step], name)), (name, step)
            assert np.array_equal(seen[step][name], batch[step][name][1]), (name, step)


def test_the_picture_from_above_leaves_it_out() -> None:
    env = CrowdEnv("Scenario", scenario=scenario(), render_mode="rgb_array", picture_size=240)
    env.reset(options={"world_seed": 0})
    worlds = env._environments.worlds
    while worlds.flags[0, layout.ACTIVE, worlds.people + 1] == 1:
        env.step(STAND)
    left = env.render()
    worlds.robot_state[0, 1, :2] += 5.0  # where its body was put does not matter
    assert np.array_equal(env.render(), left)
