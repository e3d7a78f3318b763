"""Lidar and occupancy grid of learning observations: by hand, against the benchmark's lidar, in batches and on threads,
for several robots, and beside vehicles."""

from __future__ import annotations

from math import hypot, pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.gym.environment import CrowdEnv
from sidestep.gym.vector import CrowdVectorEnv
from sidestep.interfaces import Policy
from sidestep.kernels.observation import OCCUPIED, _mark_line
from sidestep.simulation import run_episode
from sidestep.types import Observation, Task, Velocity
from sidestep.types.sensors import LidarSettings
from tests.gym.scenes import STAND, by_hand, environment, same, stander
from tests.needs import reason_missing

FOUR = {"rays": 4, "angle_min": 0.0}
"""Ahead, left, behind, right."""


def seen(scenario: Any, **options: Any) -> dict[str, Any]:
    options.setdefault("sensors", ("lidar", "grid"))
    observation: dict[str, Any] = CrowdEnv("Scenario", scenario=scenario, **options).reset(seed=0)[0]
    return observation


@pytest.mark.parametrize(
    ("robot", "ranges"),
    [
        ("pioneer_3dx", [1.75, 6.0, 4.0, 4.0]),  # along the heading: up, left, down, right
        ("point", [4.0, 1.75, 6.0, 4.0]),  # along the world's axes: right, up, left, down
    ],
)
def test_four_rays_in_a_room(robot: str, ranges: list[float]) -> None:
    """The robot at (1, -1) looks up at a person of 0.25 m radius at (1, 1); walls are at ±5 m."""
    scenario = by_hand([stander(1.0, 1.0)], robot=robot, start=(1.0, -1.0, pi / 2), goal=(3.0, 0.0), walled=True)
    observation = seen(scenario, lidar=FOUR)
    assert observation["lidar"] == pytest.approx(ranges, abs=1e-5)
    assert observation["lidar"].dtype == np.float32


def test_the_default_is_a_full_turn_of_180_rays_and_the_scenarios_settings_hold() -> None:
    scenario = by_hand(walled=True)
    env = CrowdEnv("Scenario", scenario=scenario, sensors=("lidar",))
    assert env.observation_space["lidar"].shape == (180,)
    assert env.observation_space["lidar"].high.max() == 20.0
    own = {"sensors": {"lidar": {"rays": 8, "max_range": 2.5}}}
    limited = type(scenario).parse({**scenario.model_dump(mode="json", exclude_unset=True), **own}, "test")
    assert seen(limited)["lidar"].tolist() == [2.5] * 8
    assert seen(limited, lidar={"max_range": 30.0})["lidar"].shape == (8,)


class Scanning(Policy):
    """Drives in a curve and keeps the benchmark's scans."""

    needs = frozenset({"lidar"})

    def __init__(self, command: Any) -> None:
        self._command = Velocity(*command.tolist())

    def reset(self, task: Task) -> None:
        self.scans: list[Any] = []

    def act(self, observation: Observation) -> Velocity:
        assert observation.lidar is not None
        self.scans.append(observation.lidar.ranges)
        return self._command


VEHICLES = [
    {"kind": "car", "path": [[-4.0, 3.0], [4.0, 3.0]], "speed": 1.0},
    {"kind": "bicycle", "start": [3.0, -3.0, 1.0]},
]


@pytest.mark.parametrize("traffic", [[], VEHICLES], ids=["walls", "traffic"])
def test_it_is_the_scan_of_the_benchmark(traffic: list[Any]) -> None:
    walker = {"start": [-4.0, -4.0], "waypoints": [[4.0, 4.0]], "speed": 1.2}
    scenario = by_hand(
        [walker, stander(1.0, 2.0)], robot="pioneer_3dx", goal=(-4.5, -4.5), walled=True, time_limit_s=5.0
    )
    settings = {"rays": 101, "angle_min": -1.0, "field_of_view": 2.0, "max_range": 9.0, "mount": [0.2, -0.1]}
    data = scenario.model_dump(mode="json")
    scenario = type(scenario).parse({**data, "sensors": {"lidar": settings}, "traffic": traffic}, "test")
    env = environment(scenario, sensors=("lidar",))
    (middle,), (half,) = env._environments._actions.centre, env._environments._actions.half
    action = np.array([0.2, 0.5], np.float32)
    policy = Scanning(middle + half * action.astype(np.float64))
    record = run_episode(scenario, policy)
    observation, _ = env.reset(options={"world_seed": 0})
    for step, scan in enumerate(policy.scans):
        np.testing.assert_array_equal(observation["lidar"], scan, str(step))
        observation = env.step(action)[0]
    assert record.steps == len(policy.scans) >= 10


def cells(grid: Any) -> set[tuple[int, int]]:
    return {(int(i), int(j)) for i, j in zip(*np.nonzero(grid), strict=True)}


def test_a_grid_by_hand() -> None:
    """8 × 8 cells of 1 m about the robot, which is at (0.5, 0.5) and looks up: rows go up, columns go left. A person at
    (0.9, 2.7), a wall of the room at y = 5 and x = -5 is out of view."""
    person = stander(0.9, 2.7, radius=0.25)
    scenario = by_hand([person], robot="pioneer_3dx", start=(0.5, 0.5, pi / 2), walled=True)
    observation = seen(scenario, sensors=("grid",), grid={"size": (10, 8), "cell_m": 1.0})
    grid = observation["grid"]
    assert grid.shape == (3, 10, 8)
    assert grid.dtype == np.uint8
    assert set(np.unique(grid)) == {0, OCCUPIED}
    assert cells(grid[0]) == {(9, j) for j in range(8)}  # 4.5 m ahead: cell 4.5 + 5 = 9
    assert cells(grid[1]) == {(7, 3)}  # 2.2 ahead, 0.4 to the right
    assert not grid[2].any()
    flat = seen(scenario, sensors=("grid",), grid={"size": 8, "cell_m": 1.0})["grid"]
    assert flat.shape == (3, 8, 8)
    assert not flat[0].any()


def test_a_holonomic_robots_grid_follows_the_worlds_axes() -> None:
    scenario = by_hand([stander(2.6, 0.1)], robot="point", start=(0.0, 0.0, pi / 2))
    grid = seen(scenario, sensors=("grid",), grid={"size": 8, "cell_m": 1.0})["grid"]
    assert cells(grid[1]) == {(6, 4)}


def test_vehicles_and_other_robots_are_in_the_third_layer() -> None:
    pytest.importorskip("pettingzoo", reason=reason_missing("pettingzoo"))
    from sidestep.gym.parallel import CrowdParallelEnv

    robots = [
        {"spec": "pioneer_3dx", "start": [0, 0, 0], "goal": [9, 9]},
        {"spec": "pioneer_3dx", "start": [2, 0, pi], "goal": [-9, 9]},
    ]
    scenario = by_hand(robots=robots)
    data = scenario.model_dump(mode="json")
    scenario = type(scenario).parse({**data, "traffic": [{"kind": "car", "start": [0.0, 4.0, 0.0]}]}, "test")
    env = CrowdParallelEnv(scenario, sensors=("lidar", "grid"), lidar=FOUR, grid={"size": 16, "cell_m": 1.0})
    observations, _ = env.reset(seed=0)
    assert env.observation_space("robot_0").contains(observations["robot_0"])
    radius = float(observations["robot_0"]["robots"][0, 4])
    for robot in ("robot_0", "robot_1"):  # each sees the other 2 m ahead
        assert observations[robot]["lidar"][0] == pytest.approx(2.0 - radius, abs=1e-5)
        assert observations[robot]["grid"][2, 10, 8] == OCCUPIED
    left = observations["robot_0"]["lidar"][1]
    assert 2.5 < left < 4.0  # the side of the car
    outline = cells(observations["robot_0"]["grid"][2])
    assert (8, 8 + int(left)) in outline
    with pytest.raises(BadInput, match="no cameras"):
        CrowdParallelEnv(scenario, sensors=("rgb",))


coordinates = st.floats(-30, 30, allow_nan=False)


@settings(max_examples=300, deadline=None)
@given(ends=st.tuples(coordinates, coordinates, coordinates, coordinates))
def test_a_line_occupies_the_cells_that_it_passes(ends: tuple[float, float, float, float]) -> None:
    """Against points sampled on the line: each lies in an occupied cell, and no occupied cell is far from the line."""
    u0, v0, u1, v1 = ends
    plane = np.zeros((12, 9), np.uint8)
    if abs(u1 - u0) >= abs(v1 - v0):
        _mark_line(u0, v0, u1, v1, plane, False)
    else:
        _mark_line(v0, u0, v1, u1, plane, True)
    t = np.linspace(0, 1, 2001)
    u, v = u0 + t * (u1 - u0), v0 + t * (v1 - v0)
    inside = (u >= 0) & (u < 12) & (v >= 0) & (v < 9)
    edge = np.minimum(abs(u - np.round(u)), abs(v - np.round(v))) < 1e-6
    for i, j in {(int(a), int(b)) for a, b in zip(u[inside & ~edge], v[inside & ~edge], strict=True)}:
        assert plane[i, j] == OCCUPIED
    for i, j in cells(plane):
        assert np.min(np.hypot(u - i - 0.5, v - j - 0.5)) <= hypot(0.5, 0.5) + 0.03


@pytest.mark.parametrize("task", ["Plaza", "Doorway"])
def test_batches_and_threads_change_nothing(task: str) -> None:
    options: dict[str, Any] = {"sensors": ("lidar", "grid"), "robot": "pioneer_3dx", "time_limit_s": 5.0}
    many = [CrowdVectorEnv(40, task, pool=80, threads=threads, **options) for threads in (1, 3)]
    first = [env.reset(seed=4)[0] for env in many]
    alone = CrowdEnv(task, **options)
    observation, _ = alone.reset(options={"world_seed": int(many[0].world_seeds[7])})
    assert same(observation, {name: value[7] for name, value in first[0].items()})
    assert same(*first)
    rng = np.random.default_rng(0)
    is_running = True
    for _ in range(25):
        actions = rng.uniform(-1, 1, (40, 2)).astype(np.float32)
        one, other = (env.step(actions) for env in many)
        assert same(one[0], other[0])
        if is_running:
            observation, _, terminated, truncated, _ = alone.step(actions[7])
            is_running = not (terminated or truncated)
            got = {name: value[7] for name, value in one[0].items()} if is_running else one[4]["final_obs"][7]
            assert same(observation, got)
    assert many[0].observation_space.contains(one[0])


def test_errors() -> None:
    with pytest.raises(BadInput, match="not in sensors"):
        CrowdEnv("Plaza", lidar=FOUR)
    with pytest.raises(BadInput, match="not in sensors"):
        CrowdEnv("Plaza", sensors=("lidar",), grid={"size": 8})
    with pytest.raises(BadInput, match="lidr"):
        CrowdEnv("Plaza", sensors=("lidr",))
    with pytest.raises(BadInput, match="all round"):
        CrowdEnv("Plaza", sensors=("lidar",), lidar={"field_of_view": 3.0})
    with pytest.raises(BadInput, match="cell_m"):
        CrowdEnv("Plaza", sensors=("grid",), grid={"cell_m": -1.0})
    scenario = by_hand(robot="pioneer_3dx")
    data = scenario.model_dump(mode="json")
    hidden = {**data, "traffic": [{"kind": "car", "start": [0.0, 8.0, 0.0]}], "sensors": {"vehicles": {"range_m": 3.0}}}
    with pytest.raises(BadInput, match=r"sensors\.vehicles"):
        seen(type(scenario).parse(hidden, "test"))


def test_a_step_of_a_robot_that_stands_changes_nothing_of_a_still_world() -> None:
    env = environment(by_hand([stander(1.0, 2.0)], walled=True), sensors=("lidar", "grid"))
    first = env.step(STAND)[0]
    again = env.step(STAND)[0]
    assert np.array_equal(first["lidar"], again["lidar"])
    assert np.array_equal(first["grid"], again["grid"])
    assert LidarSettings().rays == 720  # the benchmark's own default is another
