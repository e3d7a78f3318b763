"""Tables of positions: what comes out is what was written, and mistakes are told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sidestep.errors import BadInput
from sidestep.metrics.score import score
from sidestep.types.outcome import Outcome
from tests.records.logs.make import records_of


def drive_along_x(path: Path, goal: str = "", person: float = 1.0, **changes: str) -> Path:
    """A robot at 1 m/s along x for 2 s, sampled every 0.125 s; a person stands at ``(person, 0)``."""
    rows = [f"{k * 0.125},robot,{k * 0.125},0,robot" for k in range(17)]
    rows += [f"{k * 0.125},7,{person},0,person" for k in range(17)]
    text = "time,id,x,y,kind\n" + "\n".join(rows) + "\n"
    for old, new in changes.items():
        text = text.replace(old, new)
    path.write_text(text, encoding="utf-8")
    return path


def test_contact_and_goal_are_those_of_the_referee(tmp_path: Path) -> None:
    [record] = records_of(drive_along_x(tmp_path / "a.csv"), goal=(2.0, 0.0), radius_m=0.25, person_radius_m=0.25)
    assert record.outcome is Outcome.PEDESTRIAN_COLLISION
    start = next(event for event in record.events if event.kind == "collision_start")
    assert (start.subject, start.time) == ("person:7", pytest.approx(0.5))  # centres 0.5 m apart
    end = next(event for event in record.events if event.kind == "collision_end")
    assert end.time == pytest.approx(1.625)  # still 0.5 m apart at 1.5 s, so the step after it is the first without
    assert [event.kind for event in record.events][-1] == "goal_reached"
    assert record.duration == pytest.approx(1.75)  # the goal's radius is 0.3 m: reached in the step that ends there
    found = score(record, ["time_to_goal", "pedestrian_collisions", "speed_avg", "path_length"])
    assert found["pedestrian_collisions"].value == 1
    assert found["speed_avg"].value == pytest.approx(1.0)
    assert found["path_length"].value == pytest.approx(1.75)
    assert record.source == "recorded"
    assert record.scenario.suite == "log"


def test_what_a_log_does_not_tell_has_no_value(tmp_path: Path) -> None:
    [record] = records_of(drive_along_x(tmp_path / "a.csv", person=9.0))
    found = score(record)
    for name in ("success", "timeout", "spl", "time_to_goal", "final_goal_distance", "route_completion"):
        assert found[name].reason == "the log does not tell the robot's goal", name
    for name in ("collisions", "wall_collisions", "environment_collision", "obstacle_clearance_min"):
        assert found[name].reason == "the log has no map", name
    for name in ("limits_applied", "policy_error", "planning_time_avg", "vehicle_collisions", "group_intrusion"):
        assert not found[name].valid, name
    assert found["pedestrian_collisions"].value == 0
    assert found["distance_driven"].value == pytest.approx(2.0)
    assert found["closest_pedestrian_distance"].value == pytest.approx(9 - 2 - 0.3 - 0.25, abs=1e-6)


def test_a_robot_alone_tells_nothing_of_people(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("t,x,y\n" + "\n".join(f"{k},{k},0" for k in range(5)), encoding="utf-8")
    [record] = records_of(tmp_path / "a.csv")
    assert score(record)["closest_pedestrian_distance"].reason == "the log does not tell where people were"


def test_walls_are_touched_where_the_log_leads_through_them(tmp_path: Path) -> None:
    from sidestep.types.scene import Region, SceneSpec

    box = Region(kind="obstacle", polygon=((1.0, -1.0), (1.1, -1.0), (1.1, 1.0), (1.0, 1.0)))
    scene = SceneSpec(regions=(box,))
    [record] = records_of(drive_along_x(tmp_path / "a.csv", person=9.0), scene=scene, radius_m=0.25, goal=(2.0, 0.0))
    touched = [event.time for event in record.events if event.kind == "collision_start"]
    assert touched == [pytest.approx(0.75, abs=1e-3)]
    assert record.outcome is Outcome.ENVIRONMENT_COLLISION
    assert score(record)["wall_collisions"].value == 1


POSITIONS = st.lists(st.tuples(st.floats(-1e3, 1e3, width=32), st.floats(-1e3, 1e3, width=32)), min_size=2, max_size=20)


@given(robot=POSITIONS, people=st.lists(POSITIONS, max_size=3), unit=st.sampled_from([("s", 1), ("ns", 10**9)]))
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_positions_survive(robot: list, people: list, unit: tuple[str, int], tmp_path: Path) -> None:
    """Random tracks at 2 Hz, written and imported, are the same positions."""
    tracks = {"0": robot} | {str(k): track for k, track in enumerate(people, start=1)}
    rows = [
        f"{k * unit[1] // 2},{name},{x!r},{y!r}" for name, track in tracks.items() for k, (x, y) in enumerate(track)
    ]
    if unit[0] == "s":
        rows = [f"{k * 0.5},{name},{x!r},{y!r}" for name, track in tracks.items() for k, (x, y) in enumerate(track)]
    path = tmp_path / "tracks.csv"
    path.write_text("time,id,x,y\n" + "\n".join(rows[::-1]) + "\n", encoding="utf-8")
    [record] = records_of(path, robot="0", time_unit=unit[0])
    assert np.array_equal(record.robot_pose[:, :2], np.array(robot))
    for column, person in enumerate(record.person_id.tolist()):
        there = min(len(people[person - 1]), len(robot))
        assert record.person_present[:, column].sum() == there
        assert np.array_equal(record.person_position[:there, column], np.array(people[person - 1][:there], np.float32))
    assert set(record.person_id.tolist()) == set(range(1, len(people) + 1))


def test_disorder_is_put_right_and_told(tmp_path: Path) -> None:
    lines = ["t;agent;px;py", "0.2;r;0.2;0", "0.0;r;0.0;0", "0.1;r;0.1;0", "0.1;r;5;5", "0.3;r;nan;0", "0.3;r;0.3;0"]
    (tmp_path / "a.csv").write_text("\n".join(lines), encoding="utf-8")
    said: list[str] = []
    [record] = records_of(tmp_path / "a.csv", said=said)
    assert record.robot_pose[:, 0] == pytest.approx([0.0, 0.1, 0.2, 0.3])
    text = "\n".join(said)
    assert "1 repeated (left out)" in text
    assert "1 out of order (sorted)" in text
    assert "1 rows without time or position left out" in text
    assert "time taken to be in s" in text


def test_millimetres_nanoseconds_and_gaps(tmp_path: Path) -> None:
    start = 1_700_000_000_000_000_000
    stamps = [0, 1, 2, 3, 50, 51, 52]  # tenths of a second; a gap of 4.7 s
    rows = [f"{start + k * 10**8},r,{100 * k},0" for k in stamps]
    (tmp_path / "a.csv").write_text("time,id,x,y\n" + "\n".join(rows), encoding="utf-8")
    first, second = records_of(tmp_path / "a.csv", scale=0.001)
    assert (first.scenario.name, second.scenario.name) == ("a-robotr-part1", "a-robotr-part2")
    assert first.robot_pose[:, 0] == pytest.approx([0.0, 0.1, 0.2, 0.3], abs=1e-6)
    assert second.robot_pose[0, 0] == pytest.approx(5.0)
    [whole] = records_of(tmp_path / "a.csv", scale=0.001, gap_s=10.0)
    assert whole.steps == 52
    assert whole.robot_pose[20, 0] == pytest.approx(2.0, abs=1e-3)


def test_a_person_is_absent_in_a_gap(tmp_path: Path) -> None:
    rows = [f"{k / 10},r,0,0,robot" for k in range(60)] + [f"{k / 10},1,3,{k / 10},person" for k in (0, 1, 2, 40, 41)]
    (tmp_path / "a.csv").write_text("time,id,x,y,kind\n" + "\n".join(rows), encoding="utf-8")
    [record] = records_of(tmp_path / "a.csv")
    assert np.flatnonzero(record.person_present[:, 0]).tolist() == [0, 1, 2, 40, 41]


def test_headings_take_the_shorter_way(tmp_path: Path) -> None:
    text = "time,x,y,heading\n0,0,0,3.0\n1,0,0,-3.0\n"
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    [record] = records_of(tmp_path / "a.csv", step_s=0.5)
    assert abs(record.robot_pose[1, 2]) == pytest.approx(np.pi)
    assert record.robot_velocity[1, 2] == pytest.approx(2 * np.pi - 6.0)


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        ("", {}, "the file is empty"),
        ("time,id,x,y\n", {}, "no rows with time and position"),
        ("a,b,c\n1,2,3\n", {"format_name": "csv"}, "no column for time, x, y; the columns are a, b, c"),
        ("time,x,y\n0,0,0\n1,one,0\n", {}, r"a\.csv:3: x is 'one', not a number"),
        ("time,x,y\n0,0,0\n1,2\n", {}, r"a\.csv:3: 2 columns"),
        ("time,x,y\n0,0,0\n", {}, "needs at least two"),
        ("time,id,x,y\n0,1,0,0\n0,2,0,0\n1,1,0,0\n", {}, "nothing says which body is the robot.*'1', '2'"),
        ("time,id,x,y\n0,1,0,0\n1,1,0,0\n", {"robot": "4"}, "no body '4'"),
        ("time,x,y\n0,0,0\n1,0,0\n", {"columns": {"x": "px"}}, "no column 'px' for x"),
        ("time,x,y\n0,0,0\n1,0,0\n", {"columns": {"xx": "x"}}, "did you mean 'x'|no such quantity"),
        ("time,x,y\n0,0,0\n1,0,0\n", {"time_unit": "h"}, "known are s, ms, us, ns"),
        ("time,x,y\n0,0,0\n1,0,0\n", {"topics": {"robot": "/odom"}}, "--map does not apply"),
        ("time,x,y\n0,4e5,0\n1,4e5,0\n", {}, "the robot is more than 100 km from the origin; subtract an offset"),
        ("time,x,y\n0,0,0\n1e-300,1,0\n", {}, "less than a nanosecond apart"),
        ("time,x,y\n0,0,0\n1e9,1,0\n", {"gap_s": 1e12, "step_s": 0.1}, "at most 1,000,000 fit"),
    ],
)
def test_mistakes_are_told(text: str, options: dict, message: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=message):
        records_of(tmp_path / "a.csv", **options)


def test_binary_and_absent_files(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"time,x,y\n\xff\xfe\x00")
    with pytest.raises(BadInput, match="UTF-8"):
        records_of(tmp_path / "a.csv")
    with pytest.raises(BadInput, match="no such file"):
        records_of(tmp_path / "b.csv")
    (tmp_path / "c.bin").write_bytes(b"\x00\x01")
    with pytest.raises(BadInput, match="none of the known formats"):
        records_of(tmp_path / "c.bin")
