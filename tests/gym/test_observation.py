"""What the robot observes, worked out by hand; padding, the nearest of many, pictures."""

from __future__ import annotations

from math import cos, pi, sin
from typing import Any

import numpy as np
import pytest

from sidestep.gym.environment import CrowdEnv
from sidestep.render.top_view import palette
from tests.gym.scenes import STAND, by_hand, environment, stander


def first(scenario: Any, **options: Any) -> dict[str, Any]:
    observation: dict[str, Any] = CrowdEnv("Scenario", scenario=scenario, **options).reset(seed=0)[0]
    return observation


WALKER = {"start": [2.0, 1.0], "waypoints": [[2.0, 9.0]], "speed": 1.5, "radius": 0.2}


def test_a_holonomic_robot_sees_along_the_worlds_axes() -> None:
    scenario = by_hand([WALKER, stander(-1.0, 0.5)], start=(1.0, 0.0, pi / 3), goal=(4.0, -2.0))
    observation = first(scenario)
    # goal, velocity, turn rate, radius, speed limit, time
    assert observation["robot"] == pytest.approx([3.0, -2.0, 0.0, 0.0, 0.0, 0.3, 1.0, 0.0], abs=1e-6)
    assert observation["people"] == pytest.approx(np.array([[1, 1, 0, 1.5, 0.2], [-2, 0.5, 0, 0, 0.25]]), abs=1e-6)
    assert observation["mask"].tolist() == [1, 1]
    assert {key: value.dtype for key, value in observation.items()} == {
        "robot": np.float32,
        "people": np.float32,
        "mask": np.int8,
    }


@pytest.mark.parametrize("robot", ["pioneer_3dx", "car"])
def test_other_robots_see_along_their_heading(robot: str) -> None:
    scenario = by_hand([WALKER], robot=robot, start=(1.0, -6.0, pi / 2), goal=(4.0, 2.0))
    observation = first(scenario)
    # looking up: ahead is the world's y, left its -x
    assert observation["robot"][:2] == pytest.approx([8.0, -3.0], abs=1e-5)
    assert observation["people"][0] == pytest.approx([7.0, -1.0, 1.5, 0.0, 0.2], abs=1e-5)


def test_a_unicycle_that_has_driven_and_turned() -> None:
    # 1.2 m/s and 1.1 rad/s for 0.25 s: an arc of radius v/ω
    env = environment(by_hand([stander(2.0, 1.0)], robot="pioneer_3dx", goal=(3.0, 0.0)))
    observation = env.step(np.ones(2, np.float32))[0]
    turned = 1.1 * 0.25
    x, y = 1.2 / 1.1 * sin(turned), 1.2 / 1.1 * (1 - cos(turned))

    def ahead(dx: float, dy: float) -> list[float]:
        return [cos(turned) * dx + sin(turned) * dy, cos(turned) * dy - sin(turned) * dx]

    expected = [*ahead(3.0 - x, -y), 1.2, 0.0, 1.1, 0.2, 1.2, 0.25 / 10.0]
    assert observation["robot"] == pytest.approx(expected, abs=1e-5)
    assert observation["people"][0] == pytest.approx([*ahead(2.0 - x, 1.0 - y), 0.0, 0.0, 0.25], abs=1e-5)


def test_time_runs_from_0_to_1() -> None:
    env = environment(by_hand(time_limit_s=1.0))
    assert [float(env.step(STAND)[0]["robot"][7]) for _ in range(4)] == pytest.approx([0.25, 0.5, 0.75, 1.0])


CROWD = [stander(3.0, 0.0), stander(0.0, 1.0), stander(-2.0, 0.0), stander(0.0, -4.0)]


def test_more_room_than_people_is_filled_with_zeros() -> None:
    observation = first(by_hand(CROWD), max_people=6)
    assert observation["people"].shape == (6, 5)
    assert observation["mask"].tolist() == [1, 1, 1, 1, 0, 0]
    assert observation["people"][:4, 0].tolist() == [3.0, 0.0, -2.0, 0.0]
    assert not observation["people"][4:].any()


def test_more_people_than_room_leaves_the_nearest_in_their_order() -> None:
    observation = first(by_hand(CROWD), max_people=2)
    assert observation["mask"].tolist() == [1, 1]
    assert observation["people"][:, :2].tolist() == [[0.0, 1.0], [-2.0, 0.0]]


def test_of_people_equally_near_the_first_is_kept() -> None:
    around = [stander(2.0, 0.0), stander(0.0, 2.0), stander(-2.0, 0.0), stander(0.0, 1.0)]
    assert first(by_hand(around), max_people=2)["people"][:, :2].tolist() == [[2.0, 0.0], [0.0, 1.0]]


def test_nobody_is_one_empty_row() -> None:
    observation = first(by_hand())
    assert observation["people"].shape == (1, 5)
    assert observation["mask"].tolist() == [0]


@pytest.mark.parametrize("max_people", [None, 1])
def test_people_yet_to_come_and_gone_are_not_seen(max_people: int | None) -> None:
    coming = {"start": [2.0, 2.0], "waypoints": [[2.0, 2.8]], "speed": 1.0, "enter_s": 0.5}
    part = {"sees_robot": False, "at_end": "leave", "people": [coming, stander(5.0, 5.0)]}
    env = environment(by_hand(crowd=[part]), max_people=max_people)
    seen = [env.step(STAND)[0] for _ in range(8)]
    there = [bool((abs(step["people"][:, 0] - 2.0) < 0.1).any() and step["mask"].any()) for step in seen]
    assert there[:2] == [False, False]
    assert there[2:4] == [True, True]
    assert there[-1] is False
    assert all(not step["people"][step["mask"] == 0].any() for step in seen)


def test_a_stream_has_room_for_a_full_world() -> None:
    flow = {"kind": "flow", "origin": [4, -1, 5, 1], "destination": [-5, -1, -4, 1], "per_minute": 60}
    env = CrowdEnv("Scenario", scenario=by_hand(crowd=[{"at_end": "leave", "placement": flow}]))
    (rows, _) = env.observation_space["people"].shape
    assert rows >= 10
    for seed in range(20):  # also worlds with more people than rows
        assert env.observation_space.contains(env.reset(seed=seed)[0])
        assert env.observation_space.contains(env.step(STAND)[0])


def test_picture() -> None:
    scenario = by_hand([stander(2.0, 2.0)], start=(-3.0, -3.0, 0.0), goal=(3.0, 3.0), walled=True)
    env = environment(scenario, render_mode="rgb_array", picture_size=200)
    picture = env.render()
    assert picture.shape == (200, 200, 3)
    assert picture.dtype == np.uint8

    def colour_at(x: float, y: float) -> list[int]:
        px, py = env._view.view.pixels(np.array([x, y]))  # type: ignore[union-attr]
        return [int(value) for value in picture[int(py), int(px)]]

    near = [colour_at(-3.0 + dx, -3.0 + dy) for dx in (-0.15, 0.15) for dy in (-0.15, 0.15)]
    assert min(np.abs(np.array(each) - palette.ROBOT).max() for each in near) < 40  # the robot's colour, bottom left
    assert colour_at(0.0, 0.0) != colour_at(2.0, 2.0)
    for _ in range(8):
        env.step(np.array([0.0, 1.0], np.float32))
    moved = env.render()
    assert (moved != picture).any()
    assert CrowdEnv("Scenario", scenario=scenario).render() is None


def test_a_picture_is_as_long_as_the_scene() -> None:
    env = CrowdEnv("Corridor", render_mode="rgb_array", picture_size=300)  # 16 m by 3 m, and some margin
    env.reset(seed=0)
    height, width, _ = env.render().shape
    assert width == 300
    assert 80 <= height <= 130
    assert height % 2 == 0
