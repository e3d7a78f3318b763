"""Outcome indicators, collision counts, who ran into whom."""

from __future__ import annotations

import pytest

from sidestep.errors import RecordError
from sidestep.types import Event, Outcome

from .records import Walker, line, straight_run


def start(time: float, subject: str = "person:10") -> Event:
    return Event(time, "collision_start", subject)


def end(time: float, subject: str = "person:10") -> Event:
    return Event(time, "collision_end", subject)


@pytest.mark.parametrize("outcome", list(Outcome))
def test_exactly_one_indicator_holds(outcome: Outcome, value) -> None:
    record = straight_run(outcome=outcome)
    assert {other: value(record, other.value) for other in Outcome} == {o: float(o is outcome) for o in Outcome}


def test_completed_with_a_collision(value) -> None:
    reached = straight_run(events=[Event(8, "goal_reached")], outcome=Outcome.PEDESTRIAN_COLLISION)
    assert value(reached, "completed") == 1
    assert value(reached, "success") == 0
    assert value(straight_run(outcome=Outcome.TIMEOUT), "completed") == 0


@pytest.mark.parametrize(
    ("events", "count"),
    [
        ([], 0),
        ([start(1)], 1),
        ([start(1), end(1.25), start(2)], 1),  # 0.75 s after the contact ended: the same collision
        ([start(1), end(1.25), start(2.25)], 2),  # exactly the cool-down later: another one
        ([start(1), start(1.5), start(2.25)], 1),  # each within 1 s of the last touch
        ([start(1), start(2.5)], 2),
        ([start(1), start(1.25, "person:11")], 2),  # two people
        ([start(2.5), start(1)], 2),  # order does not matter
    ],
)
def test_touching_again_within_the_cool_down_counts_once(events: list[Event], count: int, value) -> None:
    record = straight_run(events=events)
    assert value(record, "pedestrian_collisions") == count


def test_without_a_cool_down_every_touch_counts(value) -> None:
    assert value(straight_run(events=[start(1), end(1), start(1)], cooldown_s=0), "pedestrian_collisions") == 2


def test_collisions_by_what_was_hit(value) -> None:
    record = straight_run(events=[start(1, "wall"), start(2, "robot:1"), start(3, "vehicle:0"), start(4, "person:10")])
    names = ("wall_collisions", "vehicle_collisions", "pedestrian_collisions", "collisions")
    assert [value(record, name) for name in names] == [1, 2, 1, 4]


def test_the_robot_runs_into_someone_who_stands(value) -> None:
    record = straight_run(people=[Walker((4.5, 0))], events=[start(4)])
    assert value(record, "robot_on_person_collisions") == 1
    assert value(record, "person_on_robot_collisions") == 0
    assert value(record, "collision_intensity") == pytest.approx(1.0)


def test_someone_faster_runs_into_the_robot_from_behind(value) -> None:
    walker = Walker(line((-4.5, 0), (2, 0), 64))
    record = straight_run(people=[walker], events=[start(4)])
    assert value(record, "robot_on_person_collisions") == 0
    assert value(record, "person_on_robot_collisions") == 1
    assert value(record, "collision_intensity") == pytest.approx(1.0)


def test_head_on_at_equal_speed_is_the_robots(value) -> None:
    record = straight_run(people=[Walker(line((8, 0), (-1, 0), 64))], events=[start(3.75)])
    assert value(record, "robot_on_person_collisions") == 1
    assert value(record, "collision_intensity") == pytest.approx(2.0)


def test_intensity_is_that_of_the_hardest_contact(value) -> None:
    people = [Walker((2.5, 0)), Walker(line((8, 0), (-0.5, 0), 64))]
    record = straight_run(people=people, events=[start(2), start(5, "person:11")])
    assert value(record, "collision_intensity") == pytest.approx(1.5)


def test_no_contact_has_no_intensity(result) -> None:
    assert result(straight_run(), "collision_intensity").reason == "no collision with a person"


def test_someone_who_appears_in_contact(value) -> None:
    present = [k >= 5 for k in range(65)]
    record = straight_run(people=[Walker((1, 0), present=present)], events=[start(0.6)])
    assert value(record, "robot_on_person_collisions") == 1


def test_a_collision_with_nobody_is_an_error(value) -> None:
    with pytest.raises(RecordError, match="person:99"):
        value(straight_run(people=[Walker((1, 0))], events=[start(1, "person:99")]), "collision_intensity")
