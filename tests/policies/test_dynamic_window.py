"""The lidar-only policy: what it does about walls, people, a corridor and a goal, and that it uses nothing else."""

from __future__ import annotations

from dataclasses import replace
from math import pi
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.policies.dynamic_window.policy import DynamicWindow, Movers
from sidestep.policies.dynamic_window.seen_map import CELL, SIDE, empty_map, enter_scan, moved_map, plan_to_go
from sidestep.simulation import run_episode
from sidestep.simulation.robots import load_robot
from sidestep.types import EpisodeRecord, HolonomicVelocity, LidarScan, Observation, Outcome, RobotState, Task, Velocity
from tests.simulation.scenarios import make

RAYS = 360


def scan_of(distance: Any) -> LidarScan:
    """A scan all round with ``distance(angle)``, m."""
    angles = -pi + 2 * pi * np.arange(RAYS) / RAYS
    return LidarScan(np.array([min(distance(a), 20.0) for a in angles], np.float32), -pi, 2 * pi / RAYS, 20.0)


def asked(distance: Any, robot: str = "pioneer_3dx", goal: tuple[float, float] = (8.0, 0.0), **settings: Any) -> Any:
    policy = DynamicWindow(**settings)
    policy.reset(Task(load_robot(robot), (0.0, 0.0, 0.0), 0.1, 60.0, 0.3, goal=goal))
    return policy.act(Observation(0.0, RobotState(0.0, 0.0, 0.0, 0.5, 0.0, 0.0), goal=goal, lidar=scan_of(distance)))


def wall_ahead(at: float) -> Any:
    """Distance to a wall across the way, 3 m to either side."""

    def distance(angle: float) -> float:
        ahead, aside = np.cos(angle), np.sin(angle)
        if ahead <= 0.0 or abs(aside / ahead * at) > 3.0:
            return 20.0
        return float(at / ahead)

    return distance


def test_on_open_ground_it_drives_straight_at_full_speed() -> None:
    command = asked(lambda _: 20.0)
    assert isinstance(command, Velocity)
    assert command.v == pytest.approx(1.2)
    assert command.omega == pytest.approx(0.0, abs=0.1)
    sideways = asked(lambda _: 20.0, goal=(0.0, 8.0))
    assert sideways.omega > 0.5


def test_a_holonomic_robot_gets_velocities_over_ground() -> None:
    command = asked(lambda _: 20.0, robot="point", goal=(0.0, 8.0))
    assert isinstance(command, HolonomicVelocity)
    assert command.vy == pytest.approx(1.0)
    assert command.vx == pytest.approx(0.0, abs=0.1)


def test_it_never_takes_a_velocity_from_which_it_cannot_stop() -> None:
    for at in (0.35, 0.6, 1.0):
        command = asked(wall_ahead(at))
        assert command.v * 0.1 + command.v**2 / (2 * 1.5) < at - 0.2


def drive(**described: Any) -> EpisodeRecord:
    record = run_episode(make(**described), DynamicWindow())
    assert not record.error
    return record


STRAIGHT = [{"spec": "pioneer_3dx", "start": [-6.0, 0.0, 0.0], "goal": [6.0, 0.0]}]
CORRIDOR = {"name": "hall", "enclosed": True, "regions": [
    {"kind": "walkable", "polygon": [[-8, -1], [8, -1], [8, 1], [-8, 1]]}]}  # fmt: skip


def test_an_empty_corridor() -> None:
    record = drive(scene=CORRIDOR, robots=STRAIGHT)
    assert record.outcome is Outcome.SUCCESS
    assert record.time[-1] < 13.0  # 12 m at 1.2 m/s take 10 s
    assert np.abs(record.robot_pose[:, 1]).max() < 0.3


@pytest.mark.parametrize("spec", ["pioneer_3dx", "point", "delivery_robot"])
def test_it_goes_round_a_wall(spec: str) -> None:
    """A wall, closed towards the robot like a U, which heading for the goal alone never leaves."""
    walls = [[[0, -3], [0.3, -3], [0.3, 3], [0, 3]], [[-2, 3], [0.3, 3], [0.3, 3.3], [-2, 3.3]],
             [[-2, -3.3], [0.3, -3.3], [0.3, -3], [-2, -3]]]  # fmt: skip
    scene = {"name": "walls", "regions": [{"kind": "obstacle", "polygon": wall} for wall in walls]}
    record = drive(scene=scene, robots=[{**STRAIGHT[0], "spec": spec}])
    assert record.outcome is Outcome.SUCCESS
    assert np.abs(record.robot_pose[:, 1]).max() > 3.3


def test_it_stops_before_a_person_who_fills_the_way() -> None:
    narrow = {"name": "hall", "enclosed": True, "regions": [
        {"kind": "walkable", "polygon": [[-8, -0.4], [8, -0.4], [8, 0.4], [-8, 0.4]]}]}  # fmt: skip
    crowd = [{"model": "static", "people": [{"start": [0.0, 0.0]}]}]
    record = drive(scene=narrow, robots=STRAIGHT, crowd=crowd, rules={"time_limit_s": 15.0})
    assert record.outcome is Outcome.TIMEOUT
    assert -2.0 < record.robot_pose[-1, 0] < -0.4
    assert np.abs(record.robot_velocity[-1, :2]).max() < 0.05


def test_it_steps_aside_for_a_person_who_comes_towards_it() -> None:
    crowd = [{"model": "social_force_moussaid", "sees_robot": False,
              "people": [{"start": [4.0, 0.0], "waypoints": [[-9.0, 0.0]], "speed": 1.2}]}]  # fmt: skip
    record = drive(robots=STRAIGHT, crowd=crowd)
    assert record.outcome is Outcome.SUCCESS


def test_it_uses_lidar_goal_and_its_own_state_alone() -> None:
    assert DynamicWindow.needs == {"lidar", "goal"}
    policies = [DynamicWindow(), DynamicWindow()]
    goal, state = (5.0, 1.0), RobotState(0.0, 0.0, 0.2, 0.5, 0.0, 0.0)
    task = Task(load_robot("pioneer_3dx"), (0.0, 0.0, 0.0), 0.1, 60.0, 0.3, goal=goal)
    policies[0].reset(task)
    policies[1].reset(replace(task, route=np.full((3, 2), np.nan), seed=7))
    plain = Observation(0.0, state, goal=goal, lidar=scan_of(wall_ahead(2.0)))
    noisy = replace(
        plain, depth=np.full((4, 4), np.nan, np.float32), rgb=np.zeros((1, 1, 3), np.uint8), signals={"x": "?"}
    )
    assert policies[0].act(plain) == policies[1].act(noisy)


def test_the_map_keeps_what_went_out_of_sight_and_moves_along() -> None:
    seen = empty_map(0.0, 0.0)
    ends, hit = np.array([[3.0, 0.0], [0.0, 9.0]]), np.array([1, 0], np.uint8)
    enter_scan(seen, 0.0, 0.0, ends, hit)
    assert seen.occupied.sum() == 1
    enter_scan(seen, 0.0, 0.0, np.array([[0.0, 9.0]]), np.zeros(1, np.uint8))
    assert seen.occupied.sum() == 1
    moved = moved_map(seen, 8.0, 0.0)
    i, j = np.argwhere(moved.occupied)[0]
    assert (moved.x0 + j * CELL, moved.y0 + i * CELL) == pytest.approx((3.0, 0.0), abs=CELL)
    enter_scan(moved, 0.0, 0.0, np.array([[5.0, 0.0]]), np.zeros(1, np.uint8))
    assert moved.occupied.sum() == 0  # the ray passed there


def test_the_distance_to_the_goal_leads_round_what_was_seen() -> None:
    seen = empty_map(0.0, 0.0)
    wall = [[2.0, y] for y in np.arange(-3.0, 3.0, 0.1)]
    enter_scan(seen, 0.0, 0.0, np.array(wall), np.ones(len(wall), np.uint8))
    middle = SIDE // 2
    plan_to_go(seen, 4.0, 0.0, 0.2, 0.3)
    round_it = seen.to_go[middle, middle]
    assert 2 * np.hypot(2.0, 3.2) - 0.4 < round_it < 2 * np.hypot(2.0, 3.2) + 1.5
    plan_to_go(seen, 100.0, 0.0, 0.2, 0.3)  # beyond the map
    assert 100.0 < seen.to_go[middle, middle] < 103.0


def test_velocities_of_bodies() -> None:
    movers, angles = Movers(), np.linspace(-0.1, 0.1, 9)
    hit = np.ones(9, np.uint8)
    for k in range(8):
        at = 4.0 - 0.1 * k
        ends = np.stack([at * np.cos(angles), at * np.sin(angles)], axis=1)
        velocity = movers.velocities(0.1 * k, ends, hit, np.full(9, at))
    assert velocity[4] == pytest.approx([-1.0, 0.0], abs=0.1)
    long = np.stack([np.full(9, 3.0), np.linspace(-1.5, 1.5, 9)], axis=1)
    assert (Movers().velocities(0.0, long, hit, np.full(9, 3.0)) == 0.0).all()


def test_settings_are_checked() -> None:
    with pytest.raises(BadInput, match="horizon"):
        DynamicWindow(horizon=100.0)
    with pytest.raises(BadInput, match="gap"):
        DynamicWindow(gap=-1.0)
