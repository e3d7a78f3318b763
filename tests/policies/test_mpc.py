"""The predictive planner: what it does in worlds small enough to know what is right."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep import registry
from sidestep.errors import BadInput
from sidestep.metrics.score import score
from sidestep.simulation import run_episode
from sidestep.types import EpisodeRecord, Outcome
from tests.simulation.scenarios import make, room


def drive(seed: int = 0, settings: dict[str, Any] | None = None, **changes: Any) -> EpisodeRecord:
    """An episode of the planner; by default an empty world, 10 m ahead."""
    robots = [{"spec": "pioneer_3dx", "dynamics": "holonomic", "start": [0, -5, 1.5708], "goal": [0, 5]}]
    rules = {"step_s": 0.05, "time_limit_s": 30}
    scenario = make(**{"robots": robots, "rules": rules, **changes})
    return run_episode(scenario, registry.make_policy("mpc", settings), seed=seed)


def walker(start: list[float], end: list[float], speed: float) -> dict[str, Any]:
    """Somebody who walks straight and minds nobody."""
    return {"model": "orca", "sees_robot": False, "people": [{"start": start, "waypoints": [end], "speed": speed}]}


def speeds(record: EpisodeRecord) -> np.ndarray:
    return np.hypot(record.robot_velocity[:, 0], record.robot_velocity[:, 1])


def closest(record: EpisodeRecord) -> float:
    """Smallest distance between centres, m."""
    away = record.person_position - record.robot_pose[:, None, :2]
    return float(np.nanmin(np.hypot(away[..., 0], away[..., 1])))


def test_goes_straight_and_gently_through_an_empty_world() -> None:
    record = drive()
    assert record.outcome is Outcome.SUCCESS
    assert np.abs(record.robot_pose[:, 0]).max() < 1e-3
    assert speeds(record).max() == pytest.approx(1.2, abs=0.02)
    values = score(record, ["acceleration_max", "jerk_max"])
    assert values["acceleration_max"].value < 3.0
    assert values["jerk_max"].value < 25.0
    assert record.duration < 10.0 / 1.2 + 1.5


def test_arrives_without_overshoot_or_oscillation() -> None:
    record = drive(rules={"step_s": 0.05, "time_limit_s": 14, "goal_radius_m": 0.02})
    assert record.outcome is Outcome.SUCCESS
    y = record.robot_pose[:, 1]
    assert y.max() < 5.05
    assert (np.diff(y) > -1e-3).all()


def test_is_deterministic() -> None:
    crowd = [{"model": "orca", "at_end": "loop", "placement": {"kind": "circle", "count": 6, "radius": 4.5}}]
    first, again = (drive(seed=3, crowd=crowd) for _ in range(2))
    assert first.outcome is not Outcome.POLICY_ERROR, first.error
    assert first.digest == again.digest


def test_passes_somebody_who_stands_with_room() -> None:
    record = drive(crowd=[{"model": "static", "radius": 0.2, "people": [{"start": [0.05, 0]}]}])
    assert record.outcome is Outcome.SUCCESS
    assert closest(record) > 0.55
    assert speeds(record)[40:-40].min() > 0.8


def test_yields_to_somebody_who_crosses() -> None:
    record = drive(crowd=[walker([-4.4, 0], [6, 0], 1.2)])
    assert record.outcome is Outcome.SUCCESS
    assert closest(record) > 0.6


def test_steps_out_of_the_way_of_somebody_from_behind() -> None:
    record = drive(crowd=[walker([0, -9], [0, 9], 2.0)])
    assert record.outcome is Outcome.SUCCESS
    assert closest(record) > 0.55


def test_waits_where_a_corridor_is_blocked() -> None:
    corridor = {
        "enclosed": True,
        "regions": [{"kind": "walkable", "polygon": [[-0.6, -7], [0.6, -7], [0.6, 7], [-0.6, 7]]}],
    }
    crowd = [{"model": "static", "radius": 0.3, "people": [{"start": [0, 1]}]}]
    record = drive(scene=corridor, crowd=crowd, rules={"step_s": 0.05, "time_limit_s": 18})
    assert record.outcome is Outcome.TIMEOUT
    assert closest(record) > 0.55
    assert speeds(record)[-20:].max() < 0.1


def test_finds_its_way_round_walls() -> None:
    robots = [{"spec": "pioneer_3dx", "dynamics": "holonomic", "start": [-2.4, 0, 0], "goal": [2.4, 0]}]
    record = drive(scene=room(), robots=robots)
    assert record.outcome is Outcome.SUCCESS


@pytest.mark.parametrize("start", [[0, -5, 1.5708], [0, -5, -1.5708]])
def test_drives_a_robot_that_has_to_turn(start: list[float]) -> None:
    robots = [{"spec": "pioneer_3dx", "dynamics": "unicycle", "start": start, "goal": [0, 5]}]
    record = drive(robots=robots, crowd=[walker([-4.4, 0], [6, 0], 1.2)])
    assert record.outcome is Outcome.SUCCESS
    assert closest(record) > 0.5


@settings(max_examples=12, deadline=None)
@given(st.floats(-3.14, 3.14), st.floats(0.6, 1.8), st.floats(-0.5, 0.5))
def test_is_touched_by_nobody_who_walks_straight(angle: float, speed: float, offset: float) -> None:
    """From any side, timed to meet the robot about half way."""
    away = 4.6 * speed
    x, y = np.cos(angle), np.sin(angle)
    start, end = [away * x - offset * y, away * y + offset * x], [-9 * x - offset * y, -9 * y + offset * x]
    if np.hypot(start[0], start[1] + 5) < 1.5:
        return
    record = drive(crowd=[walker(start, end, speed)])
    assert record.outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"jerk": 0.0}, "jerk"),
        ({"hard_gap": -0.1}, "hard_gap"),
        ({"growth": float("nan")}, "growth"),
        ({"iterations": 0}, "iterations"),
        ({"search": 1.0}, "did you mean 'search_s'"),
        ({"touch_gap": 0.9}, "touch_gap must not exceed soft_gap"),
    ],
)
def test_refuses_settings_that_make_no_sense(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        registry.make_policy("mpc", wrong)
