"""The rate of the iLQR policies: what is timed are their answers among twenty people, and they keep up with 20 Hz."""

from __future__ import annotations

import pytest

from benchmarks.measure import Effort
from benchmarks.planning import PEOPLE, POLICIES, cases, hall_scenario
from sidestep.simulation import build_world

SIMULATION_HZ = 20.0


def test_the_hall_holds_the_people_that_the_name_says() -> None:
    assert PEOPLE == 20
    assert build_world(hall_scenario(), 0).people == PEOPLE


def test_every_policy_is_a_quick_case() -> None:
    assert [case.id for case in cases()] == [f"answers/{policy}/people=20" for policy in POLICIES]
    assert all(case.quick for case in cases())


@pytest.mark.parametrize("number", range(len(POLICIES)))
def test_answers_come_faster_than_the_simulation_asks_for_them(number: int) -> None:
    figure = cases()[number].measure(Effort(repeats=2), lambda *_: None)
    assert figure.unit == "answers/s of one core"
    assert len(figure.values) == 2
    assert min(figure.values) > SIMULATION_HZ
