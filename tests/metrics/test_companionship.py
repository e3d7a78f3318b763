"""Company, by hand: the robot (radius 0.25 m) drives 8 m along x at 1 m/s, 65 states."""

from __future__ import annotations

import numpy as np
import pytest

from sidestep.types import Event

from .records import Walker, line, straight_run


def company(kind: str = "leading", time: float = 0.0, person: int = 10) -> Event:
    return Event(time, "trigger", f"person:{person}", text=kind)


def test_who_stays_beside_the_robot_is_in_the_band(value) -> None:
    beside = [Walker(line((0, -1), (1, 0), 64))]  # surfaces: 1 - 0.25 - 0.25 = 0.5 m
    record = straight_run(people=beside, events=[company("accompanying")])
    assert value(record, "companion_share") == 1.0
    assert value(record, "companion_distance") == pytest.approx(0.5)


def test_too_near_is_no_company(value) -> None:
    record = straight_run(people=[Walker(line((0, -0.9), (1, 0), 64))], events=[company("accompanying")])
    assert value(record, "companion_share") == 0.0


@pytest.mark.parametrize(("ahead", "share"), [(0.9375, 0.0), (0.953125, 1.0), (4.0625, 1.0), (4.125, 0.0)])
def test_edges_of_the_band(value, ahead: float, share: float) -> None:
    """Surfaces 0.4375, 0.453125, 3.5625 and 3.625 m apart."""
    record = straight_run(people=[Walker(line((ahead, 0), (1, 0), 64))], events=[company("following")])
    assert value(record, "companion_share") == share


def test_a_robot_that_runs_ahead_loses_company(value) -> None:
    """The follower stands at the start, 1 m behind: the gap is 0.5 m + t and passes 3.6 m after 3.1 s, state 24.8."""
    record = straight_run(people=[Walker((-1, 0))], events=[company("following")])
    assert value(record, "companion_share") == pytest.approx(25 / 65)
    assert value(record, "companion_distance") == pytest.approx(4.5)


def test_counts_from_the_trigger_on_and_while_the_person_is_there(value) -> None:
    """Standing 1 m beside x = 4 with the trigger at 3 s and gone after 5 s: 17 states, all within the band."""
    there = np.arange(65) <= 40
    record = straight_run(people=[Walker((4, 1), present=there)], events=[company(time=3.0)])
    assert value(record, "companion_share") == 1.0
    late = straight_run(people=[Walker((8, 1), present=there)], events=[company(time=3.0)])
    far = np.hypot(8 - np.arange(24, 41) / 8, 1) - 0.5
    assert value(late, "companion_share") == pytest.approx(np.mean(far <= 3.6))
    assert value(late, "companion_distance") == pytest.approx(far.mean())


def test_only_company_counts(result) -> None:
    people = [Walker((4, 1))]
    for events in ([], [company("frontal")], [company(person=99)]):
        found = result(straight_run(people=people, events=events), "companion_share")
        assert not found.valid
        assert "nobody led" in found.reason
    assert not result(straight_run(), "companion_distance").valid
