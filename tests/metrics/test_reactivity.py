"""Delays and detours that the robot caused, by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from sidestep.types import EpisodeRecord

from .records import Walker, straight_run

DELAYS = ("people_delayed", "mean_delay_caused", "total_delay_caused", "max_delay_caused")
ALL = (*DELAYS, "people_disturbed", "total_detour_caused")


def reacting(delay: Any, detour: Any = 0.0, peak: Any = None) -> EpisodeRecord:
    """Three people with these final delays (s) and detours (m); ``peak``: delays in the state before."""
    record = straight_run(people=[Walker((4, y)) for y in (1, 2, 3)])
    states = record.steps + 1
    delays, detours = np.zeros((states, 3)), np.zeros((states, 3))
    delays[-2:], detours[-2:] = delay, detour
    if peak is not None:
        delays[-2] = peak
    return replace(record, person_delay=delays, person_detour=detours)


def test_two_of_three_are_delayed(value) -> None:
    record = reacting([2.0, 0.0, 0.5])
    assert value(record, "people_delayed") == 2
    assert value(record, "mean_delay_caused") == pytest.approx(1.25)
    assert value(record, "total_delay_caused") == pytest.approx(2.5)
    assert value(record, "max_delay_caused") == pytest.approx(2.0)
    assert value(record, "people_disturbed") == 2


def test_a_tenth_of_a_second_is_no_delay_and_more_is(value) -> None:
    assert value(reacting([0.1, 0.0, 0.0]), "people_delayed") == 0
    assert value(reacting([0.125, 0.0, 0.0]), "people_delayed") == 1


def test_nobody_delayed_is_a_sum_of_zero_and_no_mean(value, result) -> None:
    record = reacting([0.0, 0.0, 0.0])
    assert value(record, "people_delayed") == value(record, "total_delay_caused") == 0
    assert value(record, "people_disturbed") == value(record, "total_detour_caused") == 0
    for name in ("mean_delay_caused", "max_delay_caused"):
        assert not result(record, name).valid
        assert "nobody was delayed" in result(record, name).reason


def test_a_delay_made_up_for_disturbs_but_does_not_count(value) -> None:
    record = reacting([0.0, 0.0, 1.0], peak=[3.0, 0.0, 0.5])
    assert value(record, "people_delayed") == 1
    assert value(record, "total_delay_caused") == pytest.approx(1.0)
    assert value(record, "people_disturbed") == 2


def test_detours_are_added_and_shortcuts_are_not_taken_off(value) -> None:
    record = reacting([0.0, 0.0, 0.0], detour=[0.5, -0.25, 0.03125])
    assert value(record, "total_detour_caused") == pytest.approx(0.5)
    assert value(record, "people_disturbed") == 1


@pytest.mark.parametrize("name", ALL)
def test_there_is_no_value_where_people_do_not_react(name: str, result) -> None:
    found = result(straight_run(people=[Walker((4, 1))]), name)
    assert not found.valid
    assert "do not react" in found.reason


@pytest.mark.parametrize("name", ALL)
def test_totals_that_grow_with_time_have_no_better_side(name: str) -> None:
    from sidestep.metrics.score import directions

    assert directions()[name] == ("lower" if name == "mean_delay_caused" else "none")
