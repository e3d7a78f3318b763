"""The human driver: the deceleration that keeps a time gap, whom it minds, zebras, what it draws, and the gaps of the
suite."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.policies.driving.human import DRAWN, HumanDriver
from sidestep.scenes.compile import compile_scene
from sidestep.scenes.load import resolve_scene
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.suites.street import STREET_SUITE
from sidestep.types import Drive, EpisodeRecord, Observation, Pedestrians, RobotState, Task

CAR = load_robot("car", None, None)
SCENE = compile_scene(resolve_scene("street:zebra-65"), "test")
LANE_Y, FRONT_M = -1.625, 3.206
FIXED: dict[str, Any] = {
    "target_kmh": 30.0, "time_gap_s": 2.0, "yields": 1.0, "reaction_s": 0.0, "comfortable": 3.0, "patience_s": 2.0,
}  # fmt: skip


def driver(at: float = -50.0, **changes: Any) -> HumanDriver:
    """At x = ``at`` on the way east."""
    policy = registry.make_policy("human_driver", {**FIXED, **changes})
    assert isinstance(policy, HumanDriver)
    route = np.array([[at + x, LANE_Y] for x in range(2, 130, 2)])
    policy.reset(
        Task(
            robot=CAR, start=(at, LANE_Y, 0.0), step_s=0.1, time_limit_s=45.0, goal_radius_m=0.3, route=route,
            map=SCENE,
        )
    )  # fmt: skip
    return policy


def see(x: float, speed: float, *people: tuple[float, float, float, float, float], time: float = 0.0) -> Observation:
    """People as (x, y, vx, vy, heading), from a car at ``x``."""
    rows = np.array(people, float).reshape(-1, 5)
    return Observation(
        time=time,
        robot=RobotState(x, LANE_Y, 0.0, speed, 0.0, 0.0),
        pedestrians=Pedestrians(
            id=np.arange(len(rows)), position=rows[:, :2], velocity=rows[:, 2:4], heading=rows[:, 4],
            radius=np.full(len(rows), 0.25), group=np.full(len(rows), -1),
        ),
    )  # fmt: skip


def act(policy: HumanDriver, observation: Observation) -> Drive:
    command = policy.act(observation)
    assert isinstance(command, Drive)
    return command


@settings(max_examples=80, deadline=None)
@given(
    speed=st.floats(3.0, 12.0), leaves=st.floats(0.5, 4.0), gap=st.floats(1.0, 4.0), share=st.floats(0.5, 1.0)
)  # fmt: skip
def test_the_deceleration_leaves_exactly_the_wanted_gap(speed: float, leaves: float, gap: float, share: float) -> None:
    """With d(t) = d - v t + a t²/2 and v(t) = v - a t, d(t) / v(t) is the wanted gap when the person leaves."""
    ahead = share * speed * (gap + leaves)
    a = -driver(time_gap_s=gap, comfortable=100.0)._keep_gap(ahead, leaves, speed)
    assert a >= -1e-9
    later_speed = speed - a * leaves
    if later_speed > 0.05:
        later = ahead - speed * leaves + a * leaves * leaves / 2
        assert later / later_speed == pytest.approx(gap, rel=1e-6)


def test_the_deceleration_by_hand() -> None:
    """8 m/s, 24 m ahead, out of the corridor in 2 s, gap 2 s: (8 · 4 - 24) / (2 + 4) = 4/3 m/s²."""
    assert driver()._keep_gap(24.0, 2.0, 8.0) == pytest.approx(-4.0 / 3.0)
    assert driver(comfortable=1.0)._keep_gap(24.0, 2.0, 8.0) == -1.0


def test_who_is_minded() -> None:
    x = 0.0 + FRONT_M + 16.0 - 4.0
    crossing = (x, LANE_Y - 1.4, 0.0, 1.3, np.pi / 2)
    assert act(driver(-4.0), see(-4.0, 8.3, crossing)).brake > 0.05
    assert act(driver(-4.0), see(-4.0, 8.3, (x, -5.0, 1.3, 0.0, 0.0))).brake == 0.0  # along the sidewalk
    assert act(driver(-4.0), see(-4.0, 8.3, (-12.0, LANE_Y, 0.0, 1.3, 1.6))).brake == 0.0  # behind the car
    assert act(driver(-4.0), see(-4.0, 8.3, (x, 0.2, 0.0, 1.3, 1.6))).brake == 0.0  # has left the corridor
    assert act(driver(-4.0), see(-4.0, 8.3, (5.0, 3.0, 0.0, -0.5, -1.6))).brake == 0.0  # comes after the car has passed


def test_the_driver_reacts_after_the_reaction_time() -> None:
    policy = driver(0.0, reaction_s=0.5)
    person = (FRONT_M + 20.0, LANE_Y - 1.4, 0.0, 1.3, 1.6)
    brakes = [act(policy, see(0.0, 8.3, person, time=time)).brake for time in (0.0, 0.3, 0.5)]
    assert brakes[:2] == [0.0, 0.0]
    assert brakes[2] > 0.0


def test_zebras() -> None:
    waits = (0.0, -3.75, 0.0, 0.0, np.pi / 2)
    turned = (0.0, -3.75, 0.0, 0.0, 0.0)
    beside = (6.0, -3.75, 0.0, 0.0, np.pi / 2)
    at = -25.0
    assert act(driver(at), see(at, 8.3, waits)).brake == pytest.approx(
        8.3 * 8.3 / (2 * (25.0 - 2.0 - FRONT_M - 1.5)) / 8
    )
    for other in (turned, beside):
        assert act(driver(at), see(at, 8.3, other)).brake == 0.0
    assert act(driver(at, yields=0.0), see(at, 8.3, waits)).brake == 0.0
    assert act(driver(-12.0), see(-12.0, 8.3, waits)).brake == 0.0  # too late to stop comfortably


def test_patience_ends() -> None:
    policy, waits = driver(-7.0, patience_s=1.0), (0.0, -3.75, 0.0, 0.0, np.pi / 2)
    stopped = [act(policy, see(-7.0, 0.0, waits, time=0.1 * k)) for k in range(30)]
    assert stopped[5].throttle == 0.0
    assert stopped[-1].throttle > 0.0


def test_styles_are_drawn_with_the_seed() -> None:
    route = np.array([[float(x), 0.0] for x in range(2, 80, 2)])
    task = {"robot": CAR, "start": (0.0, 0.0, 0.0), "step_s": 0.1, "time_limit_s": 45.0, "goal_radius_m": 0.3}
    policy = HumanDriver(time_gap_s=3.0)
    styles = []
    for seed in (1, 1, *range(2, 40)):
        policy.reset(Task(**task, route=route, seed=seed, map=SCENE))  # type: ignore[arg-type]
        styles.append(policy._style)
    assert styles[0] == styles[1]
    assert len({style.target_mps for style in styles}) == 39
    assert {style.time_gap_s for style in styles} == {3.0}
    low, high = DRAWN["reaction_s"].low, DRAWN["reaction_s"].high
    assert all(low <= style.reaction_s <= high for style in styles)
    with pytest.raises(BadInput, match="time_gap_s"):
        HumanDriver(time_gap=3.0)


def minimum_gaps(record: EpisodeRecord) -> list[float]:
    """Least TTC to everybody who is in the corridor ahead of the moving car, s."""
    forth = 1.0 if abs(record.robot_pose[0, 2]) < 1.0 else -1.0
    route = np.array(record.scenario.ego.route)
    front = forth * record.robot_pose[:, 0] + FRONT_M
    speed = np.hypot(record.robot_velocity[:, 0], record.robot_velocity[:, 1])
    x, y = forth * record.person_position[..., 0], record.person_position[..., 1]
    ahead = x - front[:, None]
    inside = (np.abs(y - np.interp(x, forth * route[:, 0], route[:, 1])) < 1.5) & (ahead > 0.0)
    gap = np.where(inside, ahead / np.maximum(speed, 1e-6)[:, None], np.inf).min(axis=0)
    return [float(value) for value in gap if value < 10.0]


def test_gaps_are_spread_like_those_of_human_drivers() -> None:
    """Published: quartiles 2.09, 2.84 and 3.92 s, from 0.6 s on."""
    scenarios = STREET_SUITE.with_options({"split": "dev"}).scenarios()
    records = [run_episode(each, "human_driver", seed=0, act_limit_s=None) for each in scenarios]
    gaps = np.array([gap for record in records for gap in minimum_gaps(record)])
    assert len(gaps) > 30
    assert 2.2 < np.median(gaps) < 3.4
    assert 1.5 < np.percentile(gaps, 25) < 2.8
    assert (gaps < 0.6).mean() < 0.03
    assert sum(record.outcome == "success" for record in records) >= len(records) - 1
