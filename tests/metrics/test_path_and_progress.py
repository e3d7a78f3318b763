"""Path, progress and time, computed on paper."""

from __future__ import annotations

from dataclasses import replace
from math import pi, sqrt

import numpy as np
import pytest

from sidestep.types import Event, Outcome

from .records import Walker, line, make_record, straight_run

FAILED = {"outcome": Outcome.TIMEOUT}


def right_angle(**settings):
    """4 m along x, then 3 m along y, heading along the way: 7 m for a straight line of 5 m."""
    positions = np.concatenate([line((0, 0), (1, 0), 32), line((4, 0), (0, 1), 24)[1:]])
    heading = np.where(np.arange(57) <= 32, 0.0, pi / 2)
    return make_record(positions, heading=heading, **settings)


def test_straight_line(value) -> None:
    record = straight_run()
    expected = {
        "path_length": 8, "path_length_ratio": 1, "path_efficiency": 1, "spl": 7.7 / 8, "path_irregularity": 0,
        "heading_change": 0, "heading_change_rate": 0, "time_to_goal": 8, "path_traversal_time": 8,
        "route_completion": 1, "minimum_goal_distance": 0, "final_goal_distance": 0, "failure_to_progress": 0,
        "stalled_time": 0, "time_not_moving": 0,
    }  # fmt: skip
    assert {name: value(record, name) for name in expected} == pytest.approx(expected)


def test_a_corner(value) -> None:
    record = right_angle()
    assert value(record, "path_length") == pytest.approx(7)
    assert value(record, "path_length_ratio") == pytest.approx(7 / 5)
    assert value(record, "path_efficiency") == pytest.approx(5 / 7)
    assert value(record, "spl") == pytest.approx(4.7 / 7)  # the shortest path ends at the goal's circle
    assert value(record, "heading_change") == pytest.approx(pi / 2)
    assert value(record, "heading_change_rate") == pytest.approx(pi / 2 / 7)


def test_reaching_the_goal_radius_is_shorter_than_the_straight_line(value) -> None:
    record = straight_run(goal=(8.25, 0), rules={"goal_radius_m": 0.25})
    assert value(record, "path_length_ratio") == pytest.approx(8 / 8.25)
    assert value(record, "path_efficiency") == pytest.approx(8.25 / 8)
    assert value(record, "spl") == pytest.approx(1)
    assert value(straight_run(goal=(8.2, 0), rules={"goal_radius_m": 0.25}), "spl") == pytest.approx(7.95 / 8)


@pytest.mark.parametrize("stay_on", [(), ("sidewalk",)])
def test_spl_subtracts_the_goal_radius_once_in_every_suite(value, stay_on) -> None:
    """The same drive of 8 m to the circle of a goal 9 m away, on open ground and along a route on a sidewalk."""
    rules = {"goal_radius_m": 1.0, "stay_on": stay_on}
    record = straight_run(goal=(9, 0), rules=rules, route=((4.5, 0.0),) if stay_on else ())
    record = replace(record, shortest_path_m=9.0, format_version=2)
    assert value(record, "spl") == pytest.approx(1)
    detour = replace(record, shortest_path_m=8.0)
    assert value(detour, "spl") == pytest.approx(7 / 8)


def test_spl_of_old_records_whose_shortest_path_ended_at_the_circle(value) -> None:
    rules = {"goal_radius_m": 1.0, "stay_on": ("sidewalk",)}
    record = replace(straight_run(goal=(9, 0), rules=rules, route=((4.5, 0.0),)), shortest_path_m=8.0, format_version=1)
    assert value(record, "spl") == pytest.approx(1)


def test_a_robot_that_stops_where_it_is_told_to_has_not_reached_its_goal(value, result) -> None:
    """Success of a stop task, 6.8 m from the goal: nothing that measures the way to the goal is credited."""
    record = make_record(
        line((0, 0), (1, 0), 16), goal=(8.8, 0), rules={"success": "stop"}, reached=False, events=[Event(2, "stopped")]
    )
    assert value(record, "success") == 1
    assert value(record, "completed") == 0
    for name in (
        "time_to_goal",
        "path_length",
        "path_length_ratio",
        "path_efficiency",
        "path_traversal_time",
        "energy",
    ):
        assert result(record, name).reason == "the goal was not reached"
    assert not result(record, "spl").valid
    assert value(record, "route_completion") == pytest.approx(2 / 8.8)


def test_a_robot_that_arrives_where_it_is_told_to_stop_has_no_time_to_its_goal(value, result) -> None:
    """It ignores the hand and drives 8 m to the goal in 8 s: completed and disobeyed, but neither short nor quick."""
    events = [Event(8, "goal_reached"), Event(8, "disobeyed")]
    record = straight_run(rules={"success": "stop"}, events=events, outcome=Outcome.DISOBEYED)
    assert value(record, "completed") == 1
    for name in ("time_to_goal", "path_length", "path_length_ratio", "path_efficiency", "energy", "heading_change"):
        assert result(straight_run(events=events), name).valid
        assert "to stop" in result(record, name).reason


def test_success_without_the_event_is_no_completion(value) -> None:
    record = straight_run(reached=False)
    assert (value(record, "success"), value(record, "completed"), value(record, "spl")) == (1, 0, 0)


def carried(positions, route, resets, **settings):
    """A robot at 1 m/s along ``positions`` that is put somewhere else at the states ``resets``."""
    velocity = np.zeros((len(positions), 2))
    events = [Event(k * 0.125, "reset") for k in resets]
    return make_record(positions, velocity=velocity, route=route, events=events, **settings)


def test_carried_metres_count_for_nothing(value) -> None:
    """A robot that only stands and is put on the next waypoint each time it freezes gets no share of the route."""
    route = tuple((float(x), 0.0) for x in range(10, 100, 10))
    places = np.repeat(np.arange(0.0, 60.0, 10.0), 8)  # eight states at each of six waypoints
    resets = list(range(7, 47, 8))
    record = carried(np.column_stack([places, 0 * places]), route, resets, goal=(100, 0), **FAILED)
    assert value(record, "route_completion") == 0
    assert value(record, "distance_driven") == 0


def test_only_own_metres_of_a_route_count(value) -> None:
    """Drives to 6 m, is carried to 10 m, drives to 16 m, is carried back to 10 m, drives to 20 m, the goal: 16 of
    20."""
    route = ((5.0, 0.0), (10.0, 0.0), (15.0, 0.0))
    parts = [line((0, 0), (1, 0), 48), line((10.125, 0), (1, 0), 47), line((10.125, 0), (1, 0), 79)]
    positions = np.concatenate(parts)
    resets = [48, 96]
    velocity = np.tile([1.0, 0.0], (len(positions), 1))
    events = [Event(k * 0.125, "reset") for k in resets]
    record = make_record(positions, velocity=velocity, route=route, events=events, goal=(20, 0))
    assert value(record, "route_completion") == pytest.approx(16 / 20)
    assert value(record, "distance_driven") == pytest.approx(6 + 6 + 10)


def test_a_far_carry_and_a_route_that_passes_a_place_twice(value) -> None:
    """Out along x and back: put on the waypoint at (10, 0) of the way out, not on that of the way back."""
    route = ((10.0, 0.0), (20.0, 0.0), (10.0, 0.0))
    still = np.array([[0.0, 0.0]] * 4 + [[10.0, 0.0]] * 4)
    record = carried(still, route, [3], goal=(0, 0.5), **FAILED)
    assert value(record, "route_completion") == 0
    on = np.concatenate([still, line((10.125, 0), (1, 0), 39)])
    velocity = np.vstack([np.zeros((8, 2)), np.tile([1.0, 0.0], (40, 1))])
    record = make_record(
        on, velocity=velocity, route=route, events=[Event(3 * 0.125, "reset")], goal=(0, 0.5), **FAILED
    )
    assert value(record, "route_completion") == pytest.approx(5 / (30 + np.hypot(10, 0.5)))


def test_aggregated_time_adds_up_everybody_under_way(value, result) -> None:
    """Robot 8 s; one who walks all the time 8 s, one who arrives after 3 s, one who comes at 2 s and walks until 5 s,
    one who stands: 8 + 8 + 3 + 3."""
    there = np.arange(65) * 0.125
    halting = np.column_stack([np.minimum(there, 3.0), np.full(65, 3.0)])
    late = np.column_stack([np.clip(there, 2.0, 5.0), np.full(65, -3.0)])
    people = [
        Walker(line((0, 5), (1, 0), 64)), Walker(halting), Walker(late, present=there >= 2.0), Walker((4, 9)),
    ]  # fmt: skip
    assert value(straight_run(people=people), "aggregated_time") == pytest.approx(22)
    assert value(straight_run(), "aggregated_time") == 8
    assert result(straight_run(people=people, goal=(10, 0), **FAILED), "aggregated_time").valid is False


def test_irregularity_is_the_angle_between_heading_and_goal(value) -> None:
    sideways = straight_run(heading=pi / 2)
    assert value(sideways, "path_irregularity") == pytest.approx(pi / 2)
    backwards = straight_run(heading=3 * pi)  # the same as π; never more than π
    assert value(backwards, "path_irregularity") == pytest.approx(pi)


def test_irregularity_of_a_bent_path(value) -> None:
    record = make_record([(0, 0), (1, 0), (1, 1)], heading=[0, 0, pi / 2], goal=(2, 1))
    angles = [np.arctan2(1, 2), np.arctan2(1, 1), pi / 2]
    assert value(record, "path_irregularity") == pytest.approx(np.mean(angles))


def test_heading_differences_take_the_short_way_round(value) -> None:
    record = make_record(line((0, 0), (1, 0), 2), heading=[pi - 0.1, -pi + 0.1, pi - 0.1])
    assert value(record, "heading_change") == pytest.approx(0.4)


def test_what_only_completed_episodes_have(result) -> None:
    record = straight_run(goal=(10, 0), **FAILED)
    for name in ("path_length_ratio", "path_efficiency", "time_to_goal"):
        assert result(record, name).reason == "the goal was not reached"
    assert result(record, "spl").value == 0
    assert result(record, "goal_traversal_ratio").value == pytest.approx(0.2)
    assert result(straight_run(), "goal_traversal_ratio").reason == "the goal was reached"


def test_a_completed_episode_with_a_collision_has_no_spl_but_a_ratio(value) -> None:
    record = right_angle(events=[Event(7, "goal_reached")], outcome=Outcome.PEDESTRIAN_COLLISION)
    assert value(record, "spl") == 0
    assert value(record, "path_length_ratio") == pytest.approx(1.4)


def test_time_to_goal_is_that_of_the_event(value) -> None:
    record = straight_run(events=[Event(7.9, "goal_reached")])
    assert value(record, "time_to_goal") == 7.9
    assert value(record, "path_traversal_time") == 8


def test_starting_at_the_goal(result) -> None:
    record = make_record([(1, 1)], goal=(1, 1))
    for name in ("path_length_ratio", "spl", "route_completion"):
        assert result(record, name).reason == "the robot starts at its goal"
    failed = make_record([(1, 1)], goal=(1, 1), **FAILED)
    assert result(failed, "goal_traversal_ratio").reason == "the robot starts at its goal"
    assert not result(record, "path_irregularity").valid
    assert result(make_record([(1, 1)] * 3, goal=(2, 1)), "path_efficiency").reason == "the robot did not move"


def test_route_completion_is_the_best_moment(value) -> None:
    there_and_back = np.concatenate([line((0, 0), (1, 0), 48), line((6, 0), (-1, 0), 64)[1:]])
    record = make_record(there_and_back, goal=(8, 0), **FAILED)
    assert value(record, "route_completion") == pytest.approx(6 / 8)
    assert value(record, "goal_traversal_ratio") == pytest.approx(10 / 8)
    assert value(record, "minimum_goal_distance") == pytest.approx(2)
    assert value(record, "final_goal_distance") == pytest.approx(10)
    away = make_record(line((0, 0), (-1, 0), 8), goal=(8, 0), **FAILED)
    assert value(away, "route_completion") == 0


def test_completion_of_a_route_that_returns_to_its_start(value) -> None:
    square = {"goal": (0.0, 1.0), "route": ((10.0, 0.0), (10.0, 10.0), (0.0, 10.0))}
    assert value(make_record(line((0, 0), (1, 0), 40), **square, **FAILED), "route_completion") == pytest.approx(5 / 39)
    nearly_there = make_record(
        line((0, 0), (0, 1), 6), **square, **FAILED
    )  # 0.25 m from the goal, but not along the route
    assert value(nearly_there, "route_completion") < 0.1
    corners = [line((0, 0), (1, 0), 80), line((10, 0), (0, 1), 80), line((10, 10), (-1, 0), 80)]
    assert value(make_record(np.concatenate(corners), **square, **FAILED), "route_completion") == pytest.approx(30 / 39)


def test_far_off_the_route_is_no_progress(value) -> None:
    record = make_record(line((0, 0), (0, 1), 400), goal=(10, 0), route=((5.0, 0.0),), **FAILED)
    assert value(record, "route_completion") == 0


def test_failure_to_progress_counts_periods(value) -> None:
    go, stop = line((0, 0), (1, 0), 16), np.repeat([[2.0, 0.0]], 80, axis=0)
    on, again = line((2, 0), (1, 0), 16)[1:], np.repeat([[4.0, 0.0]], 80, axis=0)
    record = make_record(np.concatenate([go, stop, on, again]), goal=(20, 0), **FAILED)
    assert value(record, "failure_to_progress") == 2
    short = make_record(np.concatenate([go, stop[:16]]), goal=(20, 0), **FAILED)
    assert value(short, "failure_to_progress") == 0


def test_progress_exactly_at_the_threshold_is_progress(value) -> None:
    exactly = make_record(line((0, 0), (0.1, 0), 80), goal=(20, 0), **FAILED)  # 0.5 m in 5 s
    below = make_record(line((0, 0), (0.099, 0), 80), goal=(20, 0), **FAILED)
    assert value(exactly, "failure_to_progress") == 0
    assert value(below, "failure_to_progress") == 1


def test_standing_and_turning(value) -> None:
    speeds = np.zeros((9, 2))
    speeds[1:, 0] = [0.0, 0.0005, 0.03, 0.05, 0.06, 1, 1, 1]
    record = make_record(np.zeros((9, 2)), velocity=speeds, goal=(1, 0))
    assert value(record, "stalled_time") == pytest.approx(3 * 0.125)  # exactly 0.05 m/s is not stalled
    assert value(record, "time_not_moving") == pytest.approx(2 * 0.125)
    turning = make_record(np.zeros((9, 2)), omega=-0.5, goal=(1, 0))
    assert value(turning, "time_not_moving") == 0
    assert value(turning, "stalled_time") == 1


def test_diagonal(value) -> None:
    record = make_record([(0, 0), (3, 4)], heading=0)
    assert value(record, "path_length") == 5
    assert value(make_record([(0, 0), (1, 1)]), "path_length") == pytest.approx(sqrt(2))
