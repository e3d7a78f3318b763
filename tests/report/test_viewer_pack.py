"""What the player gets is what the record holds, to half a centimetre."""

from __future__ import annotations

import base64
import json

import numpy as np
import pytest

from sidestep.report.replays import ABSENT, frames_of, pack_replays
from sidestep.types.record import EpisodeRecord


def decode(episode: dict, key: str) -> np.ndarray:
    counts = np.frombuffer(base64.b64decode(episode[key]), dtype="<i2").astype(float)
    counts[counts == ABSENT] = np.nan
    return counts


def poses(episode: dict, key: str, angle_unit: float) -> np.ndarray:
    counts = decode(episode, key).reshape(episode["frames"], -1, 3)
    return counts * (episode["unit"], episode["unit"], angle_unit) + (*episode["origin"], 0.0)


def test_packed_poses_match_the_record(record: EpisodeRecord) -> None:
    data = json.loads(json.dumps(pack_replays([("orca", record)])))
    (episode,) = data["episodes"]
    frames = frames_of(record)
    assert episode["times"] == pytest.approx(record.time[frames])
    robot = poses(episode, "robot", data["angle_unit"])[:, 0]
    assert np.abs(robot - record.robot_pose[frames]).max() <= 0.0026
    people = poses(episode, "people", data["angle_unit"])
    expected = record.person_position[frames][:, episode["colour"]]
    assert len(episode["colour"]) == 15
    assert np.array_equal(np.isnan(people[..., 0]), np.isnan(expected[..., 0]))
    assert np.nanmax(np.abs(people[..., :2] - expected)) <= 0.0026


def test_frames_are_ten_a_second_with_both_ends(record: EpisodeRecord) -> None:
    frames = frames_of(record)
    assert frames[0] == 0
    assert frames[-1] == record.steps
    assert np.diff(record.time[frames]) == pytest.approx(0.1)


def test_gap_is_the_surface_distance(record: EpisodeRecord) -> None:
    data = pack_replays([("orca", record)])
    gaps = decode(data["episodes"][0], "gaps") * data["gap_unit"]
    step = frames_of(record)[40]
    away = np.hypot(*(record.person_position[step] - record.robot_pose[step, :2]).T) - record.person_radius - 0.25
    assert gaps[40] == pytest.approx(np.nanmin(away), abs=0.006)


def test_contacts_are_marked_with_their_place(record: EpisodeRecord) -> None:
    events = pack_replays([("orca", record)])["episodes"][0]["events"]
    assert [event["kind"] for event in events] == ["collision_start", "goal_reached"]
    assert events[0]["subject"] == "person:105"
    assert {"x", "y"} <= events[0].keys()


def test_equal_scenes_are_stored_once_and_the_budget_holds(record: EpisodeRecord) -> None:
    data = pack_replays([("a", record), ("b", record)])
    assert len(data["scenes"]) == 1
    assert [episode["scene"] for episode in data["episodes"]] == [0, 0]
    assert len(pack_replays([("a", record), ("b", record)], budget=1000)["episodes"]) == 1


def test_an_episode_of_kilometres_still_fits(build) -> None:  # type: ignore[no-untyped-def]
    from dataclasses import replace

    near = build()
    record = replace(near, robot_pose=near.robot_pose * (1000.0, 1.0, 1.0))
    episode = pack_replays([("far", record)])["episodes"][0]
    robot = poses(episode, "robot", 1e-4)[:, 0]
    assert np.abs(robot[:, 0] - record.robot_pose[frames_of(record), 0]).max() <= episode["unit"]
