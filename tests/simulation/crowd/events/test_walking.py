"""Frontal, lateral, overtaking, crossing: people who walk, and what the robot's own conduct makes of it."""

from __future__ import annotations

from math import pi, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.simulation import build_world
from sidestep.types import Observation
from sidestep.types.base import FloatArray
from tests.simulation.crowd.events.playing import STEP, at, contacts, gaps, play, scenario, straight, trigger_time

ZONE = [[4, -1.75], [12, -1.75], [12, 1.75], [4, 1.75]]


def test_frontal_waits_for_twenty_metres_and_then_comes() -> None:
    """From x = 0 at 1 m/s, 20 m before x = 25: at 5 s. At 1.2 m/s the bodies (0.6 m) touch after 19.4 / 2.2 s more."""
    record = play({"kind": "frontal", "at": [25, 0], "speed": 1.2}, straight(1.0))
    assert trigger_time(record) == pytest.approx(5.0)
    assert (record.person_position[: at(record, 5.0) + 1, 0] == [25, 0]).all()
    (start,) = [event.time for event in record.events if event.kind == "collision_start"]
    assert start == pytest.approx(5.0 + (25 - 5 - 0.6) / 2.2, abs=1e-3)


def test_frontal_aims_at_where_the_robot_is_until_it_commits() -> None:
    """The robot drives aside; the person follows with its course until 6 m, and not any more."""
    record = play({"kind": "frontal", "at": [15, 0], "speed": 1.2}, lambda o: (0.8, 0.5))
    offset = record.robot_pose[:-1, None, :2] - record.person_position[:-1]
    distance = np.linalg.norm(offset[:, 0], axis=1)
    course = record.person_velocity[1:, 0]
    committed = int(np.argmax(distance <= 6.0))
    cosine = (course * offset[:, 0]).sum(axis=1) / np.linalg.norm(course, axis=1) / distance
    assert cosine[: committed + 1].min() > 1 - 1e-6
    there = record.person_present[1:, 0]
    assert np.abs(course[committed:][there[committed:]] - course[committed]).max() < 1e-6
    assert not there[-1]  # walks on 12 m and leaves


def test_frontal_passes_a_robot_that_steps_aside_and_meets_one_that_does_not() -> None:
    event = {"kind": "frontal", "at": [15, 0], "speed": 1.3}

    def step_aside(o):  # type: ignore[no-untyped-def]
        near = o.pedestrians.position[0, 0] - o.robot.position[0] < 5.9 if len(o.pedestrians.id) else False
        return (1.0, 0.8 if near and o.robot.position[1] < 1.0 else 0.0)

    record = play(event, step_aside)
    assert not contacts(record)
    assert np.nanmin(gaps(record)) == pytest.approx(0.4, abs=0.1)
    assert contacts(play(event, straight(1.0))) == ["person:0"]
    assert contacts(play(event, straight(0.0))) == ["person:0"]


@settings(max_examples=25)
@given(speed=st.floats(0.6, 2.5), side=st.sampled_from(["left", "right"]), seed=st.integers(0, 99))
def test_lateral_meets_every_robot_that_keeps_its_velocity(speed: float, side: str, seed: int) -> None:
    record = play({"kind": "lateral", "at": [10, 0], "side": side}, straight(speed), seed=seed)
    assert contacts(record) == ["person:0"]
    assert record.person_position[0, 0] == pytest.approx([10, 2 if side == "left" else -2])


def test_lateral_by_hand() -> None:
    """At 4 m: f = 10 - x ≤ √(16 - 4). At 1 m/s the first state inside is x = 6.6 m; f = 3.4 m, w = 2 · 1 / 3.4."""
    record = play({"kind": "lateral", "at": [10, 0], "side": "right"}, straight(1.0))
    time = trigger_time(record)
    assert time == pytest.approx(6.6)
    assert 10 - 6.6 < sqrt(12) < 10 - 6.5
    assert record.person_velocity[at(record, 6.7), 0] == pytest.approx([0.0, 2 / 3.4], abs=1e-5)
    centres = np.linalg.norm(record.person_position[:, 0] - record.robot_pose[:, :2], axis=1)
    assert centres[at(record, 10.0)] == pytest.approx(0.0, abs=1e-4)


def test_lateral_misses_a_robot_that_stops_or_slows() -> None:
    event = {"kind": "lateral", "at": [10, 0], "side": "left"}
    for slow in (0.0, 0.4):
        record = play(event, lambda o, slow=slow: (1.0 if o.robot.position[0] < 7.0 else slow, 0.0))
        assert not contacts(record)
    crossed = record.person_position[record.person_present[:, 0], 0]
    assert crossed[-1, 1] == pytest.approx(-6, abs=0.15)  # walked on to the other side, without turning
    assert (np.diff(crossed[:, 1]) <= 0).all()


def test_lateral_before_a_robot_that_stands_walks_at_its_own_speed() -> None:
    record = play({"kind": "lateral", "at": [3, 0], "side": "left", "speed": 1.3}, straight(0.0))
    assert trigger_time(record) == 0.0
    assert record.person_velocity[1, 0] == pytest.approx([0, -1.3], abs=1e-6)
    assert not contacts(record)


def test_lateral_is_square_to_the_robots_course() -> None:
    record = play({"kind": "lateral", "at": [6, 1], "side": "left", "direction": 0.0}, lambda o: (1.2, 0.2))
    walked = record.person_velocity[at(record, (trigger_time(record) or 0.0) + STEP), 0]
    assert float(walked @ [1.2, 0.2]) == pytest.approx(0.0, abs=1e-5)
    assert contacts(record) == ["person:0"]


@settings(max_examples=25)
@given(speed=st.floats(0.2, 1.7), side=st.sampled_from(["left", "right"]), seed=st.integers(0, 99))
def test_overtaking_passes_a_robot_that_keeps_its_course_without_contact(speed: float, side: str, seed: int) -> None:
    record = play({"kind": "overtaking", "at": [-3, 0.2], "side": side}, straight(speed), seed=seed)
    begin = at(record, trigger_time(record) or -1)
    assert gaps(record)[begin, 0] <= 1.0 < gaps(record)[begin - 1, 0]
    assert not contacts(record)
    beside = np.abs(record.person_position[:, 0, 0] - record.robot_pose[:, 0]) < 0.6
    assert gaps(record)[beside, 0].min() >= 0.3
    assert (record.person_position[beside, 0, 1] > 0).all() == (side == "left")
    seen = record.person_present[:, 0]
    assert (record.person_position[seen, 0, 0] - record.robot_pose[seen, 0])[-1] > 3.0
    assert np.linalg.norm(record.person_velocity[seen, 0], axis=1).max() <= 2.2 + 1e-5


def test_overtaking_waits_for_a_robot_that_has_not_passed_and_lets_a_fast_one_go() -> None:
    record = play({"kind": "overtaking", "at": [5, 1.0], "side": "left"}, straight(1.2))
    passed = record.robot_pose[:, 0] < 5.3
    assert (record.person_position[passed, 0] == [5, 1]).all()
    assert trigger_time(record) is not None
    assert trigger_time(play({"kind": "overtaking", "at": [-3, 0]}, straight(2.5))) is None


def test_a_runner_overtakes_a_robot_that_no_walker_can_pass() -> None:
    event = {"kind": "overtaking", "at": [-2.5, 0], "side": "left"}
    walker, runner = (play(event | more, straight(2.4)) for more in ({}, {"max_speed": 3.0}))
    ahead = [float(np.nanmax(r.person_position[:, 0, 0] - r.robot_pose[:, 0])) for r in (walker, runner)]
    assert ahead[0] < 0 < ahead[1]
    assert not contacts(runner)


def test_overtaking_a_robot_that_stops_dead_at_the_trigger() -> None:
    """The person is 1 m behind, matches the robot's speed of the step before, and has room to step out."""
    event = {"kind": "overtaking", "at": [-3, 0], "side": "right", "speed": 1.5}
    begin = trigger_time(play(event, straight(1.0))) or 0.0
    record = play(event, lambda o: (1.0 if o.time < begin + 0.05 else 0.0, 0.0))
    assert not contacts(record)
    assert np.nanmin(gaps(record)) > 0.35


def test_crossing_begins_in_the_zone_and_leaves_a_gap() -> None:
    """The robot enters at x = 4: 4 s at 1 m/s. In the middle it meets somebody; on the free side nobody."""
    event = {"kind": "crossing", "zone": ZONE, "free_side": "left"}
    record = play(event, straight(1.0))
    assert trigger_time(record) == pytest.approx(4.0)
    assert (record.person_position[: at(record, 4.0) + 1] == record.person_position[0]).all()
    front, behind = record.person_position[0, :2], record.person_position[0, 2:]
    assert (front[:, 0] > 12).all()
    assert (behind[:, 0] < 4).all()
    assert np.abs(front[:, 1]).max() <= 0.06
    assert behind[:, 1] == pytest.approx([-1.2, -1.2], abs=0.06)
    assert contacts(record)[0] == "person:0"
    weave = play(event, lambda o: (1.0, 0.6 if o.robot.position[0] > 4 and o.robot.position[1] < 1.1 else 0.0))
    assert not contacts(weave)
    assert not weave.person_present[-1].any()


@settings(max_examples=15)
@given(seed=st.integers(0, 10_000), front=st.integers(0, 4), behind=st.integers(1, 4))
def test_people_of_a_crossing_never_touch_each_other(seed: int, front: int, behind: int) -> None:
    event = {"kind": "crossing", "zone": ZONE, "front": front, "behind": behind}
    record = play(event, lambda o: (1.0 if o.robot.position[0] < 4.2 else 0.0, 0.0), seed=seed)
    place = record.person_position
    for i in range(front + behind):
        for j in range(i):
            apart = np.linalg.norm(place[:, i] - place[:, j], axis=1)
            assert not (apart < 0.6 - 1e-3).any()
    speed = np.linalg.norm(record.person_velocity[at(record, 5.0)], axis=1)
    assert ((speed >= 1.1 - 1e-6) & (speed <= 1.65 + 1e-6)).all()


ROUND_A_CORNER = {
    "robots": [{"spec": "delivery_robot", "start": [2.5, -6, pi / 2], "goal": [16, 0], "route": [[2.5, 0]]}]
}
"""The robot comes along x = 2.5 from the south and turns into the zone at (4, 0)."""


def waiting_and_approach(free_side: str, **changes: Any) -> tuple[FloatArray, FloatArray]:
    """Where those from behind wait, and the robot's way to the zone every 5 cm."""
    event = {"kind": "crossing", "zone": ZONE, "free_side": free_side, "front": 1, "behind": 3}
    world = build_world(scenario(event, **(ROUND_A_CORNER | changes)), 0)
    north, east = np.arange(-6.0, 0.0, 0.05), np.arange(2.5, 4.0, 0.05)
    approach = np.vstack([np.column_stack([np.full(len(north), 2.5), north]), np.column_stack([east, 0 * east])])
    return world.agents[:2, 1 : world.people].T.astype(float), approach


@pytest.mark.parametrize("free_side", ["left", "right"])
def test_who_waits_to_cross_keeps_off_the_robots_way_there(free_side: str) -> None:
    """0.541 m of robot, 0.3 m of person and half a metre: 1.341 m."""
    waiting, approach = waiting_and_approach(free_side)
    apart = np.linalg.norm(waiting[:, None] - approach, axis=2)
    assert apart.min() >= 1.341
    if free_side == "left":  # their lane is on the right, where the robot comes from: the row turns away
        assert (waiting[:, 1] < -1.25).all()
        assert (np.abs(waiting[:, 0] - 2.5) > 1.341).all()


def test_a_turned_row_walks_to_its_lane_and_over_the_zone() -> None:
    """Nobody of it touches another, and all walk along the lane 1.2 m beside the middle inside the zone."""
    event = {"kind": "crossing", "zone": ZONE, "free_side": "left", "front": 0, "behind": 3}
    spec = ROUND_A_CORNER["robots"][0] | {"spec": scenario(event).ego.spec.model_dump()}

    def drive(observation: Observation) -> tuple[float, float]:
        x, y = observation.robot.position
        return (0.0, 1.0) if y < 0 else ((1.0, 0.0) if x < 4.2 else (0.0, 0.0))

    record = play(event, drive, robots=[spec], rules={"step_s": STEP, "time_limit_s": 30, "ends_on": []})
    place = record.person_position
    assert trigger_time(record) is not None
    for i in range(3):
        for j in range(i):
            assert not (np.linalg.norm(place[:, i] - place[:, j], axis=1) < 0.6 - 1e-3).any()
        crossing = place[(place[:, i, 0] > 4.2) & (place[:, i, 0] < 12), i]
        assert len(crossing)
        assert crossing[:, 1] == pytest.approx(-1.2, abs=0.06)
    assert not record.person_present[-1].any()


def test_no_place_to_wait_is_an_error_that_says_what_to_do() -> None:
    walls = [
        {"kind": "sidewalk", "polygon": [[-4, -8], [4, -8], [4, 8], [-4, 8]]},
        {"kind": "building", "polygon": [[-4, -8], [1.5, -8], [1.5, 8], [-4, 8]]},
        {"kind": "building", "polygon": [[3.5, -8], [4, -8], [4, -0.8], [3.5, -0.8]]},
    ]
    with pytest.raises(BadInput, match="free_side"):
        waiting_and_approach("left", scene={"name": "alley", "regions": walls})
