"""People who enact a protocol's scenarios: set off at the mark, keep to their conduct, and judge the robot."""

from __future__ import annotations

from math import hypot
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.kernels.referee import RUNNING
from sidestep.simulation import build_world
from sidestep.simulation.crowd.events.enacting import HALT_M, RUSH_GAP_M, RUSH_MPS, STAND_S, STARTLE_S, PathProgress
from sidestep.simulation.session import Session
from sidestep.types import EpisodeRecord, HolonomicVelocity, Observation, Outcome
from sidestep.types.events import GESTURES
from tests.simulation.crowd.events.playing import (
    ROBOT_RADIUS,
    STEP,
    Drive,
    at,
    contacts,
    gaps,
    play,
    scenario,
    straight,
    trigger_time,
)

TOUCH = ROBOT_RADIUS + 0.3
SPEED = 1.25
AHEAD: dict[str, Any] = {"kind": "enacting", "path": [[20, 0], [-3, 0]], "start_m": 5.0, "speed": SPEED}
CROSSING: dict[str, Any] = {
    "kind": "enacting",
    "path": [[10, 8], [10, -8]],
    "meet": [10, 0],
    "start_m": 2.0,
    "zone_m": 1.0,
    "speed": SPEED,
}


def until(x: float, speed: float = 1.0) -> Drive:
    """Along +x up to ``x``, then stand."""
    return lambda seen: (speed if seen.robot.x < x - 1e-6 else 0.0, 0.0)


def violations(record: EpisodeRecord) -> list[tuple[float, str]]:
    return [(round(event.time, 6), event.text) for event in record.events if event.kind == "disobeyed"]


def place(record: EpisodeRecord, time: float) -> list[float]:
    return [float(value) for value in record.person_position[at(record, time), 0]]


def test_progress_along_a_bent_line() -> None:
    """3 m, then 4 m at a right angle."""
    line = PathProgress(((0.0, 0.0), (3.0, 0.0), (3.0, 4.0)))
    assert line.length == 7.0
    assert line.along(1.0, 0.5) == 1.0
    assert line.along(5.0, 2.0) == 5.0
    assert line.along(-2.0, -2.0) == 0.0
    assert line.along(3.0, 9.0) == 7.0


def test_the_person_sets_off_when_the_robot_is_at_the_mark() -> None:
    """The robot is at 5 m after 5 s; 2 s later the person has walked 2.5 m."""
    record = play(AHEAD, straight(1.0))
    assert trigger_time(record) == pytest.approx(5.0)
    assert place(record, 5.0) == pytest.approx([20.0, 0.0])
    assert place(record, 7.0) == pytest.approx([17.5, 0.0], abs=1e-4)


def test_a_robot_beside_its_route_comes_to_the_mark_as_well() -> None:
    """At 45°: 5 m along the route after 5 s, 5 m beside it."""
    assert trigger_time(play(AHEAD, lambda _: (1.0, 1.0))) == pytest.approx(5.0)


def test_a_robot_that_stands_never_starts_it() -> None:
    record = play(AHEAD, straight(0.0))
    assert trigger_time(record) is None
    assert record.outcome is Outcome.TIMEOUT


def test_the_person_stops_before_a_robot_in_the_path_and_walks_round_it_after_a_while() -> None:
    """On the person's right, which is +y for somebody who walks to -x."""
    record = play(AHEAD, until(8.0))
    stands = np.flatnonzero(np.hypot(*record.person_velocity[at(record, 6.0) :, 0].T) == 0.0) + at(record, 6.0)
    first = float(record.time[stands[0]])
    assert 8.0 + TOUCH + HALT_M - SPEED * STEP <= place(record, first)[0] <= 8.0 + TOUCH + HALT_M
    ((when, what),) = violations(record)
    assert when == pytest.approx(first - STEP + 4.0)
    assert what == "the person had to walk round the robot"
    assert record.outcome is Outcome.DISOBEYED
    assert contacts(record) == []
    assert TOUCH < np.nanmax(record.person_position[:, 0, 1]) < TOUCH + 0.5
    assert np.nanmin(record.person_position[:, 0, 1]) > -0.1


def test_the_other_side_and_another_patience() -> None:
    record = play({**AHEAD, "side": "left", "patience_s": 1.0}, until(8.0))
    assert np.nanmin(record.person_position[:, 0, 1]) < -TOUCH
    assert violations(record)[0][0] < violations(play(AHEAD, until(8.0)))[0][0] - 2.9


def test_a_robot_that_makes_room_in_time_is_no_violation() -> None:
    """It stands in the path for 2 s after the person has stopped, then moves aside."""

    def drive(seen: Observation) -> tuple[float, float]:
        if seen.time < 16.0:
            return until(8.0)(seen)
        return (0.0, 1.0 if seen.robot.y < 1.0 else 0.0)

    record = play(AHEAD, drive)
    assert violations(record) == []
    assert place(record, 14.9)[0] == pytest.approx(place(record, 15.9)[0])
    assert place(record, 19.0)[0] < 8.0


def test_a_robot_that_drives_into_the_person_collides() -> None:
    record = play(AHEAD, straight(1.0))
    assert contacts(record) == ["person:0"]
    assert record.outcome is Outcome.PEDESTRIAN_COLLISION


def test_the_person_leaves_at_the_end_of_the_path() -> None:
    """23 m at 1.25 m/s are 18.4 s; the robot has gone 5 m aside."""
    record = play({**AHEAD, "start_m": 0.0}, lambda seen: (0.0, 2.0 if seen.robot.y < 5.0 else 0.0))
    assert record.person_present[at(record, 18.0), 0]
    assert not record.person_present[at(record, 18.6), 0]


def test_crossing_before_the_person_is_disobeyed() -> None:
    """At 2 m/s the robot is 1 m before the crossing after 4.5 s, while the person is still 3.6 m from it."""
    record = play(CROSSING, straight(2.0))
    assert violations(record) == [(4.5, "the robot crossed before the person had crossed")]
    assert record.outcome is Outcome.DISOBEYED


def test_crossing_beside_the_middle_is_disobeyed_too() -> None:
    """At 1.5 m/s the robot passes x = 10 after 6.67 s, 3 m beside the meeting point; the person is at 7.7 s."""
    record = play(CROSSING, lambda seen: (1.5, -1.0 if seen.robot.y > -3.0 else 0.0))
    ((when, what),) = violations(record)
    assert when == pytest.approx(6.7, abs=0.051)
    assert what == "the robot crossed before the person had crossed"


def test_the_person_walks_on_while_the_robot_waits_and_then_it_may_cross() -> None:
    """8 m to the crossing and 0.7 m beyond it take 6.96 s from the start, which is at 1 s."""
    waits = play(CROSSING, lambda seen: (2.0 if seen.robot.x < 8.8 or seen.time > 7.9 else 0.0, 0.0))
    assert violations(waits) == []
    speed = np.hypot(*waits.person_velocity[:, 0].T)[at(waits, 1.2) : at(waits, 12.0)]
    assert speed == pytest.approx(SPEED, abs=1e-4)
    early = play(CROSSING, lambda seen: (2.0 if seen.robot.x < 8.8 or seen.time > 7.5 else 0.0, 0.0))
    assert len(violations(early)) == 1


def test_the_verdict_of_learning_environments_is_the_same() -> None:
    session = Session(scenario(CROSSING, robots=scenario(CROSSING).model_dump()["robots"], rules={"step_s": STEP}))
    while session.worlds.ending[0, 0] == RUNNING:
        session.step(HolonomicVelocity(3.0, 0.0))
    assert session.outcome is Outcome.DISOBEYED
    assert list(Outcome)[int(session.worlds.ending[0, 0]) - 1] is Outcome.DISOBEYED


WAVING = {**CROSSING, "conduct": "wave_on", "wait_m": 1.8}


def test_the_person_stops_and_waves_when_the_robot_stands_too() -> None:
    """The person is 1.8 m before the crossing after 6.2 m, at 7 s; the robot stands at 7 m since then."""
    record = play(WAVING, lambda seen: (1.0 if seen.robot.x < 7.0 - 1e-6 or seen.time > 12.0 else 0.0, 0.0))
    waves = record.person_gesture[:, 0] == GESTURES["go_on"]
    first = float(record.time[np.flatnonzero(waves)[0]])
    assert 7.0 + STAND_S - 1e-6 <= first <= 7.0 + STAND_S + 2 * STEP
    assert place(record, 10.0) == pytest.approx([10.0, 1.8], abs=SPEED * STEP)
    assert record.person_heading[at(record, 10.0), 0] == pytest.approx(np.arctan2(-1.8, -3.0), abs=0.1)
    assert violations(record) == []
    last = float(record.time[np.flatnonzero(waves)[-1]])
    assert last == pytest.approx(16.0, abs=2 * STEP)  # the robot is 1 m beyond the crossing
    assert place(record, 19.0)[1] < 0.0


def test_crossing_before_the_wave_is_disobeyed() -> None:
    assert violations(play(WAVING, straight(1.0))) == [(9.0, "the robot crossed before the person waved it on")]


def test_slowing_down_is_not_stopping() -> None:
    record = play(WAVING, lambda seen: (1.0 if seen.robot.x < 7.0 else 0.2, 0.0))
    assert not record.person_gesture.any()
    assert [text for _, text in violations(record)] == ["the robot crossed before the person waved it on"]


DOOR = {**CROSSING, "conduct": "first_come", "arrive_m": 2.5, "wait_m": 2.0, "start_m": 1.0}


def test_a_robot_that_is_first_at_the_door_goes_first() -> None:
    """At 2 m/s it has arrived after 3.75 s; the person waits 2 m before the door until it is 1 m beyond, at 5.5 s."""
    record = play(DOOR, straight(2.0))
    assert violations(record) == []
    assert contacts(record) == []
    slow = play(DOOR, lambda seen: (2.0 if seen.robot.x < 8.0 or seen.time > 12.0 else 0.0, 0.0))
    assert place(slow, 11.0) == pytest.approx([10.0, 2.0], abs=SPEED * STEP)
    assert place(slow, 15.5)[1] < 0.5


def test_a_robot_that_is_second_at_the_door_has_to_wait() -> None:
    """The person is 2.5 m from the door 5.5 m after the start, 4.4 s after the first second; the robot comes later."""
    rude = play(DOOR, straight(1.0))
    assert violations(rude) == []  # the person has passed when it comes
    rude = play(DOOR, lambda seen: (1.0 if seen.time < 5.0 else 3.0, 0.0))
    assert [text for _, text in violations(rude)] == ["the robot went into the door though the person was there first"]
    assert violations(play(DOOR, lambda seen: (1.0 if seen.robot.x < 6.0 or seen.time > 8.5 else 0.0, 0.0))) == []


CORNER = {
    "kind": "enacting",
    "path": [[10, 8], [10, 0], [-3, 0]],
    "meet": [10, 0],
    "conduct": "surprise",
    "start_m": 1.0,
    "speed": SPEED,
}


@pytest.mark.parametrize("speed", [0.9, 1.2, 1.5])
def test_both_are_at_the_corner_together_and_the_person_stops(speed: float) -> None:
    """Whatever the speed of the robot, the person is as far from the corner when startled."""
    record = play(CORNER, straight(speed))
    moving = np.hypot(*record.person_velocity[:, 0].T) > 0
    first = at(record, float(trigger_time(record) or 0.0)) + 2
    stop = first + int(np.flatnonzero(~moving[first:])[0])
    robot_left, person_left = 10.0 - record.robot_pose[stop, 0], record.person_position[stop, 0, 1]
    assert robot_left == pytest.approx(person_left, abs=0.3)
    assert hypot(robot_left, person_left) <= 2.0
    assert not moving[stop : stop + round(STARTLE_S / STEP) - 1].any()


def test_a_robot_that_waits_beside_the_corner_is_passed() -> None:
    def drive(seen: Observation) -> tuple[float, float]:
        return (1.0 if seen.robot.x < 8.0 - 1e-6 else 0.0, -0.2 if seen.robot.y > -1.0 else 0.0)

    record = play(CORNER, drive)
    assert violations(record) == []
    assert contacts(record) == []
    assert place(record, 19.0)[0] < 6.0


def near_corner(speed: float, y: float) -> Drive:
    """At 1 m/s up to x = 8, then at ``speed``, along the line at ``y``."""

    def drive(seen: Observation) -> tuple[float, float]:
        aside = 0.3 if y > 0.0 else -0.3
        return (1.0 if seen.robot.x < 8.0 else speed, aside if abs(seen.robot.y) < abs(y) else 0.0)

    return drive


def test_a_robot_rushes_at_the_startled_person_if_it_comes_near_fast() -> None:
    """The person stands at about (10, 1.4). Fast, the robot is judged where 0.45 m are left between the bodies; slow or
    far away it is not."""
    fast = play(CORNER, near_corner(1.0, y=0.6))
    ((when, what),) = violations(fast)
    assert what == "the robot rushed at the startled person"
    gap = gaps(fast)[:, 0]
    assert gap[at(fast, when)] == pytest.approx(RUSH_GAP_M, abs=2 * STEP)
    assert (gap[: at(fast, when) - 1] > RUSH_GAP_M).all()
    for drive in (near_corner(RUSH_MPS - 0.05, y=0.6), near_corner(1.0, y=-1.5)):
        assert "the robot rushed at the startled person" not in [text for _, text in violations(play(CORNER, drive))]


def test_a_robot_that_stays_in_the_corner_is_walked_round() -> None:
    record = play(CORNER, until(9.0))
    assert [text for _, text in violations(record)] == ["the person had to walk round the robot"]
    assert contacts(record) == []


@settings(max_examples=25, deadline=None)
@given(st.floats(1.0, 18.0), st.floats(-1.2, 1.2), st.sampled_from(["left", "right"]))
def test_nobody_walks_into_a_robot_that_stands(x: float, y: float, side: str) -> None:
    def drive(seen: Observation) -> tuple[float, float]:
        dx, dy = x - seen.robot.x, y - seen.robot.y
        left = hypot(dx, dy)
        return (0.0, 0.0) if left < 1e-6 else (dx / max(left, 0.3), dy / max(left, 0.3))

    record = play({**AHEAD, "start_m": 0.2, "side": side, "patience_s": 1.0}, drive)
    stands = np.hypot(*record.robot_velocity[:, :2].T) < 1e-3
    near = gaps(record)[:, 0]
    moved_in = np.flatnonzero((near < 0) & np.isfinite(near))
    assert len(moved_in) == 0 or not stands[moved_in[0]]


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ({**CROSSING, "meet": None, "conduct": "wave_on"}, "conduct: wave_on needs meet"),
        ({**AHEAD, "path": [[0, 0]]}, "at least 2 items"),
        ({**AHEAD, "conduct": "dance"}, "walk_on"),
    ],
)
def test_settings_that_make_no_sense(event: dict[str, Any], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        scenario(event)


def test_a_mark_beyond_the_route_is_refused() -> None:
    with pytest.raises(BadInput, match=r"start_m is 50 m, but the robot's route has 40\.00 m"):
        build_world(scenario({**AHEAD, "start_m": 50.0}), 0)


def test_a_start_in_a_wall_is_refused() -> None:
    wall = {"regions": [{"kind": "building", "polygon": [[19, -1], [21, -1], [21, 1], [19, 1]]}]}
    with pytest.raises(BadInput, match="inside a wall"):
        build_world(scenario(AHEAD, scene=wall), 0)
