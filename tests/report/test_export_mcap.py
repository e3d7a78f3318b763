"""What MCAP's own reader finds in an exported file is what the record holds."""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sidestep.errors import BadInput, MissingExtra
from sidestep.records.exports.mcap_file import TYPES, export_mcap
from sidestep.types.outcome import Outcome
from sidestep.types.record import EpisodeRecord, PolicyInfo
from tests.needs import skip_without_package
from tests.report.conftest import Builder
from tests.report.episodes import eventful, planned

needs_extra = skip_without_package("mcap_ros2")
Found = dict[str, list[tuple[int, str, Any]]]


def read(path: Path) -> Found:
    from mcap.reader import make_reader
    from mcap_ros2.decoder import DecoderFactory

    found: Found = {}
    with path.open("rb") as file:
        reader = make_reader(file, decoder_factories=[DecoderFactory()])
        for schema, channel, message, decoded in reader.iter_decoded_messages():
            found.setdefault(channel.topic, []).append((message.log_time, schema.name, decoded))
    return found


@pytest.fixture(scope="module")
def exported(record: EpisodeRecord, tmp_path_factory: pytest.TempPathFactory) -> Found:
    path = tmp_path_factory.mktemp("mcap") / "episode.mcap"
    export_mcap(record, path)
    return read(path)


@needs_extra
def test_topics_and_types(exported: Found, record: EpisodeRecord) -> None:
    counts = Counter({topic: len(found) for topic, found in exported.items()})
    states = record.steps + 1
    once, always = ("/tf_static", "/goal_pose", "/walls"), ("/tf", "/odom", "/people")
    assert counts == {**dict.fromkeys(once, 1), **dict.fromkeys(always, states), "/events": 4}
    for topic, found in exported.items():
        assert {name for _, name, _ in found} == {TYPES[topic].replace("/", "/msg/")}


@needs_extra
def test_odometry_is_the_robot_and_its_twist_is_in_its_own_frame(exported: Found, record: EpisodeRecord) -> None:
    stamps = np.array([time for time, _, _ in exported["/odom"]])
    assert stamps / 1e9 == pytest.approx(record.time)
    message = exported["/odom"][40][2]
    x, y, heading = record.robot_pose[40]
    assert (message.pose.pose.position.x, message.pose.pose.position.y) == (x, y)
    assert 2 * np.arctan2(message.pose.pose.orientation.z, message.pose.pose.orientation.w) == pytest.approx(heading)
    vx, vy, turn = record.robot_velocity[40]
    assert message.twist.twist.linear.x == pytest.approx(vx * np.cos(heading) + vy * np.sin(heading))
    assert message.twist.twist.linear.y == pytest.approx(vy * np.cos(heading) - vx * np.sin(heading))
    assert message.twist.twist.angular.z == turn
    assert (message.header.frame_id, message.child_frame_id) == ("odom", "base_link")
    assert message.header.stamp.sec == 2
    moved = exported["/tf"][40][2].transforms[0]
    assert (moved.transform.translation.x, moved.child_frame_id) == (x, "base_link")


@needs_extra
def test_people_appear_and_are_deleted_when_they_leave(exported: Found, record: EpisodeRecord) -> None:
    half = len(record.time) // 2
    before, at, after = (exported["/people"][step][2].markers for step in (half - 1, half, half + 1))
    assert [len(markers) for markers in (before, at, after)] == [15, 15, 14]
    assert [(m.id, m.action) for m in at if m.action] == [(114, 2)]
    marker = before[5]
    assert marker.id == 105
    assert (marker.pose.position.x, marker.scale.x) == pytest.approx((record.person_position[half - 1, 5, 0], 0.54))


@needs_extra
def test_walls_goal_and_events(exported: Found, record: EpisodeRecord) -> None:
    points = [(p.x, p.y) for p in exported["/walls"][0][2].markers[0].points]
    assert np.array(points) == pytest.approx(record.walls.reshape(-1, 2))
    goal = exported["/goal_pose"][0][2].pose.position
    assert (goal.x, goal.y) == record.scenario.ego.goal
    told = [message.data for _, _, message in exported["/events"]]
    assert "touches person 105" in told[1]
    assert "ends: pedestrian collision" in told[-1]


@needs_extra
def test_a_policy_with_a_lidar_has_scans(build: Builder, tmp_path: Path) -> None:
    record = replace(
        build(duration=0.5, outcome=Outcome.SUCCESS), policy=PolicyInfo("scanner", needs=("goal", "lidar"))
    )
    export_mcap(record, tmp_path / "scan.mcap")
    scans = read(tmp_path / "scan.mcap")["/scan"]
    assert len(scans) == record.steps + 1
    scan = scans[0][2]
    assert len(scan.ranges) == record.scenario.sensors.lidar.rays
    x, y, heading = record.robot_pose[0]
    gap = np.hypot(*(record.person_position[0] - (x, y)).T) - record.person_radius
    bearing = np.arctan2(*(record.person_position[0, gap.argmin()] - (x, y))[::-1]) - heading
    ray = round((bearing - scan.angle_min) / scan.angle_increment) % len(scan.ranges)
    assert scan.ranges[ray] == pytest.approx(gap.min(), abs=0.01)


@needs_extra
def test_a_place_that_cannot_be_written_to(record: EpisodeRecord, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(BadInput, match="cannot be written"):
        export_mcap(record, tmp_path / "file" / "x.mcap")


def test_without_the_extra_the_error_names_it(
    record: EpisodeRecord, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "mcap_ros2.writer", None)
    with pytest.raises(MissingExtra, match=r"sidestep\[export\]"):
        export_mcap(record, tmp_path / "x.mcap")
    assert list(tmp_path.iterdir()) == []


@needs_extra
def test_plans_and_forecasts(tmp_path: Path) -> None:
    record = planned()
    export_mcap(record, tmp_path / "plan.mcap")
    found = read(tmp_path / "plan.mcap")
    plans = record.plans
    assert len(found["/plan"]) == len(found["/forecasts"]) == len(plans)
    assert np.array([time for time, _, _ in found["/plan"]]) / 1e9 == pytest.approx(record.time[plans.step])
    path = found["/plan"][4][2]
    assert np.array([(p.pose.position.x, p.pose.position.y) for p in path.poses]) == pytest.approx(plans.robot[4])
    stamp = path.poses[0].header.stamp
    assert stamp.sec + stamp.nanosec / 1e9 == pytest.approx(record.time[plans.step[4]] + plans.step_s)
    who, where = plans.forecasts_at(int(plans.step[4]))
    strips = [m for m in found["/forecasts"][4][2].markers if not m.action]
    assert [len(m.points) for m in strips] == [where.shape[1] + 1] * len(who)
    assert (strips[1].points[-1].x, strips[1].points[-1].y) == pytest.approx(tuple(where[1, -1]))
    assert "/gestures" not in found


@needs_extra
def test_gestures_and_events_are_told(tmp_path: Path) -> None:
    record = eventful()
    export_mcap(record, tmp_path / "events.mcap")
    found = read(tmp_path / "events.mcap")
    assert "/plan" not in found
    words = [{m.text for m in message.markers if not m.action} for _, _, message in found["/gestures"]]
    assert words[30] == {"stop"}
    assert words[-1] == {"stop", "talk", "look_around"}
    told = " ".join(message.data for _, _, message in found["/events"])
    for text in (
        "an event begins: person 0: gesturing",
        "passes through: group 1",
        "has left the route",
        "is put back",
    ):
        assert text in told


@needs_extra
def test_a_scan_is_from_where_the_scanner_is_mounted(tmp_path: Path) -> None:
    record = replace(eventful(), policy=PolicyInfo("scanner", needs=("lidar",)))
    export_mcap(record, tmp_path / "scan.mcap")
    found = read(tmp_path / "scan.mcap")
    laser = found["/tf_static"][0][2].transforms[1]
    assert (laser.header.frame_id, laser.child_frame_id) == ("base_link", "laser")
    assert (laser.transform.translation.x, laser.transform.translation.y) == (0.5, 0.2)
    scan = found["/scan"][45][2]
    assert scan.header.frame_id == "laser"
    x, y, heading = record.robot_pose[45]
    at = np.array(
        [x + 0.5 * np.cos(heading) - 0.2 * np.sin(heading), y + 0.5 * np.sin(heading) + 0.2 * np.cos(heading)]
    )
    gaps = np.hypot(*(record.person_position[45] - at).T) - record.person_radius
    assert min(scan.ranges) == pytest.approx(gaps.min(), abs=0.02)
