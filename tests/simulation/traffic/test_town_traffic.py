"""What traffic in towns needs of vehicles on lanes: they yield to robots, come in again, and are as many as the streets
are long; some are parked."""

from __future__ import annotations

from math import pi
from typing import Any, ClassVar

import numpy as np
import pytest

from sidestep.errors import BadInput
from sidestep.simulation import run_episode
from sidestep.simulation.build import build_world
from sidestep.types import Observation, Task, Velocity
from tests.simulation.traffic.roads import LANE_Y, straight_road, traffic_contacts
from tests.simulation.traffic.test_lane_traffic import (
    FRONT,
    REAR,
    comes_from,
    drive,
    junction,
    road_with,
    speeds,
    through_at,
    vehicle,
)

CROSSING = {"name": "c", "ends": [[60.0, -7.0], [60.0, 3.5]], "width": 4.0}
STOP_LINE = 60.0 - 2.0 - 1.0
"""Where a front stops before the crossing."""


def robot_at(x: float, y: float, spec: str = "delivery_robot") -> list[dict[str, Any]]:
    return [{"spec": spec, "start": [x, y, pi / 2], "goal": [x, y + 5.0]}]


def test_a_robot_on_a_crossing_counts_like_a_person() -> None:
    """It stands in the lane of the other direction, in nobody's way."""
    scene = straight_road(crossings=[CROSSING])
    record = drive(road_with([vehicle(10.0)], 12.0, scene=scene, robots=robot_at(60.0, 2.0)))
    front = record.other_pose[-1, 0, 0] + FRONT
    assert STOP_LINE - 1.5 < front < STOP_LINE + 0.9
    assert speeds(record, 0)[-1] < 0.05
    beside = drive(road_with([vehicle(10.0)], 12.0, scene=scene, robots=robot_at(66.0, 2.0)))
    assert np.isnan(beside.other_pose[-1, 0, 0]) or beside.other_pose[-1, 0, 0] > 80.0


def test_a_car_under_test_on_a_crossing_is_traffic() -> None:
    robots = [{"spec": "car", "start": [61.0, 1.75, pi], "goal": [0.0, 1.75]}]
    record = drive(road_with([vehicle(10.0)], 12.0, scene=straight_road(crossings=[CROSSING]), robots=robots))
    assert np.isnan(record.other_pose[-1, 0, 0]) or record.other_pose[-1, 0, 0] > 80.0


class Across:
    """Drives straight on at 1.4 m/s."""

    name = "across"
    needs: ClassVar[tuple[str, ...]] = ()

    def reset(self, task: Task) -> None:
        """Nothing."""

    def act(self, observation: Observation) -> Velocity:
        """Ahead."""
        return Velocity(1.4, 0.0)


@pytest.mark.parametrize("x", [0.0, 10.0, 20.0, 30.0])
def test_a_robot_that_crosses_is_not_hit(x: float) -> None:
    """At 10 m/s a car has to begin 12.5 m before the line; it has at least 20 m when the robot is at the kerb."""
    scene = straight_road(crossings=[CROSSING])
    robots = [{"spec": "delivery_robot", "start": [60.0, -8.0, pi / 2], "goal": [60.0, 5.0]}]
    rules = {"step_s": 0.05, "time_limit_s": 15, "ends_on": ["success", "timeout", "vehicle_collision"]}
    record = run_episode(road_with([vehicle(x)], scene=scene, robots=robots, rules=rules), Across(), seed=0)
    assert record.outcome.value == "success"


def test_a_robot_that_stands_on_the_road_stops_traffic() -> None:
    record = drive(road_with([vehicle(10.0), vehicle(0.0, 8.0)], 20.0, robots=robot_at(60.0, LANE_Y)))
    fronts = record.other_pose[-1, :, 0] + FRONT
    assert 55.0 < fronts[0] < 60.0 - 0.5
    assert fronts[1] < record.other_pose[-1, 0, 0] - REAR
    assert speeds(record, 0)[-1] < 0.05
    assert not any(event.kind == "collision_start" for event in record.events)


def test_who_has_left_comes_in_again_where_its_lanes_begin() -> None:
    """From x = 100 a car has left after 2 s, comes in 5 s later at x = 0, and is 12 s on the road."""
    record = drive(road_with([vehicle(100.0, returns_s=5.0)], 25.0))
    x = record.other_pose[:, 0, 0]
    left = int(np.flatnonzero(np.isnan(x))[0])
    back = left + int(np.flatnonzero(~np.isnan(x[left:]))[0])
    assert 1.5 < 0.05 * left < 2.5
    assert 4.9 < 0.05 * (back - left) < 5.3
    assert 0.0 <= x[back] < 1.0
    np.testing.assert_allclose(record.other_pose[back, 0, 1:], [LANE_Y, 0.0], atol=1e-6)
    np.testing.assert_allclose(np.diff(x[back : back + 100]) / 0.05, 10.0, atol=0.5)
    gone = drive(road_with([vehicle(100.0)], 25.0)).other_pose[:, 0, 0]
    assert np.isnan(gone[left:]).all()


@pytest.mark.parametrize("place", [(8.0, LANE_Y, False), (8.0, 6.0, True), (30.0, LANE_Y, True)])
def test_nobody_comes_in_where_somebody_stands(place: tuple[float, float, bool]) -> None:
    x, y, comes = place
    record = drive(road_with([vehicle(100.0, returns_s=2.0)], 15.0, robots=robot_at(x, y)))
    back = record.other_pose[60:, 0, 0]
    assert (~np.isnan(back)).any() == comes
    assert not any(event.kind == "collision_start" for event in record.events)


def test_parked_cars_take_their_share_of_the_bays() -> None:
    bays = [{"middle": [10.0 * k, -6.0], "heading": 0.0} for k in range(1, 11)]
    scene = straight_road(parking=bays)
    for share, least, most in ((0.0, 0, 0), (0.5, 1, 9), (1.0, 10, 10)):
        traffic = {"per_km": 0.0, "parked_share": share}
        world = build_world(road_with([], scene=scene, lane_traffic=traffic), 0)
        assert least <= len(world.scenario.traffic) <= most
        for place in world.scenario.traffic:
            body = np.array(place.spec.footprint.polygon) + place.start[:2]
            middle = (body.min(axis=0) + body.max(axis=0)) / 2
            assert min(abs(middle[0] - 10.0 * k) for k in range(1, 11)) < 1e-9
            assert middle[1] == pytest.approx(-6.0)


def test_vehicles_per_kilometre() -> None:
    """Three lanes of 120 m have 360 m: 10 per km are 3.6, so 3 or 4."""
    counts = {
        len(build_world(road_with([], lane_traffic={"per_km": 10.0}), seed).scenario.traffic) for seed in range(12)
    }
    assert counts == {3, 4}
    with pytest.raises(BadInput, match="the scene has no lanes"):
        build_world(road_with([], scene={"name": "empty"}, lane_traffic={"per_km": 10.0}), 0)


@pytest.mark.parametrize("keeps_clear", [False, True])
def test_with_keeps_clear_a_vehicle_waits_before_the_junction(keeps_clear: bool) -> None:
    """Its lane into the junction ends 13 m from the origin; the first conflict on its way is some metres behind."""
    scene = junction(east=1, west=1)
    stream = [comes_from(scene, "west", "east", 25 + 12 * k) for k in range(3)]
    traffic = [comes_from(scene, "south", "north", 25), *stream]
    for each in traffic if keeps_clear else ():
        each["parameters"]["keeps_clear"] = 1.0
    record = drive(road_with(traffic, scene=scene.model_dump()))
    slowest = int(np.nanargmin(speeds(record, 0)))
    assert np.nanmin(speeds(record, 0)) < 1.0
    assert (record.other_pose[slowest, 0, 1] + FRONT < -13.0) == keeps_clear
    assert through_at(record, 1) < through_at(record, 0) < 30
    assert traffic_contacts(record) == []
