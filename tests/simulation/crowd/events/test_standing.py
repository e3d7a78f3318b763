"""Obstructing, conversing, queuing, gesturing: people who stand."""

from __future__ import annotations

from math import pi, sin

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sidestep.simulation import build_world, run_episode
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


@pytest.mark.parametrize(
    ("kind", "gesture"),
    [("obstructing", "look_around"), ("conversing", "talk"), ("queuing", "queue"), ("gesturing", "stop")],
)
def test_the_gesture_begins_when_the_nearest_is_ten_metres_ahead(kind: str, gesture: str) -> None:
    record = play({"kind": kind, "at": [15, 0]}, straight(1.0))
    begin = at(record, trigger_time(record) or -1)
    nearest = np.linalg.norm(record.person_position - record.robot_pose[:, None, :2], axis=2).min(axis=1)
    assert nearest[begin] <= 10 + 1e-6 < nearest[begin - 1]
    assert (record.person_gesture[: begin + 1] == 0).all()  # the director acts in the step after the state it saw
    assert (record.person_gesture[begin + 1 :] == GESTURES[gesture]).all()
    assert (record.person_position == record.person_position[0]).all()
    assert set(record.person_model) == {"script"}
    assert (record.person_radius == np.float32(0.3)).all()


def test_trigger_step_by_hand() -> None:
    """From x = 0 at 1 m/s, 10 m before x = 15: at 5 s; with trigger_m 3.05 the first state inside is at 12 s."""
    assert trigger_time(play({"kind": "obstructing", "at": [15, 0]}, straight(1.0))) == pytest.approx(5.0)
    late = {"kind": "obstructing", "at": [15, 0], "trigger_m": 3.05}
    assert trigger_time(play(late, straight(1.0))) == pytest.approx(12.0)


def test_who_is_beside_or_behind_is_not_ahead() -> None:
    """60° are the limit: at (2, 3.4) the bearing is 59.5°, at (2, 3.5) 60.3°."""
    stand = straight(0.0)
    assert trigger_time(play({"kind": "obstructing", "at": [2, 3.4]}, stand)) == 0.0
    assert trigger_time(play({"kind": "obstructing", "at": [2, 3.5]}, stand)) is None
    assert trigger_time(play({"kind": "obstructing", "at": [-3, 0]}, stand)) is None


def test_who_obstructs_looks_left_and_right() -> None:
    record = play({"kind": "obstructing", "at": [5, 0], "facing": 0.5}, straight(0.0))
    assert record.person_head_yaw[1 + round(1 / STEP), 0] == pytest.approx(1.0)  # a quarter of 4 s
    assert record.person_head_yaw[1 + round(3 / STEP), 0] == pytest.approx(-1.0)
    assert record.person_head_yaw[1 + 7, 0] == pytest.approx(sin(2 * pi * 0.7 / 4), abs=1e-6)
    assert (record.person_heading == np.float32(0.5)).all()


def test_a_conversation_is_a_circle_of_one_group() -> None:
    record = play({"kind": "conversing", "at": [8, 0], "people": 3, "facing": 0.0}, straight(0.0))
    place = record.person_position[0]
    radius = 1.1 / (2 * sin(pi / 3))
    assert np.linalg.norm(place - [8, 0], axis=1) == pytest.approx([radius] * 3, abs=1e-5)
    assert place[0] == pytest.approx([8 + radius, 0], abs=1e-5)
    assert np.linalg.norm(place[0] - place[1]) == pytest.approx(1.1, abs=1e-5)
    inward = np.arctan2(-place[:, 1], 8 - place[:, 0])
    assert np.cos(record.person_heading[0] - inward) == pytest.approx([1.0] * 3, abs=1e-6)
    assert np.ptp(record.person_group) == 0
    assert record.person_group[0, 0] >= 0


def test_heads_turn_to_who_speaks() -> None:
    """In the first 3 s the first speaks: the others look at her, she at the second; then the second speaks."""
    record = play({"kind": "conversing", "at": [8, 0], "people": 3}, straight(0.0))
    gaze = record.person_heading + record.person_head_yaw
    place = record.person_position[0]
    for step, looked_at in ((1, [1, 0, 0]), (29, [1, 0, 0]), (31, [1, 2, 1])):
        for k, other in enumerate(looked_at):
            to = place[other] - place[k]
            assert np.cos(gaze[step, k] - np.arctan2(to[1], to[0])) == pytest.approx(1.0, abs=1e-5)


def test_a_queue_leads_from_its_side_over_the_way() -> None:
    record = play({"kind": "queuing", "at": [8, 1.5], "people": 4, "spacing_m": 0.8}, straight(0.0))
    place = record.person_position[0]
    assert place[:, 1] == pytest.approx([1.5, 0.7, -0.1, -0.9], abs=1e-5)
    assert np.abs(place[:, 0] - 8).max() <= 0.05 + 1e-6
    assert record.person_heading[0] == pytest.approx([pi / 2] * 4, abs=1e-6)
    assert np.ptp(record.person_group) == 0


def test_the_last_of_a_queue_may_stand_apart() -> None:
    """She stands where ``last_at`` says and faces the one before her; the others stand as without her."""
    close = {"kind": "queuing", "at": [8, 1.5], "people": 4, "spacing_m": 0.8}
    together, apart = (play(event, straight(0.0)) for event in (close, close | {"last_at": [8, -1.7]}))
    assert (apart.person_position[0, :3] == together.person_position[0, :3]).all()
    assert apart.person_position[0, 3] == pytest.approx([8, -1.7])
    to = apart.person_position[0, 2] - apart.person_position[0, 3]
    assert apart.person_heading[0, 3] == pytest.approx(np.arctan2(to[1], to[0]), abs=1e-6)
    assert len(np.unique(apart.person_group)) == 1


@settings(max_examples=20)
@given(seed=st.integers(0, 10_000))
def test_drawn_queues_and_circles_are_close_but_do_not_overlap(seed: int) -> None:
    for kind, low, high in (("queuing", 0.69, 0.91), ("conversing", 1.09, 1.11)):
        world = build_world(scenario({"kind": kind, "at": [8, 1.5]}), seed)
        place = world.agents[:2, : world.people].T
        apart = np.linalg.norm(np.diff(place, axis=0), axis=1)
        assert (apart >= low).all()
        assert (apart <= high + 0.01).all()
        assert world.people in ((3, 4, 5) if kind == "queuing" else (2, 3, 4))


def test_body_and_gaze_follow_the_robot_that_is_told_to_stop() -> None:
    event = {"kind": "gesturing", "at": [8, 0]}
    policy = Scripted(lambda o: (1.0, 0.4 if o.time < 4 else 0.0))
    record = run_episode(scenario(event), policy)
    begin = at(record, trigger_time(record) or 0.0)
    to = record.robot_pose[begin:-1, :2] - record.person_position[begin:-1, 0]
    assert np.cos(record.person_heading[begin + 1 :, 0] - np.arctan2(to[:, 1], to[:, 0])).min() > 1 - 1e-6
    assert (record.person_head_yaw[begin + 1 :] == 0).all()
    seen = policy.seen[begin + 5].pedestrians
    assert seen is not None
    assert seen.gesture.tolist() == [GESTURES["stop"]]
    assert seen.gaze[0] == pytest.approx(record.person_heading[begin + 5, 0], abs=1e-6)


def test_a_robot_that_stops_before_the_sign_touches_nobody() -> None:
    event = {"kind": "gesturing", "at": [8, 0], "gesture": "wave"}
    record = play(event, lambda o: (1.0 if o.robot.position[0] < 6 else 0.0, 0.0))
    assert not contacts(record)
    assert gaps(record).min() == pytest.approx(8 - 6 - 0.6, abs=0.15)
    assert record.person_gesture[-1, 0] == GESTURES["wave"]
