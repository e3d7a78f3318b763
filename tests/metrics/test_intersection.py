"""Metrics of driving through an intersection, computed by hand in both dialects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import degrees, pi, radians
from typing import Any

import numpy as np
import pytest

from sidestep.metrics.intersectnav_code import DRIVE, program_results
from sidestep.types import EpisodeRecord, Event, Footprint, Outcome
from tests.simulation.traffic.roads import on_the_road

from .records import CIRCLE, STEP_S, Walker, line, make_record

CODE = "intersectnav-code"
CAR = Footprint(polygon=((3.0, -1.0), (3.0, 1.0), (-1.0, 1.0), (-1.0, -1.0)))
"""Its middle is 1 m ahead of its reference point."""
Value = Callable[..., float]


def drive(
    positions: Any, *, rules: dict[str, Any] | None = None, commands: Any = None, **options: Any
) -> EpisodeRecord:
    """A record of a car on the straight road (lane at y = -1.75, exit at x = 100)."""
    outcome = options.pop("outcome", Outcome.TIMEOUT)
    record = make_record(positions, footprint=CAR, outcome=outcome, **options)
    scenario = on_the_road(
        rules={"step_s": record.step_s, "time_limit_s": 60, **(rules or {})},
        robots=[
            {"spec": "car", "start": record.robot_pose[0].tolist(), "goal": [110, -1.75], "route": [[60, -1.75]]}
        ],
    )  # fmt: skip
    record = replace(record, scenario=scenario)
    return record if commands is None else replace(record, command=np.asarray(commands, float))


def test_ego_jerk(value: Value) -> None:
    """Speeds 0, 1, 3, 3 m/s at steps of 1/8 s: accelerations 8, 16, 0, jerks (16 - 8) · 8 = 64 and -128 m/s³."""
    record = drive(np.zeros((4, 2)), velocity=[[0, 0], [1, 0], [3, 0], [3, 0]])
    assert value(record, "ego_jerk") == pytest.approx((64 + 128) / 2)


def test_ego_jerk_of_the_program_counts_steps(value: Value, result: Callable[..., Any]) -> None:
    """A step can count twice; the limits themselves do not count."""
    commands = [
        [DRIVE, 0.4, 0.9, 0.0],
        [DRIVE, 0.41, 0.0, 0.0],
        [DRIVE, -0.41, 0.91, 0.0],
        [DRIVE, 0.0, 1.0, 1.0],
        [0, 9.0, 9.0, 0.0],
    ]
    record = drive(line((10, -1.75), (1, 0), 5), commands=commands)
    assert value(record, "ego_jerk", CODE) == 4
    assert result(record, "ego_jerk", CODE).unit == "steps"
    other = drive(line((10, -1.75), (1, 0), 1), commands=[[0, 1.0, 1.0, 0.0]])
    assert not result(other, "ego_jerk", CODE).valid


def test_other_jerk(value: Value, result: Callable[..., Any]) -> None:
    """One person 4 m ahead of the bumper has the speeds 0, 1, 1, 0: second differences -1 and -1 over (1/8 s)². One 6 m
    ahead does not count, however they jump."""
    near = Walker((7, 0), velocity=[[0, 0], [1, 0], [1, 0], [0, 0]])
    far = Walker((9, 0), velocity=[[0, 0], [9, 0], [0, 0], [9, 0]])
    record = drive(np.zeros((4, 2)), people=[near, far])
    assert value(record, "other_jerk") == pytest.approx(64.0)
    assert result(drive(np.zeros((4, 2)), people=[far]), "other_jerk").reason
    assert not result(drive(np.zeros((2, 2)), people=[Walker((7, 0))]), "other_jerk").valid


def test_other_jerk_of_the_program(value: Value) -> None:
    """Seen from the middle of the body at (1, 0). The program's direction is floor((4 · degrees + 720) mod 1440) to the
    right, and 46 to 135 and 225 to 315 are not beside it: 46 is -168.5°."""

    def at(angle: float, distance: float, **more: Any) -> Walker:
        """Somebody ``angle`` degrees to the left of east."""
        return Walker((1 + distance * np.cos(radians(angle)), distance * np.sin(radians(angle))), **more)

    def counted(*people: Walker) -> float:
        return value(drive(np.zeros((2, 2)), people=people), "other_jerk", CODE)

    assert counted(at(0, 2.4)) == 1  # 720
    aside = {"velocity": (0.0, 1.0)}
    assert counted(at(0, 2.6, **aside)) == 0  # too far to count by distance alone, and they do not come
    assert counted(at(0, 2.6)) == 1  # who stands counts as coming
    assert counted(at(0, 4.9)) == 1
    assert counted(at(0, 5.1)) == 0
    assert counted(at(160.0, 4.0)) == 0
    assert counted(at(0, 4.0, velocity=(0.0, 0.09))) == 1
    assert counted(at(0, 4.0, velocity=(0.0, 0.11))) == 0
    for angle, beside in ((-168.6, 1), (-168.4, 0), (-146.4, 0), (-146.2, 1), (-123.7, 1), (-123.4, 0)):
        assert counted(at(-angle, 2.0)) == beside, angle  # 45 and 135 to 225 are within
    assert counted(at(160.0, 2.0)) == 0  # -160° → 80, between 45 and 135
    assert counted(at(175.0, 2.0)) == 1  # -175° → 20
    assert counted(at(-160.0, 2.0)) == 1  # 160° → 1360
    comes = {"velocity": (-1.0, 0.0)}
    assert counted(at(0, 4.0, **comes)) == 0  # comes, but neither brakes nor stands
    brakes = {"velocity": [[-1.3, 0.0], [-1.0, 0.0]]}  # 2.4 m/s²
    assert counted(at(0, 4.0, **brakes)) == 1
    assert counted(at(0, 5.1, **brakes)) == 0
    assert counted(at(0, 4.0, velocity=[[1.3, 0.0], [1.0, 0.0]])) == 0  # brakes, but goes away
    assert counted(at(0, 2.0), at(0, 4.0, **brakes), at(90, 1.5)) == 3


def test_waypoint_deviation(value: Value, result: Callable[..., Any]) -> None:
    """The route is y = -1.75 from the reference point on; the middle is 1 m ahead: 0, 0.5, 1.0 m aside. The program
    adds up all states."""
    record = drive([[10, -1.75], [12, -1.25], [14, -2.75]])
    assert value(record, "waypoint_deviation") == pytest.approx(0.5)
    assert value(record, "waypoint_deviation", CODE) == pytest.approx(1.5)
    assert result(make_record([[0, 0], [1, 0]]), "waypoint_deviation").reason == "the scenario has no route"


def test_the_program_measures_from_the_line_through_two_waypoints(value: Value) -> None:
    """Waypoints (10, -1.75), (60, -1.75), (110, -1.75). At (112, -1.25), beyond the last, the nearest point of the
    route is 2.06 m away, the line 0.5 m; at the start it is 0 m."""
    record = drive([[10, -1.75], [111, -1.25]])
    assert value(record, "waypoint_deviation") == pytest.approx(np.hypot(2.0, 0.5) / 2)
    assert value(record, "waypoint_deviation", CODE) == pytest.approx(0.5)


def program(record: EpisodeRecord, **how: Any) -> dict[str, Any]:
    return program_results(record, **how)


def test_keys_of_the_program_in_its_order() -> None:
    assert list(program(drive([[10, -1.75], [11, -1.75]]))) == [
        "success", "time_out", "lane_invasion", "collision", "TooFar", "TooMuchAngle", "invasion_time",
        "total_ego_jerk", "total_other_jerk", "total_min_dis", "dis_to_destination", "vertical_dist", "delta_angle",
        "wrong_direction", "tot_step",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("y", "heading", "expected"),
    [
        (0.99, 0.0, (False, False)), (-0.99, 0.0, (False, False)), (1.01, 0.0, (True, False)),
        (0.0, radians(14.9), (False, False)), (0.0, radians(-15.1), (False, True)), (1.2, radians(16), (True, True)),
    ],
)  # fmt: skip
def test_too_far_and_too_much_angle(y: float, heading: float, expected: tuple[bool, bool]) -> None:
    """The expert left at (100, -1.75) heading east: beside it counts the distance across its heading alone, more than
    1 m, and more than 15°. The program's environment knows neither."""
    x_middle, y_middle = 101.5, -1.75 + y
    rear = x_middle - np.cos(heading), y_middle - np.sin(heading)
    is_success = expected == (False, False)
    kind, outcome = ("exited", Outcome.SUCCESS) if is_success else ("wrong_exit", Outcome.WRONG_EXIT)
    record = drive([[90, -1.75], rear], heading=[0.0, heading], events=[Event(STEP_S, kind, "east")], outcome=outcome)
    found = program(record)
    assert (found["TooFar"], found["TooMuchAngle"]) == expected
    assert found["success"] is is_success
    assert found["wrong_direction"] is False
    assert found["vertical_dist"] == pytest.approx(abs(y))
    assert found["dis_to_destination"] == pytest.approx(np.hypot(1.5, y))
    assert found["delta_angle"] == pytest.approx(-degrees(heading))
    environment = program(record, judged=False)
    assert environment["success"] is True
    assert (environment["TooFar"], environment["vertical_dist"]) == (False, 0)


def test_other_ends_of_the_program() -> None:
    north = drive([[50, 0], [50, 19.5]], events=[Event(STEP_S, "wrong_exit", "north")], outcome=Outcome.WRONG_EXIT)
    found = program(north)
    assert (found["wrong_direction"], found["success"], found["TooFar"]) == (True, False, False)
    late = program(replace(drive(line((10, -1.75), (1, 0), 480)), outcome=Outcome.TIMEOUT))
    assert (late["time_out"], late["tot_step"], late["success"]) == (True, 480, False)
    contact = program(drive([[10, -1.75], [11, -1.75]], outcome=Outcome.VEHICLE_COLLISION))
    assert (contact["collision"], contact["success"], contact["time_out"]) == (True, False, False)
    lines = [Event(STEP_S, "lane_crossing", kind) for kind in ("solid", "kerb")]
    crossing = program(drive([[10, -1.75], [11, -1.75]], events=lines, outcome=Outcome.LANE_INVASION))
    assert (crossing["lane_invasion"], crossing["invasion_time"]) == (True, 1)


def leaving(last: tuple[float, float], heading: float, kind: str | None, subject: str = "east") -> EpisodeRecord:
    events = [] if kind is None else [Event(STEP_S, kind, subject)]  # type: ignore[arg-type]
    return drive([[90, -1.75], last], heading=[0.0, heading], events=events)


@pytest.mark.parametrize("kind", ["exited", "wrong_exit"])
def test_deviation_at_the_exit(kind: str, value: Value) -> None:
    """The expert is at (100, -1.75), heading east; the middle at (102, -1.75 + 0.6) + (cos, sin) of 0.1 rad."""
    record = leaving((101.0, -1.15), 0.1, kind)
    expected = np.hypot(1.0 + np.cos(0.1), 0.6 + np.sin(0.1))
    assert value(record, "destination_deviation") == pytest.approx(expected)
    assert value(record, "destination_deviation", CODE) == pytest.approx(expected)
    assert value(record, "heading_deviation") == pytest.approx(degrees(0.1))
    assert value(record, "heading_deviation", CODE) == pytest.approx(-degrees(0.1))  # to the left is negative there
    right = leaving((101.0, -1.15), 2 * pi - 0.1, kind)
    assert value(right, "heading_deviation") == pytest.approx(degrees(0.1))
    assert value(right, "heading_deviation", CODE) == pytest.approx(degrees(0.1))


@pytest.mark.parametrize("record", [leaving((50, 0), 0.1, None), leaving((50, 19.5), 0.1, "wrong_exit", "north")])
def test_no_deviation_where_the_area_was_not_left_on_the_right_side(
    record: EpisodeRecord, value: Value, result: Callable[..., Any]
) -> None:
    for name in ("destination_deviation", "heading_deviation"):
        assert result(record, name).reason == "the area was not left on the right side"
        assert value(record, name, CODE) != 0.0
        assert result(make_record([[0, 0], [1, 0]]), name, CODE).reason == "the task is not to leave an area"


def test_total_steps(value: Value) -> None:
    assert value(drive(line((10, -1.75), (1, 0), 7)), "total_steps") == 7
    assert value(drive([[0, 0]]), "total_steps") == 0


def test_lane_invasions(value: Value, result: Callable[..., Any]) -> None:
    """A step with two lines counts once, broken lines do not count, a second in no lane counts even in such a step."""
    crossings = [(1, "solid"), (1, "kerb"), (1, "off_lane"), (2, "broken"), (3, "double_solid"), (4, "off_lane")]
    events = [Event(time, "lane_crossing", kind) for time, kind in crossings]
    record = drive(line((10, -1.75), (1, 0), 40), events=events)
    assert value(record, "lane_invasions") == 4
    assert result(make_record([[0, 0], [1, 0]]), "lane_invasions").reason == "lanes may be left"


def hit(path: Any, walk: Any, time: float, **options: Any) -> EpisodeRecord:
    events = [Event(time, "collision_start", "person:10")]
    return drive(
        path, people=[Walker(walk)], events=events, step_s=0.05, outcome=Outcome.PEDESTRIAN_COLLISION, **options
    )


def driving_into(walk: Any, speed: float = 5.0, steps: int = 60) -> EpisodeRecord:
    """A car from x = 10 along its lane, whose front meets ``walk`` in the last step."""
    return hit(line((10, -1.75), (speed, 0), steps, 0.05), walk, steps * 0.05 - 0.01)


def test_a_collision_that_braking_would_have_prevented(value: Value) -> None:
    """5 m/s for 3 s end with the front at 28 m. Somebody who stands at 28 m on the road from the beginning is seen for
    2.5 s; a car that brakes by 6 m/s² after half a second stops within 2.5 + 2.1 m."""
    standing = driving_into(np.full((61, 2), [28.2, -1.75]))
    assert value(standing, "preventable_collision") == 1


def test_a_person_who_jumps_in_front_of_the_car(value: Value) -> None:
    """On the sidewalk (y < -7) until 0.4 s before the contact: less than the reaction time."""
    walk = np.full((61, 2), [28.2, -8.0])
    walk[-8:, 1] = np.linspace(-6.5, -1.75, 8)
    assert value(driving_into(walk), "preventable_collision") == 0


def stepping_out(seen_for_s: float, across: bool) -> EpisodeRecord:
    """Somebody who steps onto the road, at y = -6.9 or, if they stop, into the lane, so long before the contact."""
    first = 60 - round(seen_for_s / 0.05)
    walk = np.full((61, 2), [28.2, -8.0])
    walk[first:, 1] = np.linspace(-6.9, -1.75, 61 - first) if across else -1.75
    return driving_into(walk)


@pytest.mark.parametrize(("seen_for_s", "could"), [(0.5, 0), (0.7, 0), (0.9, 0), (1.0, 1), (2.0, 1)])
def test_how_long_before_a_person_who_stops_has_to_be_seen(seen_for_s: float, could: float, value: Value) -> None:
    """Their surface is at x = 27.95 m, where the front would be 0.01 s before the contact. After the reaction time
    5 (T - 0.5) - 0.05 m are left, and 5² / (2 · 6) = 2.083 m are needed: T must be above 0.927 s."""
    assert value(stepping_out(seen_for_s, across=False), "preventable_collision") == could


@pytest.mark.parametrize(("seen_for_s", "could"), [(0.7, 0), (0.8, 0), (1.2, 1), (2.0, 1)])
def test_how_long_before_a_person_who_walks_on_has_to_be_seen(seen_for_s: float, could: float, value: Value) -> None:
    """Seen for 0.8 s, they cross at 6.44 m/s and are out of the way, 1.25 m farther, 0.19 s after the contact. The car
    has braked for 0.3 s, is 0.27 m behind at 3.2 m/s and drives the 0.22 m to their surface in 0.07 s. Seen for 1.2 s
    the car is 1.47 m behind, at 0.8 m/s: it stands before."""
    assert value(stepping_out(seen_for_s, across=True), "preventable_collision") == could


def test_a_round_robot(value: Value) -> None:
    """From 12.5 m, half a second after the start, it stops within 2.083 m: at 14.58 m, with its front at 14.83 m."""
    for x, could in ((25.4, 1), (15.2, 1), (15.0, 0), (14.0, 0)):
        record = driving_into(np.full((61, 2), [x, -1.75]))
        spec = record.robot.model_copy(update={"footprint": CIRCLE})
        assert value(replace(record, robot=spec), "preventable_collision") == could


def test_a_standing_car_is_not_to_blame(value: Value) -> None:
    record = hit(np.full((61, 2), [10.0, -1.75]), line((16.2, -1.75), (-1, 0), 60, 0.05), 2.95)
    assert value(record, "preventable_collision") == 0


def test_preventable_collisions_are_with_people_and_need_roads(value: Value, result: Callable[..., Any]) -> None:
    walk = np.full((61, 2), [28.2, -1.75])
    wall = replace(driving_into(walk), events=(Event(2.99, "collision_start", "wall"),))
    assert value(wall, "preventable_collision") == 0
    assert result(make_record([[0, 0], [1, 0]]), "preventable_collision").reason == "the scene has no roads"
