"""The further events of the catalogue."""

from __future__ import annotations

from math import pi
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.simulation import run_episode
from sidestep.types import EpisodeRecord, Observation
from sidestep.types.base import FloatArray
from sidestep.types.events import GESTURES
from tests.simulation.crowd.events.playing import (
    STEP,
    Scripted,
    at,
    contacts,
    gaps,
    play,
    scenario,
    straight,
    trigger_time,
)


def centres(record: EpisodeRecord, person: int = 0) -> FloatArray:
    """(T+1,) m between the robot and one person."""
    return np.asarray(np.linalg.norm(record.person_position[:, person] - record.robot_pose[:, :2], axis=1))


def least_apart(record: EpisodeRecord) -> float:
    """m between the centres of the two people who come nearest to each other."""
    place = record.person_position
    pairs = [(i, j) for i in range(place.shape[1]) for j in range(i)]
    return min(float(np.nanmin(np.linalg.norm(place[:, i] - place[:, j], axis=1))) for i, j in pairs)


def gesture(record: EpisodeRecord, time: float, person: int = 0) -> str:
    names = list(GESTURES)
    return names[int(record.person_gesture[at(record, time), person])]


def test_joining_takes_the_free_place_and_talks() -> None:
    """From (6, 4) to the circle about (6, 1) of two: the place nearest to (6, 4)."""
    event = {"kind": "joining", "at": [6, 1], "start": [6, 4], "people": 2, "speed": 1.2}
    policy = Scripted(straight(0.0))
    record = run_episode(scenario(event), policy)
    radius = 1.1 / np.sqrt(3)
    assert trigger_time(record) == 0.0
    assert record.person_position[-1, 0] == pytest.approx([6, 1 + radius], abs=2e-3)
    arrived = (3 - radius) / 1.2
    assert gesture(record, arrived - 0.2) == "none"
    assert gesture(record, arrived + 0.3) == "talk"
    assert gesture(record, STEP, person=1) == "talk"
    assert record.person_heading[-1, 0] == pytest.approx(-pi / 2, abs=1e-3)
    assert record.person_group[0].tolist() == [-1, 0, 0]
    assert record.person_group[-1].tolist() == [0, 0, 0]
    assert [o.pedestrians.group.tolist() for o in (policy.seen[5], policy.seen[-1]) if o.pedestrians] == [
        [-1, 0, 0],
        [0, 0, 0],
    ]
    place = record.person_position[-1]
    assert min(np.linalg.norm(place[i] - place[j]) for i in range(3) for j in range(i)) > 1.09


def test_leaving_waves_walks_off_and_the_others_stay() -> None:
    event = {"kind": "leaving", "at": [6, 1], "to": [6, 6], "people": 3, "speed": 1.0}
    policy = Scripted(straight(0.0))
    record = run_episode(scenario(event), policy)
    assert [o.pedestrians.group.tolist() for o in (policy.seen[5], policy.seen[15]) if o.pedestrians] == [
        [0, 0, 0],
        [-1, 0, 0],
    ]
    assert gesture(record, 0.5) == "wave"
    assert gesture(record, 1.5) == "none"
    assert (record.person_position[:, 1:] == record.person_position[0, 1:]).all()
    gone = int(np.argmin(record.person_present[:, 0]))
    assert gone * STEP == pytest.approx(1.0 + 5 - 1.1 / np.sqrt(3), abs=0.2)
    assert record.person_position[gone - 1, 0] == pytest.approx([6, 6], abs=2e-3)


@settings(max_examples=10)
@given(speed=st.floats(0.3, 1.8))
def test_following_keeps_its_distance_without_contact(speed: float) -> None:
    record = play({"kind": "following", "at": [3, 1.5]}, lambda o: (speed if o.time < 12 else 0.0, 0.0))
    assert trigger_time(record) is not None
    assert not contacts(record)
    assert centres(record)[at(record, 11.5)] == pytest.approx(1.5, abs=0.15)
    assert centres(record)[-1] == pytest.approx(1.5, abs=0.2)
    gaze = (record.person_heading + record.person_head_yaw)[-1, 0]
    to = record.robot_pose[-2, :2] - record.person_position[-2, 0]
    assert np.cos(gaze - np.arctan2(to[1], to[0])) > 0.999


def test_following_for_a_while_ends() -> None:
    record = play({"kind": "following", "at": [3, 1.5], "duration_s": 6}, straight(1.0))
    assert centres(record)[at(record, 5.0)] < 2
    assert not record.person_present[-1, 0]


def test_leading_walks_ahead_and_waits() -> None:
    """The robot drives for 8 s, waits for 6 s and drives on; the person never runs away and never is run into."""
    event = {"kind": "leading", "at": [3, 0]}
    record = play(event, lambda o: (1.0 if o.time < 8 or o.time > 14 else 0.0, 0.0))
    assert not contacts(record)
    assert centres(record)[at(record, 7.9)] == pytest.approx(2.5, abs=0.2)
    assert centres(record).max() < 3.6
    assert gesture(record, 13) == "go_on"
    assert abs(record.person_heading[at(record, 13), 0]) == pytest.approx(pi, abs=1e-3)
    assert gesture(record, 7.9) == "none"
    short = play(event | {"path": [[6, 0], [6, 3]]}, straight(1.0))
    assert not short.person_present[-1, 0]
    here = short.person_position[short.person_present[:, 0], 0]
    assert here[-1] == pytest.approx([6, 3], abs=0.3)


@pytest.mark.parametrize("side", ["left", "right"])
def test_accompanying_walks_beside(side: str) -> None:
    sign = 1 if side == "left" else -1
    record = play({"kind": "accompanying", "at": [2, 1.8 * sign]}, straight(1.2))
    assert not contacts(record)
    late = at(record, 10.0)
    beside = record.person_position[late, 0] - record.robot_pose[late, :2]
    assert beside == pytest.approx([0, sign * 1.1], abs=0.1)
    other = play({"kind": "accompanying", "at": [2, 1.8], "side": "right"}, straight(1.2))
    assert not contacts(other)  # walks round the robot to the side it was told


def test_people_crowd_about_the_robot_and_go() -> None:
    event = {"kind": "crowding", "at": [8, 0], "people": 6, "stay_s": 8}
    record = play(event, lambda o: (1.0 if o.robot.position[0] < 7.5 else 0.0, 0.0))
    begin = trigger_time(record)
    assert begin == pytest.approx(6.0)
    assert not contacts(record)
    assert gaps(record)[at(record, 13.0)] == pytest.approx([0.4] * 6, abs=0.05)
    offset = record.person_position[at(record, 13.0)] - record.robot_pose[at(record, 13.0), :2]
    bearings = np.sort(np.arctan2(offset[:, 1], offset[:, 0]))
    assert np.diff(bearings, append=bearings[0] + 2 * pi).max() < pi / 1.5  # on all sides
    assert {gesture(record, 13.0, k) for k in range(6)} == {"wave", "phone", "none"}
    assert not record.person_present[-1].any()
    assert least_apart(record) >= 0.6
    followed = play(event | {"stay_s": 5}, straight(0.8))
    assert least_apart(followed) >= 0.5  # they scramble after a robot that moves on, yet do not merge
    assert not followed.person_present[-1].any()


def test_yielding_signs_until_the_robot_has_passed_and_then_goes() -> None:
    record = play({"kind": "yielding", "at": [8, 1.5]}, straight(1.0))
    assert not contacts(record)
    begin = trigger_time(record)
    assert begin == pytest.approx(2.2)  # 8 - √(36 - 1.5²) = 2.19
    assert gesture(record, 2.3) == "go_on"
    passed = 8.9  # 60° behind: 8 + 1.5 / tan 60° = 8.87
    assert gesture(record, passed) == "go_on"
    assert gesture(record, passed + 0.2) == "none"
    assert (record.person_position[: at(record, passed), 0] == [8, 1.5]).all()
    here = record.person_position[record.person_present[:, 0], 0]
    assert here[-1] == pytest.approx([8, -1.5], abs=2e-3)
    assert gesture(play({"kind": "yielding", "at": [8, 1.5]}, straight(0.5)), 15) == "go_on"


def test_claiming_crosses_first_and_then_lets_the_robot_go() -> None:
    event = {"kind": "claiming", "at": [8, 1.5], "speed": 1.5}

    def obedient(o: Observation) -> tuple[float, float]:
        assert o.pedestrians is not None
        told = GESTURES["stop"] in o.pedestrians.gesture.tolist()
        return (0.0 if told else 1.0, 0.0)

    record = play(event, obedient)
    assert not contacts(record)
    assert trigger_time(record) == pytest.approx(2.2)
    assert gesture(record, 2.5) == "stop"
    assert (record.person_position[: at(record, 3.2), 0] == [8, 1.5]).all()
    assert gesture(record, 4.5) == "stop"
    assert gesture(record, 5.6) == "go_on"
    assert record.person_position[at(record, 5.6), 0] == pytest.approx([8, -1.5], abs=2e-3)
    assert record.robot_pose[-1, 0] > 10
    assert not record.person_present[-1, 0]


WALL: dict[str, Any] = {
    "regions": [
        {"kind": "building", "polygon": [[10, 0.8], [10.2, 0.8], [10.2, 5], [10, 5]]},
        {"kind": "building", "polygon": [[10, -5], [10.2, -5], [10.2, -0.8], [10, -0.8]]},
    ]
}


def test_people_come_out_before_a_robot_that_waits() -> None:
    event = {"kind": "exiting", "door": [10.1, 0], "direction": pi, "people": 3}
    record = play(event, lambda o: (1.0 if o.robot.position[0] < 7.0 else 0.0, 0.0), scene=WALL)
    assert trigger_time(record) == pytest.approx(6.1)
    assert not contacts(record)
    assert (record.person_position[0, :, 0] > 11).all()
    assert not record.person_present[-1].any()
    assert least_apart(record) >= 0.6
    assert contacts(play(event, straight(1.0), scene=WALL))


@pytest.mark.parametrize("first", ["person", "robot"])
def test_somebody_goes_in_with_the_robot(first: str) -> None:
    event = {"kind": "entering", "door": [10.1, 0], "direction": pi, "at": [9, 1.5], "to": [12, 1.2], "first": first}

    def drive(o: Observation) -> tuple[float, float]:
        assert o.pedestrians is not None
        waits = first == "person" and o.pedestrians.position[0, 0] < 11.5 and o.robot.position[0] > 7.5
        return (0.0 if waits or o.robot.position[0] > 13 else 1.0, 0.0)

    record = play(event, drive, scene=WALL)
    assert not contacts(record)
    assert record.person_position[-1, 0] == pytest.approx([12, 1.2], abs=5e-3)
    through = np.argmax(record.person_position[:, 0, 0] > 10.1)
    robot_through = np.argmax(record.robot_pose[:, 0] > 10.1)
    assert (through < robot_through) == (first == "person")
    signs = bool((record.person_gesture == GESTURES["go_on"]).any())
    assert signs == (first == "robot")
