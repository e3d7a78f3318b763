"""Distances to people, time to collision, personal space, social force."""

from __future__ import annotations

from math import exp, hypot, sqrt

import numpy as np
import pytest

from .records import BOX, Walker, line, make_record, straight_run

PASSING = Walker((4, 1))
"""Stands 1 m beside the middle of the straight run; both radii are 0.25 m."""


def test_passing_someone(value) -> None:
    record = straight_run(people=[PASSING])
    gaps = np.array([hypot(4 - x, 1) - 0.5 for x in np.arange(65) * 0.125])
    assert value(record, "closest_pedestrian_distance") == pytest.approx(0.5)
    assert value(record, "minimum_pedestrian_distance") == pytest.approx(0.5)
    assert value(record, "maximum_pedestrian_distance") == pytest.approx(sqrt(17) - 0.5)
    assert value(record, "average_closest_pedestrian_distance") == pytest.approx(gaps.mean())
    assert value(record, "average_pedestrian_distance") == pytest.approx(gaps.mean())


def test_distances_saturate_and_overlap_is_negative(value) -> None:
    far = straight_run(people=[Walker((40, 0))])
    assert value(far, "closest_pedestrian_distance") == 10
    assert value(far, "average_closest_pedestrian_distance") == 10
    assert value(far, "minimum_pedestrian_distance") == pytest.approx(31.5)
    assert value(straight_run(people=[Walker((4, 0))]), "closest_pedestrian_distance") == pytest.approx(-0.5)


def test_averages_over_closest_and_over_all(value) -> None:
    record = make_record([(0, 0)] * 3, people=[Walker((1.5, 0)), Walker((0, 3.5))], goal=(1, 0))
    assert value(record, "average_closest_pedestrian_distance") == pytest.approx(1)
    assert value(record, "average_pedestrian_distance") == pytest.approx(2)


def test_frames_without_people_do_not_count(value, result) -> None:
    record = make_record([(0, 0)] * 4, people=[Walker((1.5, 0), present=[False, True, True, False])], goal=(1, 0))
    assert value(record, "average_closest_pedestrian_distance") == pytest.approx(1)
    assert value(record, "time_to_collision_avg") == 10
    assert value(record, "personal_space_intrusion") == pytest.approx(0.5)  # a share of all time
    never = make_record([(0, 0)] * 4, people=[Walker((1.5, 0), present=False)], goal=(1, 0))
    needing_people = "closest_pedestrian_distance time_to_collision_min personal_space_intrusion space_compliance"
    for name in (
        *needing_people.split(),
        "intimate_space_violations",
        "social_work",
        "average_pedestrian_speed",
    ):
        assert result(never, name).reason == "nobody was present"


def test_only_the_last_frame_has_someone(value) -> None:
    present = [False] * 8 + [True]
    record = straight_run(8, people=[Walker((2, 0), present=present)])
    assert value(record, "closest_pedestrian_distance") == pytest.approx(0.5)


def test_a_polygon_body(value) -> None:
    beside = make_record([(0, 0)] * 2, people=[Walker((0, 1))], footprint=BOX, goal=(1, 0))
    assert value(beside, "closest_pedestrian_distance") == pytest.approx(1 - 0.25 - 0.25)
    turned = make_record([(0, 0)] * 2, heading=np.pi / 2, people=[Walker((0, 1))], footprint=BOX, goal=(1, 0))
    assert value(turned, "closest_pedestrian_distance") == pytest.approx(1 - 0.5 - 0.25)
    corner = make_record([(0, 0)] * 2, people=[Walker((0.5 + 3, 0.25 + 4))], footprint=BOX, goal=(1, 0))
    assert value(corner, "minimum_pedestrian_distance") == pytest.approx(5 - 0.25)
    inside = make_record([(0, 0)] * 2, people=[Walker((0.25, 0.125))], footprint=BOX, goal=(1, 0))
    assert value(inside, "closest_pedestrian_distance") == pytest.approx(-0.125 - 0.25)


def test_time_to_collision_head_on(value) -> None:
    record = make_record([(0, 0)], velocity=(1, 0), people=[Walker((4.5, 0), velocity=(-1, 0))], goal=(9, 0))
    assert value(record, "time_to_collision_min") == pytest.approx(2)


@pytest.mark.parametrize(
    ("lateral", "expected"),
    [(0.0, 3.5), (0.3, 4 - 0.4), (0.5, 4.0), (0.51, 10.0), (-0.3, 3.6)],
)
def test_time_to_collision_knows_a_lateral_miss(lateral: float, expected: float, value) -> None:
    record = make_record([(0, 0)], velocity=(1, 0), people=[Walker((4, lateral), velocity=(0, 0))], goal=(9, 0))
    assert value(record, "time_to_collision_min") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("person", "velocity", "expected"),
    [
        ((0.25, 0), (0, 0), 0),  # touching already
        ((-2, 0), (0, 0), 10),  # behind
        ((2, 0), (1, 0), 10),  # the same velocity
        ((30, 0), (0, 0), 10),  # in 29.5 s
        ((2, -2), (0, 1), 2 - 0.5 / sqrt(2)),  # courses that cross in one point at once
    ],
)
def test_time_to_collision_cases(person, velocity, expected: float, value) -> None:
    record = make_record([(0, 0)], velocity=(1, 0), people=[Walker(person, velocity=velocity)], goal=(9, 0))
    assert value(record, "time_to_collision_min") == pytest.approx(expected)


def test_time_to_collision_takes_the_first(value) -> None:
    people = [Walker((4.5, 0), velocity=(0, 0)), Walker((2.5, 0), velocity=(0, 0))]
    record = make_record([(0, 0)] * 2, velocity=(1, 0), people=people, goal=(9, 0))
    assert value(record, "time_to_collision_avg") == pytest.approx(2)


@pytest.mark.parametrize(
    ("person", "velocity", "expected"),
    [
        ((3, 0), (-1, 0), 3 - 0.5 - 0.25),  # front edge
        ((0, 2), (0, -1), 2 - 0.25 - 0.25),  # side edge
        ((3, 0.4), (-1, 0), 3 - 0.5 - 0.2),  # corner: 0.15 beside it, sqrt(0.25² - 0.15²) = 0.2 before it
        ((3, 0.51), (-1, 0), 10),  # just past the corner
        ((0, 0), (0, 0), 0),
    ],
)
def test_time_to_collision_of_a_polygon(person, velocity, expected: float, value) -> None:
    record = make_record([(0, 0)], people=[Walker(person, velocity=velocity)], footprint=BOX, goal=(9, 0))
    assert value(record, "time_to_collision_min") == pytest.approx(expected)


@pytest.mark.parametrize(
    ("gap", "zone"),
    [(-0.1, "intimate"), (0.4499, "intimate"), (0.45, "personal"), (1.1999, "personal"), (1.2, "social"),
     (3.5999, "social"), (3.6, None)],
)  # fmt: skip
def test_zones_at_their_limits(gap: float, zone: str | None, value) -> None:
    record = make_record([(0, 0)], people=[Walker((gap + 0.5, 0))], goal=(9, 0))
    shares = {name: value(record, f"{name}_space_intrusion") for name in ("intimate", "personal", "social")}
    assert shares == {name: float(name == zone) for name in shares}


def test_space_compliance_at_its_limit(value) -> None:
    assert value(make_record([(0, 0)], people=[Walker((1.0, 0))], goal=(9, 0)), "space_compliance") == 1
    assert value(make_record([(0, 0)], people=[Walker((0.999, 0))], goal=(9, 0)), "space_compliance") == 0
    assert value(straight_run(people=[PASSING]), "space_compliance") == 1


def test_violations_count_entries_per_person(value) -> None:
    bouncing = np.array([(2.5, 0), (1, 0), (0.9, 0), (2.5, 0), (1, 0)])
    people = [Walker(bouncing), Walker((0, 0.6))]
    record = make_record([(0, 0)] * 5, people=people, goal=(9, 0))
    assert value(record, "personal_space_violations") == 3
    assert value(record, "intimate_space_violations") == 2


def test_passing_between_two_who_walk_together(value, result) -> None:
    pair = [Walker((0, 2), group=7), Walker((0, -2), group=7)]
    record = make_record([(0, 0)], people=pair, goal=(9, 0))
    assert value(record, "group_intimate_space_intrusion") == 1
    assert value(record, "intimate_space_intrusion") == 0
    alone = make_record([(0, 0)], people=[Walker((0, 2)), Walker((0, -2))], goal=(9, 0))
    assert result(alone, "group_intimate_space_intrusion").reason == "no two members of a group were present together"


def test_distance_to_a_group(value) -> None:
    pair = [Walker((2, 1), group=0), Walker((2, -1), group=0)]
    record = make_record([(0, 0)], people=pair, goal=(9, 0))  # 2 m to the line between them, less both radii
    assert value(record, "group_social_space_intrusion") == 1
    nearer = make_record([(0.5, 0)], people=pair, goal=(9, 0))
    assert value(nearer, "group_personal_space_intrusion") == 1


def test_inside_a_large_circle_of_people(value) -> None:
    corners = [(3, 3), (-3, 3), (-3, -3), (3, -3)]
    ring = [Walker(corner, group=1) for corner in corners]
    assert value(make_record([(0, 2)], people=ring, goal=(9, 0)), "group_intimate_space_intrusion") == 1
    assert value(make_record([(0, 2)], people=ring, footprint=BOX, goal=(9, 0)), "group_intimate_space_intrusion") == 1
    assert value(make_record([(0, 4.5)], people=ring, goal=(9, 0)), "group_personal_space_intrusion") == 1
    three = [*ring[:3], Walker(corners[3], group=1, present=False)]
    assert value(make_record([(2, -2)], people=three, goal=(9, 0)), "group_social_space_intrusion") == 1


def test_just_outside_a_circle_of_people(value) -> None:
    """Two of three stand 190° apart: their line passes 20 · sin 170° / (2 sin 85°) = 1.74 m away."""
    triangle = [Walker((20 * np.cos(a), 20 * np.sin(a)), group=1) for a in np.radians([0, 90, 170])]
    record = make_record([(0, 0)], people=triangle, goal=(9, 0))
    assert value(record, "group_social_space_intrusion") == 1  # 1.74 m less both radii


def test_a_group_with_one_present_is_no_group(value) -> None:
    pair = [Walker((0, 1), group=0), Walker((0, -1), group=0, present=[True, False, False, False])]
    record = make_record([(0, 0)] * 4, people=pair, goal=(9, 0))
    assert value(record, "group_intimate_space_intrusion") == 0.25


def test_average_pedestrian_speed(value) -> None:
    people = [Walker((0, 5), velocity=(3, 4)), Walker((0, 6), velocity=(0, 0))]
    assert value(make_record([(0, 0)] * 3, people=people, goal=(9, 0)), "average_pedestrian_speed") == 2.5


def test_minimum_vehicle_distance(value, result) -> None:
    assert value(straight_run(other_position=(4, 2)), "minimum_vehicle_distance") == pytest.approx(2 - 0.25 - 0.5)
    assert not result(straight_run(), "minimum_vehicle_distance").valid


def test_social_force_of_someone_ahead(value) -> None:
    """Both stand, 1 m apart: D = e, B = 0.35, θ = 0, so |f| = 2.1 exp(-1 / 0.35), for 2 s."""
    record = make_record([(0, 0)] * 17, people=[Walker((1, 0))], goal=(9, 0))
    force = 2.1 * exp(-1 / 0.35)
    assert value(record, "social_force_on_people") == pytest.approx(2 * force)
    assert value(record, "social_force_on_robot") == pytest.approx(2 * force)
    assert value(record, "social_work") == pytest.approx(4 * force)


def test_social_force_of_a_crossing() -> None:
    """e = (1, 0), Δv = (0, 1): D = (1, 2), B = 0.35 √5, θ = atan 2, written out here once more."""
    from sidestep.metrics.forces import social_forces

    record = make_record([(0, 0)] * 2, velocity=(0, 1), people=[Walker((2, 0), velocity=(0, 0))], goal=(9, 0))
    reach, angle = 0.35 * sqrt(5), np.arctan(2)
    along, left = np.array([1, 2]) / sqrt(5), np.array([-2, 1]) / sqrt(5)
    slowing, turning = exp(-((3 * reach * angle) ** 2)), exp(-((2 * reach * angle) ** 2))
    expected = -2.1 * exp(-2 / reach) * (slowing * along + turning * left)
    assert social_forces(record)[1, 0] == pytest.approx(expected)


def test_forces_of_two_on_either_side_cancel_on_the_robot_only(value) -> None:
    record = make_record([(0, 0)] * 9, people=[Walker((1, 0)), Walker((-1, 0))], goal=(9, 0))
    assert value(record, "social_force_on_robot") == pytest.approx(0)
    assert value(record, "social_force_on_people") == pytest.approx(2 * 2.1 * exp(-1 / 0.35))


def test_force_of_a_wall(value, result) -> None:
    record = make_record([(0, 0)] * 9, walls=[(-5, 0.65, 5, 0.65)], people=[Walker((90, 0))], goal=(9, 0))
    assert value(record, "obstacle_force_on_robot") == pytest.approx(10 * exp(-2))
    assert value(record, "social_work") == pytest.approx(10 * exp(-2))
    assert result(straight_run(), "obstacle_force_on_robot").reason == "there are no walls"


def test_two_bodies_in_one_place_have_a_finite_force(value) -> None:
    record = make_record([(0, 0)] * 2, people=[Walker((0, 0), velocity=(0, 0))], goal=(9, 0))
    assert value(record, "social_force_on_people") == 0


def test_forces_do_not_depend_on_the_step(value) -> None:
    coarse = straight_run(16, step_s=0.5, people=[PASSING])
    fine = make_record(line((0, 0), (1, 0), 800, 0.01), step_s=0.01, people=[PASSING])
    assert value(coarse, "social_work") == pytest.approx(value(fine, "social_work"), rel=0.05)


def test_coming_closer_than_the_personal_zone_never_improves_the_time_within(value) -> None:
    """Beside a person for the same 2 m, at 0.5 m and at 0.2 m: the band empties, the time within 1.2 m does not."""
    far, near = (straight_run(people=[Walker((4, y))]) for y in (1.0, 0.7))
    assert value(near, "personal_space_intrusion") < value(far, "personal_space_intrusion")
    assert value(near, "time_within_1_2m") >= value(far, "time_within_1_2m") > 0
    both = value(near, "personal_space_intrusion") + value(near, "intimate_space_intrusion")
    assert value(near, "time_within_1_2m") == pytest.approx(both)


def test_time_within_exactly_at_the_threshold(value, result) -> None:
    assert value(make_record([(0, 0)] * 3, people=[Walker((1.7, 0))], goal=(5, 0)), "time_within_1_2m") == 0
    assert value(make_record([(0, 0)] * 3, people=[Walker((1.6, 0))], goal=(5, 0)), "time_within_1_2m") == 1
    assert not result(straight_run(), "time_within_1_2m").valid


def test_who_approached_whom(value, result) -> None:
    """The robot drives at 1 m/s past one who stands (its doing), is overtaken at 2 m/s (not its doing) and meets one
    who comes at 1 m/s (both alike: counted as the robot's)."""
    stands = Walker((4, 0.8))
    overtakes = Walker(line((-4, -0.8), (2, 0), 64))
    meets = Walker(line((8, 0.9), (-1, 0), 64))
    for zone in ("personal", "intimate"):
        name = f"{zone}_violations_by_robot"
        assert value(straight_run(people=[stands]), name) == 1
        assert value(straight_run(people=[overtakes]), name) == 0
        assert value(straight_run(people=[stands, overtakes, meets]), name) == pytest.approx(2 / 3)
        assert not result(straight_run(people=[Walker((4, 9))]), name).valid
    beside = straight_run(people=[Walker(line((0, 0.7), (1, 0), 64))])
    assert not result(beside, "personal_violations_by_robot").valid  # near from the beginning
