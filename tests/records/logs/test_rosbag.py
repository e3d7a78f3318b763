"""ROS 2 bags: our own export read back, every kind of message, sqlite3, and bags that are wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.needs import reason_missing

pytest.importorskip("mcap_ros2", reason=reason_missing("mcap_ros2"))

from sidestep.errors import BadInput
from sidestep.metrics.score import score
from sidestep.records.exports.mcap_file import export_mcap
from sidestep.simulation.loop import run_episode
from sidestep.suites.files import load_suite
from sidestep.types.outcome import Outcome
from tests.records.logs.make import Message, filled, header, odometry, records_of, write_db3, write_mcap

NOT_IN_A_BAG = {
    "vehicle_collision", "vehicle_collisions", "policy_error", "planning_time_avg", "planning_time_max",
    "limits_applied", "group_intrusion", "group_intimate_space_intrusion", "group_personal_space_intrusion",
    "group_social_space_intrusion",
}  # fmt: skip
BY_VELOCITY_OF_PEOPLE = {
    "average_pedestrian_speed", "collision_intensity", "time_to_collision_min", "time_to_collision_avg",
    "social_force_on_people", "social_force_on_robot", "social_work", "other_jerk",
}  # fmt: skip
"""Markers hold no velocities: they are difference quotients of positions in single precision, and
``other_jerk`` has the second quotients of those."""


def drive(count: int = 21, people: tuple[Message, ...] = ()) -> list[Message]:
    """A robot at 1 m/s along x for 2 s, at 10 Hz."""
    return [*(odometry(k / 10, k / 10, 0.0, 1.0) for k in range(count)), *people]


@pytest.mark.parametrize("name", ["corridor-counterflow", "lobby", "doorway"])
def test_what_we_export_scores_the_same(name: str, tmp_path: Path) -> None:
    [scenario] = [each for each in load_suite("core").scenarios() if each.name == name]
    record = run_episode(scenario, "orca")
    export_mcap(record, tmp_path / "episode.mcap")
    said: list[str] = []
    [back] = records_of(
        tmp_path / "episode.mcap", spec=record.robot, goal_radius_m=scenario.rules.goal_radius_m, said=said
    )
    assert "topics: robot=/odom, people=/people, goal=/goal_pose, map=/walls" in said[0]
    assert (back.outcome, back.steps) == (record.outcome, record.steps)
    assert np.abs(back.robot_pose - record.robot_pose).max() < 1e-12
    seen = record.person_present.any(axis=0)
    assert back.person_id.tolist() == record.person_id[seen].tolist()
    assert np.array_equal(back.person_position, record.person_position[:, seen], equal_nan=True)
    were, are = score(record), score(back)
    for metric, was in were.items():
        now = are[metric]
        if metric in NOT_IN_A_BAG:
            assert not now.valid, metric
            continue
        assert was.valid == now.valid, (metric, now.reason)
        if was.valid:
            tolerance = 0.05 if metric == "other_jerk" else 5e-3 if metric in BY_VELOCITY_OF_PEOPLE else 1e-5
            assert now.value == pytest.approx(was.value, rel=tolerance, abs=1e-5), metric


def markers(time: float, x: float) -> Message:
    pose = filled("geometry_msgs/Pose", position={"x": x, "y": 1.0, "z": 0.0})
    pose["orientation"] = {"x": 0.0, "y": 0.0, "z": 0.0, "w": 1.0}
    scale = {"x": 0.6, "y": 0.6, "z": 1.7}
    body = filled("visualization_msgs/Marker", header=header(time), ns="people", id=4, type=3, pose=pose, scale=scale)
    text = {**body, "type": 9, "id": 5}
    return "/humans", "visualization_msgs/MarkerArray", time, {"markers": [body, text]}


def people(time: float, x: float) -> Message:
    at, velocity = {"x": x, "y": 1.0, "z": 0.0}, {"x": -1.0, "y": 0.0, "z": 0.0}
    person = filled("people_msgs/Person", name="4", position=at, velocity=velocity)
    return "/seen", "people_msgs/People", time, {"header": header(time), "people": [person]}


def tracked(kind: str, time: float, x: float) -> Message:
    track = filled(f"{kind}/TrackedPerson", track_id=4)
    track["pose"]["pose"]["position"] = {"x": x, "y": 1.0, "z": 0.0}
    track["twist"]["twist"]["linear"] = {"x": -1.0, "y": 0.0, "z": 0.0}
    return "/tracks", f"{kind}/TrackedPersons", time, {"header": header(time), "tracks": [track]}


def objects(time: float, x: float) -> Message:
    pose = filled("geometry_msgs/Pose", position={"x": x, "y": 1.0, "z": 0.0})
    person = filled("derived_object_msgs/Object", header=header(time), id=4, pose=pose, classification=4)
    person["object_classified"] = True
    car = {**person, "id": 9, "classification": 6}
    return "/objects", "derived_object_msgs/ObjectArray", time, {"header": header(time), "objects": [person, car]}


MAKERS: dict[str, Any] = {
    "markers": markers,
    "people": people,
    "spencer": lambda time, x: tracked("spencer_tracking_msgs", time, x),
    "pedsim": lambda time, x: tracked("pedsim_msgs", time, x),
    "objects": objects,
}


@pytest.mark.parametrize("kind", MAKERS)
@pytest.mark.parametrize("form", ["mcap", "db3", "db3 with definitions"])
def test_people_of_every_kind_of_message(kind: str, form: str, tmp_path: Path) -> None:
    messages = drive(people=tuple(MAKERS[kind](k / 10, 6.0 - k / 10) for k in range(21)))
    if form == "mcap":
        path = write_mcap(tmp_path / "bag.mcap", messages)
    else:
        path = write_db3(tmp_path / "bag", messages, with_definitions="with" in form)
    [record] = records_of(path)
    assert record.person_id.tolist() == [4]
    assert record.person_present.all()
    assert record.person_position[:, 0, 0] == pytest.approx(6.0 - np.arange(21) / 10)
    assert record.person_velocity[:, 0] == pytest.approx(np.tile([-1.0, 0.0], (21, 1)), abs=1e-5)
    assert record.person_radius[0] == pytest.approx(0.3 if kind == "markers" else 0.25)
    assert record.robot_velocity[:, 0] == pytest.approx(1.0)
    assert score(record)["success"].reason == "the log does not tell the robot's goal"


def transform(time: float, parent: str, child: str, x: float, yaw_quarters: int = 0) -> dict[str, Any]:
    turned = {0: (0.0, 1.0), 1: (0.5**0.5, 0.5**0.5)}[yaw_quarters]
    move = {
        "translation": {"x": x, "y": 0.0, "z": 0.0},
        "rotation": {"x": 0.0, "y": 0.0, "z": turned[0], "w": turned[1]},
    }
    return {"header": header(time, parent), "child_frame_id": child, "transform": move}


def test_the_robot_as_a_frame_below_a_turned_one(tmp_path: Path) -> None:
    """map → odom is a quarter turn at (10, 0), so a drive along x of odom goes along y of map."""
    messages: list[Message] = [
        ("/tf_static", "tf2_msgs/TFMessage", 0.0, {"transforms": [transform(0.0, "map", "odom", 10.0, 1)]})
    ]
    for k in range(11):
        moved = transform(k / 10, "odom", "base_link", k / 10)
        messages.append(("/tf", "tf2_msgs/TFMessage", k / 10, {"transforms": [moved]}))
    [record] = records_of(write_mcap(tmp_path / "bag.mcap", messages))
    assert record.robot_pose[-1] == pytest.approx([10.0, 1.0, np.pi / 2])
    assert record.robot_velocity[-1] == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)


def test_odometry_is_lifted_into_the_map_and_its_twist_is_turned(tmp_path: Path) -> None:
    still = [transform(0.0, "map", "odom", 10.0, 1)]
    messages: list[Message] = [("/tf_static", "tf2_msgs/TFMessage", 0.0, {"transforms": still})]
    messages += [odometry(k / 10, k / 10, 0.0, 1.0, frame="odom") for k in range(11)]
    [record] = records_of(write_mcap(tmp_path / "bag.mcap", messages))
    assert record.robot_pose[-1] == pytest.approx([10.0, 1.0, np.pi / 2])
    assert record.robot_velocity[3] == pytest.approx([0.0, 1.0, 0.0], abs=1e-9)


def goal(time: float, x: float, y: float) -> Message:
    pose = filled("geometry_msgs/Pose", position={"x": x, "y": y, "z": 0.0})
    return "/goal_pose", "geometry_msgs/PoseStamped", time, {"header": header(time), "pose": pose}


def test_every_goal_begins_a_drive(tmp_path: Path) -> None:
    messages = drive(people=(goal(0.0, 1.0, 0.0), goal(1.0, 9.0, 0.0)))
    first, second = records_of(write_mcap(tmp_path / "bag.mcap", messages))
    assert (first.scenario.name, first.outcome, first.scenario.ego.goal) == ("bag-goal1", Outcome.SUCCESS, (1.0, 0.0))
    assert first.duration == pytest.approx(0.8)  # 0.3 m before the goal, in the step that crosses it
    assert (second.outcome, second.robot_pose[0, 0]) == (Outcome.TIMEOUT, pytest.approx(1.0))
    assert score(second)["final_goal_distance"].value == pytest.approx(7.0)


def test_commands_hold_until_the_next(tmp_path: Path) -> None:
    twist = filled("geometry_msgs/Twist", linear={"x": 0.7, "y": 0.0, "z": 0.0})
    messages = drive(people=(("/cmd_vel", "geometry_msgs/Twist", 0.5, twist),))
    [record] = records_of(write_mcap(tmp_path / "bag.mcap", messages))
    assert record.command[4, 0] == -1
    assert record.command[5:, :2].tolist() == [[0.0, 0.7]] * 15


def test_an_occupancy_grid_has_walls(tmp_path: Path) -> None:
    cells = np.zeros((20, 30), np.int8)
    cells[:, 12] = 100  # x from 1.2 to 1.3 m
    cells[0, 0] = -1  # unknown is free
    origin = filled("geometry_msgs/Pose", position={"x": 0.0, "y": -1.0, "z": 0.0})
    info = filled("nav_msgs/MapMetaData", resolution=0.1, width=30, height=20, origin=origin)
    grid = {"header": header(0.0), "info": info, "data": cells.ravel().tolist()}
    messages = drive(people=(("/map", "nav_msgs/OccupancyGrid", 0.0, grid),))
    [record] = records_of(write_mcap(tmp_path / "bag.mcap", messages), radius_m=0.2)
    assert np.unique(record.walls[:, [0, 2]]) == pytest.approx([1.2, 1.3])
    start = next(event for event in record.events if event.kind == "collision_start")
    assert (start.subject, start.time) == ("wall", pytest.approx(1.0, abs=1e-3))


def test_wrong_topics_list_the_right_ones(tmp_path: Path) -> None:
    path = write_mcap(tmp_path / "bag.mcap", drive())
    with pytest.raises(BadInput, match=r"no topic '/robot' in it; topics: /odom \(nav_msgs/Odometry\)"):
        records_of(path, topics={"robot": "/robot"})
    with pytest.raises(BadInput, match="cannot be read as people"):
        records_of(path, topics={"people": "/odom"})
    with pytest.raises(BadInput, match="no such role"):
        records_of(path, topics={"car": "/odom"})
    silent = write_mcap(tmp_path / "silent.mcap", [people(0.0, 1.0), people(1.0, 1.0)])
    with pytest.raises(BadInput, match=r"no topic has the robot's position.*give --map robot=TOPIC; topics: /seen"):
        records_of(silent)


def test_damaged_bags(tmp_path: Path) -> None:
    whole = write_mcap(tmp_path / "bag.mcap", drive()).read_bytes()
    for cut in (9, 40, len(whole) // 2, len(whole) - 20):
        (tmp_path / "cut.mcap").write_bytes(whole[:cut])
        with pytest.raises(BadInput, match=r"cut\.mcap"):
            records_of(tmp_path / "cut.mcap")
    (tmp_path / "bag.db3").write_bytes(b"SQLite format 3\0" + bytes(100))
    with pytest.raises(BadInput, match="truncated or damaged"):
        records_of(tmp_path / "bag.db3")
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match=r"no \.mcap or \.db3 file"):
        records_of(tmp_path / "empty", format_name="rosbag")
    folder = write_db3(tmp_path / "folder", drive())
    (folder / "bag_0.db3").unlink()
    with pytest.raises(BadInput, match="copy the whole folder"):
        records_of(folder, format_name="rosbag")


def test_digests_do_not_depend_on_the_folder(tmp_path: Path) -> None:
    first = write_mcap(tmp_path / "bag.mcap", drive())
    (tmp_path / "other").mkdir()
    second = tmp_path / "other" / "bag.mcap"
    second.write_bytes(first.read_bytes())
    [one], [two] = records_of(first), records_of(second)
    assert one.digest == two.digest
    note = one.scenario.notes["log"]
    assert (note["file"], note["format"], len(note["sha256"])) == ("bag.mcap", "rosbag", 64)
