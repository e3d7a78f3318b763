"""The dialect of the SocNavBench program: each departure from the paper, computed on paper."""

from __future__ import annotations

from math import pi, sqrt

import numpy as np
import pytest

from sidestep.types import Event, Outcome

from .records import Walker, line, make_record, straight_run

CODE = "socnavbench-code"


def test_collisions_are_centre_distances_below_40_cm(value) -> None:
    """Bodies of 0.5 m that touch at 0.5 m are no collision; nearer than 0.40 m they are, whatever the events
    say."""
    touching = straight_run(
        people=[Walker((4, 0.45))],
        events=[Event(3.7, "collision_start", "person:10"), Event(8, "goal_reached")],
        outcome=Outcome.PEDESTRIAN_COLLISION,
    )
    assert value(touching, "pedestrian_collisions", CODE) == 0
    assert value(touching, "success", CODE) == 1
    assert value(touching, "pedestrian_collision", CODE) == 0
    assert value(touching, "pedestrian_collisions") == 1
    assert value(touching, "success") == 0
    slim = [Walker((4, 0.3), radius=0.01)]
    missed = straight_run(people=slim, events=[Event(8, "goal_reached")])
    assert value(missed, "pedestrian_collisions", CODE) == 1
    assert value(missed, "success", CODE) == 0
    assert value(missed, "pedestrian_collision", CODE) == 1
    assert value(missed, "success") == 1


def test_exactly_40_cm_is_no_collision(value) -> None:
    at_threshold = make_record([(0, 0)], people=[Walker((0.4, 0))], goal=(9, 0))
    assert float(at_threshold.person_position[0, 0, 0]) >= 0.4  # in single precision just above
    assert value(at_threshold, "pedestrian_collisions", CODE) == 0


def test_a_lasting_contact_counts_every_second(value) -> None:
    record = make_record([(0, 0)] * 21, people=[Walker((0.3, 0))], goal=(9, 0))  # 2.5 s: at 0, 1 and 2 s
    assert value(record, "pedestrian_collisions", CODE) == 3


def test_two_people_cool_down_separately(value) -> None:
    record = make_record([(0, 0)] * 5, people=[Walker((0.3, 0)), Walker((0, 0.3))], goal=(9, 0))
    assert value(record, "pedestrian_collisions", CODE) == 2


def test_path_length_ratio_of_every_episode(value) -> None:
    failed = straight_run(goal=(16, 0), outcome=Outcome.TIMEOUT)
    assert value(failed, "path_length_ratio", CODE) == pytest.approx((8 + 1e-5) / 16)
    assert value(failed, "goal_traversal_ratio", CODE) == pytest.approx(0.5)
    assert value(straight_run(goal=(10, 0)), "goal_traversal_ratio", CODE) == pytest.approx(0.2)


def test_path_irregularity_measures_from_the_origin_of_the_map(value) -> None:
    """A straight drive along y = 1 from x = 1 to 3 is not 0: the angle is that of the position vector to
    +x."""
    positions = [(1, 1), (2, 1), (3, 1)]
    record = make_record(positions, goal=(9, 1), outcome=Outcome.TIMEOUT)
    angles = [np.arctan2(y, x) for x, y in positions]
    assert value(record, "path_irregularity") == pytest.approx(0)
    assert value(record, "path_irregularity", CODE) == pytest.approx(np.mean(angles))
    reached = make_record(positions)  # after a success the last position is the goal, where the cosine is 0 / 0⁺ = 0
    assert value(reached, "path_irregularity", CODE) == pytest.approx(np.mean([*angles[:2], pi / 2]))


def test_motion_comes_from_positions(value) -> None:
    record = make_record([(0, 0), (0.125, 0), (0.375, 0), (0.375, 0)], velocity=(9, 9), goal=(1, 0))
    assert value(record, "speed_avg", CODE) == pytest.approx(1)  # 1, 2, 0
    assert value(record, "speed_max", CODE) == pytest.approx(2)
    assert value(record, "acceleration_avg", CODE) == pytest.approx(12)  # 8, 16
    assert value(record, "jerk_avg", CODE) == pytest.approx(192)  # from 8 to -16 in 0.125 s
    assert value(record, "energy", CODE) == pytest.approx(1 + 4 + 0)


def test_energy_has_another_unit(result) -> None:
    assert result(straight_run(), "energy", CODE).unit == "J"


def test_jerk_needs_three_steps(result) -> None:
    assert result(straight_run(2), "jerk_avg", CODE).reason == "the episode has fewer than 3 steps"


def test_closest_distance_between_centres(value, result) -> None:
    record = straight_run(people=[Walker((4, 30))])
    assert value(record, "closest_pedestrian_distance", CODE) == pytest.approx(30)
    present = [False, True, True, False, False]
    tracks = np.array([(1, 0), (1, 0), (3, 0), (5, 0), (5, 0)])
    some = make_record([(0, 0)] * 5, people=[Walker(tracks, present=present)], goal=(9, 0))
    assert value(some, "average_closest_pedestrian_distance", CODE) == pytest.approx((1 + 3 + 3 + 3) / 4)
    assert value(some, "closest_pedestrian_distance", CODE) == pytest.approx(1)
    assert result(straight_run(), "closest_pedestrian_distance", CODE).reason == "nobody was present"


def test_time_to_collision_ignores_a_lateral_miss(value, result) -> None:
    """3 m beside the way, 4 m ahead: 5 m apart, closing at 1 · 4/5 m/s, in state 2, which is the first with a
    value."""
    record = make_record(line((0, 0), (1, 0), 2), people=[Walker((4.25, 3))], goal=(9, 0))
    assert value(record, "time_to_collision_min", CODE) == pytest.approx((5 - 0.2) / 0.8)
    assert value(record, "time_to_collision_min") == 10
    behind = make_record(line((0, 0), (1, 0), 4), people=[Walker((-4, 0))], goal=(9, 0))
    assert result(behind, "time_to_collision_avg", CODE).reason == "nobody ever approached"


def test_time_to_collision_takes_the_nearest_in_time_and_leaves_out_frames_without(value) -> None:
    people = [Walker((9.25, 0)), Walker((0.25, 5)), Walker(line((0.25, -3.5), (0, 1), 2))]
    record = make_record(line((0, 0), (1, 0), 2), people=people, goal=(9, 0))
    assert value(record, "time_to_collision_avg", CODE) == pytest.approx(3.25 - 0.2)


def test_dialect_keeps_what_it_does_not_redefine(value) -> None:
    record = straight_run(people=[Walker((4, 1))])
    for name in ("path_length", "spl", "personal_space_intrusion", "path_efficiency"):
        assert value(record, name, CODE) == value(record, name)


def test_a_diagonal_approach(value) -> None:
    robot = line((0, 0), (1, 1), 3)
    record = make_record(robot, people=[Walker((4.375, 4.375))], goal=(9, 9))
    assert value(record, "time_to_collision_min", CODE) == pytest.approx((4 * sqrt(2) - 0.2) / sqrt(2))


def test_the_robots_velocity_is_the_one_of_the_step_before(value) -> None:
    record = make_record([(0, 0), (0.125, 0), (0.375, 0)], people=[Walker((4.375, 0))], goal=(9, 0))
    assert value(record, "time_to_collision_min", CODE) == pytest.approx((4 - 0.2) / 1)
