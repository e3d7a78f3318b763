"""Free-flow time and time-weighted success by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import sqrt
from typing import Any

import numpy as np
import pytest

from sidestep.types import EpisodeRecord, Footprint, Outcome, RobotLimits
from tests.simulation.traffic.roads import LANE_Y, on_the_road, straight_road

from .records import make_record

CAR = Footprint(polygon=((3.0, -1.0), (3.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)))
"""Its middle is 1 m ahead of its reference point."""
Value = Callable[..., float]


def drive(
    steps: int = 160, outcome: Outcome = Outcome.SUCCESS, limit: float = 6.0, speed: float = 0.0, **limits: float
) -> EpisodeRecord:
    """A car at (10, -1.75) that has to leave by x = 100: its middle has 89 m to go, on lanes of 6 m/s."""
    record = make_record(np.zeros((steps + 1, 2)), footprint=CAR, outcome=outcome)
    scene = straight_road()
    for lane in scene["roads"]["lanes"]:
        lane["speed_limit"] = limit if lane["name"] == "east" else 13.9
    robot = {"spec": "car", "start": [10, LANE_Y, 0], "goal": [110, LANE_Y], "route": [[60, LANE_Y]], "speed": speed}
    robots = [robot]
    given = RobotLimits(max_speed=20.0, **{"max_acceleration": 3.0, "max_deceleration": 8.0, **limits})
    scenario = on_the_road(scene=scene, robots=robots, rules={"step_s": record.step_s})
    return replace(record, scenario=scenario, robot=record.robot.model_copy(update={"limits": given}))


def test_accelerating_then_at_the_limit(value: Value) -> None:
    """At 3 m/s² the car has 6 m/s after 6 m and 2 s; the other 83 m take 13.83 s."""
    assert value(drive(), "free_flow_time") == pytest.approx(2.0 + 83.0 / 6.0)


def test_rolling_start_and_top_speed(value: Value) -> None:
    assert value(drive(speed=6.0), "free_flow_time") == pytest.approx(89.0 / 6.0)
    assert value(drive(limit=20.0, max_acceleration=2.0), "free_flow_time") == pytest.approx(sqrt(2.0 * 89.0 / 2.0))


def test_curves_are_driven_at_2_mps2(value: Value) -> None:
    """A quarter of a circle of 10 m, where √(2 · 10) = 4.47 m/s are comfortable, out of the area to the north."""
    record = drive(limit=13.9, speed=4.0)
    angle = np.linspace(0.0, np.pi / 2, 41)
    points = [[10.0 + 10.0 * np.sin(a), LANE_Y + 10.0 * (1.0 - np.cos(a))] for a in angle]
    ego = record.scenario.ego.model_copy(
        update={"route": tuple(map(tuple, points[1:])), "goal": (20.0, LANE_Y + 30.0), "start": (10.0, LANE_Y, 0.0)}
    )
    rule = record.scenario.rules.exit
    assert rule is not None
    leaves = rule.model_copy(update={"area": (0.0, -20.0, 100.0, LANE_Y + 10.0 + 1e-6), "side": "north"})
    rules = record.scenario.rules.model_copy(update={"exit": leaves})
    scenario = record.scenario.model_copy(update={"robots": (ego,), "rules": rules})
    found = value(replace(record, scenario=scenario), "free_flow_time")
    length = 5.0 * np.pi - 1.0
    assert length / 6.0 < found < length / 4.0
    assert found == pytest.approx(length / sqrt(20.0), rel=0.06)


def test_success_weighed_by_time(value: Value) -> None:
    """160 steps of an eighth of a second are 20 s."""
    free = 2.0 + 83.0 / 6.0
    assert value(drive(), "time_weighted_success") == pytest.approx(free / 20.0)
    assert value(drive(steps=80), "time_weighted_success") == 1.0  # faster than allowed is not better
    assert value(drive(outcome=Outcome.TIMEOUT), "time_weighted_success") == 0.0


def test_where_there_is_none(result: Callable[..., Any]) -> None:
    other = make_record(np.zeros((3, 2)))
    assert "leave an area" in result(other, "time_weighted_success").reason
    record = drive()
    ego = record.scenario.ego.model_copy(update={"goal": (90.0, LANE_Y), "route": ()})
    inside = replace(record, scenario=record.scenario.model_copy(update={"robots": (ego,)}))
    assert "does not leave" in result(inside, "free_flow_time").reason
